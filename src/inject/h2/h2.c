/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of nghttp2 for both sides. A stream ends on one side by itself or by a reset, and
 * then on the other; it is freed when both have closed it, since until then a session may ask for
 * its bytes.
 */
#include "inject/h2/h2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/h2/session.h"
#include "inject/h2/stream.h"

enum {
	H2_KEPT_MAX = 2 * H2_STREAMS_MAX, /* streams, with those that only one side has closed */
	H2_FAST_MAX = 16,                 /* of one connection */
	H2_FAST_FROM = 32 << 10,          /* bytes that came on it */
};

struct h2 {
	struct h2_options o;
	struct http_head *room;
	struct h2_session ends[2];
	struct h2_stream *streams;
	size_t n_streams, n_fast, kept, masked;
	size_t own_budget, *budget;
	bool host_ended, is_closing, is_gone, was_refused;
};

enum { H2_DENIAL_FIELDS = 4 };
/* The head of an answer of ours; NULL: its length. */
static const char *const h2_denial[H2_DENIAL_FIELDS][2] = {
	{ ":status", "403" },
	{ "content-type", "text/plain; charset=utf-8" },
	{ "cache-control", "no-store" },
	{ "content-length", NULL },
};

bool h2_is_there(void)
{
	return true;
}

size_t h2_masked(const struct h2 *h)
{
	size_t n = h->masked;

	for (const struct h2_stream *s = h->streams; s; s = s->next)
		n += s->answer.body.masked;
	return n;
}

/* Streams */

static size_t h2_cost(const struct h2_stream *s)
{
	const size_t fast = H2_FAST_WINDOW - H2_STREAM_WINDOW;

	return 2 * H2_STREAM_WINDOW + (s->pipes[H2_CLIENT].is_fast ? fast : 0) +
	       (s->pipes[H2_HOST].is_fast ? fast : 0);
}

static struct h2_stream *h2_open(struct h2 *h, int32_t id)
{
	const struct heads heads = { .placeholders = h->o.placeholders,
		.may = h->o.may,
		.context = h->o.context,
		.keeps_te = true };
	const bool is_full =
		h->n_streams >= H2_KEPT_MAX || (h->n_streams > 0 && *h->budget >= H2_BUDGET_MAX);
	struct h2_stream *s = is_full ? NULL : h2_stream_new(&heads, h->o.rewrites, h->o.masking);

	if (!s)
		return NULL;
	s->ids[H2_CLIENT] = id;
	s->is_open[H2_CLIENT] = true;
	s->next = h->streams;
	if (s->next)
		s->next->prev = s;
	h->streams = s;
	h->n_streams++;
	*h->budget += h2_cost(s);
	return s;
}

static void h2_drop(struct h2 *h, struct h2_stream *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		h->streams = s->next;
	if (s->next)
		s->next->prev = s->prev;
	h->n_streams--;
	h->n_fast -= s->pipes[H2_CLIENT].is_fast + s->pipes[H2_HOST].is_fast;
	h->kept -= s->kept;
	h->masked += s->answer.body.masked;
	*h->budget -= h2_cost(s);
	h2_stream_free(s);
}

static void h2_reset(struct h2 *h, struct h2_stream *s, enum h2_side side, uint32_t code)
{
	if (s->is_open[side] && !(side == H2_HOST && h->host_ended))
		(void)nghttp2_submit_rst_stream(
			h->ends[side].nghttp2, NGHTTP2_FLAG_NONE, s->ids[side], code);
}

static uint32_t h2_code(int error)
{
	return error == -EINVAL  ? NGHTTP2_PROTOCOL_ERROR
	       : error == -E2BIG ? NGHTTP2_ENHANCE_YOUR_CALM
				 : NGHTTP2_INADEQUATE_SECURITY;
}

static void h2_tell(struct h2 *h, int error)
{
	if (!h->was_refused && h->o.refused)
		h->o.refused(h->o.context, error);
	h->was_refused = true;
}

/* Nothing more of it passes; the connection goes on. */
static void h2_refuse(struct h2 *h, struct h2_stream *s, int error)
{
	if (s->is_refused)
		return;
	s->is_refused = true;
	h2_tell(h, error);
	h2_reset(h, s, H2_HOST, NGHTTP2_CANCEL);
	h2_reset(h, s, H2_CLIENT, h2_code(error));
}

