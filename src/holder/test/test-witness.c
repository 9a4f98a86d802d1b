/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that is watched, and what is seen of it: calls as programs make them, and calls as
 * somebody makes them who wants the witness to fall over. Whatever is seen, each call must come to
 * what it comes to without a witness.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "holder/witness.h"
#include "wire/frame.h"

enum { SEEN_MAX = 64, WAIT_MS = 60000 };

struct seen {
	size_t n; /* all of them */
	struct {
		enum notify_kind kind;
		uint64_t extra;
		bool itself, has_root;
		int family;
		char path[PATH_BYTES];
	} items[SEEN_MAX];
};

static void see(void *context, const struct sight *s)
{
	struct seen *seen = context;
	size_t i = seen->n++;

	if (i >= SEEN_MAX)
		return;
	seen->items[i].kind = s->kind;
	seen->items[i].extra = s->extra;
	seen->items[i].itself = s->itself;
	seen->items[i].has_root = s->root >= 0;
	seen->items[i].family = s->address ? s->address->ss_family : 0;
	(void)snprintf(seen->items[i].path, PATH_BYTES, "%s", s->path ? s->path : "");
}

static _Noreturn void be_watched(int socket, int (*run)(void))
{
	int listener;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(99);
	listener = notify_install();
	if (listener < 0 || frame_send(socket, FRAME_WITNESS, 1, NULL, 0, &listener, 1) < 0)
		_exit(98);
	close(listener);
	close(socket);
	_exit(run());
}

struct watched {
	struct call_listener *listener;
	struct witness *witness;
};

static void unwatch(struct watched *w)
{
	listener_free(w->listener);
	witness_free(w->witness);
}

/* The listener of a child that runs that. */
static struct watched watch(int (*run)(void), struct seen *seen, pid_t *ret)
{
	struct frame frame = { 0 };
	struct watched w = { 0 };
	int pair[2];

	assert_int_equal(frame_pair(pair), 0);
	*ret = fork();
	assert_true(*ret >= 0);
	if (*ret == 0)
		be_watched(pair[1], run);
	close(pair[1]);
	assert_int_equal(frame_receive(pair[0], &frame), 1);
	close(pair[0]);
	assert_int_equal(listener_new(&w.listener, frame_take_fd(&frame, 0)), 0);
	assert_int_equal(witness_new(&w.witness, w.listener, see, seen), 0);
	frame_deinit(&frame);
	return w;
}

static void attend(const struct watched *w)
{
	struct pollfd p = { .fd = listener_fd(w->listener), .events = POLLIN };

	do
		assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	while (listener_dispatch(w->listener) == 0);
}

static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* All that is seen of it; it must say 0. */
static void look_at(int (*run)(void), struct seen *seen)
{
	pid_t pid;
	struct watched w = watch(run, seen, &pid);

	memset(seen, 0, sizeof(*seen));
	attend(&w);
	unwatch(&w);
	assert_int_equal(end_of(pid), 0);
}

static char folder[] = "/tmp/corral-witness-XXXXXX";
static struct seen seen;

/* Calls as programs make them. */

static int plain(void)
{
	int at = open(folder, O_PATH | O_DIRECTORY), fd;

	if (at < 0 || chdir(folder) < 0)
		return 1;
	fd = openat(at, "new", O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || renameat(at, "new", AT_FDCWD, "old") < 0 || unlink("old") < 0)
		return 2;
	if (open("/nowhere/../nowhere", O_RDONLY) >= 0 || errno != ENOENT)
		return 3;
	if (faccessat(AT_FDCWD, ".", W_OK, 0) < 0 || openat(77, "x", O_RDONLY) >= 0)
		return 4;
	return errno == EBADF ? 0 : 5;
}

static void is_seen(size_t i, enum notify_kind kind, const char *path)
{
	assert_true(i < seen.n);
	assert_int_equal(seen.items[i].kind, kind);
	assert_string_equal(seen.items[i].path, path);
	assert_true(seen.items[i].has_root);
}

static void sees_plain_calls(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	look_at(plain, &seen);
	is_seen(0, NOTIFY_OPEN, folder);
	is_seen(1, NOTIFY_LOOK, folder);
	(void)snprintf(path, sizeof(path), "%s/new", folder);
	is_seen(2, NOTIFY_OPEN, path);
	assert_true(seen.items[2].extra & O_CREAT);
	is_seen(3, NOTIFY_REMOVE, path);
	(void)snprintf(path, sizeof(path), "%s/old", folder);
	is_seen(4, NOTIFY_MAKE, path);
	is_seen(5, NOTIFY_REMOVE, path);
	is_seen(6, NOTIFY_OPEN, "/nowhere/../nowhere");
	(void)snprintf(path, sizeof(path), "%s/.", folder);
	is_seen(7, NOTIFY_ACCESS, path);
	assert_int_equal(seen.items[7].extra, W_OK);
	/* A descriptor that is none has no folder. */
	assert_int_equal(seen.n, 8);
}

/* Namespaces are refused, whoever asks, even root with all capabilities; plain children are not
 * even stopped. */
