/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "net/dns/names.h"

/* A policy of up to three layers. */
static struct policy *compile(const char *const yaml[3])
{
	struct permissions *layers[3] = { NULL };
	struct policy *policy = NULL;
	struct error e = { 0 };
	size_t n = 0;
	int r;

	for (; n < 3 && yaml[n]; n++)
		layers[n] = test_read(yaml[n]);
	r = policy_new(&policy, (const struct permissions *const *)layers, n, &test_options, &e);
	if (r < 0)
		fail_msg("%s: %d: %s (%s)", yaml[0], r, e.text, e.hint);
	for (size_t i = 0; i < n; i++)
		permissions_free(layers[i]);
	return policy;
}

static struct dns_names *make(const struct policy *p)
{
	struct dns_names *n = NULL;
	struct error e = { 0 };

	if (names_new(&n, p, false, &e) < 0)
		fail_msg("%s", e.text);
	return n;
}

static void check(
	const struct dns_names *n, const char *what, const char *all, enum names_answer want)
{
	char text[1024], *save = NULL;

	(void)snprintf(text, sizeof(text), "%s", all ? all : "");
	for (char *name = strtok_r(text, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		struct decision d = { .verdict = VERDICT_ALLOW };
		uint16_t port = 0;
		enum names_answer answer = names_ask(n, name, &d, &port);

		if (answer != want)
			fail_msg("%s: %s: %d, want %d", what, name, answer, want);
		if (answer != NAMES_GRANTED)
			assert_true(d.verdict != VERDICT_ALLOW && port != 0);
	}
}

static const struct {
	const char *layers[3];
	const char *granted, *ancestors, *none;
} rows[] = {
	{ { "network: {allow: [api.example.com:443]}" }, "api.example.com", "example.com com",
		"x.api.example.com example.org org xample.com www.example.com" },
	/* Wildcards of different depth. */
	{ { "network: {allow: ['*.example.com:443']}" }, "a.example.com b.a.example.com",
		"example.com com", "xexample.com org" },
	{ { "network: {allow: ['*.a.example.com', '*.com:8443']}" },
		"x.a.example.com a.example.com example.com", "com", "example.org" },
	{ { "network: {allow: ['*:443']}" }, "a b.c example.com com", NULL,
		"localhost x.local 1.2.3.4 127.1" },
	{ { "network: {allow: ['*:7']}" }, "a b.c", NULL, NULL },
	/* Ports, and ranges of them; any port. */
	{ { "network: {allow: ['a.com:22', 'b.com:1000-2000', 'c.com', 'd.com:65535']}" },
		"a.com b.com c.com d.com", "com", "e.com" },
	/* UDP only. */
	{ { "network: {allow: ['udp://ntp.a.com:123', 'udp://*.b.com:53-60']}" },
		"ntp.a.com x.b.com", "a.com com b.com", "ntp.b.org" },
	{ { "network: {allow: ['udp://*:9']}" }, "a.com", NULL, NULL },
	/* URLs: with a path they cannot be held on a connection. */
	{ { "network: {allow: ['https://api.a.com/v1/**', 'https://b.com/', "
	    "'http://c.com:81/**']}" },
		"b.com c.com", "a.com com", "x.com" },
	/* Addresses only. */
	{ { "network: {allow: [1.2.3.4, '10.0.0.0/8:80', '[2606::1]:443']}" }, NULL, NULL,
		"a.com 1.2.3.4 10.0.0.1 com" },
	{ { "{}" }, NULL, NULL, "a.com com" },
	/* What is denied, wholly or by ports. */
	{ { "network: {allow: ['*.a.com:443'], deny: [bad.a.com, '*.evil.a.com']}" },
		"a.a.com evil.a.com", "a.com com", "bad.a.com x.evil.a.com" },
	{ { "network: {allow: ['a.com:1-1000'], deny: ['*:1-10', 'a.com:1000', '*:443', '*:80']}" },
		"a.com", "com", NULL },
	{ { "network: {allow: ['a.com:400-500'], deny: ['*:1-499']}" }, "a.com", "com", NULL },
	{ { "network: {allow: ['a.com:400-500'], deny: ['*:1-250', '*:200-499', '*:500-65535']}" },
		NULL, "com", "a.com" },
	/* Layers: all must allow, on the same port. */
	{ { "network: {allow: ['*:443']}", "network: {allow: [a.com, '*.b.com:1-442']}" }, "a.com",
		"com b.com", NULL },
	{ { "network: {allow: ['*:1-65535']}", "network: {allow: ['udp://a.com:53', 'b.com:8443']}",
		  "network: {allow: ['*:8000-9000']}" },
		"b.com", NULL, "c.org" },
	{ { "network: {allow: ['a.com:22']}", "network: {allow: ['a.com:23']}" }, NULL, "com",
		"a.com" },
	{ { "network: {allow: ['a.com:1-30']}", "network: {allow: ['a.com:20-40']}",
		  "network: {allow: ['*.com:25-25', 'a.com:30-50']}" },
		"a.com", "com", "b.com" },
	/* By default, and where a layer only watches. */
	{ { "mode: monitor" }, "a.com b", NULL, "localhost x.internal" },
	{ { "mode: monitor", "network: {allow: ['a.com:99']}" }, "a.com", "com", "b.com" },
	{ { "mode: monitor\nnetwork: {deny: [a.com]}" }, "a.com b.com", NULL, NULL },
	/* Guarded names want a grant of their own. */
	{ { "network: {allow: ['*', printer.local, '*.internal:80']}" }, "printer.local x.internal",
		NULL, "scanner.local metadata.google.internal" },
	/* Names as they come: service labels, digits, no names at all. */
	{ { "network: {allow: ['*.a.com', '*.xn--bcher-kva.com:443']}" },
		"_http._tcp.a.com 1.a.com 1-2.a.com", "a.com com", "a.com.1 -" },
};

static void test_answers_by_policy(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_policy *p = compile(rows[i].layers);
		struct dns_names *n = make(p);

		check(n, rows[i].layers[0], rows[i].granted, NAMES_GRANTED);
		check(n, rows[i].layers[0], rows[i].ancestors, NAMES_ANCESTOR);
		check(n, rows[i].layers[0], rows[i].none, NAMES_NONE);
		names_free(n);
	}
}

