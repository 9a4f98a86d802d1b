/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a broker and the holder of its session say to each other while it serves: questions,
 * answers (the relay's, too), grants, and events for the log. One that breaks a rule is killed, and
 * started again as one that died.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/wait.h"
#include "warden/session/internal.h"
#include "wire/event.h"

enum {
	BROKER_FRAMES_MAX = 16,
	BROKER_BACKLOG_MAX = 4096, /* more than its socket holds */
};

static int broker_frames_on_question(struct session *s)
{
	struct session_event event = { .kind = SESSION_QUESTION, .id = s->frame.id, .fd = -1 };
	struct question q;
	int r = question_decode(&q, s->frame.body, s->frame.len);

	event.question = &q;
	/* Those are the relay's, and so are their answers. */
	if (s->frame.id & QUESTION_OF_RELAY)
		r = -EPROTO;
	if (r == 0)
		session_report(s, &event);
	return r;
}

static int broker_frames_on_over(struct session *s)
{
	struct session_event event = { .kind = SESSION_QUESTION_OVER, .id = s->frame.id, .fd = -1 };
	int r = question_over_decode(&event.end, s->frame.body, s->frame.len);

	if (s->frame.id & QUESTION_OF_RELAY)
		r = -EPROTO;
	if (r == 0)
		session_report(s, &event);
	return r;
}

static int broker_frames_on_grants(struct session *s)
{
	struct session_event event = { .kind = SESSION_GRANTS, .id = s->frame.id, .fd = -1 };
	int r = s->frame.len ? refusal_decode(&event.refusal, s->frame.body, s->frame.len) : 0;

	/* Grants that a restarted broker got back (id 0) were confirmed before. */
	if (r == 0 && s->frame.id)
		session_report(s, &event);
	return r;
}

/* It was started again. */
static int broker_frames_on_ready(struct session *s)
{
	return s->granted.len ? frame_send(broker_process_socket(s->broker), FRAME_GRANTS, 0,
					s->granted.data, s->granted.len, NULL, 0)
			      : 0;
}

/* Whoever reads the event checks its bytes. */
static int broker_frames_on_event(struct session *s)
{
	const struct session_event event = { .kind = SESSION_CALL,
		.id = s->frame.id,
		.fd = -1,
		.call_body = s->frame.body,
		.call_len = s->frame.len };

	if (event_check(&s->frame) < 0)
		return -EPROTO;
	session_report(s, &event);
	return 0;
}

static int broker_frames_take(struct session *s)
{
	switch (s->frame.type) {
	case FRAME_QUESTION:
		return broker_frames_on_question(s);
	case FRAME_QUESTION_OVER:
		return broker_frames_on_over(s);
	case FRAME_GRANTS:
		return broker_frames_on_grants(s);
	case FRAME_READY:
		return broker_frames_on_ready(s);
	case FRAME_EVENT:
		return broker_frames_on_event(s);
	case FRAME_FAILED: /* It ends, which is heard elsewhere. */
		broker_process_note(s->broker, &s->frame);
		return 0;
	default:
		return -EPROTO;
	}
}

/* 0: there may be more. -EAGAIN: not now. */
static int broker_frames_hear(struct session *s, int max)
{
	int r = 0;

	for (int i = 0; r == 0 && i < max; i++) {
		r = frame_receive(broker_process_socket(s->broker), &s->frame);
		if (r == 1)
			r = broker_frames_take(s);
		else if (r == 0)
			r = -EPIPE;
	}
	return r;
}

/* What it says cannot be trusted. */
static void broker_frames_kill(struct session *s)
{
	(void)syscall(SYS_pidfd_send_signal, broker_process_pidfd(s->broker), SIGKILL, NULL, 0);
}

static bool broker_frames_is_broken(int r)
{
	return r < 0 && r != -EAGAIN && r != -EINTR && r != -EPIPE && r != -ECONNRESET;
}

void session_catch_up_broker(struct session *s)
{
	if (s->broker && broker_process_socket(s->broker) >= 0 &&
		broker_frames_is_broken(broker_frames_hear(s, BROKER_BACKLOG_MAX)))
		broker_frames_kill(s);
}

void session_finish_broker(struct session *s)
{
	uint64_t end;
	int ms, r = s->broker ? broker_process_finish(s->broker, &ms) : -ENOTCONN;

	if (r < 0)
		return;
	end = clock_ms(CLOCK_MONOTONIC) + (uint64_t)ms;
	do
		r = broker_frames_hear(s, BROKER_FRAMES_MAX);
	while ((r == 0 || r == -EAGAIN || r == -EINTR) &&
		wait_for_one(broker_process_socket(s->broker), POLLIN, end) > 0);
	if (r == -EPIPE || r == -ECONNRESET)
		broker_process_finished(s->broker);
}

void session_on_broker(struct session *s)
{
	int r = broker_frames_hear(s, BROKER_FRAMES_MAX);

	if (r == 0 || r == -EAGAIN || r == -EINTR)
		return;
	loop_remove(s->loop, &s->broker_frames_watch);
	if (broker_frames_is_broken(r))
		broker_frames_kill(s);
}

int session_answer(struct session *s, uint64_t question, const struct answer *a)
{
	const int socket = question & QUESTION_OF_RELAY ? s->relay.socket
			   : s->broker                  ? broker_process_socket(s->broker)
							: -1;
	auto_buffer body = { 0 };
	int r = socket >= 0 ? answer_encode(a, &body) : -ENOTCONN;

	return r < 0 ? r
		     : frame_send(socket, FRAME_ANSWER, question & ~QUESTION_OF_RELAY, body.data,
			       body.len, NULL, 0);
}

int session_grant(struct session *s, uint64_t id, const struct live_grant *grants, size_t n)
{
	auto_buffer body = { 0 };
	int r = s->broker && broker_process_socket(s->broker) >= 0
			? live_grants_encode(grants, n, &body)
			: -ENOTCONN;

	if (r == 0)
		r = frame_send(broker_process_socket(s->broker), FRAME_GRANTS, id, body.data,
			body.len, NULL, 0);
	if (r < 0)
		return r;
	/* One that is started again begins with what was in force, not with what was refused. */
	buffer_deinit(&s->granted);
	s->granted = body;
	body = (struct buffer){ 0 };
	return 0;
}
