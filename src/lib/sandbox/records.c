/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker did, and what the relay tells of the network. The relay sees connections, not
 * commands: what it tells belongs to the command that runs, and where several run, a denial to each
 * of them.
 *
 * Records are counted under the lock as they come. The audit sink is code of the host, so it is
 * told of them later, out of a queue, when no lock is held. The queue has a bound: nobody reads the
 * control socket on while it is full.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/lock.h"
#include "holder/record.h"
#include "lib/api/audit-handle.h"
#include "lib/api/joined.h"
#include "lib/process/denial.h"
#include "lib/process/process.h"
#include "lib/sandbox/sandbox.h"
#include "wire/event.h"
#include "wire/record.h"

/* Destinations. What a command can make up has a bound: past this no new one is kept apart. */

enum { DESTINATIONS_MAX = 4096, DESTINATIONS_SLOTS = 2 * DESTINATIONS_MAX };

/* A new one if need be; NULL: there is no room, or no memory. */
static struct corral_destination *destinations_find(struct destinations *d, const char *target)
{
	uint64_t i = hash_bytes(HASH_START, target, strlen(target)) % DESTINATIONS_SLOTS;
	struct corral_destination item = { 0 };

	if (!d->slots)
		d->slots = calloc(DESTINATIONS_SLOTS, sizeof(*d->slots));
	if (!d->slots)
		return NULL;
	/* More than half of the slots are free. */
	for (; d->slots[i]; i = (i + 1) % DESTINATIONS_SLOTS)
		if (strcmp(d->items[d->slots[i] - 1].target, target) == 0)
			return &d->items[d->slots[i] - 1];
	item.target = d->n < DESTINATIONS_MAX ? strdup(target) : NULL;
	if (!item.target || ARRAY_PUSH(d->items, d->n, d->cap, item) < 0) {
		free((char *)item.target);
		return NULL;
	}
	d->slots[i] = (uint16_t)d->n;
	return &d->items[d->n - 1];
}

void destinations_deinit(struct destinations *d)
{
	for (size_t i = 0; i < d->n; i++)
		free((char *)d->items[i].target);
	free(d->items);
	free(d->slots);
	*d = (struct destinations){ 0 };
}

size_t corral_sandbox_destinations(
	struct corral_sandbox *s, struct corral_destination *ret, size_t n, size_t size)
{
	size_t known = sizeof(*ret), all;

	sandbox_refresh(s);
	auto_lock held = lock_take(&s->lock);
	all = s->destinations.n;
	for (size_t i = 0; i < n && i < all; i++) {
		char *to = (char *)ret + i * size;

		memset(to, 0, size);
		memcpy(to, &s->destinations.items[i], size < known ? size : known);
	}
	return all;
}

/* The queue for the sink */

/* What the sink has not heard of: a denial, a connection, or an event of the broker. */
struct sandbox_news {
	struct sandbox_news *next;
	uint64_t missing;   /* events of the broker before this one */
	struct buffer call; /* the event of the broker, encoded; empty: it is none */
	uint64_t command;   /* 0: it is not known */
	struct corral_denial *denial;
	struct corral_connection connection; /* if there is no denial */
	uint32_t pid;
	const char *program, *actor; /* as all texts here, in one block after this */
};

static void news_free(struct sandbox_news *n)
{
	denial_free(n->denial);
	buffer_deinit(&n->call);
	free(n);
}

static struct sandbox_news *news_new(const struct record *r, uint64_t count, const char *program)
{
	const size_t size = strlen(program) + strlen(r->program) + strlen(r->target) +
			    strlen(r->address) + strlen(r->reason) + 5;
	struct sandbox_news *n = calloc(1, sizeof(*n) + size);
	char *at;

	if (!n)
		return NULL;
	at = (char *)(n + 1);
	n->pid = r->pid;
	n->program = denial_put(&at, program);
	n->actor = denial_put(&at, r->program);
	n->connection = (struct corral_connection){ .size = sizeof(n->connection),
		.target = denial_put(&at, r->target),
		.address = denial_put(&at, r->address),
		.failed = r->kind == RECORD_FAILED,
		.reason = denial_put(&at, r->reason),
		.sent = r->sent,
		.received = r->received,
		.count = count };
	return n;
}

/* Whether it may be p's. One whose end is not handled yet counts: its records may come late. */
static bool sandbox_records_is_suspect(
	const struct corral_process *p, const struct warden_link *link)
{
	return p->link == link && p->state <= PROCESS_EXITED;
}

static void sandbox_records_append(struct corral_sandbox *s, struct sandbox_news *n)
{
	if (s->last_news)
		s->last_news->next = n;
	else
		s->first_news = n;
	s->last_news = n;
	s->n_news++;
}

