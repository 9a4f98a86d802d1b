/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of states, each with the function that takes the next bytes. Nothing is kept of what was
 * given: an incomplete line or head is given again, and only where the search for its end stopped
 * is remembered, so that bytes which come one by one are not searched again and again.
 *
 * A state says how many bytes it took (they may pass), 0 if it needs more of them, or what is
 * wrong. What is wrong stays: no state is left then.
 */
#include "net/gate/http-requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/gate/http-head.h"

enum { CHUNK_LINE_MAX = 1024 };

enum state {
	STATE_HEAD,
	STATE_BODY,
	STATE_SIZE,
	STATE_CHUNK,
	STATE_CHUNK_END,
	STATE_TRAILERS,
	STATE_WAITS,
	STATE_OPEN
};

enum upgrade { UPGRADE_NONE, UPGRADE_ASKED, UPGRADE_ACCEPTED };

/* The search for the end of a line or head: what is before `at` was searched. */
struct search {
	size_t line, at;
	bool begun; /* there was a line that is not empty */
};

struct http_requests {
	http_judge *judge;
	void *context;
	enum state state;
	enum upgrade upgrade; /* of the request that passes now */
	int error;
	uint64_t left; /* of a body or chunk */
	uint64_t count;
	struct search search;
};

int http_requests_new(struct http_requests **ret, http_judge *judge, void *context)
{
	struct http_requests *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->judge = judge;
	h->context = context;
	*ret = h;
	return 0;
}

void http_requests_free(struct http_requests *h)
{
	free(h);
}

static void http_requests_enter(struct http_requests *h, enum state state)
{
	h->state = state;
	h->search = (struct search){ 0 };
}

static void end_request(struct http_requests *h)
{
	static const enum state next[] = {
		[UPGRADE_NONE] = STATE_HEAD,
		[UPGRADE_ASKED] = STATE_WAITS,
		[UPGRADE_ACCEPTED] = STATE_OPEN,
	};

	http_requests_enter(h, next[h->upgrade]);
}

/* Where the line ends, which starts at s->line; 0: not here. */
static ssize_t find_line(struct search *s, const uint8_t *data, size_t len, size_t max)
{
	const uint8_t *lf = NULL;
	size_t end;

	if (len > max)
		len = max;
	if (s->at < len)
		lf = memchr(data + s->at, '\n', len - s->at);
	if (!lf) {
		s->at = len;
		return len == max ? -E2BIG : 0;
	}
	end = (size_t)(lf - data);
	if (end == s->line || data[end - 1] != '\r')
		return -EINVAL;
	s->line = s->at = end + 1;
	return (ssize_t)(end + 1);
}

/* Where the empty line ends; those in front of a request do not count. */
static ssize_t find_empty(struct search *s, const uint8_t *data, size_t len)
{
	for (;;) {
		size_t start = s->line;
		ssize_t end = find_line(s, data, len, HTTP_HEAD_MAX);

		if (end <= 0)
			return end;
		if ((size_t)end - start > 2)
			s->begun = true;
		else if (s->begun)
			return end;
	}
}

static ssize_t http_requests_take_head(struct http_requests *h, const uint8_t *data, size_t len)
{
	struct http_head head;
	ssize_t end = find_empty(&h->search, data, len);
	int r;

	if (end <= 0)
		return end;
	r = http_head_parse(&head, data, (size_t)end);
	if (r < 0)
		return r;
	h->count++;
	r = h->judge(h->context, &head.request);
	if (r < 0)
		return r;
	h->upgrade = head.request.upgrade ? UPGRADE_ASKED : UPGRADE_NONE;
	h->left = head.length;
	if (head.chunked)
		http_requests_enter(h, STATE_SIZE);
	else if (head.length > 0)
		http_requests_enter(h, STATE_BODY);
	else
		end_request(h);
	return end;
}

static void http_requests_pass(struct http_requests *h, uint64_t n)
{
	h->left -= n;
	if (h->left > 0)
		return;
	if (h->state == STATE_CHUNK)
		http_requests_enter(h, STATE_CHUNK_END);
	else
		end_request(h);
}

