/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user at the other end of a connection on loopback: as the kernel answers for real ones, and
 * answers that it should never give.
 */
#include "test/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/supervisor/tcp-peer.h"
#include "test/fds.h"

enum { UNTOUCHED = 4711 };

/* An answer in place of the kernel's; .len 0: the kernel's own. */
static struct {
	union {
		struct nlmsghdr header;
		_Alignas(8) char bytes[512];
	};
	size_t len;
	uint32_t from;
} answer;
static int receive_error;
/* The request that was sent last. */
static struct {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
} request;
/* Both ends, in place of the socket's; .ss_family 0: its own. */
static struct sockaddr_storage fake_ours, fake_theirs;

ssize_t __real_recvfrom(
	int fd, void *out, size_t room, int flags, struct sockaddr *from, socklen_t *len);
ssize_t __wrap_recvfrom(
	int fd, void *out, size_t room, int flags, struct sockaddr *from, socklen_t *len);
ssize_t __wrap_recvfrom(
	int fd, void *out, size_t room, int flags, struct sockaddr *from, socklen_t *len)
{
	const struct sockaddr_nl a = { .nl_family = AF_NETLINK, .nl_pid = answer.from };

	/* It never waits: the daemon has one thread. */
	assert_true(flags & MSG_DONTWAIT);
	if (receive_error) {
		errno = receive_error;
		return -1;
	}
	if (answer.len == 0)
		return __real_recvfrom(fd, out, room, flags, from, len);
	assert_true(answer.len <= room);
	memcpy(out, answer.bytes, answer.len);
	memcpy(from, &a, sizeof(a));
	*len = sizeof(a);
	return (ssize_t)answer.len;
}

ssize_t __real_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	assert_int_equal(len, sizeof(request));
	memcpy(&request, data, len);
	return __real_send(fd, data, len, flags);
}

static int give(const struct sockaddr_storage *a, struct sockaddr *out, socklen_t *len)
{
	memcpy(out, a, *len);
	return 0;
}

int __real_getsockname(int fd, struct sockaddr *out, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *out, socklen_t *len);
int __wrap_getsockname(int fd, struct sockaddr *out, socklen_t *len)
{
	return fake_ours.ss_family ? give(&fake_ours, out, len) : __real_getsockname(fd, out, len);
}

int __real_getpeername(int fd, struct sockaddr *out, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *out, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *out, socklen_t *len)
{
	return fake_theirs.ss_family ? give(&fake_theirs, out, len)
				     : __real_getpeername(fd, out, len);
}

static int listener = -1, client = -1, server = -1;

