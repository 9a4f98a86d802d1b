/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/join.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "audit/missed.h"
#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "holder/join-kept.h"
#include "holder/join-missed.h"
#include "host/daemon-place.h"
#include "wire/frame.h"
#include "wire/hold.h"
#include "wire/question.h"

enum {
	JOIN_PATIENCE_MS = 200,
	JOIN_ACK_MS = 1000, /* for a commit, if events could not be left in a file */
	JOIN_TURN = 64,     /* frames that are read at once: the daemon may send without end */
};

static int join_connect(struct holder_join *j)
{
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : daemon_place_connect("join.sock", fd);

	j->tried_ms = clock_ms(CLOCK_MONOTONIC);
	if (r == 0)
		j->fd = fd_take(&fd);
	return r;
}

static int join_look(void)
{
	auto_fd folder = -1;

	return daemon_place_look("join.sock", &folder);
}

bool holder_join_is_possible(void)
{
	return join_look() == 0;
}

int holder_join_open(struct holder_join *j)
{
	auto_buffer missed = { 0 };
	int r = join_look();

	j->was_there = r == 0;
	j->is_foreign = r == -EPERM;
	if (r < 0 && join_missed_place(&missed) < 0)
		return r;
	/* One that is not there is looked for later. */
	if (r < 0)
		j->tried_ms = clock_ms(CLOCK_MONOTONIC);
	j->kept = calloc(HOLDER_JOIN_KEPT, sizeof(*j->kept));
	j->frame = calloc(1, sizeof(*j->frame));
	j->is_on = j->kept && j->frame;
	return j->is_on ? 0 : -ENOMEM;
}

/* The process that it was handed to may have it open for a moment longer. */
static void join_hang_up(struct holder_join *j)
{
	if (j->fd >= 0 && j->handed)
		(void)shutdown(j->fd, SHUT_RDWR);
	fd_close(&j->fd);
}

/* The daemon is gone. It may have committed what it did not acknowledge: the next one looks. */
static void join_lose(struct holder_join *j)
{
	join_hang_up(j);
	j->is_known = j->is_same = false;
	j->is_unsure = j->is_unsure || j->first < j->sent;
	for (uint64_t i = j->first; holder_weights_sum(&j->forgotten) && i < j->next; i++)
		join_kept(j, i)->forgotten = (struct holder_weights){ 0 };
	holder_weights_move(&j->lost, &j->forgotten);
	j->acked = 0;
	j->sent = j->first;
}

/* 0: it was taken. -EAGAIN: later. */
static int join_send(
	struct holder_join *j, enum frame_type type, uint64_t id, const struct buffer *body)
{
	int r = j->fd < 0 ? -EAGAIN : frame_send(j->fd, type, id, body->data, body->len, NULL, 0);

	if (r < 0 && r != -EAGAIN) {
		join_lose(j);
		r = -EAGAIN;
	}
	return r;
}

int holder_join_hello(struct holder_join *j, const struct join *who)
{
	return join_encode(who, &j->hello);
}

/* The next one to be sent is to be in the log before, which is our matter. */
static bool join_is_early(const struct holder_join *j)
{
	const struct holder_join_frame *f = join_kept(j, j->sent);

	return j->is_same && f->type == FRAME_JOIN_EVENT && f->id > j->written;
}

/* An event stays until it is acknowledged. */
static void join_flush(struct holder_join *j)
{
	while (j->fd >= 0 && j->sent < j->next && !join_is_early(j)) {
		struct holder_join_frame *f = join_kept(j, j->sent);
		const uint64_t id = f->type != FRAME_JOIN_EVENT ? f->id
				    : j->is_same                ? JOIN_EVENT_WRITTEN
								: 0;

		j->is_blocked = f->type != FRAME_NONE && join_send(j, f->type, id, &f->body) < 0;
		if (j->is_blocked)
			break;
		if (f->type != FRAME_JOIN_EVENT) {
			buffer_deinit(&f->body);
			f->type = FRAME_NONE;
		}
		j->sent++;
	}
	join_forget(j);
}

