/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a connection: the first byte says in pieces of which size they come. The same
 * requests are found in one piece and in many; one that is taken has the token, a name of ours and
 * no Origin, and ends within the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/front/http.h"
#include "serve/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef0123456789abcdef"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool has(const char *data, size_t len, const char *part)
{
	return memmem(data, len, part, strlen(part)) != NULL;
}

static void check(const char *data, size_t len, const struct http_message *m)
{
	if (m->what == HTTP_REFUSED) {
		require(m->status >= 400 && m->status < 500 && m->reason);
		return;
	}
	require(m->head > 4 && m->head <= SERVE_REQUEST_HEAD_MAX && m->head <= len);
	require(m->body <= len - m->head && m->body <= HTTP_FRONT_BODY_MAX);
	require(memcmp(data + m->head - 4, "\r\n\r\n", 4) == 0);
	require(has(data, m->head, "8200"));
	if (m->what == HTTP_CALL)
		require(m->body > 0 && has(data, m->head, TOKEN) &&
			has(data, m->head, "POST /rpc"));
	else
		require(m->body == 0 && has(data, m->head, "GET /health"));
}

/* What is found, as text. */
static void run(const char *data, size_t len, size_t piece, struct buffer *seen)
{
	static const struct http_guard guard = { .token = TOKEN, .port = 8200 };
	size_t start = 0, scanned = 0;

	for (size_t end = 0; end < len;) {
		struct http_message m;

		end = len - end < piece ? len : end + piece;
		while (http_message_read(&guard, data + start, end - start, &scanned, &m)) {
			require(scanned <= end - start);
			check(data + start, end - start, &m);
			buffer_printf(seen, "%d %u %zu %zu\n", m.what, m.status, m.head, m.body);
			if (m.what == HTTP_REFUSED)
				return;
			start += m.head + m.body;
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
