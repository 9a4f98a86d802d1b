/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test and children of it have connections over loopback, and another child looks for them, as
 * an init does; in namespaces of their own.
 */
#include "test/unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/userns.h"
#include "warden/socket-program.h"

struct scene {
	int listener, client;
	uint16_t port, peer_port;
};

static uint16_t port_of(int fd)
{
	struct sockaddr_in a = { 0 };
	socklen_t len = sizeof(a);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

static void make(struct scene *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->listener, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->listener, 1), 0);
	s->peer_port = port_of(s->listener);
	a.sin_port = htons(s->peer_port);
	s->client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(s->client, (const struct sockaddr *)&a, sizeof(a)), 0);
	s->port = port_of(s->client);
}

static void end(struct scene *s)
{
	fd_close(&s->listener);
	fd_close(&s->client);
}

/* In a child, which is not looked at itself, as an init is not. */
static struct owner_program look(uint16_t port, uint16_t peer_port, int keep)
{
	struct owner_program *shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct owner_program got;
	pid_t pid;

	assert_true(shared != MAP_FAILED);
	memset(shared, 0x5a, sizeof(*shared));
	pid = fork();
	if (pid == 0) {
		(void)close(keep);
		socket_program_find(port, peer_port, shared);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	got = *shared;
	(void)munmap(shared, sizeof(*shared));
	assert_int_equal(strnlen(got.text, sizeof(got.text)) > 0, got.found != OWNER_NOT_FOUND);
	return got;
}

static void test_a_connection_that_is_none(void **state)
{
	struct scene s;
	uint16_t here, there;

	(void)state;
	make(&s);
	here = s.port;
	there = s.peer_port;
	/* Its ports the other way around are those of the server's end, which is not accepted.
	 */
	assert_int_equal(look(there, here, -1).found, OWNER_NOT_FOUND);
	assert_int_equal(look(here, 1, -1).found, OWNER_NOT_FOUND);
	end(&s);
	assert_int_equal(look(here, there, -1).found, OWNER_NOT_FOUND);
}

/* This program lies in a folder that can be written. */
static void test_a_program_that_can_be_written(void **state)
{
	struct owner_program got;
	struct scene s;

	(void)state;
	make(&s);
	got = look(s.port, s.peer_port, s.client);
	assert_int_equal(got.found, OWNER_UNSURE);
	assert_non_null(strstr(got.text, "test-warden-socket-program"));
	assert_non_null(strstr(got.text, "can write"));
	end(&s);
}

static pid_t start(int client, int (*run)(int client, int ready), int *ret_hold)
{
	int ready[2], hold[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(hold[1]);
		(void)run(client, ready[1]);
		(void)write(ready[1], "r", 1);
		(void)read(hold[0], &byte, 1);
		_exit(0);
	}
	(void)close(ready[1]);
	(void)close(hold[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	*ret_hold = hold[1];
	return pid;
}

static void stop(pid_t pid, int hold)
{
	(void)close(hold);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int hide(int client, int ready)
{
	(void)client;
	(void)ready;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Puts it into a Unix socket, where no process has it. */
static int send_away(int client, int ready)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS } };
	struct iovec byte = { (char[]){ 'x' }, 1 };
	struct msghdr m = { .msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	int pair[2];

	(void)ready;
	memcpy(CMSG_DATA(&control.head), &client, sizeof(client));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || sendmsg(pair[0], &m, 0) != 1)
		return -1;
	return close(client);
}

static void test_a_process_that_hides(void **state)
{
	struct owner_program got;
	struct scene s;
	pid_t pid;
	int hold;

	(void)state;
	make(&s);
	pid = start(s.client, hide, &hold);
	fd_close(&s.client);
	got = look(s.port, s.peer_port, hold);
	assert_int_equal(got.found, OWNER_UNSURE);
	assert_non_null(strstr(got.text, "does not let itself be looked at"));
	stop(pid, hold);
	end(&s);
}

static void test_a_descriptor_under_way(void **state)
{
	struct owner_program got;
	struct scene s;
	pid_t pid;
	int hold;

	(void)state;
	make(&s);
	pid = start(s.client, send_away, &hold);
	fd_close(&s.client);
	got = look(s.port, s.peer_port, hold);
	assert_int_equal(got.found, OWNER_UNSURE);
	assert_non_null(strstr(got.text, "on its way"));
	stop(pid, hold);
	end(&s);
}

/* From here on nothing of the machine can be written, as programs in a sandbox cannot. */
static void test_the_only_program(void **state)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	struct owner_program got;
	char exe[512] = "";
	struct scene s;

	(void)state;
	assert_int_equal(
		mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof(read_only)), 0);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	make(&s);
	got = look(s.port, s.peer_port, s.client);
	assert_string_equal(got.text, exe);
	assert_int_equal(got.found, OWNER_FOUND);
	end(&s);
}

static int become_sleep(int client, int ready)
{
	(void)client;
	(void)write(ready, "r", 1);
	return execl("/bin/sleep", "sleep", "600", NULL);
}

static int make_code(int client, int ready)
{
	(void)client;
	(void)ready;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static void test_more_than_the_only_program(void **state)
{
	static const struct {
		int (*run)(int client, int ready);
		bool is_shared; /* the test has the connection, too */
		const char *text;
	} rows[] = {
		{ become_sleep, true, "two programs have the connection" },
		{ hide, true, "does not let itself be looked at" },
		{ make_code, false, "runs code of memory without a file" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct owner_program got;
		struct scene s;
		pid_t pid;
		int hold;

		make(&s);
		pid = start(s.client, rows[i].run, &hold);
		if (!rows[i].is_shared)
			fd_close(&s.client);
		do
			got = look(s.port, s.peer_port, hold);
		while (rows[i].run == become_sleep && got.found == OWNER_FOUND);
		assert_int_equal(got.found, OWNER_UNSURE);
		if (!strstr(got.text, rows[i].text))
			fail_msg("row %zu: %s", i, got.text);
		(void)kill(pid, SIGKILL);
		stop(pid, hold);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_that_is_none),
		cmocka_unit_test(test_a_program_that_can_be_written),
		cmocka_unit_test(test_a_process_that_hides),
		cmocka_unit_test(test_a_descriptor_under_way),
		cmocka_unit_test(test_the_only_program),
		cmocka_unit_test(test_more_than_the_only_program),
	};

	const uid_t uid = getuid();
	const gid_t gid = getgid();
	int status;

	/* Among processes of its own alone: those of the machine have descriptors under way, too.
	 */
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) < 0 || userns_map(uid, gid) < 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	/* At exit() a sanitizer starts a process that traces this one to look for leaks. In another
	 * namespace of processes it cannot. */
	if (fork() > 0)
		_exit(wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0 ||
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) {
		(void)puts("1..0 # SKIP kernel: no /proc in a namespace");
		return 0;
	}
	status = cmocka_run_group_tests(tests, NULL, NULL);
	(void)fflush(stdout);
	_exit(status);
}
