/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the servers outside. The records of an answer may stand in any order, and some may be
 * about names that nobody asked for; so what counts is found by owner: the addresses of the name,
 * or where its CNAME leads to, and so on. For each name of that chain all records are gone through;
 * both are bounded.
 *
 * Of an answer that was cut off nothing is taken: who asked asks again by TCP.
 */
#include <errno.h>

#include "net/dns/message.h"
#include "net/dns/name.h"

enum {
	CLASS_IN = 1,
	/* Of more than these nothing is looked at. */
	RECORDS_MAX = 1024,
	FLAG_ANSWER = 0x8000,
	FLAG_OPERATION = 0x7800,
	FLAG_TRUNCATED = 0x0200,
	FLAG_CODE = 0x000f,
};

struct resource {
	char owner[DNS_NAME_BYTES];
	bool odd;
	uint16_t type, class, len;
	uint32_t ttl;
	struct dns_cursor data; /* at what the record says; len of the message */
};

static int read_resource(struct dns_cursor *c, struct resource *r)
{
	if (dns_name_read(c, r->owner, &r->odd) < 0 || !dns_cursor_u16(c, &r->type) ||
		!dns_cursor_u16(c, &r->class) || !dns_cursor_u32(c, &r->ttl) ||
		!dns_cursor_u16(c, &r->len))
		return -EINVAL;
	r->data = *c;
	/* RFC 2181: a number with the highest bit set is none. */
	if (r->ttl > INT32_MAX)
		r->ttl = 0;
	return dns_cursor_skip(c, r->len) ? 0 : -EINVAL;
}

/* An answer while it is read. */
struct reading {
	struct dns_answer answer;
	struct dns_cursor records; /* at the first one */
	uint16_t n;
	enum dns_type type;
	uint32_t ttl; /* the least so far */
};

static void shorten_ttl(struct reading *r, uint32_t ttl)
{
	if (ttl < r->ttl)
		r->ttl = ttl;
}

static int dns_answer_add_address(struct reading *r, const struct resource *record)
{
	struct dns_answer *a = &r->answer;

	if (record->len != (r->type == DNS_A ? 4 : 16))
		return -EINVAL;
	if (a->n_addresses == DNS_ADDRESSES_MAX)
		return 0;
	memcpy(a->addresses[a->n_addresses++], record->data.message + record->data.at, record->len);
	shorten_ttl(r, record->ttl);
	return 0;
}

static int dns_answer_add_alias(struct reading *r, struct resource *record)
{
	struct dns_answer *a = &r->answer;
	size_t end = record->data.at + record->len;
	bool odd;

	if (a->n_chain == DNS_CHAIN_MAX)
		return -ELOOP;
	if (dns_name_read(&record->data, a->chain[a->n_chain], &odd) < 0 || record->data.at != end)
		return -EINVAL;
	if (odd)
		return -ELOOP;
	a->n_chain++;
	shorten_ttl(r, record->ttl);
	return 0;
}

static bool takes_addresses(const struct reading *r)
{
	return r->answer.code == DNS_OK && (r->type == DNS_A || r->type == DNS_AAAA);
}

/*
 * What the records say about one name. Positive: it has an alias, which is the last of the chain
 * now. A name with an alias has nothing else; of one that has, the addresses count.
 */
static int dns_answer_read_name(struct reading *r, const char *name)
{
	struct dns_cursor c = r->records;
	struct resource record, alias = { .type = 0 };
	int err = 0;

	for (unsigned i = 0; err == 0 && i < r->n; i++) {
		err = read_resource(&c, &record);
		if (err < 0 || record.class != CLASS_IN || record.odd ||
			strcmp(record.owner, name) != 0)
			continue;
		if (record.type == r->type && takes_addresses(r))
			err = dns_answer_add_address(r, &record);
		else if (record.type == DNS_CNAME && alias.type == 0)
			alias = record;
	}
	if (err < 0 || alias.type == 0 || r->answer.n_addresses > 0)
		return err;
	err = dns_answer_add_alias(r, &alias);
	return err < 0 ? err : 1;
}

static int read_chain(struct reading *r, const char *name)
{
	int more = 1;

	while (more > 0) {
		size_t n = r->answer.n_chain;

		more = dns_answer_read_name(r, n > 0 ? r->answer.chain[n - 1] : name);
	}
	return more;
}

/* The header and the question; the cursor is then at the first record. */
static int dns_answer_read_start(
	struct reading *r, struct dns_cursor *c, uint16_t want_id, const char *want_name)
{
	uint16_t id, flags, questions, authorities, more, type, class;
	char name[DNS_NAME_BYTES];
	bool odd;

	if (!dns_cursor_u16(c, &id) || !dns_cursor_u16(c, &flags) ||
		!dns_cursor_u16(c, &questions) || !dns_cursor_u16(c, &r->n) ||
		!dns_cursor_u16(c, &authorities) || !dns_cursor_u16(c, &more))
		return -EBADMSG;
	if (id != want_id || (flags & (FLAG_ANSWER | FLAG_OPERATION)) != FLAG_ANSWER ||
		questions != 1)
		return -EBADMSG;
	if (dns_name_read(c, name, &odd) < 0 || odd || strcmp(name, want_name) != 0)
		return -EBADMSG;
	if (!dns_cursor_u16(c, &type) || !dns_cursor_u16(c, &class) || type != r->type ||
		class != CLASS_IN)
		return -EBADMSG;
	r->answer.code = flags & FLAG_CODE;
	r->answer.truncated = flags & FLAG_TRUNCATED;
	return 0;
}

int dns_answer_parse(struct dns_answer *ret, uint16_t id, const char *name, enum dns_type type,
	const uint8_t *message, size_t len)
{
	struct dns_cursor c = { .message = message, .len = len };
	struct reading r = { .type = type, .ttl = UINT32_MAX };
	int err = dns_answer_read_start(&r, &c, id, name);

	if (err == 0 && !r.answer.truncated) {
		r.records = c;
		if (r.n > RECORDS_MAX)
			r.n = RECORDS_MAX;
		err = read_chain(&r, name);
	}
	if (err < 0)
		return err;
	r.answer.ttl = r.answer.n_addresses > 0 ? r.ttl : 0;
	*ret = r.answer;
	return 0;
}