static ssize_t h2_on_read_denial(nghttp2_session *n, int32_t id, uint8_t *data, size_t len,
	uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct h2_stream *s = source->ptr;
	const size_t left = strlen(s->denial + s->denial_at), taken = left < len ? left : len;

	(void)n;
	(void)id;
	(void)context;
	memcpy(data, s->denial + s->denial_at, taken);
	s->denial_at += taken;
	if (taken == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)taken;
}

/* The client gets an answer of ours, and nothing of the host's. */
static int h2_deny(struct h2 *h, struct h2_stream *s, const char *why)
{
	const nghttp2_data_provider body = { .source.ptr = s, .read_callback = h2_on_read_denial };
	auto_buffer text = { 0 }, length = { 0 };
	struct h2_fields fields = { 0 };
	nghttp2_nv list[H2_FIELDS_MAX + 4];
	int r;

	if (s->is_refused)
		return 0;
	if (s->answer.has_begun || !s->is_open[H2_CLIENT]) {
		h2_refuse(h, s, -EACCES);
		return 0;
	}
	buffer_printf(&text, "corral: denied: %s\n", why);
	buffer_printf(&length, "%zu", text.len);
	r = text.failed || length.failed ? -ENOMEM : 0;
	for (size_t i = 0; r == 0 && i < H2_DENIAL_FIELDS; i++) {
		const char *value = h2_denial[i][1] ? h2_denial[i][1] : length.data;

		r = h2_fields_add(&fields, h2_denial[i][0], strlen(h2_denial[i][0]), value,
			strlen(value), H2_FIELDS_BYTES);
	}
	s->is_refused = true;
	h2_reset(h, s, H2_HOST, NGHTTP2_CANCEL);
	/* Its end is not the end of the answer. */
	s->pipes[H2_HOST].ended = true;
	s->resets = !s->pipes[H2_CLIENT].ended;
	s->denial = buffer_take(&text);
	if (r == 0)
		r = nghttp2_submit_response(h->ends[H2_CLIENT].nghttp2, s->ids[H2_CLIENT], list,
			h2_fields_list(&fields, false, list), s->request.is_head ? NULL : &body);
	h2_fields_deinit(&fields);
	return r == 0 ? 0 : -ENOMEM;
}

/* Bytes of a request were looked at. */
static int h2_judge(struct h2 *h, struct h2_stream *s)
{
	const char *why = h->o.denied ? h->o.denied(h->o.context) : NULL;

	return why ? h2_deny(h, s, why) : 0;
}

/* What is kept has changed. */
static void h2_account(struct h2 *h, struct h2_stream *s)
{
	const size_t kept = h2_stream_count(s);

	h->kept += kept - s->kept;
	s->kept = kept;
	if (h->kept > H2_QUEUED_MAX)
		h2_refuse(h, s, -E2BIG);
}

/* Bytes of a pipe have gone: who sends them may send more. */
static void h2_pay(struct h2 *h, struct h2_stream *s, enum h2_side from, size_t n)
{
	const size_t paid = h2_pipe_pay(&s->pipes[from], n);

	if (paid > 0 && s->is_open[from] && !(from == H2_HOST && h->host_ended))
		(void)nghttp2_session_consume_stream(h->ends[from].nghttp2, s->ids[from], paid);
}

/* A stream with much data gets a larger window, as long as there is room for that. */
static void h2_hasten(struct h2 *h, struct h2_stream *s, enum h2_side from)
{
	struct h2_pipe *p = &s->pipes[from];

	if (p->is_fast || p->came < H2_FAST_FROM || h->n_fast >= H2_FAST_MAX ||
		*h->budget + H2_FAST_WINDOW > H2_BUDGET_MAX)
		return;
	if (nghttp2_session_set_local_window_size(
		    h->ends[from].nghttp2, NGHTTP2_FLAG_NONE, s->ids[from], H2_FAST_WINDOW) != 0)
		return;
	*h->budget -= h2_cost(s);
	p->is_fast = true;
	*h->budget += h2_cost(s);
	h->n_fast++;
}

/* What was added to a pipe, or ended it, may go. */
static void h2_wake(struct h2 *h, struct h2_stream *s, enum h2_side from)
{
	const enum h2_side to = !from;

	h2_pay(h, s, from, 0);
	h2_account(h, s);
	if (s->is_open[to] && s->ids[to] > 0 && !(to == H2_HOST && h->host_ended))
		(void)nghttp2_session_resume_data(h->ends[to].nghttp2, s->ids[to]);
}

