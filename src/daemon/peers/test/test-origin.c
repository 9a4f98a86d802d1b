/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a Unix socket: real processes that connect, confine themselves, end,
 * or leave the socket to others. What cannot be told counts as inside.
 */
#include "test/unit.h"

#include <errno.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/peers/origin.h"
#include "test/fds.h"
#include "test/scratch.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static char folder[PATH_MAX];
static int listener = -1;
static struct marks own;
static struct origin_peer peer;
static const char *why;
/* What the kernel says of the peer, on request. */
static struct {
	bool is_old; /* it has no SO_PEERPIDFD */
	const struct ucred *cred;
} kernel;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (kernel.is_old && name == SO_PEERPIDFD) {
		errno = ENOPROTOOPT;
		return -1;
	}
	if (kernel.cred && name == SO_PEERCRED) {
		memcpy(value, kernel.cred, sizeof(*kernel.cred));
		return 0;
	}
	return __real_getsockopt(fd, level, name, value, len);
}

static struct sockaddr_un address(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.90s/s", folder);
	return a;
}

static int setup(void **state)
{
	char template[] = "/tmp/corral-test-XXXXXX";
	struct sockaddr_un a;

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	peer = (struct origin_peer){ 0 };
	why = NULL;
	assert_int_equal(scratch_make(template, folder), 0);
	a = address();
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 4), 0);
	return origin_read_own(&own);
}

static int teardown(void **state)
{
	(void)state;
	fd_close(&listener);
	return scratch_remove(folder);
}

static void connect_there(int fd)
{
	const struct sockaddr_un a = address();

	if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		_exit(1);
}

static void confine_flag(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(2);
}

static void confine_filter(void)
{
	struct sock_filter rule = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { 1, &rule };

	confine_flag();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(3);
}

/* A process that runs until its pipe is closed. */
struct origin_process {
	pid_t pid;
	int pipe, socket; /* ours: its standard input; the accepted connection */
};

/* confine: NULL, or what it does before it connects, or behind that. */
static struct origin_process start(void (*confine)(void), bool is_behind)
{
	struct origin_process p;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		char c;

		(void)close(ends[1]);
		if (confine && !is_behind)
			confine();
		connect_there(fd);
		if (confine && is_behind)
			confine();
		if (write(fd, "x", 1) != 1)
			_exit(4);
		(void)!read(ends[0], &c, 1);
		_exit(0);
	}
	(void)close(ends[0]);
	p.pipe = ends[1];
	p.socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(p.socket >= 0);
	/* It is confined when this is there. */
	assert_int_equal(read(p.socket, &(char){ 0 }, 1), 1);
	return p;
}

static void end(struct origin_process *p)
{
	int status = -1;

	if (p->pipe >= 0) {
		fd_close(&p->pipe);
		assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
		assert_int_equal(status, 0);
	}
}

static int check(const struct origin_process *p)
{
	const size_t fds = count_fds();
	const int r = origin_check(&own, p->socket, &peer, &why);

	assert_int_equal(count_fds(), fds);
	assert_int_equal(peer.pid, p->pid);
	assert_int_equal(peer.uid, geteuid());
	return r;
}

static void test_outside(void **state)
{
	struct origin_process p = start(NULL, false);

	(void)state;
	assert_int_equal(check(&p), 0);
	assert_null(why);
	/* The same on a kernel without SO_PEERPIDFD. */
	kernel.is_old = true;
	assert_int_equal(check(&p), 0);
	end(&p);
	fd_close(&p.socket);
}

