/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "net/gate/tls-hello.h"

/* As OpenSSL 3 sends it for API.Example.com, with TLS 1.2 at most. */
static const uint8_t real[] = {
	"\x16\x03\x01\x00\xaa\x01\x00\x00\xa6\x03\x03\xd9\xe2\x72\xc7\x57\x8e\xa6"
	"\x66\x43\xdd\x79\xb8\x12\x70\x41\x53\x9d\x0a\x4b\x39\x7c\xef\x80\x8c\x4d"
	"\x44\x25\x38\x42\x13\xe2\x56\x00\x00\x04\xc0\x2f\x00\xff\x01\x00\x00\x79"
	"\x00\x00\x00\x14\x00\x12\x00\x00\x0f\x41\x50\x49\x2e\x45\x78\x61\x6d\x70"
	"\x6c\x65\x2e\x63\x6f\x6d\x00\x0b\x00\x04\x03\x00\x01\x02\x00\x0a\x00\x0c"
	"\x00\x0a\x00\x1d\x00\x17\x00\x1e\x00\x19\x00\x18\x00\x23\x00\x00\x00\x10"
	"\x00\x0b\x00\x09\x08\x68\x74\x74\x70\x2f\x31\x2e\x31\x00\x16\x00\x00\x00"
	"\x17\x00\x00\x00\x0d\x00\x2a\x00\x28\x04\x03\x05\x03\x06\x03\x08\x07\x08"
	"\x08\x08\x09\x08\x0a\x08\x0b\x08\x04\x08\x05\x08\x06\x04\x01\x05\x01\x06"
	"\x01\x03\x03\x03\x01\x03\x02\x04\x02\x05\x02\x06\x02"
};
enum { REAL_BYTES = sizeof(real) - 1 };

#define S(text) text, sizeof(text) - 1