/* Bytes that a side takes */

static ssize_t h2_on_read(nghttp2_session *n, int32_t id, uint8_t *data, size_t len,
	uint32_t *flags, nghttp2_data_source *source, void *context)
{
	const struct h2_session *to = context;
	struct h2_stream *s = source->ptr;
	const enum h2_side from = !to->side;
	struct h2_pipe *p = &s->pipes[from];
	nghttp2_nv list[H2_FIELDS_MAX + 4];
	size_t taken;

	if (s->is_refused)
		return NGHTTP2_ERR_DEFERRED;
	taken = h2_pipe_take(p, data, len);
	h2_pay(to->owner, s, from, taken);
	h2_account(to->owner, s);
	if (h2_pipe_left(p) > 0 || !p->ended)
		return taken > 0 ? (ssize_t)taken : NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (p->has_trailers) {
		const size_t count = h2_fields_list(h2_stream_trailers(s, from), false, list);

		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(n, id, list, count) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)taken;
}

static int h2_on_sent(nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	struct h2_session *end = context;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(n, frame->hd.stream_id);

	if (frame->hd.type == NGHTTP2_DATA)
		h2_session_sent(end);
	if (!s || end->side != H2_CLIENT ||
		(frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
		!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s->is_answered = true;
	if (s->resets)
		h2_reset(end->owner, s, H2_CLIENT, NGHTTP2_NO_ERROR);
	return 0;
}

/* Requests */

static int h2_submit_request(struct h2 *h, struct h2_stream *s, const struct h2_fields *f)
{
	const nghttp2_data_provider body = { .source.ptr = s, .read_callback = h2_on_read };
	const struct h2_pipe *p = &s->pipes[H2_CLIENT];
	const bool has_body = !p->ended || h2_pipe_left(p) > 0 || p->has_trailers;
	nghttp2_nv list[H2_FIELDS_MAX + 4];
	const size_t n = h2_fields_list(f, true, list);
	int32_t id = h->host_ended ? -1
				   : nghttp2_submit_request(h->ends[H2_HOST].nghttp2, NULL, list, n,
					     has_body ? &body : NULL, s);

	/* The host takes no more on this connection: the client may try another. */
	if (id < 0) {
		h2_reset(h, s, H2_CLIENT, NGHTTP2_REFUSED_STREAM);
		return id == NGHTTP2_ERR_NOMEM ? -ENOMEM : 0;
	}
	s->ids[H2_HOST] = id;
	s->is_open[H2_HOST] = true;
	h2_session_sent(&h->ends[H2_HOST]);
	return 0;
}

/* The head goes when it may; then what follows. */
static int h2_go(struct h2 *h, struct h2_stream *s)
{
	struct h2_fields fields = { 0 };
	int r = h2_judge(h, s);

	if (r < 0 || s->is_refused)
		return r;
	r = h2_request_go(&s->request, &fields, &s->pipes[H2_CLIENT].data);
	if (r == 1)
		r = h2_submit_request(h, s, &fields);
	h2_fields_deinit(&fields);
	if (r == 0)
		h2_wake(h, s, H2_CLIENT);
	return r;
}

static int h2_take_request(struct h2 *h, struct h2_stream *s, bool ended)
{
	const struct h2_target_host to = {
		.host = h->o.host, .port = h->o.port, .usual_port = h->o.usual_port, .room = h->room
	};
	int r = h2_request_begin(&s->request, &to, ended);

	s->pipes[H2_CLIENT].ended = ended;
	return r < 0 ? r : h2_go(h, s);
}

static int h2_take_request_data(
	struct h2 *h, struct h2_stream *s, const uint8_t *data, size_t len, bool last)
{
	struct h2_pipe *p = &s->pipes[H2_CLIENT];
	int r = h2_request_data(&s->request, data, len, last, &p->data);

	p->ended = p->ended || last;
	return r < 0 ? r : h2_go(h, s);
}

static int h2_take_request_trailers(struct h2 *h, struct h2_stream *s)
{
	int r = h2_request_end(&s->request);

	s->pipes[H2_CLIENT].has_trailers = s->request.trailers.n > 0;
	return r < 0 ? r : h2_take_request_data(h, s, (const uint8_t *)"", 0, true);
}

/* Answers */

static int h2_take_answer(struct h2 *h, struct h2_stream *s, bool ended)
{
	const nghttp2_data_provider body = { .source.ptr = s, .read_callback = h2_on_read };
	nghttp2_session *client = h->ends[H2_CLIENT].nghttp2;
	nghttp2_nv list[H2_FIELDS_MAX + 4];
	int r = h2_answer_head(&s->answer, s->request.is_head, ended);
	size_t n;

	if (r < 0)
		return r;
	n = h2_fields_list(&s->answer.fields, false, list);
	s->pipes[H2_HOST].ended = ended && r == 1;
	if (!s->is_open[H2_CLIENT])
		return 0;
	if (r == 0)
		r = nghttp2_submit_headers(
			client, NGHTTP2_FLAG_NONE, s->ids[H2_CLIENT], NULL, list, n, NULL);
	else
		r = nghttp2_submit_response(
			client, s->ids[H2_CLIENT], list, n, ended ? NULL : &body);
	return r == 0 ? 0 : -ENOMEM;
}

static int h2_take_answer_data(
	struct h2 *h, struct h2_stream *s, const uint8_t *data, size_t len, bool last)
{
	struct h2_pipe *p = &s->pipes[H2_HOST];
	int r = h2_answer_data(&s->answer, data, len, last, &p->data);

	p->ended = p->ended || last;
	if (r == 0)
		h2_wake(h, s, H2_HOST);
	return r;
}

static int h2_take_answer_fields(struct h2 *h, struct h2_stream *s, bool ended)
{
	if (!s->answer.has_begun)
		return h2_take_answer(h, s, ended);
	h2_answer_trailers(&s->answer);
	s->pipes[H2_HOST].has_trailers = s->answer.fields.n > 0;
	return h2_take_answer_data(h, s, (const uint8_t *)"", 0, true);
}

/* Frames */

static struct h2_stream *h2_find(const struct h2_session *end, int32_t id)
{
	struct h2_stream *s =
		id > 0 ? nghttp2_session_get_stream_user_data(end->nghttp2, id) : NULL;

	return s && !s->is_refused ? s : NULL;
}

static int h2_on_frame_begins(nghttp2_session *n, const nghttp2_frame_hd *hd, void *context)
{
	struct h2_session *end = context;

	(void)n;
	if (h2_session_admit(end, hd))
		return 0;
	h2_tell(end->owner, -E2BIG);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int h2_on_fields_begin(nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	struct h2_session *end = context;
	const int32_t id = frame->hd.stream_id;
	struct h2_stream *s;

	if (end->side == H2_CLIENT && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		s = h2_open(end->owner, id);
		if (s)
			return nghttp2_session_set_stream_user_data(n, id, s);
		(void)nghttp2_submit_rst_stream(n, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
		return 0;
	}
	s = h2_find(end, id);
	if (s && end->side == H2_HOST)
		h2_fields_deinit(&s->answer.fields);
	return 0;
}

static int h2_on_field(nghttp2_session *n, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *context)
{
	struct h2_session *end = context;
	struct h2_stream *s = h2_find(end, frame->hd.stream_id);
	struct h2_fields *to;
	int r;

	(void)n;
	(void)flags;
	if (!s)
		return 0;
	to = end->side == H2_HOST      ? &s->answer.fields
	     : !s->request.is_complete ? &s->request.fields
				       : &s->request.trailers;
	r = h2_fields_add(
		to, (const char *)name, name_len, (const char *)value, value_len, H2_FIELDS_BYTES);
	if (r == -ENOMEM)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (r < 0)
		h2_refuse(end->owner, s, r);
	return 0;
}

/* One that nghttp2 does not take, and would leave out. */
static int h2_on_bad_field(nghttp2_session *n, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *context)
{
	struct h2_session *end = context;
	struct h2_stream *s = h2_find(end, frame->hd.stream_id);

	(void)n;
	(void)name;
	(void)name_len;
	(void)value;
	(void)value_len;
	(void)flags;
	if (s)
		h2_refuse(end->owner, s, -EINVAL);
	return 0;
}

static int h2_on_bad_frame(nghttp2_session *n, const nghttp2_frame *frame, int error, void *context)
{
	const struct h2_session *end = context;

	(void)n;
	(void)frame;
	(void)error;
	h2_tell(end->owner, -EINVAL);
	return 0;
}

static int h2_on_data(nghttp2_session *n, uint8_t flags, int32_t id, const uint8_t *data,
	size_t len, void *context)
{
	struct h2_session *end = context;
	struct h2 *h = end->owner;
	struct h2_stream *s = h2_find(end, id);
	int r;

	(void)flags;
	/* The window of the connection limits no stream: their own windows do. */
	if (nghttp2_session_consume_connection(n, len) == NGHTTP2_ERR_NOMEM)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (!s)
		return 0;
	s->pipes[end->side].owed += len;
	s->pipes[end->side].came += len;
	r = end->side == H2_CLIENT ? h2_take_request_data(h, s, data, len, false)
				   : h2_take_answer_data(h, s, data, len, false);
	if (r == -ENOMEM)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (r < 0)
		h2_refuse(h, s, r);
	else
		h2_hasten(h, s, end->side);
	return 0;
}

/* The host begins no more streams: neither does the client, then. */
static void h2_take_goaway(struct h2 *h, const nghttp2_goaway *g)
{
	nghttp2_session *client = h->ends[H2_CLIENT].nghttp2;

	if (g->error_code == NGHTTP2_NO_ERROR)
		(void)nghttp2_submit_shutdown_notice(client);
	else
		(void)nghttp2_submit_goaway(client, NGHTTP2_FLAG_NONE,
			nghttp2_session_get_last_proc_stream_id(client), g->error_code, NULL, 0);
}

static int h2_take_fields(struct h2_session *end, struct h2_stream *s, bool ended)
{
	if (end->side == H2_HOST)
		return h2_take_answer_fields(end->owner, s, ended);
	return s->request.is_complete ? h2_take_request_trailers(end->owner, s)
				      : h2_take_request(end->owner, s, ended);
}

static int h2_on_frame(nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	struct h2_session *end = context;
	struct h2 *h = end->owner;
	struct h2_stream *s = h2_find(end, frame->hd.stream_id);
	const bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	int r = 0;

	(void)n;
	if (frame->hd.type == NGHTTP2_GOAWAY && end->side == H2_HOST)
		h2_take_goaway(h, &frame->goaway);
	else if (s && frame->hd.type == NGHTTP2_HEADERS)
		r = h2_take_fields(end, s, ended);
	else if (s && frame->hd.type == NGHTTP2_DATA && ended)
		r = end->side == H2_CLIENT
			    ? h2_take_request_data(h, s, (const uint8_t *)"", 0, true)
			    : h2_take_answer_data(h, s, (const uint8_t *)"", 0, true);
	if (r == -ENOMEM)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (r < 0)
		h2_refuse(h, s, r);
	return 0;
}

/* Ends of streams */

static void h2_host_closed(struct h2 *h, struct h2_stream *s, uint32_t code)
{
	if (!s->pipes[H2_HOST].ended)
		h2_reset(h, s, H2_CLIENT, code ? code : NGHTTP2_INTERNAL_ERROR);
	else
		s->resets = !s->pipes[H2_CLIENT].ended;
	if (s->resets && s->is_answered)
		h2_reset(h, s, H2_CLIENT, NGHTTP2_NO_ERROR);
}

static int h2_on_close(nghttp2_session *n, int32_t id, uint32_t code, void *context)
{
	struct h2_session *end = context;
	struct h2 *h = end->owner;
	struct h2_stream *s = nghttp2_session_get_stream_user_data(n, id);

	if (!s || h->is_gone)
		return 0;
	s->is_open[end->side] = false;
	if (end->side == H2_HOST)
		h2_host_closed(h, s, code);
	else if (code != NGHTTP2_NO_ERROR || !s->pipes[H2_CLIENT].ended)
		h2_reset(h, s, H2_HOST, code ? code : NGHTTP2_CANCEL);
	if (!s->is_open[!end->side])
		h2_drop(h, s);
	return 0;
}

/* Sessions */

static nghttp2_session_callbacks *h2_callbacks(void)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&c) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_frame_callback(c, h2_on_frame_begins);
	nghttp2_session_callbacks_set_on_begin_headers_callback(c, h2_on_fields_begin);
	nghttp2_session_callbacks_set_on_header_callback(c, h2_on_field);
	nghttp2_session_callbacks_set_on_invalid_header_callback(c, h2_on_bad_field);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, h2_on_bad_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, h2_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, h2_on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, h2_on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, h2_on_close);
	return c;
}

int h2_new(struct h2 **ret, const struct h2_options *o)
{
	nghttp2_session_callbacks *callbacks = h2_callbacks();
	struct h2 *h = callbacks ? calloc(1, sizeof(*h)) : NULL;
	int r = h ? 0 : -ENOMEM;

	if (h) {
		h->o = *o;
		h->budget = o->budget ? o->budget : &h->own_budget;
		h->room = malloc(sizeof(*h->room));
		r = h->room ? 0 : -ENOMEM;
	}
	for (int side = H2_CLIENT; r == 0 && side <= H2_HOST; side++)
		r = h2_session_init(&h->ends[side], h, (enum h2_side)side, callbacks);
	nghttp2_session_callbacks_del(callbacks);
	if (r < 0) {
		h2_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

void h2_free(struct h2 *h)
{
	if (!h)
		return;
	h->is_gone = true;
	h2_session_deinit(&h->ends[H2_CLIENT]);
	h2_session_deinit(&h->ends[H2_HOST]);
	while (h->streams)
		h2_drop(h, h->streams);
	free(h->room);
	free(h);
}

void h2_host_ended(struct h2 *h)
{
	struct h2_stream *next;

	if (h->host_ended)
		return;
	h->host_ended = true;
	for (struct h2_stream *s = h->streams; s; s = next) {
		next = s->next;
		s->is_open[H2_HOST] = false;
		h2_host_closed(h, s, NGHTTP2_INTERNAL_ERROR);
		if (!s->is_open[H2_CLIENT])
			h2_drop(h, s);
	}
}

/* When the host is done, and all that it said is with the client, the client's session ends. */
static void h2_look(struct h2 *h)
{
	if (!h->host_ended && h2_session_is_over(&h->ends[H2_HOST]))
		h2_host_ended(h);
	if (h->host_ended && h->n_streams == 0 && !h->is_closing) {
		h->is_closing = true;
		(void)nghttp2_session_terminate_session(
			h->ends[H2_CLIENT].nghttp2, NGHTTP2_NO_ERROR);
	}
}

int h2_receive(struct h2 *h, enum h2_side from, const uint8_t *data, size_t len, uint64_t now)
{
	int r;

	if (from == H2_HOST && h->host_ended)
		return 0;
	h2_session_tick(&h->ends[from], now);
	r = h2_session_receive(&h->ends[from], data, len);
	if (r < 0)
		h2_tell(h, r);
	if (r < 0 && r != -ENOMEM && from == H2_HOST) {
		h2_host_ended(h);
		r = 0;
	}
	h2_look(h);
	return r;
}

int h2_send(struct h2 *h, enum h2_side to, struct buffer *out, size_t most)
{
	int r = 0;

	if (to == H2_CLIENT || !h->host_ended)
		r = h2_session_send(&h->ends[to], out, most);
	h2_look(h);
	return r;
}

bool h2_is_over(const struct h2 *h)
{
	return h2_session_is_over(&h->ends[H2_CLIENT]);
}

/* Waiting */

/* Milliseconds until the last bytes go; 0: they do not wait, or for more than time. */
static unsigned h2_wait(const struct h2_stream *s)
{
	const struct h2_pipe *p = &s->pipes[H2_HOST];

	return s->is_refused || p->ended || h2_pipe_left(p) > 0 || !s->is_open[H2_CLIENT]
		       ? 0
		       : h2_answer_wait(&s->answer);
}

uint64_t h2_rest(struct h2 *h, uint64_t now)
{
	uint64_t first = UINT64_MAX;

	for (struct h2_stream *s = h->streams; s; s = s->next) {
		const unsigned wait = h2_wait(s);

		if (wait == 0)
			continue;
		if (s->answer.due == 0)
			s->answer.due = now + wait;
		first = s->answer.due < first ? s->answer.due : first;
	}
	return first;
}

bool h2_flush(struct h2 *h, uint64_t now)
{
	bool has_gone = false;

	for (struct h2_stream *s = h->streams; s; s = s->next) {
		if (s->answer.due == 0 || s->answer.due > now || h2_wait(s) == 0)
			continue;
		h2_answer_flush(&s->answer, &s->pipes[H2_HOST].data);
		h2_wake(h, s, H2_HOST);
		has_gone = true;
	}
	return has_gone;
}
