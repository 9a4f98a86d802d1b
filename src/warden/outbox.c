/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"

struct outbox_item {
	struct outbox_item *next;
	enum frame_type type;
	uint64_t id;
	int fd;
	size_t len;
	unsigned char body[];
};

static void item_free(struct outbox_item *i)
{
	fd_close(&i->fd);
	free(i);
}

static int outbox_keep(
	struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len, int fd)
{
	struct outbox_item *i = o->n < OUTBOX_MAX ? malloc(sizeof(*i) + len) : NULL;

	if (!i)
		return -ENOBUFS;
	*i = (struct outbox_item){ .type = type, .id = id, .fd = -1, .len = len };
	if (len > 0)
		memcpy(i->body, body, len);
	if (fd >= 0 && (i->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		item_free(i);
		return -EMFILE;
	}
	if (o->last)
		o->last->next = i;
	else
		o->first = i;
	o->last = i;
	o->n++;
	return 0;
}

void outbox_add(
	struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len, int fd)
{
	int r = -EAGAIN;

	/* In order: nothing overtakes what waits. */
	if (outbox_is_empty(o))
		r = frame_send(o->socket, type, id, body, len, &fd, fd >= 0);
	if (r == -EAGAIN)
		r = outbox_keep(o, type, id, body, len, fd);
	o->broken |= r < 0;
}

bool outbox_offer(struct outbox *o, enum frame_type type, uint64_t id, const void *body, size_t len)
{
	if (o->n >= OUTBOX_CROWDED)
		return false;
	outbox_add(o, type, id, body, len, -1);
	return true;
}

/* False: there was no memory for it. */
static bool outbox_encode(const struct record *r, struct buffer *out)
{
	return record_encode(r, out) == 0 && !out->failed;
}

void outbox_offer_record(struct outbox *o, const struct record *r)
{
	struct outbox_dropped *d = &o->dropped[r->dns ? RECORD_CLOSED + 1 : r->kind];
	auto_buffer body = { 0 };

	if (outbox_encode(r, &body) && outbox_offer(o, FRAME_RECORD, 0, body.data, body.len))
		return;
	d->frames++;
	d->count += r->count ? r->count : 1;
	d->sent += r->sent;
	d->received += r->received;
}

void outbox_report_dropped(struct outbox *o)
{
	for (size_t i = 0; i < ROWS(o->dropped) && !o->broken; i++) {
		struct outbox_dropped *d = &o->dropped[i];
		const bool is_dns = i > RECORD_CLOSED;
		auto_buffer body = { 0 };
		char reason[128];
		const struct record r = { .kind = is_dns ? RECORD_DENIED : (enum record_kind)i,
			.dns = is_dns,
			.target = "*",
			.reason = reason,
			.sent = d->sent,
			.received = d->received,
			.count = d->count };

		(void)snprintf(reason, sizeof(reason),
			"%llu network records were lost: they were not read in time",
			(unsigned long long)d->frames);
		if (d->frames == 0 || !outbox_encode(&r, &body))
			continue;
		*d = (struct outbox_dropped){ 0 };
		outbox_add(o, FRAME_RECORD, 0, body.data, body.len, -1);
	}
}

void outbox_flush(struct outbox *o)
{
	while (o->first && !o->broken) {
		struct outbox_item *i = o->first;
		int r = frame_send(o->socket, i->type, i->id, i->body, i->len, &i->fd, i->fd >= 0);

		if (r == -EAGAIN)
			return;
		o->broken = r < 0;
		o->first = i->next;
		o->last = o->first ? o->last : NULL;
		o->n--;
		item_free(i);
	}
	outbox_report_dropped(o);
}

void outbox_deinit(struct outbox *o)
{
	while (o->first) {
		struct outbox_item *i = o->first;

		o->first = i->next;
		item_free(i);
	}
	o->last = NULL;
	o->n = 0;
}
