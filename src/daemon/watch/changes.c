/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inotify for all parts of the daemon that watch folders: stored policies, files that runs leave,
 * Corral's own folders. The kernel limits the instances and watches of each user, which all of the
 * user's programs share. If a limit is reached, or there is no inotify for another reason, the
 * daemon goes on: with each scan the security watcher reads the folders and tries again. The reason
 * is a finding, and shown by /api/status.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/changes.h"

/* Both limits are the same error: of inotify's instances, and of our open files. */
static bool changes_has_no_files(void)
{
	auto_fd fd = open("/", O_PATH | O_CLOEXEC);

	return fd < 0 && errno == EMFILE;
}

int changes_open(struct supervisor *s, struct watcher *w)
{
	int fd = w->fd >= 0 ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK), r;

	if (w->fd >= 0)
		return 0;
	if (fd < 0) {
		s->watch.unwatched = errno;
		s->watch.is_files_limit = errno == EMFILE && changes_has_no_files();
		return 0;
	}
	r = loop_add(s->loop, w, fd, EPOLLIN);
	if (r < 0)
		(void)close(fd);
	return r;
}

int changes_add(struct supervisor *s, const struct watcher *w, const char *path, uint32_t what)
{
	const int number = w->fd < 0 ? -1 : inotify_add_watch(w->fd, path, what | IN_ONLYDIR);

	if (w->fd >= 0 && number < 0 && errno == ENOSPC)
		s->watch.unwatched = ENOSPC;
	return number;
}

const char *changes_limit(const struct supervisor *s)
{
	return s->watch.unwatched == ENOSPC ? "fs.inotify.max_user_watches"
	       : s->watch.unwatched == EMFILE && s->watch.is_files_limit ? "RLIMIT_NOFILE"
	       : s->watch.unwatched == EMFILE ? "fs.inotify.max_user_instances"
					      : NULL;
}

void changes_why(const struct supervisor *s, struct buffer *out)
{
	if (changes_limit(s))
		buffer_printf(out, "%s is used up", changes_limit(s));
	else if (s->watch.unwatched)
		buffer_printf(out, "inotify: %s", strerror(s->watch.unwatched));
}
