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
#include <string.h>

#include "cli/explain/internal.h"
#include "jail/mount.h"

int run_explain_mounts_read(struct explain_mounts *m, struct arena *a, const char *list)
{
	char *text = arena_strdup(a, list), *rest = NULL;
	bool any = false;

	*m = (struct explain_mounts){ 0 };
	if (!text)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct explain_mount one;
		struct mount_line parsed;

		if (!mount_line_parse(line, &parsed) || parsed.path[0] != '/')
			continue;
		one = (struct explain_mount){ .path = parsed.path,
			.acts = strcmp(parsed.type, "autofs") == 0 ||
				strcmp(parsed.type, "afs") == 0 };
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
