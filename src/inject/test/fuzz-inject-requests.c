/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a client that may do anything. "@@" stands for a placeholder. However the bytes are
 * cut, the same goes out; and where no place is granted, no value does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inject/requests.h"
#include "net/gate/http-requests.h"
#include "vault/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char value[] = "a-value-that-is-nowhere-else";
static struct placeholders *all;
static const struct placeholder *token;

static bool fuzz_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	(void)field;
	(void)field_len;
	(void)p;
	return *(const uint32_t *)context & place;
}

static int fuzz_begins(void *context, const struct http_request *q)
{
	(void)context;
	(void)q;
	return 0;
}

static void fuzz_set_up(void)
{
	if (all)
		return;
	if (secret_begin() < 0 || placeholders_new(&all) < 0 ||
		placeholders_add(all, "TOKEN", value, strlen(value), &token) < 0)
		abort();
}

/* Returns the first error, or 0. */
static ssize_t fuzz_feed(const struct buffer *in, size_t piece, uint32_t places, struct buffer *out)
{
	const struct inject_requests_options o = { .placeholders = all,
		.host = "api.example.com",
		.port = 443,
		.usual_port = 443,
		.may = fuzz_may,
		.rewrites = places,
		.begins = fuzz_begins,
		.context = &places };
	struct inject_requests *r;
	size_t start = 0, end = 0;
	ssize_t n = 0;

	if (inject_requests_new(&r, &o) < 0)
		abort();
	while (n >= 0 && end < in->len) {
		end = end + piece < in->len ? end + piece : in->len;
		do {
			n = inject_requests_feed(
				r, (const uint8_t *)in->data + start, end - start, out);
			if (n > 0)
				start += (size_t)n;
		} while (n > 0 && start < end);
	}
	inject_requests_free(r);
	return n < 0 ? n : 0;
}

static int fuzz_count_one(void *context, const struct http_request *q)
{
	(void)q;
	++*(size_t *)context;
	return 0;
}

/* How many whole requests there are; the last may be cut. */
static size_t fuzz_count(const struct buffer *text)
{
	struct http_requests *h;
	size_t n = 0;
	ssize_t r;

	if (http_requests_new(&h, fuzz_count_one, &n) < 0)
		abort();
	r = http_requests_feed(h, (const uint8_t *)buffer_text(text), text->len);
	/* Of one that waits until it is complete, nothing was sent. */
	if (r < 0 || http_requests_free_bytes(h) > 0 || http_requests_has_body(h))
		n = SIZE_MAX;
	http_requests_free(h);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer in = { 0 }, whole = { 0 }, parts = { 0 }, none = { 0 }, bodies = { 0 };
	ssize_t a, b, c;

	if (size < 1)
		return 0;
	fuzz_set_up();
	for (size_t i = 1; i < size; i++) {
		if (i + 1 < size && data[i] == '@' && data[i + 1] == '@') {
			buffer_add(&in, token->text, token->len);
			i++;
		} else {
			buffer_addc(&in, (char)data[i]);
		}
	}
	/* Whoever knows the value can send it. */
	if (in.len && memmem(in.data, in.len, value, strlen(value)))
		return 0;
	a = fuzz_feed(&in, in.len + 1, VAULT_HEADER | VAULT_QUERY, &whole);
	b = fuzz_feed(&in, data[0] % 64 + 1, VAULT_HEADER | VAULT_QUERY, &parts);
	(void)fuzz_feed(&in, data[0] % 64 + 1, 0, &none);
	/* Values in bodies: what comes out is read as one request after the other, as what went in
	 * was; chunks are cut otherwise. */
	c = fuzz_feed(&in, data[0] % 64 + 1, VAULT_PLACES_ALL, &bodies);
	if ((a == 0) != (c == 0) && c != -E2BIG)
		abort();
	if (c == 0 && fuzz_count(&in) != SIZE_MAX && fuzz_count(&bodies) != fuzz_count(&in))
		abort();
	if ((a == 0) != (b == 0))
		abort();
	if (a == 0 && (whole.len != parts.len ||
			      (whole.len && memcmp(whole.data, parts.data, whole.len) != 0)))
		abort();
	if (none.len && memmem(none.data, none.len, value, strlen(value)))
		abort();
	return 0;
}
