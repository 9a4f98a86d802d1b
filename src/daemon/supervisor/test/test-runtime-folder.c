/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's runtime folder: whose it is, one daemon in it, the token, sockets, links to it. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/supervisor/runtime-folder.h"
#include "test/fds.h"
#include "test/scratch.h"

static char base[PATH_MAX];
static struct runtime_folder folder;
static struct error error;

/* Pauses while a lock is held: the n-th frees it; 0: none does. */
static size_t n_pauses, frees_at;
static int held = -1;

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (n > 0)
		return __real_poll(fds, n, ms);
	if (++n_pauses == frees_at)
		fd_close(&held);
	return 0;
}

static bool is_random_gone;

ssize_t __real_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
	if (!is_random_gone)
		return __real_getrandom(out, len, flags);
	errno = ENOSYS;
	return -1;
}

static int setup(void **state)
{
	char template[] = "/tmp/corral-test-XXXXXX";

	(void)state;
	folder = (struct runtime_folder){ .lock = -1 };
	error = (struct error){ 0 };
	n_pauses = frees_at = 0;
	is_random_gone = false;
	return scratch_make(template, base) == 0 && setenv("XDG_RUNTIME_DIR", base, 1) == 0 &&
			       setenv("HOME", base, 1) == 0
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	(void)state;
	fd_close(&held);
	runtime_folder_close(&folder);
	return scratch_remove(base);
}

