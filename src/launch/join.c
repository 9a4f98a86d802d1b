/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/join.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "audit/missed.h"
#include "base/clock.h"
#include "base/fd.h"
#include "host/daemon-place.h"
#include "wire/frame.h"
#include "wire/question.h"

enum {
	JOIN_PATIENCE_MS = 200,
	JOIN_LOST_BYTES = 1024, /* for the event that says how many are missing */
};

static int join_connect(struct launch_join *j)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_buffer path = { 0 };
	auto_fd fd = -1;
	int r = daemon_place("join.sock", &path);

	j->tried_ms = clock_ms(CLOCK_MONOTONIC);
	if (r < 0)
		return r;
	if (path.len >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	memcpy(a.sun_path, path.data, path.len);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	j->fd = fd_take(&fd);
	j->is_known = false;
	return 0;
}

static int join_look(void)
{
	auto_buffer path = { 0 };
	int r = daemon_place("join.sock", &path);

	return r == 0 && access(buffer_text(&path), F_OK) < 0 ? -errno : r;
}

bool launch_join_is_possible(void)
{
	return join_look() == 0;
}

/* A daemon made this folder once. Without XDG_RUNTIME_DIR root's daemon is the system's. */
static int join_missed_place(struct buffer *out)
{
	int r = -ENOENT;

	if (geteuid() == 0 && !secure_getenv("XDG_RUNTIME_DIR"))
		r = audit_missed_place(true, out);
	if (r < 0 || access(buffer_text(out), F_OK) < 0) {
		buffer_clear(out);
		r = audit_missed_place(false, out);
		if (r == 0 && access(buffer_text(out), F_OK) < 0)
			r = -errno;
	}
	return r;
}

int launch_join_open(struct launch_join *j)
{
	auto_buffer missed = { 0 };
	int r = join_look();

	j->was_there = r == 0;
	if (r < 0 && join_missed_place(&missed) < 0)
		return r;
	/* One that is not there is looked for later. */
	if (r < 0)
		j->tried_ms = clock_ms(CLOCK_MONOTONIC);
	j->kept = calloc(LAUNCH_JOIN_KEPT, sizeof(*j->kept));
	j->frame = calloc(1, sizeof(*j->frame));
	j->is_on = j->kept && j->frame;
	return j->is_on ? 0 : -ENOMEM;
}

/* 0: it was taken, or there is no other side. -EAGAIN: later. */
static int join_send(
	struct launch_join *j, enum frame_type type, uint64_t id, const struct buffer *body)
{
	int r = j->fd < 0 ? -EAGAIN : frame_send(j->fd, type, id, body->data, body->len, NULL, 0);

	if (r < 0 && r != -EAGAIN) {
		fd_close(&j->fd);
		r = -EAGAIN;
	}
	return r;
}

int launch_join_hello(struct launch_join *j, const struct join *who)
{
	return join_encode(who, &j->hello);
}

static void join_flush(struct launch_join *j)
{
	while (j->first < j->next) {
		struct launch_join_frame *f = &j->kept[j->first % LAUNCH_JOIN_KEPT];

		j->is_blocked = f->type != FRAME_NONE && join_send(j, f->type, f->id, &f->body) < 0;
		if (j->is_blocked)
			return;
		buffer_deinit(&f->body);
		j->first++;
	}
}

static uint64_t join_left_ms(const struct launch_join *j)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC), due = j->since_ms + j->delay_ms;

	return due > now && j->next - j->first < LAUNCH_JOIN_CROWDED ? due - now : 0;
}

static void join_keep(struct launch_join *j, enum frame_type type, uint64_t id, struct buffer *body)
{
	struct launch_join_frame *place = &j->kept[j->next % LAUNCH_JOIN_KEPT];

	if (j->next - j->first == LAUNCH_JOIN_KEPT) {
		j->lost += place->type == FRAME_JOIN_EVENT;
		buffer_deinit(&place->body);
		j->first++;
	}
	if (j->delay_ms && j->next == j->first)
		j->since_ms = clock_ms(CLOCK_MONOTONIC);
	*place = (struct launch_join_frame){ type, id, *body };
	*body = (struct buffer){ 0 };
	j->next++;
}

void launch_join_send(struct launch_join *j, enum frame_type type, uint64_t id, struct buffer *body)
{
	if (!j->is_on || j->fd < 0 || body->failed)
		return;
	join_keep(j, type, id, body);
	join_flush(j);
}

/* What was for another daemon: this one hears of what there is now. */
static void join_drop_orders(struct launch_join *j)
{
	for (uint64_t i = j->first; i < j->next; i++) {
		struct launch_join_frame *f = &j->kept[i % LAUNCH_JOIN_KEPT];

		if (f->type != FRAME_JOIN_EVENT)
			f->type = FRAME_NONE;
	}
}

/* Says how many are missing, in the words of one that is there. */
static struct audit_event join_lost(const struct audit_event *like, uint64_t n)
{
	struct audit_event e = *like;

	e.action = AUDIT_STORE;
	e.decision = AUDIT_NONE;
	e.target = "daemon";
	e.reason = "events were dropped while the daemon was away";
	e.rule = "";
	e.count = n;
	return e;
}

/* What is missing is said at its place. */
static void join_tell_lost(struct launch_join *j, const struct audit_event *like)
{
	const struct audit_event e = join_lost(like, j->lost);
	auto_buffer body = { 0 };

	audit_event_encode(&e, &body);
	if (body.failed || join_send(j, FRAME_JOIN_EVENT, 0, &body) < 0)
		return;
	j->lost = 0;
}

