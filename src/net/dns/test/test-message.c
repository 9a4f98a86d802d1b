/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are written as text: words that are numbers in hexadecimal, or labels in quotes ("com"
 * stands for 03 63 6f 6d), so that a row of a table can be read.
 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "net/dns/message.h"

/* In a block of its own size, so that a sanitizer sees the first byte read beyond it. */
struct message {
	uint8_t *bytes;
	size_t len;
};

static struct message make(const char *text)
{
	uint8_t bytes[4096] = { 0 };
	struct message m = { .len = 0 };

	while (*(text += strspn(text, " "))) {
		size_t n = strcspn(text, " ");

		if (*text == '"') {
			bytes[m.len++] = (uint8_t)(n - 2);
			memcpy(bytes + m.len, text + 1, n - 2);
			m.len += n - 2;
		} else {
			for (size_t i = 0; i < n; i += 2)
				bytes[m.len++] = (uint8_t)strtoul(
					(char[]){ text[i], text[i + 1], 0 }, NULL, 16);
		}
		text += n;
	}
	m.bytes = malloc(m.len + 1);
	assert_non_null(m.bytes);
	m.bytes = realloc(m.bytes, m.len ? m.len : 1);
	memcpy(m.bytes, bytes, m.len);
	return m;
}

/* Questions */

#define ASK(counts) "abcd 0100 " counts " "
#define ONE ASK("0001 0000 0000 0000")
#define ONE_EDNS ASK("0001 0000 0000 0001")
#define OPT "00 0029 04d0 00000000 0000"
#define L63 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" "
#define L61 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" "
#define L62 "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" "

static const struct {
	const char *message;
	int want;
	const char *name; /* NULL: odd */
	uint16_t type, class;
	bool edns;
	uint16_t udp_size;
} questions[] = {
	{ ONE "\"example\" \"com\" 00 0001 0001", 0, "example.com", 1, 1, false, 512 },
	{ ONE "\"eXaMPle\" \"COM\" 00 001c 0001", 0, "example.com", 28, 1, false, 512 },
	{ ONE "\"_a-b\" \"x0\" 00 0010 0003", 0, "_a-b.x0", 16, 3, false, 512 },
	{ ONE "00 0002 0001", 0, "", 2, 1, false, 512 },
	{ ONE_EDNS "\"a\" 00 0001 0001 " OPT, 0, "a", 1, 1, true, 1232 },
	/* The least, options, other records beside it, and a pointer back to the question. */
	{ ONE_EDNS "\"a\" 00 0001 0001 00 0029 0100 00000000 0000", 0, "a", 1, 1, true, 512 },
	{ ONE_EDNS "\"a\" 00 0001 0001 00 0029 ffff 00000000 0004 000a0000", 0, "a", 1, 1, true,
		65535 },
	{ ASK("0001 0000 0000 0002") "\"a\" 00 0001 0001 c00c 0001 0001 00000000 0000 " OPT, 0, "a",
		1, 1, true, 1232 },
	{ .message = ASK("0001 0000 0000 0002") "\"a\" 00 0001 0001 " OPT OPT, .want = -EINVAL },
	{ .message = ONE_EDNS "\"a\" 00 0001 0001 \"a\" 00 0029 04d0 00000000 0000",
		.want = -EINVAL },
	{ .message = ONE_EDNS "\"a\" 00 0001 0001 00 0029 04d0 00000000 0001", .want = -EINVAL },
	{ .message = ONE_EDNS "\"a\" 00 0001 0001 00 0029 04d0 000000", .want = -EINVAL },
	{ .message = ONE_EDNS "\"a\" 00 0001 0001", .want = -EINVAL },
	{ .message = ONE "\"a\" 00 0001 0001 00", .want = -EINVAL },
	/* Characters. */
	{ ONE "\"a.b\" 00 0001 0001", 0, NULL, 1, 1, false, 512 },
	{ ONE "\"a\" 0100 00 0001 0001", 0, NULL, 1, 1, false, 512 },
	{ ONE "\"a*\" \"com\" 00 0001 0001", 0, NULL, 1, 1, false, 512 },
	{ ONE "02c3bc \"com\" 00 0001 0001", 0, NULL, 1, 1, false, 512 },
	/* No header, an answer, another operation, counts. */
	{ .message = "", .want = -EBADMSG },
	{ .message = "abcd 0100 0001 0000 0000 00", .want = -EBADMSG },
	{ .message = "abcd 8100 0001 0000 0000 0000 \"a\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "abcd 2800 0001 0000 0000 0000 \"a\" 00 0001 0001", .want = -EOPNOTSUPP },
	{ .message = "abcd 2000 0000 0000 0000 0000", .want = -EOPNOTSUPP },
	{ .message = ASK("0000 0000 0000 0000"), .want = -EINVAL },
	{ .message = ASK("0002 0000 0000 0000") "\"a\" 00 0001 0001 \"b\" 00 0001 0001",
		.want = -EINVAL },
	{ .message = ASK("0001 0001 0000 0000") "\"a\" 00 0001 0001", .want = -EINVAL },
	{ .message = ASK("0001 0000 0001 0000") "\"a\" 00 0001 0001", .want = -EINVAL },
	/* Cut off. */
	{ .message = ONE, .want = -EINVAL },
	{ .message = ONE "03", .want = -EINVAL },
	{ .message = ONE "036162", .want = -EINVAL },
	{ .message = ONE "\"abc\"", .want = -EINVAL },
	{ .message = ONE "\"abc\" 00", .want = -EINVAL },
	{ .message = ONE "\"abc\" 00 0001", .want = -EINVAL },
	{ .message = ONE "\"abc\" 00 0001 00", .want = -EINVAL },
	{ .message = ONE "\"abc\" c0", .want = -EINVAL },
	/* Pointers to the header, to itself, forwards; lengths that are none. */
	{ .message = ONE "\"a\" c000 0001 0001", .want = -EINVAL },
	{ .message = ONE "\"a\" c00b 0001 0001", .want = -EINVAL },
	{ .message = ONE "c00c 0001 0001", .want = -EINVAL },
	{ .message = ONE "\"a\" c00c 0001 0001", .want = -EINVAL },
	{ .message = ONE "\"a\" c010 0001 0001 00", .want = -EINVAL },
	{ .message = ONE "40 00 0001 0001", .want = -EINVAL },
	{ .message = ONE "8061 00 0001 0001", .want = -EINVAL },
	/* 255 bytes on the wire, 253 in writing, and one more. */
	{ ONE L63 L63 L63 L61 "00 0001 0001", 0,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		1, 1, false, 512 },
	{ .message = ONE L63 L63 L63 L62 "00 0001 0001", .want = -EINVAL },
	{ .message = ONE L63 L63 L63 L61 "\"a\" 00 0001 0001", .want = -EINVAL },
};

