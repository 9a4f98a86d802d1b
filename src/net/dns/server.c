/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is answered (answer) is one thing, the sockets are another (dns/server-udp.c and
 * dns/server-tcp.c are the ways in). Every answer is complete: at most one address, so it fits into
 * 512 bytes, and no resolver has a reason to ask again. "No such name" is said by NXDOMAIN, since
 * resolvers take REFUSED and SERVFAIL for a broken server and try the next one.
 *
 * Some names are answered before the policy is asked: `localhost` is this machine (RFC 6761), and
 * no address has a name (in-addr.arpa, ip6.arpa): programs ask for these without being told to, so
 * that makes no record.
 */
#include "net/dns/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "net/dns/message.h"
#include "net/dns/internal.h"
#include "policy/explain.h"
#include "policy/network/host.h"

enum { CLASS_IN = 1, TTL = 60 };

/* Records */

static void dns_server_record(
	struct dns_server *s, enum record_kind kind, const char *name, uint16_t port)
{
	struct record r = {
		.kind = kind,
		.dns = true,
		.target = name,
		.name = name,
		.address = "",
		.port = port,
		.rule = buffer_text(&s->rule),
		.reason = buffer_text(&s->reason),
		.remedy = buffer_text(&s->remedy),
		.program = "",
	};

	recorder_add(s->options.recorder, &r);
}

static void clear_texts(struct dns_server *s)
{
	buffer_clear(&s->rule);
	buffer_clear(&s->reason);
	buffer_clear(&s->remedy);
}

static void record_denied(
	struct dns_server *s, const char *name, uint16_t port, const struct decision *d)
{
	char target[HOST_NAME_BYTES + 16];
	struct request r = { .op = OPERATION_NET_CONNECT, .target = target };

	(void)snprintf(target, sizeof(target), "%s:%u", name, port);
	clear_texts(s);
	explain_rule(d, &s->rule);
	explain_reason(&r, d, &s->reason);
	explain_remedy(&r, d, &s->remedy);
	dns_server_record(s, RECORD_DENIED, name, port);
}

/* The labels of a question's name as they came, made visible. */
static void print_labels(const uint8_t *labels, struct buffer *out)
{
	for (; *labels; labels += *labels + 1) {
		if (out->len > 0)
			buffer_addc(out, '.');
		buffer_add_visible(out, (const char *)labels + 1, *labels);
	}
}

static void record_odd(struct dns_server *s, const struct dns_question *q, const uint8_t *query)
{
	auto_buffer name = { 0 };

	print_labels(query + q->start, &name);
	clear_texts(s);
	buffer_adds(&s->reason, "no host name has such characters");
	dns_server_record(s, RECORD_DENIED, buffer_text(&name), 0);
}

static const struct {
	int error;
	const char *text;
} reasons[] = {
	{ -ENOSPC, "the session has used up all addresses for names" },
	{ -EMFILE,
		"the session has used up its listeners: this kernel lacks nf_tables, so each name "
		"takes some" },
	{ -E2BIG, "too many ports are granted for it: this kernel lacks nf_tables" },
	{ -EADDRINUSE,
		"a server in the sandbox has one of the ports that are granted for it, on all "
		"addresses: this kernel lacks nf_tables" },
};

static void record_failed(struct dns_server *s, const char *name, int error)
{
	const char *text = "out of memory";

	for (size_t i = 0; i < ROWS(reasons); i++)
		if (reasons[i].error == error)
			text = reasons[i].text;
	clear_texts(s);
	buffer_adds(&s->reason, text);
	dns_server_record(s, RECORD_FAILED, name, 0);
}

/* Answers */

/* What is said, with room for its address. */
struct answer {
	struct dns_reply reply;
	uint8_t address[1][16];
};

static void answer_code(struct answer *a, enum dns_code code)
{
	a->reply = (struct dns_reply){ .code = code, .ttl = TTL };
}

static void answer_address(struct answer *a, const struct address *address)
{
	memcpy(a->address[0], address->bytes, sizeof(a->address[0]));
	a->reply.addresses = (const uint8_t(*)[16])a->address;
	a->reply.n_addresses = 1;
}

static bool wants_address(const struct dns_question *q)
{
	return q->type == DNS_A || q->type == DNS_AAAA;
}

