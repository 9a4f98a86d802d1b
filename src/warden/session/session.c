/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side outside the jail. One loop has everything: the zygote's socket and pidfd, the socket of
 * each running command's init, its copiers, and a timer for the next deadline. That timer is a
 * descriptor: a holder with a poll() of its own waits for session_fd() alone.
 *
 * This file has the frames that come in; session/build.c makes a session and takes it down,
 * session/commands.c has the commands in it, and session/inits.c what runs them.
 *
 * The relay's record of what a command was denied is sent before the command hears of it, or
 * counted if it repeats one, and then the relay is asked for it: whoever reads all records before a
 * command's end has those of the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "warden/session/internal.h"
#include "wire/record.h"

enum {
	FRAMES_MAX = 4096, /* of the relay, at once */
	FINISH_MS = 5000,  /* longer than the relay takes */
	SETTLE_MS = 1000,  /* for what takes the relay some microseconds */
};

/* Frames of the zygote. */

static void warden_session_lose(struct session *s, const char *why)
{
	const struct session_event event = { .kind = SESSION_GONE,
		.fd = -1,
		.refusal = { .error = ECONNRESET,
			.text = why,
			.hint = "the next command builds a new one" } };

	if (s->gone)
		return;
	s->gone = true;
	session_hurry(s);
	while (s->commands)
		session_forget(s, s->commands);
	session_report(s, &event);
}

/* It said why it ends: a mask could not be put back. */
static int session_lose_told(struct session *s)
{
	struct refusal refusal;
	int r = refusal_decode(&refusal, s->frame.body, s->frame.len);

	if (r == 0)
		warden_session_lose(s, refusal.text);
	return r;
}

void session_lose_zygote(struct session *s)
{
	/* Its reason may be queued after inits that are not needed any more. */
	while (!s->gone && s->socket >= 0 && frame_receive(s->socket, &s->frame) == 1)
		if (s->frame.type == FRAME_GONE)
			(void)session_lose_told(s);
	warden_session_lose(s, "the sandbox ended: its init was killed");
}

/* Frames of the relay. */

int session_change(struct session *s, uint64_t id, const void *body, size_t len)
{
	if (s->gone || s->relay.pid == 0)
		return -ENOTCONN;
	return frame_send(s->relay.socket, FRAME_POLICY, id, body, len, NULL, 0);
}

/* It may ask about connections, and about nothing else. */
static int on_relay_question(struct session *s)
{
	struct session_event event = {
		.kind = SESSION_QUESTION, .id = s->frame.id | QUESTION_OF_RELAY, .fd = -1
	};
	struct question q;

	if (s->frame.id == 0 || s->frame.id & QUESTION_OF_RELAY)
		return -EPROTO;
	if (s->frame.type == FRAME_QUESTION_OVER) {
		event.kind = SESSION_QUESTION_OVER;
		if (question_over_decode(&event.end, s->frame.body, s->frame.len) < 0)
			return -EPROTO;
	} else {
		if (question_decode(&q, s->frame.body, s->frame.len) < 0 ||
			q.op != OPERATION_NET_CONNECT)
			return -EPROTO;
		/* As in its records. */
		if (q.program[0] == '\0')
			q.program = session_only_program(s);
		event.question = &q;
	}
	session_report(s, &event);
	return 0;
}

static int on_relay_frame(struct session *s)
{
	struct session_event event = { .kind = SESSION_RECORD, .fd = -1 };
	struct record record;
	int r = -EPROTO;

	if (s->frame.type == FRAME_POLICY) {
		event.kind = SESSION_POLICY;
		event.id = s->frame.id;
		/* Without a body: it holds. */
		r = s->frame.len == 0 ? 0
				      : refusal_decode(&event.refusal, s->frame.body, s->frame.len);
		if (r == 0)
			session_report(s, &event);
		return r;
	}
	if (s->frame.type == FRAME_QUESTION || s->frame.type == FRAME_QUESTION_OVER)
		return on_relay_question(s);
	if (s->frame.type == FRAME_OWNER)
		return session_on_owner_question(s);
	if (s->frame.type == FRAME_SETTLE) {
		/* One may come late: the next asks again then. */
		if (s->frame.id == 0 || s->frame.id != s->settling.asked)
			return -EPROTO;
		s->settling.answered = s->frame.id;
		s->settling.has_records = s->settling.is_deaf = false;
		return 0;
	}
	if (s->frame.type == FRAME_RECORD)
		r = record_decode(&record, s->frame.body, s->frame.len);
	if (r < 0)
		return r;
	s->settling.has_records = true;
	if (record.program[0] == '\0')
		record.program = session_only_program(s);
	event.record = &record;
	session_report(s, &event);
	return 0;
}

