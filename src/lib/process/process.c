/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/lock.h"
#include "event/wait.h"
#include "lib/process/denial.h"
#include "lib/api/handles.h"

/* How much is read of one stream before the others get their turn. */
enum { TURN = 256 << 10 };

void process_wake(struct corral_process *p)
{
	const uint64_t one = 1;

	/* It fails only if it is raised already, some 2^64 times. */
	(void)!write(p->wake, &one, sizeof(one));
}

void process_destroy(struct corral_process *p)
{
	if (!p)
		return;
	fd_close(&p->out.fd);
	fd_close(&p->err.fd);
	buffer_deinit(&p->out.printed.kept);
	buffer_deinit(&p->err.printed.kept);
	input_deinit(&p->input);
	fd_close(&p->wake);
	fd_close(&p->master);
	fd_close(&p->epoll);
	(void)pthread_mutex_destroy(&p->pump);
	corral_result_free(p->result);
	denial_free(p->denial);
	free(p->program);
	free(p->target);
	free(p->cwd);
	sandbox_setup_unref(p->setup);
	free(p);
}

/* The end */

static void process_tell(struct corral_process *p, enum corral_event_kind kind, const char *message,
	const struct corral_denial *denial)
{
	if (p->unreported && (kind == CORRAL_EVENT_STARTED || kind == CORRAL_EVENT_ENDED))
		return;
	sandbox_tell(p->sandbox, (struct corral_event){ .kind = kind,
					 .command = p->id,
					 .program = p->program,
					 .message = message,
					 .denial = denial,
					 .result = kind == CORRAL_EVENT_ENDED ? p->result : NULL });
}

static void finish_exited(struct corral_process *p)
{
	struct corral_result *r = p->result;

	if (!(p->flags & CORRAL_CALL_RAW)) {
		(void)output_finish(&p->out);
		(void)output_finish(&p->err);
	}
	r->report = p->report;
	r->out = p->out.printed;
	r->err = p->err.printed;
	p->out.printed = p->err.printed = (struct printed){ 0 };
	/* Into descriptors that the caller gave: which of them is not known. */
	if (p->report.output_error)
		r->out.truncated = r->err.truncated = true;
	/* A line that went well needs no explanation. */
	if (r->backend->enforces && !p->target[0] && corral_result_exit_code(r) != 0)
		denial_guess(p->setup, p->program, r);
	if (r->backend->enforces && corral_result_exit_code(r) != 0)
		denial_guess_replaced(p->setup, r);
	sandbox_count_end(p->sandbox, r, p->input.bytes);
	for (size_t i = r->n_noted; i < r->n_denials; i++)
		process_tell(p, CORRAL_EVENT_DENIED, NULL, r->denials[i]);
	process_tell(p, CORRAL_EVENT_ENDED, NULL, NULL);
}

/* From here on only we have a reference, and its state does not change. */
static void process_finish(struct corral_process *p, enum process_state state)
{
	sandbox_remove(p->sandbox, p);
	if (state == PROCESS_EXITED) {
		finish_exited(p);
	} else if (state == PROCESS_REFUSED) {
		bool may_be_denied = p->code == -ENOENT || p->code == -EACCES || p->code == -EPERM;
		int r = 0;

		if (p->setup->base->backend->enforces && may_be_denied)
			r = denial_explain(p->setup, p->target, p->cwd, &p->denial, &p->error);
		p->code = r < 0 ? r : p->code;
		sandbox_count_end(p->sandbox, NULL, p->input.bytes);
		sandbox_count_refusal(p->sandbox, p->denial ? 1 : 0);
		process_tell(p, p->denial ? CORRAL_EVENT_DENIED : CORRAL_EVENT_FAILED,
			p->error.text, p->denial);
	} else {
		sandbox_count_end(p->sandbox, NULL, p->input.bytes);
		process_tell(p, CORRAL_EVENT_FAILED, p->error.text, NULL);
	}
	input_end(&p->input);
	if (!(p->flags & CORRAL_CALL_RAW)) {
		fd_close(&p->out.fd);
		fd_close(&p->err.fd);
	}
	p->finished = true;
	/* For good: whoever polls it next must see that there is something to hear. */
	if (p->epoll >= 0)
		process_wake(p);
}

