/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "net/gate/http-head.h"
#include "vault/secret.h"

enum { CHUNK_LINE_MAX = 1024, HTTP_PARTIAL = 206 };

enum answer_state {
	ANSWER_HEAD,
	ANSWER_BODY,   /* of a known length */
	ANSWER_CLOSES, /* to the end of the connection */
	ANSWER_SIZE,
	ANSWER_CHUNK,
	ANSWER_CHUNK_END,
	ANSWER_TRAILERS,
	ANSWER_OPEN, /* another protocol */
	ANSWER_HELD, /* complete, and waits to be released */
};

/* What was asked, as far as the answer's form depends on it. */
struct answer_request {
	bool is_head, upgrades;
};

struct inject_answer_head {
	unsigned status;
	bool has_length, is_chunked, is_encoded;
	uint64_t length;
	const char *type; /* Content-Type, in the head; of several the last */
	size_t type_len, n_types;
};

struct inject_answers {
	struct inject_answers_options o;
	enum answer_state state;
	bool is_chunked;
	uint64_t left;
	struct masking_stream body; /* that passes */
	enum answers_hold hold;
	struct buffer head, held; /* of the one that waits: with its empty line; without chunks */
	size_t first, n;          /* requests that wait, in a ring */
	struct answer_request requests[INJECT_WAITING_MAX];
};

int inject_answers_new(struct inject_answers **ret, const struct inject_answers_options *o)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->o = *o;
	(*ret)->body.masking = o->masking;
	return 0;
}

static void answers_wipe(struct buffer *b)
{
	if (b->data)
		secret_wipe(b->data, b->cap);
	buffer_deinit(b);
}

static void answers_drop_held(struct inject_answers *a)
{
	answers_wipe(&a->head);
	answers_wipe(&a->held);
	a->hold = ANSWERS_PASS;
}

void inject_answers_free(struct inject_answers *a)
{
	if (a) {
		masking_stream_deinit(&a->body);
		answers_drop_held(a);
	}
	free(a);
}

size_t inject_answers_masked(const struct inject_answers *a)
{
	return a->body.masked;
}

bool inject_answers_are_complete(const struct inject_answers *a)
{
	return a->n == 0 && a->state == ANSWER_HEAD;
}

bool inject_answers_have_begun(const struct inject_answers *a)
{
	return a->state != ANSWER_HEAD && a->hold == ANSWERS_PASS;
}

int inject_answers_expect(struct inject_answers *a, const char *method, bool upgrades)
{
	if (a->n == INJECT_WAITING_MAX)
		return -E2BIG;
	a->requests[(a->first + a->n++) % INJECT_WAITING_MAX] =
		(struct answer_request){ .is_head = strcmp(method, "HEAD") == 0,
			.upgrades = upgrades };
	return 0;
}

/* Text that goes on, with values overwritten. */

static int answers_add_ready(struct inject_answers *a, struct buffer *out)
{
	size_t len;
	const char *data = masking_stream_ready(&a->body, &len);

	if (len > 0 && a->is_chunked)
		buffer_printf(out, "%zx\r\n", len);
	buffer_add(out, data, len);
	if (len > 0 && a->is_chunked)
		buffer_adds(out, "\r\n");
	masking_stream_done(&a->body);
	return out->failed ? -ENOMEM : 0;
}

static void answers_add_masked(
	struct inject_answers *a, const uint8_t *data, size_t len, struct buffer *out)
{
	const size_t at = out->len;

	buffer_add(out, data, len);
	if (!out->failed)
		(void)masking_apply(a->o.masking, out->data + at, len, true, &a->body.masked);
}

/* It is too long for what it was kept back for. */
static int answers_let_go(struct inject_answers *a, bool last, struct buffer *out)
{
	auto_buffer held = a->held;
	int r;

	a->held = (struct buffer){ 0 };
	answers_add_masked(a, (const uint8_t *)a->head.data, a->head.len, out);
	r = masking_stream_add(&a->body, buffer_text(&held), held.len, last);
	answers_wipe(&held);
	answers_drop_held(a);
	return r < 0 ? r : answers_add_ready(a, out);
}

static int answers_keep(
	struct inject_answers *a, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	buffer_add(&a->held, data, len);
	if (a->held.failed)
		return -ENOMEM;
	if (a->held.len <= ANSWERS_HELD_MAX)
		return 0;
	return a->hold == ANSWERS_HOLD ? -E2BIG : answers_let_go(a, last, out);
}