/* Who has a loop comes back when the daemon has let us in, and knows then where in the log its
 * events can be. Who has none cannot wait for that. */
static bool join_may_send(const struct holder_join *j)
{
	return j->fd >= 0 && (j->is_known || !j->delay_ms);
}

static uint64_t join_left_ms(const struct holder_join *j)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC), due = j->since_ms + j->delay_ms;

	return due > now && j->next - j->sent < HOLDER_JOIN_CROWDED ? due - now : 0;
}

void holder_join_send(struct holder_join *j, enum frame_type type, uint64_t id, struct buffer *body)
{
	struct holder_join_frame f = { .type = type, .id = id, .weight = HOLDER_WEIGHT_HEAVY };

	if (!j->is_on || j->fd < 0 || body->failed)
		return;
	f.body = *body;
	*body = (struct buffer){ 0 };
	join_keep(j, &f);
	if (join_may_send(j))
		join_flush(j);
}

/* What is missing is said at its place. */
static void join_tell_lost(struct holder_join *j, const struct audit_event *like)
{
	auto_buffer body = { 0 }, reason = { 0 };
	const struct audit_event e = join_lost(like, &j->lost, &reason);

	audit_event_encode(&e, &body);
	if (body.failed)
		return;
	j->lost = (struct holder_weights){ 0 };
	join_keep_event(j, &e, 0, &body);
}

void holder_join_tell(void *context, const struct audit_event *e)
{
	struct holder_join *j = context;
	auto_buffer body = { 0 };

	if (!j->is_on)
		return;
	j->told++;
	audit_event_encode(e, &body);
	if (body.failed)
		return;
	/* Its log has them. */
	if (j->is_same)
		j->lost = (struct holder_weights){ 0 };
	if (holder_weights_sum(&j->lost) > 0 && j->is_known && j->sent == j->next)
		join_tell_lost(j, e);
	join_keep_event(j, e, j->told, &body);
}

/* Who has no loop hands it to the process that has one. Without that process we hear it ourselves.
 */
static void join_hand_over(struct holder_join *j)
{
	if (j->fd < 0 || j->hear < 0)
		return;
	if (frame_send(j->hear, FRAME_HOLD_CONNECTION, ++j->handed, NULL, 0, &j->fd, 1) < 0)
		join_lose(j);
}

int holder_join_adopt(struct holder_join *j, int fd)
{
	if (!j->kept)
		j->kept = calloc(HOLDER_JOIN_KEPT, sizeof(*j->kept));
	if (!j->kept) {
		fd_close(&fd);
		return -ENOMEM;
	}
	join_lose(j);
	j->is_on = j->is_adopted = true;
	j->fd = fd;
	join_drop_orders(j);
	return 0;
}

void holder_join_accepted(struct holder_join *j)
{
	j->is_known = true;
	if (j->handler.joined)
		j->handler.joined(j->handler.context);
}

void holder_join_lose(struct holder_join *j)
{
	join_lose(j);
}

static void join_again(struct holder_join *j)
{
	if (j->other.text[0] || j->is_adopted)
		return;
	if (j->tried_ms && clock_ms(CLOCK_MONOTONIC) - j->tried_ms < HOLDER_JOIN_AGAIN_MS)
		return;
	if (join_connect(j) < 0)
		return;
	join_drop_orders(j);
	(void)join_send(j, FRAME_JOIN, j->is_unsure ? j->number + 1 : 0, &j->hello);
	join_hand_over(j);
}

void holder_join_connect(struct holder_join *j)
{
	if (j->is_on && j->fd < 0)
		join_again(j);
}

static bool join_is_order(enum frame_type type)
{
	return type == FRAME_ANSWER || type == FRAME_GRANT || type == FRAME_REVOKE;
}

/* By the folder that the daemon named: it may have another environment, and so another log. */
static void join_compare_logs(struct holder_join *j)
{
	if (j->log)
		j->is_written = join_missed_open(j) == 0 && audit_missed_is_of(j->folder, j->log);
}