static void test_reads_questions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(questions); i++) {
		struct message m = make(questions[i].message);
		struct dns_question q = { .id = 1 };
		int r = dns_question_parse(&q, m.bytes, m.len);

		if (r != questions[i].want)
			fail_msg("%s: %d, want %d", questions[i].message, r, questions[i].want);
		if (r != -EBADMSG)
			assert_int_equal(q.id, 0xabcd);
		if (r == 0) {
			assert_string_equal(q.name, questions[i].name ? questions[i].name : "");
			assert_int_equal(q.odd, questions[i].name == NULL);
			assert_int_equal(q.type, questions[i].type);
			assert_int_equal(q.class, questions[i].class);
			assert_int_equal(q.edns, questions[i].edns);
			assert_int_equal(q.udp_size, questions[i].udp_size);
			assert_true(q.recursion);
			assert_int_equal(q.start, 12);
		}
		free(m.bytes);
	}
}

/* Replies */

static const uint8_t addresses[][16] = {
	{ 198, 18, 0, 1 },
	{ 198, 18, 0, 2 },
};

#define SOA "00 0006 0001 0000003c 0016 00 00 00000001 00000e10 00000258 00015180 0000003c"

static const struct {
	const char *query;
	enum dns_code code;
	size_t n;
	const char *reply;
} replies[] = {
	{ ONE "\"eXample\" 00 0001 0001", DNS_OK, 2,
		"abcd 8180 0001 0002 0000 0000 \"eXample\" 00 0001 0001 c00c 0001 0001 0000003c "
		"0004"
		" c6120001 c00c 0001 0001 0000003c 0004 c6120002" },
	{ ONE_EDNS "\"a\" 00 001c 0001 " OPT, DNS_OK, 1,
		"abcd 8180 0001 0001 0000 0001 \"a\" 00 001c 0001 c00c 001c 0001 0000003c 0010"
		" c6120001000000000000000000000000 " OPT },
	{ "abcd 0000 0001 0000 0000 0000 \"a\" 00 0010 0001", DNS_OK, 0,
		"abcd 8080 0001 0000 0001 0000 \"a\" 00 0010 0001 " SOA },
	{ ONE_EDNS "\"a\" 00 0001 0001 " OPT, DNS_NO_NAME, 0,
		"abcd 8183 0001 0000 0001 0001 \"a\" 00 0001 0001 " SOA OPT },
	{ ONE "\"a\" 00 0001 0001", DNS_SERVER_FAILURE, 0,
		"abcd 8182 0001 0000 0000 0000 \"a\" 00 0001 0001" },
	{ ONE "\"a\" 00 0001 0003", DNS_REFUSED, 0,
		"abcd 8185 0001 0000 0000 0000 \"a\" 00 0001 0003" },
	{ ONE "c000 0001 0001", DNS_FORMAT_ERROR, 0, "abcd 8181 0000 0000 0000 0000" },
	{ "abcd 2100 0001 0000 0000 0000 \"a\" 00 0006 0001", DNS_NOT_IMPLEMENTED, 0,
		"abcd a184 0000 0000 0000 0000" },
};

