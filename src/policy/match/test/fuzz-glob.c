/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a list of patterns, a NUL, and a path. Whatever parses must print to something that
 * parses to the same; the set of all patterns must answer as the patterns one by one do; and the
 * relation of the first two must agree with what they say about the path.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "policy/match/glob.h"
#include "policy/match/pathset.h"
#include "policy/algebra/relation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATTERNS_MAX = 16 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_printing(const struct glob *g, const char *path, size_t len)
{
	for (size_t i = 0; i < g->n; i++) {
		auto_arena a = { 0 };
		auto_buffer text = { 0 }, again = { 0 };
		struct glob copy;

		glob_print(&g->alternatives[i], &text);
		if (text.len > GLOB_LENGTH_MAX)
			continue; /* escapes made it longer */
		check(glob_parse(&copy, &a, buffer_text(&text), NULL, NULL) == 0 && copy.n == 1);
		glob_print(&copy.alternatives[0], &again);
		check(strcmp(buffer_text(&text), buffer_text(&again)) == 0);
		check(glob_alternative_match(&g->alternatives[i], path, len) ==
			glob_alternative_match(&copy.alternatives[0], path, len));
	}
}

/* What is found at a look is what parsing finds, and is written as it is printed. */
static void check_plain(const struct glob *g, const char *pattern)
{
	auto_buffer text = { 0 };
	enum glob_kind kind;
	size_t n;

	if (!glob_plain(pattern, &n, &kind))
		return;
	check(g && g->n == 1 && g->alternatives[0].kind == kind &&
		g->alternatives[0].literal_len == n &&
		memcmp(g->alternatives[0].literal, pattern, n) == 0);
	glob_print(&g->alternatives[0], &text);
	check(strcmp(buffer_text(&text), pattern) == 0);
}

static void check_relation(const struct glob *a, const struct glob *b, const char *path, size_t len)
{
	bool x = glob_match(a, path, len), y = glob_match(b, path, len);

	switch (relation_of_globs(a, b, PRODUCT_PATHS)) {
	case RELATION_DISJOINT:
		check(!(x && y));
		break;
	case RELATION_EQUAL:
		check(x == y);
		break;
	case RELATION_INSIDE:
		check(!x || y);
		break;
	case RELATION_OUTSIDE:
		check(!y || x);
		break;
	default:
		break;
	}
}

static void check_set(const struct glob *globs, size_t n, const char *path, size_t len)
{
	struct pathset *s = pathset_new();
	uint32_t want = RANK_NONE;

	check(s != NULL);
	for (size_t i = 0; i < n; i++) {
		check(pathset_add(s, &globs[i], 1, (uint32_t)i) == 0);
		if (want == RANK_NONE && glob_match(&globs[i], path, len))
			want = (uint32_t)i;
	}
	/* An entry of two patterns, weaker than all the others. */
	if (n >= 2) {
		check(pathset_add(s, globs, 2, (uint32_t)n) == 0);
		if (want == RANK_NONE && glob_match(&globs[0], path, len) &&
			glob_match(&globs[1], path, len))
			want = (uint32_t)n;
	}
	if (pathset_build(s, NULL) == 0)
		check(pathset_match(s, path, len) == want);
	pathset_free(s);
}

static void run(char *text, const char *path, size_t len)
{
	auto_arena a = { 0 };
	struct glob globs[PATTERNS_MAX];
	char *save = NULL;
	size_t n = 0;

	for (char *p = strtok_r(text, "\n", &save); p && n < PATTERNS_MAX;
		p = strtok_r(NULL, "\n", &save)) {
		if (glob_parse(&globs[n], &a, p, NULL, NULL) < 0) {
			check_plain(NULL, p);
			continue;
		}
		check_plain(&globs[n], p);
		check_printing(&globs[n++], path, len);
	}
	if (n >= 2)
		check_relation(&globs[0], &globs[1], path, len);
	check_set(globs, n, path, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	char path[PATH_BYTES];
	size_t len, patterns = nul ? (size_t)(nul - data) : size;
	const char *rest = nul ? (const char *)nul + 1 : "/a/b";
	char *text;

	if (path_normalize(rest, nul ? size - patterns - 1 : 4, path, &len) < 0)
		return 0;
	text = calloc(1, patterns + 1);
	if (text) {
		memcpy(text, data, patterns);
		run(text, path, len);
	}
	free(text);
	return 0;
}