/* The record has the decision that is nearest to what was wanted. */
static void test_decisions_for_the_record(void **state)
{
	static const struct {
		const char *yaml, *name;
		uint16_t port;
		enum decision_why why;
	} cases[] = {
		{ "network: {allow: [a.com]}", "b.com", 443, DECISION_NO_GRANT },
		{ "network: {allow: ['*.a.com:22'], deny: [x.a.com]}", "x.a.com", 22,
			DECISION_RULE },
		{ "network: {allow: ['udp://a.com:53'], deny: ['udp://a.com:53']}", "a.com", 443,
			DECISION_NO_GRANT },
		/* Not the port behind the one that is denied, or asked about. */
		{ "network: {deny: ['a.com:22']}", "a.com", 443, DECISION_NO_GRANT },
		{ "network: {deny: ['a.com:443']}", "a.com", 443, DECISION_RULE },
		{ "rules: [{id: r, action: ask, operations: [net.connect], patterns: "
		  "['a.com:8443']}]",
			"a.com", 8443, DECISION_RULE },
		{ "network: {allow: ['*']}", "1.2.3.4", 443, DECISION_BAD_TARGET },
		{ "network: {allow: ['*:443']}", "metadata.google.internal", 443,
			DECISION_BASELINE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_policy *p = test_compile(cases[i].yaml);
		struct dns_names *n = make(p);
		struct decision d;
		uint16_t port;

		assert_int_equal(names_ask(n, cases[i].name, &d, &port), NAMES_NONE);
		assert_int_equal(port, cases[i].port);
		assert_int_equal(d.why, cases[i].why);
		names_free(n);
	}
}

/* Many ports: those of the nearest host come first. A name of as many labels as there can be. */
static void test_bounds(void **state)
{
	auto_permissions *a = permissions_new(), *b = permissions_new();
	const struct permissions *layers[] = { a, b };
	auto_policy *p = NULL;
	struct dns_names *n;
	struct decision d;
	uint16_t port;
	char text[256];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(text, sizeof(text), "*.com:%u", 2 * i + 2000);
		assert_int_equal(permissions_add(a, &a->network_allow, text, NULL), 0);
		(void)snprintf(text, sizeof(text), "*.com:%u", i == 999 ? 2002 : 2 * i + 2001);
		assert_int_equal(permissions_add(b, &b->network_allow, text, NULL), 0);
	}
	assert_int_equal(permissions_add(a, &a->network_allow, "x.com:3998", NULL), 0);
	assert_int_equal(permissions_add(b, &b->network_allow, "x.com:3998", NULL), 0);
	assert_int_equal(policy_new(&p, layers, 2, &test_options, NULL), 0);
	n = make(p);
	assert_int_equal(names_ask(n, "x.com", &d, &port), NAMES_GRANTED);
	assert_int_equal(names_ask(n, "y.com", &d, &port), NAMES_GRANTED);
	for (size_t i = 0; i < 253; i++)
		text[i] = i % 2 ? '.' : 'a';
	text[253] = '\0';
	assert_int_equal(names_ask(n, text, &d, &port), NAMES_NONE);
	memcpy(text + 249, ".com", 4);
	assert_int_equal(names_ask(n, text, &d, &port), NAMES_GRANTED);
	names_free(n);
}

