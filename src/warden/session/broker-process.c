/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/session/broker-process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "host/own.h"
#include "warden/inherited.h"
#include "wire/frame.h"
#include "wire/report.h"

enum {
	CONTROL = 3,
	RESTARTS_MAX = 3, /* in the life of a session: what dies more often has a reason to */
	FINISH_MS = 2000, /* to write the rest of the log */
	REAP_MS = 200,
};

struct broker_process {
	char *program;
	pid_t pid; /* 0: none */
	int pidfd, socket;
	int listener, root, http; /* -1: not there (yet), or not any more */
	struct buffer setup;
	unsigned restarts;
	struct frame frame;
};

/* The child. */

/* Nothing else stays open, of whoever started us neither. */
static int broker_process_take_descriptors(int control)
{
	int high = fcntl(control, F_DUPFD, CONTROL + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (high < 0 || null < 0)
		return -errno;
	for (int i = 0; i < CONTROL; i++)
		if (dup2(null, i) < 0)
			return -errno;
	if (dup2(high, CONTROL) < 0 || syscall(SYS_close_range, CONTROL + 1U, ~0U, 0U) < 0)
		return -errno;
	return 0;
}

/* As the broker itself would tell it. */
static _Noreturn void broker_process_fail(const char *program, int error, int control)
{
	char text[PATH_BYTES + 128];
	const struct refusal refusal = {
		.error = -error, .text = text, .hint = "install Corral with its broker"
	};
	auto_buffer body = { 0 };

	(void)snprintf(
		text, sizeof(text), "cannot start the broker %s: %s", program, strerror(-error));
	if (refusal_encode(&refusal, &body) == 0 && !body.failed)
		(void)frame_send(control, FRAME_FAILED, 0, body.data, body.len, NULL, 0);
	_exit(127);
}

/* What else it hears of the user's choices: the program that fetches, and whom to trust for TLS. */
static const char *const broker_process_variables[] = { "CORRAL_FETCH=", "SSL_CERT_FILE=" };

static void broker_process_add_variables(char **env)
{
	while (*env)
		env++;
	for (size_t i = 0; i < ROWS(broker_process_variables); i++) {
		const char *name = broker_process_variables[i];
		char **v = environ;

		while (v && *v && strncmp(*v, name, strlen(name)) != 0)
			v++;
		if (v && *v)
			*env++ = *v;
	}
	*env = NULL;
}

/* Its variables are those that say where Corral's own folders are, and a few of the user's. */
static _Noreturn void broker_process_run(const char *program, int control)
{
	char *argv[] = { (char *)"corral-broker", NULL };
	char *env[OWN_VARIABLES + ROWS(broker_process_variables) + 1];
	sigset_t none;
	int r = 0;

	own_variables(env);
	broker_process_add_variables(env);
	inherited_reset_signals();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* A session of its own: Ctrl-C at the user's terminal is not for it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setsid() < 0 || chdir("/") < 0)
		r = -errno;
	if (r == 0)
		r = broker_process_take_descriptors(control);
	if (r < 0)
		broker_process_fail(program, r, control);
	(void)execve(program, argv, env);
	broker_process_fail(program, -errno, CONTROL);
}

/* Outside. */

static int broker_process_spawn(struct broker_process *b)
{
	int pair[2];
	int r = frame_pair(pair);
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];

	if (r == 0 && fcntl(outer, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		return r;
	/* Not as vfork() does: we have better things to do than to wait until it is loaded. */
	b->pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, &b->pidfd, NULL, NULL);
	if (b->pid == 0)
		broker_process_run(b->program, inner);
	if (b->pid < 0) {
		b->pid = 0;
		b->pidfd = -1;
		return -errno;
	}
	b->socket = fd_take(&outer);
	return 0;
}

static void broker_process_reap(struct broker_process *b, int *ret_status)
{
	while (b->pid > 0 && waitpid(b->pid, ret_status, 0) < 0 && errno == EINTR)
		;
	b->pid = 0;
	fd_close(&b->pidfd);
	fd_close(&b->socket);
}

static void broker_process_kill(const struct broker_process *b)
{
	if (b->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0);
}

static void broker_process_free(struct broker_process *b)
{
	fd_close(&b->pidfd);
	fd_close(&b->socket);
	fd_close(&b->listener);
	fd_close(&b->root);
	fd_close(&b->http);
	buffer_deinit(&b->setup);
	frame_deinit(&b->frame);
	free(b->program);
	free(b);
}

int broker_process_start(struct broker_process **ret, const char *program, struct error *e)
{
	struct broker_process *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_no_memory(e);
	b->pidfd = b->socket = b->listener = b->root = b->http = -1;
	b->program = strdup(program);
	r = b->program ? broker_process_spawn(b) : -ENOMEM;
	if (r == 0) {
		*ret = b;
		return 0;
	}
	(void)error_set(e, r, NULL, "cannot start the broker %s: %s", program, strerror(-r));
	broker_process_free(b);
	return r;
}

int broker_process_configure(struct broker_process *b, const struct broker_setup *setup)
{
	b->setup.len = 0;
	return broker_setup_encode(setup, &b->setup);
}

static int broker_process_send(const struct broker_process *b)
{
	int r = frame_send(b->socket, FRAME_BROKER, 0, b->setup.data, b->setup.len,
		(const int[]){ b->listener, b->root, b->http }, b->http < 0 ? 2 : 3);

	/* If it is gone, it said why before it went. */
	return r == -EPIPE ? 0 : r;
}

int broker_process_serve(
	struct broker_process *b, int listener, int root, int http, struct error *e)
{
	int r;

	b->listener = listener;
	b->root = root;
	b->http = http;
	r = listener >= 0 && root >= 0 ? broker_process_send(b) : -EPROTO;
	return r < 0 ? error_set(
			       e, r, NULL, "cannot pass its socket to the broker: %s", strerror(-r))
		     : 0;
}

int broker_process_socket(const struct broker_process *b)
{
	return b->socket;
}

int broker_process_pidfd(const struct broker_process *b)
{
	return b->pidfd;
}

/* How it ended, if it has. */
static int broker_process_died(struct broker_process *b, struct error *e)
{
	struct pollfd p = { .fd = b->pidfd, .events = POLLIN };
	int status = 0;

	if (poll(&p, 1, REAP_MS) == 1)
		broker_process_reap(b, &status);
	if (WIFSIGNALED(status))
		(void)error_set(e, -ECONNRESET, NULL, "the broker was killed by signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)error_set(e, -ECONNRESET, NULL, "the broker exited with status %d",
			WEXITSTATUS(status));
	return -ECONNRESET;
}

int broker_process_ready(struct broker_process *b, struct error *e)
{
	int r = frame_receive(b->socket, &b->frame);
	struct refusal refusal;

	/* It ended with our frame unread, which the kernel reports before its last frame. */
	if (r == -ECONNRESET)
		r = frame_receive(b->socket, &b->frame);
	if (r == 0 || r == -ECONNRESET)
		return broker_process_died(b, e);
	if (r == 1 && b->frame.type == FRAME_READY)
		return 0;
	if (r != 1 || b->frame.type != FRAME_FAILED ||
		refusal_decode(&refusal, b->frame.body, b->frame.len) < 0)
		return error_set(
			e, -EPROTO, NULL, "%s does not speak the broker's protocol", b->program);
	(void)error_set(e, -refusal.error, NULL, "%s", refusal.text);
	if (refusal.hint[0])
		error_hint(e, "%s", refusal.hint);
	return -refusal.error;
}

int broker_process_restart(struct broker_process *b, struct error *e)
{
	int r = -EBUSY;

	(void)broker_process_died(b, e);
	if (b->listener >= 0 && b->restarts++ < RESTARTS_MAX) {
		r = broker_process_spawn(b);
		if (r == 0)
			r = broker_process_send(b);
		if (r == 0)
			return 0;
		broker_process_kill(b);
		broker_process_reap(b, NULL);
	}
	/* Clients that wait there are refused. */
	broker_process_forgo(b);
	return r;
}

void broker_process_forgo(struct broker_process *b)
{
	fd_close(&b->listener);
	fd_close(&b->root);
	fd_close(&b->http);
}

void broker_process_finish(struct broker_process *b)
{
	struct pollfd p = { .fd = b->pidfd, .events = POLLIN };

	if (b->pid <= 0 || shutdown(b->socket, SHUT_RDWR) < 0)
		return;
	if (poll(&p, 1, FINISH_MS) == 1)
		broker_process_reap(b, NULL);
}

void broker_process_leave(struct broker_process *b)
{
	if (!b)
		return;
	broker_process_kill(b);
	broker_process_free(b);
}

void broker_process_end(struct broker_process *b)
{
	if (!b)
		return;
	broker_process_kill(b);
	broker_process_reap(b, NULL);
	broker_process_free(b);
}