static ssize_t http_requests_take_bytes(struct http_requests *h, const uint8_t *data, size_t len)
{
	size_t n = len < h->left ? len : (size_t)h->left;

	(void)data;
	http_requests_pass(h, n);
	return (ssize_t)n;
}

static ssize_t http_requests_take_size(struct http_requests *h, const uint8_t *data, size_t len)
{
	ssize_t end = find_line(&h->search, data, len, CHUNK_LINE_MAX);
	int r;

	if (end <= 0)
		return end;
	r = http_head_parse_chunk(data, (size_t)end - 2, &h->left);
	if (r < 0)
		return r;
	http_requests_enter(h, h->left > 0 ? STATE_CHUNK : STATE_TRAILERS);
	/* No line is needed in front of the one that ends the trailers. */
	h->search.begun = true;
	return end;
}

static ssize_t take_chunk_end(struct http_requests *h, const uint8_t *data, size_t len)
{
	if (data[0] != '\r' || (len > 1 && data[1] != '\n'))
		return -EINVAL;
	if (len < 2)
		return 0;
	http_requests_enter(h, STATE_SIZE);
	return 2;
}

static ssize_t take_trailers(struct http_requests *h, const uint8_t *data, size_t len)
{
	ssize_t end = find_empty(&h->search, data, len);
	int r;

	if (end <= 0)
		return end;
	r = http_head_check_trailers(data, (size_t)end);
	if (r < 0)
		return r;
	end_request(h);
	return end;
}

static ssize_t take_nothing(struct http_requests *h, const uint8_t *data, size_t len)
{
	(void)h, (void)data, (void)len;
	return 0;
}

static ssize_t take_all(struct http_requests *h, const uint8_t *data, size_t len)
{
	(void)h, (void)data;
	return (ssize_t)len;
}

static ssize_t http_requests_take(struct http_requests *h, const uint8_t *data, size_t len)
{
	static ssize_t (*const take_in[])(
		struct http_requests * h, const uint8_t *data, size_t len) = {
		[STATE_HEAD] = http_requests_take_head,
		[STATE_BODY] = http_requests_take_bytes,
		[STATE_SIZE] = http_requests_take_size,
		[STATE_CHUNK] = http_requests_take_bytes,
		[STATE_CHUNK_END] = take_chunk_end,
		[STATE_TRAILERS] = take_trailers,
		[STATE_WAITS] = take_nothing,
		[STATE_OPEN] = take_all,
	};

	return take_in[h->state](h, data, len);
}

ssize_t http_requests_feed(struct http_requests *h, const uint8_t *data, size_t len)
{
	size_t passed = 0;

	while (h->error == 0 && passed < len) {
		ssize_t n = http_requests_take(h, data + passed, len - passed);

		if (n < 0)
			h->error = (int)n;
		if (n <= 0)
			break;
		passed += (size_t)n;
	}
	return passed > 0 ? (ssize_t)passed : h->error;
}

bool http_requests_waits(const struct http_requests *h)
{
	return h->error == 0 && h->upgrade == UPGRADE_ASKED;
}

bool http_requests_stopped(const struct http_requests *h)
{
	return h->error == 0 && h->state == STATE_WAITS;
}

void http_requests_upgraded(struct http_requests *h, bool accepted)
{
	if (!http_requests_waits(h))
		return;
	h->upgrade = accepted ? UPGRADE_ACCEPTED : UPGRADE_NONE;
	if (h->state == STATE_WAITS)
		end_request(h);
}

uint64_t http_requests_count(const struct http_requests *h)
{
	return h->count;
}

uint64_t http_requests_free_bytes(const struct http_requests *h)
{
	if (h->error < 0)
		return 0;
	if (h->state == STATE_OPEN)
		return UINT64_MAX;
	return h->state == STATE_BODY || h->state == STATE_CHUNK ? h->left : 0;
}

void http_requests_skip(struct http_requests *h, uint64_t n)
{
	uint64_t most = http_requests_free_bytes(h);

	if (n > most)
		h->error = -EINVAL;
	else if (n > 0 && h->state != STATE_OPEN)
		http_requests_pass(h, n);
}
