/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client and a host do, each at any moment: streams begin, go on, end and are reset by
 * either side, windows are opened and not, the host goes away. Each byte of the input is something
 * that one of them does. Each answer is a row of the value, which the client never gets; nothing is
 * counted twice or kept.
 */
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/h2/h2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAMS_MAX = 64 };

static const char value[] = "a-value-that-is-nowhere-else";
static struct placeholders *all;
static const struct placeholder *token;
static struct masking *masking;

/* A stream as one of them sees it. */
struct fuzz_stream {
	int32_t id; /* 0: not begun, or closed */
	struct buffer seen;
	size_t left, at; /* bytes to be sent; of the row of values */
	bool ends, has_trailers, has_answered;
};

struct fuzz_peer {
	nghttp2_session *session;
	struct fuzz_stream streams[STREAMS_MAX];
	size_t n;
	bool is_gone;
};

struct fuzz_world {
	struct h2 *h2;
	struct fuzz_peer peers[2];
	uint64_t now;
	size_t budget;
};

static bool fuzz_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	(void)context;
	(void)p;
	(void)place;
	(void)field;
	(void)field_len;
	return true;
}

static struct fuzz_stream *fuzz_find(struct fuzz_peer *p, int32_t id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->streams[i].id == id)
			return &p->streams[i];
	return NULL;
}

static struct fuzz_stream *fuzz_begin(struct fuzz_peer *p, int32_t id)
{
	if (p->n == STREAMS_MAX || id <= 0)
		return NULL;
	p->streams[p->n] = (struct fuzz_stream){ .id = id };
	return &p->streams[p->n++];
}

static ssize_t fuzz_on_read(nghttp2_session *n, int32_t id, uint8_t *data, size_t len,
	uint32_t *flags, nghttp2_data_source *source, void *context)
{
	static const nghttp2_nv trailer = { (uint8_t *)"x-t", (uint8_t *)value, 3,
		sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE };
	struct fuzz_stream *s = fuzz_find(context, id);
	size_t done = 0;

	(void)source;
	while (s && done < len && s->left > 0) {
		data[done++] = (uint8_t)value[s->at++ % (sizeof(value) - 1)];
		s->left--;
	}
	if (!s || s->left > 0 || !s->ends)
		return done > 0 ? (ssize_t)done : NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (s->has_trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		(void)nghttp2_submit_trailer(n, id, &trailer, 1);
	}
	return (ssize_t)done;
}

static int fuzz_on_begin(nghttp2_session *n, const nghttp2_frame *frame, void *context)
{
	(void)n;
	if (frame->hd.type == NGHTTP2_HEADERS && !fuzz_find(context, frame->hd.stream_id))
		(void)fuzz_begin(context, frame->hd.stream_id);
	return 0;
}

static int fuzz_on_field(nghttp2_session *n, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *text, size_t len, uint8_t flags, void *context)
{
	(void)frame;
	(void)name;
	(void)name_len;
	(void)flags;
	(void)context;
	if (!nghttp2_session_check_server_session(n) && memmem(text, len, value, strlen(value)))
		abort();
	return 0;
}

static int fuzz_on_data(nghttp2_session *n, uint8_t flags, int32_t id, const uint8_t *data,
	size_t len, void *context)
{
	struct fuzz_stream *s = fuzz_find(context, id);

	(void)flags;
	if (!s || nghttp2_session_check_server_session(n))
		return 0;
	buffer_add(&s->seen, data, len);
	if (s->seen.len > 0 && memmem(s->seen.data, s->seen.len, value, strlen(value)))
		abort();
	return 0;
}

static int fuzz_on_close(nghttp2_session *n, int32_t id, uint32_t code, void *context)
{
	struct fuzz_stream *s = fuzz_find(context, id);

	(void)n;
	(void)code;
	if (s)
		s->id = 0;
	return 0;
}

static void fuzz_peer_new(struct fuzz_peer *p, bool is_host)
{
	nghttp2_session_callbacks *c;

	if (nghttp2_session_callbacks_new(&c) != 0)
		abort();
	nghttp2_session_callbacks_set_on_begin_headers_callback(c, fuzz_on_begin);
	nghttp2_session_callbacks_set_on_header_callback(c, fuzz_on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, fuzz_on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, fuzz_on_close);
	if ((is_host ? nghttp2_session_server_new(&p->session, c, p)
		     : nghttp2_session_client_new(&p->session, c, p)) != 0 ||
		nghttp2_submit_settings(p->session, 0, NULL, 0) != 0)
		abort();
	nghttp2_session_callbacks_del(c);
}

/* Both ways, `most` bytes or a frame at a time. Returns whether something moved. */
static bool fuzz_carry(struct fuzz_world *w, enum h2_side side, size_t most)
{
	struct fuzz_peer *p = &w->peers[side];
	auto_buffer out = { 0 };
	const uint8_t *said = NULL;
	ssize_t n = p->is_gone ? 0 : nghttp2_session_mem_send(p->session, &said);

	if (n > 0 && h2_receive(w->h2, side, said, (size_t)n, w->now) < 0)
		p->is_gone = true;
	if (h2_send(w->h2, side, &out, most) < 0)
		p->is_gone = true;
	if (!p->is_gone && out.len > 0 &&
		nghttp2_session_mem_recv(p->session, (const uint8_t *)out.data, out.len) < 0)
		p->is_gone = true;
	return n > 0 || out.len > 0;
}

