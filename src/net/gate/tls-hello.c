/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message is walked through once, from its start, by a cursor that steps over the heads of
 * records: so a name that two records share reads as one, without a copy of the message. Whatever
 * is wrong is found at the first byte that shows it; so more bytes never change an answer other
 * than -EAGAIN.
 *
 *     record     22, version, length  { a piece of the message }
 *     message    1, length  { version, random, session, suites, compressions, extensions }
 *     extension  type, length  { … }
 *
 * Each length must fill what it is in exactly. A field that takes more than its room has would read
 * beyond it to one reader and not to another; such a hello is refused.
 */
#include "net/gate/tls-hello.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "net/gate/internal.h"

enum {
	RECORD_MAX = 16384,
	MESSAGE_CLIENT_HELLO = 1,
	MESSAGE_SERVER_HELLO = 2,
	MESSAGE_HEAD = 4,
	VERSION_MAJOR = 3,
	RANDOM_BYTES = 32,
	SESSION_MAX = 32,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_ENCRYPTED_HELLO = 0xfe0d,
	NAME_HOST = 0,
};

struct tls_cursor {
	const uint8_t *data;
	size_t left;        /* of the data */
	size_t record_left; /* of the record that it is in */
	bool is_most;       /* there is as much data as there may be */
};

static int tls_hello_at_end(const struct tls_cursor *c)
{
	return c->is_most ? -E2BIG : -EAGAIN;
}

static int tls_hello_open_record(struct tls_cursor *c)
{
	size_t len;

	/* Byte by byte: what is wrong shows before the head is complete. */
	if (c->left > 0 && c->data[0] != TLS_RECORD_HANDSHAKE)
		return -EINVAL;
	if (c->left > 1 && c->data[1] != VERSION_MAJOR)
		return -EINVAL;
	if (c->left < 5)
		return tls_hello_at_end(c);
	len = (size_t)c->data[3] << 8 | c->data[4];
	if (len == 0 || len > RECORD_MAX)
		return -EINVAL;
	c->data += 5;
	c->left -= 5;
	c->record_left = len;
	return 0;
}

/* The next n bytes of the message, into out unless that is NULL. */
static int tls_hello_take(struct tls_cursor *c, void *out, size_t n)
{
	uint8_t *to = out;

	while (n > 0) {
		size_t piece = n;
		int r = c->record_left == 0 ? tls_hello_open_record(c) : 0;

		if (r < 0)
			return r;
		if (c->left == 0)
			return tls_hello_at_end(c);
		if (piece > c->record_left)
			piece = c->record_left;
		if (piece > c->left)
			piece = c->left;
		if (to) {
			memcpy(to, c->data, piece);
			to += piece;
		}
		c->data += piece;
		c->left -= piece;
		c->record_left -= piece;
		n -= piece;
	}
	return 0;
}

/* The same out of something that has *room bytes left. */
static int tls_hello_take_from(struct tls_cursor *c, size_t *room, void *out, size_t n)
{
	if (n > *room)
		return -EINVAL;
	*room -= n;
	return tls_hello_take(c, out, n);
}

/* A number of 1 to 3 bytes. */
static int tls_hello_take_number(struct tls_cursor *c, size_t *room, size_t bytes, size_t *ret)
{
	uint8_t b[3] = { 0 };
	size_t number = 0;
	int r = tls_hello_take_from(c, room, b, bytes);

	if (r < 0)
		return r;
	for (size_t i = 0; i < bytes; i++)
		number = number << 8 | b[i];
	*ret = number;
	return 0;
}

/* A length that has to fit into what is left of *room. */
static int tls_hello_take_length(struct tls_cursor *c, size_t *room, size_t bytes, size_t *ret)
{
	int r = tls_hello_take_number(c, room, bytes, ret);

	return r == 0 && *ret > *room ? -EINVAL : r;
}

