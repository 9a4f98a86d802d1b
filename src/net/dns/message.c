/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing, in this order: places in a message, names, questions from inside the
 * sandbox, answers of the servers outside, and what we write ourselves.
 *
 * A pointer in a name leads to a name that began before the one that it stands in, so whoever
 * follows pointers gets nearer to the front each time and comes to an end. They are counted all the
 * same: a name of many pointers costs many jumps, and none that is meant well needs more than a
 * few.
 */
#include "net/dns/message.h"

#include <errno.h>
#include <string.h>

enum {
	CLASS_IN = 1,
	HEADER_BYTES = 12, /* no name lies in it */
	NAME_WIRE_MAX = 255,
	LABEL_MAX = 63,
	POINTER = 0xc0,
	JUMPS_MAX = 64,
	UDP_MIN = 512,
	RECORDS_MAX = 1024, /* of an answer; of more than these nothing is looked at */
	FLAG_ANSWER = 0x8000,
	FLAG_OPERATION = 0x7800,
	FLAG_TRUNCATED = 0x0200,
	FLAG_RECURSION = 0x0100,
	FLAG_RECURSION_HERE = 0x0080,
	FLAG_CODE = 0x000f,
};

/* Places: nothing is read or written beyond the end. */

struct dns_cursor {
	const uint8_t *message;
	size_t len, at; /* at <= len */
};

/* These fail at the end, and the place stays where it was. */
static bool dns_cursor_skip(struct dns_cursor *c, size_t n)
{
	if (n > c->len - c->at)
		return false;
	c->at += n;
	return true;
}

static bool dns_cursor_u16(struct dns_cursor *c, uint16_t *ret)
{
	const uint8_t *p = c->message + c->at;

	if (!dns_cursor_skip(c, 2))
		return false;
	*ret = (uint16_t)(p[0] << 8 | p[1]);
	return true;
}

/* What is being written. Once something did not fit, nothing more is written. */
struct dns_writer {
	uint8_t *out;
	size_t size, at;
	bool full;
};

static void dns_writer_add(struct dns_writer *w, const void *data, size_t n)
{
	if (w->full || n > w->size - w->at) {
		w->full = true;
		return;
	}
	if (n > 0)
		memcpy(w->out + w->at, data, n);
	w->at += n;
}

