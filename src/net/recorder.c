/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is no queue of messages: an entry of the table (internal.h) that has something to tell
 * waits in a list, and what comes meanwhile is added to it. So nothing is lost when the reader is
 * slow, and nothing grows. An entry that has to make room while it waits leaves its counts to the
 * `rest`, which is reported as one record when there is time.
 *
 * Each kind has a table and a budget of its own: who asks for a million names that do not exist
 * cannot hide by it what went over the connections that were allowed.
 */
#include "net/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "net/internal.h"
#include "wire/frame.h"

/*
 * Open addressing in a table that is at most half full. Whoever is removed leaves no gap in a run:
 * those after move up, so a search ends at the first free slot.
 */

enum { N_TEXTS = 7, MASK = RECORD_TABLE_SLOTS - 1 };

_Static_assert(N_TEXTS *RECORD_TABLE_TEXT <= RECORD_TEXT_MAX, "what is kept can be sent");

void record_table_init(struct record_table *t)
{
	*t = (struct record_table){ .key = hash_key_make() };
}

void record_table_deinit(struct record_table *t)
{
	for (size_t i = 0; i < RECORD_TABLE_SLOTS; i++)
		free(t->slots[i]);
	memset(t->slots, 0, sizeof(t->slots));
}

/* Lists. */

static void record_table_append(struct record_table *t, enum record_order o, struct record_entry *e)
{
	struct record_list *l = &t->lists[o];

	e->links[o] = (struct record_link){ .previous = l->last };
	*(l->last ? &l->last->links[o].next : &l->first) = e;
	l->last = e;
}

static void record_table_take_out(
	struct record_table *t, enum record_order o, struct record_entry *e)
{
	struct record_list *l = &t->lists[o];
	struct record_link *link = &e->links[o];

	*(link->previous ? &link->previous->links[o].next : &l->first) = link->next;
	*(link->next ? &link->next->links[o].previous : &l->last) = link->previous;
}

void record_table_use(struct record_table *t, struct record_entry *e)
{
	record_table_take_out(t, RECORD_BY_USE, e);
	record_table_append(t, RECORD_BY_USE, e);
}

void record_table_wait(struct record_table *t, struct record_entry *e)
{
	if (!e->waits)
		record_table_append(t, RECORD_WAITING, e);
	e->waits = true;
}

void record_table_unwait(struct record_table *t, struct record_entry *e)
{
	if (e->waits)
		record_table_take_out(t, RECORD_WAITING, e);
	e->waits = false;
}

/* Texts: compared and hashed as they are kept. */

static size_t record_table_length(const char *text)
{
	return strnlen(text, RECORD_TABLE_TEXT - 1);
}

static bool record_table_same_text(const char *kept, const char *text)
{
	size_t len = record_table_length(text);

	return strlen(kept) == len && memcmp(kept, text, len) == 0;
}

/* Where it is, or would be. */
static struct record_entry **record_table_slot(
	struct record_table *t, const struct record *r, uint64_t *ret_hash)
{
	uint64_t hash =
		hash_keyed(&t->key, (uint64_t)r->kind, r->target, record_table_length(r->target));
	size_t i;

	hash = hash_keyed(&t->key, hash, r->reason, record_table_length(r->reason));
	for (i = hash & MASK; t->slots[i]; i = (i + 1) & MASK) {
		const struct record *kept = &t->slots[i]->record;

		if (t->slots[i]->hash == hash && kept->kind == r->kind && kept->dns == r->dns &&
			record_table_same_text(kept->target, r->target) &&
			record_table_same_text(kept->reason, r->reason) &&
			(!*r->program || record_table_same_text(kept->program, r->program)))
			break;
	}
	*ret_hash = hash;
	return &t->slots[i];
}

struct record_entry *record_table_find(struct record_table *t, const struct record *r)
{
	uint64_t hash;

	return *record_table_slot(t, r, &hash);
}

