/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/call.h"

#include "base/buffer.h"

int call_encode(const struct broker_call *c, struct buffer *out)
{
	const struct call_head head = { (uint32_t)c->method->id, c->flags, c->pid, c->uid,
		c->connection };

	buffer_add(out, &head, sizeof(head));
	return values_encode(c->method->params, &c->params, out);
}
