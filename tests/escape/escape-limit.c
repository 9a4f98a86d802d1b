// SPDX-License-Identifier: Apache-2.0
/*
 * Bombs, and processes that outlive their command. Each is bounded: bare it takes a few hundred
 * processes or megabytes and gives them back. Some of them end with the command being killed, which
 * the runner takes for "held".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define PROCESSES 300      /* the limit is 32 */
#define BYTES (256L << 20) /* the limit is 64 MB */
#define OUTPUT (16L << 20) /* the limit is 1 MB */
#define SECONDS 2          /* the limit is 1 */
#define PATIENCE 10        /* for who enforces a limit, and may not run at once */

/* A limit that is held by looking now and then gets the time to look: what counts is what lasts. */
static void hold(void)
{
	if (is_inside())
		poll(NULL, 0, PATIENCE * 1000);
}

/* -- processes -- */

static int fork_many(int most)
{
	pid_t *pids = calloc((size_t)most, sizeof(*pids));
	int n = 0, error = 0;

	if (!pids)
		broken("%s", strerror(errno));
	for (; n < most; n++) {
		pids[n] = fork();
		if (pids[n] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (pids[n] < 0) {
			error = errno;
			break;
		}
	}
	if (n == most)
		hold();
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	free(pids);
	note("%d processes, then %s", n, error ? strerrorname_np(error) : "enough");
	return n == most ? ESCAPED : HELD;
}

static int fork_bomb(const struct attempt *a)
{
	(void)a;
	return fork_many(PROCESSES);
}

/* Where no limit was asked for: more than the built-in profiles let there be on this machine. */
static int fork_bomb_default(const struct attempt *a)
{
	cpu_set_t set;

	(void)a;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		broken("%s", strerror(errno));
	return fork_many(1024 + 64 * CPU_COUNT(&set) + 300);
}

static void *idle(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static int thread_bomb(const struct attempt *a)
{
	pthread_attr_t attr;
	int n = 0;

	(void)a;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (pthread_t t; n < PROCESSES && pthread_create(&t, &attr, idle, NULL) == 0; n++)
		;
	if (n == PROCESSES)
		hold();
	note("%d threads", n);
	return n == PROCESSES ? ESCAPED : HELD;
}

/* Orphans have no parent of ours, but are still processes. */
static int orphan_bomb(const struct attempt *a)
{
	volatile int *count =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int life[2], status, made = 0;

	(void)a;
	if (count == MAP_FAILED || pipe(life) < 0)
		broken("%s", strerror(errno));
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char byte;

			setsid();
			pid = fork();
			if (pid != 0)
				_exit(pid < 0);
			close(life[1]);
			__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
			if (read(life[0], &byte, 1) <= 0) /* until the pipe's last writer is gone */
				_exit(0);
		}
		made += pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
	}
	/* Each that was made counts itself when it runs. */
	for (int i = PATIENCE * 1000; i > 0 && made == PROCESSES && *count < PROCESSES; i--)
		poll(NULL, 0, 1);
	if (*count == PROCESSES)
		hold();
	note("%d orphans, %d of them run", made, *count);
	return *count == PROCESSES ? ESCAPED : HELD;
}

/* -- memory -- */

static int touch(char *p, long n)
{
	if (p == MAP_FAILED)
		return verdict(-1);
	for (long i = 0; i < n; i += 4096)
		((volatile char *)p)[i] = 1;
	hold();
	return verdict(0);
}

static int memory_private(const struct attempt *a)
{
	(void)a;
	return touch(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		BYTES);
}

static int memory_shared(const struct attempt *a)
{
	(void)a;
	return touch(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		BYTES);
}

static int memory_memfd(const struct attempt *a)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	(void)a;
	if (fd < 0 || fallocate(fd, 0, 0, BYTES) < 0)
		return verdict(-1);
	hold();
	return verdict(0);
}

static int memory_sysv(const struct attempt *a)
{
	int v, id = shmget(IPC_PRIVATE, BYTES, 0600);
	char *p;

	(void)a;
	if (id < 0)
		return verdict(-1);
	p = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	v = p == (void *)-1 ? verdict(-1) : touch(p, BYTES);
	return v;
}

