/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/session/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

enum {
	PAGE_BYTES = 4096,      /* lent at once, while it is not known whether the command reads */
	LENT_MAX = 64 << 10,    /* a command that took so much takes all */
	PIPE_BYTES = 256 << 10, /* of the command's pipe once much is under way */
	COPY_BYTES = 16 << 10,  /* what is less is copied: spliced, each piece would fill a page */
	MOVE_BYTES = 1 << 20,
	TURN_BYTES = 4 << 20, /* before others have their turn */
};

/* One step: bytes moved; 0: the end; -EAGAIN: nothing can be moved now; other: it is broken. */

static ssize_t copier_result(ssize_t n)
{
	return n < 0 && errno == EINTR ? -EAGAIN : n < 0 ? -errno : n;
}

static size_t copier_queued(int pipe)
{
	int n = 0;

	return ioctl(pipe, FIONREAD, &n) < 0 || n < 0 ? 0 : (size_t)n;
}

/* Never waits: a pipe of which this process shares the flags with others is asked before. */
static ssize_t copier_write(struct copier *c, const char *data, size_t len)
{
	if (c->is_socket && !c->is_input)
		return copier_result(send(c->to, data, len, MSG_DONTWAIT | MSG_NOSIGNAL));
	if (c->keeps_waiting) {
		struct pollfd p = { .fd = c->to, .events = POLLOUT };

		if (poll(&p, 1, 0) <= 0)
			return -EAGAIN;
		len = len < PIPE_BUF ? len : PIPE_BUF;
	}
	return copier_result(write(c->to, data, len));
}

static ssize_t copier_read(struct copier *c)
{
	if (c->is_socket && c->is_input)
		return copier_result(recv(c->from, c->bytes, COPY_BYTES, MSG_DONTWAIT));
	return copier_result(read(c->from, c->bytes, COPY_BYTES));
}

/* Much is under way: a larger pipe is faster. Only then, since a user may not have many of them. */
static void copier_begin_bulk(struct copier *c)
{
	if (!c->is_large)
		(void)fcntl(c->is_input ? c->to : c->from, F_SETPIPE_SZ, PIPE_BYTES);
	c->is_bulk = c->is_large = true;
}

/* By way of memory, where small pieces join in one page. */
static ssize_t copier_copy(struct copier *c)
{
	ssize_t n;

	if (c->at == c->len) {
		n = copier_read(c);
		if (n <= 0)
			return n;
		c->at = 0;
		c->len = (size_t)n;
		if (c->may_splice && n == COPY_BYTES)
			copier_begin_bulk(c);
		else
			c->is_bulk = false;
	}
	if (c->left == 0)
		return -EFBIG;
	n = copier_write(c, c->bytes + c->at, c->len - c->at < c->left ? c->len - c->at : c->left);
	if (n > 0) {
		c->at += (size_t)n;
		c->given += (uint64_t)n;
	}
	return n;
}

