/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte says how the rest is split and what the judge and the server say. In one piece, in
 * equal pieces and byte by byte the same bytes pass, the same requests are judged, and the same
 * error ends it; no byte of a request passes before it was judged, and what the judge refuses does
 * not pass at all.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "net/gate/internal.h"
#include "net/gate/http-requests.h"

enum { REFUSED = -EPERM };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

struct run {
	struct http_requests *http;
	bool accepts;     /* the server, when asked for another protocol */
	bool skips;       /* free bytes are reported, not fed */
	bool holds;       /* the judge: each request once, */
	bool held;        /* as it did with this one */
	unsigned refuses; /* the judge: the request of this number; 0: none */
	unsigned judged;
	size_t passed;
	int error;
	struct buffer log; /* what was judged */
};

static void check_request(const struct http_request *r)
{
	char again[HOST_TEXT_BYTES];
	uint16_t port;

	require(r->method[0] != '\0' && r->method[strcspn(r->method, " \t\r\n:")] == '\0');
	require(r->path[strcspn(r->path, " \t\r\n?#")] == '\0');
	require(r->path[0] == '/' || strcmp(r->path, "*") == 0 ||
		(r->path[0] == '\0' && r->upgrade));
	require(r->upgrade || r->upgrade_to[0] == '\0');
	if (r->host[0] == '\0')
		return;
	require(host_text_authority(r->host, strlen(r->host), again, &port) == 0);
	require(strcmp(again, r->host) == 0 && port == 0);
}

static int judge(void *context, const struct http_request *r)
{
	struct run *run = context;

	check_request(r);
	run->held = run->holds && !run->held;
	if (run->held)
		return HTTP_HOLD;
	buffer_printf(&run->log, "%s %s %u %s %d %s\n", r->method, r->host, r->port, r->path,
		r->upgrade, r->upgrade_to);
	run->judged++;
	return run->judged == run->refuses ? REFUSED : 0;
}

static size_t feed_piece(struct run *run, const uint8_t *data, size_t size)
{
	uint64_t free_bytes = http_requests_free_bytes(run->http);
	uint8_t *copy;
	ssize_t n;

	if (run->skips && free_bytes > 0) {
		size_t most = free_bytes < size ? (size_t)free_bytes : size;

		http_requests_skip(run->http, most);
		return most;
	}
	copy = malloc(size ? size : 1);
	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	n = http_requests_feed(run->http, copy, size);
	free(copy);
	require(n <= (ssize_t)size);
	/* What is free passes whole; other bytes only after a judge's word. */
	require(n <= 0 || run->judged > 0);
	if (n < 0)
		run->error = (int)n;
	return n < 0 ? 0 : (size_t)n;
}

/* All that can pass of data[passed..end). */
static void feed_until(struct run *run, const uint8_t *data, size_t end)
{
	size_t n;

	do {
		n = feed_piece(run, data + run->passed, end - run->passed);
		run->passed += n;
		require(run->error < 0 || http_requests_held(run->http) == run->held);
		if (n == 0 && run->held)
			n = 1;
		if (http_requests_waits(run->http) && n == 0) {
			http_requests_upgraded(run->http, run->accepts);
			n = 1;
		}
	} while (n > 0 && run->error == 0 && run->passed < end);
	require(end - run->passed < HTTP_HEAD_MAX || run->error < 0);
}

static void feed_all(struct run *run, const uint8_t *data, size_t size, size_t piece)
{
	require(http_requests_new(&run->http, judge, run) == 0);
	for (size_t end = 0; end < size && run->error == 0;) {
		end = size - end < piece ? size : end + piece;
		feed_until(run, data, end);
	}
	require(run->refuses == 0 || run->judged <= run->refuses);
	require((run->error == REFUSED) == (run->refuses > 0 && run->judged == run->refuses));
	require(http_requests_count(run->http) == run->judged);
	if (run->error < 0) {
		require(http_requests_feed(run->http, data, size) == run->error);
		require(http_requests_free_bytes(run->http) == 0);
	}
	http_requests_free(run->http);
}

static void check_same(const struct run *a, const struct run *b)
{
	require(a->passed == b->passed && a->error == b->error && a->judged == b->judged);
	require(strcmp(buffer_text(&a->log), buffer_text(&b->log)) == 0);
}

/* Once it is known, more bytes do not change it; and what is read as a request looks like one. */
static void check_looks(const uint8_t *data, size_t size, bool judged)
{
	enum http_looks whole = http_requests_looks(data, size);
	size_t step = size / 64 + 1;

	for (size_t n = 0; n < size; n += step) {
		enum http_looks part = http_requests_looks(data, n);

		require(part == whole || part == HTTP_MAYBE);
	}
	require(!judged || whole == HTTP_YES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[] = { 1, 3, 64, 1000 };
	struct run whole = { 0 };

	if (size == 0)
		return 0;
	whole.accepts = data[0] & 1;
	whole.refuses = data[0] >> 1 & 3;
	data++;
	size--;
	feed_all(&whole, data, size, SIZE_MAX);
	check_looks(data, size, whole.judged > 0);
	for (size_t i = 0; i < ROWS(pieces); i++) {
		struct run run = { .accepts = whole.accepts,
			.refuses = whole.refuses,
			.skips = i % 2,
			.holds = i > 1 };

		/* Byte by byte only what is short: each piece is copied whole. */
		if (size / pieces[i] > 2048)
			continue;
		feed_all(&run, data, size, pieces[i]);
		check_same(&whole, &run);
		buffer_deinit(&run.log);
	}
	buffer_deinit(&whole.log);
	return 0;
}