/* d NULL: it is a connection. Without memory the sink is not told. */
static void sandbox_records_queue(struct corral_sandbox *s, const struct warden_link *link,
	const struct record *r, uint64_t count, const struct corral_denial *d)
{
	const struct corral_process *only = NULL;
	struct sandbox_news *n;
	size_t suspects = 0;

	if (!s->base.sink && !atomic_load(&s->joined))
		return;
	for (const struct corral_process *p = s->first; p; p = p->next) {
		if (sandbox_records_is_suspect(p, link)) {
			only = p;
			suspects++;
		}
	}
	n = news_new(r, count, suspects == 1 ? only->program : "");
	if (!n)
		return;
	n->command = suspects == 1 ? only->id : 0;
	n->denial = d ? denial_copy(d) : NULL;
	if (d && !n->denial) {
		news_free(n);
		return;
	}
	sandbox_records_append(s, n);
}

/* Events of the broker go to logs as they are. */
static void sandbox_tell_call(struct corral_sandbox *s, const struct sandbox_news *n)
{
	struct corral_audit *logs[] = {
		s->base.sink == corral_audit_sandbox ? s->base.context : NULL,
		atomic_load(&s->joined) ? joined_audit(atomic_load(&s->joined)) : NULL,
	};

	for (size_t i = 0; i < ROWS(logs); i++)
		if (logs[i])
			holder_record_call(&(struct holder_record){ .trail = logs[i]->trail },
				n->call.data, n->call.len, n->missing);
	if (atomic_load(&s->joined))
		(void)joined_turn(atomic_load(&s->joined));
}

void sandbox_tell_news(struct corral_sandbox *s)
{
	struct sandbox_news *n, *next;

	(void)pthread_mutex_lock(&s->lock);
	n = s->first_news;
	s->first_news = s->last_news = NULL;
	s->n_news = 0;
	(void)pthread_mutex_unlock(&s->lock);
	for (; n; n = next) {
		next = n->next;
		if (n->call.len || n->missing) {
			sandbox_tell_call(s, n);
			news_free(n);
			continue;
		}
		sandbox_tell(s, (struct corral_event){ .kind = n->denial ? CORRAL_EVENT_DENIED
									 : CORRAL_EVENT_CONNECTION,
					.command = n->command,
					.program = n->program,
					.denial = n->denial,
					.connection = n->denial ? NULL : &n->connection,
					.pid = n->pid,
					.actor = *n->actor ? n->actor : NULL });
		news_free(n);
	}
}

/* Records */

int sandbox_record(struct corral_sandbox *s, const struct warden_link *link, const struct frame *f)
{
	struct corral_destination unkept = { 0 }, *to;
	struct record r;
	uint64_t count;

	if (f->id != 0 || f->n_fds != 0 || record_decode(&r, f->body, f->len) < 0)
		return -EPROTO;
	count = r.count ? r.count : 1;
	to = destinations_find(&s->destinations, r.target);
	to = to ? to : &unkept;
	if (r.kind == RECORD_DENIED) {
		const struct corral_denial d = { .op = CORRAL_NET_CONNECT,
			.target = r.target,
			.rule = r.rule,
			.reason = r.reason,
			.remedy = r.remedy,
			.exact = 1,
			.count = count };

		for (struct corral_process *p = s->first; p; p = p->next)
			if (sandbox_records_is_suspect(p, link))
				result_note_denial(p->result, &d);
		to->denied += count;
		s->stats.denials += count;
		sandbox_records_queue(s, link, &r, count, &d);
		return 0;
	}
	sandbox_records_queue(s, link, &r, count, NULL);
	to->failed += r.kind == RECORD_FAILED ? count : 0;
	if (r.kind == RECORD_CLOSED) {
		to->connections += count;
		to->sent += r.sent;
		to->received += r.received;
		s->stats.connections += count;
		s->stats.sent_bytes += r.sent;
		s->stats.received_bytes += r.received;
	}
	return 0;
}

int sandbox_call(struct corral_sandbox *s, const struct frame *f)
{
	struct audit_event e = { 0 };
	struct sandbox_news *n;

	if (event_check(f) < 0 || (f->len && audit_event_decode(&e, f->body, f->len) < 0))
		return -EPROTO;
	if (f->len && e.decision == AUDIT_DENIED)
		s->stats.denials += e.count;
	n = calloc(1, sizeof(*n));
	if (!n)
		return 0;
	n->missing = f->id;
	buffer_add(&n->call, f->body, f->len);
	/* Without memory it is one more that is missing. */
	if (n->call.failed) {
		buffer_deinit(&n->call);
		n->missing++;
	}
	sandbox_records_append(s, n);
	return 0;
}
