/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command can do with the three descriptors that it is given, which stand for things outside
 * the jail; and that it has no others.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "test/fds.h"
#include "warden/given.h"
#include "warden/session/test/test-box.h"

static int make_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static int make_pair(int type)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
	(void)close(pair[1]);
	return pair[0];
}

static int connect_tcp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	auto_fd listener = make_socket(AF_INET, SOCK_STREAM);
	int fd = make_socket(AF_INET, SOCK_STREAM);

	assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
	return fd;
}

static int check(int fd, bool network)
{
	struct error e = { 0 };
	int r = given_check(fd, network, &e);

	(void)close(fd);
	assert_true(r == 0 || e.text[0]);
	return r;
}

static void refuses(void **state)
{
	(void)state;
	assert_int_equal(check(open("/", O_RDONLY | O_CLOEXEC), false), -EISDIR);
	assert_int_equal(check(open("/", O_PATH | O_CLOEXEC), false), -EBADF);
	assert_int_equal(check(open("/dev/null", O_PATH | O_CLOEXEC), false), -EBADF);
	assert_int_equal(check(connect_tcp(), false), -EPROTOTYPE);
	assert_int_equal(check(make_socket(AF_INET, SOCK_DGRAM), false), -EPROTOTYPE);
	assert_int_equal(check(make_socket(AF_UNIX, SOCK_STREAM), false), -EPROTOTYPE);
	assert_int_equal(check(make_pair(SOCK_DGRAM), false), -EPROTOTYPE);
	assert_int_equal(check(epoll_create1(EPOLL_CLOEXEC), false), -EACCES);
	assert_int_equal(check(eventfd(0, EFD_CLOEXEC), true), -EACCES);
}

static bool copied(int fd)
{
	bool is_copied = given_is_copied(fd);

	assert_true(fd >= 0);
	(void)close(fd);
	return is_copied;
}

