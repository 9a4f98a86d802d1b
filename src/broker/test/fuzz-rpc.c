/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line as a program inside sends it. Whatever is accepted can be sent to the monitor and is read
 * there as the same bytes; whatever is not is answered by one JSON value.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/rpc.h"
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_answer(const char *id, bool by_shield, const struct rpc_refusal *why)
{
	auto_buffer out = { 0 };
	auto_document d = { 0 };
	struct error e;

	rpc_print_refusal(&out, id, by_shield, why);
	require(json_read(&d, NULL, out.data, out.len, &e) == 0);
	require(!memchr(out.data, '\n', out.len));
}

static void require_sendable(const struct rpc_call *c)
{
	auto_buffer body = { 0 }, again = { 0 };
	auto_arena a = { 0 };
	struct values got;

	require(values_encode(c->method->params, &c->params, &body) == 0);
	require(values_decode(c->method->params, buffer_text(&body), body.len, &a, &got) == 0);
	require(values_encode(c->method->params, &got, &again) == 0);
	require(again.len == body.len &&
		memcmp(buffer_text(&again), buffer_text(&body), body.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_document d = { 0 };
	struct error e = { 0 };
	struct rpc_refusal why;
	int r = rpc_read(&d, (const char *)data, size, &e, &why);

	require(r >= 0);
	if (r == 1) {
		require_answer(NULL, false, &why);
		return 0;
	}
	for (const struct node *n = d.root->type == NODE_LIST ? d.root->first : d.root; n;
		n = n->next) {
		struct rpc_call c;

		r = rpc_call_read(&d, n, size & 1 ? CHANNEL_SOCKET : CHANNEL_HTTP, &c, &e, &why);
		require(r >= 0);
		if (r == 1)
			require_answer(c.id, c.by_shield, &why);
		else
			require_sendable(&c);
	}
	return 0;
}