struct record_entry *record_table_add(struct record_table *t, const struct record *r)
{
	const char *texts[N_TEXTS] = { r->target, r->name, r->address, r->rule, r->reason,
		r->remedy, r->program };
	struct record_entry *e, **slot;
	size_t size = sizeof(*e);
	char *at;

	for (size_t i = 0; i < N_TEXTS; i++)
		size += record_table_length(texts[i]) + 1;
	e = t->n < RECORD_TABLE_MAX ? calloc(1, size) : NULL;
	if (!e)
		return NULL;
	at = e->texts;
	for (size_t i = 0; i < N_TEXTS; i++) {
		size_t len = record_table_length(texts[i]);

		texts[i] = memcpy(at, texts[i], len);
		at += len + 1;
	}
	slot = record_table_slot(t, r, &e->hash);
	*slot = e;
	e->record = (struct record){ .kind = r->kind,
		.dns = r->dns,
		.target = texts[0],
		.name = texts[1],
		.address = texts[2],
		.port = r->port,
		.rule = texts[3],
		.reason = texts[4],
		.remedy = texts[5],
		.pid = r->pid,
		.program = texts[6] };
	record_table_append(t, RECORD_BY_USE, e);
	t->n++;
	return e;
}

void record_table_remove(struct record_table *t, struct record_entry *e)
{
	size_t i = e->hash & MASK;

	while (t->slots[i] != e)
		i = (i + 1) & MASK;
	record_table_unwait(t, e);
	record_table_take_out(t, RECORD_BY_USE, e);
	/* Fills the gap at i with those after it that may stand there. */
	for (size_t j = (i + 1) & MASK; t->slots[j]; j = (j + 1) & MASK) {
		size_t home = t->slots[j]->hash & MASK;

		if (((j - home) & MASK) < ((j - i) & MASK))
			continue;
		t->slots[i] = t->slots[j];
		i = j;
	}
	t->slots[i] = NULL;
	t->n--;
	free(e);
}

/* The recorder. */

enum { SECOND_MS = 1000, N_CLASSES = RECORD_CLOSED + 2, CLASS_DNS = N_CLASSES - 1 };

struct recorder_class {
	struct record_table table;
	struct record rest; /* count 0: there is none */
	unsigned left;      /* of the budget of this second */
};

struct recorder {
	struct loop *loop;
	int socket;
	bool gone;         /* the reader has closed its end */
	bool flushing;     /* a flush could not tell all */
	uint64_t turn;     /* counts what recorder_settle() separates */
	uint64_t settling; /* an id to be sent when all is reported; 0: none */
	struct watcher writable;
	struct timer tick;
	uint64_t second_ms; /* when the budgets were filled */
	struct buffer body;
	struct recorder_class classes[N_CLASSES];
};

static uint64_t recorder_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void recorder_count(struct record *to, const struct record *r)
{
	to->count = recorder_sum(to->count, r->count ? r->count : 1);
	to->sent = recorder_sum(to->sent, r->sent);
	to->received = recorder_sum(to->received, r->received);
}

static bool recorder_is_blocked(const struct recorder *r)
{
	return r->writable.fd >= 0;
}

static int recorder_put(struct recorder *r, enum frame_type type, uint64_t id)
{
	int result = frame_send(r->socket, type, id, r->body.data, r->body.len, NULL, 0);

	if (result == -EAGAIN && !recorder_is_blocked(r))
		(void)loop_add(r->loop, &r->writable, r->socket, EPOLLOUT);
	if (result == -EPIPE || result == -ENOTCONN || result == -EBADF)
		r->gone = true;
	return result;
}

/*
 * 0, or negative: it has to be reported later, if ever. What was reported is no longer counted. One
 * with nothing counted is none.
 */
static int recorder_send(struct recorder *r, struct record *record)
{
	int result;

	if (record->count == 0)
		return 0;
	buffer_clear(&r->body);
	result = record_encode(record, &r->body);
	if (result == 0)
		result = recorder_put(r, FRAME_RECORD, 0);
	else
		r->body.failed = false;
	if (result == 0)
		record->count = record->sent = record->received = 0;
	return result;
}

