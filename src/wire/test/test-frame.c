/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each test begins with a pair of sockets and ends with as many descriptors as it began with: what
 * leaks fails, whatever else it was about.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/fd.h"
#include "test/fds.h"
#include "wire/frame.h"

enum { MAGIC = 0x4c525243, HEADER = 24, MANY = 20, LIMIT = 128 };

/* As docs/protocol.md has it. */
struct header {
	uint32_t magic;
	uint16_t type, protocol;
	uint64_t id;
	uint32_t len, n_fds;
};

static int a, b; /* the two ends; both do not block */
static size_t n_before;
static struct frame f;
static unsigned char bytes[FRAME_MEMFD_MAX + 1];

/* The linker sends the system calls here (--wrap), so that they can be interrupted. */
static int next_errno, times;

static bool fails(void)
{
	errno = next_errno;
	return times > 0 && times-- > 0;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return fails() ? -1 : __real_sendmsg(fd, m, flags);
}

ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
	return fails() ? -1 : __real_recvmsg(fd, m, flags);
}

static int set_up(void **state)
{
	int pair[2] = { -1, -1 };

	(void)state;
	n_before = count_fds();
	assert_int_equal(frame_pair(pair), 0);
	a = pair[0];
	b = pair[1];
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fcntl(pair[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(fcntl(pair[i], F_SETFL, O_NONBLOCK), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	frame_deinit(&f);
	fd_close(&a);
	fd_close(&b);
	assert_int_equal(count_fds(), n_before);
	return 0;
}

/* n different files. */
static void open_some(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = memfd_create("test", MFD_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
}

static void close_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
}

static uint64_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Sends what frame_send() would not. */
static void send_raw(
	const struct header *h, size_t header_len, size_t body_len, const int *fds, size_t n_fds)
{
	struct iovec parts[] = { { (void *)h, header_len }, { bytes, body_len } };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * MANY)];
	} control = { 0 };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	if (n_fds > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof(int) * n_fds);
	}
	assert_int_equal(sendmsg(a, &m, 0), header_len + body_len);
}

static void assert_empty(void)
{
	assert_int_equal(f.type, FRAME_NONE);
	assert_int_equal(f.n_fds, 0);
	assert_int_equal(f.len, 0);
	assert_null(f.body);
	assert_int_equal(frame_take_fd(&f, 0), -1);
}

/* The link is in order: a frame arrives, and then there is none left. */
static void assert_works(void)
{
	assert_int_equal(frame_send(a, FRAME_KILL, 7, NULL, 0, NULL, 0), 0);
	assert_int_equal(frame_receive(b, &f), 1);
	assert_int_equal(f.type, FRAME_KILL);
	assert_int_equal(f.id, 7);
	assert_int_equal(frame_receive(b, &f), -EAGAIN);
}

static void round_trip(size_t len, size_t n_fds)
{
	int fds[FRAME_FDS_MAX];

	open_some(fds, n_fds);
	assert_int_equal(frame_send(a, FRAME_START, UINT64_MAX - len, bytes, len, fds, n_fds), 0);
	assert_int_equal(frame_receive(b, &f), 1);
	assert_int_equal(f.type, FRAME_START);
	assert_true(f.id == UINT64_MAX - len);
	assert_int_equal(f.len, len);
	assert_non_null(f.body);
	assert_int_equal((uintptr_t)f.body % _Alignof(max_align_t), 0);
	assert_true(memcmp(f.body, bytes, len) == 0);
	assert_int_equal(f.n_fds, n_fds);
	for (size_t i = 0; i < n_fds; i++) {
		assert_true(f.fds[i] != fds[i]);
		assert_int_equal(inode(f.fds[i]), inode(fds[i]));
		assert_int_equal(fcntl(f.fds[i], F_GETFD), FD_CLOEXEC);
	}
	close_all(fds, n_fds);
}

static void test_round_trip(void **state)
{
	static const size_t sizes[] = { 0, 1, FRAME_BODY_MAX - 1, FRAME_BODY_MAX,
		FRAME_BODY_MAX + 1, 100000, FRAME_MEMFD_MAX };

	(void)state;
	for (size_t i = 0; i < ROWS(sizes); i++) {
		for (size_t n = 0; n <= FRAME_FDS_MAX; n++)
			round_trip(sizes[i], n);
	}
	assert_works();
}