static int unsharing(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
		return 2;
	if (unshare(CLONE_NEWNS | CLONE_FS) == 0 || errno != EPERM)
		return 3;
	if (syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, NULL, NULL, NULL, NULL) >=
			0 ||
		errno != EPERM)
		return 4;
	return unshare(CLONE_FILES) == 0 ? 0 : 5;
}

static void refuses_namespaces(void **state)
{
	(void)state;
	look_at(unsharing, &seen);
	assert_int_equal(seen.n, 3);
	for (size_t i = 0; i < seen.n; i++)
		is_seen(i, NOTIFY_NAMESPACE, "");
	assert_int_equal(seen.items[1].extra, CLONE_NEWNS | CLONE_FS);
}

static int connecting(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(1) };
	int s = socket(AF_UNIX, SOCK_STREAM, 0), t = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s/none", folder);
	if (connect(s, (struct sockaddr *)&un, sizeof(un)) == 0 || errno != ENOENT)
		return 1;
	/* Without a name in the file system; too short; too long. */
	un.sun_path[0] = '\0';
	(void)connect(s, (struct sockaddr *)&un, sizeof(un));
	(void)connect(s, (struct sockaddr *)&un, 1);
	(void)syscall(SYS_connect, s, &un, 1UL << 40);
	(void)syscall(SYS_connect, s, 8, sizeof(un));
	(void)connect(t, (struct sockaddr *)&in, sizeof(in));
	return 0;
}

static void sees_addresses(void **state)
{
	char path[PATH_BYTES];

	(void)state;
	look_at(connecting, &seen);
	assert_int_equal(seen.n, 2);
	(void)snprintf(path, sizeof(path), "%s/none", folder);
	is_seen(0, NOTIFY_CONNECT, path);
	assert_int_equal(seen.items[1].family, AF_INET);
}

static int running(void)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/nowhere/true", "true", (char *)NULL);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid ? status : 1;
}

static void sees_programs(void **state)
{
	(void)state;
	look_at(running, &seen);
	is_seen(0, NOTIFY_EXEC, "/nowhere/true");
	is_seen(1, NOTIFY_EXEC, "/bin/true");
	/* And what its loader opens. */
	assert_true(seen.n > 2);
}

/* Calls as somebody makes them who means harm. */

static int broken_pointers(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *none = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (two == MAP_FAILED || none == MAP_FAILED || munmap(two + page, page) < 0)
		return 1;
	if (syscall(SYS_openat, AT_FDCWD, 0, O_RDONLY) >= 0 || errno != EFAULT ||
		syscall(SYS_openat, AT_FDCWD, none, O_RDONLY) >= 0 || errno != EFAULT ||
		syscall(SYS_openat, AT_FDCWD, -1L, O_RDONLY) >= 0 || errno != EFAULT)
		return 2;
	/* A name that ends where the memory does is one; one that does not end is none. */
	memset(two, 'x', page);
	memcpy(two + page - 2, "/", 2);
	if (syscall(SYS_openat, AT_FDCWD, two + page - 2, O_PATH) < 0)
		return 3;
	two[page - 1] = 'x';
	if (syscall(SYS_openat, AT_FDCWD, two + page - 9, O_PATH) >= 0 || errno != EFAULT)
		return 4;
	return 0;
}

static void takes_broken_pointers(void **state)
{
	(void)state;
	look_at(broken_pointers, &seen);
	assert_int_equal(seen.n, 1);
	is_seen(0, NOTIFY_OPEN, "/");
}

static int long_names(void)
{
	static char name[3 * PATH_BYTES];

	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	if (open(name, O_RDONLY) >= 0 || errno != ENAMETOOLONG)
		return 1;
	name[PATH_BYTES - 1] = '\0';
	if (open(name, O_RDONLY) >= 0 || errno != ENAMETOOLONG)
		return 2;
	/* Too long only together with where it begins. */
	if (chdir(folder) < 0 || open(name + 1, O_RDONLY) >= 0)
		return 3;
	return 0;
}

static void takes_long_names(void **state)
{
	(void)state;
	look_at(long_names, &seen);
	assert_int_equal(seen.n, 2);
	assert_int_equal(strlen(seen.items[0].path), PATH_BYTES - 1);
}

/* The name is now this one and now that one, and sometimes half of each. */
static void *flip(void *data)
{
	static const char *const names[] = { "/bin", "/dev" };
	char *name = data;

	for (size_t n = 0;; n++)
		for (size_t i = 1; i < 4; i++)
			__atomic_store_n(&name[i], names[n % 2][i], __ATOMIC_RELAXED);
	return NULL;
}

/* Another thread changes it all the time; the kernel takes what it finds, as it always does. */
static int changing_memory(void)
{
	static char name[8] = "/dev";
	pthread_t thread;

	if (pthread_create(&thread, NULL, flip, name) != 0)
		return 1;
	for (int i = 0; i < 2000; i++)
		if (access(name, F_OK) < 0 && errno != ENOENT)
			return 2;
	return 0;
}

static void takes_changing_memory(void **state)
{
	(void)state;
	look_at(changing_memory, &seen);
	assert_int_equal(seen.n, 2000);
}

