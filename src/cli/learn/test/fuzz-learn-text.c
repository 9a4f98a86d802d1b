/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a policy that is widened. What is accepted has all lines of the first text, in order.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/learn/internal.h"
#include "codec/line-diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last line may lack its newline. */
static void add_lines(struct buffer *out, const char *text)
{
	buffer_adds(out, text);
	if (out->len > 0 && out->data[out->len - 1] != '\n')
		buffer_addc(out, '\n');
}

static void check(const struct learn *l)
{
	auto_line_diff diff = { 0 };
	auto_buffer base = { 0 };
	auto_buffer text = { 0 };
	int r;

	add_lines(&base, buffer_text(&l->base));
	add_lines(&text, buffer_text(&l->text));
	r = line_diff_make(&diff, buffer_text(&base), base.len, buffer_text(&text), text.len);
	for (size_t i = 0; r == 0 && i < diff.n_steps; i++)
		if (diff.steps[i].sign == '-')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct denial items[] = {
		{ .kind = DENIAL_READ, .path = "/home/me/a b", .program = "cc", .count = 1 },
		{ .kind = DENIAL_WRITE, .path = "/srv/out", .program = "", .is_folder = true },
		{ .kind = DENIAL_CONNECT, .path = "a.example:443", .program = "curl" },
		{ .kind = DENIAL_EXEC, .path = "/opt/tool", .program = "" },
	};
	const char *env[] = { "A", "B=1" }, *listen[] = { "8080" };
	auto_arena arena = { 0 };
	struct error error = { 0 };
	struct call call = { .arena = &arena, .error = &error };
	struct learn l = { .call = &call,
		.place = { .home = "/home/me", .work = "/home/me/work" },
		.env = { .items = env, .n = ROWS(env) },
		.listen = { .items = listen, .n = ROWS(listen) } };

	buffer_add(&l.base, (const char *)data, size);
	for (int gives = 0; gives < 2; gives++) {
		l.lines = (struct denials){ 0 };
		if (gives && learn_text_give(&l) < 0)
			break;
		for (size_t i = 0; i < ROWS(items); i++) {
			l.lines = (struct denials){ .items = items + i, .n = 1 };
			if (learn_text_make(&l) == 0)
				check(&l);
		}
		l.lines = (struct denials){ .items = items, .n = ROWS(items) };
		if (learn_text_make(&l) == 0)
			check(&l);
	}
	buffer_deinit(&l.base);
	buffer_deinit(&l.text);
	return 0;
}