static void test_not_sent(void **state)
{
	int fds[FRAME_FDS_MAX + 1], bad = -1;

	(void)state;
	open_some(fds, FRAME_FDS_MAX + 1);
	assert_int_equal(
		frame_send(a, FRAME_START, 1, bytes, FRAME_MEMFD_MAX + 1, NULL, 0), -EMSGSIZE);
	assert_int_equal(frame_send(a, FRAME_START, 1, bytes, SIZE_MAX, NULL, 0), -EMSGSIZE);
	assert_int_equal(frame_send(a, FRAME_START, 1, bytes, 1, fds, FRAME_FDS_MAX + 1), -EINVAL);
	assert_int_equal(frame_send(a, FRAME_NONE, 1, bytes, 1, NULL, 0), -EINVAL);
	assert_int_equal(frame_send(a, FRAME_TYPE_COUNT, 1, bytes, 1, NULL, 0), -EINVAL);
	assert_int_equal(frame_send(a, (enum frame_type) - 1, 1, bytes, 1, NULL, 0), -EINVAL);
	assert_int_equal(frame_send(a, FRAME_START, 1, bytes, 1, &bad, 1), -EBADF);
	assert_int_equal(frame_receive(b, &f), -EAGAIN);
	close_all(fds, FRAME_FDS_MAX + 1);
}

static void test_take(void **state)
{
	int fds[2], taken;
	void *map;

	(void)state;
	open_some(fds, 2);
	assert_int_equal(frame_send(a, FRAME_INIT, 1, NULL, 0, fds, 2), 0);
	assert_int_equal(frame_send(a, FRAME_INIT, 2, bytes, FRAME_MEMFD_MAX, fds, 1), 0);
	assert_int_equal(frame_receive(b, &f), 1);
	taken = frame_take_fd(&f, 1);
	assert_int_equal(inode(taken), inode(fds[1]));
	assert_int_equal(frame_take_fd(&f, 1), -1);
	assert_int_equal(frame_take_fd(&f, 2), -1);
	assert_int_equal(frame_take_fd(&f, SIZE_MAX), -1);
	/* The next frame frees what the last one held, but not what was taken. */
	assert_int_equal(frame_receive(b, &f), 1);
	assert_int_equal(inode(taken), inode(fds[1]));
	map = (void *)f.body;
	assert_int_equal(msync(map, 1, MS_ASYNC), 0);
	assert_int_equal(frame_receive(b, &f), -EAGAIN);
	assert_int_equal(msync(map, 1, MS_ASYNC), -1); /* nothing is mapped there any more */
	assert_int_equal(errno, ENOMEM);
	assert_empty();
	close_all(fds, 2);
	fd_close(&taken);
}

/* A packet of another version, whatever it holds: its descriptors are closed, and its sender hears
 * who we are; the answer of a peer is not answered. */
static void test_other_version(void **state)
{
	struct {
		struct header h;
		char build[8];
	} packet = { 0 };
	const struct header other = { MAGIC, UINT16_MAX, FRAME_PROTOCOL + 1, 1, 77, 2 };
	struct error e = { 0 };
	int fds[2];
	size_t before;
	ssize_t n;
	char text[128];

	(void)state;
	open_some(fds, 2);
	before = count_fds();
	send_raw(&other, HEADER, 5, fds, 2);
	assert_int_equal(frame_receive(b, &f), -EPROTONOSUPPORT);
	assert_int_equal(count_fds(), before);
	assert_int_equal(f.peer_protocol, FRAME_PROTOCOL + 1);
	assert_string_equal(f.peer_build, "");
	n = recv(a, &packet, sizeof(packet), 0);
	assert_int_equal(n, HEADER + (ssize_t)packet.h.len);
	assert_int_equal(packet.h.magic, MAGIC);
	assert_int_equal(packet.h.type, FRAME_NONE);
	assert_int_equal(packet.h.protocol, FRAME_PROTOCOL);
	assert_true(packet.h.len > 0 && packet.build[0] >= '0' && packet.build[0] <= '9');

	packet.h.protocol++;
	memcpy(packet.build,
		"0.9\x1b"
		"9\xff",
		6);
	assert_int_equal(send(a, &packet, HEADER + 6, 0), HEADER + 6);
	assert_int_equal(frame_receive(b, &f), -EPROTONOSUPPORT);
	assert_string_equal(f.peer_build, "0.9?9?");
	assert_int_equal(recv(a, &packet, sizeof(packet), 0), -1);
	assert_int_equal(frame_explain(&f, "the daemon", &e), -EPROTONOSUPPORT);
	(void)snprintf(text, sizeof(text),
		"speaks version %d of the protocol, and the daemon (0.9?9?) version %d",
		FRAME_PROTOCOL, FRAME_PROTOCOL + 1);
	assert_non_null(strstr(e.text, text));
	assert_works();
	assert_int_equal(f.peer_protocol, 0);
	/* Packets from before there were versions. */
	send_raw(&(struct header){ MAGIC, FRAME_KILL, 0, 1, 0, 0 }, HEADER, 0, NULL, 0);
	assert_int_equal(frame_receive(b, &f), -EPROTONOSUPPORT);
	n = recv(a, &packet, sizeof(packet), 0);
	assert_int_equal(n, HEADER + (ssize_t)packet.h.len);
	close_all(fds, 2);
}

