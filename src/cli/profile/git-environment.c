/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git takes from the environment: files of settings in place of ~/.gitconfig, single settings,
 * and programs. The user's git has the same variables after the command, so what they name in the
 * folder is kept like what the settings name. ~/.gitconfig is read just the same: not every program
 * that runs git has these variables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/profile/internal.h"

/* Single settings that are looked at. */
enum { GIT_ENVIRONMENT_SETTINGS = 64 };

static const char git_environment_reads[] = "git runs the commands in it";

static const char git_environment_files[][20] = { "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
	"GIT_CONFIG" };
static const char git_environment_programs[][24] = { "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EDITOR",
	"GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS",
	"GIT_PROXY_COMMAND", "EDITOR", "VISUAL", "PAGER" };
static const char git_environment_folders[][20] = { "GIT_TEMPLATE_DIR", "GIT_EXEC_PATH" };

/* "section.key" or "section.name.key", whose name may have dots of its own. */
static int git_environment_setting(struct profile_git_leads *l, const char *name, const char *value)
{
	const char *first = strchr(name, '.'), *last = strrchr(name, '.');
	char section[64];

	if (!first || (size_t)(first - name) >= sizeof(section))
		return 0;
	(void)snprintf(section, sizeof(section), "%.*s", (int)(first - name), name);
	return profile_git_judge(l, section, last + 1, value, "/", 0);
}

static int git_environment_settings(struct profile_git_leads *l)
{
	const char *text = getenv("GIT_CONFIG_COUNT");
	const unsigned long count = text ? strtoul(text, NULL, 10) : 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < count && i < GIT_ENVIRONMENT_SETTINGS; i++) {
		char key[32], value[32];
		const char *name, *setting;

		(void)snprintf(key, sizeof(key), "GIT_CONFIG_KEY_%u", i);
		(void)snprintf(value, sizeof(value), "GIT_CONFIG_VALUE_%u", i);
		name = getenv(key);
		setting = getenv(value);
		if (name && setting)
			r = git_environment_setting(l, name, setting);
	}
	return r;
}

int profile_git_environment(const char *folder, const char *worktree, struct profile_git_user *user,
	profile_git_found *found, void *data)
{
	struct profile_git_leads leads = {
		.folder = folder, .worktree = worktree, .found = found, .data = data, .user = user
	};
	struct profile_git_leads *l = &leads;
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(git_environment_files); i++) {
		const char *file = getenv(git_environment_files[i]);

		if (!file || !*file || profile_git_resolve(l->worktree, file, path) < 0)
			continue;
		r = profile_git_tell(l, path, git_environment_reads);
		if (r == 0)
			r = profile_git_read_file(l, path, 0);
	}
	for (size_t i = 0; r == 0 && i < ROWS(git_environment_folders); i++) {
		const char *value = getenv(git_environment_folders[i]);

		if (value && *value && profile_git_resolve(l->worktree, value, path) == 0)
			r = profile_git_tell(l, path, git_environment_reads);
	}
	for (size_t i = 0; r == 0 && i < ROWS(git_environment_programs); i++) {
		const char *command = getenv(git_environment_programs[i]);

		if (command)
			r = profile_git_command(l, command);
	}
	return r < 0 ? r : git_environment_settings(l);
}