static int recorder_tell(struct recorder *r, struct recorder_class *c, struct record_entry *e)
{
	int result = recorder_send(r, &e->record);

	if (result < 0)
		return result;
	e->told = r->turn;
	e->told_ms = loop_now(r->loop);
	record_table_unwait(&c->table, e);
	if (c->left > 0)
		c->left--;
	return 0;
}

static bool recorder_has_more(const struct recorder *r)
{
	for (size_t i = 0; i < N_CLASSES; i++)
		if (r->classes[i].rest.count > 0 || r->classes[i].table.lists[RECORD_WAITING].first)
			return true;
	return false;
}

static void recorder_wait(struct recorder *r)
{
	if (r->tick.place == 0 && !r->gone && recorder_has_more(r))
		(void)loop_start(r->loop, &r->tick, SECOND_MS);
}

/* All that was counted is reported, and everything is new again. */
static void recorder_answer(struct recorder *r)
{
	buffer_clear(&r->body);
	if (recorder_put(r, FRAME_SETTLE, r->settling) < 0)
		return;
	r->settling = 0;
	r->turn++;
	for (size_t i = 0; i < N_CLASSES; i++)
		r->classes[i].left = RECORDER_PER_SECOND;
}

/* The rest needs no budget: it is one record, after a second or when the socket has room. */
static void recorder_tell_all(struct recorder *r)
{
	int result = 0;

	for (size_t i = 0; i < N_CLASSES && result == 0 && !r->gone; i++) {
		struct recorder_class *c = &r->classes[i];
		struct record_entry *e = c->table.lists[RECORD_WAITING].first, *next;

		/* Those that wait and may be reported by now. A flush tells them all. */
		for (; e && result == 0 && (r->flushing || c->left > 0); e = next) {
			next = e->links[RECORD_WAITING].next;
			if (r->flushing || e->told != r->turn ||
				loop_now(r->loop) - e->told_ms >= SECOND_MS)
				result = recorder_tell(r, c, e);
		}
		if (result == 0)
			result = recorder_send(r, &c->rest);
	}
	if (result == 0)
		r->flushing = false;
	if (result == 0 && r->settling)
		recorder_answer(r);
	recorder_wait(r);
}

static void recorder_refill(struct recorder *r)
{
	if (loop_now(r->loop) - r->second_ms < SECOND_MS)
		return;
	r->second_ms = loop_now(r->loop);
	for (size_t i = 0; i < N_CLASSES; i++)
		r->classes[i].left = RECORDER_PER_SECOND;
}

static void recorder_ticked(struct timer *t)
{
	struct recorder *r = container_of(t, struct recorder, tick);

	recorder_refill(r);
	if (!recorder_is_blocked(r))
		recorder_tell_all(r);
	else
		recorder_wait(r);
}

static void recorder_writable(struct watcher *w, uint32_t events)
{
	struct recorder *r = container_of(w, struct recorder, writable);

	(void)events;
	loop_remove(r->loop, w);
	recorder_refill(r);
	recorder_tell_all(r);
}

void recorder_flush(struct recorder *r)
{
	r->flushing = true;
	recorder_tell_all(r);
}

void recorder_settle(struct recorder *r, uint64_t id)
{
	r->settling = id;
	recorder_flush(r);
}

/*
 * What was of no known program so far is of this one: an entry without a name is there only as long
 * as its target has none. NULL: there is no such entry, or no memory for another.
 */
static struct record_entry *recorder_name(struct recorder_class *c, const struct record *record)
{
	struct record unnamed = *record;
	struct record_entry *old, *e;

	unnamed.program = "";
	old = record_table_find(&c->table, &unnamed);
	if (!old || *old->record.program || c->table.n == RECORD_TABLE_MAX)
		return NULL;
	e = record_table_add(&c->table, record);
	if (!e)
		return NULL;
	recorder_count(&e->record, &old->record);
	e->record.count = old->record.count;
	e->record.pid = old->record.pid;
	e->told = old->told;
	e->told_ms = old->told_ms;
	record_table_remove(&c->table, old);
	return e;
}

