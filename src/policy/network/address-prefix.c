/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefixes, and the ranges of IPv6 that are really IPv4.
 *
 * A packet to one of those ranges ends at the IPv4 address inside it, through the kernel (mapped)
 * or a translator (the others), so 2002:a9fe:a9fe:: is the metadata service as much as
 * 169.254.169.254 is. They are all turned into IPv4 before anything is compared.
 */
#include "policy/network/address.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"

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

/* :: and ::1 lie in ::/96, but mean themselves. */
static bool is_unspecified_or_loopback(const struct address *a)
{
	static const uint8_t zeros[15];

	return memcmp(a->bytes, zeros, 15) == 0 && a->bytes[15] <= 1;
}

static bool bits_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static const struct embedding *embedding_of(const struct address *a)
{
	static const uint8_t zeros[4];

	if (a->bits != 128 || is_unspecified_or_loopback(a))
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
		if (text[i] < '0' || text[i] > '9')
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
