/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that act. Below a mount of autofs or AFS a name that nobody used before is looked for on
 * other machines: with the automounter's usual map, whoever asks whether /net/NAME/x is there sends
 * a question for NAME to the name servers, and waits for what comes back. The command has no such
 * place, and no network. Were its names looked at there for it, that would be a way out, and a
 * place to wait in. So nothing is looked at on such mounts, and nothing is said of it. What was
 * mounted below one before the command began is a file system like others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/internal.h"

/* Writes space, tab, newline and backslash as \040 and so on. */
static void explain_mounts_unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		char digits[4] = { text[0] == '\\' ? text[1] : '\0' };
		char *end;
		long c;

		if (digits[0] && text[2] && text[3])
			memcpy(digits, text + 1, 3);
		c = strtol(digits, &end, 8);
		if (end == digits + 3 && c > 0 && c < 256) {
			*to++ = (char)c;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /mount/point options … - type source options": cut into two of these. */
static bool explain_mounts_read_line(char *line, char **ret_path, char **ret_type)
{
	char *dash = strstr(line, " - "), *at = line;

	if (!dash)
		return false;
	*dash = '\0';
	for (int i = 0; at && i < 4; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || *at != '/')
		return false;
	*ret_path = at;
	at[strcspn(at, " ")] = '\0';
	explain_mounts_unescape(at);
	*ret_type = dash + 3;
	(*ret_type)[strcspn(*ret_type, " ")] = '\0';
	return true;
}

int run_explain_mounts_read(struct explain_mounts *m, struct arena *a, const char *list)
{
	char *text = arena_strdup(a, list), *rest = NULL;
	bool any = false;

	*m = (struct explain_mounts){ 0 };
	if (!text)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct explain_mount one;
		char *path, *type;

		if (!explain_mounts_read_line(line, &path, &type))
			continue;
		one = (struct explain_mount){ .path = path,
			.acts = strcmp(type, "autofs") == 0 || strcmp(type, "afs") == 0 };
		any = any || one.acts;
		if (ARENA_PUSH(a, m->items, m->n, m->cap, one) < 0)
			return -ENOMEM;
	}
	/* As on most machines. */
	if (!any)
		m->n = 0;
	return 0;
}

/* The longest counts, and of two at one place the later, which is on top. */
bool run_explain_mounts_act(const struct explain_mounts *m, const char *path)
{
	const struct explain_mount *best = NULL;

	for (size_t i = 0; i < m->n; i++) {
		const struct explain_mount *one = &m->items[i];

		if (path_is_below(path, one->path) &&
			(!best || strlen(one->path) >= strlen(best->path)))
			best = one;
	}
	return best && best->acts;
}