static void test_writes_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(replies); i++) {
		struct message m = make(replies[i].query), want = make(replies[i].reply);
		const struct dns_reply reply = { replies[i].code, 60, addresses, replies[i].n };
		struct dns_question q;
		uint8_t out[512];
		size_t n;

		(void)dns_question_parse(&q, m.bytes, m.len);
		n = dns_reply_write(&q, m.bytes, &reply, out, sizeof(out));
		assert_int_equal(n, want.len);
		assert_memory_equal(out, want.bytes, n);
		assert_int_equal(dns_reply_write(&q, m.bytes, &reply, out, 511), 0);
		free(m.bytes);
		free(want.bytes);
	}
}

/* As many as fit; the mark is there exactly if some do not, and EDNS always has room. */
static void test_cuts_replies(void **state)
{
	static uint8_t many[100][16];
	struct message m = make(ONE_EDNS "\"example\" \"com\" 00 001c 0001 " OPT);
	size_t fixed = 12 + 13 + 4 + 11;

	(void)state;
	for (size_t count = 1; count <= 100; count++) {
		const struct dns_reply reply = { DNS_OK, 60, (const uint8_t(*)[16])many, count };
		struct dns_question q;
		struct dns_answer a;
		uint8_t out[1232];
		size_t n, room = (sizeof(out) - fixed) / 28;

		assert_int_equal(dns_question_parse(&q, m.bytes, m.len), 0);
		n = dns_reply_write(&q, m.bytes, &reply, out, sizeof(out));
		assert_int_equal(n, fixed + 28 * (count < room ? count : room));
		assert_int_equal(dns_answer_parse(&a, q.id, q.name, DNS_AAAA, out, n), 0);
		assert_int_equal(a.truncated, count > room);
	}
	free(m.bytes);
}

/* Queries */

static void test_writes_queries(void **state)
{
	static const struct {
		const char *name, *want; /* NULL: none */
	} rows[] = {
		{ "example.com",
			"1234 0100 0001 0000 0000 0001 \"example\" \"com\" 00 0001 0001 " OPT },
		{ "_x.y-1", "1234 0100 0001 0000 0000 0001 \"_x\" \"y-1\" 00 0001 0001 " OPT },
		{ "", "1234 0100 0001 0000 0000 0001 00 0001 0001 " OPT },
		{ ".", NULL },
		{ "a.", NULL },
		{ ".a", NULL },
		{ "a..b", NULL },
		{ "A", NULL },
		{ "a b", NULL },
		{ "\xc3\xbc", NULL },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		uint8_t out[512];
		size_t n = dns_query_write(0x1234, rows[i].name, DNS_A, out, sizeof(out));
		struct message want = make(rows[i].want ? rows[i].want : "");

		assert_int_equal(n, want.len);
		assert_memory_equal(out, want.bytes, n);
		for (size_t size = 0; size < n; size++)
			assert_int_equal(
				dns_query_write(0x1234, rows[i].name, DNS_A, out, size), 0);
		free(want.bytes);
	}
}