/* Against every port that could matter, asked one by one. */

static uint64_t seed = 0x9e3779b97f4a7c15;

/* xorshift64* */
static uint32_t draw(uint32_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)(seed * 0x2545f4914f6cdd1d >> 33) % below;
}

static const char *const hosts[] = { "com", "a.com", "b.com", "x.a.com", "y.x.a.com", "xa.com",
	"x.local", "local", "x.internal", "y.x.internal", "localhost", "metadata.google.internal" };
static const char *const wide[] = { "*", "*.com", "*.a.com", "*.x.a.com", "*.local", "*.internal",
	"8.8.8.8", "10.0.0.0/8" };
enum { PORTS = 12 }; /* 1 to this many, and the highest ones */

static void draw_pattern(char *out, size_t size)
{
	unsigned lo = 1 + draw(PORTS), hi = lo + draw(PORTS + 1 - lo), shape = draw(8);
	const char *host = draw(3) ? hosts[draw(ROWS(hosts))] : wide[draw(ROWS(wide))];
	const char *scheme = draw(4) ? "" : "udp://";

	if (shape == 0)
		(void)snprintf(out, size, "%s%s", scheme, host);
	else if (shape == 1)
		(void)snprintf(out, size, "%s%s:%u-65535", scheme, host, lo);
	else if (shape == 2 && !strchr(host, '/'))
		(void)snprintf(out, size, "http://%s:%u%s", host, lo, draw(2) ? "/v1/**" : "/");
	else
		(void)snprintf(out, size, "%s%s:%u-%u", scheme, host, lo, hi);
}

static void draw_entry(struct permissions *p, struct grant_list *list)
{
	char texts[2][64];
	const char *patterns[] = { texts[0], texts[1] };

	draw_pattern(texts[0], sizeof(texts[0]));
	draw_pattern(texts[1], sizeof(texts[1]));
	assert_int_equal(permissions_add_all(p, list, patterns, draw(6) ? 1 : 2, NULL), 0);
}

static struct permissions *draw_layer(void)
{
	struct permissions *p = permissions_new();

	assert_non_null(p);
	for (uint32_t i = draw(6); i > 0; i--)
		draw_entry(p, &p->network_allow);
	for (uint32_t i = draw(3); i > 0; i--)
		draw_entry(p, &p->network_deny);
	for (uint32_t i = draw(3); i > 0; i--) {
		struct rule rule = { .id = "r",
			.action = (enum verdict)draw(3),
			.priority = (int32_t)draw(3),
			.operations = 1u << OPERATION_NET_CONNECT };

		draw_entry(p, &rule.patterns);
		assert_int_equal(permissions_add_rule(p, &rule), 0);
	}
	if (draw(5) == 0)
		p->fallback = (enum verdict)draw(3);
	if (draw(5) == 0)
		p->mode = (enum mode)draw(3);
	return p;
}

static bool is_granted(const struct policy *p, const char *name)
{
	static const unsigned far[] = { 80, 81, 443, 444, 65535 };

	for (unsigned i = 0; i < 2 * (PORTS + 1 + ROWS(far)); i++) {
		unsigned k = i / 2, port = k <= PORTS ? k + 1 : far[k - PORTS - 1];
		char target[64];
		struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
		struct decision d;

		(void)snprintf(
			target, sizeof(target), "%s%s:%u", i % 2 ? "udp://" : "", name, port);
		if (policy_decide(p, &r, &d) == 0 && d.verdict == VERDICT_ALLOW)
			return true;
	}
	return false;
}

static void check_drawn(size_t *ret_granted)
{
	struct permissions *layers[3];
	size_t n = 1 + draw(3);
	auto_policy *p = NULL;
	struct dns_names *names;

	for (size_t i = 0; i < n; i++)
		layers[i] = draw_layer();
	assert_int_equal(
		policy_new(&p, (const struct permissions *const *)layers, n, NULL, NULL), 0);
	names = make(p);
	for (size_t i = 0; i < ROWS(hosts); i++) {
		struct decision d;
		uint16_t port;
		bool granted = names_ask(names, hosts[i], &d, &port) == NAMES_GRANTED;

		if (granted != is_granted(p, hosts[i]))
			fail_msg("%s: %d", hosts[i], granted);
		*ret_granted += granted;
	}
	names_free(names);
	for (size_t i = 0; i < n; i++)
		permissions_free(layers[i]);
}