static struct record_entry *recorder_find_or_add(
	struct recorder_class *c, const struct record *record)
{
	struct record_entry *e = record_table_find(&c->table, record);

	if (!e && *record->program)
		e = recorder_name(c, record);
	if (e) {
		record_table_use(&c->table, e);
		/* The place is recorded only if it is the same for all that were counted. */
		if (e->record.count == 0)
			e->record.pid = record->pid;
		else if (e->record.pid != record->pid)
			e->record.pid = 0;
		if (strcmp(e->record.address, record->address) != 0)
			e->record.address = "";
		return e;
	}
	/* The one that was used longest ago makes room; what it had to tell is kept. */
	if (c->table.n == RECORD_TABLE_MAX) {
		e = c->table.lists[RECORD_BY_USE].first;
		if (e->record.count > 0)
			recorder_count(&c->rest, &e->record);
		record_table_remove(&c->table, e);
	}
	return record_table_add(&c->table, record);
}

void recorder_add(struct recorder *r, const struct record *record)
{
	struct record whole = *record;
	const char **const texts[N_TEXTS] = { &whole.target, &whole.name, &whole.address,
		&whole.rule, &whole.reason, &whole.remedy, &whole.program };
	struct recorder_class *c;
	struct record_entry *e;

	if (r->gone || record->kind > RECORD_CLOSED)
		return;
	for (size_t i = 0; i < N_TEXTS; i++)
		if (!*texts[i])
			*texts[i] = "";
	c = &r->classes[record->dns ? CLASS_DNS : record->kind];
	e = recorder_find_or_add(c, &whole);
	recorder_count(e ? &e->record : &c->rest, record);
	if (e) {
		record_table_wait(&c->table, e);
		recorder_refill(r);
		if (e->told != r->turn && c->left > 0 && !recorder_is_blocked(r))
			(void)recorder_tell(r, c, e);
	}
	recorder_wait(r);
}

int recorder_new(struct recorder **ret, struct loop *l, int socket)
{
	static const struct record nothing = { .target = "*",
		.name = "",
		.address = "",
		.rule = "",
		.reason = "there were too many to be reported one by one",
		.remedy = "",
		.program = "" };
	int flags = fcntl(socket, F_GETFL);
	/* An own descriptor: the loop takes each only once, and others may watch theirs. */
	auto_fd fd = fcntl(socket, F_DUPFD_CLOEXEC, 0);
	struct recorder *r;

	if (fd < 0)
		return -errno;
	if (flags < 0 || !(flags & O_NONBLOCK))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->loop = l;
	r->socket = fd_take(&fd);
	r->writable = (struct watcher){ .ready = recorder_writable, .fd = -1 };
	r->tick.expired = recorder_ticked;
	r->turn = 1;
	r->second_ms = loop_now(l);
	for (size_t i = 0; i < N_CLASSES; i++) {
		struct recorder_class *c = &r->classes[i];

		record_table_init(&c->table);
		c->left = RECORDER_PER_SECOND;
		c->rest = nothing;
		c->rest.dns = i == CLASS_DNS;
		c->rest.kind = i == CLASS_DNS ? RECORD_DENIED : (enum record_kind)i;
	}
	*ret = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	uint64_t start = clock_ms(CLOCK_MONOTONIC), spent = 0;

	if (!r)
		return;
	/* The clock of the loop stands still here. */
	for (; spent < SECOND_MS; spent = clock_ms(CLOCK_MONOTONIC) - start) {
		struct pollfd p = { .fd = r->socket, .events = POLLOUT };

		recorder_flush(r);
		if (r->gone || !recorder_has_more(r))
			break;
		(void)poll(&p, 1, (int)(SECOND_MS - spent));
	}
	loop_remove(r->loop, &r->writable);
	loop_stop(r->loop, &r->tick);
	for (size_t i = 0; i < N_CLASSES; i++)
		record_table_deinit(&r->classes[i].table);
	buffer_deinit(&r->body);
	fd_close(&r->socket);
	free(r);
}
