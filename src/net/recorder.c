/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is no queue of messages: an entry of the table (record-table.h) that has something to tell
 * waits in a list, and what comes meanwhile is added to it. So nothing is lost when the reader is
 * slow, and nothing grows. An entry that has to make room while it waits leaves its counts to the
 * `rest`, which is told as one record when there is time.
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
#include "net/record-table.h"
#include "wire/frame.h"

enum { SECOND_MS = 1000, N_CLASSES = RECORD_CLOSED + 2, CLASS_DNS = N_CLASSES - 1 };

struct class
{
	struct record_table table;
	struct record rest; /* count 0: there is none */
	unsigned left;      /* of the budget of this second */
};

struct recorder {
	struct loop *loop;
	int socket;
	bool gone;     /* nobody reads any more */
	bool flushing; /* a flush could not tell all */
	struct watcher writable;
	struct timer tick;
	uint64_t second_ms; /* when the budgets were filled */
	struct buffer body;
	struct class classes[N_CLASSES];
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

/* Who and where is told only if it is the same for all that were counted. */
static void recorder_blur(struct record *kept, const struct record *r)
{
	if (kept->count == 0)
		kept->pid = r->pid;
	else if (kept->pid != r->pid)
		kept->pid = 0;
	if (strcmp(kept->program, r->program) != 0)
		kept->program = "";
	if (strcmp(kept->address, r->address) != 0)
		kept->address = "";
}

/* Sending. */

static bool recorder_is_blocked(const struct recorder *r)
{
	return r->writable.fd >= 0;
}

/*
 * 0, or negative: it has to be told later, if ever. What was told is no longer counted. One with
 * nothing counted is none.
 */
static int recorder_send(struct recorder *r, struct record *record)
{
	int result;

	if (record->count == 0)
		return 0;
	buffer_clear(&r->body);
	result = record_encode(record, &r->body);
	if (result == 0)
		result = frame_send(r->socket, FRAME_RECORD, 0, r->body.data, r->body.len, NULL, 0);
	else
		r->body.failed = false;
	if (result == 0)
		record->count = record->sent = record->received = 0;
	if (result == -EAGAIN && !recorder_is_blocked(r))
		(void)loop_add(r->loop, &r->writable, r->socket, EPOLLOUT);
	if (result == -EPIPE || result == -ENOTCONN || result == -EBADF)
		r->gone = true;
	return result;
}

static int recorder_tell(struct recorder *r, struct class *c, struct record_entry *e)
{
	int result = recorder_send(r, &e->record);

	if (result < 0)
		return result;
	e->told = true;
	e->told_ms = loop_now(r->loop);
	record_table_unwait(&c->table, e);
	if (c->left > 0)
		c->left--;
	return 0;
}

/* Those that wait and may be told by now; `all`: whether or not it is their time. */
static int recorder_tell_class(struct recorder *r, struct class *c, bool all)
{
	struct record_entry *next = NULL;
	int result = 0;

	for (struct record_entry *e = c->table.lists[RECORD_WAITING].first; e && result == 0;
		e = next) {
		next = e->links[RECORD_WAITING].next;
		if (!all && c->left == 0)
			break;
		if (all || !e->told || loop_now(r->loop) - e->told_ms >= SECOND_MS)
			result = recorder_tell(r, c, e);
	}
	return result;
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

/* The rest needs no budget: it is one record, after a second or when the socket has room. */
static void recorder_tell_all(struct recorder *r)
{
	int result = 0;

	for (size_t i = 0; i < N_CLASSES && result == 0 && !r->gone; i++) {
		result = recorder_tell_class(r, &r->classes[i], r->flushing);
		if (result == 0)
			result = recorder_send(r, &r->classes[i].rest);
	}
	if (result == 0)
		r->flushing = false;
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

/* Adding. */

static struct record_entry *recorder_find_or_add(struct class *c, const struct record *record)
{
	struct record_entry *e = record_table_find(&c->table, record);

	if (e) {
		record_table_use(&c->table, e);
		recorder_blur(&e->record, record);
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
	struct class *c;
	struct record_entry *e;

	if (r->gone || record->kind > RECORD_CLOSED)
		return;
	c = &r->classes[record->dns ? CLASS_DNS : record->kind];
	e = recorder_find_or_add(c, record);
	recorder_count(e ? &e->record : &c->rest, record);
	if (e) {
		record_table_wait(&c->table, e);
		recorder_refill(r);
		if (!e->told && c->left > 0 && !recorder_is_blocked(r))
			(void)recorder_tell(r, c, e);
	}
	recorder_wait(r);
}

/* Making. */

int recorder_new(struct recorder **ret, struct loop *l, int socket)
{
	static const struct record nothing = { .target = "*",
		.name = "",
		.address = "",
		.rule = "",
		.reason = "there were too many different ones to be told one by one",
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
	r->second_ms = loop_now(l);
	for (size_t i = 0; i < N_CLASSES; i++) {
		struct class *c = &r->classes[i];

		record_table_init(&c->table);
		c->left = RECORDER_PER_SECOND;
		c->rest = nothing;
		c->rest.dns = i == CLASS_DNS;
		c->rest.kind = i == CLASS_DNS ? RECORD_DENIED : (enum record_kind)i;
	}
	*ret = r;
	return 0;
}

/* The clock of the loop stands still here. */
static void recorder_tell_the_rest(struct recorder *r)
{
	struct pollfd p = { .fd = r->socket, .events = POLLOUT };
	uint64_t start = clock_ms(CLOCK_MONOTONIC), spent = 0;

	for (; spent < SECOND_MS; spent = clock_ms(CLOCK_MONOTONIC) - start) {
		recorder_flush(r);
		if (r->gone || !recorder_has_more(r))
			return;
		(void)poll(&p, 1, (int)(SECOND_MS - spent));
	}
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	recorder_tell_the_rest(r);
	loop_remove(r->loop, &r->writable);
	loop_stop(r->loop, &r->tick);
	for (size_t i = 0; i < N_CLASSES; i++)
		record_table_deinit(&r->classes[i].table);
	buffer_deinit(&r->body);
	fd_close(&r->socket);
	free(r);
}