static bool is_at_or_below(const char *name, const char *domain)
{
	size_t n = strlen(name), m = strlen(domain);

	return n >= m && strcmp(name + n - m, domain) == 0 && (n == m || name[n - m - 1] == '.');
}

static void answer_localhost(const struct dns_question *q, struct answer *a)
{
	static const struct address v4 = { 32, { 127, 0, 0, 1 } }, v6 = { 128, { [15] = 1 } };

	if (wants_address(q))
		answer_address(a, q->type == DNS_A ? &v4 : &v6);
}

static void answer_granted(struct dns_server *s, const struct dns_question *q, struct answer *a)
{
	struct address address;
	uint32_t number;
	int r;

	if (!wants_address(q))
		return;
	r = synthetic_take(s->options.synthetic, q->name, &number);
	if (r == 0 && s->options.named)
		r = s->options.named(s->options.context, q->name, number);
	if (r < 0) {
		record_failed(s, q->name, r);
		answer_code(a, DNS_SERVER_FAILURE);
		return;
	}
	address = q->type == DNS_A ? synthetic_v4(number) : synthetic_v6(number);
	answer_address(a, &address);
}

/* An ancestor exists, but who wants its address wanted to go there, and is told so like others. */
static void answer_by_policy(struct dns_server *s, const struct dns_question *q, struct answer *a)
{
	struct decision d;
	uint16_t port;

	switch (names_ask(s->options.names, q->name, &d, &port)) {
	case NAMES_GRANTED:
		answer_granted(s, q, a);
		break;
	case NAMES_ANCESTOR:
		if (wants_address(q))
			record_denied(s, q->name, port, &d);
		break;
	case NAMES_NONE:
		record_denied(s, q->name, port, &d);
		answer_code(a, DNS_NO_NAME);
		break;
	}
}

static void net_dns_server_answer(
	struct dns_server *s, const struct dns_question *q, const uint8_t *query, struct answer *a)
{
	answer_code(a, DNS_OK);
	if (q->class != CLASS_IN) {
		answer_code(a, DNS_REFUSED);
	} else if (q->odd) {
		record_odd(s, q, query);
		answer_code(a, DNS_NO_NAME);
	} else if (is_at_or_below(q->name, "localhost")) {
		answer_localhost(q, a);
	} else if (is_at_or_below(q->name, "in-addr.arpa") || is_at_or_below(q->name, "ip6.arpa")) {
		answer_code(a, DNS_NO_NAME);
	} else if (*q->name) {
		answer_by_policy(s, q, a);
	}
}

size_t dns_server_answer(
	struct dns_server *s, const uint8_t *query, size_t len, uint8_t *out, size_t size)
{
	struct dns_question q;
	struct answer a;
	int r = dns_question_parse(&q, query, len);

	if (r == -EBADMSG)
		return 0;
	if (r < 0)
		answer_code(&a, r == -EOPNOTSUPP ? DNS_NOT_IMPLEMENTED : DNS_FORMAT_ERROR);
	else
		net_dns_server_answer(s, &q, query, &a);
	return dns_reply_write(&q, query, &a.reply, out, size);
}

/* Life */

int dns_server_new(struct dns_server **ret, const struct dns_server_options *o)
{
	struct dns_server *s = calloc(1, sizeof(*s));
	int r, also;

	if (!s)
		return -ENOMEM;
	s->options = *o;
	r = dns_server_udp_start(s);
	/* In any case: what was not started cannot be stopped. */
	also = dns_server_tcp_start(s);
	r = r < 0 ? r : also;
	if (r < 0) {
		/* The sockets are the caller's still. */
		s->options.udp[0] = s->options.udp[1] = -1;
		s->options.tcp[0] = s->options.tcp[1] = -1;
		dns_server_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void dns_server_change(struct dns_server *s, const struct names *names)
{
	s->options.names = names;
}

void dns_server_free(struct dns_server *s)
{
	if (!s)
		return;
	dns_server_tcp_stop(s);
	dns_server_udp_stop(s);
	for (size_t i = 0; i < 2; i++) {
		fd_close(&s->options.udp[i]);
		fd_close(&s->options.tcp[i]);
	}
	buffer_deinit(&s->rule);
	buffer_deinit(&s->reason);
	buffer_deinit(&s->remedy);
	free(s);
}
