/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a client that may send anything, behind a preface. "@@" stands for a placeholder. What
 * goes to the host is read by a server, which finds a value only where one may be; however the
 * bytes are cut, it gets the same requests.
 */
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/h2/h2.h"
#include "vault/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char value[] = "a-value-that-is-nowhere-else";
static struct placeholders *all;
static const struct placeholder *token;
static struct masking *masking;

struct fuzz_host {
	struct buffer seen;
	bool is_clean; /* no value may be there */
};

static bool fuzz_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	(void)p;
	(void)field;
	(void)field_len;
	return *(const uint32_t *)context & place;
}

static void fuzz_set_up(void)
{
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
	struct fuzz_host *h = context;

	(void)s;
	(void)frame;
	/* A value is in no table. */
	if (memmem(text, len, value, strlen(value)) && !(flags & NGHTTP2_NV_FLAG_NO_INDEX))
		abort();
	buffer_add(&h->seen, name, name_len);
	buffer_add(&h->seen, text, len);
	return 0;
}

static int fuzz_on_bad_field(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *text, size_t len, uint8_t flags, void *context)
{
	(void)s;
	(void)frame;
	(void)name;
	(void)name_len;
	(void)text;
	(void)len;
	(void)flags;
	(void)context;
	abort();
}

static int fuzz_on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data,
	size_t len, void *context)
{
	(void)s;
	(void)flags;
	(void)id;
	buffer_add(&((struct fuzz_host *)context)->seen, data, len);
	return 0;
}

static nghttp2_session *fuzz_host_new(struct fuzz_host *h)
{
	nghttp2_session_callbacks *c;
	nghttp2_session *s;

	if (nghttp2_session_callbacks_new(&c) != 0)
		abort();
	nghttp2_session_callbacks_set_on_header_callback(c, fuzz_on_field);
	nghttp2_session_callbacks_set_on_invalid_header_callback(c, fuzz_on_bad_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, fuzz_on_data);
	if (nghttp2_session_server_new(&s, c, h) != 0 ||
		nghttp2_submit_settings(s, 0, NULL, 0) != 0)
		abort();
	nghttp2_session_callbacks_del(c);
	return s;
}

/* Until neither has more to say. */
static void fuzz_carry(struct h2 *h2, nghttp2_session *host)
{
	bool has_moved = true;

	while (has_moved) {
		auto_buffer out = { 0 }, back = { 0 };
		const uint8_t *said;
		ssize_t n;

		if (h2_send(h2, H2_HOST, &out, 1 << 16) < 0 ||
			h2_send(h2, H2_CLIENT, &back, 1 << 16) < 0)
			return;
		if (out.len > 0 &&
			nghttp2_session_mem_recv(host, (const uint8_t *)out.data, out.len) < 0)
			abort();
		has_moved = out.len > 0;
		while ((n = nghttp2_session_mem_send(host, &said)) > 0) {
			has_moved = true;
			if (h2_receive(h2, H2_HOST, said, (size_t)n, 1000) < 0)
				return;
		}
	}
}

static void fuzz_run(const struct buffer *in, size_t piece, uint32_t places, struct fuzz_host *seen)
{
	const struct h2_options o = { .placeholders = all,
		.masking = masking,
		.host = "a.example",
		.port = 443,
		.usual_port = 443,
		.may = fuzz_may,
		.rewrites = places & (VAULT_BODY | VAULT_FORM),
		.context = &places };
	nghttp2_session *host = fuzz_host_new(seen);
	struct h2 *h2;

	if (h2_new(&h2, &o) < 0)
		abort();
	for (size_t at = 0; at < in->len; at += piece) {
		const size_t n = in->len - at < piece ? in->len - at : piece;

		if (h2_receive(h2, H2_CLIENT, (const uint8_t *)in->data + at, n, 1000) < 0)
			break;
		fuzz_carry(h2, host);
	}
	h2_free(h2);
	nghttp2_session_del(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
	auto_buffer in = { 0 };
	struct fuzz_host seen = { 0 };

	if (size < 1)
		return 0;
	fuzz_set_up();
	buffer_add(&in, preface, sizeof(preface) - 1);
	for (size_t i = 1; i < size; i++) {
		if (i + 1 < size && data[i] == '@' && data[i + 1] == '@') {
			buffer_add(&in, token->text, token->len);
			i++;
		} else {
			buffer_addc(&in, (char)data[i]);
		}
	}
	/* Whoever knows the value can send it. */
	if (memmem(in.data, in.len, value, strlen(value)))
		return 0;
	fuzz_run(&in, data[0] % 64 + 1, VAULT_PLACES_ALL, &seen);
	buffer_clear(&seen.seen);
	fuzz_run(&in, in.len, 0, &seen);
	if (seen.seen.len && memmem(seen.seen.data, seen.seen.len, value, strlen(value)))
		abort();
	buffer_deinit(&seen.seen);
	return 0;
}
