/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and reads, or only stats, all files of the tree that bench-work made, again and again, and
 * prints the seconds that this took. It times itself: starting a program is another benchmark's
 * business.
 *
 *     loop open|stat FOLDER FOLDERS FILES LOOPS
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool touch(const char *path, bool open_it)
{
	char bytes[4096];
	struct stat st;

	if (!open_it)
		return stat(path, &st) == 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0 && close(fd) == 0;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	const bool open_it = strcmp(argv[1], "open") == 0;
	const long folders = strtol(argv[3], NULL, 10), files = strtol(argv[4], NULL, 10),
		   loops = strtol(argv[5], NULL, 10);
	const double start = now();

	for (long i = 0; i < loops * folders * files; i++) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/d%02ld/f%02ld.txt", argv[2],
			i / files % folders, i % files);
		if (!touch(path, open_it))
			return 1;
	}
	return printf("%.9f\n", now() - start) > 0 ? 0 : 1;
}
