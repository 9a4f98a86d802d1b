/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/variable.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "base/suggest.h"
#include "policy/match/glob.h"

static const char *const names[VARIABLE_COUNT] = {
	[VARIABLE_SKILL_DIR] = "SKILL_DIR",
	[VARIABLE_WORK_DIR] = "WORK_DIR",
	[VARIABLE_DATA_DIR] = "DATA_DIR",
	[VARIABLE_SHARED_DIR] = "SHARED_DIR",
	[VARIABLE_HOME] = "HOME",
	[VARIABLE_TEMP] = "TEMP",
};

const char *variable_name(enum variable v)
{
	return names[v];
}

int variable_parse(const char *name, size_t len, enum variable *ret)
{
	for (int v = 0; v < VARIABLE_COUNT; v++) {
		if (strlen(names[v]) == len && memcmp(names[v], name, len) == 0) {
			*ret = (enum variable)v;
			return 0;
		}
	}
	return -ENOENT;
}

static int variable_unknown(
	const char *name, size_t len, const struct location *where, struct error *e)
{
	char word[64] = "";
	const char *near;

	memcpy(word, name, len < sizeof(word) - 1 ? len : sizeof(word) - 1);
	error_set(e, -EINVAL, where, "unknown variable $%s", word);
	near = suggest(word, names, VARIABLE_COUNT);
	if (near)
		error_hint(e, "did you mean $%s?", near);
	else
		error_hint(e, "valid variables: $SKILL_DIR $WORK_DIR $DATA_DIR $SHARED_DIR $HOME "
			      "$TEMP; write \\$ for a dollar sign in a file name");
	return -EINVAL;
}

/* There must be no dollar sign that is not escaped. */
static int check_rest(const char *rest, const struct location *where, struct error *e)
{
	for (; *rest && *rest != '$'; rest++) {
		if (*rest == '\\' && rest[1])
			rest++;
	}
	if (!*rest)
		return 0;
	error_set(e, -EINVAL, where, "a variable can only stand at the start of a pattern");
	error_hint(e, "write \\$ for a dollar sign in a file name");
	return -EINVAL;
}

int variable_split(const char *pattern, enum variable *ret, const char **ret_rest,
	const struct location *where, struct error *e)
{
	const char *name = "", *rest = pattern;
	enum variable v = VARIABLE_HOME;
	size_t n = 0;

	if (pattern[0] == '~' && (pattern[1] == '/' || pattern[1] == '\0')) {
		rest = pattern + 1;
	} else if (pattern[0] == '$') {
		bool braced = pattern[1] == '{';

		name = pattern + 1 + braced;
		while (isalnum((unsigned char)name[n]) || name[n] == '_')
			n++;
		rest = name + n + braced;
		if (braced && name[n] != '}')
			n = 0;
		if (n == 0 || variable_parse(name, n, &v) < 0)
			return variable_unknown(name, n, where, e);
	} else {
		return check_rest(pattern, where, e);
	}
	if (*rest != '/' && *rest != '\0') {
		error_set(e, -EINVAL, where, "expected a slash after $%s", names[v]);
		return -EINVAL;
	}
	if (check_rest(rest, where, e) < 0)
		return -EINVAL;
	*ret = v;
	*ret_rest = rest;
	return 1;
}

int variable_expand(const struct variables *vars, const char *pattern, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	auto_buffer text = { 0 };
	const char *rest = pattern, *value;
	enum variable v = VARIABLE_HOME;
	int r = variable_split(pattern, &v, &rest, where, e);

	if (r < 0)
		return r;
	if (r == 0) {
		*ret = arena_strdup(a, pattern);
		return *ret ? 0 : -ENOMEM;
	}
	value = vars ? vars->values[v] : NULL;
	if (!value) {
		error_set(e, -ENOENT, where, "$%s has no value", names[v]);
		error_hint(e, "set it (--set %s=DIR), or write the path itself", names[v]);
		return -ENOENT;
	}
	if (!path_is_normal(value, strlen(value)))
		return error_set(e, -EINVAL, where,
			"the value of $%s must be an absolute path without . or ..: %s", names[v],
			value);
	/* "/" + "/x" would be "//x", which is harmless, but "/" + "" must stay "/". */
	if (strcmp(value, "/") != 0 || *rest == '\0')
		glob_print_literal(value, strlen(value), &text);
	buffer_adds(&text, rest);
	*ret = text.failed ? NULL : arena_strdup(a, buffer_text(&text));
	return *ret ? 0 : -ENOMEM;
}
