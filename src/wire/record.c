/* SPDX-License-Identifier: Apache-2.0 */
/* A head of fixed size, then the texts in the order of the struct, each with its NUL. */
#include "wire/record.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "wire/reader.h"

enum { FLAG_DNS = 1, FLAGS = 1, N_TEXTS = 7 };

struct record_head {
	uint32_t kind, flags;
	uint32_t port, pid;
	uint64_t sent, received, count;
};
_Static_assert(sizeof(struct record_head) == 40, "no padding goes over the wire");

int record_encode(const struct record *r, struct buffer *out)
{
	const char *texts[N_TEXTS] = { r->target, r->name, r->address, r->rule, r->reason,
		r->remedy, r->program };
	const struct record_head h = { .kind = (uint32_t)r->kind,
		.flags = r->dns ? FLAG_DNS : 0,
		.port = r->port,
		.pid = r->pid,
		.sent = r->sent,
		.received = r->received,
		.count = r->count ? r->count : 1 };
	size_t left = RECORD_TEXT_MAX;

	if (h.kind > RECORD_CLOSED)
		return -EINVAL;
	for (size_t i = 0; i < N_TEXTS; i++) {
		texts[i] = texts[i] ? texts[i] : "";
		if (strlen(texts[i]) >= left)
			return -EMSGSIZE;
		left -= strlen(texts[i]) + 1;
	}
	buffer_add(out, &h, sizeof(h));
	for (size_t i = 0; i < N_TEXTS; i++)
		buffer_add(out, texts[i], strlen(texts[i]) + 1);
	return out->failed ? -ENOMEM : 0;
}

int record_decode(struct record *ret, const void *body, size_t len)
{
	struct reader reader = { body, len };
	const char *texts[N_TEXTS];
	struct record_head h;

	/* There is one way to write a record, so what the encoder never writes is refused. */
	if (!reader_bytes(&reader, &h, sizeof(h)) || h.kind > RECORD_CLOSED ||
		h.flags & ~(uint32_t)FLAGS || h.port > UINT16_MAX || h.count == 0 ||
		reader.left > RECORD_TEXT_MAX)
		return -EPROTO;
	for (size_t i = 0; i < N_TEXTS; i++) {
		texts[i] = reader_string(&reader);
		if (!texts[i])
			return -EPROTO;
	}
	if (reader.left > 0)
		return -EPROTO;
	*ret = (struct record){ .kind = (enum record_kind)h.kind,
		.dns = h.flags & FLAG_DNS,
		.target = texts[0],
		.name = texts[1],
		.address = texts[2],
		.port = (uint16_t)h.port,
		.rule = texts[3],
		.reason = texts[4],
		.remedy = texts[5],
		.sent = h.sent,
		.received = h.received,
		.count = h.count,
		.pid = h.pid,
		.program = texts[6] };
	return 0;
}