/* The extensions of a hello, and what is read. */
static const struct {
	const char *name;
	const char *extensions;
	size_t len;
	int want;
	const char *server;
	bool encrypted;
} hellos[] = {
	{ "none", S(""), 0, "", false },
	{ "other", S("\x0a\x0a\0\0\0\x0b\0\2\1\0"), 0, "", false },
	{ "name", S("\0\0\0\x0c\0\x0a\0\0\7a.b-c_d"), 0, "a.b-c_d", false },
	{ "upper case", S("\0\0\0\x08\0\6\0\0\3A.Z"), 0, "a.z", false },
	{ "dot at the end", S("\0\0\0\x09\0\7\0\0\4a.b."), 0, "a.b", false },
	{ "only a dot", S("\0\0\0\6\0\4\0\0\1."), -EINVAL, NULL, false },
	{ "two dots at the end", S("\0\0\0\x08\0\6\0\0\3a.."), -EINVAL, NULL, false },
	{ "dot in front", S("\0\0\0\7\0\5\0\0\2.a"), -EINVAL, NULL, false },
	{ "empty label", S("\0\0\0\x09\0\7\0\0\4a..b"), -EINVAL, NULL, false },
	{ "empty name", S("\0\0\0\5\0\3\0\0\0"), -EINVAL, NULL, false },
	{ "empty list", S("\0\0\0\2\0\0"), -EINVAL, NULL, false },
	{ "empty extension", S("\0\0\0\0"), -EINVAL, NULL, false },
	{ "NUL in it", S("\0\0\0\x08\0\6\0\0\3a\0b"), -EINVAL, NULL, false },
	{ "NUL at its end", S("\0\0\0\x08\0\6\0\0\3ab\0"), -EINVAL, NULL, false },
	{ "space", S("\0\0\0\x08\0\6\0\0\3a b"), -EINVAL, NULL, false },
	{ "star", S("\0\0\0\x08\0\6\0\0\3*.b"), -EINVAL, NULL, false },
	{ "port", S("\0\0\0\x0a\0\x08\0\0\5a.b:1"), -EINVAL, NULL, false },
	{ "UTF-8", S("\0\0\0\x09\0\7\0\0\4a\xc3\xa4z"), -EINVAL, NULL, false },
	{ "IPv4",
		S("\0\0\0\x0c\0\x0a\0\0\7"
		  "1.2.3.4"),
		-EINVAL, NULL, false },
	{ "IPv4 and a dot",
		S("\0\0\0\x0d\0\x0b\0\0\x08"
		  "1.2.3.4."),
		-EINVAL, NULL, false },
	{ "short IPv4",
		S("\0\0\0\x0a\0\x08\0\0\5"
		  "127.1"),
		-EINVAL, NULL, false },
	{ "IPv4 in hexadecimal",
		S("\0\0\0\x0b\0\x09\0\0\6"
		  "0x7f.1"),
		-EINVAL, NULL, false },
	{ "IPv6", S("\0\0\0\x08\0\6\0\0\3::1"), -EINVAL, NULL, false },
	{ "two names", S("\0\0\0\x0a\0\x08\0\0\1a\0\0\1b"), -EINVAL, NULL, false },
	{ "the same name twice", S("\0\0\0\x0a\0\x08\0\0\1a\0\0\1a"), -EINVAL, NULL, false },
	{ "two extensions", S("\0\0\0\6\0\4\0\0\1a\0\0\0\6\0\4\0\0\1a"), -EINVAL, NULL, false },
	{ "another type", S("\0\0\0\6\0\4\1\0\1a"), -EINVAL, NULL, false },
	{ "name too long for its list", S("\0\0\0\6\0\4\0\0\2ab"), -EINVAL, NULL, false },
	{ "name too short for its list", S("\0\0\0\7\0\5\0\0\1ab"), -EINVAL, NULL, false },
	{ "list too long", S("\0\0\0\6\0\5\0\0\1a"), -EINVAL, NULL, false },
	{ "list too short", S("\0\0\0\7\0\4\0\0\1ab"), -EINVAL, NULL, false },
	{ "list shorter than what is in it", S("\0\0\0\6\0\3\0\0\1a"), -EINVAL, NULL, false },
	{ "name's extension too long", S("\0\0\0\7\0\5\0\0\2a"), -EINVAL, NULL, false },
	{ "extension too long", S("\0\x0b\0\3\1\0"), -EINVAL, NULL, false },
	{ "half a head", S("\0\x0b\0"), -EINVAL, NULL, false },
	{ "ECH", S("\xfe\x0d\0\1\0\0\0\0\6\0\4\0\0\1a"), 0, "a", true },
	{ "ECH without a name", S("\xfe\x0d\0\0"), 0, "", true },
};

/* A message of one record that is valid but for what is replaced. */
struct made {
	uint8_t bytes[2048];
	size_t len;
};

static void put(struct made *m, const void *data, size_t len)
{
	assert_true(len <= sizeof(m->bytes) - m->len);
	memcpy(m->bytes + m->len, data, len);
	m->len += len;
}

static void put_number(struct made *m, size_t n, size_t bytes)
{
	for (size_t i = bytes; i-- > 0;) {
		uint8_t b = (uint8_t)(n >> 8 * i);

		put(m, &b, 1);
	}
}

enum { FIXED = 2 + 32, LISTS = 1 + 4 + 2, BODY = FIXED + LISTS };

/* lists: session, suites, compressions. */
static void make_from(
	struct made *m, const char *lists, size_t n_lists, const char *extensions, size_t len)
{
	static const uint8_t random[32] = { 1, 2, 3 };
	size_t body = FIXED + n_lists + 2 + len;

	m->len = 0;
	put(m, "\x16\3\1", 3);
	put_number(m, 4 + body, 2);
	put_number(m, 1, 1);
	put_number(m, body, 3);
	put(m, "\3\3", 2);
	put(m, random, sizeof(random));
	put(m, lists, n_lists);
	put_number(m, len, 2);
	put(m, extensions, len);
}

static void make(struct made *m, const char *extensions, size_t len)
{
	make_from(m, "\0\0\2\x13\1\1\0", LISTS, extensions, len);
}