int session_hear_relay(struct session *s)
{
	for (int i = 0; s->relay.pid != 0 && i < FRAMES_MAX; i++) {
		int r = frame_receive(s->relay.socket, &s->frame);

		if (r == -EAGAIN)
			return 0;
		r = r == 1 ? on_relay_frame(s) : r == 0 ? -EPIPE : r;
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * All that it has counted so far becomes events, too. It counts nothing before it has reported the
 * same since the last time, so what has reported nothing is not asked. The end of a single command
 * is that of its session, which gets everything.
 */
static int session_settle_relay(struct session *s)
{
	struct settling *t = &s->settling;
	uint64_t end;
	int r = session_hear_relay(s);

	if (r < 0 || s->relay.pid == 0 || s->o.single || !t->has_records || t->is_deaf)
		return r;
	t->is_deaf = true;
	r = frame_send(s->relay.socket, FRAME_SETTLE, ++t->asked, NULL, 0, NULL, 0);
	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	end = clock_ms(CLOCK_MONOTONIC) + SETTLE_MS;
	while (r == 0 && t->answered != t->asked && wait_for_one(s->relay.socket, POLLIN, end) > 0)
		r = session_hear_relay(s);
	return r;
}

/* Everything that a command did was reported or counted before it could end: it becomes events
 * before its end does. Negative: the relay has ended or broke the protocol. */
int session_settle(struct session *s)
{
	int r = session_settle_relay(s);

	session_settle_names(s);
	session_catch_up_broker(s);
	return r;
}

/* It takes the hang-up for the end, tells the rest, and hangs up itself. */
void session_finish(struct session *s)
{
	uint64_t end;

	session_settle_names(s);
	session_finish_broker(s);
	if (s->relay.pid == 0 || shutdown(s->relay.socket, SHUT_WR) < 0)
		return;
	end = clock_ms(CLOCK_MONOTONIC) + FINISH_MS;
	while (wait_for_one(s->relay.socket, POLLIN, end) > 0 && session_hear_relay(s) == 0)
		;
}

/* Before its descriptors are closed. */
void session_unwatch_broker(struct session *s)
{
	loop_remove(s->loop, &s->broker_watch);
	loop_remove(s->loop, &s->broker_frames_watch);
}

/* Without a broker the sandbox goes on. */
static void session_lose_broker(struct session *s)
{
	struct session_event event = { .kind = SESSION_BROKER, .fd = -1 };
	struct error why = { 0 };
	int r;

	session_unwatch_broker(s);
	session_catch_up_broker(s);
	r = broker_process_restart(s->broker, &why);
	if (r == 0)
		r = session_watch_broker(s);
	event.refusal = (struct refusal){ .error = r < 0 ? -r : 0,
		.text = why.text,
		.hint = r < 0 ? "calls of it fail from here on" : "it was started again" };
	session_report(s, &event);
}

static int session_watch(struct session *s, struct watcher *w,
	void (*ready)(struct watcher *w, uint32_t events), int fd)
{
	w->ready = ready;
	return loop_add(s->loop, w, fd, EPOLLIN);
}

static int on_init(struct session *s)
{
	auto_fd socket = frame_take_fd(&s->frame, 0);
	auto_fd pidfd = frame_take_fd(&s->frame, 1);

	if (socket < 0 || pidfd < 0 || fcntl(socket, F_SETFL, O_NONBLOCK) < 0)
		return -EPROTO;
	s->starved = false;
	session_keep_spare(s, fd_take(&socket), fd_take(&pidfd));
	return 0;
}

static void names_ready(struct watcher *w, uint32_t events);

static int on_names(struct session *s)
{
	int r = session_on_names(s);

	return r < 0 ? r : session_watch(s, &s->names_watch, names_ready, s->names.asked.link);
}

static void on_zygote(struct session *s)
{
	struct command *c = session_next_waiting(s);
	int r = frame_receive(s->socket, &s->frame);
	struct refusal refusal;

	if (r == -EAGAIN)
		return;
	/* An init, or the news that there is none. */
	if (r != 1 || s->frame.type != FRAME_NAMES)
		s->n_asked -= s->n_asked > 0;
	if (r == 1 && s->frame.type == FRAME_NAMES) {
		r = on_names(s);
	} else if (r == 1 && s->frame.type == FRAME_INIT) {
		r = on_init(s);
	} else if (r == 1 && s->frame.type == FRAME_FAILED) {
		s->starved = true;
		if (c && refusal_decode(&refusal, s->frame.body, s->frame.len) == 0)
			session_refuse_as(s, c, &refusal);
	} else if (r == 1 && s->frame.type == FRAME_GONE) {
		r = session_lose_told(s);
	} else if (r == -EMFILE) {
		/* There was one, but no room for its descriptors here; it ends with them. */
		s->starved = true;
		if (c)
			session_refuse(
				s, c, r, "there are too many open files to start one more command");
		r = 0;
	} else {
		r = -EPROTO;
	}
	if (r < 0) {
		(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
		session_lose_zygote(s);
	}
}

/* Frames of an init. */

/* Only a session that was made for it: elsewhere nobody would answer, and the command would wait.
 */
static int on_witness(struct session *s, const struct command *c)
{
	struct session_event event = { .kind = SESSION_WITNESS, .id = c->id };

	event.fd = s->o.single && s->plan->is_watched ? frame_take_fd(&s->frame, 0) : -1;
	if (event.fd < 0)
		return -EPROTO;
	session_report(s, &event);
	return 0;
}

/* Without it nothing inside gets anywhere, and nothing would report it: better a new sandbox. */
void session_lose_relay(struct session *s)
{
	(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
	warden_session_lose(s, "the sandbox ended: its relay to the network died");
}

static int on_exited(struct session *s, struct command *c)
{
	struct report report;
	int r = report_decode(&report, s->frame.body, s->frame.len), relay;

	if (r < 0)
		return r;
	relay = session_settle(s);
	s->emptied = s->o.single;
	session_give_back(s, c);
	session_end(s, c, &report);
	if (relay < 0 && !s->gone)
		session_lose_relay(s);
	return 0;
}

/* A name that a command without a network asked for (warden/asked.h), why it is denied is the
 * holder's to say; or a port on which it waits for connections that cannot come: RECORD_FAILED. */
static int on_asked(struct session *s, const struct command *c)
{
	struct session_event event = { .kind = SESSION_RECORD, .id = c->id, .fd = -1 };
	struct record record;
	int r = record_decode(&record, s->frame.body, s->frame.len);

	if (r < 0)
		return r;
	if (!(record.kind == RECORD_DENIED && record.dns) &&
		!(record.kind == RECORD_FAILED && record.port))
		return -EPROTO;
	if (!*record.program && c->program && strlen(c->program) < RECORD_PROGRAM_MAX)
		record.program = c->program;
	event.record = &record;
	session_report(s, &event);
	/* It was said before the program can say what it thinks of the answer. */
	(void)frame_send(c->socket, FRAME_SETTLE, c->id, NULL, 0, NULL, 0);
	return 0;
}

static int on_owner(struct session *s)
{
	struct owner_answer a;
	int r;

	if (s->frame.len == sizeof(struct owner_program))
		return session_on_owner_program(s);
	r = session_on_owner_answer(s, &a);

	if (r == 1 && a.id & SESSION_OWNER_OF_NAME)
		session_name_owner(s, a.id, a.name);
	else if (r == 1)
		session_tell_owner(s, a.id, a.name);
	return r < 0 ? r : 0;
}

static int on_stopped(struct session *s, const struct command *c)
{
	struct session_event event = { .kind = SESSION_STOPPED, .id = c->id, .fd = -1 };
	uint32_t number;

	if (!s->o.single || s->frame.len != sizeof(number))
		return -EPROTO;
	memcpy(&number, s->frame.body, sizeof(number));
	event.report.signal = (int32_t)number;
	session_report(s, &event);
	return 0;
}

static int on_refused(struct session *s, struct command *c)
{
	struct refusal refusal;
	int r = refusal_decode(&refusal, s->frame.body, s->frame.len);

	if (r < 0)
		return r;
	/* FAILED: it could not even become an init. */
	if (s->frame.type == FRAME_REFUSED)
		session_give_back(s, c);
	session_refuse_as(s, c, &refusal);
	return 0;
}

static void on_command(struct session *s, struct command *c)
{
	int r = frame_receive(c->socket, &s->frame);

	if (r == -EAGAIN)
		return;
	if (r == 1 && s->frame.type == FRAME_STARTED && !c->started) {
		c->started = true;
		if (c->quiet && s->frame.n_fds == 0)
			return;
		session_report(s, &(struct session_event){ .kind = SESSION_STARTED,
					  .id = c->id,
					  .fd = frame_take_fd(&s->frame, 0) });
		return;
	}
	if (r == 1 && s->frame.type == FRAME_WITNESS && !c->started)
		r = on_witness(s, c);
	else if (r == 1 && s->frame.type == FRAME_RECORD && c->started)
		r = on_asked(s, c);
	else if (r == 1 && s->frame.type == FRAME_OWNER && c->started)
		r = on_owner(s);
	else if (r == 1 && s->frame.type == FRAME_EXITED && c->started)
		r = on_exited(s, c);
	else if (r == 1 && s->frame.type == FRAME_STOPPED && c->started)
		r = on_stopped(s, c);
	else if (r == 1 && (s->frame.type == FRAME_REFUSED || s->frame.type == FRAME_FAILED))
		r = on_refused(s, c);
	else if (r == 1 && s->frame.type == FRAME_GONE)
		r = session_lose_told(s);
	else
		r = -EPROTO;
	/* Also when it hung up: the pid namespace goes with the init. */
	if (r < 0) {
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
		session_lose(s, c, r);
	}
}

/* The loop. */

/* Each is called for an event of its descriptor, unless the session was lost in the same turn. */
#define SESSION_WATCHER(name, member, act)                                   \
	static void name(struct watcher *w, uint32_t events)                 \
	{                                                                    \
		struct session *s = container_of(w, struct session, member); \
                                                                             \
		(void)events;                                                \
		if (s->gone)                                                 \
			return;                                              \
		act;                                                         \
		session_ask_for_inits(s);                                    \
	}

SESSION_WATCHER(zygote_ready, zygote_watch, on_zygote(s))
SESSION_WATCHER(death_ready, death_watch, session_lose_zygote(s))
SESSION_WATCHER(timer_ready, timer_watch, session_pass_deadlines(s))
SESSION_WATCHER(broker_ready, broker_watch, session_lose_broker(s))
SESSION_WATCHER(broker_frames_ready, broker_frames_watch, session_on_broker(s))
SESSION_WATCHER(names_ready, names_watch, session_hear_names(s))
SESSION_WATCHER(relay_ready, relay_watch, if (session_hear_relay(s) < 0) session_lose_relay(s))

static void command_ready(struct watcher *w, uint32_t events)
{
	struct command *c = container_of(w, struct command, watch);
	struct session *s = c->session;

	(void)events;
	on_command(s, c);
	session_ask_for_inits(s);
}

int session_watch_zygote(struct session *s)
{
	int r = session_watch(s, &s->death_watch, death_ready, s->pidfd);

	return r < 0 ? r : session_watch(s, &s->zygote_watch, zygote_ready, s->socket);
}

int session_watch_timer(struct session *s)
{
	return session_watch(s, &s->timer_watch, timer_ready, s->timer);
}

int session_watch_relay(struct session *s)
{
	return session_watch(s, &s->relay_watch, relay_ready, s->relay.socket);
}

/* The pidfd reports its death; what it sent before is read first. */
int session_watch_broker(struct session *s)
{
	int r = session_watch(s, &s->broker_watch, broker_ready, broker_process_pidfd(s->broker));

	return r < 0 ? r
		     : session_watch(s, &s->broker_frames_watch, broker_frames_ready,
			       broker_process_socket(s->broker));
}

int session_watch_command(struct session *s, struct command *c)
{
	return session_watch(s, &c->watch, command_ready, c->socket);
}

int session_fd(const struct session *s)
{
	return loop_fd(s->loop);
}

struct loop *session_loop(const struct session *s)
{
	return s->loop;
}

bool session_is_gone(const struct session *s)
{
	return s->gone;
}

int session_dispatch(struct session *s)
{
	int r = s->gone ? 0 : loop_turn(s->loop, 0);

	return r < 0 ? r : s->gone ? -ECONNRESET : 0;
}
