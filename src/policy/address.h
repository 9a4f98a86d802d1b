/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * IP addresses and prefixes. What an address *means* is decided here, before any policy sees it: IPv4
 * in other clothes (::ffff:a.b.c.d, NAT64 64:ff9b::/96, 6to4 2002::/16, IPv4-compatible) is turned into IPv4.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

struct address {
	uint8_t bits;      /* 32 or 128 */
	uint8_t bytes[16]; /* network order; IPv4 in the first four */
};

struct prefix {
	struct address address; /* host bits are zero */
	uint8_t length;
};

/* Strict forms only: dotted quad with four decimal parts, or RFC 4291 IPv6 without brackets or zone. */
int address_parse(const char *text, size_t len, struct address *ret);
/* What a C library's inet_aton and a browser's URL bar take: 127.1, 0x7f.1, 2130706433, 0177.0.0.1. -EINVAL: a name. -ERANGE: ends in a number, but is none */
int address_parse_loose(const char *text, size_t len, struct address *ret);
/* IPv4 hidden in IPv6 becomes IPv4. */
struct address address_plain(const struct address *a);
/* RFC 5952 text. */
void address_print(const struct address *a, struct buffer *out);

/* "10.0.0.0/8"; a bare address is a full-length prefix. -EINVAL also where host bits are set. */
int prefix_parse(const char *text, size_t len, struct prefix *ret);
bool prefix_has(const struct prefix *p, const struct address *a);
/* b lies within a. */
bool prefix_contains(const struct prefix *a, const struct prefix *b);