/* Of a body: its last bytes wait for what follows. */
static int answers_pass(
	struct inject_answers *a, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	int r;

	if (a->hold != ANSWERS_PASS)
		return answers_keep(a, data, len, last, out);
	r = masking_stream_add(&a->body, data, len, last);
	return r < 0 ? r : answers_add_ready(a, out);
}

static int answers_pass_end(struct inject_answers *a, struct buffer *out)
{
	return answers_pass(a, (const uint8_t *)"", 0, true, out);
}

/* Whether nothing says that more must follow: else a value would pass in two parts. */
static bool answers_may_rest(const struct inject_answers *a)
{
	return a->state == ANSWER_CLOSES || a->state == ANSWER_OPEN || a->state == ANSWER_SIZE ||
	       a->state == ANSWER_CHUNK_END;
}

bool inject_answers_waits(const struct inject_answers *a)
{
	return masking_stream_waits(&a->body) && answers_may_rest(a);
}

int inject_answers_flush(struct inject_answers *a, struct buffer *out)
{
	if (!inject_answers_waits(a))
		return 0;
	masking_stream_flush(&a->body);
	return answers_add_ready(a, out);
}

/* Heads */

/* Where the line ends that begins at data, with its CR LF; 0: not here. */
static ssize_t answers_line(const uint8_t *data, size_t len, size_t max)
{
	const uint8_t *lf = memchr(data, '\n', len < max ? len : max);

	if (!lf)
		return len >= max ? -E2BIG : 0;
	return lf > data && lf[-1] == '\r' ? lf + 1 - data : -EINVAL;
}

/* Where the empty line ends. */
static ssize_t answers_empty_line(const uint8_t *data, size_t len)
{
	size_t at = 0;

	for (;;) {
		ssize_t n = answers_line(data + at, len - at, HTTP_HEAD_MAX - at);

		if (n <= 0)
			return n;
		at += (size_t)n;
		if (n == 2)
			return (ssize_t)at;
		if (at >= HTTP_HEAD_MAX)
			return -E2BIG;
	}
}

static bool answers_is(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

static int answers_read_length(const char *text, size_t len, struct inject_answer_head *ret)
{
	uint64_t n = 0;

	if (len == 0 || len > 18)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		n = 10 * n + (uint64_t)(text[i] - '0');
	}
	if (ret->has_length && ret->length != n)
		return -EINVAL;
	ret->has_length = true;
	ret->length = n;
	return 0;
}

static int answers_read_field(const char *line, size_t len, struct inject_answer_head *ret)
{
	const char *colon = memchr(line, ':', len), *value;
	size_t name = colon ? (size_t)(colon - line) : 0, n;

	if (name == 0 || line[0] == ' ' || line[0] == '\t' || memchr(line, '\0', len) ||
		memchr(line, '\r', len) || line[name - 1] == ' ' || line[name - 1] == '\t')
		return -EINVAL;
	value = colon + 1;
	n = len - name - 1;
	while (n > 0 && (*value == ' ' || *value == '\t'))
		value++, n--;
	while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	if (answers_is(line, name, "Content-Length"))
		return answers_read_length(value, n, ret);
	if (answers_is(line, name, "Content-Type")) {
		ret->type = value;
		ret->type_len = n;
		ret->n_types++;
	}
	if (answers_is(line, name, "Transfer-Encoding")) {
		if (ret->is_chunked || !answers_is(value, n, "chunked"))
			return -EINVAL;
		ret->is_chunked = true;
	}
	/* A WebSocket may be compressed, too. */
	if ((answers_is(line, name, "Content-Encoding") && n > 0 &&
		    !answers_is(value, n, "identity")) ||
		answers_is(line, name, "Sec-WebSocket-Extensions"))
		ret->is_encoded = true;
	return 0;
}

/* "HTTP/1.1 200 OK" */
static int answers_read_status(const char *line, size_t len, struct inject_answer_head *ret)
{
	static const char version[] = "HTTP/1.";
	const size_t n = strlen(version);

	if (len < n + 5 || memcmp(line, version, n) != 0 || (line[n] != '0' && line[n] != '1') ||
		line[n + 1] != ' ' || (len > n + 5 && line[n + 5] != ' '))
		return -EINVAL;
	for (size_t i = n + 2; i < n + 5; i++) {
		if (line[i] < '0' || line[i] > '9')
			return -EINVAL;
		ret->status = 10 * ret->status + (unsigned)(line[i] - '0');
	}
	return ret->status < 100 ? -EINVAL : 0;
}

