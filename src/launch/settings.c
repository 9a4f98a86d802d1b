/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/path.h"
#include "host/linked.h"
#include "host/links.h"
#include "policy/match/glob.h"
#include "threat/threat.h"

enum { LAYERS_MAX = 64 };

static const char launch_settings_folder[] = ".claude/";

/* Is it granted for writing by just this name? */
static bool launch_settings_is_granted(
	const struct permissions *p, const char *pattern, const char *name)
{
	char by_variable[PATH_BYTES];

	(void)snprintf(by_variable, sizeof(by_variable), "$HOME/%s", name);
	for (size_t i = 0; i < p->fs_write.n; i++) {
		const char *text = p->fs_write.items[i].all[0];

		if (strcmp(text, pattern) == 0 || strcmp(text, by_variable) == 0)
			return true;
	}
	return false;
}

/* Of one row: what is denied so far, and where its folder is. */
struct launch_settings_row {
	struct permissions *to;
	struct rule *rule;
	const char *name, *real;
};

/* real: free of links. 1: it is a folder. */
static int launch_settings_deny_path(const struct launch_settings_row *x, const char *real)
{
	auto_buffer pattern = { 0 };
	struct stat st;
	int r = 0;

	if (lstat(real, &st) < 0)
		return 0;
	glob_print_literal(real, strlen(real), &pattern);
	if (S_ISDIR(st.st_mode))
		buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return -ENOMEM;
	if (!launch_settings_is_granted(x->to, buffer_text(&pattern), x->name))
		r = permissions_add(
			x->to, &x->rule->patterns, buffer_text(&pattern), &x->rule->where);
	return r < 0 ? r : S_ISDIR(st.st_mode);
}

/* A linked_found. A link to a folder around it is left alone: nothing could be written then. */
static int launch_settings_follow(void *data, const char *below)
{
	const struct launch_settings_row *x = data;
	char path[PATH_BYTES], end[PATH_BYTES];
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", x->real, below) >= (int)sizeof(path) ||
		links_follow(path, NULL, NULL, end) < 0 || path_is_below(end, x->real) ||
		path_is_below(x->real, end))
		return 0;
	r = launch_settings_deny_path(x, end);
	return r < 0 ? r : 0;
}

/* The row, and what links in it lead to. */
static int launch_settings_add(const struct launch_settings_row *row, const char *home)
{
	static const char *const skipped[] = { ".git", "node_modules", NULL };
	char path[PATH_BYTES], real[PATH_BYTES];
	struct launch_settings_row x = *row;
	struct linked bounds = linked_start(skipped); /* of each row: none uses up another's */
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", home, x.name) >= (int)sizeof(path) ||
		links_follow(path, NULL, NULL, real) < 0)
		return 0;
	x.real = real;
	r = launch_settings_deny_path(&x, real);
	return r <= 0 ? r
		      : linked_each(&bounds, real, LINKED_DEPTH_MAX, launch_settings_follow, &x);
}

int launch_settings_deny(struct permissions *p, const char *home)
{
	struct rule rule = {
		.id = "runs-later",
		.name = "the agent runs it later, possibly outside of the sandbox",
		.action = VERDICT_DENY,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = p->origin },
	};
	const struct permissions *layers[LAYERS_MAX];
	int r = permissions_layers(p, layers, LAYERS_MAX);
	/* They are p's own; permissions_layers() only looks at them. One that denies is enough. */
	struct permissions *to = r > 0 ? (struct permissions *)layers[0] : p;

	for (size_t i = 0; r >= 0 && i < threat_paths_n; i++) {
		struct launch_settings_row x = {
			.to = to, .rule = &rule, .name = threat_name(&threat_paths[i])
		};

		if (threat_paths[i].uses & THREAT_PROTECT &&
			strncmp(x.name, launch_settings_folder, strlen(launch_settings_folder)) ==
				0)
			r = launch_settings_add(&x, home);
	}
	return r >= 0 && rule.patterns.n ? permissions_add_rule(to, &rule) : r < 0 ? r : 0;
}