/* A part is written and taken from the address space again: the pages stay, and no process has
 * them. */
static void write_dropping(char *p)
{
	enum { PART = 16 << 20 };

	for (long at = 0; at < BYTES; at += PART) {
		memset(p + at, 1, PART);
		madvise(p + at, PART, MADV_DONTNEED);
	}
}

static int memory_shared_dropped(const struct attempt *a)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)a;
	if (p == MAP_FAILED)
		return verdict(-1);
	write_dropping(p);
	hold();
	return verdict(0);
}

/* A descriptor in a message belongs to no process. */
static int memory_memfd_sent(const struct attempt *a)
{
	enum { N = 16 };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2];

	(void)a;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		broken("%s", strerror(errno));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	for (int i = 0; i < N; i++) {
		int fd = memfd_create("x", MFD_CLOEXEC);

		if (fd < 0 || fallocate(fd, 0, 0, BYTES / N) < 0)
			return verdict(-1);
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		if (sendmsg(pair[0], &m, 0) < 0)
			return verdict(-1);
		close(fd);
	}
	hold();
	return verdict(0);
}

/* Attached by no process, but still there. */
static int memory_sysv_detached(const struct attempt *a)
{
	int v, id = shmget(IPC_PRIVATE, BYTES, 0600);
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	(void)a;
	if (p == (void *)-1)
		return verdict(-1);
	write_dropping(p);
	shmdt(p);
	hold();
	v = verdict(0);
	shmctl(id, IPC_RMID, NULL);
	return v;
}

/* Many of them, each small. */
static int memory_sysv_many(const struct attempt *a)
{
	enum { N = 256 };
	int v = ESCAPED, ids[N], n = 0;

	(void)a;
	for (; n < N; n++) {
		char *p;

		ids[n] = shmget(IPC_PRIVATE, BYTES / N, 0600);
		p = ids[n] < 0 ? (void *)-1 : shmat(ids[n], NULL, 0);
		if (p == (void *)-1)
			break;
		memset(p, 1, BYTES / N);
		shmdt(p);
	}
	if (n < N)
		v = verdict(-1);
	else
		hold();
	for (int i = 0; i < n; i++)
		shmctl(ids[i], IPC_RMID, NULL);
	return v == ESCAPED ? verdict(0) : v;
}

/* The kernel's own memory, for messages that no process fetches. */
static int memory_messages(const struct attempt *a)
{
	static struct {
		long type;
		char text[8192];
	} message = { .type = 1 };
	enum { N = 16384 };
	static int ids[N];
	long sent = 0;
	int n = 0;

	(void)a;
	for (; n < N && sent < BYTES; n++) {
		ids[n] = msgget(IPC_PRIVATE, 0600);
		if (ids[n] < 0)
			break;
		while (msgsnd(ids[n], &message, sizeof(message.text), IPC_NOWAIT) == 0)
			sent += (long)sizeof(message.text);
	}
	if (sent >= BYTES)
		hold();
	for (int i = 0; i < n; i++)
		msgctl(ids[i], IPC_RMID, NULL);
	note("%ld MB in %d queues", sent >> 20, n);
	return sent >= BYTES ? ESCAPED : HELD;
}

/* And for semaphores, some 64 bytes each. */
static int memory_semaphores(const struct attempt *a)
{
	enum { EACH = 32000, N = BYTES / 64 / EACH };
	int ids[N], n = 0;

	(void)a;
	while (n < N && (ids[n] = semget(IPC_PRIVATE, EACH, 0600)) >= 0)
		n++;
	if (n == N)
		hold();
	for (int i = 0; i < n; i++)
		semctl(ids[i], 0, IPC_RMID);
	note("%d sets", n);
	return n == N ? ESCAPED : HELD;
}