static void test_agrees_with_asking_for_each_port(void **state)
{
	enum { DRAWS = 1000 };
	size_t granted = 0;

	(void)state;
	for (int i = 0; i < DRAWS; i++)
		check_drawn(&granted);
	/* Both happen often. */
	assert_true(granted > DRAWS && granted < (ROWS(hosts) - 1) * DRAWS);
}

/* Ports. */

static const struct {
	const char *layers[3];
	const char *name, *ports; /* as they come */
} port_rows[] = {
	{ { "network: {allow: [a.com:443]}" }, "a.com", " 443" },
	{ { "network: {allow: [a.com:443]}" }, "b.com", "" },
	{ { "network: {allow: [a.com:443]}" }, "x.a.com", "" },
	{ { "network: {allow: [a.com:443]}" }, "A.com", "" },
	{ { "network: {allow: [a.com:80-82, a.com:22, a.com:443]}" }, "a.com", " 443 22 80 81 82" },
	/* Ranges that begin alike. */
	{ { "network: {allow: [a.com:80, a.com:80-81, a.com:80-82]}" }, "a.com", " 80 81 82" },
	{ { "network: {allow: ['*.a.com:22', '*.b.a.com:80', 'c.b.a.com:8']}" }, "c.b.a.com",
		" 8 80 22" },
	/* What is denied, and what is not by TCP. */
	{ { "network: {allow: ['a.com:80-83', 'udp://a.com:53'], deny: ['a.com:81']}" }, "a.com",
		" 80 82 83" },
	/* Too wide to be listed; another layer says which. */
	{ { "network: {allow: ['a.com:1-16']}" }, "a.com",
		" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16" },
	{ { "network: {allow: ['a.com:101-117']}" }, "a.com", "" },
	{ { "network: {allow: [a.com]}" }, "a.com", " 443 1 80" },
	{ { "network: {allow: ['*']}", "network: {allow: [a.com:22]}" }, "a.com", " 22" },
	{ { "network: {allow: [a.com]}", "network: {allow: ['*.com:22', '*.com:8443']}" }, "a.com",
		" 22 8443" },
	{ { "network: {allow: [a.com:22]}", "network: {allow: [a.com:23]}" }, "a.com", "" },
};

static void test_ports(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(port_rows); i++) {
		auto_policy *p = compile(port_rows[i].layers);
		struct dns_names *n = make(p);
		uint16_t ports[NAMES_PORTS_MAX];
		auto_buffer text = { 0 };
		int found = names_ports(n, port_rows[i].name, ports);

		for (int k = 0; k < found; k++)
			buffer_printf(&text, " %u", ports[k]);
		if (found < 0 || strcmp(buffer_text(&text), port_rows[i].ports) != 0)
			fail_msg("%zu: %d:%s", i, found, buffer_text(&text));
		names_free(n);
	}
}

/* How many ports there may be, and how many of them may be asked about. */
static void test_many_ports(void **state)
{
	static const struct {
		const char *yaml;
		int found;
	} cases[] = {
		{ "network: {allow: ['a.com:1-16', 'a.com:21-36', 'a.com:41-56', 'a.com:61-76']}",
			64 },
		{ "network: {allow: ['a.com:1-16', 'a.com:21-36', 'a.com:41-56', 'a.com:61-76', "
		  "a.com:99]}",
			-E2BIG },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_policy *p = compile((const char *const[3]){ cases[i].yaml });
		struct dns_names *n = make(p);
		uint16_t ports[NAMES_PORTS_MAX];

		assert_int_equal(names_ports(n, "a.com", ports), cases[i].found);
		names_free(n);
	}
}

static void test_many_denied_ports(void **state)
{
	auto_buffer layer = { 0 };
	uint16_t ports[NAMES_PORTS_MAX];
	struct dns_names *n;

	(void)state;
	buffer_adds(&layer, "network: {deny: [a.com], allow: [x.org:1");
	for (unsigned port = 100; port < 700; port++)
		buffer_printf(&layer, ", a.com:%u", port);
	buffer_adds(&layer, "]}");
	{
		auto_policy *p = compile((const char *const[3]){ buffer_text(&layer) });

		n = make(p);
		assert_int_equal(names_ports(n, "a.com", ports), -E2BIG);
		names_free(n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_by_policy),
		cmocka_unit_test(test_decisions_for_the_record),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_agrees_with_asking_for_each_port),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_many_ports),
		cmocka_unit_test(test_many_denied_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
