/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet is a header and, if it fits, the body. Descriptors ride in one SCM_RIGHTS message; with
 * a body that does not fit the last of them is a sealed memfd. The header tells how long
 * the body is and how many descriptors were sent, so that a loss on the way does not go unseen.
 *
 * The kernel puts descriptors into our table before we know what they came with. They go into a
 * parcel, which closes all that were not handed on, whatever path is taken from there.
 */
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

enum {
	MAGIC = 0x4c525243, /* "CRRL" */
	PARCEL_MAX = FRAME_FDS_MAX + 1,
	PAUSE_US = 1000,
	PAUSES_MAX = 100, /* a tenth of a second: callers have others to serve */
	SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
	/* MFD_NOEXEC_SEAL (Linux 6.3), which older headers lack. */
	NOEXEC_SEAL = 0x0008,
};

struct header {
	uint32_t magic;
	uint16_t type;
	uint16_t protocol;
	uint64_t id;
	uint32_t len;   /* of the body, wherever it is */
	uint32_t n_fds; /* the memfd included */
};
_Static_assert(sizeof(struct header) == 24, "no padding goes over the wire");

struct parcel {
	int fds[PARCEL_MAX];
	size_t n;
};

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * PARCEL_MAX)];
};

int sealed_begin(int *ret)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	/* Never executable where the kernel knows how; it may be set to refuse all others. */
	int fd = memfd_create("corral", flags | NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("corral", flags);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

int sealed_finish(int fd)
{
	return fcntl(fd, F_ADD_SEALS, SEALS) < 0 ? -errno : 0;
}

int sealed_new(const void *data, size_t len, int *ret)
{
	struct rlimit limit;
	auto_fd fd = -1;
	int r;

	/* A write past the limit would raise SIGXFSZ, in a program that may not be ours. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		len > limit.rlim_cur)
		return -EFBIG;
	r = sealed_begin(&fd);
	if (r == 0)
		r = file_write_all(fd, data, len);
	if (r == 0)
		r = sealed_finish(fd);
	if (r == 0)
		*ret = fd_take(&fd);
	return r;
}

/* Seals first: only then does the size stay what it is. */
static bool sealed_is_sealed(int fd, size_t len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return false;
	if (fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size != len)
		return false;
	/* Huge pages can be sealed too, but a hole in them is a SIGBUS when none are left. */
	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

int sealed_map(int fd, size_t len, void **ret)
{
	void *map;

	if (len == 0 || !sealed_is_sealed(fd, len))
		return -EPROTO;
	map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	/* EACCES: sealed, but not open for reading. */
	if (map == MAP_FAILED)
		return errno == EACCES ? -EPROTO : -errno;
	*ret = map;
	return 0;
}

static void parcel_deinit(struct parcel *p)
{
	for (size_t i = 0; i < p->n; i++)
		fd_close(&p->fds[i]);
}
#define auto_parcel __attribute__((cleanup(parcel_deinit))) struct parcel

static bool needs_memfd(size_t len)
{
	return len > FRAME_BODY_MAX;
}

/* With as many open files as the hard limit allows, which commands have less of
 * (rlimits_keep_room()). */
static ssize_t send_by_hard_limit(int socket, const struct msghdr *m, int flags)
{
	struct rlimit soft, hard;
	ssize_t n;
	int error;

	if (getrlimit(RLIMIT_NOFILE, &soft) < 0 || soft.rlim_cur == soft.rlim_max) {
		errno = ETOOMANYREFS;
		return -1;
	}
	hard = soft;
	hard.rlim_cur = hard.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &hard);
	n = sendmsg(socket, m, MSG_NOSIGNAL | flags);
	error = errno;
	(void)setrlimit(RLIMIT_NOFILE, &soft);
	errno = error;
	return n;
}

/*
 * Descriptors that are under way are counted for each user, over all sockets, and there may be as
 * many as the sender may have open. A command can keep that many under way: then the hard limit
 * counts. Those of other sessions that start pass: they are under way until the peer reads.
 */
static int send_packet(int socket, const struct msghdr *m, int flags)
{
	int pauses = 0;
	ssize_t n;

	while ((n = sendmsg(socket, m, MSG_NOSIGNAL | flags)) < 0) {
		if (errno == ETOOMANYREFS && (n = send_by_hard_limit(socket, m, flags)) >= 0)
			break;
		if (errno == ETOOMANYREFS && pauses++ < PAUSES_MAX)
			(void)usleep(PAUSE_US);
		else if (errno != EINTR)
			break;
	}
	/* It left with packets of ours unread, and this is the first that we hear of it. */
	if (n < 0 && errno == ECONNRESET)
		return -EPIPE;
	return n < 0 ? -errno : 0;
}

static int send_frame(int socket, int flags, enum frame_type type, uint64_t id, const void *body,
	size_t len, const int *fds, size_t n_fds)
{
	struct header h = { .magic = MAGIC,
		.type = (uint16_t)type,
		.protocol = FRAME_PROTOCOL,
		.id = id,
		.len = (uint32_t)len };
	struct iovec parts[] = { { &h, sizeof(h) }, { (void *)body, len } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	struct parcel p = { .n = n_fds }; /* borrowed: nothing of it is closed */
	union control c = { 0 };
	auto_fd memfd = -1;
	int r;

	if (type <= FRAME_NONE || type >= FRAME_TYPE_COUNT || n_fds > FRAME_FDS_MAX)
		return -EINVAL;
	if (len > FRAME_MEMFD_MAX)
		return -EMSGSIZE;
	if (n_fds > 0)
		memcpy(p.fds, fds, n_fds * sizeof(*fds));
	if (needs_memfd(len)) {
		r = sealed_new(body, len, &memfd);
		if (r < 0)
			return r;
		p.fds[p.n++] = memfd;
		m.msg_iovlen = 1;
	}
	h.n_fds = (uint32_t)p.n;
	if (p.n > 0) {
		m.msg_control = c.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * p.n);
		c.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int) * p.n) };
		memcpy(CMSG_DATA(&c.align), p.fds, sizeof(int) * p.n);
	}
	return send_packet(socket, &m, flags);
}

