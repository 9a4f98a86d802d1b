/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions from inside the sandbox. Only what every resolver sends is taken: one question, nothing
 * answered, and behind it records of which the one of EDNS is looked at.
 */
#include <errno.h>

#include "net/dns/message.h"
#include "net/dns/name.h"

enum {
	FLAG_ANSWER = 0x8000,
	FLAG_OPERATION = 0x7800,
	FLAG_RECURSION = 0x0100,
	UDP_MIN = 512,
};

struct header {
	uint16_t id, flags, questions, answers, authorities, more;
};

static bool read_header(struct dns_cursor *c, struct header *h)
{
	return dns_cursor_u16(c, &h->id) && dns_cursor_u16(c, &h->flags) &&
	       dns_cursor_u16(c, &h->questions) && dns_cursor_u16(c, &h->answers) &&
	       dns_cursor_u16(c, &h->authorities) && dns_cursor_u16(c, &h->more);
}

static int read_question(struct dns_question *q, struct dns_cursor *c)
{
	size_t start = c->at;
	int r = dns_name_read(c, q->name, &q->odd);

	if (r < 0)
		return r;
	if (!dns_cursor_u16(c, &q->type) || !dns_cursor_u16(c, &q->class))
		return -EINVAL;
	q->start = start;
	q->len = c->at - start;
	return 0;
}

/* The version of EDNS is not looked at: an answer says what ours is. */
static int read_edns(struct dns_question *q, const char *owner, bool odd, uint16_t udp_size)
{
	if (q->edns || odd || *owner)
		return -EINVAL;
	q->edns = true;
	q->udp_size = udp_size > UDP_MIN ? udp_size : UDP_MIN;
	return 0;
}

static int dns_question_read_more(struct dns_question *q, struct dns_cursor *c)
{
	char owner[DNS_NAME_BYTES];
	uint16_t type, class, len;
	uint32_t ttl;
	bool odd;

	if (dns_name_read(c, owner, &odd) < 0 || !dns_cursor_u16(c, &type) ||
		!dns_cursor_u16(c, &class) || !dns_cursor_u32(c, &ttl) ||
		!dns_cursor_u16(c, &len) || !dns_cursor_skip(c, len))
		return -EINVAL;
	return type == DNS_OPT ? read_edns(q, owner, odd, class) : 0;
}

int dns_question_parse(struct dns_question *ret, const uint8_t *message, size_t len)
{
	struct dns_cursor c = { .message = message, .len = len };
	struct header h;
	int r;

	if (!read_header(&c, &h) || h.flags & FLAG_ANSWER)
		return -EBADMSG;
	*ret = (struct dns_question){
		.id = h.id, .recursion = h.flags & FLAG_RECURSION, .udp_size = UDP_MIN
	};
	if (h.flags & FLAG_OPERATION)
		return -EOPNOTSUPP;
	if (h.questions != 1 || h.answers > 0 || h.authorities > 0)
		return -EINVAL;
	r = read_question(ret, &c);
	/* Each takes bytes, so there are never many more than there are bytes. */
	for (unsigned i = 0; r == 0 && i < h.more; i++)
		r = dns_question_read_more(ret, &c);
	return r == 0 && c.at < len ? -EINVAL : r;
}
