/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modes as tables of grants. They say what omega says: reading is open, because an agent's own
 * program needs its libraries and its configuration, and writing is not. What an agent in mode
 * sandbox may read is asked of it in words only, so the words must not be taken for the protection;
 * secrets are kept from it by the baseline (baseline.h), which holds in every mode.
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

/* A grant that comes with a mode; `list` is its offset in struct permissions. */
struct mode_grant {
	size_t list;
	const char *pattern;
};

static const struct mode_grant common[] = {
	{ offsetof(struct permissions, fs_read), "/**" },
	{ offsetof(struct permissions, network_allow), "*:*" },
	{ offsetof(struct permissions, network_allow), "udp://*:*" },
	{ offsetof(struct permissions, env), "*" },
};

static const struct mode_grant confined[] = {
	{ offsetof(struct permissions, fs_write), "$TEMP/**" },
	{ offsetof(struct permissions, fs_write), "$HOME/.claude/**" },
};

static const struct mode_grant unconfined[] = {
	{ offsetof(struct permissions, fs_write), "/**" },
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

static int add_rows(struct permissions *p, const struct mode_grant *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct grant_list *list = (void *)((char *)p + rows[i].list);
		int r = permissions_add(p, list, rows[i].pattern, NULL);

		if (r < 0)
			return r;
	}
	return 0;
}

/* A folder and all below it may be written. */
static int mode_add_folder(struct permissions *p, const char *folder, struct error *e)
{
	auto_buffer pattern = { 0 };
	char normal[PATH_BYTES];
	size_t len;

	if (path_normalize(folder, strlen(folder), normal, &len) < 0)
		return error_set(e, -EINVAL, NULL, "`%s` is no absolute path", folder);
	if (len == 1) {
		(void)error_set(e, -EINVAL, NULL, "/ as a writable folder would confine nothing");
		error_hint(e, "choose a folder below it, or the mode rwx");
		return -EINVAL;
	}
	glob_print_literal(normal, len, &pattern);
	buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return -ENOMEM;
	return permissions_add(p, &p->fs_write, buffer_text(&pattern), NULL);
}

static int mode_add_folders(struct permissions *p, const char *data_dir, const char *const *extra,
	size_t n_extra, struct error *e)
{
	int r = mode_add_folder(p, data_dir, e);

	for (size_t i = 0; r == 0 && i < n_extra; i++)
		r = mode_add_folder(p, extra[i], e);
	return r;
}

int agent_mode_permissions(enum agent_mode mode, const char *data_dir, const char *const *extra,
	size_t n_extra, struct permissions *p, struct error *e)
{
	int r;

	p->origin = arena_printf(p->arena, "mode %s", names[mode]);
	r = p->origin ? add_rows(p, common, ROWS(common)) : -ENOMEM;
	if (r == 0 && mode == AGENT_MODE_RWX)
		r = add_rows(p, unconfined, ROWS(unconfined));
	else if (r == 0)
		r = add_rows(p, confined, ROWS(confined));
	if (r == 0 && mode != AGENT_MODE_RWX)
		r = mode_add_folders(p, data_dir, extra, n_extra, e);
	return r == -ENOMEM ? error_no_memory(e) : r;
}
