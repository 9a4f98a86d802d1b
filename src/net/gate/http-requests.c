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
#include <strings.h>

#include "net/gate/internal.h"

enum { CHUNK_LINE_MAX = 1024, LINE_MAX_BYTES = 8 << 10 };

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
struct http_search {
	size_t line, at;
	bool begun; /* there was a line that is not empty */
};

struct http_requests {
	http_judge *judge;
	void *context;
	enum state state;
	enum upgrade upgrade; /* of the request that passes now */
	int error;
	bool held;
	uint64_t left; /* of a body or chunk */
	uint64_t count;
	struct http_search search;
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
	h->search = (struct http_search){ 0 };
}

static void http_requests_end(struct http_requests *h)
{
	http_requests_enter(h, h->upgrade == UPGRADE_NONE    ? STATE_HEAD
			       : h->upgrade == UPGRADE_ASKED ? STATE_WAITS
							     : STATE_OPEN);
}

/* Where the line ends, which starts at s->line; 0: not here. */
static ssize_t http_search_line(struct http_search *s, const uint8_t *data, size_t len, size_t max)
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
static ssize_t http_search_empty(struct http_search *s, const uint8_t *data, size_t len)
{
	for (;;) {
		size_t start = s->line;
		ssize_t end = http_search_line(s, data, len, HTTP_HEAD_MAX);

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
	ssize_t end = http_search_empty(&h->search, data, len);
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
	if (r == HTTP_HOLD) {
		h->count--;
		h->held = true;
		http_requests_enter(h, STATE_HEAD);
		return 0;
	}
	h->upgrade = head.request.upgrade ? UPGRADE_ASKED : UPGRADE_NONE;
	h->left = head.length;
	if (head.chunked)
		http_requests_enter(h, STATE_SIZE);
	else if (head.length > 0)
		http_requests_enter(h, STATE_BODY);
	else
		http_requests_end(h);
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
		http_requests_end(h);
}

static ssize_t http_requests_take_size(struct http_requests *h, const uint8_t *data, size_t len)
{
	ssize_t end = http_search_line(&h->search, data, len, CHUNK_LINE_MAX);
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

static ssize_t http_requests_take(struct http_requests *h, const uint8_t *data, size_t len)
{
	ssize_t end;

	switch (h->state) {
	case STATE_HEAD:
		return http_requests_take_head(h, data, len);
	case STATE_SIZE:
		return http_requests_take_size(h, data, len);
	case STATE_BODY:
	case STATE_CHUNK:
		if (len > h->left)
			len = (size_t)h->left;
		http_requests_pass(h, len);
		return (ssize_t)len;
	case STATE_CHUNK_END:
		if (data[0] != '\r' || (len > 1 && data[1] != '\n'))
			return -EINVAL;
		if (len < 2)
			return 0;
		http_requests_enter(h, STATE_SIZE);
		return 2;
	case STATE_TRAILERS:
		end = http_search_empty(&h->search, data, len);
		if (end > 0) {
			int r = http_head_check_trailers(data, (size_t)end);

			if (r < 0)
				return r;
			http_requests_end(h);
		}
		return end;
	case STATE_WAITS:
		return 0;
	case STATE_OPEN:
		return (ssize_t)len;
	}
	return -EINVAL;
}

ssize_t http_requests_step(
	struct http_requests *h, const uint8_t *data, size_t len, enum http_part *ret)
{
	static const enum http_part parts[] = {
		[STATE_HEAD] = HTTP_PART_HEAD,
		[STATE_BODY] = HTTP_PART_BODY,
		[STATE_SIZE] = HTTP_PART_FRAMING,
		[STATE_CHUNK] = HTTP_PART_BODY,
		[STATE_CHUNK_END] = HTTP_PART_FRAMING,
		[STATE_TRAILERS] = HTTP_PART_TRAILERS,
		[STATE_WAITS] = HTTP_PART_OPEN,
		[STATE_OPEN] = HTTP_PART_OPEN,
	};
	ssize_t n;

	h->held = false;
	*ret = parts[h->state];
	if (h->error < 0 || len == 0)
		return h->error;
	n = http_requests_take(h, data, len);
	if (n < 0)
		h->error = (int)n;
	return n;
}

ssize_t http_requests_feed(struct http_requests *h, const uint8_t *data, size_t len)
{
	size_t passed = 0;
	enum http_part part;
	ssize_t n;

	h->held = false;
	while (passed < len && (n = http_requests_step(h, data + passed, len - passed, &part)) > 0)
		passed += (size_t)n;
	return passed > 0 ? (ssize_t)passed : h->error;
}

bool http_requests_held(const struct http_requests *h)
{
	return h->error == 0 && h->held;
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
		http_requests_end(h);
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

bool http_requests_has_body(const struct http_requests *h)
{
	return h->error == 0 && h->state != STATE_HEAD && h->state != STATE_WAITS &&
	       h->state != STATE_OPEN;
}

void http_requests_skip(struct http_requests *h, uint64_t n)
{
	uint64_t most = http_requests_free_bytes(h);

	if (n > most)
		h->error = -EINVAL;
	else if (n > 0 && h->state != STATE_OPEN)
		http_requests_pass(h, n);
}

/*
 * Whether it is HTTP. Here the doubt goes the other way than in http-head.c: what some server may
 * take for a request, however it is spelled, has to be read as one (and is then refused), since
 * what is not HTTP passes without a look at its host. So whatever some reader takes for a space is
 * one, any line with "HTTP/" is a request, whatever other bytes are in it, and so is one of
 * HTTP/0.9, behind which some look for fields. And what names another client, in front of a
 * request or of TLS, is nothing for a command to say.
 *
 * Only the end of the first line settles that it is none. Other protocols do not wait for one that
 * never comes: what is in doubt is passed on and remembered. Where the line is too long for that, a
 * byte that no line of text has tells them from HTTP, unless the line begins with a word.
 */

/* Python's str.split() takes all of these. */
static bool http_looks_is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f) || c == 0x85 ||
	       c == 0xa0;
}

/* All of it, or it begins with a word and a space, as in front of a request's target. */
static bool http_looks_like_text(const uint8_t *line, size_t len)
{
	size_t text = 0, word = 0;

	while (text < len &&
		(http_looks_is_space(line[text]) || (line[text] >= ' ' && line[text] != 0x7f)))
		text++;
	while (word < len && line[word] > ' ' && line[word] != 0x7f &&
		!http_looks_is_space(line[word]))
		word++;
	return text == len || (word > 0 && word < len && http_looks_is_space(line[word]));
}

/* By the slash: a line may come byte by byte, and is looked at each time. */
static bool http_looks_has_version(const uint8_t *line, size_t len)
{
	const uint8_t *end = line + len, *slash = line;

	while ((slash = memchr(slash, '/', (size_t)(end - slash)))) {
		if (slash - line >= 4 && strncasecmp((const char *)slash - 4, "HTTP", 4) == 0)
			return true;
		slash++;
	}
	return false;
}

/* The first line that is not empty, or as much of it as is there, without its LF. */
static enum http_looks http_looks_at(const uint8_t *line, size_t len, bool complete)
{
	static const char preface[] = "PRI * HTTP/2.0\r";
	const size_t n = strlen(preface);

	if ((complete ? len == n : len <= n) && memcmp(line, preface, len) == 0)
		return complete ? HTTP_2 : HTTP_MAYBE;
	/* The PROXY protocol, version 1: servers that speak it look for the request after it. */
	if (http_looks_has_version(line, len) || (len >= 6 && memcmp(line, "PROXY ", 6) == 0))
		return HTTP_YES;
	/* HTTP/0.9. Not only when the line has ended: some servers take the end of the connection
	 * for the line's, so nothing of it may pass before. */
	if (len > 3 && memcmp(line, "GET", 3) == 0 && http_looks_is_space(line[3]))
		return HTTP_YES;
	return complete ? HTTP_NO : HTTP_MAYBE;
}

enum http_looks http_requests_looks(const uint8_t *data, size_t len)
{
	/* Of the PROXY protocol, version 2, up to the line that would settle it. */
	static const char signature[] = "\r\n\r\n\0\r\n";
	size_t most = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES, start = 0, n;
	const uint8_t *lf;
	enum http_looks looks;

	if (len >= sizeof(signature) - 1 && memcmp(data, signature, sizeof(signature) - 1) == 0)
		return HTTP_YES;
	while (start < most && http_looks_is_space(data[start]))
		start++;
	lf = start < most ? memchr(data + start, '\n', most - start) : NULL;
	n = (lf ? (size_t)(lf - data) : most) - start;
	looks = http_looks_at(data + start, n, lf != NULL);
	if (looks != HTTP_MAYBE || most < LINE_MAX_BYTES)
		return looks;
	/* A longer line than is waited for: there are servers that take it. */
	return http_looks_like_text(data + start, n) ? HTTP_YES : HTTP_NO;
}