/* The longest name that there is can be asked for and read back; one byte more is none. */
static void test_bounds_of_names(void **state)
{
	char name[256];
	uint8_t out[512];
	struct dns_question q;

	(void)state;
	for (size_t len = 1; len < sizeof(name); len++) {
		size_t n;

		for (size_t i = 0; i < len; i++)
			name[i] = i % 50 == 49 && i + 1 < len ? '.' : 'a';
		name[len] = '\0';
		n = dns_query_write(1, name, DNS_A, out, sizeof(out));
		assert_int_equal(n > 0, len <= 253);
		if (n == 0)
			continue;
		assert_int_equal(dns_question_parse(&q, out, n), 0);
		assert_string_equal(q.name, name);
	}
}

/* Answers */

/* www.a's question, and its answer's start with so many records. */
#define ANSWERS(n) "1234 8180 0001 " n " 0000 0000 \"wWw\" \"a\" 00 0001 0001 "
#define WWW_A "c00c" /* the question's name */
#define A1 "0001 0001 00000064 0004 01010101 "
#define A2 "0001 0001 00000032 0004 02020202 "
#define CNAME_B WWW_A " 0005 0001 0000000a 0003 \"b\" 00 "

static const struct {
	const char *message;
	int want;
	enum dns_code code;
	uint8_t n, first; /* the first byte of the first address */
	uint32_t ttl;
	const char *chain;
} answers[] = {
	{ ANSWERS("0001") WWW_A A1, 0, DNS_OK, 1, 1, 100, "" },
	{ ANSWERS("0002") WWW_A A1 "\"WWW\" \"A\" 00 " A2, 0, DNS_OK, 2, 1, 50, "" },
	{ ANSWERS("0000"), 0, DNS_OK, 0, 0, 0, "" },
	/* By owner, in whatever order; what is about others does not count. */
	{ ANSWERS("0002") CNAME_B "\"b\" 00 " A1, 0, DNS_OK, 1, 1, 10, "b " },
	{ ANSWERS("0002") "\"b\" 00 " A1 CNAME_B, 0, DNS_OK, 1, 1, 10, "b " },
	{ ANSWERS("0003") "\"c\" 00 " A1 "\"b\" 00 0005 0001 00000001 0003 \"C\" 00 " CNAME_B, 0,
		DNS_OK, 1, 1, 1, "b c " },
	{ ANSWERS("0002") "\"evil\" 00 " A1 WWW_A A2, 0, DNS_OK, 1, 2, 50, "" },
	{ ANSWERS("0001") "\"evil\" 00 " A1, 0, DNS_OK, 0, 0, 0, "" },
	{ ANSWERS("0001") CNAME_B, 0, DNS_OK, 0, 0, 0, "b " },
	{ ANSWERS("0001") "\"a\" 00 0005 0001 00000001 0003 \"b\" 00 ", 0, DNS_OK, 0, 0, 0, "" },
	/* Other classes and types; a lifetime that is none. */
	{ ANSWERS("0001") WWW_A "0001 0003 00000064 0004 01010101", 0, DNS_OK, 0, 0, 0, "" },
	{ ANSWERS("0001") WWW_A "001c 0001 00000064 0010 01010101010101010101010101010101", 0,
		DNS_OK, 0, 0, 0, "" },
	{ ANSWERS("0001") WWW_A "0001 0001 80000000 0004 01010101", 0, DNS_OK, 1, 1, 0, "" },
	/* An odd name that nobody asked for, and one on the way. */
	{ ANSWERS("0002") "\"x*\" 00 " A1 WWW_A A2, 0, DNS_OK, 1, 2, 50, "" },
	{ .message = ANSWERS("0001") WWW_A "0005 0001 00000001 0004 \"x*\" 00 ", .want = -ELOOP },
	/* In a circle; to itself. */
	{ .message = ANSWERS("0002") CNAME_B "\"b\" 00 0005 0001 00000001 0002 " WWW_A,
		.want = -ELOOP },
	{ .message = ANSWERS("0001") WWW_A "0005 0001 00000001 0002 " WWW_A, .want = -ELOOP },
	/* Codes; what came with a failure does not count. */
	{ "1234 8183 0001 0000 0000 0000 \"www\" \"a\" 00 0001 0001", 0, DNS_NO_NAME, 0, 0, 0, "" },
	{ "1234 8183 0001 0001 0000 0000 \"www\" \"a\" 00 0001 0001 " CNAME_B, 0, DNS_NO_NAME, 0, 0,
		0, "b " },
	{ "1234 8182 0001 0001 0000 0000 \"www\" \"a\" 00 0001 0001 " WWW_A A1, 0,
		DNS_SERVER_FAILURE, 0, 0, 0, "" },
	/* Not an answer to this: id, question, operation, name, type, class, counts. */
	{ .message = "1235 8180 0001 0000 0000 0000 \"www\" \"a\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "1234 0180 0001 0000 0000 0000 \"www\" \"a\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "1234 a180 0001 0000 0000 0000 \"www\" \"a\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "1234 8180 0001 0000 0000 0000 \"www\" \"b\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "1234 8180 0001 0000 0000 0000 \"www.a\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "1234 8180 0001 0000 0000 0000 \"www\" \"a\" 00 001c 0001", .want = -EBADMSG },
	{ .message = "1234 8180 0001 0000 0000 0000 \"www\" \"a\" 00 0001 0003", .want = -EBADMSG },
	{ .message = "1234 8180 0000 0000 0000 0000", .want = -EBADMSG },
	{ .message = "1234 8180 0002 0000 0000 0000 \"www\" \"a\" 00 0001 0001", .want = -EBADMSG },
	{ .message = "1234 8180 0001 0000 0000 0000 \"www\" \"a\" 00 0001", .want = -EBADMSG },
	{ .message = "1234 8180", .want = -EBADMSG },
	/* Broken after the question. */
	{ .message = ANSWERS("0002") WWW_A A1, .want = -EINVAL },
	{ .message = ANSWERS("0001") WWW_A "0001 0001 00000064 0005 0101010101", .want = -EINVAL },
	{ .message = ANSWERS("0001") WWW_A "0001 0001 00000064 0003 010101", .want = -EINVAL },
	{ .message = ANSWERS("0001") WWW_A "0001 0001 00000064 0004 010101", .want = -EINVAL },
	{ .message = ANSWERS("0001") "c0ff " A1, .want = -EINVAL },
	{ .message = ANSWERS("0001") WWW_A "0005 0001 00000001 0004 \"b\" 00 00", .want = -EINVAL },
	{ .message = ANSWERS("0001") WWW_A "0005 0001 00000001 0002 \"b\" 00", .want = -EINVAL },
	/* Two pointers that lead to each other: the first one leads forwards. */
	{ .message = ANSWERS("0001") "\"x\" c01d c017 " A1, .want = -EINVAL },
};