/* Steps */

static enum process_state process_hear(struct corral_process *p)
{
	enum process_state state;
	uint64_t count;
	int master;

	/* Before looking: what comes from now on raises it again. */
	(void)!read(p->wake, &count, sizeof(count));
	/* Of the end it hears from the init, of what was denied from the warden. */
	if (!sandbox_hear(p->sandbox, p))
		sandbox_dispatch(p->sandbox, p->link);
	(void)pthread_mutex_lock(&p->sandbox->lock);
	state = p->state;
	master = fd_take(&p->master);
	(void)pthread_mutex_unlock(&p->sandbox->lock);
	/* The sink may have read on (corral_sandbox_stats()): what came by that, with the end, is
	 * told before the end. */
	if (state > PROCESS_RUNNING)
		sandbox_tell_news(p->sandbox);
	if (master >= 0) {
		int copy = fcntl(master, F_DUPFD_CLOEXEC, 3);

		(void)fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK);
		p->out.fd = master;
		if (copy >= 0)
			input_set_fd(&p->input, copy);
		else
			input_end(&p->input);
	}
	return state;
}

/* Does what can be done now, with the pump held. True: it is finished. */
static bool take_step(struct corral_process *p)
{
	enum process_state state;
	struct error stopped;

	if (p->finished)
		return true;
	/* It may kill it; then its end is heard as any other. */
	(void)sandbox_turn_joined(p->sandbox, &stopped);
	state = process_hear(p);
	if (!p->told_started && (state == PROCESS_RUNNING || state == PROCESS_EXITED)) {
		p->told_started = true;
		process_tell(p, CORRAL_EVENT_STARTED, NULL, NULL);
	}
	if (state > PROCESS_RUNNING) {
		process_finish(p, state);
		return true;
	}
	input_flush(&p->input);
	if (!(p->flags & CORRAL_CALL_RAW) && (output_pump(&p->out, TURN) == -ECANCELED ||
						     output_pump(&p->err, TURN) == -ECANCELED))
		(void)corral_process_kill(p);
	return false;
}

/* Waiting */

/* The descriptors to wait for, -1 for none. */
static void list_slots(struct corral_process *p, int fds[PROCESS_SLOTS])
{
	bool raw = p->flags & CORRAL_CALL_RAW;

	fds[PROCESS_SLOT_WAKE] = p->wake;
	fds[PROCESS_SLOT_LINK] = p->finished ? -1 : p->direct ? p->link->channel : p->link->socket;
	fds[PROCESS_SLOT_STDIN] = input_wants(&p->input);
	fds[PROCESS_SLOT_STDOUT] = raw ? -1 : p->out.fd;
	fds[PROCESS_SLOT_STDERR] = raw ? -1 : p->err.fd;
	fds[PROCESS_SLOT_DAEMON] = p->finished ? -1 : sandbox_joined_fd(p->sandbox);
}

static int process_left_ms(int64_t end)
{
	int64_t left = end - (int64_t)clock_ms(CLOCK_MONOTONIC);

	if (end < 0)
		return -1;
	return left > 0 ? (int)left : 0;
}

/*
 * With the pump held. Everything that there is to do makes poll() return, so it comes first: a
 * command that was just started has nothing to say yet, and the sooner this processor is free, the
 * sooner it runs.
 */