static int answers_read_head(const uint8_t *data, size_t len, struct inject_answer_head *ret)
{
	const char *line = (const char *)data, *end = line + len - 2;
	bool is_first = true;

	*ret = (struct inject_answer_head){ 0 };
	while (line < end) {
		const char *lf = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)(lf - line) - 1;
		int r = is_first ? answers_read_status(line, n, ret)
				 : answers_read_field(line, n, ret);

		if (r < 0)
			return r;
		is_first = false;
		line = lf + 1;
	}
	/* Two readers could take them for two lengths. */
	return is_first || (ret->has_length && ret->is_chunked) ? -EINVAL : 0;
}

/* How the body ends. 1: there is none. */
static int answers_begin_body(struct inject_answers *a, const struct inject_answer_head *h,
	const struct answer_request *q)
{
	const bool has_body = !q->is_head && h->status != 204 && h->status != 304;

	a->is_chunked = false;
	/* A part may be a part of a value; the length of compressed text tells a guess. */
	if ((!masking_is_empty(a->o.masking) || a->o.hold) &&
		((h->is_encoded && (has_body || h->has_length)) ||
			(has_body && h->status == HTTP_PARTIAL)))
		return -EOPNOTSUPP;
	if (!has_body)
		return 1;
	if (a->o.hold && !(h->has_length && h->length == 0)) {
		/* Of two types the client may take the other one. */
		const int hold = a->o.hold(a->o.context, h->status, h->n_types > 1 ? "" : h->type,
			h->n_types == 1 ? h->type_len : 0);

		if (hold < 0)
			return hold;
		a->hold = (enum answers_hold)hold;
	}
	a->is_chunked = h->is_chunked;
	a->left = h->length;
	a->state = h->is_chunked    ? ANSWER_SIZE
		   : !h->has_length ? ANSWER_CLOSES
		   : h->length > 0  ? ANSWER_BODY
				    : ANSWER_HEAD;
	return a->state == ANSWER_HEAD;
}

static ssize_t answers_take_head(
	struct inject_answers *a, const uint8_t *data, size_t len, struct buffer *out)
{
	ssize_t end = answers_empty_line(data, len);
	struct answer_request q;
	struct inject_answer_head h;
	int r;

	if (end <= 0)
		return end;
	r = answers_read_head(data, (size_t)end, &h);
	if (r < 0)
		return r;
	if (a->n == 0)
		return -EINVAL; /* that nobody asked for */
	q = a->requests[a->first];
	if (h.status == 101 && !q.upgrades)
		return -EINVAL;
	if (h.status == 101 && h.is_encoded && !masking_is_empty(a->o.masking))
		return -EOPNOTSUPP;
	if (h.status >= 200 || h.status == 101) {
		a->first = (a->first + 1) % INJECT_WAITING_MAX;
		a->n--;
		r = h.status == 101 ? 1 : answers_begin_body(a, &h, &q);
		if (r < 0)
			return r;
	}
	if (a->hold != ANSWERS_PASS)
		buffer_add(&a->head, data, (size_t)end);
	else
		answers_add_masked(a, data, (size_t)end, out);
	if (a->head.failed)
		return -ENOMEM;
	if (q.upgrades && (h.status >= 200 || h.status == 101))
		a->o.upgraded(a->o.context, h.status == 101);
	if (h.status == 101)
		a->state = ANSWER_OPEN;
	return end;
}

/* Answers that wait */

static bool answers_frames_body(const char *line, size_t len)
{
	static const char *const names[] = { "Content-Length", "Transfer-Encoding", "Trailer",
		"Content-MD5", "Digest", "Content-Digest", "Repr-Digest", "ETag" };
	const char *colon = memchr(line, ':', len);

	for (size_t i = 0; colon && i < ROWS(names); i++)
		if (answers_is(line, (size_t)(colon - line), names[i]))
			return true;
	return false;
}

int inject_answers_release(
	struct inject_answers *a, const char *body, size_t len, struct buffer *out)
{
	const char *line = a->head.data, *end = line + a->head.len - 2;
	auto_buffer head = { 0 };

	while (line < end) {
		const char *lf = memchr(line, '\n', (size_t)(end - line));
		const size_t n = (size_t)(lf - line) + 1;

		if (!answers_frames_body(line, n))
			buffer_add(&head, line, n);
		line = lf + 1;
	}
	buffer_printf(&head, "Content-Length: %zu\r\n\r\n", len);
	if (head.failed)
		return -ENOMEM;
	answers_add_masked(a, (const uint8_t *)head.data, head.len, out);
	answers_add_masked(a, (const uint8_t *)body, len, out);
	answers_drop_held(a);
	a->state = ANSWER_HEAD;
	return out->failed ? -ENOMEM : 0;
}