static void check_answer(const struct dns_answer *a, size_t row)
{
	char chain[256] = "";

	for (size_t i = 0; i < a->n_chain; i++) {
		strncat(chain, a->chain[i], sizeof(chain) - strlen(chain) - 1);
		strncat(chain, " ", sizeof(chain) - strlen(chain) - 1);
	}
	assert_string_equal(chain, answers[row].chain);
	assert_int_equal(a->code, answers[row].code);
	assert_int_equal(a->n_addresses, answers[row].n);
	if (a->n_addresses > 0)
		assert_int_equal(a->addresses[0][0], answers[row].first);
	assert_int_equal(a->ttl, answers[row].ttl);
}

static void test_reads_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		struct message m = make(answers[i].message);
		struct dns_answer a, untouched;
		int r;

		memset(&a, 0x5a, sizeof(a));
		untouched = a;
		r = dns_answer_parse(&a, 0x1234, "www.a", DNS_A, m.bytes, m.len);
		if (r != answers[i].want)
			fail_msg("%s: %d, want %d", answers[i].message, r, answers[i].want);
		if (r == 0)
			check_answer(&a, i);
		else
			assert_memory_equal(&a, &untouched, sizeof(a));
		free(m.bytes);
	}
}

/* Nothing of it is read, not even what is broken. */
static void test_leaves_what_was_cut_off(void **state)
{
	struct message m =
		make("1234 8380 0001 0002 0000 0000 \"www\" \"a\" 00 0001 0001 " WWW_A " " A1 "c0");
	struct dns_answer a;

	(void)state;
	assert_int_equal(dns_answer_parse(&a, 0x1234, "www.a", DNS_A, m.bytes, m.len), 0);
	assert_true(a.truncated);
	assert_int_equal(a.n_addresses, 0);
	free(m.bytes);
}