static const char *at(const char *name)
{
	static char path[2][PATH_MAX + 256];
	static size_t turn;
	char *out = path[turn++ % 2];

	(void)snprintf(out, sizeof(path[0]), "%s/%s", base, name);
	return out;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static const char *get(const char *name)
{
	static char text[256];
	auto_fd fd = open(at(name), O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(at(name), &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	return st.st_mode & 07777;
}

static int open_folder(void)
{
	return runtime_folder_open(&folder, false, &error);
}

/* The lock is held by a daemon with this pid, and stays with `held`. */
static void hold(pid_t pid)
{
	char text[32];

	assert_int_equal(mkdir(at("corral"), 0700), 0);
	(void)snprintf(text, sizeof(text), "%d\n", (int)pid);
	put("corral/corrald.pid", text);
	held = open(at("corral/corrald.pid"), O_RDWR | O_CLOEXEC);
	assert_true(held >= 0);
	assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
}

/* The number of a process that has ended. */
static pid_t dead(void)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void test_open(void **state)
{
	char pid[32];

	(void)state;
	assert_int_equal(open_folder(), 0);
	assert_string_equal(buffer_text(&folder.path), at("corral"));
	assert_int_equal(mode_of("corral"), 0700);
	assert_int_equal(mode_of("corral/corrald.pid"), 0600);
	(void)snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	assert_string_equal(get("corral/corrald.pid"), pid);
	assert_true(fcntl(folder.lock, F_GETFD) & FD_CLOEXEC);
	/* What it made goes; the folder stays. */
	runtime_folder_close(&folder);
	assert_int_equal(access(at("corral/corrald.pid"), F_OK), -1);
	assert_int_equal(mode_of("corral"), 0700);
	/* Closed twice is closed. */
	runtime_folder_close(&folder);
	assert_int_equal(open_folder(), 0);
}

/* A pid that was longer than ours leaves no digits behind. */
static void test_left_over_pid(void **state)
{
	char pid[32];

	(void)state;
	assert_int_equal(mkdir(at("corral"), 0700), 0);
	put("corral/corrald.pid", "99999999999999999\n");
	assert_int_equal(open_folder(), 0);
	(void)snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	assert_string_equal(get("corral/corrald.pid"), pid);
}

static void test_relative(void **state)
{
	(void)state;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
	assert_int_equal(open_folder(), -ENOENT);
	assert_non_null(strstr(error.text, "absolute"));
}

static void test_no_parent(void **state)
{
	(void)state;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", at("missing"), 1), 0);
	assert_int_equal(open_folder(), -ENOENT);
	assert_non_null(strstr(error.hint, "XDG_RUNTIME_DIR"));
}

/* Others may enter, or it is no folder: refused, and nothing is written. */
static void test_not_ours(void **state)
{
	static const mode_t modes[] = { 0701, 0710, 0720, 0755, 0777, 01777 };

	(void)state;
	assert_int_equal(mkdir(at("corral"), 0700), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(at("corral"), modes[i]), 0);
		assert_int_equal(open_folder(), -EPERM);
		assert_non_null(strstr(error.hint, "chmod 700"));
		assert_int_equal(access(at("corral/corrald.pid"), F_OK), -1);
		runtime_folder_close(&folder);
	}
	assert_int_equal(rmdir(at("corral")), 0);

	/* A link to a good one is none. */
	assert_int_equal(mkdir(at("elsewhere"), 0700), 0);
	assert_int_equal(symlink(at("elsewhere"), at("corral")), 0);
	assert_int_equal(open_folder(), -EPERM);
	runtime_folder_close(&folder);
	assert_int_equal(unlink(at("corral")), 0);

	put("corral", "");
	assert_int_equal(open_folder(), -EPERM);
}

/* The file of the pid is no link: what it points to would be cut to nothing. */
static void test_pid_is_link(void **state)
{
	(void)state;
	put("precious", "text");
	assert_int_equal(mkdir(at("corral"), 0700), 0);
	assert_int_equal(symlink(at("precious"), at("corral/corrald.pid")), 0);
	assert_int_equal(open_folder(), -ELOOP);
	assert_string_equal(get("precious"), "text");
}

/* A daemon that lives: refused at once, and its files stay when the second one ends. */
static void test_busy(void **state)
{
	const size_t fds = count_fds();

	(void)state;
	hold(getppid());
	assert_int_equal(open_folder(), -EBUSY);
	assert_int_equal(n_pauses, 0);
	assert_non_null(strstr(error.text, "a daemon runs here already"));
	assert_int_equal(folder.lock, -1);
	runtime_folder_close(&folder);
	assert_int_equal(access(at("corral/corrald.pid"), F_OK), 0);
	fd_close(&held);
	assert_int_equal(count_fds(), fds);
}

/* The one that has the lock did not write its pid yet. */
static void test_busy_without_pid(void **state)
{
	(void)state;
	hold(getppid());
	assert_int_equal(truncate(at("corral/corrald.pid"), 0), 0);
	assert_int_equal(open_folder(), -EBUSY);
	assert_int_equal(n_pauses, 0);
}

/* Its daemon is dead: a child that it had just forked has the lock, for a moment. */
static void test_busy_for_a_moment(void **state)
{
	(void)state;
	hold(dead());
	frees_at = 7;
	assert_int_equal(open_folder(), 0);
	assert_int_equal(n_pauses, 7);
}

/* It is not waited for without end. */
static void test_busy_for_ever(void **state)
{
	(void)state;
	hold(dead());
	assert_int_equal(open_folder(), -EBUSY);
	assert_int_equal(n_pauses, 1000);
}

static void test_token(void **state)
{
	char first[MESSAGE_TOKEN + 1];
	const char *text;

	(void)state;
	assert_int_equal(open_folder(), 0);
	assert_int_equal(runtime_folder_token(&folder, &error), 0);
	assert_int_equal(strspn(folder.token, "0123456789abcdef"), MESSAGE_TOKEN);
	assert_int_equal(mode_of("corral/token"), 0600);
	text = get("corral/token");
	assert_int_equal(strlen(text), MESSAGE_TOKEN + 1);
	assert_int_equal(strncmp(text, folder.token, MESSAGE_TOKEN), 0);
	assert_int_equal(text[MESSAGE_TOKEN], '\n');

	/* Each start has its own, in place of the one before, whatever mode that had. */
	memcpy(first, folder.token, sizeof(first));
	assert_int_equal(chmod(at("corral/token"), 0644), 0);
	assert_int_equal(runtime_folder_token(&folder, &error), 0);
	assert_string_not_equal(folder.token, first);
	assert_int_equal(mode_of("corral/token"), 0600);
	runtime_folder_close(&folder);
	assert_int_equal(access(at("corral/token"), F_OK), -1);
}

/* Without random bytes there is no token: none is guessed. */
static void test_no_random(void **state)
{
	(void)state;
	assert_int_equal(open_folder(), 0);
	is_random_gone = true;
	assert_int_equal(runtime_folder_token(&folder, &error), -ENOSYS);
	assert_string_equal(folder.token, "");
	assert_int_equal(access(at("corral/token"), F_OK), -1);
}

/* A link in the token's place is replaced, and nothing is written behind it. */
static void test_token_is_link(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(open_folder(), 0);
	put("precious", "text");
	assert_int_equal(symlink(at("precious"), at("corral/token")), 0);
	assert_int_equal(runtime_folder_token(&folder, &error), 0);
	assert_string_equal(get("precious"), "text");
	assert_int_equal(lstat(at("corral/token"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

static void test_listen(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const mode_t mask = umask(0);
	auto_fd first = -1, second = -1, client = -1, peer = -1;

	(void)state;
	assert_int_equal(open_folder(), 0);
	assert_int_equal(
		runtime_folder_listen(&folder, "api.sock", SOCK_STREAM, &first, &error), 0);
	assert_int_equal(mode_of("corral/api.sock"), 0600);
	assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(first, F_GETFL) & O_NONBLOCK);
	/* The umask is as it was. */
	assert_int_equal(umask(mask), 0);
	/* One that was left over is replaced. */
	assert_int_equal(
		runtime_folder_listen(&folder, "api.sock", SOCK_SEQPACKET, &second, &error), 0);
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", at("corral/api.sock"));
	client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (const struct sockaddr *)&a, sizeof(a)), 0);
	peer = accept4(second, NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
	assert_int_equal(accept4(first, NULL, NULL, SOCK_CLOEXEC), -1);

	runtime_folder_remove(&folder, "api.sock");
	assert_int_equal(access(at("corral/api.sock"), F_OK), -1);
	runtime_folder_remove(&folder, "api.sock");
}

static void test_listen_fails(void **state)
{
	char name[128];
	size_t fds;
	int fd = -7;

	(void)state;
	assert_int_equal(open_folder(), 0);
	fds = count_fds();
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(
		runtime_folder_listen(&folder, name, SOCK_STREAM, &fd, &error), -ENAMETOOLONG);
	assert_non_null(strstr(error.hint, "shorter"));
	assert_int_equal(runtime_folder_listen(&folder, "no/x", SOCK_STREAM, &fd, &error), -ENOENT);
	/* It is untouched, and nothing is left open. */
	assert_int_equal(fd, -7);
	assert_int_equal(count_fds(), fds);
}

static void expect_link(const char *name, const char *to)
{
	char got[PATH_MAX];
	const ssize_t n = readlink(at(name), got, sizeof(got) - 1);

	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got, to);
}

/* A daemon at no usual place: runs find it beside the log, and by the home folder. */
static void test_announce(void **state)
{
	(void)state;
	assert_int_equal(open_folder(), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(runtime_folder_announce(&folder, at("state/audit.db"), &error), 0);
		expect_link("state/daemon", at("corral"));
		expect_link(".local/state/corral/daemon", at("corral"));
		assert_int_equal(access(at("state/daemon.new"), F_OK), -1);
	}
	/* It stays when the daemon ends. */
	runtime_folder_close(&folder);
	expect_link("state/daemon", at("corral"));
}

/* At the usual place no link is needed, and an old one goes. */
static void test_announce_usual(void **state)
{
	(void)state;
	assert_int_equal(mkdir(at("state"), 0700), 0);
	assert_int_equal(symlink("/old", at("state/daemon")), 0);
	buffer_adds(&folder.path, "/run/corral");
	assert_int_equal(runtime_folder_announce(&folder, at("state/audit.db"), &error), 0);
	assert_int_equal(access(at("state/daemon"), F_OK), -1);
	assert_int_equal(access(at(".local/state/corral/daemon"), F_OK), -1);
}

/* A folder of that name is not removed for it. */
static void test_announce_fails(void **state)
{
	(void)state;
	assert_int_equal(open_folder(), 0);
	assert_int_equal(mkdir(at("state"), 0700), 0);
	assert_int_equal(mkdir(at("state/daemon"), 0700), 0);
	assert_true(runtime_folder_announce(&folder, at("state/audit.db"), &error) < 0);
	assert_non_null(strstr(error.text, "state/daemon"));
	put("file", "");
	assert_int_equal(runtime_folder_announce(&folder, at("file/audit.db"), &error), -ENOTDIR);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(test_open),
		FOLDER_TEST(test_left_over_pid),
		FOLDER_TEST(test_relative),
		FOLDER_TEST(test_no_parent),
		FOLDER_TEST(test_not_ours),
		FOLDER_TEST(test_pid_is_link),
		FOLDER_TEST(test_busy),
		FOLDER_TEST(test_busy_without_pid),
		FOLDER_TEST(test_busy_for_a_moment),
		FOLDER_TEST(test_busy_for_ever),
		FOLDER_TEST(test_token),
		FOLDER_TEST(test_no_random),
		FOLDER_TEST(test_token_is_link),
		FOLDER_TEST(test_listen),
		FOLDER_TEST(test_listen_fails),
		FOLDER_TEST(test_announce),
		FOLDER_TEST(test_announce_usual),
		FOLDER_TEST(test_announce_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
