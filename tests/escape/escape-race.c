// SPDX-License-Identifier: Apache-2.0
/*
 * Races: between looking and using, a thread changes the name, the tree or the arguments. Each has
 * thousands of rounds and an end; bare, the first lucky round is enough. None of them relies on
 * winning: a sandbox that checks and uses the same object holds every round.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define ROUNDS 5000

/* A thread that does one of two things in turn until told to stop. */
struct flip {
	void (*turn)(struct flip *f, bool odd);
	char *one, *two;
	void *where;
	size_t n;
	atomic_bool stop;
	atomic_ulong turns;
	pthread_t thread;
};

static void *flip_loop(void *arg)
{
	struct flip *f = arg;

	for (bool odd = false; !atomic_load(&f->stop); odd = !odd) {
		f->turn(f, odd);
		atomic_fetch_add(&f->turns, 1);
	}
	return NULL;
}

static void flip_start(struct flip *f)
{
	if (pthread_create(&f->thread, NULL, flip_loop, f))
		broken("no thread");
	while (atomic_load(&f->turns) < 2)
		sched_yield();
}

static int flip_end(struct flip *f, int v)
{
	atomic_store(&f->stop, true);
	pthread_join(f->thread, NULL);
	if (v != ESCAPED)
		note("%d rounds, %lu turns", ROUNDS, atomic_load(&f->turns));
	return v;
}

/* -- arguments in memory -- */

static void flip_bytes(struct flip *f, bool odd)
{
	memcpy(f->where, odd ? f->one : f->two, f->n);
}

static struct flip *bytes(void *where, const void *one, const void *two, size_t n)
{
	struct flip *f = calloc(1, sizeof(*f));

	*f = (struct flip){
		.turn = flip_bytes, .one = (char *)one, .two = (char *)two, .where = where, .n = n
	};
	memcpy(where, one, n);
	flip_start(f);
	return f;
}

static char *padded(const char *text)
{
	char *p = calloc(1, 4096);

	snprintf(p, 4096, "%s", text);
	return p;
}

static struct flip *paths(char *buffer, const char *one, const char *two)
{
	return bytes(buffer, padded(one), padded(two), 256);
}

static bool quiet_canary(int fd)
{
	char data[128];
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (fd >= 0)
		close(fd);
	return n > 0 && has_canary(data, (size_t)n);
}

static const char *decoy(const struct attempt *a)
{
	make_file(work_file(a), "decoy\n");
	return work_file(a);
}

static int race_openat(const struct attempt *a)
{
	char *buffer = padded("");
	struct flip *f = paths(buffer, decoy(a), out_file(a));
	int v = HELD;

	for (int i = 0; i < ROUNDS && v == HELD; i++)
		if (quiet_canary(open(buffer, O_RDONLY)))
			v = verdict(0);
	return flip_end(f, v);
}

static int race_openat2(const struct attempt *a)
{
	struct open_how how = { 0 }, one = { .flags = O_RDONLY, .resolve = RESOLVE_BENEATH },
			two = { .flags = O_RDONLY };
	struct flip *f = bytes(&how, &one, &two, sizeof(how));
	const char *path = format("../out/%s", a->name);
	int v = HELD;

	for (int i = 0; i < ROUNDS && v == HELD; i++)
		if (quiet_canary((int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how))))
			v = verdict(0);
	return flip_end(f, v);
}

static int race_truncate(const struct attempt *a)
{
	char *buffer = padded("");
	struct flip *f = paths(buffer, decoy(a), ro_file(a));

	for (int i = 0; i < ROUNDS; i++)
		if (truncate(buffer, 0) < 0 && i == 0)
			note("%s", strerrorname_np(errno));
	return flip_end(f, DONE);
}

static int own_server(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0 || listen(fd, 128) < 0)
		broken("cannot listen on %s: %s", path, strerror(errno));
	return fd;
}

static int race_connect(const struct attempt *a)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int server = own_server("race.sock"), v = HELD;
	struct flip *f = bytes(
		un.sun_path, padded("race.sock"), padded("host-stream.sock"), sizeof(un.sun_path));

	(void)a;
	for (int i = 0; i < ROUNDS && v == HELD; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;

		if (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
			close(fd);
			continue;
		}
		peer = accept(server, NULL, NULL);
		if (peer >= 0)
			close(peer);
		if (quiet_canary(fd))
			v = verdict(0);
	}
	return flip_end(f, v);
}