static void fuzz_settle(struct fuzz_world *w)
{
	for (int i = 0; i < 1000; i++)
		if (!(fuzz_carry(w, H2_CLIENT, 1 << 16) | fuzz_carry(w, H2_HOST, 1 << 16)))
			return;
}

#define FIELD(name, text)                                                         \
	{                                                                         \
		(uint8_t *)(name), (uint8_t *)(text), strlen(name), strlen(text), \
			NGHTTP2_NV_FLAG_NONE                                      \
	}

static void fuzz_ask(struct fuzz_peer *p, bool has_body)
{
	const nghttp2_data_provider body = { .read_callback = fuzz_on_read };
	const nghttp2_nv fields[] = { FIELD(":method", has_body ? "POST" : "GET"),
		FIELD(":scheme", "https"), FIELD(":authority", "a.example"), FIELD(":path", "/"),
		FIELD("authorization", token->text) };

	if (p->n < STREAMS_MAX)
		(void)fuzz_begin(p, nghttp2_submit_request(p->session, NULL, fields, 5,
					    has_body ? &body : NULL, NULL));
}

static void fuzz_answer(struct fuzz_peer *p, struct fuzz_stream *s, bool is_final)
{
	const nghttp2_data_provider body = { .read_callback = fuzz_on_read };
	const nghttp2_nv fields[] = { FIELD(":status", is_final ? "200" : "103"),
		FIELD("x-value", value) };

	if (!is_final && !s->has_answered)
		(void)nghttp2_submit_headers(p->session, 0, s->id, NULL, fields, 2, NULL);
	if (is_final && !s->has_answered &&
		nghttp2_submit_response(p->session, s->id, fields, 2, &body) == 0)
		s->has_answered = true;
}

static void fuzz_do_stream(struct fuzz_peer *p, struct fuzz_stream *s, uint8_t what, uint8_t with)
{
	const int32_t id = s->id;

	switch (what) {
	case 8:
	case 9:
		s->left += (size_t)with * (what & 1 ? 1 : 200);
		(void)nghttp2_session_resume_data(p->session, id);
		break;
	case 10:
	case 11:
		s->ends = true;
		s->has_trailers = what & 1;
		(void)nghttp2_session_resume_data(p->session, id);
		break;
	case 12:
		(void)nghttp2_submit_rst_stream(p->session, 0, id, with >> 5);
		break;
	case 13:
		(void)nghttp2_submit_window_update(p->session, 0, with & 2 ? id : 0, with * 99);
		break;
	default:
		if (with & 1)
			fuzz_answer(p, s, what & 1);
	}
}

/* Its high bits say on which stream. */
static void fuzz_do(struct fuzz_world *w, uint8_t what, uint8_t with)
{
	const enum h2_side side = with & 1 ? H2_HOST : H2_CLIENT;
	struct fuzz_peer *p = &w->peers[side];
	struct fuzz_stream *s = p->n > 0 ? &p->streams[(what >> 4) % p->n] : NULL;

	switch (what & 15) {
	case 0:
	case 1:
		fuzz_ask(&w->peers[H2_CLIENT], what & 1);
		return;
	case 2:
		(void)fuzz_carry(w, side, (size_t)with * 64 + 1);
		return;
	case 3:
		fuzz_settle(w);
		return;
	case 4:
		w->now += with;
		(void)h2_rest(w->h2, w->now);
		(void)h2_flush(w->h2, w->now);
		return;
	case 5:
		(void)nghttp2_submit_settings(p->session, 0,
			&(nghttp2_settings_entry){
				NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)with * 300 },
			1);
		return;
	case 6:
		(void)nghttp2_submit_settings(p->session, 0,
			&(nghttp2_settings_entry){
				NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, with / 4 },
			1);
		return;
	case 7:
		if (with > 250)
			h2_host_ended(w->h2);
		else if (with > 240)
			(void)nghttp2_session_terminate_session(p->session, with & 7);
		else if (with > 220)
			(void)nghttp2_submit_shutdown_notice(p->session);
		return;
	default:
		if (s && s->id > 0)
			fuzz_do_stream(p, s, what & 15, with);
	}
}

static void fuzz_set_up(void)
{
	if (!all && (secret_begin() < 0 || placeholders_new(&all) < 0 ||
			    placeholders_add(all, "TOKEN", value, strlen(value), &token) < 0 ||
			    masking_new(&masking) < 0 ||
			    masking_add(masking, "TOKEN", value, strlen(value)) < 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_world w;
	const struct h2_options o = { .host = "a.example",
		.port = 443,
		.usual_port = 443,
		.may = fuzz_may,
		.budget = &w.budget };
	struct h2_options with_tables = o;

	fuzz_set_up();
	with_tables.placeholders = all;
	with_tables.masking = masking;
	w = (struct fuzz_world){ .now = 1000 };
	fuzz_peer_new(&w.peers[H2_CLIENT], false);
	fuzz_peer_new(&w.peers[H2_HOST], true);
	if (h2_new(&w.h2, &with_tables) < 0)
		abort();
	for (size_t i = 0; i + 1 < size && i < 4096; i += 2)
		fuzz_do(&w, data[i], data[i + 1]);
	fuzz_settle(&w);
	h2_free(w.h2);
	if (w.budget != 0)
		abort();
	for (int side = H2_CLIENT; side <= H2_HOST; side++) {
		nghttp2_session_del(w.peers[side].session);
		for (size_t i = 0; i < w.peers[side].n; i++)
			buffer_deinit(&w.peers[side].streams[i].seen);
	}
	return 0;
}
