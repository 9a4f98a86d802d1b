/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: an answer within the bounds, whose parts hang together. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "advice/shell/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_words(const struct shell_word *words, size_t n, size_t size)
{
	for (size_t i = 0; i < n; i++) {
		CHECK(words[i].offset <= size);
		CHECK(strlen(words[i].text) <= 2 * size);
	}
}

static void check_command(const struct shell_command *c, size_t size)
{
	static const char *const operators[] = { "", "|", "|&", "&&", "||", ";", "&" };
	size_t k = 0;

	while (k < 7 && strcmp(operators[k], c->before) != 0)
		k++;
	CHECK(k < 7);
	CHECK(c->offset <= size);
	CHECK(c->depth <= SHELL_DEPTH_MAX);
	check_words(c->words, c->n_words, size);
	check_words(c->assignments, c->n_assignments, size);
	for (size_t i = 0; i < c->n_redirects; i++)
		check_words(&c->redirects[i].target, 1, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena a = { .budget = (size_t)256 << 20 };
	struct shell_script s;
	struct error e = { 0 };
	int r = shell_parse(&s, &a, (const char *)data, size, &e);

	CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
	CHECK(r == 0 || e.text[0]);
	CHECK(r != -EINVAL || (e.line && e.column));
	for (size_t i = 0; r == 0 && i < s.n_commands; i++) {
		CHECK(i == 0 || s.commands[i - 1].offset <= s.commands[i].offset);
		check_command(&s.commands[i], size);
	}
	return 0;
}
