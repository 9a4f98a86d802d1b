/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/question.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/reader.h"

enum { QUESTION_ERROR_MAX = 4095 };

/* As much of it as fits, and no part of a character. What is no UTF-8 ends it. */
static void question_add(struct buffer *out, const char *text)
{
	size_t len = text ? strnlen(text, QUESTION_TEXT_MAX) : 0, bad = len;

	if (len > 0 && !utf8_valid(text, len, &bad))
		len = bad;
	buffer_add(out, text, len);
	buffer_addc(out, '\0');
}

/* For what is decided by: all of it, or nothing. */
static bool question_is_text(const char *text)
{
	const size_t len = text ? strnlen(text, QUESTION_TEXT_MAX + 1) : 0;

	return text && len <= QUESTION_TEXT_MAX && utf8_valid(text, len, NULL);
}

static bool question_is_pattern(const char *text)
{
	return question_is_text(text) && text[0];
}

static const char *question_take(struct reader *r)
{
	const char *text = reader_string(r);

	return text && question_is_text(text) ? text : NULL;
}

/* Questions */

struct question_head {
	uint32_t op, pid, wait_ms, n_scopes;
};

static bool question_is_valid(const struct question *q)
{
	if (q->op >= OPERATION_COUNT || q->wait_ms > QUESTION_WAIT_MAX_MS ||
		q->n_scopes > QUESTION_SCOPES_MAX || !question_is_text(q->target))
		return false;
	for (size_t i = 0; i < q->n_scopes; i++)
		if (!question_is_pattern(q->scopes[i]))
			return false;
	return true;
}

int question_encode(const struct question *q, struct buffer *out)
{
	const struct question_head h = { q->op, q->pid, q->wait_ms, q->n_scopes };

	if (!question_is_valid(q))
		return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	question_add(out, q->target);
	question_add(out, q->program);
	question_add(out, q->rule);
	question_add(out, q->reason);
	question_add(out, q->method);
	for (size_t i = 0; i < q->n_scopes; i++)
		question_add(out, q->scopes[i]);
	return out->failed ? -ENOMEM : 0;
}

int question_decode(struct question *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct question q = { 0 };
	struct question_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.n_scopes > QUESTION_SCOPES_MAX)
		return -EPROTO;
	q.op = h.op;
	q.pid = h.pid;
	q.wait_ms = h.wait_ms;
	q.n_scopes = h.n_scopes;
	q.target = question_take(&r);
	q.program = question_take(&r);
	q.rule = question_take(&r);
	q.reason = question_take(&r);
	q.method = question_take(&r);
	for (size_t i = 0; i < q.n_scopes; i++)
		q.scopes[i] = question_take(&r);
	if (r.left > 0 || !q.target || !q.program || !q.rule || !q.reason || !q.method ||
		!question_is_valid(&q))
		return -EPROTO;
	*ret = q;
	return 0;
}

int question_over_decode(enum question_end *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	uint32_t how;

	if (!reader_bytes(&r, &how, sizeof(how)) || r.left > 0 || how >= QUESTION_END_COUNT)
		return -EPROTO;
	*ret = (enum question_end)how;
	return 0;
}

/* Answers */

struct answer_head {
	uint64_t question, ttl_ms;
	uint32_t kind, why;
};

const char *answer_why_text(uint32_t why)
{
	static const char *const texts[ANSWER_WHY_COUNT] = {
		[ANSWER_TOO_MANY] = "the user is not asked: the sandbox asks too many questions, "
				    "and further ones are refused for up to a minute",
		[ANSWER_NO_BEFORE] = "the user is not asked: they have refused several questions "
				     "of this kind, and further ones are refused for five minutes",
	};

	return why < ANSWER_WHY_COUNT ? texts[why] : NULL;
}

static bool answer_is_valid(const struct answer *a)
{
	return a->kind < ANSWER_KIND_COUNT && a->why < ANSWER_WHY_COUNT &&
	       (a->kind == ANSWER_DENY || !a->why) && question_is_text(a->pattern) &&
	       (a->kind == ANSWER_ALLOW || !a->pattern[0]);
}