static void *spin(void *data)
{
	(void)data;
	for (;;)
		(void)access("/nowhere", F_OK);
	return NULL;
}

/* Ends while calls of other threads wait. */
static int leaving(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, spin, NULL) != 0)
			return 1;
	for (int i = 0; i < 100; i++)
		(void)access("/nowhere", F_OK);
	return 0;
}

static void takes_an_end_under_way(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		look_at(leaving, &seen);
		assert_true(seen.n >= 100);
	}
}

static int waiting(void)
{
	(void)access("/nowhere", F_OK);
	return 0;
}

/* Killed with a call that nobody has looked at. */
static void takes_a_kill(void **state)
{
	pid_t pid;
	struct watched w = watch(waiting, &seen, &pid);
	struct pollfd p = { .fd = listener_fd(w.listener), .events = POLLIN };

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(end_of(pid), SIGKILL);
	attend(&w);
	assert_int_equal(seen.n, 0);
	unwatch(&w);
}

/* If nobody is there to look, calls fail; nothing waits for ever, and nothing is let through. */
static int abandoned(void)
{
	return access("/", F_OK) < 0 && errno == ENOSYS ? 0 : 1;
}

/* Another user of the same listener answers some calls: they are not made, and are seen by those
 * before it. */
static bool refuse_access(void *context, struct call_listener *l, const struct listener_call *c)
{
	if (c->row->paths[0].kind != NOTIFY_ACCESS)
		return false;
	++*(int *)context;
	listener_answer(l, -EDOM, 0);
	return true;
}

static int refused(void)
{
	struct stat st;

	return access("/", F_OK) < 0 && errno == EDOM && stat("/", &st) == 0 ? 0 : 1;
}

static void is_shared(void **state)
{
	pid_t pid;
	struct watched w = watch(refused, &seen, &pid);
	int n = 0, more = 0;
	bool has_access = false;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(listener_add(w.listener, refuse_access, &n), 0);
	while (listener_add(w.listener, refuse_access, &n) == 0)
		more++;
	assert_int_equal(more, LISTENER_USERS_MAX - 2);
	attend(&w);
	unwatch(&w);
	assert_int_equal(end_of(pid), 0);
	for (size_t i = 0; i < seen.n && i < SEEN_MAX; i++)
		has_access = has_access || seen.items[i].kind == NOTIFY_ACCESS;
	assert_true(has_access);
	/* By one of them, once. */
	assert_int_equal(n, 1);
}

static void fails_closed(void **state)
{
	pid_t pid;
	struct watched w = watch(abandoned, &seen, &pid);
	struct pollfd p = { .fd = listener_fd(w.listener), .events = POLLIN };

	(void)state;
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	unwatch(&w);
	assert_int_equal(end_of(pid), 0);
}

static void ignore(int number)
{
	(void)number;
}

/* Signals a thousand times a second: calls may be broken off before they are looked at, but each
 * comes to an end, and most as if there were no signals. */
static int with_signals(void)
{
	const struct sigaction act = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	if (sigaction(SIGALRM, &act, NULL) < 0 || setitimer(ITIMER_REAL, &often, NULL) < 0)
		return 1;
	for (int i = 0; i < 5000; i++)
		if (access("/nowhere", F_OK) == 0 || errno != ENOENT)
			return 2;
	return 0;
}

static void takes_signals(void **state)
{
	(void)state;
	look_at(with_signals, &seen);
	assert_true(seen.n >= 5000);
}

/* A program that confines itself. What its own filter refuses is refused, and is not seen. */
static int with_own_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ROWS(code), code };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 1;
	if (syscall(SYS_mkdirat, AT_FDCWD, "/nowhere/a", 0700) == 0 || errno != EDOM)
		return 2;
	return access("/nowhere", F_OK) == 0 || errno != ENOENT;
}

static void takes_other_filters(void **state)
{
	(void)state;
	look_at(with_own_filter, &seen);
	assert_int_equal(seen.n, 1);
	is_seen(0, NOTIFY_ACCESS, "/nowhere");
}

static int crowd(void)
{
	int status, bad = 0;

	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int k = 0; k < 50; k++)
				if (access("/nowhere", F_OK) == 0 || errno != ENOENT)
					_exit(1);
			_exit(0);
		}
		bad += pid < 0;
	}
	while (wait(&status) > 0)
		bad += status != 0;
	return bad;
}

static void takes_a_crowd(void **state)
{
	(void)state;
	look_at(crowd, &seen);
	assert_int_equal(seen.n, 200 * 50);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_plain_calls),
		cmocka_unit_test(refuses_namespaces),
		cmocka_unit_test(sees_addresses),
		cmocka_unit_test(sees_programs),
		cmocka_unit_test(takes_broken_pointers),
		cmocka_unit_test(takes_long_names),
		cmocka_unit_test(takes_changing_memory),
		cmocka_unit_test(takes_an_end_under_way),
		cmocka_unit_test(takes_a_kill),
		cmocka_unit_test(is_shared),
		cmocka_unit_test(fails_closed),
		cmocka_unit_test(takes_signals),
		cmocka_unit_test(takes_other_filters),
		cmocka_unit_test(takes_a_crowd),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
