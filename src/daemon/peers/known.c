/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the log has an event: a daemon that died may have committed events that it did not
 * acknowledge. They are in records after a number that the sender knows (wire/join.h), so only a
 * few records are read. An event is identified by its number in the session, its time and its
 * action.
 *
 * What we got must be committed before. Another process may hold the log for long: the loop does
 * not wait for that, and who asks comes again.
 */
#include <errno.h>
#include <stdlib.h>

#include "audit/store/log.h"
#include "daemon/peers/known.h"
#include "daemon/supervisor/supervisor.h"

/* Of more records the last ones count. A run keeps, and leaves in a file, fewer events. */
enum { KNOWN_MAX = 4096 };

void known_deinit(struct known *k)
{
	free(k->events);
	*k = (struct known){ 0 };
}

static int known_add(void *context, const struct audit_row *row)
{
	const struct audit_event *e = &row->event;
	struct known *k = context;

	if (k->n == k->cap && k->cap < KNOWN_MAX) {
		const size_t cap = k->cap ? 2 * k->cap : 16;
		struct known_event *events = realloc(k->events, cap * sizeof(*events));

		if (!events)
			return -ENOMEM;
		k->events = events;
		k->cap = cap;
	}
	k->events[k->read++ % KNOWN_MAX] =
		(struct known_event){ e->sequence, e->time_ns, e->action };
	k->n += k->n < KNOWN_MAX;
	return 0;
}

int known_read(struct supervisor *s, const char *session, uint64_t number, struct known *ret)
{
	struct audit_query q = { .session = session, .action = -1, .decision = -1 };
	struct audit_log *log = NULL;
	uint64_t first, last = 0;
	struct error e = { 0 };
	int r = audit_trail_try_flush(s->journal.trail, &e);

	if (r == 0)
		r = audit_log_open(&log, buffer_text(&s->journal.path), &e);
	if (r < 0)
		return r;
	r = audit_log_range(log, &first, &last, &e);
	/* A number above the last record belongs to another log, which this one replaced. */
	q.from = number <= last ? number + 1 : 0;
	if (r == 0)
		r = audit_log_read(log, &q, known_add, ret, &e);
	audit_log_close(log);
	return r;
}

bool known_take(struct known *k, const struct audit_event *e)
{
	for (size_t i = 0; i < k->n; i++) {
		const struct known_event *x = &k->events[i];

		if (x->sequence == e->sequence && x->time_ns == e->time_ns &&
			x->action == e->action) {
			k->events[i] = k->events[--k->n];
			return true;
		}
	}
	return false;
}
