/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a connection: the first byte says in pieces of which size they come. The same
 * requests are found in one piece and in many; one that is taken has the token (but for health),
 * ends within the bytes, and is a call that corrald takes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "daemon/http/request.h"
#include "net/gate/http-served.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check(const char *data, size_t len, const struct api_request *q)
{
	auto_buffer body = { 0 };
	struct route_call c;

	if (q->status) {
		require(q->status >= 400 && q->status < 504 && q->reason[0]);
		return;
	}
	require(q->head > 4 && q->head <= HTTP_SERVED_HEAD_MAX && q->head <= len);
	require(q->body <= len - q->head && q->body <= API_REQUEST_BODY_MAX);
	/* The page itself is no call, and needs no token. */
	if (q->asset) {
		require(!q->call.route && q->body == 0);
		return;
	}
	require(q->call.route->is_open || memmem(data, q->head, TOKEN, strlen(TOKEN)));
	require(route_call_encode(&q->call, &body) == 0);
	require(route_call_decode(&c, body.data, body.len) == (q->call.route->is_local ? -71 : 0));
}

static void run(const char *data, size_t len, size_t piece, struct buffer *seen)
{
	static const struct api_guard guard = { .token = TOKEN, .port = 3847 };
	static struct api_request q;
	size_t start = 0, scanned = 0;

	for (size_t end = 0; end < len;) {
		end = len - end < piece ? len : end + piece;
		for (;;) {
			auto_arena a = { 0 };

			if (api_request_read(&guard, data + start, end - start, &scanned, &a, &q) ==
				0)
				break;
			check(data + start, end - start, &q);
			buffer_printf(seen, "%u %zu %zu %s\n", q.status, q.head, q.body, q.reason);
			if (q.status)
				return;
			start += q.head + q.body;
			scanned = 0;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer whole = { 0 }, pieces = { 0 };

	if (size == 0)
		return 0;
	run((const char *)data + 1, size - 1, size, &whole);
	run((const char *)data + 1, size - 1, data[0] + 1u, &pieces);
	require(whole.len == pieces.len && strcmp(buffer_text(&whole), buffer_text(&pieces)) == 0);
	return 0;
}
