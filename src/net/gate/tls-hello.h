/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The server's name in the first message of TLS (RFC 8446, 6066), read and not touched. Pure, no
 * allocation; the message may come in pieces and in several records.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLS_HELLO_MAX = 64 << 10 };

struct tls_hello {
	bool has_name;
	char name[256]; /* as host_request wants it: lower case, without the dot at the end */
	bool encrypted; /* ECH: the name is that of the outer hello */
	size_t len;     /* of all its records, from the first byte on */
};

/*
 * The first byte says whether it can be TLS at all: a type of record. Not only a hello's, since
 * there are servers that pass over an alert in front of it.
 */
static inline bool tls_hello_is_likely(uint8_t first)
{
	return first >= 0x14 && first <= 0x18;
}

/*
 * A hello in the framing of SSL 2, which servers of today still take for one of TLS (RFC 5246,
 * E.2). It has no room for a server's name. YES and NO are final, whatever comes after these
 * bytes; TLS_SSL2_BYTES of them always settle it, and no server answers to fewer.
 */
enum { TLS_SSL2_BYTES = 12 };
enum tls_ssl2 { TLS_SSL2_NO, TLS_SSL2_YES, TLS_SSL2_MAYBE };

enum tls_ssl2 tls_hello_looks_ssl2(const uint8_t *data, size_t len);

/*
 * 0: read. -EAGAIN: it goes on after these bytes (all of them from the connection's start).
 * -EINVAL: this is no ClientHello, or one that contradicts itself (two names, a name that is no
 * DNS name, lengths that do not fit): deny. -E2BIG: longer than TLS_HELLO_MAX.
 */
int tls_hello_parse(struct tls_hello *ret, const uint8_t *data, size_t len);

enum { TLS_RECORD_HANDSHAKE = 0x16, TLS_RECORD_HEAD = 5, TLS_ANSWER_BYTES = 43 };

enum tls_answer {
	TLS_ANSWER_MORE,  /* these are too few bytes; TLS_ANSWER_BYTES are always enough */
	TLS_ANSWER_OTHER, /* a record that says nothing about it: look at the one after */
	TLS_ANSWER_RETRY, /* it wants a second hello, which could say another name */
	TLS_ANSWER_DONE,  /* there will be no other, or it is not TLS at all */
};

/* What a server says to a hello, by its first bytes. */
enum tls_answer tls_answer_parse(const uint8_t *data, size_t len);
/* The length of a record, with its head; there are TLS_RECORD_HEAD bytes. */
static inline size_t tls_record_bytes(const uint8_t *head)
{
	return TLS_RECORD_HEAD + ((size_t)head[3] << 8 | head[4]);
}
