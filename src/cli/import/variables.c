/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of other formats: values that a file sets, and names and patterns that it passes on.
 * Other programs take names out again after a pattern let them in. A pattern of Corral's cannot, so
 * one that could name an excluded variable is not granted.
 */
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "cli/import/internal.h"

enum {
	PATTERN_MAX = 128,      /* bytes of a name or a pattern */
	PATTERN_PREFIX_MIN = 3, /* letters before the first wildcard */
};

void import_variable(struct importing *im, const char *name, const struct node *value)
{
	static const char *const secret[] = { "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD",
		"CREDENTIAL", "AUTH" };
	const char *text = node_text(value);
	const char *entry;

	for (size_t i = 0; i < ROWS(secret); i++) {
		if (strcasestr(name, secret[i])) {
			import_note(im, value,
				"%s may hold a secret, and is not copied: set it when you run, or "
				"keep it with `corral vault set %s`",
				name, name);
			return;
		}
	}
	entry = text ? arena_printf(im->call->arena, "%s=%s", name, text) : NULL;
	if (!text)
		import_note(im, value, "the value of %s is no text", name);
	else if (!entry)
		im->no_memory = true;
	else
		import_grant(im, LIST_ENV, entry, value);
}

static bool variables_same(char a, char b)
{
	return a == '?' || b == '?' || toupper((unsigned char)a) == toupper((unsigned char)b);
}

bool import_patterns_meet(const char *a, const char *b)
{
	/* meet[j]: whether the rest of `a` and the rest of `b` from j on have a name in common. */
	bool meet[PATTERN_MAX + 1], below[PATTERN_MAX + 1] = { false };
	const size_t n = strnlen(a, PATTERN_MAX + 1), m = strnlen(b, PATTERN_MAX + 1);

	/* What is not understood could be anything. */
	if (n > PATTERN_MAX || m > PATTERN_MAX || strpbrk(a, "[]{}\\!") || strpbrk(b, "[]{}\\!"))
		return true;
	for (size_t i = n + 1; i-- > 0;) {
		for (size_t j = m + 1; j-- > 0;) {
			const bool star_a = i < n && a[i] == '*', star_b = j < m && b[j] == '*';

			if (star_a || star_b)
				meet[j] = (star_a && below[j]) ||
					  (star_a && j < m && meet[j + 1]) ||
					  (star_b && meet[j + 1]) || (star_b && i < n && below[j]);
			else if (i < n && j < m)
				meet[j] = variables_same(a[i], b[j]) && below[j + 1];
			else
				meet[j] = i == n && j == m;
		}
		memcpy(below, meet, sizeof(below));
	}
	return meet[0];
}

/* The entry of a list of exclusions that could take out one of these names; NULL: none. */
static const struct node *variables_excluder(const struct node *excluded, const char *pattern)
{
	if (excluded && excluded->type != NODE_LIST)
		return excluded->type == NODE_NULL ? NULL : excluded;
	if (!excluded)
		return NULL;
	node_for_each(item, excluded) {
		const struct node *name = item->type == NODE_MAP ? node_get(item, "name") : item;

		if (!name || name->type != NODE_STRING || import_patterns_meet(name->text, pattern))
			return item;
	}
	return NULL;
}

bool import_variables(struct importing *im, const char *pattern, const struct node *excluded,
	const struct node *from)
{
	const bool is_pattern = strpbrk(pattern, "*?") != NULL;

	if (strchr(pattern, '='))
		import_note(im, from, "`%s` is not the name of a variable", pattern);
	else if (is_pattern && strcspn(pattern, "*?") < PATTERN_PREFIX_MIN)
		import_note(im, from,
			"`%s`: not all variables are passed on: add env: [NAME] for those that are "
			"needed",
			pattern);
	else if (variables_excluder(excluded, pattern))
		import_note(im, from,
			"`%s` is not passed on: the file also excludes %s; add env: [NAME] for "
			"those that are needed",
			pattern, is_pattern ? "some of these names" : "it");
	else {
		import_grant(im, LIST_ENV, pattern, from);
		return true;
	}
	return false;
}
