/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from call_encode(): who only calls is linked without the table of methods. */
#include <errno.h>

#include "broker/call.h"
#include "wire/reader.h"

int call_decode(struct broker_call *ret, const void *body, size_t len, struct arena *a)
{
	struct reader r = { body, len };
	struct call_head head;
	const struct method *m;
	unsigned channel;

	if (!reader_bytes(&r, &head, sizeof(head)) || head.method >= METHOD_COUNT ||
		head.flags & ~(uint32_t)CALL_FLAGS)
		return -EPROTO;
	m = &method_rows[head.method];
	channel = head.flags & CALL_BY_HTTP ? CHANNEL_HTTP : CHANNEL_SOCKET;
	if (!(m->channels & channel) || m->refused ||
		!(head.flags & CALL_BY_SHIELD ? m->shield : m->name))
		return -EPROTO;
	*ret = (struct broker_call){ .method = m,
		.flags = head.flags,
		.pid = head.pid,
		.uid = head.uid,
		.connection = head.connection };
	return values_decode(m->params, r.data, r.left, a, &ret->params);
}
