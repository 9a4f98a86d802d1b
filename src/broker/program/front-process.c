/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/program/front-process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/front/front.h"
#include "jail/landlock.h"
#include "jail/limits/rlimits.h"
#include "jail/privilege.h"
#include "jail/seccomp/seccomp.h"
#include "wire/frame.h"

enum { SOCKET = 3 };

/* Outside: in the monitor. */

static int front_process_spawn(int socket, pid_t *ret)
{
	char name[] = "corral-broker", word[] = FRONT_PROCESS_WORD;
	char *const argv[] = { name, word, NULL }, *const env[] = { NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t a;
	sigset_t none;
	int r;

	(void)sigemptyset(&none);
	r = posix_spawn_file_actions_init(&files);
	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&a);
	if (r == 0) {
		/* Its own end is not inherited otherwise: it is close-on-exec. */
		r = posix_spawn_file_actions_adddup2(&files, socket, SOCKET);
		for (int i = 0; r == 0 && i < SOCKET; i++)
			r = posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
		if (r == 0)
			r = posix_spawnattr_setsigmask(&a, &none);
		if (r == 0)
			r = posix_spawnattr_setflags(
				&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
		if (r == 0)
			r = posix_spawn(ret, "/proc/self/exe", &files, &a, argv, env);
		(void)posix_spawnattr_destroy(&a);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	return -r;
}

int front_process_start(struct front_process *ret)
{
	int pair[2];
	int r = frame_pair(pair);
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];
	pid_t pid = 0;

	/* A dup2() onto itself would leave it close-on-exec. */
	if (r == 0 && inner == SOCKET) {
		inner = fcntl(inner, F_DUPFD_CLOEXEC, SOCKET + 1);
		(void)close(SOCKET);
		r = inner < 0 ? -errno : 0;
	}
	if (r == 0 && fcntl(outer, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = front_process_spawn(inner, &pid);
	if (r < 0)
		return r;
	*ret = (struct front_process){ .pid = pid, .socket = fd_take(&outer) };
	return 0;
}

int front_process_equip(
	const struct front_process *f, const struct broker_setup *s, int listener, int http)
{
	const struct broker_setup less = { .flags = s->flags & BROKER_HTTP, .token = s->token };
	const int fds[] = { listener, http };
	auto_buffer body = { 0 };
	int r = broker_setup_encode(&less, &body);

	if (r == 0)
		r = frame_send(f->socket, FRAME_BROKER, 0, body.data, body.len, fds,
			s->flags & BROKER_HTTP ? 2 : 1);
	return r;
}

void front_process_end(struct front_process *f)
{
	if (f->pid == 0)
		return;
	(void)kill(f->pid, SIGKILL);
	while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
		;
	f->pid = 0;
	fd_close(&f->socket);
}

/* Inside: in the process of the front. */

/*
 * No file, no program, no new socket, no process of others: what is left is to accept, to read and
 * to write.
 */
static int front_process_confine(void)
{
	const struct seccomp_options filter = {
		.no_memfd_exec = true, .closed = true, .no_unix = true, .no_exec = true
	};
	int version = landlock_version();
	auto_fd rules = version < 0 ? version : landlock_new(version, true);
	int r = rules < 0 ? rules : 0;

	if (r == 0)
		r = privilege_renounce();
	if (r == 0)
		r = landlock_enter(rules);
	if (r == 0)
		r = seccomp_base(&filter);
	return r < 0 ? r : privilege_hide();
}

/* Waits for it. */
static int front_process_receive(struct frame *f, struct broker_setup *ret, struct arena *a)
{
	int r = frame_receive(SOCKET, f);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	if (f->type != FRAME_BROKER)
		return -EPROTO;
	r = broker_setup_decode(ret, f->body, f->len, a);
	if (r == 0 && f->n_fds != (ret->flags & BROKER_HTTP ? 2 : 1))
		r = -EPROTO;
	return r;
}

static int front_process_serve(const char *version)
{
	static struct frame f;
	struct broker_setup setup = { 0 };
	auto_arena a = { 0 };
	struct front_options o = { .monitor = SOCKET, .version = version };
	struct front *front = NULL;
	auto_fd listener = -1, http = -1;
	int r = front_process_receive(&f, &setup, &a);

	if (r < 0)
		return r;
	listener = frame_take_fd(&f, 0);
	o.listener = listener;
	if (setup.flags & BROKER_HTTP) {
		http = frame_take_fd(&f, 1);
		o.http = http;
		o.token = setup.token;
	}
	if (fcntl(listener, F_SETFL, O_NONBLOCK) < 0 || fcntl(SOCKET, F_SETFL, O_NONBLOCK) < 0 ||
		(http >= 0 && fcntl(http, F_SETFL, O_NONBLOCK) < 0))
		return -errno;
	r = front_new(&front, &o);
	while (r == 0)
		r = front_turn(front, -1);
	front_free(front);
	return r;
}

int front_process_main(const char *version)
{
	int r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_NAME, "corral-front", 0, 0, 0);
	if (r == 0 && syscall(SYS_close_range, SOCKET + 1U, ~0U, 0U) < 0)
		r = -errno;
	if (r == 0 && fcntl(SOCKET, F_SETFD, FD_CLOEXEC) < 0)
		r = -errno;
	rlimits_raise_files();
	if (r == 0)
		r = front_process_confine();
	if (r == 0)
		r = front_process_serve(version);
	return r < 0 && r != -EPIPE;
}
