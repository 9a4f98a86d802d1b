/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front that was taken over, in the place of the real one: corral-broker is linked with this file
 * instead of broker/front, for tests alone. Its process is started, confined and equipped as any
 * front. Whoever connects to it is the attacker: it sends whatever packet that client asks for to
 * the monitor, with descriptors, and hands back what it receives.
 *
 *     order     u32 bytes of the packet, u32 bytes of a memfd, u32 is the memfd sealed,
 *               u32 how many copies of the listener; then the packet, then what the memfd holds
 *     answer    u32 bytes, u32 descriptors that came along; then the packet as it was received
 *
 * First comes an answer with the rows of the table. An order of no packet with ATTEMPTS copies asks
 * what this process can do by itself: an answer with a line for each attempt.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "broker/front/front.h"
#include "broker/method.h"
#include "wire/frame.h"

enum { PACKET_MAX = 256 << 10, FDS_MAX = 16, ATTEMPTS = 1000 };

struct front {
	struct front_options o;
	int client; /* -1: none */
};

struct order {
	uint32_t len, memfd, sealed, copies;
};

static bool taken_read(int fd, void *data, size_t len)
{
	return len == 0 || recv(fd, data, len, MSG_WAITALL) == (ssize_t)len;
}

static bool taken_answer(int fd, const void *data, size_t len, size_t n_fds)
{
	const uint32_t head[] = { (uint32_t)len, (uint32_t)n_fds };
	auto_buffer out = { 0 };

	buffer_add(&out, head, sizeof(head));
	buffer_add(&out, data, len);
	return !out.failed && send(fd, out.data, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
}

/* Each row: its names, and the types of its parameters. */
static bool taken_greet(int fd)
{
	auto_buffer out = { 0 };

	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];

		buffer_printf(&out, "%s %s", m->name ? m->name : "-", m->shield ? m->shield : "-");
		for (size_t k = 0; m->params[k].name; k++)
			buffer_printf(&out, " %d", (int)m->params[k].type);
		buffer_addc(&out, '\n');
	}
	return !out.failed && taken_answer(fd, out.data, out.len, 0);
}

/* By itself */

static long taken_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long taken_look_at_monitor(void)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)taken_look_at_monitor, 1 };

	return process_vm_readv(getppid(), &local, 1, &remote, 1, 0);
}

static long taken_trace(void)
{
	return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

static long taken_steal(void)
{
	auto_fd pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 3, 0);
}

static long taken_run(void)
{
	return execl("/bin/sh", "sh", "-c", ":", NULL);
}

static long taken_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static long taken_mount(void)
{
	return syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL);
}

static bool taken_try(int fd)
{
	static const struct {
		const char *name;
		long (*attempt)(void);
	} rows[] = {
		{ "open", taken_open },
		{ "read the monitor's memory", taken_look_at_monitor },
		{ "trace the monitor", taken_trace },
		{ "take a descriptor of the monitor", taken_steal },
		{ "run a program", taken_run },
		{ "make a Unix socket", taken_unix },
		{ "mount", taken_mount },
	};
	auto_buffer out = { 0 };

	for (size_t i = 0; i < ROWS(rows); i++)
		buffer_printf(&out, "%s: %s\n", rows[i].name,
			rows[i].attempt() < 0 ? strerror(errno) : "done");
	return !out.failed && taken_answer(fd, out.data, out.len, 0);
}

/* By frames */

static int taken_memfd(const struct order *o, const char *data)
{
	auto_fd fd = -1;

	if (sealed_begin(&fd) < 0 || write(fd, data, o->memfd) != (ssize_t)o->memfd ||
		(o->sealed && sealed_finish(fd) < 0))
		return -1;
	return fd_take(&fd);
}

static void taken_send(const struct front *f, const struct order *o, char *data)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} control = { 0 };
	struct iovec iov = { data, o->len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	auto_fd memfd = o->memfd ? taken_memfd(o, data + o->len) : -1;
	int fds[FDS_MAX];
	size_t n = 0;

	while (n < o->copies && n < FDS_MAX - 1)
		fds[n++] = f->o.listener;
	if (memfd >= 0)
		fds[n++] = memfd;
	if (n) {
		struct cmsghdr *c = &control.align;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	}
	/* A monitor that does not read is waited for. */
	while (sendmsg(f->o.monitor, &m, MSG_NOSIGNAL) < 0 && errno == EAGAIN)
		(void)poll(&(struct pollfd){ .fd = f->o.monitor, .events = POLLOUT }, 1, 100);
}

static bool taken_obey(const struct front *f)
{
	static char data[PACKET_MAX + (16 << 20)];
	struct order o;

	if (!taken_read(f->client, &o, sizeof(o)) || o.len > PACKET_MAX || o.memfd > 16 << 20 ||
		!taken_read(f->client, data, o.len + o.memfd))
		return false;
	if (o.len == 0 && o.copies == ATTEMPTS)
		return taken_try(f->client);
	taken_send(f, &o, data);
	return true;
}

/* How many descriptors came along; they are closed. */
static size_t taken_count_fds(struct msghdr *m)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		for (size_t i = 0;
			c->cmsg_type == SCM_RIGHTS && i < (c->cmsg_len - CMSG_LEN(0)) / 4; i++, n++)
			(void)close(((const int *)(void *)CMSG_DATA(c))[i]);
	return n;
}

static int taken_hear(struct front *f)
{
	static char data[PACKET_MAX];
	char control[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(f->o.monitor, &m, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -EPIPE;
	if (f->client >= 0 && !taken_answer(f->client, data, (size_t)n, taken_count_fds(&m)))
		fd_close(&f->client);
	return 0;
}

/* As the real one, for front-process.c. */

int front_new(struct front **ret, const struct front_options *o)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->o = *o;
	(*ret)->client = -1;
	return 0;
}

void front_free(struct front *f)
{
	free(f);
}

int front_turn(struct front *f, int ms)
{
	struct pollfd p[] = { { .fd = f->o.monitor, .events = POLLIN },
		{ .fd = f->client >= 0 ? f->client : f->o.listener, .events = POLLIN } };
	int r;

	if (poll(p, 2, ms) < 0)
		return -errno;
	r = p[0].revents ? taken_hear(f) : 0;
	if (r < 0 || !p[1].revents || p[1].fd != (f->client >= 0 ? f->client : f->o.listener))
		return r;
	if (f->client < 0)
		f->client = accept4(f->o.listener, NULL, NULL, SOCK_CLOEXEC);
	if (p[1].fd == f->o.listener ? !taken_greet(f->client) : !taken_obey(f))
		fd_close(&f->client);
	return 0;
}