/* Held by a process that has it open a hundred times: it is there once. */
static int memory_memfd_passed(const struct attempt *a)
{
	int fd = memfd_create("x", MFD_CLOEXEC), done[2];
	pid_t pid;
	char byte;

	(void)a;
	if (fd < 0 || pipe(done) < 0 || (pid = fork()) < 0)
		broken("%s", strerror(errno));
	if (pid == 0) {
		close(done[1]);
		if (read(done[0], &byte, 1) >= 0) /* until we are gone */
			_exit(0);
	}
	for (int i = 0; i < 100; i++)
		dup(fd);
	if (fallocate(fd, 0, 0, BYTES) < 0)
		return verdict(-1);
	hold();
	return verdict(0);
}

static int fill(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR, 0600);

	if (fd < 0 || fallocate(fd, 0, 0, BYTES) < 0)
		return verdict(-1);
	hold();
	return verdict(0);
}

/* The folder's memory belongs to no process: something else has to count it. */
static int memory_shm_folder(const struct attempt *a)
{
	(void)a;
	return fill("/dev/shm");
}

static int memory_tmp_folder(const struct attempt *a)
{
	(void)a;
	return fill("/tmp");
}

static int memory_home_folder(const struct attempt *a)
{
	const char *home = getenv("HOME");

	(void)a;
	return home ? fill(home) : HELD;
}

/* Each of them is below the limit. They hold it until all have it. */
static int memory_tree(const struct attempt *a)
{
	enum { N = 8 };
	int done[2], go[2], n = 0;
	char byte;

	(void)a;
	if (pipe(done) < 0 || pipe(go) < 0)
		broken("pipe: %s", strerror(errno));
	for (int i = 0; i < N; i++)
		if (fork() == 0) {
			close(done[0]);
			close(go[1]);
			touch(mmap(NULL, BYTES / N, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				BYTES / N);
			if (write(done[1], "x", 1) == 1 && read(go[0], &byte, 1) >= 0)
				_exit(0);
		}
	close(done[1]);
	while (n < N && read(done[0], &byte, 1) == 1)
		n++;
	hold();
	close(go[1]);
	int alive = 0, status;
	while (wait(&status) > 0)
		alive += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	note("%d of %d had their memory", alive, N);
	return alive == N ? ESCAPED : HELD;
}

/* -- output and time -- */

static int flood(const struct attempt *a)
{
	static char block[65536];
	int fd = *(const int *)a->arg;

	signal(SIGPIPE, SIG_DFL);
	memset(block, 'x', sizeof(block));
	for (long n = 0; n < OUTPUT; n += (long)sizeof(block))
		if (write(fd, block, sizeof(block)) < 0)
			return verdict(-1);
	return claim(0);
}

static void be_deaf(void)
{
	for (int i = 1; i < 65; i++)
		signal(i, SIG_IGN);
	setsid();
}

static int seconds(void)
{
	return is_inside() ? PATIENCE : SECONDS;
}

static int linger(void)
{
	for (int i = seconds() * 100; i > 0; i--)
		poll(NULL, 0, 10);
	return verdict(0);
}

static int sleep_long(const struct attempt *a)
{
	(void)a;
	return linger();
}

static int sleep_deaf(const struct attempt *a)
{
	(void)a;
	be_deaf();
	return linger();
}

static int spin(const struct attempt *a)
{
	time_t end = time(NULL) + seconds();

	(void)a;
	while (time(NULL) <= end)
		;
	return verdict(0);
}

/* -- outliving: the daemon holds a lock that the runner asks for after the end -- */

static _Noreturn void daemon_body(const struct attempt *a, int ready)
{
	int fd = open(work_file(a), O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	alarm(0); /* the time limit of the attempt is not the daemon's */
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (fd < 0 || flock(fd, LOCK_EX) < 0 || dprintf(fd, "%d", getpid()) < 0 ||
		write(ready, "x", 1) != 1)
		_exit(1);
	close(ready);
	for (int i = 0; i < 2400; i++)
		poll(NULL, 0, 100);
	_exit(0);
}

static int wait_ready(int fd[2])
{
	char byte;

	close(fd[1]);
	return claim(read(fd[0], &byte, 1) == 1 ? 0 : -1);
}

static int daemonise(const struct attempt *a)
{
	int ready[2];
	pid_t pid;

	if (pipe(ready) < 0 || (pid = fork()) < 0)
		broken("fork: %s", strerror(errno));
	if (pid == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		for (int i = 0; i < 3; i++)
			dup2(open("/dev/null", O_RDWR), i);
		daemon_body(a, ready[1]);
	}
	return wait_ready(ready);
}

/* Keeps the output open, so that whoever waits for its end waits for the daemon. */
static int nohup(const struct attempt *a)
{
	int ready[2];
	pid_t pid;

	if (pipe(ready) < 0 || (pid = fork()) < 0)
		broken("fork: %s", strerror(errno));
	if (pid == 0)
		daemon_body(a, ready[1]);
	return wait_ready(ready);
}

static int stopped(const struct attempt *a)
{
	int v = nohup(a);

	signal(SIGSTOP, SIG_DFL);
	kill(0, SIGCONT);
	return v;
}

static int clone_parent(const struct attempt *a)
{
	int ready[2];
	long pid;

	if (pipe(ready) < 0)
		broken("pipe: %s", strerror(errno));
	pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return verdict(-1);
	if (pid == 0) {
		setsid();
		daemon_body(a, ready[1]);
	}
	return wait_ready(ready);
}

static int daemon_timeout(const struct attempt *a)
{
	int v = daemonise(a);

	linger();
	return v;
}

static int subreaper(const struct attempt *a)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return daemonise(a);
}

/* -- the rest -- */

static int crash(void *arg)
{
	(void)arg;
	signal(SIGABRT, SIG_DFL);
	abort();
}

static int core_dump(const struct attempt *a)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit now;
	pid_t pid;
	int status;

	(void)a;
	if (setrlimit(RLIMIT_CORE, &all) < 0) {
		getrlimit(RLIMIT_CORE, &now);
		now.rlim_cur = now.rlim_max;
		setrlimit(RLIMIT_CORE, &now);
	}
	pid = fork();
	if (pid == 0)
		_exit(crash(NULL));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		broken("fork: %s", strerror(errno));
	note("%s", WCOREDUMP(status) ? "a core was written" : "no core");
	return WCOREDUMP(status) ? ESCAPED : HELD;
}