static bool join_is_folder(const struct frame *f)
{
	const char *path = f->body;

	return f->len == 0 || (path[0] == '/' && memchr(path, '\0', f->len) == path + f->len - 1);
}

/* A user may join a daemon of root, which does not say where the user writes. */
static bool join_is_of_our_user(const struct holder_join *j)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(j->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       cred.uid == geteuid();
}

static void join_on_joined(struct holder_join *j, struct frame *f)
{
	const bool is_named = f->len && join_is_of_our_user(j);

	j->is_known = true;
	if (!j->is_unsure)
		j->number = f->id;
	buffer_clear(&j->missed);
	fd_close(&j->folder);
	fd_close(&j->prepared);
	if (is_named) {
		buffer_adds(&j->missed, f->body);
		j->prepared = frame_take_fd(f, 0);
	}
	if (j->prepared >= 0 && !audit_missed_is_prepared(j->prepared))
		fd_close(&j->prepared);
	join_compare_logs(j);
	j->is_same = j->log && j->is_written && is_named;
	/* Who has a loop waits for its sandbox now. */
	if (j->delay_ms && !j->is_written && join_missed_open(j) == 0 && j->prepared < 0)
		(void)audit_missed_prepare(j->folder, &j->prepared);
	if (j->handler.joined)
		j->handler.joined(j->handler.context);
}

static void join_on_order(struct holder_join *j, const struct frame *f)
{
	const struct join_reply no = { .error = EOPNOTSUPP,
		.text = "this sandbox takes no changes from the daemon while it runs" };
	auto_buffer body = { 0 };

	if (j->handler.order)
		j->handler.order(j->handler.context, f->type, f->id, f->body, f->len);
	else if (join_reply_encode(&no, &body) == 0)
		holder_join_send(j, FRAME_JOIN_REPLY, f->id, &body);
}

/* So many events of this connection are committed. */
static int join_on_ack(struct holder_join *j, const struct frame *f)
{
	uint64_t n = f->id - j->acked;

	if (f->id <= j->acked || f->len != sizeof(j->number))
		return -EPROTO;
	for (; n > 0 && j->first < j->next; j->first++) {
		struct holder_join_frame *kept = join_kept(j, j->first);

		n = join_ack_forgotten(j, kept, n);
		if (n == 0 || j->first == j->sent)
			break;
		n -= kept->type == FRAME_JOIN_EVENT;
		buffer_deinit(&kept->body);
	}
	join_forget(j);
	memcpy(&j->number, f->body, sizeof(j->number));
	j->acked = f->id;
	j->is_unsure = false;
	return n > 0 ? -EPROTO : 0;
}

/* The daemon is of another version. It stays so for as long as we are here: it is not asked again,
 * and gets what we leave for it. */
static void join_refuse_other(struct holder_join *j)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	char name[64] = "the daemon";

	if (getsockopt(j->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0)
		(void)snprintf(name, sizeof(name), "the daemon with pid %d", (int)peer.pid);
	(void)frame_explain(j->frame, name, &j->other);
	error_hint(&j->other,
		"restart the daemon: `systemctl --user restart corrald`, or end it and "
		"start corrald again; until then what it would record is left for it in "
		"files");
}

/* The process that holds the connection hears another one, or none any more. */
static void join_on_connection(struct holder_join *j, struct frame *f)
{
	struct hold_lost lost;

	if (f->len == 0) {
		j->heard = f->id;
		return;
	}
	if (f->id != j->handed || hold_lost_decode(&lost, f->body, f->len) < 0)
		return;
	if (lost.protocol && j->fd >= 0) {
		f->peer_protocol = (uint16_t)lost.protocol;
		memcpy(f->peer_build, lost.build, sizeof(f->peer_build));
		join_refuse_other(j);
	}
	join_lose(j);
}

static bool join_is_daemons(enum frame_type type)
{
	return type == FRAME_JOINED || type == FRAME_JOIN_ACK || type == FRAME_JOIN_STOP;
}

