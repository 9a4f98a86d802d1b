/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modes as tables of grants. They say what omega says: reading is open, because an agent's own
 * program needs its libraries and its configuration, and writing is not. What an agent in mode
 * sandbox may read is asked of it in words only, so the words must not be taken for the protection;
 * secrets are kept from it by the baseline (baseline.h). In mode rwx nothing is enforced: there the
 * baseline only answers questions.
 */
#include "policy/format/mode.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "base/utf8.h"
#include "policy/match/glob.h"

static const char *const names[] = {
	[AGENT_MODE_SANDBOX] = "sandbox",
	[AGENT_MODE_RX] = "rx",
	[AGENT_MODE_RWX] = "rwx",
};

/* The grants that come with a mode, be it confined or not. */
static const struct {
	enum permission_list list;
	const char *pattern;
	bool confined, unconfined;
} grants[] = {
	{ LIST_FS_READ, "/**", true, true },
	{ LIST_NETWORK_ALLOW, "*:*", true, true },
	{ LIST_NETWORK_ALLOW, "udp://*:*", true, true },
	{ LIST_ENV, "*", true, true },
	{ LIST_FS_WRITE, "$TEMP/**", true, false },
	{ LIST_FS_WRITE, "$HOME/.claude/**", true, false },
	{ LIST_FS_WRITE, "/**", false, true },
};

int agent_mode_parse(const char *word, enum agent_mode *ret)
{
	for (int mode = AGENT_MODE_SANDBOX; mode <= AGENT_MODE_RWX; mode++) {
		if (strcmp(word, names[mode]) == 0) {
			*ret = (enum agent_mode)mode;
			return 0;
		}
	}
	return -EINVAL;
}

const char *agent_mode_name(enum agent_mode mode)
{
	return names[mode];
}

bool agent_mode_is_printable(const char *data_dir)
{
	for (const char *s = data_dir; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	}
	return utf8_valid(data_dir, strlen(data_dir), NULL);
}

const char *agent_mode_workspace(const char *data_dir, struct arena *a)
{
	const char *slash = strrchr(data_dir, '/');

	return slash && strcmp(slash, "/.omega") == 0 ? arena_printf(a, "%s/workspace", data_dir)
						      : NULL;
}

const char *agent_mode_prompt(enum agent_mode mode, const char *data_dir, struct arena *a)
{
	switch (mode) {
	case AGENT_MODE_SANDBOX:
		return arena_printf(a,
			"You work inside a sandbox. Your folder is %1$s: read, create and change "
			"files there and nowhere else. Do not open files of the system, of the "
			"user's home or of other projects, even where that would succeed; if a "
			"task needs one, ask the user for it. Writing outside %1$s and the folder "
			"for temporary files fails: do not look for another way to do it.",
			data_dir);
	case AGENT_MODE_RX:
		return arena_printf(a,
			"You may read files and run programs everywhere on this system. You may "
			"write only in %1$s and in the folder for temporary files: writing "
			"anywhere else fails. If a change is needed elsewhere, describe it to the "
			"user instead of making it.",
			data_dir);
	case AGENT_MODE_RWX:
		break;
	}
	return NULL;
}

/* A folder and all below it may be written. */
static int mode_add_folder(struct permissions *p, const char *folder, struct error *e)
{
	auto_buffer pattern = { 0 };
	char normal[PATH_BYTES];
	size_t len;

	if (path_normalize(folder, strlen(folder), normal, &len) < 0)
		return error_set(e, -EINVAL, NULL, "`%s` is not an absolute path", folder);
	if (len == 1) {
		(void)error_set(e, -EINVAL, NULL,
			"/ cannot be the writable folder: nothing would be confined");
		error_hint(e, "use a folder below it, or mode rwx");
		return -EINVAL;
	}
	glob_print_literal(normal, len, &pattern);
	buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return -ENOMEM;
	return permissions_add(p, &p->fs_write, buffer_text(&pattern), NULL);
}

int agent_mode_permissions(enum agent_mode mode, const char *data_dir, const char *const *extra,
	size_t n_extra, struct permissions *p, struct error *e)
{
	bool confined = mode != AGENT_MODE_RWX;
	int r;

	p->origin = arena_printf(p->arena, "mode %s", names[mode]);
	p->line_place = LINE_NOWHERE;
	r = p->origin ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < ROWS(grants); i++) {
		if (confined ? grants[i].confined : grants[i].unconfined)
			r = permissions_add(
				p, permissions_list(p, grants[i].list), grants[i].pattern, NULL);
	}
	if (r == 0 && confined)
		r = mode_add_folder(p, data_dir, e);
	for (size_t i = 0; r == 0 && confined && i < n_extra; i++)
		r = mode_add_folder(p, extra[i], e);
	return r == -ENOMEM ? error_no_memory(e) : r;
}
