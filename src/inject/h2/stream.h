/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A stream from a client to a host: a request and its answer, and what of each waits until the
 * other side takes it. It lives as long as one of the sides has it open.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/h2/answer.h"
#include "inject/h2/h2.h"
#include "inject/h2/request.h"

/* Bytes from one side to the other. */
struct h2_pipe {
	struct buffer data;
	size_t at;   /* of data: before it they have gone */
	size_t owed; /* of the sender's window */
	size_t came; /* in all */
	bool ended;  /* nothing more comes */
	bool has_trailers, is_fast;
};

struct h2_stream {
	struct h2_stream *prev, *next;
	struct h2_request request;
	struct h2_answer answer;
	struct h2_pipe pipes[2]; /* by whom it comes from */
	int32_t ids[2];
	bool is_open[2];
	bool is_refused;  /* nothing more passes */
	bool is_answered; /* the client has all of it */
	bool resets;      /* behind the answer: the host wants no more of the request */
	size_t kept;      /* as was counted last */
	/* To a request that is denied, in place of the host's; NULL: none is. */
	char *denial;
	size_t denial_at;
};

struct h2_stream *h2_stream_new(
	const struct heads *heads, uint32_t rewrites, const struct masking *m);
void h2_stream_free(struct h2_stream *s);
/* How many bytes it keeps. */
size_t h2_stream_count(const struct h2_stream *s);
/* Trailers of what comes from there. */
struct h2_fields *h2_stream_trailers(struct h2_stream *s, enum h2_side from);

size_t h2_pipe_left(const struct h2_pipe *p);
/* Takes up to len bytes. */
size_t h2_pipe_take(struct h2_pipe *p, uint8_t *ret, size_t len);
/* n bytes have gone: how much of the sender's window is open again. All, if nothing waits: what
 * is left then has other bounds. */
size_t h2_pipe_pay(struct h2_pipe *p, size_t n);