/* One frame, or the end. True: the command is to end. */
static bool join_take(struct holder_join *j, int r, struct frame *f)
{
	if (r == -EPROTONOSUPPORT)
		join_refuse_other(j);
	if (r == 1 && f->type == FRAME_JOIN_STOP && f->len == 0)
		return true;
	if (r == 1 && f->type == FRAME_JOINED && join_is_folder(f) && !j->is_known)
		join_on_joined(j, f);
	else if (r == 1 && f->type == FRAME_JOIN_ACK && join_on_ack(j, f) == 0)
		return false;
	else if (r == 1 && join_is_order(f->type))
		join_on_order(j, f);
	else
		join_lose(j);
	return false;
}

/* What the process says that holds the connection. */
static bool join_take_heard(struct holder_join *j, int r, struct frame *f)
{
	if (r == 1 && f->type == FRAME_HOLD_CONNECTION) {
		join_on_connection(j, f);
	} else if (r == 1 && join_is_daemons(f->type)) {
		/* Of one before: what it acknowledged is not known to be of this one. */
		if (j->fd >= 0 && j->heard == j->handed)
			return join_take(j, r, f);
		return f->type == FRAME_JOIN_STOP;
	} else if (r == 1) {
		j->handler.frame(j->handler.context, f);
	} else {
		j->hear = -1;
		join_lose(j);
		j->handler.frame(j->handler.context, NULL);
	}
	return false;
}

/* Reads what the daemon says, so much at a time; true if the command is to end. */
static bool join_hear(struct holder_join *j)
{
	const bool is_held = j->hear >= 0;
	struct frame *f = j->frame;
	bool stops = false;

	for (int i = 0; (is_held ? j->hear : j->fd) >= 0 && i < JOIN_TURN; i++) {
		int r = frame_receive(is_held ? j->hear : j->fd, f);

		if (r == -EAGAIN)
			break;
		if (is_held ? join_take_heard(j, r, f) : join_take(j, r, f))
			stops = true;
	}
	frame_deinit(f);
	return stops;
}

bool holder_join_dispatch(struct holder_join *j, bool is_readable)
{
	bool stops;

	if (!j->is_on)
		return false;
	stops = is_readable && join_hear(j);
	holder_join_connect(j);
	if (join_may_send(j) && j->sent < j->next && join_left_ms(j) == 0)
		join_flush(j);
	return stops;
}

int holder_join_wait_ms(const struct holder_join *j, int otherwise)
{
	int ms;

	/* Acknowledgements, and JOINED, come by themselves; who writes the log comes back for that.
	 */
	if (!j->is_on ||
		(j->fd >= 0 && (!join_may_send(j) || j->sent == j->next || join_is_early(j))))
		return otherwise;
	ms = j->fd >= 0 && !j->is_blocked ? (int)join_left_ms(j) : HOLDER_JOIN_AGAIN_MS;
	return otherwise < 0 || otherwise > ms ? ms : otherwise;
}

/*
 * What no daemon acknowledged, as a file. Where that cannot be done, it is lost; -EDQUOT: there are
 * too many files.
 */
static int join_leave_missed(struct holder_join *j)
{
	/* Also those that are about to be sent. */
	struct audit_missed_name name = {
		.is_noted = j->is_unsure || j->is_known || j->first < j->sent, .number = j->number
	};
	uint8_t last[JOIN_LOST_BYTES];
	auto_buffer bytes = { 0 }, none = { 0 }, reason = { 0 };
	struct holder_weights lost = j->lost, forgotten = j->forgotten;
	struct audit_event e;
	int r = join_missed_open(j);

	if (r < 0)
		return join_is_unwanted(r) ? 0 : r;
	holder_weights_move(&lost, &forgotten);
	if (!join_collect_missed(j, &bytes, &lost, &e))
		return 0;
	if (holder_weights_sum(&lost)) {
		const struct audit_event missing = join_lost(&e, &lost, &reason);

		(void)audit_missed_add(
			&bytes, last, audit_event_pack(&missing, last, sizeof(last)), 0);
	}
	if (snprintf(name.id, sizeof(name.id), "%s", e.session) != AUDIT_MISSED_ID)
		return 0;
	r = audit_missed_put(j->folder, j->prepared, &name, &bytes);
	/* The rest is sent now, so that the daemon wakes once. If it gets all, it need not read the
	 * file. */
	if (j->is_known)
		join_flush(j);
	if (r == 0 && !holder_weights_sum(&j->lost) && j->is_known && j->sent == j->next)
		(void)join_send(j, FRAME_JOIN_LEFT, j->number, &none);
	return r;
}