/* Names cost memory of the kernel, without a byte in the files. */
static int inodes(const struct attempt *a)
{
	enum { MANY = 100000 };
	const char *folder = format("%s/corral-%s-%d", (const char *)a->arg, a->name, getpid());
	char path[4200];
	int n = 0, fd;

	if (mkdirat(AT_FDCWD, folder, 0755) < 0)
		broken("mkdir %s: %s", folder, strerror(errno));
	for (; n < MANY; n++) {
		snprintf(path, sizeof(path), "%s/%d", folder, n);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	note("%d files, then %s", n, n < MANY ? strerrorname_np(errno) : "enough");
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		unlink(path);
	}
	rmdir(folder);
	return n == MANY ? ESCAPED : HELD;
}

static const int fd_out = 1, fd_err = 2;

/* -- what is counted for the user or the machine -- */

#define TERMINALS 1000 /* of 3,072; the limit is 256 */
#define WATCHERS 80    /* of 128; the limit is 64 */

static int take_many(int most, int (*take)(void))
{
	struct rlimit files;
	int n = 0;

	/* All are closed when this process ends. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	while (n < most && take() >= 0)
		n++;
	note("%d, %s", n, strerror(errno));
	return n == most ? ESCAPED : HELD;
}

static int take_terminal(void)
{
	return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int take_terminals(const struct attempt *a)
{
	(void)a;
	return take_many(TERMINALS, take_terminal);
}

static int take_watcher(void)
{
	return inotify_init1(IN_CLOEXEC);
}

static int take_watchers(const struct attempt *a)
{
	(void)a;
	return take_many(WATCHERS, take_watcher);
}

static const struct attempt table[] = {
	{ "limit-fork", "pids", "", "more processes than granted", fork_bomb, NULL },
	{ "limit-fork-default", "limits", "", "the built-in profiles limit no processes",
		fork_bomb_default, NULL },
	{ "limit-threads", "pids", "", "threads are not counted", thread_bomb, NULL },
	{ "limit-orphans", "pids", "", "orphans are not counted", orphan_bomb, NULL },
	{ "limit-memory", "memory", "", "more memory than granted", memory_private, NULL },
	{ "limit-memory-shared", "memory", "", "shared memory is not counted", memory_shared,
		NULL },
	{ "limit-memory-memfd", "memory", "", "a memfd is not counted", memory_memfd, NULL },
	{ "limit-memory-sysv", "memory", "", "SysV shared memory is not counted", memory_sysv,
		NULL },
	{ "limit-memory-shared-dropped", "memory", "",
		"shared pages that no process maps are not counted", memory_shared_dropped, NULL },
	{ "limit-memory-memfd-sent", "memory", "",
		"a memfd on its way through a socket is not counted", memory_memfd_sent, NULL },
	{ "limit-memory-sysv-detached", "memory", "",
		"a segment that nobody has attached is not counted", memory_sysv_detached, NULL },
	{ "limit-memory-sysv-many", "memory", "", "many small ones are not", memory_sysv_many,
		NULL },
	{ "limit-memory-messages", "memory", "",
		"SysV messages that nobody fetches are not counted", memory_messages, NULL },
	{ "limit-memory-semaphores", "memory", "", "SysV semaphores are not counted",
		memory_semaphores, NULL },
	{ "limit-memory-memfd-passed", "memory", "",
		"a memfd that two processes have is not counted", memory_memfd_passed, NULL },
	{ "limit-memory-shm", "memory", "", "/dev/shm is not counted", memory_shm_folder, NULL },
	{ "limit-memory-tmp", "memory", "kernel: bare, the folder is on a disk",
		"the private /tmp is not counted", memory_tmp_folder, NULL },
	{ "limit-memory-home", "memory", "kernel: bare, the folder is on a disk",
		"the private HOME is not counted", memory_home_folder, NULL },
	{ "limit-memory-tree", "memory", "",
		"each process is below the limit, all together are not", memory_tree, NULL },
	{ "limit-output", "output", "", "more output than granted", flood, &fd_out },
	{ "limit-output-error", "output", "", "standard error is not counted", flood, &fd_err },
	{ "limit-time", "timeout", "", "more time than granted", sleep_long, NULL },
	{ "limit-time-deaf", "timeout", "", "signals can be ignored", sleep_deaf, NULL },
	{ "limit-time-spin", "timeout", "", "a busy loop hears nothing", spin, NULL },
	{ "limit-time-daemon", "timeout", "", "a daemon outlives the time limit", daemon_timeout,
		NULL },
	{ "daemon-fork", "daemon", "", "a daemon outlives its command", daemonise, NULL },
	{ "daemon-nohup", "daemon", "", "a child that ignores SIGHUP outlives its command", nohup,
		NULL },
	{ "daemon-continue", "daemon", "", "so does one that others tried to stop", stopped, NULL },
	{ "daemon-clone-parent", "daemon", "", "a child that is its parent's sibling is overlooked",
		clone_parent, NULL },
	{ "daemon-subreaper", "daemon", "", "a subreaper of one's own hides orphans", subreaper,
		NULL },
	{ "core-dump", "default", "", "a core is written, or handed to a program of the host",
		core_dump, NULL },
	{ "share-terminals", "default", "", "a sandbox takes a third of the machine's terminals",
		take_terminals, NULL },
	{ "share-inotify", "default", "", "it takes most inotify instances of its user",
		take_watchers, NULL },
	{ "limit-inodes-shm", "inodes", "", "files without a byte use up the kernel's memory",
		inodes, "/dev/shm" },
	{ "limit-inodes-tmp", "inodes", "kernel: bare, the folder is on a disk",
		"the same in the private /tmp", inodes, "/tmp" },
};
THEME(limit, "Limits, and what outlives a command", table);