/* What goes in itself is the exception. */
static void copies(void **state)
{
	char path[] = "/tmp/test-given.XXXXXX", link[64];
	int pipes[2], fd = mkstemp(path);
	auto_fd memory = memfd_create("test-given", MFD_CLOEXEC);
	auto_fd listener = make_socket(AF_INET, SOCK_STREAM);
	const struct sockaddr_in any = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_true(copied(pipes[0]));
	assert_true(copied(pipes[1]));
	assert_true(copied(fd));
	assert_true(copied(open(path, O_WRONLY | O_APPEND | O_CLOEXEC)));
	assert_false(copied(open(path, O_RDONLY | O_CLOEXEC)));
	assert_false(copied(open(path, O_PATH | O_CLOEXEC)));
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
	assert_true(copied(open(link, O_RDONLY | O_CLOEXEC)));
	assert_true(copied(make_pair(SOCK_STREAM)));
	assert_true(copied(connect_tcp()));
	assert_false(copied(make_pair(SOCK_SEQPACKET)));
	assert_false(copied(make_socket(AF_INET, SOCK_DGRAM)));
	assert_int_equal(bind(listener, (const struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_false(given_is_copied(listener));
	assert_false(copied(open("/dev/null", O_RDWR | O_CLOEXEC)));
	assert_false(copied(open("/", O_RDONLY | O_CLOEXEC)));
	(void)unlink(path);
}

static void takes(void **state)
{
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(check(pipes[0], false), 0);
	assert_int_equal(check(pipes[1], false), 0);
	assert_int_equal(check(make_pair(SOCK_STREAM), false), 0);
	assert_int_equal(check(make_pair(SOCK_SEQPACKET), false), 0);
	assert_int_equal(check(open("/dev/null", O_RDWR | O_CLOEXEC), false), 0);
	assert_int_equal(check(open("/proc/self/stat", O_RDONLY | O_CLOEXEC), false), 0);
	assert_int_equal(check(connect_tcp(), true), 0);
}

static struct plan_entry entry_at(enum plan_kind kind, const char *path, bool writable, bool over)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return (struct plan_entry){ .kind = kind,
		.path = path,
		.is_dir = S_ISDIR(st.st_mode),
		.writable = writable,
		.over = over,
		.dev = st.st_dev,
		.ino = st.st_ino };
}

static int check_cover(const struct plan *p, const char *folder, const char *name)
{
	char path[128];
	struct error e = { 0 };
	auto_fd fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return given_check_cover(fd, p, &e);
}

/* A covered file as standard input could be opened again through /proc/self/fd, without its cover.
 */
static void refuses_covered(void **state)
{
	static const char *const names[] = { "free", "kept", "secret", "moved" };
	char folder[] = "/tmp/test-given.XXXXXX";
	char kept[64], secret[64], moved[64];
	struct plan_entry entries[3];
	const struct plan p = { .entries = entries, .n = 3 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(kept, sizeof(kept), "%s/kept", folder);
	(void)snprintf(secret, sizeof(secret), "%s/secret", folder);
	(void)snprintf(moved, sizeof(moved), "%s/moved", folder);
	(void)close(open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	(void)close(open(secret, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	entries[0] = entry_at(PLAN_BIND, folder, true, false);
	entries[1] = entry_at(PLAN_BIND, kept, false, true);
	entries[2] = entry_at(PLAN_MASK, secret, false, true);
	assert_int_equal(check_cover(&p, folder, "free"), 0);
	assert_int_equal(check_cover(&p, folder, "kept"), -EACCES);
	assert_int_equal(check_cover(&p, folder, "secret"), -EACCES);
	/* By another name it is the same file. */
	assert_int_equal(rename(secret, moved), 0);
	assert_int_equal(check_cover(&p, folder, "moved"), -EACCES);
	for (size_t i = 0; i < ROWS(names); i++) {
		(void)snprintf(kept, sizeof(kept), "%s/%s", folder, names[i]);
		(void)unlink(kept);
	}
	assert_int_equal(rmdir(folder), 0);
}

/* The same through a session: nothing was started. */
static void session_refuses(void **state)
{
	const char *argv[4];
	struct start start = box_shell(argv, "exit 0");
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e = { 0 };
	auto_fd folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t before;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	before = count_fds();
	for (int i = 0; i < 3; i++) {
		int stdio[3] = { 2, 2, 2 };

		stdio[i] = folder;
		assert_int_equal(session_start(s, 1, &start, stdio, &e), -EISDIR);
		assert_non_null(strstr(e.text, "folder"));
	}
	assert_int_equal(session_commands(s), 0);
	assert_int_equal(count_fds(), before);
	assert_int_equal(box_run(s, &seen, 1, "exit 4"), 4);
	session_free(s);
}

static int run_on(struct session *s, struct seen *seen, const char *line, const int stdio[3])
{
	const char *argv[4];
	struct start start = box_shell(argv, line);
	struct error e = { 0 };

	seen->n = 0;
	if (session_start(s, 1, &start, stdio, &e) < 0)
		fail_msg("%s", e.text);
	box_until(s, seen, 2);
	return seen->events[1].report.exit_code;
}

/* As root inside, /dev/null is the command's own; it must not be able to spoil it for the host. */
static void spares_devices(void **state)
{
	struct stat before, after;
	struct plan p;

	(void)state;
	assert_int_equal(stat("/dev/null", &before), 0);
	box_plan(&p);
	for (int single = 0; single < 2; single++) {
		struct seen seen = { 0 };
		struct session *s = box_open(&p, &seen, single);
		auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
		const int stdio[3] = { null, null, 2 };
		/* Modes as they are: what succeeds does no harm to this machine. */
		int r = run_on(s, &seen,
			"exec 2>/dev/null; for f in /dev/null /dev/zero /proc/self/fd/0 "
			"/proc/self/fd/1; do chmod 666 $f && exit 1; touch -m $f && exit 2; done; "
			"echo a && echo b >/dev/null && head -c 1 /dev/zero >/dev/null && "
			"head -c 1 /dev/urandom >/dev/null",
			stdio);

		assert_int_equal(r, 0);
		session_free(s);
	}
	assert_int_equal(stat("/dev/null", &after), 0);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

/* Devices keep what they were opened for. */
static void keeps_the_direction(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	auto_fd in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_fd out = open("/dev/full", O_WRONLY | O_CLOEXEC);
	const int stdio[3] = { in, out, 2 };

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	assert_int_equal(
		run_on(s, &seen, "exec 2>/dev/null; echo a >&0 && exit 1; exit 0", stdio), 0);
	/* Output to a full disk is the command's to hear of. */
	assert_int_equal(run_on(s, &seen, "exec 2>/dev/null; echo a && exit 1; exit 0", stdio), 0);
	assert_int_equal(
		run_on(s, &seen, "exec 2>/dev/null; read x <&1 && exit 1; exit 0", stdio), 0);
	session_free(s);
}

/* Only opened for reading: not to be written through the name in /proc either. */
static void keeps_a_file_read_only(void **state)
{
	char path[] = "/tmp/test-given.XXXXXX";
	struct plan p;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	(void)close(fd);
	box_plan(&p);
	for (int single = 0; single < 2; single++) {
		struct seen seen = { 0 };
		struct session *s = box_open(&p, &seen, single);
		auto_fd in = open(path, O_RDONLY | O_CLOEXEC);
		const int stdio[3] = { in, 2, 2 };

		assert_int_equal(run_on(s, &seen,
					 "exec 2>/dev/null; echo a >/proc/self/fd/0 && exit 1; "
					 "echo a >>/dev/stdin && exit 2; "
					 "truncate -s 0 /proc/self/fd/0 && exit 3; "
					 "test \"$(cat)\" = text",
					 stdio),
			0);
		session_free(s);
	}
	(void)unlink(path);
}

/* Pipes and files for writing of the host: bytes go in and out, and nothing else does. */
static void leads_one_way(void **state)
{
	char path[] = "/tmp/test-given.XXXXXX", text[32] = "";
	struct plan p;

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	box_plan(&p);
	for (int single = 0; single < 2; single++) {
		struct seen seen = { 0 };
		struct session *s = box_open(&p, &seen, single);
		int in[2], out[2];
		auto_fd log = -1;

		memcpy(path + strlen(path) - 6, "XXXXXX", 6);
		log = mkostemp(path, O_APPEND | O_CLOEXEC);
		assert_int_equal(write(log, "kept ", 5), 5);
		assert_int_equal(pipe2(in, O_CLOEXEC), 0);
		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		assert_int_equal(write(in[1], "one\ntwo\n", 8), 8);
		assert_int_equal(write(out[1], "earlier ", 8), 8);
		assert_int_equal(run_on(s, &seen,
					 "read x; test $x = one || exit 1; "
					 "truncate -s 0 /proc/self/fd/2 2>/dev/null && exit 2; "
					 "dd if=/proc/self/fd/1 iflag=nonblock bs=8 count=1 "
					 "2>/dev/null | grep -q . && exit 3; "
					 "echo out; echo err >&2; exit 0",
					 (const int[]){ in[0], out[1], log }),
			0);
		assert_int_equal(read(out[0], text, sizeof(text)), 12);
		assert_memory_equal(text, "earlier out\n", 12);
		assert_int_equal(read(in[0], text, sizeof(text)), 4);
		assert_memory_equal(text, "two\n", 4);
		assert_int_equal(pread(log, text, sizeof(text), 0), 9);
		assert_memory_equal(text, "kept err\n", 9);
		for (int i = 0; i < 2; i++) {
			(void)close(in[i]);
			(void)close(out[i]);
		}
		(void)unlink(path);
		session_free(s);
	}
}

/* The command line of the host is nobody's business inside; ps shows the name of the process. */
static void hides_the_host(void **state)
{
	auto_fd own = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char text[256];
	struct plan p;

	(void)state;
	box_plan(&p);
	for (int single = 0; single < 2; single++) {
		struct seen seen = { 0 };
		struct session *s = box_open(&p, &seen, single);

		assert_int_equal(box_run(s, &seen, 1,
					 "test \"$(tr -d '\\000' </proc/1/cmdline)\" = \"$(cat "
					 "/proc/1/comm)\" && "
					 "! cat /proc/1/environ 2>/dev/null"),
			0);
		session_free(s);
	}
	/* It is their copy that was erased, not ours. */
	assert_true(box_read(own, text, sizeof(text)) > 0);
	assert_true(text[0] != '\0');
}

/* Not one more than three, however many commands there are. */
static void has_three(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (uint64_t i = 0; i < 200; i++)
		box_start(s, i, "set -- /proc/self/fd/*; exit $#", -1, 0);
	box_until(s, &seen, 400);
	for (size_t i = 0; i < 400; i++)
		if (seen.events[i].kind == SESSION_EXITED)
			/* The shell reads the folder itself: 0, 1, 2, and the folder. */
			assert_in_range(seen.events[i].report.exit_code, 3, 4);
		else
			assert_int_equal(seen.events[i].kind, SESSION_STARTED);
	assert_int_equal(session_commands(s), 0);
	session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(takes),
		cmocka_unit_test(copies),
		cmocka_unit_test(leads_one_way),
		cmocka_unit_test(refuses_covered),
		cmocka_unit_test(session_refuses),
		cmocka_unit_test(spares_devices),
		cmocka_unit_test(keeps_the_direction),
		cmocka_unit_test(keeps_a_file_read_only),
		cmocka_unit_test(hides_the_host),
		cmocka_unit_test(has_three),
	};

	return cmocka_run_group_tests_name("given", tests, NULL, NULL);
}
