/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Messages of the DNS (RFC 1035, 6891): reading queries and answers, writing both. Pure: bytes in,
 * bytes out, no allocation. Everything that comes in is foreign: pointers of compressed names only
 * go backwards and are counted, lengths are checked before they are used, names are bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DNS_NAME_BYTES = 256, DNS_MESSAGE_MAX = 65535, DNS_UDP_BYTES = 1232 };

enum dns_type {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
	DNS_ANY = 255,
};

enum dns_code {
	DNS_OK = 0,
	DNS_FORMAT_ERROR = 1,
	DNS_SERVER_FAILURE = 2,
	DNS_NO_NAME = 3,
	DNS_NOT_IMPLEMENTED = 4,
	DNS_REFUSED = 5,
};

/* The name is the domain or lies below it; both in normal form. */
bool dns_name_is_within(const char *name, const char *domain);

struct dns_question {
	uint16_t id;
	bool recursion; /* asked for */
	/*
	 * Lower case, without the dot at the end; "" is the root. Only letters, digits, '-' and '_'
	 * pass; a label with anything else makes `odd` true and the name "".
	 */
	char name[DNS_NAME_BYTES];
	bool odd;
	uint16_t type, class;
	bool edns;
	uint16_t udp_size; /* what the asker takes by UDP; at least 512 */
	/* The question section as it came, to be repeated (case and all): where in the message. */
	size_t start, len;
};

/*
 * -EBADMSG: no header, or an answer: say nothing. -EINVAL: answer DNS_FORMAT_ERROR; id is set.
 * -EOPNOTSUPP: another operation: answer DNS_NOT_IMPLEMENTED; id is set. Exactly one question.
 */
int dns_question_parse(struct dns_question *ret, const uint8_t *message, size_t len);

/* What to answer. addresses are of the question's type, all 4 or all 16 bytes. */
struct dns_reply {
	enum dns_code code;
	uint32_t ttl;
	const uint8_t (*addresses)[16];
	size_t n_addresses;
};

/*
 * Writes the answer to q, whose message is given to repeat its question. NXDOMAIN and empty answers
 * carry an SOA so that they are cached (RFC 2308). Returns the length; 0 if size is too small for
 * anything (less than 512). Sets TC if not all addresses fit into size.
 */
size_t dns_reply_write(const struct dns_question *q, const uint8_t *message,
	const struct dns_reply *reply, uint8_t *out, size_t size);

/* A question of our own: recursion desired, EDNS of DNS_UDP_BYTES. 0: name is no DNS name. */
size_t dns_query_write(
	uint16_t id, const char *name, enum dns_type type, uint8_t *out, size_t size);

enum { DNS_ADDRESSES_MAX = 32, DNS_CHAIN_MAX = 16 };

/* What a server answered. */
struct dns_answer {
	enum dns_code code;
	bool truncated; /* then nothing else of it was read but the code */
	uint8_t addresses[DNS_ADDRESSES_MAX][16];
	size_t n_addresses; /* further ones are left out */
	uint32_t ttl;       /* the least on the way to the addresses; 0 if there are none */
	/* The names that the question's name led to by CNAME, in order, in the form of
	 * dns_question.name. Only records on this chain count. */
	char chain[DNS_CHAIN_MAX][DNS_NAME_BYTES];
	size_t n_chain;
};

/*
 * Reads the answer to such a question. -EBADMSG: it is not one to this id, name and type (go on
 * waiting). -EINVAL: it is, but cannot be read; -ELOOP: the chain is longer than DNS_CHAIN_MAX, or
 * has an odd name.
 */
int dns_answer_parse(struct dns_answer *ret, uint16_t id, const char *name, enum dns_type type,
	const uint8_t *message, size_t len);