/* In a block of exactly this size. */
static int parse(struct tls_hello *ret, const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, data, len);
	r = tls_hello_parse(ret, copy, len);
	free(copy);
	return r;
}

static void test_extensions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(hellos); i++) {
		struct tls_hello h, before;
		struct made m;
		int r;

		memset(&h, 0x5a, sizeof(h));
		before = h;
		make(&m, hellos[i].extensions, hellos[i].len);
		r = parse(&h, m.bytes, m.len);
		if (r != hellos[i].want)
			fail_msg("%s: %d", hellos[i].name, r);
		if (r < 0) {
			assert_memory_equal(&h, &before, sizeof(h));
			continue;
		}
		assert_string_equal(h.name, hellos[i].server);
		assert_int_equal(h.has_name, hellos[i].server[0] != '\0');
		assert_int_equal(h.encrypted, hellos[i].encrypted);
	}
}

/* One byte of the hello above that makes it another thing. */
static const struct {
	const char *name;
	size_t at;
	uint8_t byte;
	int want;
} changes[] = {
	{ "alert", 0, 21, -EINVAL },
	{ "SSLv2", 0, 0x80, -EINVAL },
	{ "record of version 2", 1, 2, -EINVAL },
	{ "record of some 3.x", 2, 0x7f, 0 },
	{ "record longer than the message", 4, 0xf0, -EINVAL },
	{ "record shorter than the message", 4, 10, -EINVAL },
	{ "record too long", 3, 0x41, -EINVAL },
	{ "server hello", 5, 2, -EINVAL },
	{ "too long", 6, 1, -E2BIG },
	{ "shorter than its lists", 8, 20, -EINVAL },
	{ "version 2", 9, 2, -EINVAL },
	{ "a version to come", 10, 0xff, 0 },
	{ "session too long", 43, 33, -EINVAL },
	{ "extensions too long", 51, 11, -EINVAL },
	{ "extensions too short", 51, 9, -EINVAL },
};

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(changes); i++) {
		struct tls_hello h;
		struct made m;
		int r;

		make(&m, S("\0\0\0\6\0\4\0\0\1a"));
		m.bytes[changes[i].at] = changes[i].byte;
		r = parse(&h, m.bytes, m.len);
		if (r != changes[i].want)
			fail_msg("%s: %d", changes[i].name, r);
	}
}

static const struct {
	const char *name;
	const char *lists;
	size_t len;
	int want;
} lists[] = {
	{ "session", S("\2ab\0\2\x13\1\1\0"), 0 },
	{ "three suites, two compressions", S("\0\0\6\x13\1\x13\2\x13\3\2\1\0"), 0 },
	{ "no suites", S("\0\0\0\1\0"), -EINVAL },
	{ "a suite and a half", S("\0\0\3\x13\1\x13\1\0"), -EINVAL },
	{ "no compressions", S("\0\0\2\x13\1\0"), -EINVAL },
};

static void test_lists(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(lists); i++) {
		struct tls_hello h;
		struct made m;
		int r;

		make_from(&m, lists[i].lists, lists[i].len, S("\0\0\0\6\0\4\0\0\1a"));
		r = parse(&h, m.bytes, m.len);
		if (r != lists[i].want)
			fail_msg("%s: %d", lists[i].name, r);
	}
}

/* What a first few bytes say already. */
static void test_early(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int want;
	} early[] = {
		{ S(""), -EAGAIN },
		{ S("\x16"), -EAGAIN },
		{ S("\x80"), -EINVAL },
		{ S("\x16\2"), -EINVAL },
		{ S("\x16\3\1\x40\0"), -EAGAIN },
		{ S("\x16\3\1\x40\1"), -EINVAL },
		{ S("\x16\3\1\0\0"), -EINVAL },
		{ S("\x16\3\1\0\4\2"), -EINVAL },
		{ S("\x16\3\1\0\4\1\1\0\0"), -E2BIG },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(early); i++) {
		struct tls_hello h;
		int r = parse(&h, (const uint8_t *)early[i].bytes, early[i].len);

		if (r != early[i].want)
			fail_msg("%zu: %d", i, r);
	}
}