static int process_wait_for_end(struct corral_process *p, int64_t end)
{
	bool finished;
	int left;

	if (p->finished)
		return 0;
	do {
		struct pollfd polled[PROCESS_SLOTS];
		int fds[PROCESS_SLOTS];
		bool lead = sandbox_lead(p->sandbox, p);

		list_slots(p, fds);
		for (size_t i = 0; i < PROCESS_SLOTS; i++)
			polled[i] = (struct pollfd){ .fd = fds[i],
				.events = i == PROCESS_SLOT_STDIN ? POLLOUT : POLLIN };
		if (!lead)
			polled[PROCESS_SLOT_LINK].fd = -1;
		left = process_left_ms(end);
		(void)wait_for(polled, PROCESS_SLOTS,
			wait_until(sandbox_joined_wait_ms(p->sandbox, left)));
		finished = take_step(p);
	} while (!finished && left != 0);
	sandbox_follow(p->sandbox, p);
	return finished ? 0 : -EAGAIN;
}

int corral_process_wait(struct corral_process *p, int timeout_ms, struct corral_result **ret,
	struct corral_error **e)
{
	int64_t end = timeout_ms < 0 ? -1 : (int64_t)clock_ms(CLOCK_MONOTONIC) + timeout_ms;
	const struct timespec t = { .tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000 };
	struct error error = { 0 };
	int r = end < 0 ? pthread_mutex_lock(&p->pump) : pthread_mutex_trylock(&p->pump);

	if (r == EBUSY)
		r = pthread_mutex_clocklock(&p->pump, CLOCK_MONOTONIC, &t);
	r = r == ETIMEDOUT ? -EAGAIN : -r;
	if (r == 0) {
		r = process_wait_for_end(p, end);
		(void)pthread_mutex_unlock(&p->pump);
	}
	if (r < 0)
		return handles_error(e, &error,
			error_set(&error, r, NULL, "%s",
				r == -EAGAIN ? "the command still runs"
					     : "a callback must not wait for its own process"));
	/* Finished: nothing of it changes any more. */
	if (p->state != PROCESS_EXITED)
		return handles_denied(e, &p->error, p->code, p->denial);
	if (ret)
		*ret = result_ref(p->result);
	return 0;
}

/* In the host's own loop */

static void process_watch(struct corral_process *p)
{
	int fds[PROCESS_SLOTS];

	list_slots(p, fds);
	for (size_t i = 0; i < PROCESS_SLOTS; i++) {
		struct epoll_event event = { .events =
						     i == PROCESS_SLOT_STDIN ? EPOLLOUT : EPOLLIN };

		if (p->watched[i] == fds[i])
			continue;
		if (p->watched[i] >= 0)
			(void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, p->watched[i], NULL);
		p->watched[i] = -1;
		if (fds[i] >= 0 && epoll_ctl(p->epoll, EPOLL_CTL_ADD, fds[i], &event) == 0)
			p->watched[i] = fds[i];
	}
}

int corral_process_fd(struct corral_process *p)
{
	int r = -pthread_mutex_lock(&p->pump);

	if (r < 0)
		return p->epoll >= 0 ? p->epoll : r;
	if (p->epoll < 0) {
		p->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (p->finished)
			process_wake(p);
	}
	r = p->epoll < 0 ? -errno : p->epoll;
	if (r >= 0)
		process_watch(p);
	(void)pthread_mutex_unlock(&p->pump);
	return r;
}

int corral_process_dispatch(struct corral_process *p)
{
	int r = -pthread_mutex_trylock(&p->pump);

	/* Another thread is at it, or we are called by a callback. */
	if (r < 0)
		return r == -EBUSY ? 0 : r;
	r = take_step(p);
	if (p->epoll >= 0)
		process_watch(p);
	(void)pthread_mutex_unlock(&p->pump);
	return r;
}

/* What a host does to a process while it runs */

uint64_t corral_process_id(const struct corral_process *p)
{
	return p->id;
}

long corral_process_write(struct corral_process *p, const void *data, size_t len)
{
	long r = len && !data ? -EINVAL : input_add(&p->input, data, len, INPUT_QUEUE_MAX);

	/* What was not taken at once is the matter of whoever waits. */
	if (r > 0 && input_wants(&p->input) >= 0)
		process_wake(p);
	return r;
}