int answer_encode(const struct answer *a, struct buffer *out)
{
	const struct answer_head h = { a->question, a->ttl_ms, a->kind, a->why };

	if (!answer_is_valid(a))
		return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	question_add(out, a->pattern);
	return out->failed ? -ENOMEM : 0;
}

int answer_decode(struct answer *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct answer_head h;
	struct answer a;

	if (!reader_bytes(&r, &h, sizeof(h)))
		return -EPROTO;
	a = (struct answer){ h.question, h.ttl_ms, h.kind, h.why, question_take(&r) };
	if (r.left > 0 || !answer_is_valid(&a))
		return -EPROTO;
	*ret = a;
	return 0;
}

/* Grants */

struct live_grant_head {
	uint64_t since_ms, until_ms, ends_ms;
	uint32_t op, by;
};

static bool live_grant_is_valid(const struct live_grant *g)
{
	return g->op < OPERATION_COUNT && g->by < GRANT_BY_COUNT && question_is_pattern(g->pattern);
}

int live_grant_encode(const struct live_grant *g, struct buffer *out)
{
	const struct live_grant_head h = { g->since_ms, g->until_ms, g->ends_ms, g->op, g->by };

	if (!live_grant_is_valid(g))
		return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	question_add(out, g->pattern);
	return out->failed ? -ENOMEM : 0;
}

static bool live_grant_read(struct reader *r, struct live_grant *ret)
{
	struct live_grant_head h;

	if (!reader_bytes(r, &h, sizeof(h)))
		return false;
	*ret = (struct live_grant){ h.since_ms, h.until_ms, h.ends_ms, h.op, h.by,
		question_take(r) };
	return live_grant_is_valid(ret);
}

int live_grant_decode(struct live_grant *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct live_grant g;

	if (!live_grant_read(&r, &g) || r.left > 0)
		return -EPROTO;
	*ret = g;
	return 0;
}

uint64_t live_grants_next_end(const struct live_grant *g, size_t n, uint64_t at_ms)
{
	uint64_t end = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (g[i].ends_ms > at_ms && g[i].ends_ms < end)
			end = g[i].ends_ms;
	return end;
}

int live_grants_encode(const struct live_grant *g, size_t n, struct buffer *out)
{
	int r = n > QUESTION_GRANTS_MAX ? -E2BIG : 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = live_grant_encode(&g[i], out);
	return r;
}

int live_grants_decode(struct live_grant ret[QUESTION_GRANTS_MAX], const void *body, size_t len)
{
	struct reader r = { body, len };
	int n = 0;

	while (r.left > 0) {
		if (n == QUESTION_GRANTS_MAX || !live_grant_read(&r, &ret[n]))
			return -EPROTO;
		n++;
	}
	return n;
}

/* Replies */

struct join_reply_head {
	uint64_t made;
	int32_t error;
	uint32_t reserved;
};

static bool join_reply_is_valid(const struct join_reply *r)
{
	return r->error >= 0 && r->error <= QUESTION_ERROR_MAX && r->reserved == 0 && r->text &&
	       (r->error ? r->made == 0 : !r->text[0]);
}

int join_reply_encode(const struct join_reply *r, struct buffer *out)
{
	const struct join_reply_head h = { r->made, r->error, 0 };

	if (!join_reply_is_valid(r))
		return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	question_add(out, r->text);
	return out->failed ? -ENOMEM : 0;
}

int join_reply_decode(struct join_reply *ret, const void *body, size_t len)
{
	struct reader reader = { body, len };
	struct join_reply_head h;
	struct join_reply r;

	if (!reader_bytes(&reader, &h, sizeof(h)))
		return -EPROTO;
	r = (struct join_reply){ h.made, h.error, h.reserved, question_take(&reader) };
	if (reader.left > 0 || !join_reply_is_valid(&r))
		return -EPROTO;
	*ret = r;
	return 0;
}