bool inject_answers_is_held(const struct inject_answers *a)
{
	return a->state == ANSWER_HELD;
}

static int answers_end_held(struct inject_answers *a, struct buffer *out)
{
	const bool is_framed = a->state != ANSWER_CLOSES;
	int r = a->o.held(a->o.context, buffer_text(&a->held), a->held.len, is_framed);

	a->is_chunked = false;
	if (r == 0)
		return inject_answers_release(a, buffer_text(&a->held), a->held.len, out);
	a->state = ANSWER_HELD;
	return r < 0 ? r : 0;
}

/* Bodies */

static ssize_t answers_take_body(
	struct inject_answers *a, const uint8_t *data, size_t len, struct buffer *out)
{
	size_t n = len < a->left ? len : (size_t)a->left;
	bool is_end = a->left == n && a->state == ANSWER_BODY;
	int r = answers_pass(a, data, n, is_end, out);

	if (r < 0)
		return r;
	a->left -= n;
	if (a->left == 0)
		a->state = a->state == ANSWER_BODY ? ANSWER_HEAD : ANSWER_CHUNK_END;
	if (is_end && a->hold != ANSWERS_PASS)
		r = answers_end_held(a, out);
	return r < 0 ? r : (ssize_t)n;
}

static ssize_t answers_take_size(
	struct inject_answers *a, const uint8_t *data, size_t len, struct buffer *out)
{
	ssize_t end = answers_line(data, len, CHUNK_LINE_MAX);
	int r;

	if (end <= 0)
		return end;
	r = http_head_parse_chunk(data, (size_t)end - 2, &a->left);
	if (r < 0)
		return r;
	a->state = a->left > 0 ? ANSWER_CHUNK : ANSWER_TRAILERS;
	if (a->left == 0 && a->hold == ANSWERS_PASS) {
		r = answers_pass_end(a, out);
		buffer_adds(out, "0\r\n");
	}
	return r < 0 ? r : end;
}

static ssize_t answers_take_trailers(
	struct inject_answers *a, const uint8_t *data, size_t len, struct buffer *out)
{
	ssize_t end = answers_empty_line(data, len);

	if (end <= 0)
		return end;
	if (a->hold == ANSWERS_PASS)
		answers_add_masked(a, data, (size_t)end, out);
	a->is_chunked = false;
	a->state = ANSWER_HEAD;
	if (a->hold != ANSWERS_PASS) {
		int r = answers_end_held(a, out);

		if (r < 0)
			return r;
	}
	return end;
}

static ssize_t answers_take_chunk_end(struct inject_answers *a, const uint8_t *data, size_t len)
{
	if (data[0] != '\r' || (len > 1 && data[1] != '\n'))
		return -EINVAL;
	if (len < 2)
		return 0;
	a->state = ANSWER_SIZE;
	return 2;
}

static ssize_t answers_take(
	struct inject_answers *a, const uint8_t *data, size_t len, struct buffer *out)
{
	int r;

	switch (a->state) {
	case ANSWER_HEAD:
		return answers_take_head(a, data, len, out);
	case ANSWER_BODY:
	case ANSWER_CHUNK:
		return answers_take_body(a, data, len, out);
	case ANSWER_SIZE:
		return answers_take_size(a, data, len, out);
	case ANSWER_CHUNK_END:
		return answers_take_chunk_end(a, data, len);
	case ANSWER_TRAILERS:
		return answers_take_trailers(a, data, len, out);
	case ANSWER_CLOSES:
	case ANSWER_OPEN:
		r = answers_pass(a, data, len, false, out);
		return r < 0 ? r : (ssize_t)len;
	case ANSWER_HELD:
		return 0;
	}
	return -EINVAL;
}

ssize_t inject_answers_feed(
	struct inject_answers *a, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	ssize_t n = len > 0 ? answers_take(a, data, len, out) : 0;
	bool may_end = a->state == ANSWER_CLOSES || a->state == ANSWER_OPEN;
	int r = 0;

	if (n < 0 || a->state == ANSWER_HELD)
		return n;
	if (last && (size_t)n == len) {
		if (may_end && a->hold != ANSWERS_PASS)
			r = answers_end_held(a, out);
		else if (may_end)
			r = answers_pass_end(a, out);
		else if (a->state != ANSWER_HEAD)
			r = -EPIPE;
	} else if (last && n == 0) {
		r = -EPIPE;
	}
	return r < 0 ? r : out->failed ? -ENOMEM : n;
}