/* A connection on loopback, by whichever port is free. */
static int setup(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	(void)state;
	memset(&answer, 0, sizeof(answer));
	memset(&fake_ours, 0, sizeof(fake_ours));
	memset(&fake_theirs, 0, sizeof(fake_theirs));
	receive_error = 0;
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(__real_getsockname(listener, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(client, (const struct sockaddr *)&a, sizeof(a)), 0);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(server >= 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fd_close(&server);
	fd_close(&client);
	fd_close(&listener);
	return 0;
}

/* What comes of it; *ret_uid stays UNTOUCHED unless it succeeds. */
static int ask(int socket, uid_t *ret_uid)
{
	const size_t fds = count_fds();
	int r;

	*ret_uid = UNTOUCHED;
	r = tcp_peer_uid(socket, ret_uid);
	assert_int_equal(count_fds(), fds);
	assert_true(r == 0 || *ret_uid == UNTOUCHED);
	return r;
}

static void test_user(void **state)
{
	uid_t uid;

	(void)state;
	assert_int_equal(ask(server, &uid), 0);
	assert_int_equal(uid, geteuid());
	/* From the other side, too. */
	assert_int_equal(ask(client, &uid), 0);
	assert_int_equal(uid, geteuid());
}

/* The question is for the other end: its address is the source. */
static void test_request(void **state)
{
	struct sockaddr_in theirs;
	socklen_t len = sizeof(theirs);
	uid_t uid;

	(void)state;
	assert_int_equal(__real_getpeername(server, (struct sockaddr *)&theirs, &len), 0);
	assert_int_equal(ask(server, &uid), 0);
	assert_int_equal(request.header.nlmsg_type, SOCK_DIAG_BY_FAMILY);
	/* One socket, and no dump of all. */
	assert_int_equal(request.header.nlmsg_flags, NLM_F_REQUEST);
	assert_int_equal(request.body.sdiag_family, AF_INET);
	assert_int_equal(request.body.sdiag_protocol, IPPROTO_TCP);
	assert_int_equal(request.body.id.idiag_sport, theirs.sin_port);
	assert_int_equal(request.body.id.idiag_src[0], htonl(INADDR_LOOPBACK));
	assert_int_equal(request.body.id.idiag_dst[0], htonl(INADDR_LOOPBACK));
}

static void set_answer(uint16_t type, const void *body, size_t len)
{
	memset(&answer, 0, sizeof(answer));
	answer.header.nlmsg_type = type;
	answer.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
	memcpy(NLMSG_DATA(&answer.header), body, len);
	answer.len = NLMSG_LENGTH(len);
}

/* By IPv6: addresses of this machine are not needed for it. */
static void test_v6(void **state)
{
	struct sockaddr_in6 *ours = (struct sockaddr_in6 *)&fake_ours,
			    *theirs = (struct sockaddr_in6 *)&fake_theirs;
	const struct inet_diag_msg m = { .idiag_uid = 1234, .idiag_inode = 9 };
	uid_t uid;

	(void)state;
	*ours = (struct sockaddr_in6){
		.sin6_family = AF_INET6, .sin6_port = htons(1), .sin6_addr = IN6ADDR_LOOPBACK_INIT
	};
	*theirs = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(2) };
	memset(&theirs->sin6_addr, 0xab, sizeof(theirs->sin6_addr));
	set_answer(SOCK_DIAG_BY_FAMILY, &m, sizeof(m));
	assert_int_equal(ask(server, &uid), 0);
	assert_int_equal(uid, 1234);
	assert_int_equal(request.body.sdiag_family, AF_INET6);
	assert_int_equal(request.body.id.idiag_sport, htons(2));
	assert_int_equal(request.body.id.idiag_dport, htons(1));
	assert_memory_equal(request.body.id.idiag_src, &theirs->sin6_addr, 16);
	assert_memory_equal(request.body.id.idiag_dst, &ours->sin6_addr, 16);
}

/* It was closed: what is left in the kernel would be root's. */
static void test_closed(void **state)
{
	uid_t uid;

	(void)state;
	fd_close(&client);
	assert_int_equal(ask(server, &uid), -ENOENT);
}

/* It was reset: there is not even an address. */
static void test_reset(void **state)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	char c;
	uid_t uid;

	(void)state;
	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	fd_close(&client);
	assert_int_equal(read(server, &c, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(ask(server, &uid), -ENOENT);
}

static void test_no_connection(void **state)
{
	int pair[2], ends[2];
	uid_t uid;

	(void)state;
	assert_int_equal(ask(listener, &uid), -ENOENT);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(ask(pair[0], &uid), -EAFNOSUPPORT);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(ask(ends[0], &uid), -ENOTSOCK);
	assert_int_equal(ask(-1, &uid), -EBADF);
	for (size_t i = 0; i < 2; i++) {
		(void)close(pair[i]);
		(void)close(ends[i]);
	}
}

/* A kernel that does not say: its error, and never a user. */
static void test_errors(void **state)
{
	static const int errors[] = { -ENOENT, -EPERM, -EOPNOTSUPP, -EINVAL };
	uid_t uid;

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const struct nlmsgerr e = { .error = errors[i] };

		set_answer(NLMSG_ERROR, &e, sizeof(e));
		assert_int_equal(ask(server, &uid), errors[i]);
	}
	/* An acknowledgement is no answer. */
	set_answer(NLMSG_ERROR, &(struct nlmsgerr){ .error = 0 }, sizeof(struct nlmsgerr));
	assert_int_equal(ask(server, &uid), -EPROTO);
	memset(&answer, 0, sizeof(answer));
	receive_error = EAGAIN;
	assert_int_equal(ask(server, &uid), -EAGAIN);
}

static void test_malformed(void **state)
{
	const struct inet_diag_msg m = { .idiag_uid = 7, .idiag_inode = 9 };
	uid_t uid;

	(void)state;
	set_answer(SOCK_DIAG_BY_FAMILY, &m, sizeof(m));
	assert_int_equal(ask(server, &uid), 0);
	assert_int_equal(uid, 7);
	/* Cut at any byte. */
	for (size_t n = 1; n < NLMSG_LENGTH(sizeof(m)); n++) {
		answer.len = n;
		assert_int_equal(ask(server, &uid), -EPROTO);
		answer.header.nlmsg_len = (uint32_t)n;
		assert_int_equal(ask(server, &uid), -EPROTO);
		set_answer(SOCK_DIAG_BY_FAMILY, &m, sizeof(m));
	}
	/* It says that it is longer than it is. */
	answer.header.nlmsg_len++;
	assert_int_equal(ask(server, &uid), -EPROTO);
	set_answer(NLMSG_DONE, &m, sizeof(m));
	assert_int_equal(ask(server, &uid), -EPROTO);
	set_answer(NLMSG_ERROR, &(int){ -EPERM }, sizeof(int));
	assert_int_equal(ask(server, &uid), -EPROTO);
	/* Another process sent it. */
	set_answer(SOCK_DIAG_BY_FAMILY, &m, sizeof(m));
	answer.from = 1;
	assert_int_equal(ask(server, &uid), -EPROTO);
}

/* No process has the socket any more: the kernel names root, and that is not true. */
static void test_no_inode(void **state)
{
	const struct inet_diag_msg m = { .idiag_uid = 0, .idiag_inode = 0 };
	uid_t uid;

	(void)state;
	set_answer(SOCK_DIAG_BY_FAMILY, &m, sizeof(m));
	assert_int_equal(ask(server, &uid), -ENOENT);
}

#define PEER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEER_TEST(test_user),
		PEER_TEST(test_request),
		PEER_TEST(test_v6),
		PEER_TEST(test_closed),
		PEER_TEST(test_reset),
		PEER_TEST(test_no_connection),
		PEER_TEST(test_errors),
		PEER_TEST(test_malformed),
		PEER_TEST(test_no_inode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