int corral_process_close_stdin(struct corral_process *p)
{
	int r = input_close_later(&p->input);

	if (r == 0 && input_wants(&p->input) >= 0)
		process_wake(p);
	return r;
}

static int send_to(struct corral_process *p, enum frame_type type, const struct buffer *body)
{
	int r = sandbox_tell_channel(p, type, body->data, body->len);
	struct warden_link *link = NULL;

	if (r != -ENOTCONN)
		return r == -EPIPE ? -ESRCH : r;
	(void)pthread_mutex_lock(&p->sandbox->lock);
	if (p->link && p->state <= PROCESS_RUNNING)
		link = warden_link_ref(p->link);
	(void)pthread_mutex_unlock(&p->sandbox->lock);
	r = link ? sandbox_send(link, type, p->id, body, NULL, 0) : -ESRCH;
	warden_link_unref(link);
	return r == -EPIPE ? -ESRCH : r;
}

int corral_process_signal(struct corral_process *p, int signal)
{
	uint32_t number = (uint32_t)signal;
	const struct buffer body = { .data = (char *)&number, .len = sizeof(number) };

	if (signal <= 0 || signal >= NSIG)
		return -EINVAL;
	return send_to(p, FRAME_SIGNAL, &body);
}

int corral_process_kill(struct corral_process *p)
{
	uint32_t flags = REPORT_KILLED;
	const struct buffer body = { .data = (char *)&flags, .len = sizeof(flags) };

	return send_to(p, FRAME_KILL, &body);
}

/* With the pump held. */
static int take_output(struct corral_process *p, enum corral_stream stream)
{
	struct stream_output *o = stream == CORRAL_STDERR ? &p->err : &p->out;
	int fd = o->fd;

	if (fd < 0)
		return -EBADF;
	for (size_t i = 0; i < PROCESS_SLOTS; i++) {
		if (p->watched[i] == fd && p->epoll >= 0)
			(void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, NULL);
		if (p->watched[i] == fd)
			p->watched[i] = -1;
	}
	return fd_take(&o->fd);
}

int corral_process_take_fd(struct corral_process *p, enum corral_stream stream)
{
	int copy, r = -pthread_mutex_lock(&p->pump);

	if (r < 0)
		return r;
	if (p->out.is_tty && p->out.fd < 0) {
		r = p->finished || p->told_started ? -EBADF : -EAGAIN;
	} else if (p->out.is_tty) {
		/* What was written before is still handed on. */
		copy = input_take_fd(&p->input);
		fd_close(&copy);
		r = take_output(p, CORRAL_STDOUT);
	} else if (stream == CORRAL_STDIN) {
		r = input_take_fd(&p->input);
		r = r < 0 ? -EBADF : r;
	} else {
		r = take_output(p, stream);
	}
	(void)pthread_mutex_unlock(&p->pump);
	return r;
}

int corral_process_resize(struct corral_process *p, unsigned short rows, unsigned short columns)
{
	const struct winsize size = { .ws_row = rows, .ws_col = columns };
	int r = -pthread_mutex_lock(&p->pump);

	if (r < 0)
		return r;
	if (!p->out.is_tty || p->out.fd < 0)
		r = -EBADF;
	else if (ioctl(p->out.fd, TIOCSWINSZ, &size) < 0)
		r = -errno;
	(void)pthread_mutex_unlock(&p->pump);
	return r;
}

void corral_process_free(struct corral_process *p)
{
	struct corral_sandbox *s;

	if (!p)
		return;
	s = p->sandbox;
	if (!p->finished) {
		(void)corral_process_kill(p);
		sandbox_remove(s, p);
		sandbox_count_end(s, NULL, p->input.bytes);
		process_tell(p, CORRAL_EVENT_FAILED,
			"the process was freed before its exit was reported", NULL);
	}
	process_destroy(p);
	sandbox_unref(s);
}