struct broken {
	const char *name;
	struct header h;
	size_t header_len, body_len, n_fds;
};

#define H(type_, len_, n_fds_)                                \
	{                                                     \
		MAGIC, type_, FRAME_PROTOCOL, 1, len_, n_fds_ \
	}

static const struct broken broken[] = {
	{ "one byte", H(FRAME_KILL, 0, 0), 1, 0, 0 },
	{ "one byte with a descriptor", H(FRAME_KILL, 0, 1), 1, 0, 1 },
	{ "a header but for a byte", H(FRAME_KILL, 0, 0), HEADER - 1, 0, 0 },
	{ "empty, with a descriptor", H(FRAME_KILL, 0, 1), 0, 0, 1 },
	{ "empty, with too many descriptors", H(FRAME_KILL, 0, 1), 0, 0, MANY },
	{ "magic", { MAGIC + 1, FRAME_KILL, FRAME_PROTOCOL, 1, 0, 0 }, HEADER, 0, 0 },
	{ "magic, with descriptors", { 0, FRAME_KILL, FRAME_PROTOCOL, 1, 0, 2 }, HEADER, 0, 2 },
	{ "type 0", H(FRAME_NONE, 0, 0), HEADER, 0, 0 },
	{ "type too large", H(FRAME_TYPE_COUNT, 0, 0), HEADER, 0, 0 },
	{ "type far too large", H(UINT16_MAX, 0, 0), HEADER, 0, 0 },
	{ "more than it says", H(FRAME_KILL, 3, 0), HEADER, 4, 0 },
	{ "less than it says", H(FRAME_KILL, 4, 0), HEADER, 3, 0 },
	{ "less than it says, with descriptors", H(FRAME_KILL, 4, 8), HEADER, 3, 8 },
	{ "a body where none is said", H(FRAME_KILL, 0, 0), HEADER, 1, 0 },
	{ "a packet too long", H(FRAME_KILL, FRAME_BODY_MAX, 1), HEADER, FRAME_BODY_MAX + 1, 1 },
	{ "too long for inline", H(FRAME_KILL, FRAME_BODY_MAX + 1, 0), HEADER, FRAME_BODY_MAX + 1,
		0 },
	{ "long body and no memfd", H(FRAME_KILL, FRAME_BODY_MAX + 1, 0), HEADER, 0, 0 },
	{ "long body, memfd only said", H(FRAME_KILL, FRAME_BODY_MAX + 1, 1), HEADER, 0, 0 },
	{ "long body, memfd not sealed", H(FRAME_KILL, FRAME_BODY_MAX + 1, 1), HEADER, 0, 1 },
	{ "long body, 8 more, not sealed", H(FRAME_KILL, FRAME_BODY_MAX + 1, 9), HEADER, 0, 9 },
	{ "long body, 9 more", H(FRAME_KILL, FRAME_BODY_MAX + 1, 10), HEADER, 0, 10 },
	{ "body too long", H(FRAME_KILL, FRAME_MEMFD_MAX + 1, 1), HEADER, 0, 1 },
	{ "body far too long", H(FRAME_KILL, UINT32_MAX, 1), HEADER, 0, 1 },
	{ "a descriptor too few", H(FRAME_KILL, 0, 2), HEADER, 0, 1 },
	{ "a descriptor too many", H(FRAME_KILL, 0, 1), HEADER, 0, 2 },
	{ "descriptors where none are said", H(FRAME_KILL, 0, 0), HEADER, 0, 8 },
	{ "9 descriptors", H(FRAME_KILL, 0, 9), HEADER, 0, 9 },
	{ "10 descriptors, 9 said", H(FRAME_KILL, 0, 9), HEADER, 0, 10 },
	{ "20 descriptors, 8 said", H(FRAME_KILL, 0, 8), HEADER, 0, MANY },
	{ "20 descriptors", H(FRAME_KILL, 0, MANY), HEADER, 0, MANY },
	{ "number of descriptors overflows", H(FRAME_KILL, 0, UINT32_MAX), HEADER, 0, 8 },
};

