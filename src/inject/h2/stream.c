/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/h2/stream.h"

#include <stdlib.h>
#include <string.h>

#include "vault/secret.h"

enum { PIPE_SPARE = 64 << 10 /* of an empty one: more is given back */ };

struct h2_stream *h2_stream_new(
	const struct heads *heads, uint32_t rewrites, const struct masking *m)
{
	struct h2_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	h2_request_init(&s->request, heads, rewrites);
	h2_answer_init(&s->answer, m);
	return s;
}

static void h2_pipe_deinit(struct h2_pipe *p)
{
	if (p->data.data)
		secret_wipe(p->data.data, p->data.cap);
	buffer_deinit(&p->data);
}

void h2_stream_free(struct h2_stream *s)
{
	free(s->denial);
	h2_request_deinit(&s->request);
	h2_answer_deinit(&s->answer);
	h2_pipe_deinit(&s->pipes[H2_CLIENT]);
	h2_pipe_deinit(&s->pipes[H2_HOST]);
	free(s);
}

size_t h2_stream_count(const struct h2_stream *s)
{
	return sizeof(*s) + h2_request_kept(&s->request) + s->answer.fields.text.cap +
	       s->answer.body.pending.cap + s->pipes[H2_CLIENT].data.len +
	       s->pipes[H2_HOST].data.len;
}

struct h2_fields *h2_stream_trailers(struct h2_stream *s, enum h2_side from)
{
	return from == H2_CLIENT ? &s->request.trailers : &s->answer.fields;
}

/* Pipes */

size_t h2_pipe_left(const struct h2_pipe *p)
{
	return p->data.len - p->at;
}

/* What has gone is wiped, and its room used again. */
static void h2_pipe_tidy(struct h2_pipe *p)
{
	const size_t left = h2_pipe_left(p);

	if (left > 0 && p->at < PIPE_SPARE)
		return;
	memmove(p->data.data, p->data.data + p->at, left);
	secret_wipe(p->data.data + left, p->at);
	p->data.len = left;
	p->at = 0;
	if (left == 0 && p->data.cap > PIPE_SPARE)
		buffer_deinit(&p->data);
}

size_t h2_pipe_take(struct h2_pipe *p, uint8_t *ret, size_t len)
{
	const size_t left = h2_pipe_left(p), n = len < left ? len : left;

	if (n == 0)
		return 0;
	memcpy(ret, p->data.data + p->at, n);
	p->at += n;
	h2_pipe_tidy(p);
	return n;
}

size_t h2_pipe_pay(struct h2_pipe *p, size_t n)
{
	const size_t paid = h2_pipe_left(p) == 0 || n > p->owed ? p->owed : n;

	p->owed -= paid;
	return paid;
}
