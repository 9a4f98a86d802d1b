/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strict text forms, the loose ones, and prefixes. Lengths are explicit and nothing is skipped,
 * so a NUL, a space or a zone in the middle is a character like any other that does not belong
 * there.
 */
#include "policy/network/address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"

enum { GROUPS = 8, PARTS = 4 };

/* Four decimal parts without leading zeros. */
static bool parse_quad(const char *text, size_t len, uint8_t out[4])
{
	size_t at = 0;

	for (int part = 0; part < 4; part++) {
		unsigned value = 0;
		size_t start, n;

		if (part > 0 && (at == len || text[at++] != '.'))
			return false;
		for (start = at; at < len && at - start < 4 && ascii_is_digit(text[at]); at++)
			value = value * 10 + (unsigned)(text[at] - '0');
		n = at - start;
		if (n == 0 || n > 3 || value > 255 || (n > 1 && text[start] == '0'))
			return false;
		out[part] = (uint8_t)value;
	}
	return at == len;
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
	unsigned value = 0;
	size_t n = 0;

	while (n < len && n < 4 && ascii_hex(text[n]) >= 0)
		value = value << 4 | (unsigned)ascii_hex(text[n++]);
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

static bool parse_ipv6(const char *text, size_t len, uint8_t out[16])
{
	struct groups g = { .gap = -1 };
	size_t at = 0, behind;

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
	/* The gap stands for at least one group. */
	if ((g.gap < 0) != (g.n == GROUPS))
		return false;
	memset(out, 0, 16);
	behind = g.gap < 0 ? 0 : 2 * (size_t)(g.n - g.gap);
	memcpy(out, g.bytes, 2 * (size_t)g.n - behind);
	memcpy(out + 16 - behind, g.bytes + 2 * (size_t)g.n - behind, behind);
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

/*
 * Loose forms: the IPv4 parser of the WHATWG URL standard (section 3.5), which is inet_aton with
 * the doubtful cases decided: one to four parts, each decimal, octal (leading 0) or hexadecimal
 * (leading 0x); the last part fills all the bytes that remain. What ends in a number is an address
 * or an error, never a name, so that a look-alike cannot slip through as one.
 */

/* More than any part may hold; larger numbers stay here while their digits are still checked. */
#define TOO_LARGE ((uint64_t)1 << 32)

static bool loose_number(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	int base = 10;

	if (len == 0)
		return false;
	if (len >= 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2;
		len -= 2; /* "0x" alone is 0 */
	} else if (len >= 2 && text[0] == '0') {
		base = 8;
	}
	for (size_t i = 0; i < len; i++) {
		int digit = ascii_hex(text[i]);

		if (digit < 0 || digit >= base)
			return false;
		value = value * (uint64_t)base + (uint64_t)digit;
		if (value > TOO_LARGE)
			value = TOO_LARGE;
	}
	*ret = value;
	return true;
}

/* Reads up to four parts; how many, or 0. */
static unsigned loose_parts(const char *text, size_t len, uint64_t parts[PARTS])
{
	unsigned n = 0;

	for (;;) {
		const char *dot = memchr(text, '.', len);
		size_t part = dot ? (size_t)(dot - text) : len;

		if (n == PARTS || !loose_number(text, part, &parts[n++]))
			return 0;
		if (!dot)
			return n;
		text += part + 1;
		len -= part + 1;
	}
}

int address_parse_loose(const char *text, size_t len, struct address *ret)
{
	struct address a = { .bits = 32 };
	uint64_t parts[PARTS];
	const char *dot;
	unsigned n, last;
	size_t start, digits;
	uint32_t value;

	if (len > 1 && text[len - 1] == '.')
		len--;
	/* The standard's "ends in a number checker". */
	dot = memrchr(text, '.', len);
	start = digits = dot ? (size_t)(dot - text) + 1 : 0;
	while (digits < len && ascii_is_digit(text[digits]))
		digits++;
	if ((digits < len || len == start) && !loose_number(text + start, len - start, &parts[0]))
		return -EINVAL;
	n = loose_parts(text, len, parts);
	if (n == 0)
		return -ERANGE;
	last = n - 1;
	if (parts[last] >= (uint64_t)1 << 8 * (PARTS - last))
		return -ERANGE;
	value = (uint32_t)parts[last];
	for (unsigned i = 0; i < last; i++) {
		if (parts[i] > 255)
			return -ERANGE;
		value |= (uint32_t)parts[i] << 8 * (3 - i);
	}
	for (int i = 0; i < 4; i++)
		a.bytes[i] = (uint8_t)(value >> 8 * (3 - i));
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

size_t address_text(const struct address *a, char out[ADDRESS_TEXT_BYTES])
{
	int start = GROUPS, n = 0;
	char *end = out;

	if (a->bits == 32)
		return (size_t)sprintf(
			out, "%u.%u.%u.%u", a->bytes[0], a->bytes[1], a->bytes[2], a->bytes[3]);
	/* The first of the longest runs of two or more zero groups. */
	for (int i = 0, run; i < GROUPS; i += run + 1) {
		for (run = 0; i + run < GROUPS && group_at(a, i + run) == 0;)
			run++;
		if (run > n && run > 1) {
			start = i;
			n = run;
		}
	}
	for (int i = 0; i < GROUPS; i++) {
		if (i == start) {
			end = stpcpy(end, "::");
			i += n - 1;
			continue;
		}
		if (i > 0 && i != start + n)
			*end++ = ':';
		end += sprintf(end, "%x", group_at(a, i) & 0xffffU);
	}
	return (size_t)(end - out);
}

void address_print(const struct address *a, struct buffer *out)
{
	char text[ADDRESS_TEXT_BYTES];

	buffer_add(out, text, address_text(a, text));
}

/*
 * The ranges of IPv6 that are really IPv4. A packet to one of them ends at the IPv4 address inside
 * it, through the kernel (mapped) or a translator (the others), so 2002:a9fe:a9fe:: is the metadata
 * service as much as 169.254.169.254 is. They are all turned into IPv4 before anything is compared.
 */
struct embedding {
	uint8_t bytes[12];
	uint8_t length;  /* of the range, in bits */
	uint8_t at;      /* offset of the IPv4 address */
	uint8_t zero_at; /* bytes from here to `at` are zero too: the form with a 96-bit prefix */
};

/*
 * Of the local-use translation prefix 64:ff9b:1::/48 (RFC 8215) only the form with a 96-bit prefix
 * can be told from the outside; what may be another form stays IPv6, and the baseline guards it.
 */
static const struct embedding embeddings[] = {
	{ { [10] = 0xff, 0xff }, 96, 12, 12 },           /* ::ffff:0:0/96, mapped */
	{ { 0 }, 96, 12, 12 },                           /* ::/96, compatible */
	{ { [8] = 0xff, 0xff }, 96, 12, 12 },            /* ::ffff:0:0:0/96, translated */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12, 12 },      /* 64:ff9b::/96, NAT64 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0, 1 }, 48, 12, 8 }, /* 64:ff9b:1::/48, NAT64 of the site */
	{ { 0x20, 0x02 }, 16, 2, 2 },                    /* 2002::/16, 6to4 */
};

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static const struct embedding *embedding_of(const struct address *a)
{
	static const uint8_t zeros[15];

	/* :: and ::1 lie in ::/96, but mean themselves. */
	if (a->bits != 128 || (memcmp(a->bytes, zeros, 15) == 0 && a->bytes[15] <= 1))
		return NULL;
	for (size_t i = 0; i < ROWS(embeddings); i++) {
		const struct embedding *e = &embeddings[i];

		if (bits_equal(a->bytes, e->bytes, e->length) &&
			memcmp(a->bytes + e->zero_at, zeros, (size_t)(e->at - e->zero_at)) == 0)
			return e;
	}
	return NULL;
}

struct address address_plain(const struct address *a)
{
	const struct embedding *e = embedding_of(a);
	struct address plain = { .bits = 32 };

	if (!e)
		return *a;
	memcpy(plain.bytes, a->bytes + e->at, 4);
	return plain;
}

bool prefix_plain(const struct prefix *p, struct prefix *ret)
{
	const struct embedding *e = embedding_of(&p->address);
	struct address plain;
	unsigned start, length;

	/* Where bytes must be zero for the IPv4 to be seen, the prefix has to fix them all. */
	if (!e || p->length < (e->zero_at < e->at ? 8 * e->at : e->length))
		return false;
	start = 8u * e->at;
	length = p->length < start ? 0 : p->length - start;
	plain = address_plain(&p->address);
	*ret = prefix_of(&plain, (uint8_t)(length < 32 ? length : 32));
	return true;
}

struct prefix prefix_of(const struct address *a, uint8_t length)
{
	struct prefix p = { .address = { .bits = a->bits }, .length = length };
	unsigned whole = length / 8u, rest = length % 8u;

	memcpy(p.address.bytes, a->bytes, whole);
	if (rest)
		p.address.bytes[whole] = (uint8_t)(a->bytes[whole] & (0xff00u >> rest));
	return p;
}

int prefix_length_parse(const char *text, size_t len, uint8_t bits)
{
	int value = 0;

	if (len == 0 || len > 3 || (len > 1 && text[0] == '0'))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_digit(text[i]))
			return -EINVAL;
		value = value * 10 + (text[i] - '0');
	}
	return value <= bits ? value : -EINVAL;
}

