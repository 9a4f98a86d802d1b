/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a connection: the first byte says in pieces of which size they come. The same
 * requests are found in one piece and in many; one that is taken has the token (but for health),
 * ends within the bytes, and is a call that corrald takes. By TCP, if that byte is odd, none is
 * taken for a token, and one with a proof only for the key of the tab: in the input it is written
 * as "Corral TAB:COUNT:BODY:" and 64 times "=", in place of which the right one is put.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/encoding.h"
#include "daemon/http/request.h"
#include "daemon/message.h"
#include "serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TAB "0123456789abcdef0123456789abcdef"
#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static const struct proof_tab tabs[PROOF_TABS_MAX] = { [1] = { .id = TAB, .key = { 1 } } };

/* The proofs of requests as they stand there; a reader of its own finds them. */
static void prove(char *data, size_t len)
{
	static const char blank[] =
		"================================================================";
	static struct serve_request served;
	size_t scanned = 0;
	char *at = memmem(data, len, blank, PROOF_MAC);
	struct proof_claim c;
	uint8_t mac[PROOF_MAC / 2];
	char text[PROOF_MAC + 1], count[24], host[300];

	if (!at)
		return;
	memset(at, '0', PROOF_MAC);
	if (serve_request_read(&served, data, len, &scanned) != 1 || served.status ||
		!proof_read(served.authorization, &c))
		return;
	(void)snprintf(count, sizeof(count), "%" PRIu64, c.count);
	(void)snprintf(host, sizeof(host), "%s:%u", served.head.request.host,
		(unsigned)(served.head.request.port ? served.head.request.port : 80));
	proof_mac(tabs[1].key,
		(const char *const[]){ "corral-request-1", TAB, TAB, count,
			served.head.request.method, host, served.head.request.path,
			served.head.request.query ? served.head.request.query : "", c.body, NULL },
		mac);
	encoding_hex(mac, sizeof(mac), text);
	memcpy(at, text, PROOF_MAC);
}

static void check(const char *data, size_t len, const struct api_request *q)
{
	auto_buffer body = { 0 };
	struct route_call c;

	if (q->status) {
		const struct message_note note = {
			.status = q->status, .target = q->target, .reason = q->reason
		};

		require(q->status >= 400 && q->status < 504 && q->reason[0]);
		/* Whatever was refused can be put into the log. */
		require(message_note_encode(&note, &body) == 0);
		return;
	}
	require(q->head > 4 && q->head <= SERVE_REQUEST_HEAD_MAX && q->head <= len);
	require(q->body <= len - q->head && q->body <= API_REQUEST_BODY_MAX);
	/* The page itself is no call, and needs no token. */
	if (q->asset) {
		require(!q->call.route && q->body == 0);
		return;
	}
	require(q->call.route->is_open ||
		(q->tab ? q->tab == &tabs[1] && memmem(data, q->head, q->claim.mac, PROOF_MAC)
			: memmem(data, q->head, TOKEN, strlen(TOKEN)) != NULL));
	require(!q->tab || proof_is_body(&q->claim, data + q->head, q->body));
	require(route_call_encode(&q->call, &body) == 0);
	require(route_call_decode(&c, body.data, body.len) == (q->call.route->is_local ? -71 : 0));
}

static void run(const char *data, size_t len, size_t piece, bool by_tcp, struct buffer *seen)
{
	const struct api_guard guard = {
		.token = TOKEN, .port = by_tcp ? 3847 : 0, .start = TAB, .label = TAB, .tabs = tabs
	};
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
			require(!q.tab || by_tcp);
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
	auto_buffer whole = { 0 }, pieces = { 0 }, copy = { 0 };

	if (size == 0)
		return 0;
	buffer_add(&copy, data + 1, size - 1);
	if (copy.failed || copy.len == 0)
		return 0;
	prove(copy.data, copy.len);
	run(copy.data, copy.len, size, data[0] & 1, &whole);
	run(copy.data, copy.len, data[0] + 1u, data[0] & 1, &pieces);
	require(whole.len == pieces.len && strcmp(buffer_text(&whole), buffer_text(&pieces)) == 0);
	return 0;
}