int frame_send(int socket, enum frame_type type, uint64_t id, const void *body, size_t len,
	const int *fds, size_t n_fds)
{
	return send_frame(socket, 0, type, id, body, len, fds, n_fds);
}

int frame_send_now(int socket, enum frame_type type, uint64_t id, const void *body, size_t len,
	const int *fds, size_t n_fds)
{
	return send_frame(socket, MSG_DONTWAIT, type, id, body, len, fds, n_fds);
}

static ssize_t receive_once(int socket, struct msghdr *m, int flags)
{
	ssize_t n;

	do {
		n = recvmsg(socket, m, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* True if descriptors are all that came; the kernel gives no more than there is room for. */
static bool frame_collect(struct parcel *p, struct msghdr *m)
{
	bool clean = true;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			clean = false;
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			auto_fd fd = -1;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (p->n < PARCEL_MAX)
				p->fds[p->n++] = fd_take(&fd);
			else
				clean = false;
		}
	}
	return clean;
}

/* n: length of the packet; got: how many descriptors are here. */
static int frame_check(const struct header *h, size_t n, int flags, size_t got)
{
	bool apart;
	size_t extra;

	if (n < sizeof(*h) || h->magic != MAGIC)
		return -EPROTO;
	if (h->protocol != FRAME_PROTOCOL)
		return -EPROTONOSUPPORT;
	if (flags & MSG_TRUNC)
		return -EPROTO;
	apart = needs_memfd(h->len);
	extra = apart ? 1 : 0;
	if (h->type <= FRAME_NONE || h->type >= FRAME_TYPE_COUNT || h->len > FRAME_MEMFD_MAX)
		return -EPROTO;
	if (n - sizeof(*h) != (apart ? 0 : h->len))
		return -EPROTO;
	if (h->n_fds < extra || h->n_fds - extra > FRAME_FDS_MAX)
		return -EPROTO;
	/* Sent as it should be, but there was no place left in our table. */
	if ((flags & MSG_CTRUNC) && got < h->n_fds)
		return -EMFILE;
	return (flags & MSG_CTRUNC) || got != h->n_fds ? -EPROTO : 0;
}

/*
 * A packet of another version. One of the type FRAME_NONE is an answer to ours, and its body is the
 * name of the peer's build. All others get such an answer.
 */
static void frame_on_other(int socket, const struct header *h, size_t n, struct frame *f)
{
	const struct header ours = { .magic = MAGIC,
		.type = FRAME_NONE,
		.protocol = FRAME_PROTOCOL,
		.len = sizeof(CORRAL_VERSION) - 1 };
	const struct iovec parts[] = { { (void *)&ours, sizeof(ours) },
		{ (void *)CORRAL_VERSION, sizeof(CORRAL_VERSION) - 1 } };
	const struct msghdr m = { .msg_iov = (struct iovec *)parts, .msg_iovlen = 2 };

	f->peer_protocol = h->protocol;
	if (h->type != FRAME_NONE) {
		(void)sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	for (size_t i = 0; i < n - sizeof(*h) && i < FRAME_BUILD_MAX - 1; i++) {
		const char c = (char)f->buffer[i];

		f->peer_build[i] = (char)(c > ' ' && c < 0x7f ? c : '?');
		f->peer_build[i + 1] = '\0';
	}
}

int frame_explain(const struct frame *f, const char *peer, struct error *e)
{
	return error_set(e, -EPROTONOSUPPORT, NULL,
		"this build of Corral (" CORRAL_VERSION
		") speaks version %d of the protocol, and %s%s%s%s version %u",
		FRAME_PROTOCOL, peer, f->peer_build[0] ? " (" : "", f->peer_build,
		f->peer_build[0] ? ")" : "", f->peer_protocol);
}

static int receive_frame(int socket, int flags, struct frame *f)
{
	struct header h = { 0 };
	union control c = { 0 };
	struct iovec parts[] = { { &h, sizeof(h) }, { f->buffer, sizeof(f->buffer) } };
	struct msghdr m = { .msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = c.bytes,
		/* Not the whole of it: CMSG_SPACE() rounds up, maybe to room for one more. */
		.msg_controllen = CMSG_LEN(sizeof(int) * PARCEL_MAX) };
	auto_parcel p = { 0 };
	ssize_t n;
	int r;

	frame_deinit(f);
	f->peer_protocol = 0;
	f->peer_build[0] = '\0';
	n = receive_once(socket, &m, flags);
	/* When the other side leaves with packets of ours unread, the kernel says so once, ahead of
	 * what it had sent us. Those frames count: ask again. */
	if (n == -ECONNRESET)
		n = receive_once(socket, &m, flags);
	if (n < 0)
		return n == -ECONNRESET ? 0 : (int)n;
	if (!frame_collect(&p, &m))
		return -EPROTO;
	/* An empty packet looks like a hang-up, and is treated as one. */
	if (n == 0 && p.n == 0 && !(m.msg_flags & MSG_CTRUNC))
		return 0;
	r = frame_check(&h, (size_t)n, m.msg_flags, p.n);
	if (r == -EPROTONOSUPPORT)
		frame_on_other(socket, &h, (size_t)n, f);
	if (r == 0 && needs_memfd(h.len)) {
		auto_fd memfd = fd_take(&p.fds[--p.n]);

		r = sealed_map(memfd, h.len, &f->map);
		f->map_len = r == 0 ? h.len : 0;
	}
	if (r < 0)
		return r;
	memcpy(f->fds, p.fds, p.n * sizeof(*p.fds));
	f->n_fds = p.n;
	p.n = 0;
	f->type = (enum frame_type)h.type;
	f->id = h.id;
	f->body = f->map ? f->map : f->buffer;
	f->len = h.len;
	return 1;
}

int frame_receive(int socket, struct frame *f)
{
	return receive_frame(socket, 0, f);
}

int frame_receive_now(int socket, struct frame *f)
{
	return receive_frame(socket, MSG_DONTWAIT, f);
}

int frame_take_fd(struct frame *f, size_t i)
{
	return i < f->n_fds ? fd_take(&f->fds[i]) : -1;
}

/* The buffer is left as it is: it is long, and nothing points into it any more. */
void frame_deinit(struct frame *f)
{
	for (size_t i = 0; i < f->n_fds; i++)
		fd_close(&f->fds[i]);
	if (f->map)
		(void)munmap(f->map, f->map_len);
	f->type = FRAME_NONE;
	f->body = f->map = NULL;
	f->len = f->n_fds = f->map_len = 0;
	f->id = 0;
}

int frame_pair(int ret[2])
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ret[0] = pair[0];
	ret[1] = pair[1];
	return 0;
}