/* The one name in a list of one: of two it is not defined which would be served. */
static int tls_hello_take_name(struct tls_cursor *c, size_t room, struct tls_hello *hello)
{
	char text[HOST_TEXT_BYTES];
	size_t list = 0, type = 0, len = 0;
	int r = tls_hello_take_length(c, &room, 2, &list);

	if (r == 0 && list != room)
		return -EINVAL;
	if (r == 0)
		r = tls_hello_take_number(c, &room, 1, &type);
	if (r == 0 && type != NAME_HOST)
		return -EINVAL;
	if (r == 0)
		r = tls_hello_take_length(c, &room, 2, &len);
	if (r == 0 && (len != room || len > sizeof(text)))
		return -EINVAL;
	if (r == 0)
		r = tls_hello_take_from(c, &room, text, len);
	if (r < 0)
		return r;
	hello->has_name = true;
	return host_text_name(text, len, hello->name) == 0 ? 0 : -EINVAL;
}

static int tls_hello_take_extension(struct tls_cursor *c, size_t *room, struct tls_hello *hello)
{
	size_t type, len;
	int r = tls_hello_take_number(c, room, 2, &type);

	if (r == 0)
		r = tls_hello_take_length(c, room, 2, &len);
	if (r < 0)
		return r;
	if (type == EXTENSION_ENCRYPTED_HELLO)
		hello->encrypted = true;
	if (type != EXTENSION_SERVER_NAME)
		return tls_hello_take_from(c, room, NULL, len);
	if (hello->has_name)
		return -EINVAL;
	*room -= len;
	return tls_hello_take_name(c, len, hello);
}

static int tls_hello_take_message(struct tls_cursor *c, size_t room, struct tls_hello *hello)
{
	/* Lists of bytes after their length, which is from min to max and a multiple of step. */
	static const struct {
		size_t length_bytes, min, max, step;
	} lists[] = {
		{ 1, 0, SESSION_MAX, 1 }, /* session */
		{ 2, 2, 0xfffe, 2 },      /* suites */
		{ 1, 1, 0xff, 1 },        /* compressions */
	};
	size_t version, len;
	int r = tls_hello_take_number(c, &room, 2, &version);

	if (r == 0 && version >> 8 != VERSION_MAJOR)
		return -EINVAL;
	if (r == 0)
		r = tls_hello_take_from(c, &room, NULL, RANDOM_BYTES);
	for (size_t i = 0; r == 0 && i < ROWS(lists); i++) {
		r = tls_hello_take_length(c, &room, lists[i].length_bytes, &len);
		if (r < 0)
			return r;
		if (len < lists[i].min || len > lists[i].max || len % lists[i].step != 0)
			return -EINVAL;
		r = tls_hello_take_from(c, &room, NULL, len);
	}
	if (r < 0 || room == 0)
		return r;
	r = tls_hello_take_length(c, &room, 2, &len);
	if (r == 0 && len != room)
		return -EINVAL;
	while (r == 0 && room > 0)
		r = tls_hello_take_extension(c, &room, hello);
	return r;
}

int tls_hello_parse(struct tls_hello *ret, const uint8_t *data, size_t len)
{
	struct tls_cursor c = {
		.data = data,
		.left = len < TLS_HELLO_MAX ? len : TLS_HELLO_MAX,
		.is_most = len >= TLS_HELLO_MAX,
	};
	struct tls_hello hello = { 0 };
	size_t type, room = MESSAGE_HEAD;
	int r = tls_hello_take_number(&c, &room, 1, &type);

	if (r == 0 && type != MESSAGE_CLIENT_HELLO)
		return -EINVAL;
	if (r == 0)
		r = tls_hello_take_number(&c, &room, 3, &room);
	if (r == 0 && room > TLS_HELLO_MAX - MESSAGE_HEAD)
		return -E2BIG;
	if (r == 0)
		r = tls_hello_take_message(&c, room, &hello);
	if (r < 0)
		return r;
	/* It ends its record: what comes next may be under other keys (RFC 8446, 5.1). */
	if (c.record_left > 0)
		return -EINVAL;
	hello.len = (size_t)(c.data - data);
	*ret = hello;
	return 0;
}

