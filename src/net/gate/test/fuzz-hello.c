/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a connection. A part of them is either too short to tell, or tells the same as the
 * whole; what is read is a name as a policy compares it; and the same message in records of other
 * sizes reads the same. Whether it has the framing of SSL 2 is settled by its first bytes.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "net/gate/internal.h"
#include "net/gate/tls-hello.h"

enum { PREFIXES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_same(const struct tls_hello *a, const struct tls_hello *b)
{
	return a->has_name == b->has_name && a->encrypted == b->encrypted &&
	       strcmp(a->name, b->name) == 0;
}

/* In a block of its own, so that a sanitizer sees what is read beyond it. */
static int parse_copy(struct tls_hello *ret, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	int r;

	require(copy != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	r = tls_hello_parse(ret, copy, size);
	free(copy);
	return r;
}

static void check_prefix(
	const uint8_t *data, size_t size, int whole, const struct tls_hello *of_whole)
{
	struct tls_hello h;
	int r = parse_copy(&h, data, size);

	require(r == whole || r == -EAGAIN);
	require(r != 0 || is_same(&h, of_whole));
}

static void check_prefixes(
	const uint8_t *data, size_t size, int whole, const struct tls_hello *of_whole)
{
	size_t step = size / PREFIXES + 1;

	for (size_t n = 0; n < size; n += step)
		check_prefix(data, n, whole, of_whole);
	for (size_t n = 0; n < PREFIXES && n < size; n++)
		check_prefix(data, n, whole, of_whole);
}

static void check_name(const struct tls_hello *h)
{
	char again[HOST_TEXT_BYTES];

	require(h->has_name == (h->name[0] != '\0'));
	if (!h->has_name)
		return;
	require(host_text_name(h->name, strlen(h->name), again) == 0);
	require(strcmp(again, h->name) == 0);
}

/* The message without the heads of its records; its length. */
static size_t join(uint8_t *out, const uint8_t *data, size_t size)
{
	size_t n = 0, want = SIZE_MAX;

	while (size >= 5 && n < want) {
		size_t len = (size_t)data[3] << 8 | data[4];

		data += 5;
		size -= 5;
		require(len <= size);
		memcpy(out + n, data, len);
		data += len;
		size -= len;
		n += len;
		if (n >= 4)
			want = ((size_t)out[1] << 16 | (size_t)out[2] << 8 | out[3]) + 4;
	}
	require(n == want);
	return n;
}

static size_t split(uint8_t *out, const uint8_t *message, size_t len, size_t record)
{
	size_t n = 0;

	while (len > 0) {
		size_t piece = len < record ? len : record;
		const uint8_t head[] = { 22, 3, 1, (uint8_t)(piece >> 8), (uint8_t)piece };

		memcpy(out + n, head, sizeof(head));
		memcpy(out + n + sizeof(head), message, piece);
		n += sizeof(head) + piece;
		message += piece;
		len -= piece;
	}
	return n;
}

static void check_records(const uint8_t *data, size_t size, const struct tls_hello *h)
{
	static uint8_t message[TLS_HELLO_MAX], again[6 * TLS_HELLO_MAX];
	static const size_t records[] = { 1, 2, 7, 100, 16384 };
	size_t n = join(message, data, size);

	for (size_t i = 0; i < ROWS(records); i++) {
		size_t len = split(again, message, n, records[i]);
		struct tls_hello other;
		int r = parse_copy(&other, again, len);

		require(r == (len <= TLS_HELLO_MAX ? 0 : -E2BIG));
		require(r < 0 || is_same(h, &other));
	}
}

/* It is settled by a few bytes, and what is settled stays so. */
static void check_ssl2(const uint8_t *data, size_t size)
{
	enum tls_ssl2 before = TLS_SSL2_MAYBE;

	for (size_t n = 0; n <= size && n <= 2 * TLS_SSL2_BYTES; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		enum tls_ssl2 now;

		require(copy != NULL);
		memcpy(copy, data, n);
		now = tls_hello_looks_ssl2(copy, n);
		free(copy);
		require(before == TLS_SSL2_MAYBE || now == before);
		require(n < TLS_SSL2_BYTES || now != TLS_SSL2_MAYBE);
		before = now;
	}
}

static bool is_untouched(const void *object, size_t size)
{
	const uint8_t *p = object;
	size_t n = 0;

	while (n < size && p[n] == 0x5a)
		n++;
	return n == size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_hello h;
	int r;

	memset(&h, 0x5a, sizeof(h));
	r = parse_copy(&h, data, size);
	require(r == 0 || r == -EAGAIN || r == -EINVAL || r == -E2BIG);
	require(r != -EAGAIN || size < TLS_HELLO_MAX);
	check_prefixes(data, size, r, &h);
	check_ssl2(data, size);
	if (r < 0) {
		require(is_untouched(&h, sizeof(h)));
		return 0;
	}
	check_name(&h);
	check_records(data, size, &h);
	return 0;
}