/* We ourselves are outside, by a pair, too. */
static void test_own(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(origin_check(&own, pair[0], &peer, &why), 0);
	assert_int_equal(peer.pid, getpid());
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* It does not matter whether it connected before or after. */
static void test_confined(void **state)
{
	(void)state;
	for (int is_behind = 0; is_behind < 2; is_behind++) {
		struct origin_process p = start(confine_flag, is_behind);

		own.no_new_privs = 0;
		assert_int_equal(check(&p), -EACCES);
		assert_non_null(strstr(why, "no_new_privs"));
		/* If we have the flag ourselves, it says nothing. */
		own.no_new_privs = 1;
		assert_int_equal(check(&p), 0);
		end(&p);
		fd_close(&p.socket);
	}
}

static void test_filtered(void **state)
{
	struct origin_process p = start(confine_filter, false);

	(void)state;
	own.no_new_privs = 1;
	assert_int_equal(check(&p), -EACCES);
	assert_non_null(strstr(why, "seccomp"));
	end(&p);
	fd_close(&p.socket);
}

static void test_namespaces(void **state)
{
	struct origin_process p = start(NULL, false);

	(void)state;
	own.inode++;
	assert_int_equal(check(&p), -EACCES);
	assert_non_null(strstr(why, "user namespace"));
	own.inode--;
	assert_true(own.depth > 0);
	own.depth--;
	assert_int_equal(check(&p), -EACCES);
	assert_non_null(strstr(why, "pid namespace"));
	end(&p);
	fd_close(&p.socket);
}

/* It has gone, and its socket with it: there is no one to refuse. */
static void test_ended(void **state)
{
	struct origin_process p = start(NULL, false);

	(void)state;
	end(&p);
	for (int is_old = 0; is_old < 2; is_old++) {
		kernel.is_old = is_old;
		assert_int_equal(check(&p), -ESRCH);
		assert_non_null(strstr(why, "ended"));
	}
	fd_close(&p.socket);
}

/* It has gone, and another process has its socket: that one may be inside. */
static void test_left_to_others(void **state)
{
	auto_fd shared = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct origin_process p = { .pipe = -1 };

	(void)state;
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		connect_there(shared);
		_exit(0);
	}
	p.socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(p.socket >= 0);
	assert_int_equal(waitpid(p.pid, NULL, 0), p.pid);
	for (int is_old = 0; is_old < 2; is_old++) {
		kernel.is_old = is_old;
		assert_int_equal(check(&p), -EACCES);
		assert_non_null(strstr(why, "ended"));
	}
	fd_close(&p.socket);
}

/* A process that ended and was not waited for is there by its number, and counts as ended. */
static void test_zombie(void **state)
{
	struct origin_process p = start(NULL, false);
	siginfo_t info;

	(void)state;
	fd_close(&p.pipe);
	assert_int_equal(waitid(P_PID, (id_t)p.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(check(&p), -ESRCH);
	assert_int_equal(waitpid(p.pid, NULL, 0), p.pid);
	fd_close(&p.socket);
}

/* Of users: we ourselves and root. */
static void test_users(void **state)
{
	struct origin_process p = start(NULL, false);
	struct ucred cred = { p.pid, geteuid() + 4711, 0 };

	(void)state;
	kernel.cred = &cred;
	assert_int_equal(origin_check(&own, p.socket, &peer, &why), -EACCES);
	assert_non_null(strstr(why, "another user"));
	assert_int_equal(peer.uid, cred.uid);
	cred.uid = 0;
	assert_int_equal(origin_check(&own, p.socket, &peer, &why), 0);
	assert_int_equal(peer.uid, 0);
	end(&p);
	fd_close(&p.socket);
}

/* The kernel does not know the process: it is in a pid namespace that we do not see. */
static void test_unknown(void **state)
{
	struct origin_process p = start(NULL, false);
	const struct ucred cred = { 0, geteuid(), 0 };

	(void)state;
	kernel.cred = &cred;
	assert_int_equal(origin_check(&own, p.socket, &peer, &why), -EACCES);
	assert_non_null(strstr(why, "cannot be looked at"));
	assert_int_equal(peer.pid, 0);
	end(&p);
	fd_close(&p.socket);
}

static void test_no_socket(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	peer = (struct origin_peer){ 5, 5 };
	assert_int_equal(origin_check(&own, ends[0], &peer, &why), -EACCES);
	assert_int_equal(peer.pid, 0);
	assert_int_equal(peer.uid, 0);
	assert_non_null(why);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

#define ORIGIN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORIGIN_TEST(test_outside),
		ORIGIN_TEST(test_own),
		ORIGIN_TEST(test_confined),
		ORIGIN_TEST(test_filtered),
		ORIGIN_TEST(test_namespaces),
		ORIGIN_TEST(test_ended),
		ORIGIN_TEST(test_left_to_others),
		ORIGIN_TEST(test_zombie),
		ORIGIN_TEST(test_users),
		ORIGIN_TEST(test_unknown),
		ORIGIN_TEST(test_no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