void launch_join_tell(void *context, const struct audit_event *e)
{
	struct launch_join *j = context;
	auto_buffer body = { 0 };

	if (!j->is_on)
		return;
	audit_event_encode(e, &body);
	if (body.failed)
		return;
	if (j->lost > 0 && j->first == j->next)
		join_tell_lost(j, e);
	join_keep(j, FRAME_JOIN_EVENT, 0, &body);
}

static void join_again(struct launch_join *j)
{
	if (j->tried_ms && clock_ms(CLOCK_MONOTONIC) - j->tried_ms < LAUNCH_JOIN_AGAIN_MS)
		return;
	if (join_connect(j) < 0)
		return;
	join_drop_orders(j);
	(void)join_send(j, FRAME_JOIN, 0, &j->hello);
}

void launch_join_connect(struct launch_join *j)
{
	if (j->is_on && j->fd < 0)
		join_again(j);
}

static bool join_is_order(enum frame_type type)
{
	return type == FRAME_ANSWER || type == FRAME_GRANT || type == FRAME_REVOKE;
}

static void join_on_joined(struct launch_join *j)
{
	j->is_known = true;
	if (j->handler.joined)
		j->handler.joined(j->handler.context);
}

static void join_on_order(struct launch_join *j, const struct frame *f)
{
	const struct join_reply no = { .error = EOPNOTSUPP,
		.text = "this sandbox takes no changes from the daemon while it runs" };
	auto_buffer body = { 0 };

	if (j->handler.order)
		j->handler.order(j->handler.context, f->type, f->id, f->body, f->len);
	else if (join_reply_encode(&no, &body) == 0)
		launch_join_send(j, FRAME_JOIN_REPLY, f->id, &body);
}

/* Reads what the daemon says; true if the command is to end. */
static bool join_hear(struct launch_join *j)
{
	struct frame *f = j->frame;
	bool stops = false;

	while (j->fd >= 0) {
		int r = frame_receive(j->fd, f);

		if (r == -EAGAIN)
			break;
		if (r == 1 && f->type == FRAME_JOIN_STOP && f->len == 0)
			stops = true;
		else if (r == 1 && f->type == FRAME_JOINED && f->len == 0)
			join_on_joined(j);
		else if (r == 1 && join_is_order(f->type))
			join_on_order(j, f);
		else
			fd_close(&j->fd);
	}
	frame_deinit(f);
	return stops;
}

bool launch_join_dispatch(struct launch_join *j, bool is_readable)
{
	bool stops;

	if (!j->is_on)
		return false;
	stops = is_readable && join_hear(j);
	launch_join_connect(j);
	if (j->fd >= 0 && j->first < j->next && join_left_ms(j) == 0)
		join_flush(j);
	return stops;
}

int launch_join_wait_ms(const struct launch_join *j, int otherwise)
{
	int ms;

	if (!j->is_on || (j->fd >= 0 && j->first == j->next))
		return otherwise;
	ms = j->fd >= 0 && !j->is_blocked ? (int)join_left_ms(j) : LAUNCH_JOIN_AGAIN_MS;
	return otherwise < 0 || otherwise > ms ? ms : otherwise;
}

/* What no daemon took, as a file for the next one. Where that cannot be done, it is lost. */
static void join_leave_missed(struct launch_join *j)
{
	uint8_t last[JOIN_LOST_BYTES];
	auto_buffer place = { 0 }, bytes = { 0 };
	uint64_t lost = j->lost;
	struct audit_event e;
	auto_fd folder = -1;
	bool is_any = false;

	if (join_missed_place(&place) < 0 || audit_missed_open(buffer_text(&place), &folder) < 0)
		return;
	for (uint64_t i = j->first; i < j->next; i++) {
		const struct launch_join_frame *f = &j->kept[i % LAUNCH_JOIN_KEPT];

		if (f->type != FRAME_JOIN_EVENT ||
			audit_event_decode(&e, f->body.data, f->body.len) < 0)
			continue;
		is_any = true;
		/* Once one does not fit, those after it are left out, too. */
		if (lost > j->lost ||
			!audit_missed_add(&bytes, f->body.data, f->body.len, sizeof(last)))
			lost++;
	}
	if (!is_any)
		return;
	if (lost) {
		const struct audit_event missing = join_lost(&e, lost);

		(void)audit_missed_add(
			&bytes, last, audit_event_pack(&missing, last, sizeof(last)), 0);
	}
	(void)audit_missed_put(folder, e.session, &bytes);
}

void launch_join_close(struct launch_join *j)
{
	j->delay_ms = 0;
	/* Nothing more is sent to a daemon that has not let us in: what it would not read is left
	 * for it. */
	launch_join_connect(j);
	if (j->is_on && j->fd >= 0 && !j->is_known &&
		poll(&(struct pollfd){ .fd = j->fd, .events = POLLIN }, 1, JOIN_PATIENCE_MS) == 1)
		(void)join_hear(j);
	if (j->is_on && j->is_known)
		join_flush(j);
	if (j->is_on && j->first < j->next && !j->is_written)
		join_leave_missed(j);
	for (; j->kept && j->first < j->next; j->first++)
		buffer_deinit(&j->kept[j->first % LAUNCH_JOIN_KEPT].body);
	free(j->kept);
	free(j->frame);
	buffer_deinit(&j->hello);
	fd_close(&j->fd);
	*j = LAUNCH_JOIN_NONE;
}
