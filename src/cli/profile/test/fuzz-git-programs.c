/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A setting of git's, and a command in a variable: section, key and value, a line each, after a
 * byte that says whose settings they are. What is found lies in the folder, under a normal path; a
 * program is found by its section and key or by neither.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/profile/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char folder[] = "/nonexistent/folder";

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

/* The rest of the text up to the end of the line. */
static char *take_line(char **at)
{
	char *line = *at, *end = line + strcspn(line, "\n");

	*at = *end ? end + 1 : end;
	*end = '\0';
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_git_user user = { 0 };
	auto_buffer command = { 0 }, program = { 0 }, again = { 0 };
	struct profile_git_leads l = {
		.folder = folder, .worktree = folder, .found = found, .user = &user
	};
	char *text, *at, *section, *key;

	if (size == 0)
		return 0;
	text = calloc(1, size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	at = text;
	l.kind = data[0] % 2 ? PROFILE_GIT_USER : PROFILE_GIT_REPOSITORY;
	section = take_line(&at);
	key = take_line(&at);
	l.data = &command;
	if (profile_git_command(&l, at) != 0)
		abort();
	l.data = &program;
	if (profile_git_program(&l, section, key, at) != 0)
		abort();
	l.data = &again;
	if (profile_git_program(&l, section, key, at) != 0)
		abort();
	if (strcmp(buffer_text(&program), buffer_text(&again)) != 0)
		abort();
	/* Nothing but an address is read in another way than a command. */
	if (program.len && strncmp(at, "ext::", 5) != 0 &&
		strcmp(buffer_text(&program), buffer_text(&command)) != 0)
		abort();
	free(text);
	return 0;
}
