/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "jail/confine.h"
#include "jail/notify.h"
#include "jail/limits/rlimits.h"
#include "wire/frame.h"

/* Shared with the child, which runs in our memory until it becomes the program. */
struct attempt {
	const struct spawn *spawn;
	int error;
	enum spawn_step step;
};

/* Arguments of a script without "#!", which the stack has to hold. */
enum { FALLBACK_WORDS = 1024 };

/* Like execvp(): what has no "#!" line and no format that the kernel knows is for the shell. */
static int run_file(const struct start *s, const char *path)
{
	const char *words[FALLBACK_WORDS + 3];
	int r;

	(void)execve(path, (char *const *)s->argv, (char *const *)s->env);
	r = -errno;
	if (r != -ENOEXEC || s->n_argv > FALLBACK_WORDS)
		return r;
	words[0] = "/bin/sh";
	words[1] = path;
	for (size_t i = 1; i <= s->n_argv; i++)
		words[i + 1] = s->argv[i];
	(void)execve(words[0], (char *const *)words, (char *const *)s->env);
	return r;
}

/* Returns only if there is no such program: the most telling error of all folders. */
static int run_program(const struct start *s)
{
	const char *folders = "/usr/local/bin:/usr/bin:/bin";
	char path[PATH_BYTES];
	int worst = -ENOENT;

	if (strchr(s->program, '/'))
		return run_file(s, s->program);
	for (size_t i = s->n_env; i-- > 0;)
		if (strncmp(s->env[i], "PATH=", 5) == 0)
			folders = s->env[i] + 5;
	for (const char *p = folders; *p;) {
		size_t len = strcspn(p, ":");
		int r = -ENOENT;

		/* An empty folder means the current one to some; here it means nothing. */
		if (len > 0 && len + 1 + strlen(s->program) < sizeof(path)) {
			(void)snprintf(path, sizeof(path), "%.*s/%s", (int)len, p, s->program);
			r = run_file(s, path);
		}
		if (r != -ENOENT && r != -ENOTDIR)
			worst = r;
		p += len + (p[len] == ':');
	}
	return worst;
}

int spawn_terminal(const struct start *s, int *ret_master, int *ret_slave)
{
	const struct winsize size = { .ws_row = s->rows, .ws_col = s->columns };
	struct termios settings;
	int unlock = 0;
	auto_fd master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	auto_fd slave = -1;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
		return -errno;
	/* So that erasing a character erases all its bytes. */
	if (tcgetattr(slave, &settings) == 0) {
		settings.c_iflag |= IUTF8;
		(void)tcsetattr(slave, TCSANOW, &settings);
	}
	*ret_master = fd_take(&master);
	*ret_slave = fd_take(&slave);
	return 0;
}

/* A session of its own, or a group of ours that has the terminal. */
static int spawn_lead(const struct spawn *l)
{
	sigset_t output;

	if (!l->is_job)
		return setsid() < 0 ? -errno : 0;
	/* Not yet in the foreground, it would be stopped for what it does. */
	(void)sigemptyset(&output);
	(void)sigaddset(&output, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &output, NULL);
	if (setpgid(0, 0) < 0 || tcsetpgrp(l->stdio[0], getpid()) < 0)
		return -errno;
	(void)sigprocmask(SIG_UNBLOCK, &output, NULL);
	return 0;
}

static void spawn_ignore(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		int number;
	} rows[] = {
		{ START_IGNORE_HUP, SIGHUP },
		{ START_IGNORE_INT, SIGINT },
		{ START_IGNORE_QUIT, SIGQUIT },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (flags & rows[i].flag)
			(void)signal(rows[i].number, SIG_IGN);
	}
}

