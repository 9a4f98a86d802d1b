/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An .envrc as anybody may write it. What is found lies in the folder, under a normal path; the
 * same file gives the same answer twice.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/profile/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-envrc.XXXXXX";

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

	if (is_done)
		return;
	is_done = true;
	if (!mkdtemp(folder) || atexit(remove_folder) != 0 || chdir(folder) < 0 ||
		mkdir("sub", 0700) < 0 || mkdir(".direnv", 0700) < 0 ||
		mkdir(".direnv/python-3", 0700) < 0 || symlink("sub", "link") < 0 ||
		symlink("../.envrc", "sub/.envrc") < 0)
		abort();
}

static int found(void *data, const char *path, const char *who, enum profile_shell_kind kind)
{
	char full[2 * PATH_BYTES];

	(void)snprintf(full, sizeof(full), "%s%s%s", folder, *path ? "/" : "", path);
	if (!who || (!*path && kind != PROFILE_SHELL_PROGRAMS) ||
		!path_is_normal(full, strlen(full)))
		abort();
	buffer_printf(data, "%d %s\n", (int)kind, path);
	return 0;
}

static void read_all(const char *path, struct buffer *out)
{
	char file[64];
	int r;

	(void)snprintf(file, sizeof(file), "%s/.envrc", folder);
	r = profile_shell_envrc(folder, file, found, out);
	if (r != 0 && r != -E2BIG)
		abort();
	if (profile_shell_path(folder, path, found, out) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer one = { 0 }, two = { 0 }, path = { 0 };
	FILE *f;

	begin();
	f = fopen(".envrc", "w");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
	for (size_t i = 0; i < size && data[i]; i++)
		buffer_addc(&path, (char)data[i]);
	read_all(buffer_text(&path), &one);
	read_all(buffer_text(&path), &two);
	if (strcmp(buffer_text(&one), buffer_text(&two)) != 0)
		abort();
	return 0;
}