static size_t put(uint8_t *out, size_t at, const char *text)
{
	struct message m = make(text);

	memcpy(out + at, m.bytes, m.len);
	free(m.bytes);
	return at + m.len;
}

/* Chains of every length, backwards; the longest that is taken, and one more. */
static void test_bounds_of_chains(void **state)
{
	(void)state;
	for (unsigned length = 0; length <= DNS_CHAIN_MAX + 1; length++) {
		uint8_t bytes[4096];
		char text[256];
		struct dns_answer a;
		size_t n;
		int r;

		(void)snprintf(text, sizeof(text),
			"0001 8180 0001 %04x 0000 0000 \"n00\" 00 0001 0001", length + 1);
		n = put(bytes, 0, text);
		for (unsigned i = length; i-- > 0;) {
			(void)snprintf(text, sizeof(text),
				"\"n%02u\" 00 0005 0001 00000005 0005 \"n%02u\" 00", i, i + 1);
			n = put(bytes, n, text);
		}
		(void)snprintf(text, sizeof(text), "\"n%02u\" 00 " A1, length);
		n = put(bytes, n, text);
		r = dns_answer_parse(&a, 1, "n00", DNS_A, bytes, n);
		assert_int_equal(r, length <= DNS_CHAIN_MAX ? 0 : -ELOOP);
		if (r == 0)
			assert_true(a.n_chain == length && a.n_addresses == 1);
	}
}

/* More addresses than there is room for, and more records than are looked at. */
static void test_bounds_of_addresses(void **state)
{
	static uint8_t bytes[DNS_MESSAGE_MAX];
	struct dns_answer a;
	size_t n = put(bytes, 0, "0001 8180 0001 0fa0 0000 0000 \"n\" 00 0001 0001");

	(void)state;
	for (unsigned i = 0; i < 0xfa0; i++)
		n = put(bytes, n, "c00c " A1);
	assert_int_equal(dns_answer_parse(&a, 1, "n", DNS_A, bytes, n), 0);
	assert_int_equal(a.n_addresses, DNS_ADDRESSES_MAX);
}

/* A name of pointers to pointers: some are followed, too many are not. */
static void test_bounds_of_pointers(void **state)
{
	(void)state;
	for (unsigned jumps = 1; jumps < 120; jumps++) {
		uint8_t bytes[1024];
		char text[256];
		struct dns_answer a;
		size_t n = put(bytes, 0, "0001 8180 0001 0002 0000 0000 \"n\" 00 0001 0001"),
		       to = 12;
		int r;

		/* The first record's data are pointers, each to the one before. */
		(void)snprintf(
			text, sizeof(text), "\"x\" 00 0010 0001 00000000 %04x", 2 * (jumps - 1));
		n = put(bytes, n, text);
		for (unsigned i = 1; i < jumps; i++) {
			(void)snprintf(text, sizeof(text), "%04zx", 0xc000 | to);
			to = n;
			n = put(bytes, n, text);
		}
		(void)snprintf(text, sizeof(text), "%04zx " A1, 0xc000 | to);
		n = put(bytes, n, text);
		r = dns_answer_parse(&a, 1, "n", DNS_A, bytes, n);
		assert_int_equal(r, jumps <= 64 ? 0 : -EINVAL);
		if (r == 0)
			assert_int_equal(a.n_addresses, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_questions),
		cmocka_unit_test(test_writes_replies),
		cmocka_unit_test(test_cuts_replies),
		cmocka_unit_test(test_writes_queries),
		cmocka_unit_test(test_bounds_of_names),
		cmocka_unit_test(test_reads_answers),
		cmocka_unit_test(test_leaves_what_was_cut_off),
		cmocka_unit_test(test_bounds_of_chains),
		cmocka_unit_test(test_bounds_of_addresses),
		cmocka_unit_test(test_bounds_of_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
