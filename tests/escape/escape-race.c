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
#define EXEC_ROUNDS 2000 /* a process each */

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

/*
 * Bare there is no check to race with, so it has to work whenever the thread's work is in the right
 * state. Where the rounds did not meet that by chance, it is tried once more in either state,
 * without the thread: luck decides nothing.
 */
static int race(struct flip *f, int rounds, bool (*once)(void *), void *arg)
{
	bool won = false;

	for (int i = 0; i < rounds && !won; i++)
		won = once(arg);
	atomic_store(&f->stop, true);
	pthread_join(f->thread, NULL);
	for (int i = 0; i < 2 && !won; i++) {
		f->turn(f, i);
		won = once(arg);
	}
	note("%d rounds, %lu turns", rounds, atomic_load(&f->turns));
	return won ? ESCAPED : HELD;
}

/* The same for what only the host can see. */
static int race_claim(struct flip *f, bool (*once)(void *), void *arg)
{
	return race(f, ROUNDS, once, arg) == ESCAPED ? DONE : HELD;
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

static bool shows_canary(int fd)
{
	char data[128];
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (fd >= 0)
		close(fd);
	return n > 0 && has_canary(data, (size_t)n);
}

static bool once_open(void *path)
{
	return shows_canary(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

static const char *decoy(const struct attempt *a)
{
	make_file(work_file(a), "decoy\n");
	return work_file(a);
}

static int race_openat(const struct attempt *a)
{
	char *buffer = padded("");

	return race(paths(buffer, decoy(a), out_file(a)), ROUNDS, once_open, buffer);
}

struct open_args {
	const char *path;
	struct open_how how;
};

static bool once_openat2(void *arg)
{
	struct open_args *o = arg;

	return shows_canary((int)syscall(SYS_openat2, AT_FDCWD, o->path, &o->how, sizeof(o->how)));
}

static int race_openat2(const struct attempt *a)
{
	const struct open_how one = { .flags = O_RDONLY, .resolve = RESOLVE_BENEATH },
			      two = { .flags = O_RDONLY };
	struct open_args o = { .path = format("../out/%s", a->name) };

	return race(bytes(&o.how, &one, &two, sizeof(one)), ROUNDS, once_openat2, &o);
}

/* The decoy can be truncated, so success says nothing: the loop goes on, the host looks. */
static bool once_truncate(void *path)
{
	return truncate(path, 0) < 0 && errno == EINVAL;
}

static int race_truncate(const struct attempt *a)
{
	char *buffer = padded("");

	race(paths(buffer, decoy(a), ro_file(a)), ROUNDS, once_truncate, buffer);
	return DONE;
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

struct socket_args {
	struct sockaddr_un un;
	int fd;
	const char *line;
};

static bool once_connect(void *arg)
{
	struct socket_args *s = arg;
	int peer, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&s->un, sizeof(s->un)) < 0) {
		close(fd);
		return false;
	}
	peer = accept(s->fd, NULL, NULL);
	if (peer >= 0)
		close(peer);
	return shows_canary(fd);
}

static int race_connect(const struct attempt *a)
{
	struct socket_args s = { .un = { .sun_family = AF_UNIX }, .fd = own_server("race.sock") };

	(void)a;
	return race(bytes(s.un.sun_path, padded("race.sock"), padded("host-stream.sock"),
			    sizeof(s.un.sun_path)),
		ROUNDS, once_connect, &s);
}

static bool once_sendto(void *arg)
{
	struct socket_args *s = arg;

	return sendto(s->fd, s->line, strlen(s->line), MSG_DONTWAIT, (struct sockaddr *)&s->un,
		       sizeof(s->un)) > 0;
}

static int race_sendto(const struct attempt *a)
{
	struct socket_args s = { .un = { .sun_family = AF_UNIX }, .line = format("%s\n", a->name) };

	s.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return race_claim(bytes(s.un.sun_path, padded("race-none.sock"), padded("host-dgram.sock"),
				  sizeof(s.un.sun_path)),
		once_sendto, &s);
}

struct mount_args {
	char *source;
	const char *point, *file;
};

static bool once_mount(void *arg)
{
	struct mount_args *m = arg;
	bool won;

	if (mount(m->source, m->point, NULL, MS_BIND, NULL) < 0)
		return false;
	won = shows_canary(open(m->file, O_RDONLY));
	umount2(m->point, MNT_DETACH);
	return won;
}

static int race_mount(const struct attempt *a)
{
	struct mount_args m = { .source = padded(""), .point = format("%s.point", work_file(a)) };

	m.file = format("%s/%s", m.point, a->name);
	if (mkdir(m.point, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	return race(paths(m.source, scene("ws"), scene("out")), ROUNDS, once_mount, &m);
}

struct clone_race {
	struct clone_args args;
	ino_t mine;
};

static bool once_clone3(void *arg)
{
	struct clone_race *c = arg;
	struct stat st;
	int status;
	long pid = syscall(SYS_clone3, &c->args, sizeof(c->args));

	if (pid == 0)
		_exit(stat("/proc/self/ns/user", &st) == 0 && st.st_ino != c->mine ? RAN : 0);
	return pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == RAN;
}

static int race_clone3(const struct attempt *a)
{
	const struct clone_args one = { .exit_signal = SIGCHLD },
				two = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	struct clone_race c = { 0 };
	struct stat st;

	(void)a;
	if (stat("/proc/self/ns/user", &st) < 0)
		return verdict(-1);
	c.mine = st.st_ino;
	return race(bytes(&c.args, &one, &two, sizeof(one)), EXEC_ROUNDS, once_clone3, &c);
}

/* vfork shares the memory, so the thread goes on while the kernel reads the path. */
static bool once_exec(void *path)
{
	char *argv[] = { (char *)"x", (char *)"--which", NULL };
	int status;
	pid_t pid = vfork(); /* NOLINT: that it shares memory is the point */

	if (pid == 0) {
		execve(path, argv, environ);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == RAN;
}

static int race_execve(const struct attempt *a)
{
	char *buffer = padded("");
	const char *tools = scene("tools");

	(void)a;
	return race(paths(buffer, format("%s/attempt", tools), format("%s/unlisted", tools)),
		EXEC_ROUNDS, once_exec, buffer);
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

static int race_symlink(const struct attempt *a)
{
	const char *file = decoy(a), *link = format("%s.link", work_file(a));

	if (symlink(out_file(a), link) < 0)
		broken("symlink: %s", strerror(errno));
	return race(exchange(file, link), ROUNDS, once_open, (void *)file);
}

static int race_folder(const struct attempt *a)
{
	const char *folder = work_file(a), *link = format("%s.link", folder);
	char *file = format("%s/%s", folder, a->name);

	if (mkdir(folder, 0755) < 0 || symlink(scene("out"), link) < 0)
		broken("symlink: %s", strerror(errno));
	make_file(file, "decoy\n");
	return race(exchange(folder, link), ROUNDS, once_open, file);
}

/*
 * `..` of a folder that moves up while it is walked: from the deep place nothing is reached, but
 * from the top the two `..` are the workspace's parent.
 */
static int race_dotdot(const struct attempt *a)
{
	const char *base = work_file(a), *top = format("%s.top", base);
	const char *deep = format("%s/a/b/c", base);

	if (mkdir(base, 0755) < 0 || mkdir(format("%s/a", base), 0755) < 0 ||
		mkdir(format("%s/a/b", base), 0755) < 0 || mkdir(deep, 0755) < 0 ||
		mkdir(top, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	return race(
		exchange(deep, top), ROUNDS, once_open, format("%s/../../out/%s", deep, a->name));
}

/* The decoy can be opened for writing, so success says nothing: the host looks. */
static bool once_write(void *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return false;
}

static int race_write(const struct attempt *a)
{
	const char *file = decoy(a), *link = format("%s.link", work_file(a));

	if (symlink(ro_file(a), link) < 0)
		broken("symlink: %s", strerror(errno));
	race(exchange(file, link), ROUNDS, once_write, (void *)file);
	return DONE;
}

/* A denied file whose folder is exchanged with another while it is read. */
static int race_denied(const struct attempt *a)
{
	const char *sub = format("sub-%s", a->name), *other = work_file(a);

	if (mkdir(other, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	make_file(format("%s/denied.txt", other), "decoy\n");
	return race(exchange(sub, other), ROUNDS, once_open, format("%s/denied.txt", sub));
}

static int race_exec_link(const struct attempt *a)
{
	const char *tools = scene("tools"), *one = work_file(a), *two = format("%s.link", one);

	if (symlink(format("%s/attempt", tools), one) < 0 ||
		symlink(format("%s/unlisted", tools), two) < 0)
		broken("symlink: %s", strerror(errno));
	return race(exchange(one, two), EXEC_ROUNDS, once_exec, (void *)one);
}

/*
 * The host's side of a race: while the sandbox is set up, a granted subfolder is exchanged with a
 * link to the folder outside, again and again, by the runner. The folder it is in may be written by
 * the command, so another command could have done it: such a link grants nothing.
 */
static int host_swap(const struct attempt *a)
{
	char *path = format("%s/%s", scene("swap"), a->name);
	bool won = false;

	for (int i = 0; i < ROUNDS && !won; i++)
		won = once_open(path);
	note(won ? "saw the canary" : "no canary");
	return won ? ESCAPED : HELD;
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
	{ "race-symlink", "default", "", "a file becomes a link between check and open",
		race_symlink, NULL },
	{ "race-symlink-write", "default", "", "a file becomes a link to a read-only one",
		race_write, NULL },
	{ "race-folder", "default", "", "a folder becomes a link between check and open",
		race_folder, NULL },
	{ "race-dotdot", "default", "kernel: nothing but luck shows it bare",
		"a folder moves up while its `..` is walked", race_dotdot, NULL },
	{ "race-denied", "deny", "", "the folder of a denied file is exchanged while it is read",
		race_denied, NULL },
	{ "race-grant", "swap", "", "a granted folder becomes a link while the sandbox is set up",
		host_swap, NULL },
};
THEME(race, "Races", table);