/* As in TLS 1.0: the message ends after the compressions. */
static void test_no_extensions(void **state)
{
	struct tls_hello h;
	struct made m;

	(void)state;
	make(&m, S(""));
	m.len -= 2;
	m.bytes[4] -= 2;
	m.bytes[8] -= 2;
	assert_int_equal(parse(&h, m.bytes, m.len), 0);
	assert_false(h.has_name);
}

static void check_real(const uint8_t *data, size_t len)
{
	struct tls_hello h;

	assert_int_equal(parse(&h, data, len), 0);
	assert_true(h.has_name);
	assert_string_equal(h.name, "api.example.com");
	assert_false(h.encrypted);
}

static void test_real(void **state)
{
	static uint8_t more[REAL_BYTES + 9];
	struct tls_hello h;

	(void)state;
	check_real(real, REAL_BYTES);
	for (size_t n = 0; n < REAL_BYTES; n++)
		assert_int_equal(parse(&h, real, n), -EAGAIN);
	/* Early data after it. */
	memcpy(more, real, REAL_BYTES);
	memcpy(more + REAL_BYTES, "\x17\3\3\0\4data", 9);
	check_real(more, sizeof(more));
}

/* In records of n bytes. */
static size_t split(uint8_t *out, size_t n)
{
	size_t len = 0;

	for (size_t at = 5; at < REAL_BYTES; at += n) {
		size_t piece = REAL_BYTES - at < n ? REAL_BYTES - at : n;
		const uint8_t head[] = { 22, 3, 3, (uint8_t)(piece >> 8), (uint8_t)piece };

		memcpy(out + len, head, 5);
		memcpy(out + len + 5, real + at, piece);
		len += 5 + piece;
	}
	return len;
}

static void test_records(void **state)
{
	static uint8_t out[6 * REAL_BYTES];
	struct tls_hello h;

	(void)state;
	for (size_t n = 1; n < REAL_BYTES; n++) {
		size_t len = split(out, n);

		check_real(out, len);
		assert_int_equal(parse(&h, out, len - 1), -EAGAIN);
		/* A byte of the next message in the last record. */
		if (n > 1 && (REAL_BYTES - 5) % n == n - 1) {
			out[len - n] = (uint8_t)n;
			out[len] = 0;
			assert_int_equal(parse(&h, out, len + 1), -EINVAL);
		}
	}
	/* Another kind of record between two. */
	split(out, 100);
	out[105] = 20;
	assert_int_equal(parse(&h, out, sizeof(out)), -EINVAL);
	/* An empty one. */
	memmove(out + 5, real, REAL_BYTES);
	memcpy(out, "\x16\3\1\0\0", 5);
	assert_int_equal(parse(&h, out, REAL_BYTES + 5), -EINVAL);
}

/* One extension of this many bytes, in records of 16384. */
static int parse_long(size_t extension, size_t given)
{
	static uint8_t out[2 * TLS_HELLO_MAX];
	struct tls_hello h;
	struct made m;
	size_t message = 4 + BODY + 2 + 4 + extension, len = 0;

	memset(out, 0, sizeof(out));
	make(&m, "\0\x15\0\0", 4);
	m.bytes[6] = (uint8_t)((message - 4) >> 16);
	m.bytes[7] = (uint8_t)((message - 4) >> 8);
	m.bytes[8] = (uint8_t)(message - 4);
	m.bytes[50] = (uint8_t)((extension + 4) >> 8);
	m.bytes[51] = (uint8_t)(extension + 4);
	m.bytes[54] = (uint8_t)(extension >> 8);
	m.bytes[55] = (uint8_t)extension;
	for (size_t left = message; left > 0;) {
		size_t piece = left < 16384 ? left : 16384;
		const uint8_t head[] = { 22, 3, 1, (uint8_t)(piece >> 8), (uint8_t)piece };

		memcpy(out + len, head, 5);
		if (len == 0)
			memcpy(out + 5, m.bytes + 5, m.len - 5);
		len += 5 + piece;
		left -= piece;
	}
	if (given > len)
		given = len;
	return parse(&h, out, given);
}

