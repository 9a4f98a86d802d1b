/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/ending.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

int mcp_ending_watch(struct loop *l, struct watcher *w)
{
	sigset_t set;
	int fd;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_add(l, w, fd, EPOLLIN);
}
