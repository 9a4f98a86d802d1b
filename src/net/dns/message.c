/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we write: answers for the sandbox, questions for the servers outside. An answer repeats the
 * question byte by byte, since some resolvers mix upper and lower case and want it back (0x20).
 *
 *     header 12 | the question, at most 259 | addresses, or an SOA of 33 | EDNS 11
 *
 * so everything but a long list of addresses fits into the 512 bytes that every resolver takes.
 */
#include "net/dns/message.h"

#include "net/dns/name.h"

enum {
	CLASS_IN = 1,
	SIZE_MIN = 512,
	EDNS_BYTES = 11,
	QUESTION_POINTER = 0xc000 | DNS_HEADER_BYTES,
	FLAG_ANSWER = 0x8000,
	FLAG_TRUNCATED = 0x0200,
	FLAG_RECURSION = 0x0100,
	FLAG_RECURSION_HERE = 0x0080,
};

static void write_header(
	struct dns_writer *w, uint16_t id, unsigned flags, uint16_t questions, bool edns)
{
	dns_writer_u16(w, id);
	dns_writer_u16(w, (uint16_t)flags);
	dns_writer_u16(w, questions);
	dns_writer_u16(w, 0);
	dns_writer_u16(w, 0);
	dns_writer_u16(w, edns);
}

/* A count in the header, or its flags, once they are known. */
static void amend(struct dns_writer *w, size_t at, uint16_t value)
{
	w->out[at] = (uint8_t)(value >> 8);
	w->out[at + 1] = (uint8_t)value;
}

static void write_edns(struct dns_writer *w)
{
	dns_writer_add(w, "", 1);
	dns_writer_u16(w, DNS_OPT);
	dns_writer_u16(w, DNS_UDP_BYTES);
	dns_writer_u32(w, 0); /* no more of the code, version 0, no flags */
	dns_writer_u16(w, 0);
}

/* The root's: whatever was asked for lies below it. Nobody is named in it. */
static void write_soa(struct dns_writer *w, uint32_t ttl)
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
static uint16_t write_addresses(
	struct dns_writer *w, const struct dns_question *q, const struct dns_reply *reply)
{
	uint16_t len = q->type == DNS_A ? 4 : 16, n = 0;

	for (; n < reply->n_addresses && n < UINT16_MAX; n++) {
		if (w->size - w->at < 12u + len)
			break;
		dns_writer_u16(w, QUESTION_POINTER);
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

	if (size < SIZE_MIN)
		return 0;
	write_header(&w, q->id, flags, q->len > 0, q->edns);
	dns_writer_add(&w, message + q->start, q->len);
	w.size -= q->edns ? EDNS_BYTES : 0;
	if (reply->code == DNS_OK && !is_empty) {
		uint16_t n = write_addresses(&w, q, reply);

		amend(&w, 6, n);
		if (n < reply->n_addresses)
			amend(&w, 2, (uint16_t)(flags | FLAG_TRUNCATED));
	} else if ((is_empty || reply->code == DNS_NO_NAME) && q->len > 0) {
		amend(&w, 8, 1);
		write_soa(&w, reply->ttl);
	}
	w.size = size;
	if (q->edns)
		write_edns(&w);
	return w.at;
}

size_t dns_query_write(uint16_t id, const char *name, enum dns_type type, uint8_t *out, size_t size)
{
	struct dns_writer w = { .out = out, .size = size };

	write_header(&w, id, FLAG_RECURSION, 1, true);
	if (dns_name_write(&w, name) < 0)
		return 0;
	dns_writer_u16(&w, (uint16_t)type);
	dns_writer_u16(&w, CLASS_IN);
	write_edns(&w);
	return w.full ? 0 : w.at;
}