static void test_longest(void **state)
{
	enum { HEADS = 4 * 5, MOST = TLS_HELLO_MAX - HEADS - 4 - BODY - 2 - 4 };

	(void)state;
	assert_int_equal(parse_long(MOST, SIZE_MAX), 0);
	assert_int_equal(parse_long(MOST, TLS_HELLO_MAX - 1), -EAGAIN);
	assert_int_equal(parse_long(MOST + 1, SIZE_MAX), -E2BIG);
	assert_int_equal(parse_long(MOST + 1, TLS_HELLO_MAX), -E2BIG);
	assert_int_equal(parse_long(MOST + 1, TLS_HELLO_MAX - 1), -EAGAIN);
}

static void test_name_lengths(void **state)
{
	/* Bytes of a label, of the name, and whether it is one. */
	static const struct {
		size_t label, len;
		int want;
	} names[] = { { 63, 63, 0 }, { 64, 64, -EINVAL }, { 62, 253, 0 }, { 62, 251, 0 },
		{ 61, 253, 0 }, { 61, 254, -EINVAL }, { 61, 255, -EINVAL }, { 61, 300, -EINVAL } };

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		struct tls_hello h;
		struct made e = { .len = 0 }, m;
		int r;

		put_number(&e, 0, 2);
		put_number(&e, names[i].len + 5, 2);
		put_number(&e, names[i].len + 3, 2);
		put_number(&e, 0, 1);
		put_number(&e, names[i].len, 2);
		for (size_t k = 1; k <= names[i].len; k++)
			put(&e, k % (names[i].label + 1) == 0 ? "." : "x", 1);
		make(&m, (const char *)e.bytes, e.len);
		r = parse(&h, m.bytes, m.len);
		if (r != names[i].want)
			fail_msg("%zu: %d", i, r);
		if (r == 0)
			assert_int_equal(strlen(h.name), names[i].len);
	}
}

/* Go's servers pass over an alert in front of the hello. */
static void test_other_records(void **state)
{
	static const uint8_t alert[] = "\x15\3\1\0\2\1\x70";
	struct tls_hello hello;

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(tls_hello_is_likely((uint8_t)i), i >= 20 && i <= 24);
	assert_int_equal(tls_hello_parse(&hello, alert, sizeof(alert) - 1), -EINVAL);
}

#define RANDOM "01234567890123456789012345678901"
#define SSL2_LENGTHS "\0\x0c\0\0\0\x20"
#define SSL2_REST "\0\0\x2f\0\0\x2f\0\0\x2f\0\0\x2f" RANDOM