static void test_broken(void **state)
{
	int fds[MANY];

	(void)state;
	open_some(fds, MANY);
	for (size_t i = 0; i < ROWS(broken); i++) {
		const struct broken *p = &broken[i];
		size_t before = count_fds();
		int r;

		send_raw(&p->h, p->header_len, p->body_len, fds, p->n_fds);
		r = frame_receive(b, &f);
		if (r != -EPROTO)
			fail_msg("%s: %d", p->name, r);
		if (count_fds() != before)
			fail_msg("%s: leaks", p->name);
		assert_empty();
		assert_works();
	}
	close_all(fds, MANY);
}

/* A memfd as it should be does not make the rest right. */
static void test_broken_sealed(void **state)
{
	static const struct {
		uint32_t len, n_fds;
		size_t sent, where;
		int want;
	} rows[] = {
		{ 100000, 1, 1, 0, 1 },
		{ 100000, 9, 9, 8, 1 },
		{ FRAME_MEMFD_MAX + 1, 1, 1, 0, -EPROTO },
		{ 100000, 9, 10, 8, -EPROTO }, /* nothing is lost that was spoken of, but still */
		{ 100000, 2, 2, 0, -EPROTO },
		{ 100000, 0, 1, 0, -EPROTO },
		{ 10, 1, 1, 0, -EPROTO },
	};
	int fds[10];

	(void)state;
	open_some(fds, 10);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct header h = H(FRAME_START, rows[i].len, rows[i].n_fds);
		auto_fd memfd = -1;
		int saved = fds[rows[i].where];

		assert_int_equal(sealed_new(bytes, rows[i].len, &memfd), 0);
		fds[rows[i].where] = memfd;
		send_raw(&h, HEADER, 0, fds, rows[i].sent);
		fds[rows[i].where] = saved;
		assert_int_equal(frame_receive(b, &f), rows[i].want);
		assert_works();
	}
	close_all(fds, 10);
}

