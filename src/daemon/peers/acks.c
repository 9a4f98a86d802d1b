/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run keeps its events until they are committed here. After a commit each connection gets one
 * frame that says how many of its events that includes; one that does not take it gets the next.
 *
 * A run that was connected to another daemon sends again what that one did not acknowledge. What of
 * it is in the log is passed over, and acknowledged like the rest. As long as some of it is not
 * acknowledged, the number that goes with an acknowledgement is the one that the run came with:
 * what it leaves or sends again must be looked for from there.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/peers/acks.h"
#include "daemon/peers/known.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"

/* More than a run keeps: what it sends after so many is new. */
enum { ACKS_AGAIN_MAX = 4096 };

int acks_open(struct sandbox *b, const char *session, uint64_t id)
{
	int r;

	if (id == 0)
		return 0;
	b->acks.since = id - 1;
	r = known_read(b->s, session, b->acks.since, &b->acks.known);
	if (r == 0)
		return 0;
	journal_say(b->s, CONFIG_DEBUG, "pid %d is to join again later: the log cannot be read: %s",
		(int)b->peer.pid, strerror(-r));
	return -EBUSY;
}

void acks_joined(struct sandbox *b)
{
	struct missed *m = &b->s->peers.missed;
	const bool is_kept = m->presence >= 0;
	const bool is_given =
		m->prepared >= 0 && b->who.kind == JOIN_RUN && b->peer.uid == geteuid();
	uint64_t number;

	(void)audit_trail_committed(b->s->journal.trail, &number);
	(void)frame_send(b->watcher.fd, FRAME_JOINED, number, is_kept ? m->folder.data : NULL,
		is_kept ? m->folder.len + 1 : 0, is_given ? &m->prepared : NULL, is_given);
	if (is_given)
		fd_close(&m->prepared);
}

bool acks_has(struct sandbox *b, const struct audit_event *e)
{
	struct acks *a = &b->acks;

	a->received++;
	if (known_take(&a->known, e)) {
		a->doubt = a->received;
		b->s->peers.is_ack_due = true;
		return true;
	}
	if (a->received >= ACKS_AGAIN_MAX)
		known_deinit(&a->known);
	return false;
}

void acks_pass(struct sandbox *b)
{
	b->acks.received++;
	b->s->peers.is_ack_due = true;
}

void acks_note(struct sandbox *b, uint64_t number)
{
	struct acks *a = &b->acks;

	a->last = number;
	if (!a->mark) {
		a->mark = number;
		a->marked = a->received;
		(void)audit_trail_committed(b->s->journal.trail, &a->mark_log);
	}
}

int acks_on_left(struct sandbox *b, const struct frame *f)
{
	if (!b->who.id || f->len > 0)
		return -EPROTO;
	b->acks.has_left = true;
	b->acks.left_number = f->id;
	return 0;
}

void acks_close(struct sandbox *b)
{
	if (b->acks.has_left)
		missed_leave(b->s, b->who.id, b->acks.left_number, b->acks.last);
	else if (b->who.id)
		missed_look_soon(b->s);
	missed_prepare(b->s);
	known_deinit(&b->acks.known);
}

/*
 * Up to the last event; or, if more came since the commit, up to the one that was marked, with the
 * number that the log had then: some of those behind the mark are committed, too.
 */
static void acks_tell(struct sandbox *b, uint64_t committed, uint64_t number)
{
	struct acks *a = &b->acks;
	uint64_t count = a->told, behind = number;

	if (a->last <= committed) {
		count = a->received;
		a->mark = 0;
	} else if (a->mark <= committed) {
		count = a->marked;
		behind = a->mark_log;
		a->mark = a->last;
		a->marked = a->received;
		a->mark_log = number;
	}
	if (count == a->told)
		return;
	if (a->known.n > 0 || count < a->doubt)
		behind = a->since;
	if (frame_send(b->watcher.fd, FRAME_JOIN_ACK, count, &behind, sizeof(behind), NULL, 0) == 0)
		a->told = count;
}

/* Which events were lost is not known: all who may have sent them send again what is not
 * acknowledged. */
static void acks_on_lost(struct supervisor *s)
{
	sandboxes_for_each(b, s)
	{
		if (b->acks.told < b->acks.received)
			sandboxes_drop(b);
	}
	missed_doubt(s);
}

void acks_turn(struct supervisor *s)
{
	uint64_t number;
	const uint64_t committed = audit_trail_committed(s->journal.trail, &number),
		       lost = audit_trail_lost(s->journal.trail);

	if (committed == s->peers.acknowledged && !s->peers.is_ack_due)
		return;
	if (lost != s->peers.lost)
		acks_on_lost(s);
	s->peers.lost = lost;
	s->peers.acknowledged = committed;
	s->peers.is_ack_due = false;
	sandboxes_for_each(b, s) acks_tell(b, committed, number);
	missed_settle(s, committed);
}