static const struct {
	const char *name, *bytes;
	size_t len;
	enum tls_ssl2 want;
} old_ones[] = {
	{ "nothing", S(""), TLS_SSL2_MAYBE },
	{ "a head of two bytes", S("\x80\x35\1\3\3" SSL2_LENGTHS SSL2_REST), TLS_SSL2_YES },
	{ "the real SSL 2", S("\x80\x35\1\0\2" SSL2_LENGTHS SSL2_REST), TLS_SSL2_YES },
	{ "its type", S("\x80\x35\1"), TLS_SSL2_YES },
	{ "before its type", S("\x80\x35"), TLS_SSL2_MAYBE },
	{ "another type", S("\x80\x35\2"), TLS_SSL2_NO },
	{ "a head of three bytes", S("\0\x35\0\1\3\3" SSL2_LENGTHS SSL2_REST), TLS_SSL2_YES },
	{ "with a padding", S("\0\x38\3\1\3\3" SSL2_LENGTHS SSL2_REST "000"), TLS_SSL2_YES },
	{ "two bytes, without the bit", S("\0\x35\1\3\3" SSL2_LENGTHS SSL2_REST), TLS_SSL2_YES },
	{ "the same, longer", S("\x7f\xff\1\3\3" SSL2_LENGTHS), TLS_SSL2_YES },
	{ "no suites", S("\0\x35\0\1\3\3\0\0\0\0\0\x20"), TLS_SSL2_NO },
	{ "a suite and a half", S("\0\x35\0\1\3\3\0\4\0\0\0\x20"), TLS_SSL2_NO },
	{ "longer than its record", S("\0\x34\0\1\3\3" SSL2_LENGTHS), TLS_SSL2_NO },
	{ "no challenge", S("\0\x35\0\1\3\3\0\x0c\0\0\0\0"), TLS_SSL2_NO },
	{ "MySQL", S("\x20\0\0\1\x85\xae\xff\1\0\0\0\1\x2d"), TLS_SSL2_NO },
	{ "LDAP", S("\x30\x0c\2\1\3\x60\7\2\1\3\4\0"), TLS_SSL2_NO },
	{ "PostgreSQL", S("\0\0\1\1\0\3\0\0user\0a\0"), TLS_SSL2_NO },
	{ "SOCKS", S("\5\3\0\1\2"), TLS_SSL2_MAYBE },
	{ "SOCKS, and on", S("\5\3\0\1\2\5\1\0\1\1\2\3"), TLS_SSL2_NO },
	{ "text", S("EHLO"), TLS_SSL2_NO },
};

/* Longer ones say the same: what is settled stays settled. */
static void test_ssl2(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(old_ones); i++) {
		const uint8_t *bytes = (const uint8_t *)old_ones[i].bytes;

		if (tls_hello_looks_ssl2(bytes, old_ones[i].len) != old_ones[i].want)
			fail_msg("%s", old_ones[i].name);
		for (size_t n = 0; n < old_ones[i].len; n++) {
			enum tls_ssl2 looks = tls_hello_looks_ssl2(bytes, n);

			if (looks != TLS_SSL2_MAYBE && looks != old_ones[i].want)
				fail_msg("%s: %zu bytes", old_ones[i].name, n);
		}
	}
}

#define HEAD "\x16\3\3\0\x2c\2\0\0\x28\3\3"
#define AGAIN                                                              \
	"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" \
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

static const struct {
	const char *bytes;
	size_t len;
	enum tls_answer want;
} answers[] = {
	{ S(""), TLS_ANSWER_MORE },
	{ S("HTTP/1.1 400 "), TLS_ANSWER_DONE },
	{ S("\x16\3\3\0\x2c"), TLS_ANSWER_MORE },
	{ S("\x16\3\3\0\x2c\x0e"), TLS_ANSWER_DONE },
	{ S("\x15\3\3\0\2\1\x70"), TLS_ANSWER_OTHER },
	{ S(HEAD "0123456789012345678901234567890"), TLS_ANSWER_MORE },
	{ S(HEAD RANDOM), TLS_ANSWER_DONE },
	{ S(HEAD AGAIN), TLS_ANSWER_RETRY },
	{ S(HEAD AGAIN "\0"), TLS_ANSWER_RETRY },
	/* A record that ends before it can be told. */
	{ S("\x16\3\3\0\1\2"), TLS_ANSWER_RETRY },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++)
		assert_int_equal(
			tls_answer_parse((const uint8_t *)answers[i].bytes, answers[i].len),
			answers[i].want);
	assert_int_equal(TLS_ANSWER_BYTES, sizeof(HEAD RANDOM) - 1);
}

/* What is behind it does not belong to it. */
static void test_length(void **state)
{
	static uint8_t more[REAL_BYTES + 10];
	struct tls_hello hello;

	(void)state;
	memcpy(more, real, REAL_BYTES);
	assert_int_equal(tls_hello_parse(&hello, more, sizeof(more)), 0);
	assert_int_equal(hello.len, REAL_BYTES);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_records),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_ssl2),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_no_extensions),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_name_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