/* Other control messages crowd descriptors out; nobody asked for them. */
static void test_credentials(void **state)
{
	struct header h = H(FRAME_KILL, 0, 8);
	int on = 1, fds[8];

	(void)state;
	open_some(fds, 8);
	assert_int_equal(setsockopt(b, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	send_raw(&h, HEADER, 0, fds, 8);
	assert_int_equal(frame_receive(b, &f), -EPROTO);
	assert_empty();
	close_all(fds, 8);
}

static void test_hang_up(void **state)
{
	(void)state;
	assert_int_equal(frame_send(a, FRAME_READY, 3, bytes, 8, NULL, 0), 0);
	(void)close(fd_take(&a));
	assert_int_equal(frame_send(b, FRAME_KILL, 0, NULL, 0, NULL, 0), -EPIPE);
	assert_int_equal(frame_send(b, FRAME_KILL, 0, bytes, 100000, NULL, 0), -EPIPE);
	assert_int_equal(frame_receive(b, &f), 1);
	assert_int_equal(f.type, FRAME_READY);
	assert_int_equal(frame_receive(b, &f), 0);
	assert_empty();
	assert_int_equal(frame_receive(b, &f), 0);
}

/* It leaves with a frame of ours unread: its last words arrive all the same. */
static void test_hang_up_unread(void **state)
{
	(void)state;
	assert_int_equal(frame_send(b, FRAME_START, 1, bytes, 8, NULL, 0), 0);
	assert_int_equal(frame_send(a, FRAME_GONE, 3, bytes, 8, NULL, 0), 0);
	(void)close(fd_take(&a));
	assert_int_equal(frame_receive(b, &f), 1);
	assert_int_equal(f.type, FRAME_GONE);
	assert_int_equal(frame_receive(b, &f), 0);
}

static void test_hang_up_unread_send(void **state)
{
	(void)state;
	assert_int_equal(frame_send(b, FRAME_START, 1, bytes, 8, NULL, 0), 0);
	(void)close(fd_take(&a));
	assert_int_equal(frame_send(b, FRAME_START, 2, bytes, 8, NULL, 0), -EPIPE);
	assert_int_equal(frame_send(b, FRAME_START, 2, bytes, 8, NULL, 0), -EPIPE);
	assert_int_equal(frame_receive(b, &f), 0);
}

static void test_empty_packet(void **state)
{
	(void)state;
	assert_int_equal(send(a, "", 0, 0), 0);
	assert_int_equal(frame_receive(b, &f), 0);
}

static void test_would_block(void **state)
{
	int r = 0;
	size_t n = 0;

	(void)state;
	assert_int_equal(frame_receive(b, &f), -EAGAIN);
	while (r == 0 && n < 1000000) {
		r = frame_send(a, FRAME_START, n, bytes, FRAME_BODY_MAX, NULL, 0);
		n += r == 0;
	}
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(frame_send(a, FRAME_START, n, bytes, 100000, NULL, 0), -EAGAIN);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(frame_receive(b, &f), 1);
		assert_int_equal(f.id, i);
	}
	assert_int_equal(frame_receive(b, &f), -EAGAIN);
}

static void test_interrupted(void **state)
{
	(void)state;
	next_errno = EINTR;
	times = 3;
	assert_int_equal(frame_send(a, FRAME_KILL, 9, bytes, 100000, NULL, 0), 0);
	assert_int_equal(times, 0);
	times = 3;
	assert_int_equal(frame_receive(b, &f), 1);
	assert_int_equal(times, 0);
	/* More are under way than may be, and then fewer. */
	next_errno = ETOOMANYREFS;
	times = 3;
	assert_int_equal(frame_send(a, FRAME_KILL, 9, NULL, 0, NULL, 0), 0);
	assert_int_equal(times, 0);
	assert_int_equal(frame_receive(b, &f), 1);
	next_errno = ECONNRESET;
	times = 1;
	assert_int_equal(frame_send(a, FRAME_KILL, 9, NULL, 0, NULL, 0), -EPIPE);
	times = 2;
	assert_int_equal(frame_receive(b, &f), 0);
	assert_int_equal(times, 0);
	next_errno = ENOMEM;
	times = 1;
	assert_int_equal(frame_send(a, FRAME_KILL, 9, bytes, 100000, NULL, 0), -ENOMEM);
	times = 1;
	assert_int_equal(frame_receive(b, &f), -ENOMEM);
	assert_works();
}

/* Takes all descriptors but `room`. */
static size_t fill(int *fds, size_t room)
{
	size_t n = 0;

	while (n < LIMIT && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	assert_int_equal(errno, EMFILE);
	assert_true(n > room);
	for (size_t i = 0; i < room; i++)
		fd_close(&fds[--n]);
	return n;
}

static void starve(size_t len, size_t n_fds, size_t room, int want)
{
	int filler[LIMIT], fds[FRAME_FDS_MAX], r;
	size_t n, before;

	open_some(fds, n_fds);
	before = count_fds();
	assert_int_equal(frame_send(a, FRAME_START, 1, bytes, len, fds, n_fds), 0);
	n = fill(filler, room);
	r = frame_receive(b, &f);
	frame_deinit(&f);
	close_all(filler, n);
	if (r != want || count_fds() != before)
		fail_msg("%zu bytes, %zu descriptors, room for %zu: %d", len, n_fds, room, r);
	close_all(fds, n_fds);
	assert_works();
}

static void test_no_descriptors(void **state)
{
	struct rlimit old, limit;
	int filler[LIMIT];
	size_t n;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = old;
	limit.rlim_cur = LIMIT;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (size_t want = 0; want <= FRAME_FDS_MAX; want++) {
		for (size_t room = 0; room <= want + 1; room++) {
			starve(10, want, room, room >= want ? 1 : -EMFILE);
			starve(100000, want, room, room >= want + 1 ? 1 : -EMFILE);
		}
	}
	n = fill(filler, 0);
	assert_int_equal(frame_send(a, FRAME_START, 1, bytes, 100000, NULL, 0), -EMFILE);
	assert_int_equal(frame_pair(filler + n - 2), -EMFILE);
	close_all(filler, n);
	assert_works();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_not_sent),
		TEST(test_take),
		TEST(test_broken),
		TEST(test_other_version),
		TEST(test_broken_sealed),
		TEST(test_credentials),
		TEST(test_hang_up),
		TEST(test_hang_up_unread),
		TEST(test_hang_up_unread_send),
		TEST(test_empty_packet),
		TEST(test_would_block),
		TEST(test_interrupted),
		TEST(test_no_descriptors),
	};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + (i >> 8));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
