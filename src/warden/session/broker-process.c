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
#include "jail/privilege.h"
#include "process/starting.h"
#include "warden/inherited.h"
#include "wire/frame.h"
#include "wire/report.h"
#include "wire/sockets.h"

enum {
	CONTROL = FD_KEPT,
	RESTARTS_MAX = 3, /* in the life of a session: what dies more often has a reason to */
	FINISH_MS = 8000, /* to end its calls and to tell the rest, on a busy machine */
	REAP_MS = 2000,   /* from its hang-up to its end, on a busy machine */
	KEEPER_MS = 5000, /* to start it, on a machine that has other things to do */
};

struct broker_process {
	char *program;
	pid_t pid; /* 0: none, or the keeper's child */
	int pidfd, socket;
	int keeper; /* -1: none */
	pid_t keeper_pid;
	int listener, root, http; /* -1: not there (yet), or not any more */
	int ledger;               /* the session's */
	struct buffer setup;
	unsigned restarts;
	struct error why; /* what it said before it went */
	struct frame frame;
};

/* The child. */

/* Nothing else stays open, of whoever started us neither. */
static int broker_process_take_descriptors(int control)
{
	const int r = fd_keep_only((int *const[]){ &control }, 1);

	/* The broker is to have it. */
	return r == 0 && fcntl(CONTROL, F_SETFD, 0) < 0 ? -errno : r;
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
	b->pid = starting_copy(0, &b->pidfd);
	if (b->pid == 0)
		broker_process_run(b->program, inner);
	if (b->pid < 0) {
		r = b->pid;
		b->pid = 0;
		b->pidfd = -1;
		return r;
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
	fd_close(&b->keeper);
	buffer_deinit(&b->setup);
	frame_deinit(&b->frame);
	free(b->program);
	free(b);
}

int broker_process_start(
	struct broker_process **ret, const char *program, int ledger, struct error *e)
{
	struct broker_process *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return error_no_memory(e);
	b->pidfd = b->socket = b->listener = b->root = b->http = b->keeper = -1;
	b->ledger = ledger;
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

static int broker_process_send_setup(const struct broker_process *b)
{
	int r = frame_send(b->socket, FRAME_BROKER, 0, b->setup.data, b->setup.len,
		(const int[]){ b->ledger }, 1);

	/* If it is gone, it said why before it went. */
	return r == -EPIPE ? 0 : r;
}

static int broker_process_send_sockets(const struct broker_process *b)
{
	const int fds[] = { [SOCKETS_BROKER_LISTENER] = b->listener,
		[SOCKETS_BROKER_ROOT] = b->root,
		[SOCKETS_BROKER_HTTP] = b->http };
	int r = sockets_send_now(
		b->socket, SOCKETS_BROKER, fds, b->http < 0 ? SOCKETS_BROKER_HTTP : ROWS(fds));

	return r == -EPIPE ? 0 : r;
}

int broker_process_configure(struct broker_process *b, const struct broker_setup *setup)
{
	int r;

	b->setup.len = 0;
	r = broker_setup_encode(setup, &b->setup);
	return r < 0 ? r : broker_process_send_setup(b);
}

int broker_process_serve(
	struct broker_process *b, int listener, int root, int http, struct error *e)
{
	int r;

	b->listener = listener;
	b->root = root;
	b->http = http;
	r = listener >= 0 && root >= 0 ? broker_process_send_sockets(b) : -EPROTO;
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

void broker_process_note(struct broker_process *b, const struct frame *f)
{
	struct refusal refusal;

	if (refusal_decode(&refusal, f->body, f->len) == 0)
		(void)error_set(
			&b->why, -refusal.error, NULL, "the broker failed: %s", refusal.text);
}

/* What it said before it went, if it did. */
static bool broker_process_explained(struct broker_process *b, struct error *e)
{
	while (!b->why.text[0] && frame_receive(b->socket, &b->frame) == 1)
		if (b->frame.type == FRAME_FAILED)
			broker_process_note(b, &b->frame);
	if (!b->why.text[0])
		return false;
	*e = b->why;
	b->why = (struct error){ 0 };
	return true;
}

/* How it ended, if it has. */
static int broker_process_died(struct broker_process *b, struct error *e)
{
	struct pollfd p = { .fd = b->pidfd, .events = POLLIN };
	const bool is_explained = broker_process_explained(b, e), is_ours = b->pid > 0;
	int status = 0;

	if (poll(&p, 1, REAP_MS) == 1)
		broker_process_reap(b, &status);
	if (is_explained)
		return -ECONNRESET;
	if (!is_ours)
		(void)error_set(e, -ECONNRESET, NULL, "the broker ended");
	else if (WIFSIGNALED(status))
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
	if (r == -EPROTONOSUPPORT) {
		(void)frame_explain(&b->frame, b->program, e);
		error_hint(e, "install all programs of Corral from one build");
		return r;
	}
	if (r != 1 || b->frame.type != FRAME_FAILED ||
		refusal_decode(&refusal, b->frame.body, b->frame.len) < 0)
		return error_set(
			e, -EPROTO, NULL, "%s does not speak the broker's protocol", b->program);
	(void)error_set(e, -refusal.error, NULL, "%s", refusal.text);
	if (refusal.hint[0])
		error_hint(e, "%s", refusal.hint);
	return -refusal.error;
}

/* Starting it again */

static void broker_process_forgo(struct broker_process *b)
{
	fd_close(&b->listener);
	fd_close(&b->root);
	fd_close(&b->http);
}

static int broker_process_start_again(struct broker_process *b)
{
	int r = b->listener >= 0 ? broker_process_spawn(b) : -EBUSY;

	if (r < 0)
		return r;
	r = broker_process_send_setup(b);
	if (r == 0)
		r = broker_process_send_sockets(b);
	if (r < 0) {
		broker_process_kill(b);
		broker_process_reap(b, NULL);
	}
	return r;
}

/* It ends when its socket does, and its listener with it. */
static void broker_process_end_keeper(struct broker_process *b)
{
	fd_close(&b->keeper);
	while (b->keeper_pid > 0 && waitpid(b->keeper_pid, NULL, 0) < 0 && errno == EINTR)
		;
	b->keeper_pid = 0;
}

static int broker_process_ask_keeper(struct broker_process *b)
{
	struct pollfd p = { .fd = b->keeper, .events = POLLIN };
	int r = frame_send(b->keeper, FRAME_SPAWN, 0, NULL, 0, NULL, 0);

	if (r == 0)
		r = poll(&p, 1, KEEPER_MS) == 1 ? frame_receive(b->keeper, &b->frame) : -ETIMEDOUT;
	if (r != 1 || b->frame.type != FRAME_INIT || b->frame.n_fds != 2)
		return r < 0 ? r : -EPROTO;
	b->socket = frame_take_fd(&b->frame, 0);
	b->pidfd = frame_take_fd(&b->frame, 1);
	return 0;
}

int broker_process_restart(struct broker_process *b, struct error *e)
{
	int r = -EBUSY;

	(void)broker_process_died(b, e);
	if (b->restarts++ < RESTARTS_MAX)
		r = b->keeper >= 0 ? broker_process_ask_keeper(b) : broker_process_start_again(b);
	if (r == 0)
		return 0;
	/* Clients that wait there are refused. */
	broker_process_forgo(b);
	broker_process_end_keeper(b);
	return r;
}

/* The keeper. Only what a broker is given stays open: nothing of the holder's host. */
static int broker_keeper_take_descriptors(struct broker_process *b, int *control)
{
	int *list[] = { control, &b->listener, &b->root, &b->ledger, &b->http };

	return fd_keep_only(list, ROWS(list) - (b->http < 0));
}

static int broker_keeper_serve(struct broker_process *b, int control)
{
	int r;

	if (b->frame.type != FRAME_SPAWN || b->frame.len > 0 || b->restarts++ >= RESTARTS_MAX)
		return -EPROTO;
	r = broker_process_start_again(b);
	if (r == 0)
		r = frame_send(
			control, FRAME_INIT, 0, NULL, 0, (const int[]){ b->socket, b->pidfd }, 2);
	fd_close(&b->socket);
	fd_close(&b->pidfd);
	return r;
}

static _Noreturn void broker_keeper_run(struct broker_process *b, int control)
{
	int r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setsid() < 0 ? -errno : 0;

	(void)prctl(PR_SET_NAME, "corral-keeper", 0, 0, 0);
	/* The kernel reaps its children; the holder hears of their end by a pidfd. */
	(void)signal(SIGCHLD, SIG_IGN);
	b->pid = 0;
	b->pidfd = b->socket = -1;
	if (r == 0)
		r = broker_keeper_take_descriptors(b, &control);
	if (r == 0)
		r = privilege_hide();
	while (r == 0 && frame_receive(control, &b->frame) == 1)
		r = broker_keeper_serve(b, control);
	_exit(r < 0);
}

int broker_process_keep(struct broker_process *b)
{
	int pair[2];
	int r = b->listener >= 0 ? frame_pair(pair) : -EBUSY;
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];
	pid_t pid = r < 0 ? r : starting_copy(0, NULL);

	if (pid == 0)
		broker_keeper_run(b, inner);
	if (r == 0 && pid < 0)
		r = pid;
	/* It has them. */
	broker_process_forgo(b);
	if (r == 0) {
		b->keeper = fd_take(&outer);
		b->keeper_pid = pid;
	}
	return r;
}

int broker_process_finish(struct broker_process *b, int *ret_ms)
{
	*ret_ms = FINISH_MS;
	return b->pidfd < 0 || b->socket < 0      ? -ENOTCONN
	       : shutdown(b->socket, SHUT_WR) < 0 ? -errno
						  : 0;
}

void broker_process_finished(struct broker_process *b)
{
	struct pollfd p = { .fd = b->pidfd, .events = POLLIN };

	if (poll(&p, 1, REAP_MS) == 1)
		broker_process_reap(b, NULL);
}

void broker_process_end(struct broker_process *b)
{
	struct pollfd p = { .fd = b ? b->pidfd : -1, .events = POLLIN };

	if (!b)
		return;
	broker_process_kill(b);
	/* It may be in a call to a file system that does not answer. */
	if (b->pid > 0 && (b->pidfd < 0 || poll(&p, 1, REAP_MS) == 1))
		broker_process_reap(b, NULL);
	broker_process_end_keeper(b);
	broker_process_free(b);
}
