/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/netns.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "jail/userns.h"

/* errno is the caller's, too: another value than the kernel's may be there, even none. */
static int netns_errno(void)
{
	int error = errno;

	return error > 0 ? -error : -EIO;
}

/* Returns a descriptor of the namespace; a socket in it leads there without any path. */
static int netns_make(void)
{
	auto_fd s = -1;
	int fd;

	if (unshare(CLONE_NEWNET) < 0 || loopback_up() < 0)
		return netns_errno();
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	fd = s < 0 ? -1 : ioctl(s, SIOCGSKNS);
	return fd < 0 ? netns_errno() : fd;
}

static void netns_run(struct beside *b)
{
	struct netns *n = b->data;

	n->fd = netns_make();
	beside_report(b, n->fd < 0 ? n->fd : 0);
}

void netns_begin(struct netns *n)
{
	n->fd = -1;
	beside_begin(&n->beside, netns_run, n);
}

int netns_join(struct netns *n)
{
	int r;

	if (!n->beside.run)
		return 0;
	r = beside_hear(&n->beside);
	/* Where no process could be started, the caller has been there since. */
	if (r == 0 && n->beside.pid > 0 && setns(n->fd, CLONE_NEWNET) < 0)
		r = -errno;
	if (r == 0)
		r = beside_end(&n->beside);
	fd_close(&n->fd);
	n->beside.run = NULL;
	return r;
}
