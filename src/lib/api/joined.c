/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/joined.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "codec/encoding.h"
#include "lib/api/audit-handle.h"
#include "lib/api/internal.h"
#include "wire/question.h"

enum {
	JOINED_ID_BYTES = 8,
	JOINED_RING_BYTES = 64 << 10,
	JOINED_LOOK_MS = 1000,
	JOINED_AGAIN_MS = 20,
};

bool joined_is_due(_Atomic uint64_t *looked_ms)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	uint64_t before = atomic_load(looked_ms);

	return (before == 0 || now - before >= JOINED_LOOK_MS) &&
	       atomic_compare_exchange_strong(looked_ms, &before, now);
}

/* In whichever thread added it. */
static void joined_on_event(void *context, const struct audit_event *e)
{
	struct joined *j = context;
	struct audit_event copy = *e;
	auto_buffer texts = { 0 };

	if (j->host)
		audit_trail_redact(j->host->trail, &copy, &texts);
	auto_lock held = lock_take(&j->lock);
	if (!j->is_muted)
		holder_join_tell(&j->join, &copy);
}

/* With the lock held: the daemon waits for what came of an order, and hears that nothing did. */
static void joined_on_order(
	void *context, enum frame_type type, uint64_t id, const void *body, size_t len)
{
	const struct join_reply no = { .error = EOPNOTSUPP,
		.text = "this program takes no grants and answers from the daemon" };
	struct joined *j = context;
	auto_buffer reply = { 0 };

	(void)type;
	(void)body;
	(void)len;
	if (join_reply_encode(&no, &reply) == 0)
		holder_join_send(&j->join, FRAME_JOIN_REPLY, id, &reply);
}

static int joined_begin(struct joined *j, const struct joined_options *o)
{
	uint8_t bytes[JOINED_ID_BYTES];
	char id[2 * JOINED_ID_BYTES + 1];
	const struct join who = { .kind = o->kind,
		.started_ms = clock_ms(CLOCK_REALTIME),
		.id = id,
		.name = program_invocation_short_name,
		.command = program_invocation_name,
		.folder = o->folder,
		.policy = o->policy };
	struct error e = { 0 };
	int r = sodium_init() < 0 ? -EIO : 0;

	if (r < 0)
		return r;
	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), id);
	r = holder_join_hello(&j->join, &who);
	if (r == 0)
		r = lib_audit_new_told(&j->audit,
			&(struct audit_trail_options){ .ring_bytes = JOINED_RING_BYTES,
				.session = id,
				.sandbox = who.name,
				.tell = joined_on_event,
				.context = j },
			&e);
	return r;
}

struct joined *joined_new(const struct joined_options *o)
{
	struct holder_join join = HOLDER_JOIN_NONE;
	struct joined *j;

	/* What most programs come by: there is none. */
	if (holder_join_open(&join) < 0)
		return NULL;
	j = calloc(1, sizeof(*j));
	if (!j) {
		(void)holder_join_close(&join, NULL);
		return NULL;
	}
	j->join = join;
	j->host = o->audit;
	j->live.socket = j->live.pidfd = -1;
	j->warden = strdup(o->warden);
	j->join.handler = (struct holder_join_handler){
		.order = joined_on_order, .frame = joined_live_frame, .context = j
	};
	(void)pthread_mutex_init(&j->lock, NULL);
	if (!j->warden || joined_begin(j, o) < 0) {
		joined_free(j);
		return NULL;
	}
	return j;
}

void joined_free(struct joined *j)
{
	struct error why = { 0 };
	uint64_t missing;

	if (!j)
		return;
	joined_tell_notes(j);
	(void)corral_audit_free(j->audit, NULL);
	missing = holder_join_close(&j->join, &why);
	joined_live_deinit(&j->live);
	free(j->warden);
	/* A library has no other place to say it. */
	if (missing && j->host)
		(void)audit_trail_add(j->host->trail, &(struct audit_event){ .action = AUDIT_STORE,
							      .program = "corral",
							      .target = "daemon",
							      .reason = why.text,
							      .count = missing,
							      .exact = true });
	(void)pthread_mutex_destroy(&j->lock);
	free(j);
}

struct corral_audit *joined_audit(struct joined *j)
{
	return j->audit;
}

void joined_add(struct joined *j, const struct audit_event *e)
{
	(void)audit_trail_add(j->audit->trail, e);
}

void joined_mute(struct joined *j)
{
	auto_lock held = lock_take(&j->lock);

	j->is_muted = true;
}

void joined_hear(struct joined *j)
{
	if (holder_join_dispatch(&j->join, j->join.fd >= 0 || j->join.hear >= 0))
		j->is_stopped = true;
}

bool joined_turn(struct joined *j)
{
	auto_lock held = lock_take(&j->lock);

	joined_hear(j);
	joined_live_pull(j);
	return joined_live_is_due(&j->live);
}

bool joined_is_stopped(struct joined *j)
{
	auto_lock held = lock_take(&j->lock);

	return j->is_stopped;
}

int joined_fd(struct joined *j)
{
	auto_lock held = lock_take(&j->lock);

	return j->join.hear >= 0 ? j->join.hear : j->join.fd;
}

int joined_wait_ms(struct joined *j, int otherwise)
{
	auto_lock held = lock_take(&j->lock);

	/* Another thread may have what it takes to carry it out. */
	if (joined_live_is_due(&j->live) && (otherwise < 0 || otherwise > JOINED_AGAIN_MS))
		otherwise = JOINED_AGAIN_MS;
	return holder_join_wait_ms(&j->join, otherwise);
}