static ssize_t copier_splice(struct copier *c)
{
	size_t most = c->left < MOVE_BYTES ? (size_t)c->left : MOVE_BYTES;
	ssize_t n = -EAGAIN;

	if (most > 0)
		n = copier_result(splice(
			c->from, NULL, c->to, NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
	/* What the file may not hold, or a kind of file that cannot do this. */
	if (most == 0 || n == -EINVAL) {
		c->may_splice = c->is_bulk = false;
		return copier_copy(c);
	}
	/* Input goes on as it is: the command's pipe is read, not kept. */
	if (!c->is_input && n > 0 && n < COPY_BYTES)
		c->is_bulk = false;
	return n;
}

/* Takes out of the host's pipe what the command has read of what was lent to it. */
static void copier_settle(struct copier *c)
{
	size_t unread = copier_queued(c->to);
	size_t n = unread < c->lent ? c->lent - unread : 0;
	char bytes[PAGE_BYTES];

	c->taken += n;
	c->lent -= n;
	/* If others read there meanwhile there may be less, and this must not wait. */
	if (n > 0 && copier_queued(c->from) >= n)
		(void)!read(c->from, bytes, n);
}

static ssize_t copier_lend(struct copier *c)
{
	ssize_t n;

	if (c->lent > 0) {
		/* The command's pipe holds one page now: there is room again if it is empty. */
		if (copier_queued(c->to) > 0)
			return -EAGAIN;
		copier_settle(c);
	}
	if (c->taken >= LENT_MAX) {
		copier_begin_bulk(c);
		return copier_splice(c);
	}
	n = copier_result(tee(c->from, c->to, PAGE_BYTES, SPLICE_F_NONBLOCK));
	if (n > 0)
		c->lent = (size_t)n;
	return n;
}

static ssize_t copier_step(struct copier *c)
{
	if (c->is_bulk && c->at == c->len)
		return copier_splice(c);
	return c->is_input && c->is_pipe ? copier_lend(c) : copier_copy(c);
}

/*
 * The reader is gone. That is no news before something is written, but some programs look for it
 * (tail -f). A pipe with a name may have another reader later.
 */
static bool copier_is_unwanted(const struct copier *c)
{
	struct pollfd p = { .fd = c->to };

	return (c->is_input || (c->is_pipe && !c->is_named)) && poll(&p, 1, 0) > 0 &&
	       p.revents & POLLERR;
}

/* Asks for one more event, though nothing may happen. */
static void copier_come_back(struct copier *c)
{
	(void)loop_again(c->loop, c->is_input ? &c->to_watch : &c->from_watch);
}

/* Closing is not enough: as long as the host has it open, epoll would go on to tell of it. */
static void copier_forget(struct copier *c, struct watcher *w, int *fd)
{
	loop_remove(c->loop, w);
	fd_close(fd);
}

void copier_run(struct copier *c)
{
	ssize_t n = 1;

	for (size_t done = 0; c->to >= 0 && n > 0; done += n > 0 ? (size_t)n : 0) {
		if (done >= TURN_BYTES) {
			copier_come_back(c);
			return;
		}
		n = copier_step(c);
		if (c->left != UINT64_MAX && n > 0)
			c->left -= (uint64_t)n;
	}
	if (c->to < 0 || (n == -EAGAIN && !copier_is_unwanted(c)))
		return;
	/* The end of a file: what was not read of it is seen later. */
	if (n == 0 && c->unread >= 0) {
		copier_forget(c, &c->to_watch, &c->to);
		return;
	}
	/* Whoever goes from a pipe does not want the rest. */
	if (n < 0 && n != -EAGAIN && n != -EPIPE && n != -ECONNRESET && !c->is_input)
		c->error = (int)n;
	copier_close(c);
}

bool copier_finish(struct copier *c)
{
	if (c->from >= 0 && c->is_input)
		copier_close(c);
	copier_run(c);
	/* It is not written to any more. */
	if (c->from >= 0 && c->at == c->len && copier_queued(c->from) == 0)
		copier_close(c);
	return c->from < 0;
}

/* The command can fill its own pipe, too: no more is given back than was taken. */
static void copier_give_back(struct copier *c)
{
	uint64_t unread = 0;

	if (c->is_pipe) {
		copier_settle(c);
	} else if (c->unread >= 0) {
		unread = copier_queued(c->unread);
		unread = unread < c->given ? unread : c->given;
		(void)lseek(c->from, -(off_t)(unread + c->len - c->at), SEEK_CUR);
	}
}

void copier_close(struct copier *c)
{
	if (c->from >= 0 && c->is_input)
		copier_give_back(c);
	copier_forget(c, &c->from_watch, &c->from);
	copier_forget(c, &c->to_watch, &c->to);
	fd_close(&c->unread);
	free(c->bytes);
	c->bytes = NULL;
	c->at = c->len = 0;
}

/* Opening */

/* A pipe of the host's, opened once more: then this one alone does not block. */
static int copier_own(struct copier *c, int fd)
{
	char path[32];
	int own;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = c->is_pipe && !c->is_input ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	c->keeps_waiting = c->is_pipe && !c->is_input && own < 0;
	return own < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : own;
}

static void copier_look(struct copier *c, int fd, uint64_t limit)
{
	struct stat st = { 0 };
	struct statfs system = { 0 };
	int flags = fcntl(fd, F_GETFL);
	off_t at;

	(void)fstat(fd, &st);
	(void)fstatfs(fd, &system);
	c->is_named = system.f_type != PIPEFS_MAGIC;
	c->is_pipe = S_ISFIFO(st.st_mode);
	c->is_socket = S_ISSOCK(st.st_mode);
	c->is_file = S_ISREG(st.st_mode);
	c->may_splice = c->is_pipe || (c->is_file && !c->is_input && !(flags & O_APPEND));
	c->left = UINT64_MAX;
	if (!c->is_file || c->is_input || limit == 0)
		return;
	at = flags & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
	c->left = at >= 0 && (uint64_t)at < limit ? limit - (uint64_t)at : 0;
}

int copier_open(struct copier *c, int fd, bool is_input, uint64_t limit, int *ret)
{
	auto_fd theirs = -1;
	int ends[2], r;

	*c = (struct copier)COPIER_NONE;
	c->is_input = is_input;
	copier_look(c, fd, limit);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	theirs = ends[is_input ? 0 : 1];
	c->from = is_input ? copier_own(c, fd) : ends[0];
	c->to = is_input ? ends[1] : copier_own(c, fd);
	c->bytes = malloc(COPY_BYTES);
	if (is_input && c->is_file)
		c->unread = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
	r = c->from < 0 || c->to < 0 ? -errno : c->bytes ? 0 : -ENOMEM;
	if (r == 0 && fcntl(ends[is_input ? 1 : 0], F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	/* One page: what is in it was not read, and it is written again when it was. */
	if (r == 0 && is_input && c->is_pipe)
		(void)fcntl(ends[0], F_SETPIPE_SZ, PAGE_BYTES);
	if (r < 0) {
		copier_close(c);
		return r;
	}
	*ret = fd_take(&theirs);
	return 0;
}

static void copier_from_ready(struct watcher *w, uint32_t events)
{
	struct copier *c = container_of(w, struct copier, from_watch);

	(void)events;
	c->ready(c->owner);
}

static void copier_to_ready(struct watcher *w, uint32_t events)
{
	struct copier *c = container_of(w, struct copier, to_watch);

	(void)events;
	c->ready(c->owner);
}

int copier_watch(struct copier *c, struct loop *l, void (*ready)(void *owner), void *owner)
{
	int r;

	c->loop = l;
	c->ready = ready;
	c->owner = owner;
	c->from_watch.ready = copier_from_ready;
	c->to_watch.ready = copier_to_ready;
	r = loop_add(l, &c->from_watch, c->from, EPOLLIN | EPOLLET);
	/* A file is always ready, and cannot be watched. */
	if (r == 0 || r == -EPERM)
		r = loop_add(l, &c->to_watch, c->to, EPOLLOUT | EPOLLET);
	return r == -EPERM ? 0 : r;
}
