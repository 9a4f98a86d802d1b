/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* Of /proc/PID/stat, as proc(5) counts; the name before may have blanks, so 3 is the first. */
enum { AFTER_NAME = 3, ARG_START = 48 };

static int read_stat(char *text, size_t size)
{
	auto_fd fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

static const char *cmdline_find_field(const char *text, int field)
{
	const char *p = strrchr(text, ')');

	for (int i = AFTER_NAME - 1; p && i < field; i++)
		p = strchr(p + 1, ' ');
	return p;
}

int cmdline_erase(void)
{
	char text[1024];
	const char *at;
	char *end;
	uintptr_t first, last;
	int r = read_stat(text, sizeof(text));

	if (r < 0)
		return r;
	at = cmdline_find_field(text, ARG_START);
	if (!at)
		return -EPROTO;
	first = strtoul(at, &end, 10);
	last = strtoul(end, NULL, 10);
	/* 0: the kernel keeps them to itself, or there are none. */
	if (first == 0 || last < first)
		return first == last ? 0 : -EPROTO;
	memset((void *)first, 0, last - first);
	return 0;
}
