/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/path.h"
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

static int launch_settings_add(
	struct permissions *p, struct rule *rule, const char *home, const struct threat *row)
{
	char path[PATH_BYTES], real[PATH_BYTES];
	auto_buffer pattern = { 0 };
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", home, threat_name(row)) >= (int)sizeof(path) ||
		links_follow(path, NULL, NULL, real) < 0 || lstat(real, &st) < 0)
		return 0;
	glob_print_literal(real, strlen(real), &pattern);
	if (S_ISDIR(st.st_mode))
		buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return -ENOMEM;
	return launch_settings_is_granted(p, buffer_text(&pattern), threat_name(row))
		       ? 0
		       : permissions_add(p, &rule->patterns, buffer_text(&pattern), &rule->where);
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
		if (threat_paths[i].uses & THREAT_PROTECT &&
			strncmp(threat_name(&threat_paths[i]), launch_settings_folder,
				strlen(launch_settings_folder)) == 0)
			r = launch_settings_add(to, &rule, home, &threat_paths[i]);
	}
	return r >= 0 && rule.patterns.n ? permissions_add_rule(to, &rule) : r < 0 ? r : 0;
}
