/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "event/loop.h"
#include "serve/room.h"

/* What older headers lack. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif

/* 0: the kernel has no such numbers, or the process has ended. */
static uint64_t peer_number(int fd)
{
	auto_fd pidfd = -1;
	socklen_t len = sizeof(pidfd);
	struct statfs fs;
	struct stat st;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0) {
		pidfd = -1;
		return 0;
	}
	/* Before pidfs all of them had one inode. */
	if (fstatfs(pidfd, &fs) < 0 || fs.f_type != PID_FS_MAGIC || fstat(pidfd, &st) < 0)
		return 0;
	return st.st_ino;
}

static struct peer *peer_find(struct serve_room *r, const struct ucred *cred, uint64_t number)
{
	for (struct link *l = r->peers.next; l != &r->peers; l = l->next) {
		struct peer *p = container_of(l, struct peer, link);

		if (p->cred.pid == cred->pid && p->cred.uid == cred->uid && p->number == number)
			return p;
	}
	return NULL;
}

int peer_get(struct serve_room *r, int fd, struct peer **ret)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct peer *p;
	uint64_t number;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	number = peer_number(fd);
	p = peer_find(r, &cred, number);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->cred = cred;
		p->number = number;
		link_init(&p->link);
		link_append(&r->peers, &p->link);
	}
	p->connections++;
	*ret = p;
	return 0;
}

static void peer_put(struct peer *p)
{
	if (p->connections > 0 || p->calls > 0)
		return;
	link_remove(&p->link);
	free(p);
}

void peer_put_connection(struct peer *p)
{
	p->connections--;
	peer_put(p);
}

void peer_put_call(struct peer *p)
{
	p->calls--;
	peer_put(p);
}

unsigned *peer_work(struct serve_room *r, struct peer *p)
{
	if (p->turn != r->turn) {
		p->turn = r->turn;
		p->work = r->limits.turn_work;
	}
	return &p->work;
}