/*
 * SSL 2 has no type of record. There is a length, in two bytes or, with the length of a padding, in
 * three, and then the message:
 *
 *     1, version, length of the suites, of the session, of the challenge  { those three }
 *
 * With the first bit set the head has two bytes, and OpenSSL, GnuTLS, Java and others look at the
 * message's type and nothing else. Without it NSS expects three bytes, and wolfSSL still two: in
 * these two forms other protocols can have that byte too (the second packet of MySQL), so the
 * lengths have to make sense, as they do to those servers.
 */
static enum tls_ssl2 tls_hello_is_ssl2_message(
	const uint8_t *data, size_t len, size_t head, size_t length_mask)
{
	const size_t fixed = 9;
	size_t suites, session, challenge, record;
	const uint8_t *m = data + head;

	if (len <= head)
		return TLS_SSL2_MAYBE;
	if (m[0] != MESSAGE_CLIENT_HELLO)
		return TLS_SSL2_NO;
	if (len < head + fixed)
		return TLS_SSL2_MAYBE;
	record = ((size_t)data[0] << 8 | data[1]) & length_mask;
	suites = (size_t)m[3] << 8 | m[4];
	session = (size_t)m[5] << 8 | m[6];
	challenge = (size_t)m[7] << 8 | m[8];
	return suites > 0 && suites % 3 == 0 && session <= 2 * SESSION_MAX && challenge > 0 &&
			       challenge <= 2 * RANDOM_BYTES &&
			       fixed + suites + session + challenge <= record
		       ? TLS_SSL2_YES
		       : TLS_SSL2_NO;
}

enum tls_ssl2 tls_hello_looks_ssl2(const uint8_t *data, size_t len)
{
	enum tls_ssl2 two, three;

	if (len == 0)
		return TLS_SSL2_MAYBE;
	if (data[0] & 0x80)
		return len < 3                           ? TLS_SSL2_MAYBE
		       : data[2] == MESSAGE_CLIENT_HELLO ? TLS_SSL2_YES
							 : TLS_SSL2_NO;
	two = tls_hello_is_ssl2_message(data, len, 2, 0x7fff);
	/* The second bit is an escape that no client uses. */
	three = data[0] & 0x40 ? TLS_SSL2_NO : tls_hello_is_ssl2_message(data, len, 3, 0x3fff);
	if (two == TLS_SSL2_YES || three == TLS_SSL2_YES)
		return TLS_SSL2_YES;
	return two == TLS_SSL2_MAYBE || three == TLS_SSL2_MAYBE ? TLS_SSL2_MAYBE : TLS_SSL2_NO;
}

/*
 * A ServerHello of TLS 1.3 with this random is a HelloRetryRequest (RFC 8446, 4.1.3). One that is
 * cut into pieces too small to tell is taken for one.
 */
enum tls_answer tls_answer_parse(const uint8_t *data, size_t len)
{
	static const uint8_t retry[RANDOM_BYTES] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11,
		0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
		0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };
	const size_t random = TLS_ANSWER_BYTES - RANDOM_BYTES;

	if (len > 0 && !tls_hello_is_likely(data[0]))
		return TLS_ANSWER_DONE;
	if (len <= TLS_RECORD_HEAD)
		return TLS_ANSWER_MORE;
	if (data[0] != TLS_RECORD_HANDSHAKE)
		return TLS_ANSWER_OTHER;
	if (data[TLS_RECORD_HEAD] != MESSAGE_SERVER_HELLO)
		return TLS_ANSWER_DONE;
	if (tls_record_bytes(data) < TLS_ANSWER_BYTES)
		return TLS_ANSWER_RETRY;
	if (len < TLS_ANSWER_BYTES)
		return TLS_ANSWER_MORE;
	return memcmp(data + random, retry, sizeof(retry)) == 0 ? TLS_ANSWER_RETRY
								: TLS_ANSWER_DONE;
}
