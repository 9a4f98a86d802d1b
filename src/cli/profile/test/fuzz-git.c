/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's files as a command may leave them behind: the settings, .gitmodules, and the index. What is
 * found lies in the folder, under a normal path; the same files give the same answer twice.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/file.h"
#include "cli/profile/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-git.XXXXXX";

static void remove_folder(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command) != 0) /* NOLINT(cert-env33-c): our own path */
		abort();
}

static void begin(void)
{
	static bool is_done;
	char path[64];

	if (is_done)
		return;
	is_done = true;
	if (!mkdtemp(folder) || setenv("HOME", "/nonexistent", 1) < 0 || atexit(remove_folder) != 0)
		abort();
	(void)unsetenv("XDG_CONFIG_HOME");
	for (const char *name = ".git\0sub\0sub/.git\0"; *name; name += strlen(name) + 1) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
		if (mkdir(path, 0700) < 0)
			abort();
	}
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
}

static int found(void *data, const char *path, const char *who, unsigned uses)
{
	char full[2 * PATH_BYTES];

	(void)uses;
	(void)snprintf(full, sizeof(full), "%s/%s", folder, path);
	if (!who || !*path || !path_is_normal(full, strlen(full)))
		abort();
	buffer_printf(data, "%s\n", path);
	return 0;
}

static void read_all(struct buffer *out)
{
	struct profile_git_user user = { 0 };
	struct timespec since = { 0 };
	int r[] = {
		profile_git_leads(folder, folder, false, &user, found, out),
		profile_git_modules(folder, folder, &user, found, out),
		profile_git_links(folder, folder, &since, found, out),
	};

	for (size_t i = 0; i < 3; i++) {
		if (r[i] != 0 && r[i] != -E2BIG && r[i] != -EFBIG)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { ".git/config", ".gitmodules", ".git/index",
		"sub/.git/index" };
	auto_buffer one = { 0 }, two = { 0 };

	if (size == 0)
		return 0;
	begin();
	for (size_t i = 0; i < 4; i++)
		put(names[i], data + 1, i == data[0] % 4 ? size - 1 : 0);
	read_all(&one);
	read_all(&two);
	if (strcmp(buffer_text(&one), buffer_text(&two)) != 0)
		abort();
	return 0;
}