static void dns_writer_u16(struct dns_writer *w, unsigned value)
{
	dns_writer_add(w, (uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static void dns_writer_u32(struct dns_writer *w, uint32_t value)
{
	dns_writer_u16(w, value >> 16);
	dns_writer_u16(w, value & 0xffff);
}

/* Names */

/* The byte of a normal form; 0: it can have none. */
static char dns_name_normal(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
		return (char)c;
	return '\0';
}

/* A name while it is read. */
struct dns_name {
	char *out;
	size_t len;  /* of out */
	size_t wire; /* as long as it would be without pointers */
	bool odd;
};

/* Reads labels up to the end (0) or a pointer (its target, never in the header). */
static int dns_name_read_labels(struct dns_cursor *c, struct dns_name *r)
{
	for (;;) {
		const uint8_t *p = c->message + c->at;

		if (!dns_cursor_skip(c, 1))
			return -EINVAL;
		if (*p == 0)
			return 0;
		if ((*p & POINTER) == POINTER) {
			int target;

			if (!dns_cursor_skip(c, 1))
				return -EINVAL;
			target = (*p & ~POINTER) << 8 | p[1];
			return target >= HEADER_BYTES ? target : -EINVAL;
		}
		if (*p > LABEL_MAX || !dns_cursor_skip(c, *p))
			return -EINVAL;
		r->wire += *p + 1U;
		/* One more byte is the end's. This bounds `out` too: it has no length in front. */
		if (r->wire + 1 > NAME_WIRE_MAX)
			return -EINVAL;
		if (r->len > 0)
			r->out[r->len++] = '.';
		for (size_t i = 1; i <= *p; i++) {
			char normal = dns_name_normal(p[i]);

			r->odd = r->odd || normal == '\0';
			r->out[r->len++] = normal;
		}
	}
}

/*
 * Reads the name at the cursor, which goes after it, in the form of dns_question.name. -EINVAL: it
 * is none. The cursor is then anywhere.
 */
static int dns_name_read(struct dns_cursor *c, char out[DNS_NAME_BYTES], bool *ret_odd)
{
	struct dns_name r = { .out = out };
	struct dns_cursor place = *c;
	size_t start = c->at;
	int target = dns_name_read_labels(&place, &r);

	c->at = place.at;
	for (int jumps = 0; target > 0; jumps++) {
		if (jumps == JUMPS_MAX || (size_t)target >= start)
			return -EINVAL;
		start = place.at = (size_t)target;
		target = dns_name_read_labels(&place, &r);
	}
	if (target < 0)
		return target;
	out[r.odd ? 0 : r.len] = '\0';
	*ret_odd = r.odd;
	return 0;
}

/* Whether it is one in normal form; the root is. */
static bool dns_name_is_name(const char *name)
{
	/* On the wire: a length in front, and the end. */
	if (strnlen(name, NAME_WIRE_MAX) + 2 > NAME_WIRE_MAX)
		return false;
	for (const char *label = name; *name;) {
		size_t n = strcspn(label, ".");

		if (n == 0 || n > LABEL_MAX)
			return false;
		for (size_t i = 0; i < n; i++)
			if (dns_name_normal((uint8_t)label[i]) != label[i])
				return false;
		if (label[n] == '\0')
			break;
		label += n + 1;
	}
	return true;
}

bool dns_name_is_within(const char *name, const char *domain)
{
	size_t n = strlen(name), m = strlen(domain);

	return n >= m && strcmp(name + n - m, domain) == 0 && (n == m || name[n - m - 1] == '.');
}

struct dns_header {
	uint16_t id, flags, questions, answers, authorities, more;
};

static bool dns_header_read(struct dns_cursor *c, struct dns_header *h)
{
	return dns_cursor_u16(c, &h->id) && dns_cursor_u16(c, &h->flags) &&
	       dns_cursor_u16(c, &h->questions) && dns_cursor_u16(c, &h->answers) &&
	       dns_cursor_u16(c, &h->authorities) && dns_cursor_u16(c, &h->more);
}

struct dns_record {
	char owner[DNS_NAME_BYTES];
	bool odd;
	uint16_t type, class, len;
	uint32_t ttl;
	struct dns_cursor data; /* at what the record says; len of the message */
};

static int dns_record_read(struct dns_cursor *c, struct dns_record *r)
{
	uint16_t high, low;

	if (dns_name_read(c, r->owner, &r->odd) < 0 || !dns_cursor_u16(c, &r->type) ||
		!dns_cursor_u16(c, &r->class) || !dns_cursor_u16(c, &high) ||
		!dns_cursor_u16(c, &low) || !dns_cursor_u16(c, &r->len))
		return -EINVAL;
	r->data = *c;
	/* RFC 2181: a number with the highest bit set is none. */
	r->ttl = high >> 15 ? 0 : (uint32_t)high << 16 | low;
	return dns_cursor_skip(c, r->len) ? 0 : -EINVAL;
}

/*
 * Questions. Only what every resolver sends is taken: one question, nothing answered, and behind it
 * records of which the one of EDNS is looked at.
 */

int dns_question_parse(struct dns_question *ret, const uint8_t *message, size_t len)
{
	struct dns_cursor c = { .message = message, .len = len };
	struct dns_header h;
	int r;

	if (!dns_header_read(&c, &h) || h.flags & FLAG_ANSWER)
		return -EBADMSG;
	*ret = (struct dns_question){
		.id = h.id, .recursion = h.flags & FLAG_RECURSION, .udp_size = UDP_MIN
	};
	if (h.flags & FLAG_OPERATION)
		return -EOPNOTSUPP;
	if (h.questions != 1 || h.answers > 0 || h.authorities > 0)
		return -EINVAL;
	r = dns_name_read(&c, ret->name, &ret->odd);
	if (r < 0)
		return r;
	if (!dns_cursor_u16(&c, &ret->type) || !dns_cursor_u16(&c, &ret->class))
		return -EINVAL;
	ret->start = HEADER_BYTES;
	ret->len = c.at - HEADER_BYTES;
	/* Each takes bytes, so there are never many more than there are bytes. */
	for (unsigned i = 0; i < h.more; i++) {
		struct dns_record more;

		if (dns_record_read(&c, &more) < 0)
			return -EINVAL;
		if (more.type != DNS_OPT)
			continue;
		/* The version of EDNS is not looked at: an answer says what ours is. */
		if (ret->edns || more.odd || *more.owner)
			return -EINVAL;
		ret->edns = true;
		ret->udp_size = more.class > UDP_MIN ? more.class : UDP_MIN;
	}
	return c.at < len ? -EINVAL : 0;
}

/*
 * Answers. Their records may stand in any order, and some may be about names that were not asked
 * for; so what counts is found by owner: the addresses of the name, or where its CNAME leads to,
 * and so on. For each name of that chain all records are gone through; both are bounded.
 *
 * Of an answer that was cut off nothing is taken: who asked asks again by TCP.
 */

/* An answer while it is read. */
struct dns_answer_reading {
	struct dns_answer answer;
	struct dns_cursor records; /* at the first one */
	uint16_t n;
	enum dns_type type;
	uint32_t ttl; /* the least so far */
};

/*
 * What the records say about one name. Positive: it has an alias, which is the last of the chain
 * now. A name with an alias has nothing else; of one that has, the addresses count.
 */
static int dns_answer_read_name(struct dns_answer_reading *r, const char *name)
{
	struct dns_answer *a = &r->answer;
	bool takes_addresses = a->code == DNS_OK && (r->type == DNS_A || r->type == DNS_AAAA);
	struct dns_cursor c = r->records;
	struct dns_record record, alias = { .type = 0 };
	size_t end;
	bool odd;

	for (unsigned i = 0; i < r->n; i++) {
		if (dns_record_read(&c, &record) < 0)
			return -EINVAL;
		if (record.class != CLASS_IN || record.odd || strcmp(record.owner, name) != 0)
			continue;
		if (record.type == r->type && takes_addresses) {
			if (record.len != (r->type == DNS_A ? 4 : 16))
				return -EINVAL;
			if (a->n_addresses == DNS_ADDRESSES_MAX)
				continue;
			memcpy(a->addresses[a->n_addresses++], c.message + record.data.at,
				record.len);
			if (record.ttl < r->ttl)
				r->ttl = record.ttl;
		} else if (record.type == DNS_CNAME && alias.type == 0) {
			alias = record;
		}
	}
	if (alias.type == 0 || a->n_addresses > 0)
		return 0;
	if (a->n_chain == DNS_CHAIN_MAX)
		return -ELOOP;
	end = alias.data.at + alias.len;
	if (dns_name_read(&alias.data, a->chain[a->n_chain], &odd) < 0 || alias.data.at != end)
		return -EINVAL;
	if (odd)
		return -ELOOP;
	a->n_chain++;
	if (alias.ttl < r->ttl)
		r->ttl = alias.ttl;
	return 1;
}

/* The header and the question; the cursor is then at the first record. */
static int dns_answer_read_start(
	struct dns_answer_reading *r, struct dns_cursor *c, uint16_t id, const char *want_name)
{
	struct dns_header h;
	uint16_t type, class;
	char name[DNS_NAME_BYTES];
	bool odd;

	if (!dns_header_read(c, &h) || h.id != id || h.questions != 1 ||
		(h.flags & (FLAG_ANSWER | FLAG_OPERATION)) != FLAG_ANSWER)
		return -EBADMSG;
	if (dns_name_read(c, name, &odd) < 0 || odd || strcmp(name, want_name) != 0)
		return -EBADMSG;
	if (!dns_cursor_u16(c, &type) || !dns_cursor_u16(c, &class) || type != r->type ||
		class != CLASS_IN)
		return -EBADMSG;
	r->n = h.answers < RECORDS_MAX ? h.answers : RECORDS_MAX;
	r->answer.code = h.flags & FLAG_CODE;
	r->answer.truncated = h.flags & FLAG_TRUNCATED;
	return 0;
}

int dns_answer_parse(struct dns_answer *ret, uint16_t id, const char *name, enum dns_type type,
	const uint8_t *message, size_t len)
{
	struct dns_cursor c = { .message = message, .len = len };
	struct dns_answer_reading r = { .type = type, .ttl = UINT32_MAX };
	int more = dns_answer_read_start(&r, &c, id, name);

	r.records = c;
	if (more == 0 && !r.answer.truncated)
		more = dns_answer_read_name(&r, name);
	while (more > 0)
		more = dns_answer_read_name(&r, r.answer.chain[r.answer.n_chain - 1]);
	if (more < 0)
		return more;
	r.answer.ttl = r.answer.n_addresses > 0 ? r.ttl : 0;
	*ret = r.answer;
	return 0;
}

/*
 * What we write. An answer repeats the question byte by byte, since some resolvers mix upper and
 * lower case and want it back (0x20).
 *
 *     header 12 | the question, at most 259 | addresses, or an SOA of 33 | EDNS 11
 *
 * so everything but a long list of addresses fits into the 512 bytes that every resolver takes.
 */

static void dns_write_header(
	struct dns_writer *w, uint16_t id, unsigned flags, uint16_t questions, bool edns)
{
	dns_writer_u16(w, id);
	dns_writer_u16(w, flags);
	dns_writer_u16(w, questions);
	dns_writer_u32(w, 0);
	dns_writer_u16(w, edns);
}

/* A count in the header, or its flags, once they are known. */
static void dns_amend_header(struct dns_writer *w, size_t at, unsigned value)
{
	w->out[at] = (uint8_t)(value >> 8);
	w->out[at + 1] = (uint8_t)value;
}

/* No more of the code, version 0, no flags. */
static const uint8_t edns[] = { 0, 0, DNS_OPT, DNS_UDP_BYTES >> 8, DNS_UDP_BYTES & 0xff, 0, 0, 0, 0,
	0, 0 };

/* The root's: whatever was asked for lies below it. It names no server. */
static void dns_write_soa(struct dns_writer *w, uint32_t ttl)
{
	dns_writer_add(w, "", 1);
	dns_writer_u16(w, DNS_SOA);
	dns_writer_u16(w, CLASS_IN);
	dns_writer_u32(w, ttl);
	dns_writer_u16(w, 2 + 5 * 4);
	dns_writer_add(w, "\0", 2); /* the server, and whom to write to */
	dns_writer_u32(w, 1);       /* serial, refresh, retry, expire */
	dns_writer_u32(w, 3600);
	dns_writer_u32(w, 600);
	dns_writer_u32(w, 86400);
	dns_writer_u32(w, ttl);
}

/* As many as fit; their number. */
static uint16_t dns_write_addresses(
	struct dns_writer *w, const struct dns_question *q, const struct dns_reply *reply)
{
	uint16_t len = q->type == DNS_A ? 4 : 16, n = 0;

	for (; n < reply->n_addresses && n < UINT16_MAX; n++) {
		if (w->size - w->at < 12u + len)
			break;
		dns_writer_u16(w, POINTER << 8 | HEADER_BYTES); /* the name of the question */
		dns_writer_u16(w, q->type);
		dns_writer_u16(w, CLASS_IN);
		dns_writer_u32(w, reply->ttl);
		dns_writer_u16(w, len);
		dns_writer_add(w, reply->addresses[n], len);
	}
	return n;
}

size_t dns_reply_write(const struct dns_question *q, const uint8_t *message,
	const struct dns_reply *reply, uint8_t *out, size_t size)
{
	/* The operation is repeated: a server must not answer one with another. */
	unsigned flags = FLAG_ANSWER | (message[2] & 0x78u) << 8 | FLAG_RECURSION_HERE |
			 (q->recursion ? FLAG_RECURSION : 0) | reply->code;
	struct dns_writer w = { .out = out, .size = size };
	bool is_empty = reply->n_addresses == 0 && reply->code == DNS_OK;

	if (size < UDP_MIN)
		return 0;
	dns_write_header(&w, q->id, flags, q->len > 0, q->edns);
	dns_writer_add(&w, message + q->start, q->len);
	w.size -= q->edns ? sizeof(edns) : 0;
	if (reply->code == DNS_OK && !is_empty) {
		uint16_t n = dns_write_addresses(&w, q, reply);

		dns_amend_header(&w, 6, n);
		if (n < reply->n_addresses)
			dns_amend_header(&w, 2, flags | FLAG_TRUNCATED);
	} else if ((is_empty || reply->code == DNS_NO_NAME) && q->len > 0) {
		dns_amend_header(&w, 8, 1);
		dns_write_soa(&w, reply->ttl);
	}
	w.size = size;
	if (q->edns)
		dns_writer_add(&w, edns, sizeof(edns));
	return w.at;
}

size_t dns_query_write(uint16_t id, const char *name, enum dns_type type, uint8_t *out, size_t size)
{
	struct dns_writer w = { .out = out, .size = size };

	if (!dns_name_is_name(name))
		return 0;
	dns_write_header(&w, id, FLAG_RECURSION, 1, true);
	while (*name) {
		uint8_t n = (uint8_t)strcspn(name, ".");

		dns_writer_add(&w, &n, 1);
		dns_writer_add(&w, name, n);
		name += n + (name[n] == '.');
	}
	dns_writer_add(&w, "", 1);
	dns_writer_u16(&w, type);
	dns_writer_u16(&w, CLASS_IN);
	dns_writer_add(&w, edns, sizeof(edns));
	return w.full ? 0 : w.at;
}