static int join_heard_fd(const struct holder_join *j)
{
	return j->hear >= 0 ? j->hear : j->fd;
}

/* The process that holds the connection may have other things to say first. */
static void join_await_joined(struct holder_join *j)
{
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + JOIN_PATIENCE_MS;

	do {
		if (wait_for_one(join_heard_fd(j), POLLIN, end) <= 0)
			return;
		(void)join_hear(j);
	} while (j->fd >= 0 && !j->is_known);
}

/* What was sent is safe when the daemon has committed it, and not before. */
static void join_await_ack(struct holder_join *j)
{
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + JOIN_ACK_MS;

	while (j->fd >= 0 && j->is_known && j->first < j->next &&
		wait_for_one(join_heard_fd(j), POLLIN, end) > 0)
		(void)join_hear(j);
}

/* They could not be left, and no daemon has acknowledged them. */
static uint64_t join_tell_missing(struct holder_join *j, int error, struct error *why)
{
	const uint64_t unsent = join_events(j, j->sent), n = join_events(j, j->first) +
							     holder_weights_sum(&j->lost) +
							     holder_weights_sum(&j->forgotten);

	if (n && error == -EDQUOT) {
		audit_missed_count(j->folder, n);
		(void)error_set(why, error, NULL,
			"%" PRIu64 " events of this run are not in the daemon's log: %d runs have "
			"left theirs, and no daemon took them",
			n, AUDIT_MISSED_FILES_MAX);
	} else if (unsent) {
		(void)error_set(why, error, NULL,
			"%" PRIu64 " events of this run are not in the daemon's log: they cannot "
			"be left in %s: %s",
			n, buffer_text(&j->missed), strerror(-error));
	} else if (n) {
		(void)error_set(why, error, NULL,
			"%" PRIu64 " events of this run may not be in the daemon's log: it has "
			"not written them yet, and they cannot be left in %s: %s",
			n, buffer_text(&j->missed), strerror(-error));
		error_hint(why, "make room there while the daemon runs: `corral status` shows "
				"whether it can write its log");
	}
	return n;
}

uint64_t holder_join_close(struct holder_join *j, struct error *why)
{
	uint64_t missing = 0;
	int r = 0;

	j->delay_ms = 0;
	/* Nothing more is sent to a daemon that has not let us in: what it would not read is left
	 * for it. */
	holder_join_connect(j);
	if (j->is_on && j->fd >= 0 && !j->is_known)
		join_await_joined(j);
	if (j->is_on && j->fd >= 0)
		(void)join_hear(j);
	if (j->is_on)
		join_compare_logs(j);
	if (j->is_on && j->first < j->next && !j->is_written)
		r = join_leave_missed(j);
	if (j->is_on && j->is_known)
		join_flush(j);
	if (r < 0) {
		join_await_ack(j);
		missing = join_tell_missing(j, r, why);
	}
	if (why && missing == 0 && j->other.text[0])
		*why = j->other;
	for (; j->kept && j->first < j->next; j->first++)
		buffer_deinit(&join_kept(j, j->first)->body);
	free(j->kept);
	free(j->frame);
	buffer_deinit(&j->hello);
	buffer_deinit(&j->missed);
	fd_close(&j->prepared);
	fd_close(&j->folder);
	join_hang_up(j);
	*j = HOLDER_JOIN_NONE;
	return missing;
}
