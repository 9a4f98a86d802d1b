/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/h2/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inject/h2/fields.h"
#include "vault/secret.h"

enum {
	SESSION_CONNECTION_WINDOW = 1 << 20,
	SESSION_HEADER_BLOCK_MAX = 2 * H2_FIELDS_GROWN_BYTES,
	SESSION_CREDIT = 4000,
	SESSION_CREDIT_PER_S = 1000,
	SESSION_CREDIT_PER_DATA = 3, /* a window of the stream, one of the connection, a ping */
	SESSION_ACKS_MAX = 256,
	SESSION_CONTINUATIONS_MAX = 8,
	SESSION_RESETS = 300,
	SESSION_RESETS_PER_S = 50,
};

/* Memory */

struct session_block {
	size_t size;
	max_align_t data[];
};

static void *session_malloc(size_t size, void *context)
{
	struct h2_session *s = context;
	struct session_block *b;

	if (size > H2_SESSION_MAX || s->used > H2_SESSION_MAX - size)
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size = size;
	s->used += size;
	/* cppcheck-suppress memleak ; session_free() finds it before its data */
	return b->data;
}

static struct session_block *session_block(void *p)
{
	return (struct session_block *)(void *)((char *)p - offsetof(struct session_block, data));
}

static void session_free(void *p, void *context)
{
	struct h2_session *s = context;
	struct session_block *b = p ? session_block(p) : NULL;

	if (!b)
		return;
	s->used -= b->size;
	secret_wipe(b, sizeof(*b) + b->size);
	free(b);
}

static void *session_calloc(size_t n, size_t size, void *context)
{
	void *p =
		size == 0 || n <= H2_SESSION_MAX / size ? session_malloc(n * size, context) : NULL;

	if (p)
		memset(p, 0, n * size);
	return p;
}

static void *session_realloc(void *old, size_t size, void *context)
{
	const size_t before = old ? session_block(old)->size : 0;
	void *p = session_malloc(size, context);

	if (!p)
		return NULL;
	if (before > 0)
		memcpy(p, old, before < size ? before : size);
	session_free(old, context);
	return p;
}

/* Bounds */

/* No table of ours remembers a field: nothing of a value shows in how long the next one is. */
static int session_options(nghttp2_option **ret)
{
	nghttp2_option *o;

	if (nghttp2_option_new(&o) != 0)
		return -ENOMEM;
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_deflate_dynamic_table_size(o, 0);
	nghttp2_option_set_max_send_header_block_length(o, SESSION_HEADER_BLOCK_MAX);
	nghttp2_option_set_max_outbound_ack(o, SESSION_ACKS_MAX);
	nghttp2_option_set_max_continuations(o, SESSION_CONTINUATIONS_MAX);
	nghttp2_option_set_stream_reset_rate_limit(o, SESSION_RESETS, SESSION_RESETS_PER_S);
	nghttp2_option_set_max_reserved_remote_streams(o, 0);
	*ret = o;
	return 0;
}

/* The host pushes nothing, and clients get no tunnel (CONNECT with a protocol is not offered). */
static int session_settings(struct h2_session *s)
{
	const nghttp2_settings_entry client[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_FIELDS_BYTES },
	};
	const nghttp2_settings_entry host[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_FIELDS_BYTES },
	};
	int r = s->side == H2_CLIENT
			? nghttp2_submit_settings(
				  s->nghttp2, NGHTTP2_FLAG_NONE, client, ROWS(client))
			: nghttp2_submit_settings(s->nghttp2, NGHTTP2_FLAG_NONE, host, ROWS(host));

	if (r == 0)
		r = nghttp2_session_set_local_window_size(
			s->nghttp2, NGHTTP2_FLAG_NONE, 0, SESSION_CONNECTION_WINDOW);
	return r == 0 ? 0 : -ENOMEM;
}

int h2_session_init(struct h2_session *s, struct h2 *owner, enum h2_side side,
	const nghttp2_session_callbacks *callbacks)
{
	nghttp2_mem memory = { s, session_malloc, session_free, session_calloc, session_realloc };
	nghttp2_option *options;
	int r = session_options(&options);

	if (r < 0)
		return r;
	*s = (struct h2_session){ .owner = owner, .side = side, .credit = SESSION_CREDIT };
	r = side == H2_CLIENT
		    ? nghttp2_session_server_new3(&s->nghttp2, callbacks, s, options, &memory)
		    : nghttp2_session_client_new3(&s->nghttp2, callbacks, s, options, &memory);
	nghttp2_option_del(options);
	return r == 0 ? session_settings(s) : -ENOMEM;
}

void h2_session_deinit(struct h2_session *s)
{
	nghttp2_session_del(s->nghttp2);
	s->nghttp2 = NULL;
}

bool h2_session_admit(struct h2_session *s, const nghttp2_frame_hd *hd)
{
	if (hd->type == NGHTTP2_DATA && hd->length > 0)
		h2_session_sent(s);
	else if (hd->type != NGHTTP2_HEADERS || s->side == H2_HOST)
		s->credit--;
	return s->credit >= 0;
}

void h2_session_sent(struct h2_session *s)
{
	if (s->credit < SESSION_CREDIT)
		s->credit += SESSION_CREDIT_PER_DATA;
}

void h2_session_tick(struct h2_session *s, uint64_t now)
{
	const uint64_t passed = now - s->credited_at;

	s->credit += (int64_t)(passed < 10000 ? passed : 10000) * SESSION_CREDIT_PER_S / 1000;
	s->credit = s->credit < SESSION_CREDIT ? s->credit : SESSION_CREDIT;
	s->credited_at = now;
}

/* Bytes */

static int session_error(ssize_t r)
{
	return r == NGHTTP2_ERR_NOMEM ? -ENOMEM : r == NGHTTP2_ERR_FLOODED ? -E2BIG : -EINVAL;
}

int h2_session_receive(struct h2_session *s, const uint8_t *data, size_t len)
{
	ssize_t n = nghttp2_session_mem_recv(s->nghttp2, data, len);

	return n < 0 ? session_error(n) : 0;
}

int h2_session_send(struct h2_session *s, struct buffer *out, size_t most)
{
	while (out->len < most) {
		const uint8_t *data;
		ssize_t n = nghttp2_session_mem_send(s->nghttp2, &data);

		if (n <= 0)
			return n < 0 ? session_error(n) : 0;
		buffer_add(out, data, (size_t)n);
		if (out->failed)
			return -ENOMEM;
	}
	return 0;
}

bool h2_session_is_over(const struct h2_session *s)
{
	return !nghttp2_session_want_read(s->nghttp2) && !nghttp2_session_want_write(s->nghttp2);
}