static int race_sendto(const struct attempt *a)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const char *line = format("%s\n", a->name);
	struct flip *f = bytes(
		un.sun_path, padded("race-none.sock"), padded("host-dgram.sock"), sizeof(un.sun_path));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), n = 0;

	for (int i = 0; i < ROUNDS && n < 10; i++)
		n += sendto(fd, line, strlen(line), 0, (struct sockaddr *)&un, sizeof(un)) > 0;
	return flip_end(f, n ? DONE : HELD);
}

static int race_mount(const struct attempt *a)
{
	char *buffer = padded("");
	const char *point = format("%s.point", work_file(a));
	struct flip *f = paths(buffer, scene("ws"), scene("out"));
	int v = HELD;

	if (mkdir(point, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	for (int i = 0; i < ROUNDS && v == HELD; i++) {
		if (mount(buffer, point, NULL, MS_BIND, NULL) < 0)
			continue;
		if (quiet_canary(open(format("%s/%s", point, a->name), O_RDONLY)))
			v = verdict(0);
		umount2(point, MNT_DETACH);
	}
	return flip_end(f, v);
}

static int race_clone3(const struct attempt *a)
{
	struct clone_args args = { 0 }, one = { .exit_signal = SIGCHLD },
			  two = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	struct stat before, after;
	int v = HELD, status;
	struct flip *f;

	(void)a;
	if (stat("/proc/self/ns/user", &before) < 0)
		return verdict(-1);
	f = bytes(&args, &one, &two, sizeof(args));
	for (int i = 0; i < ROUNDS && v == HELD; i++) {
		long pid = syscall(SYS_clone3, &args, sizeof(args));

		if (pid == 0)
			_exit(stat("/proc/self/ns/user", &after) == 0 &&
						before.st_ino != after.st_ino
					? RAN
					: 0);
		if (pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WIFEXITED(status) &&
			WEXITSTATUS(status) == RAN)
			v = verdict(0);
	}
	return flip_end(f, v);
}

#define EXEC_ROUNDS 2000

static int exec_once(const char *path)
{
	char *argv[] = { (char *)"x", (char *)"--which", NULL };
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		execve(path, argv, environ);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* vfork shares the memory, so the flipping thread goes on while the kernel reads the path. */
static int race_execve(const struct attempt *a)
{
	char *buffer = padded("");
	const char *tools = scene("tools");
	struct flip *f =
		paths(buffer, format("%s/attempt", tools), format("%s/unlisted", tools));
	int v = HELD;

	(void)a;
	for (int i = 0; i < EXEC_ROUNDS && v == HELD; i++)
		if (exec_once(buffer) == RAN)
			v = verdict(0);
	return flip_end(f, v);
}

/* -- the tree -- */

static void flip_rename(struct flip *f, bool odd)
{
	(void)odd;
	renameat2(AT_FDCWD, f->one, AT_FDCWD, f->two, RENAME_EXCHANGE);
}

static struct flip *exchange(const char *one, const char *two)
{
	struct flip *f = calloc(1, sizeof(*f));

	*f = (struct flip){ .turn = flip_rename, .one = (char *)one, .two = (char *)two };
	flip_start(f);
	return f;
}

static int race_read(struct flip *f, const char *path)
{
	int v = HELD;

	for (int i = 0; i < ROUNDS && v == HELD; i++)
		if (quiet_canary(open(path, O_RDONLY)))
			v = verdict(0);
	return flip_end(f, v);
}

static int race_symlink(const struct attempt *a)
{
	const char *file = decoy(a), *link = format("%s.link", work_file(a));

	if (symlink(out_file(a), link) < 0)
		broken("symlink: %s", strerror(errno));
	return race_read(exchange(file, link), file);
}

static int race_folder(const struct attempt *a)
{
	const char *folder = work_file(a), *link = format("%s.link", folder);

	if (mkdir(folder, 0755) < 0 || symlink(scene("out"), link) < 0)
		broken("symlink: %s", strerror(errno));
	make_file(format("%s/%s", folder, a->name), "decoy\n");
	return race_read(exchange(folder, link), format("%s/%s", folder, a->name));
}

/* `..` of a folder that moves up while it is walked through. */
static int race_dotdot(const struct attempt *a)
{
	const char *deep = format("%s.d/a/b/c", work_file(a)), *top = format("%s.t", work_file(a));

	for (char *p = strchr(deep + strlen(work_file(a)), '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(deep, 0755);
		*p = '/';
	}
	if (mkdir(deep, 0755) < 0 || mkdir(top, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	/* From the deep place the file is not reached; from the top, two `..` are the parent of the
	 * workspace, whose neighbour it is. */
	return race_read(exchange(deep, top), format("%s/../../out/%s", deep, a->name));
}

static int race_write(const struct attempt *a)
{
	const char *file = decoy(a), *link = format("%s.link", work_file(a));
	struct flip *f;

	if (symlink(ro_file(a), link) < 0)
		broken("symlink: %s", strerror(errno));
	f = exchange(file, link);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open(file, O_WRONLY | O_TRUNC);

		if (fd >= 0)
			close(fd);
	}
	return flip_end(f, DONE);
}

/* A denied file whose folder is exchanged with another while it is read. */
static int race_denied(const struct attempt *a)
{
	const char *sub = format("sub-%s", a->name), *other = work_file(a);

	if (mkdir(other, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	make_file(format("%s/denied.txt", other), "decoy\n");
	return race_read(exchange(sub, other), format("%s/denied.txt", sub));
}

static int race_exec_link(const struct attempt *a)
{
	const char *tools = scene("tools"), *one = work_file(a), *two = format("%s.link", one);
	struct flip *f;
	int v = HELD;

	if (symlink(format("%s/attempt", tools), one) < 0 ||
		symlink(format("%s/unlisted", tools), two) < 0)
		broken("symlink: %s", strerror(errno));
	f = exchange(one, two);
	for (int i = 0; i < EXEC_ROUNDS && v == HELD; i++)
		if (exec_once(one) == RAN)
			v = verdict(0);
	return flip_end(f, v);
}

/*
 * The host's side of a race: while the sandbox is set up, a granted subfolder is exchanged with a
 * link to the folder outside, again and again, by the runner. Whatever is there at the end is read.
 */
static int host_swap(const struct attempt *a)
{
	int v = HELD;

	for (int i = 0; i < 50 && v == HELD; i++)
		if (quiet_canary(open(format("%s/%s", scene("swap"), a->name), O_RDONLY)))
			v = verdict(0);
	if (v == HELD)
		note("no canary");
	return v;
}

static const struct attempt table[] = {
	{ "race-open-path", "default", "", "the path changes between check and open", race_openat,
		NULL },
	{ "race-openat2-how", "default", "", "the flags in memory change between check and open",
		race_openat2, NULL },
	{ "race-truncate-path", "default", "", "the path changes between check and truncate",
		race_truncate, NULL },
	{ "race-connect-path", "default", "", "the address changes between check and connect",
		race_connect, NULL },
	{ "race-sendto-path", "default", "", "the address changes between check and sendto",
		race_sendto, NULL },
	{ "race-mount-source", "default", "SYS_ADMIN", "the source changes between check and mount",
		race_mount, NULL },
	{ "race-clone3-flags", "default", "", "the flags in memory change between check and clone3",
		race_clone3, NULL },
	{ "race-exec-path", "exec", "", "the path changes between check and execve", race_execve,
		NULL },
	{ "race-exec-link", "exec", "", "the link changes between check and execve", race_exec_link,
		NULL },
	{ "race-symlink", "default", "", "a file becomes a link between check and open", race_symlink,
		NULL },
	{ "race-symlink-write", "default", "", "a file becomes a link to a read-only one", race_write,
		NULL },
	{ "race-folder", "default", "", "a folder becomes a link between check and open", race_folder,
		NULL },
	{ "race-dotdot", "default", "", "a folder moves up while its `..` is walked", race_dotdot,
		NULL },
	{ "race-denied", "deny", "", "the folder of a denied file is exchanged while it is read",
		race_denied, NULL },
	{ "race-grant", "swap", "", "a granted folder becomes a link while the sandbox is set up",
		host_swap, NULL },
};
THEME(race, "Races", table);