int prefix_parse(const char *text, size_t len, struct prefix *ret)
{
	const char *slash = memchr(text, '/', len);
	size_t n = slash ? (size_t)(slash - text) : len;
	struct address a;
	struct prefix p;
	int length;

	if (address_parse(text, n, &a) < 0)
		return -EINVAL;
	length = slash ? prefix_length_parse(slash + 1, len - n - 1, a.bits) : a.bits;
	if (length < 0)
		return length;
	p = prefix_of(&a, (uint8_t)length);
	if (!address_equal(&p.address, &a))
		return -EINVAL;
	*ret = p;
	return 0;
}

bool prefix_has(const struct prefix *p, const struct address *a)
{
	return p->address.bits == a->bits && bits_equal(p->address.bytes, a->bytes, p->length);
}

bool prefix_contains(const struct prefix *a, const struct prefix *b)
{
	return a->length <= b->length && prefix_has(a, &b->address);
}

int prefix_compare(const struct prefix *a, const struct prefix *b)
{
	int r = (int)a->address.bits - (int)b->address.bits;

	if (r == 0)
		r = memcmp(a->address.bytes, b->address.bytes, a->address.bits / 8);
	return r != 0 ? r : (int)a->length - (int)b->length;
}

void prefix_print(const struct prefix *p, struct buffer *out)
{
	address_print(&p->address, out);
	if (p->length < p->address.bits)
		buffer_printf(out, "/%u", p->length);
}
