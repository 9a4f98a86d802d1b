/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a host that may send anything, to requests of a client. "@@" stands for the value,
 * which must never arrive as a whole: the host has sent all that it sends when bytes stop to wait.
 */
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inject/h2/h2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NV(name, text)                                                              \
	{                                                                           \
		(uint8_t *)(name), (uint8_t *)(text), strlen(name), strlen(text), 0 \
	}

static const char value[] = "a-value-that-is-nowhere-else";
static struct placeholders *all;
static struct masking *masking;

enum { FUZZ_STREAMS = 3 };

struct fuzz_client {
	struct buffer fields, data[2 * FUZZ_STREAMS + 1];
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

static void fuzz_set_up(void)
{
	const struct placeholder *token;

	if (all)
		return;
	if (secret_begin() < 0 || placeholders_new(&all) < 0 ||
		placeholders_add(all, "TOKEN", value, strlen(value), &token) < 0 ||
		masking_new(&masking) < 0 ||
		masking_add(masking, "TOKEN", value, strlen(value)) < 0)
		abort();
}

static int fuzz_on_field(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *text, size_t len, uint8_t flags, void *context)
{
	struct fuzz_client *c = context;

	(void)s;
	(void)frame;
	(void)flags;
	buffer_add(&c->fields, name, name_len);
	buffer_adds(&c->fields, "\n");
	buffer_add(&c->fields, text, len);
	buffer_adds(&c->fields, "\n");
	return 0;
}

static int fuzz_on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data,
	size_t len, void *context)
{
	(void)s;
	(void)flags;
	if (id < 2 * FUZZ_STREAMS + 1)
		buffer_add(&((struct fuzz_client *)context)->data[id], data, len);
	return 0;
}

static nghttp2_session *fuzz_client_new(struct fuzz_client *client)
{
	static const nghttp2_nv get[] = { NV(":method", "GET"), NV(":scheme", "https"),
		NV(":authority", "a.example"), NV(":path", "/") };
	static const nghttp2_nv head[] = { NV(":method", "HEAD"), NV(":scheme", "https"),
		NV(":authority", "a.example"), NV(":path", "/"), NV("te", "trailers") };
	nghttp2_session_callbacks *c;
	nghttp2_session *s;

	if (nghttp2_session_callbacks_new(&c) != 0)
		abort();
	nghttp2_session_callbacks_set_on_header_callback(c, fuzz_on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, fuzz_on_data);
	if (nghttp2_session_client_new(&s, c, client) != 0 ||
		nghttp2_submit_settings(s, 0, NULL, 0) != 0)
		abort();
	nghttp2_session_callbacks_del(c);
	for (int i = 0; i < FUZZ_STREAMS; i++)
		if (nghttp2_submit_request(s, NULL, i == 1 ? head : get,
			    i == 1 ? ROWS(head) : ROWS(get), NULL, NULL) < 0)
			abort();
	return s;
}

static void fuzz_carry(struct h2 *h2, nghttp2_session *client)
{
	bool has_moved = true;

	while (has_moved) {
		auto_buffer out = { 0 }, back = { 0 };
		const uint8_t *said;
		ssize_t n;

		has_moved = false;
		while ((n = nghttp2_session_mem_send(client, &said)) > 0) {
			has_moved = true;
			if (h2_receive(h2, H2_CLIENT, said, (size_t)n, 1000) < 0)
				return;
		}
		if (h2_send(h2, H2_CLIENT, &out, 1 << 16) < 0 ||
			h2_send(h2, H2_HOST, &back, 1 << 16) < 0)
			return;
		if (out.len > 0 &&
			nghttp2_session_mem_recv(client, (const uint8_t *)out.data, out.len) < 0)
			abort();
		has_moved = has_moved || out.len > 0;
	}
}

static void fuzz_expect_none(struct buffer *b)
{
	if (b->len && memmem(b->data, b->len, value, strlen(value)))
		abort();
	buffer_deinit(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char settings[] = "\0\0\0\4\0\0\0\0\0";
	const struct h2_options o = {
		.host = "a.example", .port = 443, .usual_port = 443, .may = fuzz_may, .budget = NULL
	};
	struct h2_options with = o;
	struct fuzz_client client = { 0 };
	nghttp2_session *session;
	auto_buffer in = { 0 };
	struct h2 *h2;

	if (size < 1)
		return 0;
	fuzz_set_up();
	with.placeholders = all;
	with.masking = masking;
	buffer_add(&in, settings, sizeof(settings) - 1);
	for (size_t i = 1; i < size; i++) {
		if (i + 1 < size && data[i] == '@' && data[i + 1] == '@') {
			buffer_add(&in, value, strlen(value));
			i++;
		} else {
			buffer_addc(&in, (char)data[i]);
		}
	}
	session = fuzz_client_new(&client);
	if (h2_new(&h2, &with) < 0)
		abort();
	fuzz_carry(h2, session);
	for (size_t at = 0, piece = data[0] % 64 + 1; at < in.len; at += piece) {
		const size_t n = in.len - at < piece ? in.len - at : piece;

		if (h2_receive(h2, H2_HOST, (const uint8_t *)in.data + at, n, 1000) < 0)
			break;
		fuzz_carry(h2, session);
	}
	(void)h2_rest(h2, 1000);
	(void)h2_flush(h2, 1000 + H2_WAIT_MS);
	h2_host_ended(h2);
	fuzz_carry(h2, session);
	h2_free(h2);
	nghttp2_session_del(session);
	fuzz_expect_none(&client.fields);
	for (size_t i = 0; i < ROWS(client.data); i++)
		fuzz_expect_none(&client.data[i]);
	return 0;
}
