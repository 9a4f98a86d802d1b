/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the C library cannot close "all from here": the descriptors that are open now, one by one.
 * One that another thread opens meanwhile, without close-on-exec, may still get into the program
 * (the warden closes what it does not know; none gets into a command).
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "process/starting-rest.h"

int starting_rest_close(posix_spawn_file_actions_t *a, int from)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno;
	while (r == 0 && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd >= from && fd != dirfd(dir))
			r = posix_spawn_file_actions_addclose(a, fd);
	}
	(void)closedir(dir);
	return r;
}
