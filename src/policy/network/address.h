/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * IP addresses and prefixes. What an address *means* is decided here, before any policy sees it:
 * IPv4 in other clothes (::ffff:a.b.c.d, NAT64 64:ff9b::/96, 6to4 2002::/16, IPv4-compatible) is
 * turned into IPv4, and the spellings that browsers and C libraries take for IPv4 are known.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct address {
	uint8_t bits;      /* 32 or 128 */
	uint8_t bytes[16]; /* network order; IPv4 in the first four, the rest zero */
};

struct prefix {
	struct address address; /* host bits are zero */
	uint8_t length;
};

/*
 * Strict forms only: a dotted quad of four decimal parts without leading zeros, or RFC 4291 IPv6
 * without brackets or zone. -EINVAL for all else.
 */
int address_parse(const char *text, size_t len, struct address *ret);
/*
 * What a C library's inet_aton and a browser's URL bar take for IPv4: 127.1, 0x7f.1, 2130706433,
 * 0177.0.0.1, 1.2.3.4. with a dot at the end. -EINVAL: it is a name. -ERANGE: it ends in a number,
 * so it is no name either, but it is no address.
 */
int address_parse_loose(const char *text, size_t len, struct address *ret);
/* IPv4 hidden in IPv6 becomes IPv4; every other address is itself. */
struct address address_plain(const struct address *a);
bool address_equal(const struct address *a, const struct address *b);
/* RFC 5952 text, always in hexadecimal groups for IPv6. */
void address_print(const struct address *a, struct buffer *out);
/* The same without a buffer; returns its length. */
enum { ADDRESS_TEXT_BYTES = 48 };
size_t address_text(const struct address *a, char out[ADDRESS_TEXT_BYTES]);

/* The prefix of this length that a lies in. length is at most a->bits. */
struct prefix prefix_of(const struct address *a, uint8_t length);
/* A decimal number up to `bits`, without leading zeros; -EINVAL otherwise. */
int prefix_length_parse(const char *text, size_t len, uint8_t bits);
/* "10.0.0.0/8"; a bare address is a full-length prefix. -EINVAL also where host bits are set. */
int prefix_parse(const char *text, size_t len, struct prefix *ret);
bool prefix_has(const struct prefix *p, const struct address *a);
/* b lies within a. */
bool prefix_contains(const struct prefix *a, const struct prefix *b);
/* Orders IPv4 before IPv6, then by address, then outer before inner. */
int prefix_compare(const struct prefix *a, const struct prefix *b);
/*
 * True if all of p is IPv4 in other clothes, so that no plain address lies in it; *ret is then the
 * IPv4 prefix that is meant.
 */
bool prefix_plain(const struct prefix *p, struct prefix *ret);
/* "10.0.0.0/8", "2001:db8::/32"; a full-length prefix as the address alone. */
void prefix_print(const struct prefix *p, struct buffer *out);
