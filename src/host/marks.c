/* SPDX-License-Identifier: Apache-2.0 */
#include "host/marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/file.h"

enum { MARKS_STATUS_MAX = 64 << 10 };

/* The number behind "Name:\t"; 0 if there is no such line. */
static unsigned marks_number(const char *status, const char *name)
{
	const size_t len = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return (unsigned)strtoul(line + len + 1, NULL, 10);
	}
	return 0;
}

/* How many numbers the process has: one in each pid namespace, from ours down. */
static unsigned marks_depth(const char *status)
{
	const char *line = strstr(status, "\nNSpid:");
	unsigned n = 0;

	for (line = line ? line + strlen("\nNSpid:") : ""; *line && *line != '\n'; line++)
		n += *line == '\t';
	return n;
}

int marks_read(const char *process, struct marks *ret)
{
	auto_buffer status = { 0 };
	char path[64];
	struct stat st;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/user", process);
	if (stat(path, &st) < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/%s/status", process);
	r = file_read(path, MARKS_STATUS_MAX, &status);
	if (r < 0)
		return r;
	*ret = (struct marks){ .device = st.st_dev,
		.inode = st.st_ino,
		.no_new_privs = marks_number(buffer_text(&status), "NoNewPrivs"),
		.filters = marks_number(buffer_text(&status), "Seccomp_filters"),
		.depth = marks_depth(buffer_text(&status)) };
	/* Before Linux 5.9 only that there are some. */
	if (ret->filters == 0 && marks_number(buffer_text(&status), "Seccomp") != 0)
		ret->filters = 1;
	return 0;
}

const char *marks_differ(const struct marks *own, const struct marks *peer)
{
	if (own->device != peer->device || own->inode != peer->inode)
		return "the process runs in another user namespace";
	if (peer->depth > own->depth)
		return "the process runs in another pid namespace";
	if (peer->no_new_privs > own->no_new_privs)
		return "the process is confined (no_new_privs)";
	if (peer->filters > own->filters)
		return "the process is confined (seccomp)";
	return NULL;
}