static int spawn_prepare(struct attempt *a)
{
	const struct spawn *l = a->spawn;
	int r;

	a->step = SPAWN_SETUP;
	r = spawn_lead(l);
	if (r < 0)
		return r;
	for (int i = 0; i < 3; i++)
		if (dup2(l->stdio[i], i) < 0)
			return -errno;
	if (l->start->flags & START_TTY && !l->is_job && ioctl(0, TIOCSCTTY, 0) < 0)
		return -errno;
	spawn_ignore(l->start->flags);
	/* One that is tied to the warden is not confined. */
	r = l->tied ? 0 : rlimits_keep_room();
	if (r == 0)
		r = rlimits_apply(l->start);
	if (r == 0 && l->tied && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		r = -errno;
	/* Whoever listens is outside: nothing of this is left in here when the program starts. From
	 * here on calls that name files wait to be looked at. The last wall forbids to ask for it.
	 */
	if (r == 0 && l->witness >= 0) {
		auto_fd listener = notify_install();

		r = listener < 0
			    ? listener
			    : frame_send(l->witness, FRAME_WITNESS, l->id, NULL, 0, &listener, 1);
	}
	if (r == 0 && l->rules >= 0)
		r = confine_enter(l->rules, l->witness >= 0);
	if (r == 0 && syscall(SYS_close_range, 3U, ~0U, 0U) < 0)
		r = -errno;
	if (r < 0)
		return r;
	a->step = SPAWN_CWD;
	return chdir(l->start->cwd) < 0 ? -errno : 0;
}

static int child(void *data)
{
	struct attempt *a = data;
	sigset_t none;

	/* SIGCHLD is blocked out here; a program starts with nothing blocked. */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	a->error = spawn_prepare(a);
	if (a->error == 0) {
		a->step = SPAWN_RUN;
		a->error = run_program(a->spawn->start);
	}
	_exit(127);
}

/*
 * Only there in a build with AddressSanitizer. It keeps notes of what is on a stack, and a child
 * that became a program never took back those of its functions: the next would stumble over them.
 */
void __asan_unpoison_memory_region(const volatile void *memory, size_t size) __attribute__((weak));

/*
 * As vfork(), but the child has a stack of its own: with one stack for both, what the compiler
 * believes about the variables of a function that returns twice is a matter of luck.
 */
int spawn_program(const struct spawn *l, pid_t *ret, enum spawn_step *ret_step)
{
	static _Alignas(16) char stack[128 << 10];
	struct attempt a = { .spawn = l };
	pid_t pid;

	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region(stack, sizeof(stack));
	pid = clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &a);
	if (pid < 0) {
		*ret_step = SPAWN_SETUP;
		return -errno;
	}
	if (a.error < 0) {
		*ret_step = a.step;
		(void)waitpid(pid, NULL, 0);
		return a.error;
	}
	*ret = pid;
	return 0;
}

pid_t spawn_confined(int rules, void (*run)(void *data), void *data)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid != 0)
		return pid < 0 ? -errno : pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
		(rules < 0 || confine_enter(rules, false) == 0))
		run(data);
	_exit(1);
}

int spawn_refuse(const struct start *s, int error, enum spawn_step step, const char *folder,
	struct buffer *out)
{
	char text[512];
	const struct refusal refusal = { .error = -error, .text = text, .hint = "" };

	if (step == SPAWN_CWD)
		(void)snprintf(text, sizeof(text), "the folder %s %s: %s", s->cwd, folder,
			strerror(-error));
	else if (step == SPAWN_RUN)
		(void)snprintf(
			text, sizeof(text), "%s cannot be run: %s", s->program, strerror(-error));
	else
		(void)snprintf(
			text, sizeof(text), "the command cannot be set up: %s", strerror(-error));
	return refusal_encode(&refusal, out);
}

static uint64_t spawn_us(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

void spawn_count(struct report *to, const struct rusage *used)
{
	uint64_t peak = (uint64_t)used->ru_maxrss * 1024;

	to->user_us += spawn_us(&used->ru_utime);
	to->system_us += spawn_us(&used->ru_stime);
	to->peak_bytes = peak > to->peak_bytes ? peak : to->peak_bytes;
}

void spawn_end(struct report *to, int status, uint64_t began_ns)
{
	if (WIFSIGNALED(status))
		to->signal = WTERMSIG(status);
	else
		to->exit_code = WEXITSTATUS(status);
	to->wall_us = (clock_ns(CLOCK_MONOTONIC) - began_ns) / 1000;
}
