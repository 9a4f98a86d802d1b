/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses: a question, which is answered in every way, or an answer to the question
 * that it repeats, or a question to the server. Whatever is read is a name in normal form, and what
 * we write is read back as what was meant.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "net/dns/message.h"
#include "net/dns/server.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLASS_IN = 1, OUT = 1232 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Labels of 1 to 63 letters, digits, '-' and '_', joined by dots, 253 bytes at most; or "". */
static void require_name(const char *name)
{
	size_t n = strnlen(name, DNS_NAME_BYTES);

	require(n <= 253 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n);
	for (const char *p = name; *p; p += strspn(p, ".")) {
		size_t label = strcspn(p, ".");

		require(label > 0 && label <= 63 && strncmp(p + label, "..", 2) != 0);
		p += label;
		require(*p != '.' || p[1] != '\0');
	}
}

/* An answer of ours to a question that was read. */
static void check_reply(const struct dns_question *q, const uint8_t *reply, size_t len, size_t sent)
{
	struct dns_answer a;
	int r;

	if (q->odd || q->class != CLASS_IN)
		return;
	r = dns_answer_parse(&a, q->id, q->name, q->type, reply, len);
	require(r == 0);
	require(a.n_chain == 0 && a.n_addresses <= sent && a.n_addresses <= DNS_ADDRESSES_MAX);
	if (!a.truncated && a.code == DNS_OK)
		require(a.n_addresses == (sent < DNS_ADDRESSES_MAX ? sent : DNS_ADDRESSES_MAX));
}

static void check_question(const struct dns_question *q, int r, size_t size)
{
	require(r == 0 || r == -EINVAL || r == -EOPNOTSUPP);
	require(q->start <= size && q->len <= size - q->start);
	require(q->udp_size >= 512 && (!q->odd || q->name[0] == '\0'));
	if (r == 0)
		require_name(q->name);
}

static void check_query(const struct dns_question *q)
{
	struct dns_question again;
	uint8_t out[512];
	size_t n = dns_query_write(q->id, q->name, q->type, out, sizeof(out));

	require(n > 0 && dns_question_parse(&again, out, n) == 0);
	require(strcmp(q->name, again.name) == 0 && again.id == q->id && again.type == q->type);
}

static void fuzz_question(const uint8_t *data, size_t size)
{
	static const uint8_t addresses[64][16];
	struct dns_question q;
	int r = dns_question_parse(&q, data, size);
	size_t most;

	if (r == -EBADMSG)
		return;
	check_question(&q, r, size);
	most = r == 0 && (q.type == DNS_A || q.type == DNS_AAAA) ? 64 : 0;
	for (size_t n = 0; n <= most; n += 8) {
		struct dns_reply reply = { .code = r == 0 ? DNS_OK : DNS_FORMAT_ERROR,
			.ttl = 60,
			.addresses = addresses,
			.n_addresses = n };
		uint8_t out[OUT];
		size_t len = dns_reply_write(&q, data, &reply, out, n % 16 ? 512 : OUT);

		require(len >= 12 && len <= (n % 16 ? 512 : OUT));
		if (r == 0)
			check_reply(&q, out, len, n);
	}
	if (r == 0)
		check_query(&q);
}

/* The question that an answer repeats: its own one, with another header. */
static bool find_question(struct dns_question *ret, const uint8_t *data, size_t size)
{
	static const uint8_t header[10] = { 1, 0, 0, 1 };
	uint8_t *copy = malloc(size ? size : 1);
	int r;

	require(copy);
	if (size)
		memcpy(copy, data, size);
	if (size >= 12)
		memcpy(copy + 2, header, sizeof(header));
	r = dns_question_parse(ret, copy, size);
	free(copy);
	return r != -EBADMSG && ret->len > 0 && !ret->odd;
}

static void fuzz_answer(const uint8_t *data, size_t size)
{
	struct dns_question q;
	struct dns_answer a;

	if (!find_question(&q, data, size))
		return;
	if (dns_answer_parse(&a, q.id, q.name, q.type, data, size) < 0)
		return;
	require(a.n_addresses <= DNS_ADDRESSES_MAX && a.n_chain <= DNS_CHAIN_MAX);
	require(a.n_addresses > 0 || a.ttl == 0);
	for (size_t i = 0; i < a.n_chain; i++)
		require_name(a.chain[i]);
	/* To another question it is none. */
	require(dns_answer_parse(&a, q.id ^ 1, q.name, q.type, data, size) == -EBADMSG);
	require(dns_answer_parse(&a, q.id, "another.name", q.type ^ 1, data, size) == -EBADMSG);
}

static struct dns_server *make_server(void)
{
	static const char *const allow[] = { "api.example.com:443", "*.example.org", "udp://*:53" };
	struct permissions *p = permissions_new();
	struct dns_server_options o = { .udp = { -1, -1 }, .tcp = { -1, -1 } };
	struct dns_server *s = NULL;
	struct policy *policy = NULL;
	struct dns_names *names = NULL;
	int pair[2];

	require(p && frame_pair(pair) == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
	for (size_t i = 0; i < ROWS(allow); i++)
		require(permissions_add(p, &p->network_allow, allow[i], NULL) == 0);
	require(policy_new(&policy, (const struct permissions *const *)&p, 1, NULL, NULL) == 0);
	permissions_free(p);
	require(names_new(&names, policy, false, NULL) == 0 && loop_new(&o.loop) == 0);
	require(synthetic_new(&o.synthetic, 1000) == 0);
	require(recorder_new(&o.recorder, o.loop, pair[0]) == 0);
	o.names = names;
	require(dns_server_new(&s, &o) == 0);
	return s;
}

static void fuzz_server(const uint8_t *data, size_t size)
{
	static struct dns_server *server;
	struct dns_question q;
	uint8_t out[512];
	size_t n;

	if (!server)
		server = make_server();
	n = dns_server_answer(server, data, size, out, sizeof(out));
	require((n == 0) == (dns_question_parse(&q, data, size) == -EBADMSG));
	if (n > 0 && dns_question_parse(&q, data, size) == 0) {
		require(out[0] == data[0] && out[1] == data[1] && out[2] & 0x80);
		require(!(out[2] & 2)); /* never cut off */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const fuzz[])(
		const uint8_t *data, size_t size) = { fuzz_question, fuzz_answer, fuzz_server };

	if (size > 0 && data[0] < ROWS(fuzz))
		fuzz[data[0]](data + 1, size - 1);
	return 0;
}
