/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict text forms. Lengths are explicit and nothing is skipped, so a NUL, a space or a zone
 * in the middle is a character like any other that does not belong there.
 */
#include "policy/network/address.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"

enum { GROUPS = 8 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int address_hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* One decimal part of a dotted quad, without leading zeros: its length, or 0. */
static size_t parse_part(const char *text, size_t len, uint8_t *ret)
{
	unsigned value = 0;
	size_t n = 0;

	while (n < len && n < 4 && is_digit(text[n]))
		value = value * 10 + (unsigned)(text[n++] - '0');
	if (n == 0 || n > 3 || value > 255 || (n > 1 && text[0] == '0'))
		return 0;
	*ret = (uint8_t)value;
	return n;
}

static bool parse_quad(const char *text, size_t len, uint8_t out[4])
{
	size_t at = 0;

	for (int part = 0; part < 4; part++) {
		size_t n;

		if (part > 0 && (at == len || text[at++] != '.'))
			return false;
		n = parse_part(text + at, len - at, &out[part]);
		if (n == 0)
			return false;
		at += n;
	}
	return at == len;
}

/* One group of up to four hexadecimal digits: its length, or 0. */
static size_t parse_group(const char *text, size_t len, unsigned *ret)
{
	unsigned value = 0;
	size_t n = 0;

	while (n < len && n < 4 && address_hex_value(text[n]) >= 0)
		value = value << 4 | (unsigned)address_hex_value(text[n++]);
	*ret = value;
	return n;
}

/* What has been read of an IPv6 address: groups, and after which of them "::" stood (-1: nowhere).
 */
struct groups {
	uint8_t bytes[2 * GROUPS];
	int n, gap;
};

/* Reads one group, or the dotted quad that may end the text. The number of bytes read, or 0. */
static size_t read_group(struct groups *g, const char *text, size_t len)
{
	unsigned value;
	size_t n = parse_group(text, len, &value);

	if (n < len && n > 0 && text[n] == '.') {
		if (g->n > GROUPS - 2 || !parse_quad(text, len, g->bytes + 2 * g->n))
			return 0;
		g->n += 2;
		return len;
	}
	if (n == 0 || g->n == GROUPS)
		return 0;
	g->bytes[2 * g->n] = (uint8_t)(value >> 8);
	g->bytes[2 * g->n + 1] = (uint8_t)value;
	g->n++;
	return n;
}

/* Moves what stood behind "::" to the end. The gap stands for at least one group. */
static bool address_close_gap(struct groups *g)
{
	int behind = g->n - g->gap;

	if (g->gap < 0)
		return g->n == GROUPS;
	if (g->n == GROUPS)
		return false;
	memmove(g->bytes + 2 * (GROUPS - behind), g->bytes + 2 * g->gap, 2 * (size_t)behind);
	memset(g->bytes + 2 * g->gap, 0, 2 * (size_t)(GROUPS - g->n));
	return true;
}

static bool parse_ipv6(const char *text, size_t len, uint8_t out[16])
{
	struct groups g = { .gap = -1 };
	size_t at = 0;

	while (at < len) {
		size_t n;

		if (len - at >= 2 && text[at] == ':' && text[at + 1] == ':') {
			if (g.gap >= 0)
				return false;
			g.gap = g.n;
			at += 2;
			if (at == len)
				break;
		} else if (g.n > 0) {
			if (text[at++] != ':')
				return false;
		}
		n = read_group(&g, text + at, len - at);
		if (n == 0)
			return false;
		at += n;
	}
	if (!address_close_gap(&g))
		return false;
	memcpy(out, g.bytes, 16);
	return true;
}

int address_parse(const char *text, size_t len, struct address *ret)
{
	struct address a = { .bits = 32 };

	if (!parse_quad(text, len, a.bytes)) {
		a = (struct address){ .bits = 128 };
		if (!parse_ipv6(text, len, a.bytes))
			return -EINVAL;
	}
	*ret = a;
	return 0;
}

bool address_equal(const struct address *a, const struct address *b)
{
	return a->bits == b->bits && memcmp(a->bytes, b->bytes, a->bits / 8) == 0;
}

static unsigned group_at(const struct address *a, int i)
{
	return (unsigned)a->bytes[2 * i] << 8 | a->bytes[2 * i + 1];
}

/* The first of the longest runs of two or more zero groups; its length, 0 if there is none. */
static int longest_zeros(const struct address *a, int *ret_start)
{
	int best = 0;

	for (int i = 0; i < GROUPS; i++) {
		int n = 0;

		while (i + n < GROUPS && group_at(a, i + n) == 0)
			n++;
		if (n > best && n > 1) {
			best = n;
			*ret_start = i;
		}
		i += n;
	}
	return best;
}

void address_print(const struct address *a, struct buffer *out)
{
	int start = GROUPS, n;

	if (a->bits == 32) {
		buffer_printf(
			out, "%u.%u.%u.%u", a->bytes[0], a->bytes[1], a->bytes[2], a->bytes[3]);
		return;
	}
	n = longest_zeros(a, &start);
	for (int i = 0; i < GROUPS; i++) {
		if (i == start) {
			buffer_adds(out, "::");
			i += n - 1;
			continue;
		}
		if (i > 0 && i != start + n)
			buffer_addc(out, ':');
		buffer_printf(out, "%x", group_at(a, i));
	}
}
