/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: a policy, who is asked for, and the whole answer as a person reads it. */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "net/judge.h"

/* A policy of up to two layers. */
struct policies {
	const char *layers[2];
};

static struct policy *compile(const struct policies *y)
{
	struct permissions *layers[2] = { NULL };
	struct policy *policy = NULL;
	struct error e = { 0 };
	size_t n = 0;
	int r;

	for (; n < 2 && y->layers[n]; n++)
		layers[n] = test_read(y->layers[n]);
	r = policy_new(&policy, (const struct permissions *const *)layers, n, &test_options, &e);
	if (r < 0)
		fail_msg("%s: %d: %s (%s)", y->layers[0], r, e.text, e.hint);
	for (size_t i = 0; i < n; i++)
		permissions_free(layers[i]);
	return policy;
}

static struct address parse_address(const char *text)
{
	struct address a = { 0 };

	if (address_parse(text, strlen(text), &a) < 0)
		fail_msg("%s is no address", text);
	return a;
}

/* "a.com:443", "udp://1.2.3.4:53", "[::1]:80"; the text is kept in `name`. */
static struct destination parse(const char *text, char name[128])
{
	struct destination d = { 0 };
	struct address a;
	char *colon;

	if (strncmp(text, "udp://", 6) == 0) {
		d.transport = TRANSPORT_UDP;
		text += 6;
	}
	(void)snprintf(name, 128, "%s", text[0] == '[' ? text + 1 : text);
	colon = strrchr(name, ':');
	assert_non_null(colon);
	d.port = (uint16_t)strtoul(colon + 1, NULL, 10);
	colon[colon[-1] == ']' ? -1 : 0] = '\0';
	if (address_parse(name, strlen(name), &a) == 0)
		d.address = a;
	else
		d.name = name;
	return d;
}

/* "REASON; REMEDY [RULE]", or "allowed". */
static void check(const struct net_judgement *j, bool allowed, const struct policies *p,
	const char *asked, const char *want)
{
	char got[1200];

	assert_int_equal(allowed, j->allowed);
	if (allowed)
		(void)snprintf(got, sizeof(got), "allowed");
	else
		(void)snprintf(got, sizeof(got), "%s%s%s%s%s%s", j->reason,
			j->remedy[0] ? "; " : "", j->remedy, j->rule[0] ? " [" : "", j->rule,
			j->rule[0] ? "]" : "");
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s:\n  got  <%s>\n  want <%s>", p->layers[0], asked, got, want);
	if (allowed)
		assert_true(j->rule[0] == '\0' && j->reason[0] == '\0' && j->remedy[0] == '\0');
}

#define ALLOW(list)                                    \
	{                                              \
		{                                      \
			"network: {allow: [" list "]}" \
		}                                      \
	}
#define PRIVATE(list)                                    \
	{                                                \
		{                                        \
			"network: {private: [" list "]}" \
		}                                        \
	}
#define NOTHING(target) \
	"nothing in network.allow grants it; add network: {allow: [\"" target "\"]} to test.yaml"
#define NEVER                                                                                \
	"the baseline denies 169.254.169.254 (it hands the machine's own cloud credentials " \
	"to whoever asks); none: the baseline denies it, and no grant overrides that"

/* Destinations. */

static const struct {
	struct policies policies;
	const char *to, *answer;
} destinations[] = {
	{ ALLOW("a.com:443"), "a.com:443", "allowed" },
	{ ALLOW("a.com:443"), "a.com:80", NOTHING("a.com:80") },
	{ ALLOW("a.com:443"), "udp://a.com:443", NOTHING("udp://a.com:443") },
	{ ALLOW("a.com:443"), "x.a.com:443", NOTHING("x.a.com:443") },
	{ ALLOW("'*.a.com'"), "b.x.a.com:1", "allowed" },
	{ ALLOW("'*.a.com'"), "a.com:1", NOTHING("a.com:1") },
	{ ALLOW("'udp://a.com:53'"), "udp://a.com:53", "allowed" },
	{ ALLOW("'udp://a.com:53'"), "a.com:53", NOTHING("a.com:53") },
	{ ALLOW("1.2.3.0/24"), "1.2.3.4:9", "allowed" },
	{ ALLOW("1.2.3.0/24"), "1.2.4.4:9", NOTHING("1.2.4.4:9") },
	{ ALLOW("'[2606::1]:80'"), "[2606::1]:80", "allowed" },
	{ ALLOW("'[2606::1]:80'"), "[2606::2]:80", NOTHING("[2606::2]:80") },
	{ ALLOW("'*:443'"), "1.2.3.4:443", "allowed" },
	{ ALLOW("'*:443'"), "10.0.0.1:443", NOTHING("10.0.0.1:443") },
	{ ALLOW("169.254.169.254"), "169.254.169.254:80", NEVER },
	/* The same address in other clothes. */
	{ ALLOW("'*'"), "[::ffff:169.254.169.254]:80", NEVER },
	{ ALLOW("'*'"), "[64:ff9b::a9fe:a9fe]:80", NEVER },
	{ ALLOW("1.2.3.4"), "[::ffff:1.2.3.4]:80", "allowed" },
	/* Deny lists and several layers. */
	{ { { "network: {allow: ['*.a.com'], deny: [b.a.com]}" } }, "b.a.com:443",
		"network.deny denies b.a.com:*; remove or narrow test.yaml:1: b.a.com:* "
		"[test.yaml:1: b.a.com:*]" },
	{ { { "network: {allow: ['*.a.com']}", "network: {allow: [b.a.com]}" } }, "b.a.com:443",
		"allowed" },
	{ { { "network: {allow: ['*.a.com']}", "network: {allow: [b.a.com]}" } }, "c.a.com:443",
		NOTHING("c.a.com:443") },
	{ { { "network: {allow: [a.com]}", "network: {allow: [a.com]}" } }, "c.com:443",
		NOTHING("c.com:443") " (2 layers do not allow it)" },
	/* Layers that only watch, and defaults. */
	{ { { "mode: monitor" } }, "a.com:1", "allowed" },
	{ { { "{mode: monitor, network: {deny: [a.com]}}" } }, "a.com:1", "allowed" },
	{ { { "mode: monitor" } }, "169.254.169.254:80", NEVER },
	{ { { "mode: monitor" } }, "10.0.0.1:80",
		"10.0.0.0/8 (it is a private network) requires a grant that names it; add "
		"network: {allow: [\"10.0.0.1:80\"]} to test.yaml" },
	{ { { "{default: allow, network: {deny: [a.com]}}" } }, "b.com:1", "allowed" },
	/* A URL with a path cannot be held on a connection. */
	{ ALLOW("'http://a.com/v1/**'"), "a.com:80", NOTHING("a.com:80") },
	{ ALLOW("'http://a.com/'"), "a.com:80", "allowed" },
	{ { { NULL } }, "a.com:1", "there is no policy; add network: {allow: [\"a.com:1\"]}" },
};

static void test_destinations(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(destinations); i++) {
		auto_policy *p = compile(&destinations[i].policies);
		struct net_judgement j = { .target = "x" };
		struct net_judge judge;
		char name[128];
		struct destination d = parse(destinations[i].to, name);
		bool allowed;

		judge_init(&judge, p);
		allowed = judge_destination(&judge, &d, &j);
		check(&j, allowed, &destinations[i].policies, destinations[i].to,
			destinations[i].answer);
	}
}

static void test_targets(void **state)
{
	static const struct {
		const char *to, *target;
	} rows[] = {
		{ "a.com:443", "a.com:443" },
		{ "udp://a.com:53", "udp://a.com:53" },
		{ "1.2.3.4:5", "1.2.3.4:5" },
		{ "udp://[2606:0::1]:53", "udp://[2606::1]:53" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct net_judgement j = { .allowed = true, .rule = "x", .remedy = "y" };
		char name[128];
		struct destination d = parse(rows[i].to, name);

		assert_false(judge_refuse(&d, &j, "%d reasons", 3));
		assert_false(j.allowed);
		assert_string_equal(j.target, rows[i].target);
		assert_string_equal(j.reason, "3 reasons");
		assert_string_equal(j.rule, "");
		assert_string_equal(j.remedy, "");
	}
}

/* What a granted name leads to. */

static const struct {
	struct policies policies;
	const char *to, *address, *answer;
} answers[] = {
	{ ALLOW("a.com"), "a.com:443", "1.2.3.4", "allowed" },
	{ ALLOW("a.com"), "a.com:443", "2606::1", "allowed" },
	{ ALLOW("'*.com'"), "udp://a.com:443", "1.2.3.4", "allowed" },
	/* Private places need a grant of their own. */
	{ ALLOW("a.com"), "a.com:443", "10.0.0.1",
		"a.com leads to 10.0.0.1:443: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:443\"]} to test.yaml" },
	{ ALLOW("a.com"), "udp://a.com:53", "::1",
		"a.com leads to udp://[::1]:53: ::1 (it is this machine) requires a grant that "
		"names it; add network: {allow: [\"udp://[::1]:53\"]} to test.yaml" },
	{ ALLOW("a.com"), "a.com:443", "::ffff:127.0.0.1",
		"a.com leads to 127.0.0.1:443: 127.0.0.0/8 (it is this machine) requires a grant "
		"that names it; add network: {allow: [\"127.0.0.1:443\"]} to test.yaml" },
	{ ALLOW("a.com"), "a.com:443", "64:ff9b::7f00:1",
		"a.com leads to 127.0.0.1:443: 127.0.0.0/8 (it is this machine) requires a grant "
		"that names it; add network: {allow: [\"127.0.0.1:443\"]} to test.yaml" },
	{ ALLOW("a.com, 10.0.0.0/24"), "a.com:443", "10.0.0.1", "allowed" },
	{ ALLOW("a.com, '10.0.0.1:80'"), "a.com:443", "10.0.0.1",
		"a.com leads to 10.0.0.1:443: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:443\"]} to test.yaml" },
	{ ALLOW("'localhost:80'"), "localhost:80", "127.0.0.1", "allowed" },
	{ ALLOW("'*'"), "a.com:80", "192.168.1.1",
		"a.com leads to 192.168.1.1:80: 192.168.0.0/16 (it is a private network) "
		"requires a grant that names it; add network: {private: [\"a.com:80\"]} to "
		"test.yaml" },
	{ { { "mode: monitor" } }, "a.com:80", "10.0.0.1",
		"a.com leads to 10.0.0.1:80: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:80\"]} to test.yaml" },
	{ { { "network: {allow: [a.com, 10.0.0.1]}", "network: {allow: [a.com]}" } }, "a.com:80",
		"10.0.0.1",
		"a.com leads to 10.0.0.1:80: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:80\"]} to test.yaml" },
	/* A name that is granted with its private addresses, and nothing more. */
	{ PRIVATE("a.com:443"), "a.com:443", "10.0.0.1", "allowed" },
	{ PRIVATE("a.com:443"), "a.com:443", "fd00::1", "allowed" },
	{ PRIVATE("a.com:443"), "a.com:443", "100.64.0.1", "allowed" },
	{ PRIVATE("a.com:443"), "a.com:443", "::ffff:192.168.0.1", "allowed" },
	{ PRIVATE("a.com:443"), "a.com:443", "1.2.3.4", "allowed" },
	{ PRIVATE("'*.a.com:443'"), "x.a.com:443", "10.0.0.1", "allowed" },
	{ { { "network: {allow: [b.com], private: ['a.com:443']}" } }, "b.com:443", "10.0.0.1",
		"b.com leads to 10.0.0.1:443: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"b.com:443\"]} to test.yaml" },
	{ { { "network: {allow: [a.com], private: ['a.com:443']}" } }, "a.com:80", "10.0.0.1",
		"a.com leads to 10.0.0.1:80: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:80\"]} to test.yaml" },
	{ { { "network: {allow: ['udp://a.com:443'], private: ['a.com:443']}" } },
		"udp://a.com:443", "10.0.0.1",
		"a.com leads to udp://10.0.0.1:443: 10.0.0.0/8 (it is a private network) requires "
		"a grant that names it; add network: {private: [\"udp://a.com:443\"]} to "
		"test.yaml" },
	/* This machine, the link and reserved ranges are none of it; nor is metadata. */
	{ PRIVATE("a.com:443"), "a.com:443", "127.0.0.1",
		"a.com leads to 127.0.0.1:443: 127.0.0.0/8 (it is this machine) requires a grant "
		"that names it; add network: {allow: [\"127.0.0.1:443\"]} to test.yaml" },
	{ PRIVATE("a.com:443"), "a.com:443", "169.254.1.1",
		"a.com leads to 169.254.1.1:443: 169.254.0.0/16 (it is the local link) requires a "
		"grant that names it; add network: {allow: [\"169.254.1.1:443\"]} to test.yaml" },
	{ PRIVATE("a.com:443"), "a.com:443", "224.0.0.1",
		"a.com leads to 224.0.0.1:443: 224.0.0.0/4 (it is a multicast group) requires a "
		"grant that names it; add network: {allow: [\"224.0.0.1:443\"]} to test.yaml" },
	{ PRIVATE("a.com:80"), "a.com:80", "169.254.169.254",
		"a.com leads to 169.254.169.254:80: " NEVER },
	{ PRIVATE("a.com:80"), "a.com:80", "::ffff:169.254.169.254",
		"a.com leads to 169.254.169.254:80: " NEVER },
	{ PRIVATE("a.com:80"), "a.com:80", "100.100.100.200",
		"a.com leads to 100.100.100.200:80: the baseline denies 100.100.100.200 (it hands "
		"the machine's own cloud credentials to whoever asks); none: the baseline denies "
		"it, and no grant overrides that" },
	{ PRIVATE("a.com:80"), "a.com:80", "fd00:ec2::254",
		"a.com leads to [fd00:ec2::254]:80: the baseline denies fd00:ec2::254 (it hands "
		"the machine's own cloud credentials to whoever asks); none: the baseline denies "
		"it, and no grant overrides that" },
	/* What is denied stays so, and every layer must grant it. */
	{ { { "network: {private: ['a.com:80'], deny: [10.0.0.0/24]}" } }, "a.com:80", "10.0.0.1",
		"a.com leads to 10.0.0.1:80: network.deny denies 10.0.0.0/24:*; remove or narrow "
		"test.yaml:1: 10.0.0.0/24:* [test.yaml:1: 10.0.0.0/24:*]" },
	{ { { "network: {private: ['a.com:80']}", "network: {allow: ['*:*']}" } }, "a.com:80",
		"10.0.0.1",
		"a.com leads to 10.0.0.1:80: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:80\"]} to test.yaml" },
	{ { { "network: {private: ['a.com:80']}", "network: {private: ['a.com:80']}" } },
		"a.com:80", "10.0.0.1", "allowed" },
	{ { { "network: {private: ['a.com:80']}", "network: {allow: [a.com, '10.0.0.1:80']}" } },
		"a.com:80", "10.0.0.1", "allowed" },
	{ { { "network: {private: ['a.com:80']}", "default: allow" } }, "a.com:80", "10.0.0.1",
		"a.com leads to 10.0.0.1:80: 10.0.0.0/8 (it is a private network) requires a "
		"grant that names it; add network: {private: [\"a.com:80\"]} to test.yaml" },
	{ { { "{mode: monitor, network: {private: ['a.com:80']}}" } }, "a.com:80", "10.0.0.1",
		"allowed" },
	/* The address by itself is not granted by it. */
	{ PRIVATE("a.com:80"), "10.0.0.1:80", "10.0.0.1", NOTHING("10.0.0.1:80") },
	/* Never, in any clothes. */
	{ ALLOW("a.com, 169.254.169.254"), "a.com:80", "169.254.169.254",
		"a.com leads to 169.254.169.254:80: " NEVER },
	{ ALLOW("a.com"), "a.com:80", "::ffff:169.254.169.254",
		"a.com leads to 169.254.169.254:80: " NEVER },
	{ { { "mode: monitor" } }, "a.com:80", "169.254.169.254",
		"a.com leads to 169.254.169.254:80: " NEVER },
	/* Denied, by any layer. */
	{ { { "network: {allow: [a.com], deny: [1.2.3.0/24]}" } }, "a.com:80", "1.2.3.4",
		"a.com leads to 1.2.3.4:80: network.deny denies 1.2.3.0/24:*; remove or narrow "
		"test.yaml:1: 1.2.3.0/24:* [test.yaml:1: 1.2.3.0/24:*]" },
	{ { { "network: {allow: [a.com]}", "network: {allow: [a.com], deny: ['1.2.3.4:80']}" } },
		"a.com:80", "1.2.3.4",
		"a.com leads to 1.2.3.4:80: network.deny denies 1.2.3.4:80; remove or narrow "
		"test.yaml:1: 1.2.3.4:80 [test.yaml:1: 1.2.3.4:80]" },
	{ { { "network: {allow: [a.com], deny: ['1.2.3.4:81']}" } }, "a.com:80", "1.2.3.4",
		"allowed" },
	{ { { "{mode: monitor, network: {deny: [1.2.3.4]}}" } }, "a.com:80", "1.2.3.4", "allowed" },
	/* Literal addresses are their own answers. */
	{ ALLOW("1.2.3.4"), "1.2.3.4:80", "1.2.3.4", "allowed" },
	{ ALLOW("1.2.3.4"), "1.2.3.4:80", "1.2.3.5", NOTHING("1.2.3.5:80") },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		auto_policy *p = compile(&answers[i].policies);
		struct address a = parse_address(answers[i].address);
		struct net_judgement j = { 0 };
		struct net_judge judge;
		char name[128];
		struct destination d = parse(answers[i].to, name);
		bool allowed;

		judge_init(&judge, p);
		allowed = judge_answer(&judge, &d, &a, &j);
		check(&j, allowed, &answers[i].policies, answers[i].address, answers[i].answer);
	}
}

/* An address of this machine, though a public one. */
static const struct {
	struct policies policies;
	const char *to, *answer, *address; /* NULL: 8.8.8.8 */
} owns[] = {
	{ ALLOW("a.com"), "a.com:443",
		"8.8.8.8:443 is an address of this machine and requires a grant that names it; "
		"add network: {allow: [\"8.8.8.8:443\"]}",
		NULL },
	{ ALLOW("'*'"), "8.8.8.8:443",
		"8.8.8.8:443 is an address of this machine and requires a grant that names it; "
		"add network: {allow: [\"8.8.8.8:443\"]}",
		NULL },
	{ { { "network: {allow: [a.com, '8.8.8.8:443']}" } }, "a.com:443", "allowed", NULL },
	{ { { "network: {allow: ['8.8.8.0/24:443']}" } }, "8.8.8.8:443", "allowed", NULL },
	/* A name that may lead to private addresses does not lead to those of this machine. */
	{ PRIVATE("a.com:443"), "a.com:443",
		"10.0.0.7:443 is an address of this machine and requires a grant that names it; "
		"add network: {allow: [\"10.0.0.7:443\"]}",
		"10.0.0.7" },
	{ { { "{mode: monitor, network: {private: ['a.com:443']}}" } }, "a.com:443",
		"10.0.0.7:443 is an address of this machine and requires a grant that names it; "
		"add network: {allow: [\"10.0.0.7:443\"]}",
		"10.0.0.7" },
	{ { { "network: {private: ['a.com:443'], allow: ['10.0.0.7:443']}" } }, "a.com:443",
		"allowed", "10.0.0.7" },
};

static void test_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(owns); i++) {
		const char *text = owns[i].address ? owns[i].address : "8.8.8.8";
		struct address a = parse_address(text);
		auto_policy *p = compile(&owns[i].policies);
		char name[128];
		struct destination d = parse(owns[i].to, name);
		struct net_judgement j = { 0 };
		struct net_judge judge;
		bool allowed;

		judge_init(&judge, p);
		allowed = judge_own(&judge, &d, &a, &j);
		check(&j, allowed, &owns[i].policies, text, owns[i].answer);
	}
}

static const struct {
	struct policies policies;
	const char *to, *alias, *answer;
} aliases[] = {
	{ ALLOW("a.com"), "a.com:443", "cdn.net", "allowed" },
	{ ALLOW("a.com"), "a.com:443", "x.internal", "allowed" },
	{ { { "network: {allow: [a.com], deny: ['*.net']}" } }, "a.com:443", "cdn.net",
		"a.com leads to cdn.net:443: network.deny denies *.net:*; remove or narrow "
		"test.yaml:1: *.net:* [test.yaml:1: *.net:*]" },
	{ { { "network: {allow: [a.com]}", "network: {allow: [a.com], deny: ['cdn.net:1']}" } },
		"a.com:443", "cdn.net", "allowed" },
	{ ALLOW("a.com"), "a.com:80", "metadata.google.internal",
		"a.com leads to metadata.google.internal:80: the baseline denies "
		"metadata.google.internal (it hands the machine's own cloud credentials to "
		"whoever asks); none: the baseline denies it, and no grant overrides that" },
	{ ALLOW("a.com"), "a.com:80", "not..a.name",
		"a.com leads to not..a.name:80: the target is malformed" },
};

static void test_aliases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(aliases); i++) {
		auto_policy *p = compile(&aliases[i].policies);
		struct net_judgement j = { 0 };
		struct net_judge judge;
		char name[128];
		struct destination d = parse(aliases[i].to, name);
		bool allowed;

		judge_init(&judge, p);
		allowed = judge_alias(&judge, &d, aliases[i].alias, &j);
		check(&j, allowed, &aliases[i].policies, aliases[i].alias, aliases[i].answer);
	}
}

/* TLS: the name in the hello, "" for none. */

#define TWO_PATHS "a rule depends on the path, and the path of the request is ambiguous"
#define NAMELESS(what)                                       \
	what ", and a.com is not granted by its full name; " \
	     "add network: {allow: [\"a.com:443\"]}"

static const struct {
	struct policies policies;
	const char *to, *name, *answer;
} hellos[] = {
	{ ALLOW("'*.com'"), "a.com:443", "a.com", "allowed" },
	{ ALLOW("'*.com'"), "a.com:443", "b.com",
		"TLS asks for b.com, but the connection is to a.com; connect to b.com:443 by "
		"name" },
	{ ALLOW("a.com"), "a.com:443", "b.com",
		"TLS asks for b.com, but the connection is to a.com; grant it, and connect to "
		"b.com:443 by name" },
	/* Without a name: exact grants, wherever they stand among others. */
	{ ALLOW("a.com"), "a.com:443", "", "allowed" },
	{ ALLOW("'a.com:*'"), "a.com:443", "", "allowed" },
	{ ALLOW("'https://a.com/'"), "a.com:443", "", "allowed" },
	{ ALLOW("'*.com'"), "a.com:443", "", NAMELESS("TLS without a server name") },
	{ ALLOW("'*'"), "a.com:443", "", NAMELESS("TLS without a server name") },
	{ ALLOW("'*.com', 'a.com:443'"), "a.com:443", "", "allowed" },
	{ ALLOW("'a.com:443', '*.com'"), "a.com:443", "", "allowed" },
	{ ALLOW("'*.com', 'a.com:80', 'b.com'"), "a.com:443", "",
		NAMELESS("TLS without a server name") },
	{ ALLOW("1.2.3.4"), "1.2.3.4:443", "", "allowed" },
	{ { { "network: {allow: ['*.com']}", "network: {allow: [a.com]}" } }, "a.com:443", "",
		"allowed" },
	{ { { "network: {allow: ['*.com']}", "network: {allow: ['*']}" } }, "a.com:443", "",
		NAMELESS("TLS without a server name") },
	{ { { "{default: allow, network: {deny: [b.com]}}" } }, "a.com:443", "",
		NAMELESS("TLS without a server name") },
	/* Layers that only watch do not mind. */
	{ { { "mode: monitor" } }, "a.com:443", "", "allowed" },
	{ { { "mode: monitor" } }, "a.com:443", "b.com", "allowed" },
	{ { { "{mode: audit, network: {deny: [b.com]}}" } }, "a.com:443", "c.com", "allowed" },
	{ { { "{mode: audit, network: {deny: [b.com]}}" } }, "a.com:443", "b.com",
		"TLS asks for b.com:443: network.deny denies b.com:*; remove or narrow "
		"test.yaml:1: "
		"b.com:* [test.yaml:1: b.com:*]" },
	{ { { "mode: monitor", "network: {allow: ['*.com']}" } }, "a.com:443", "",
		NAMELESS("TLS without a server name") },
	/* An address has any name, but for those that are forbidden. */
	{ ALLOW("1.2.3.4"), "1.2.3.4:443", "b.com", "allowed" },
	{ { { "network: {allow: [1.2.3.4], deny: [b.com]}" } }, "1.2.3.4:443", "b.com",
		"TLS asks for b.com:443: network.deny denies b.com:*; remove or narrow "
		"test.yaml:1: "
		"b.com:* [test.yaml:1: b.com:*]" },
};

static void test_hellos(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(hellos); i++) {
		auto_policy *p = compile(&hellos[i].policies);
		struct tls_hello hello = { .has_name = hellos[i].name[0] != '\0' };
		struct net_judgement j = { 0 };
		struct net_judge judge;
		char name[128];
		struct destination d = parse(hellos[i].to, name);
		bool allowed;

		(void)snprintf(hello.name, sizeof(hello.name), "%s", hellos[i].name);
		judge_init(&judge, p);
		allowed = judge_hello(&judge, &d, &hello, &j);
		check(&j, allowed, &hellos[i].policies, hellos[i].to, hellos[i].answer);
	}
}

/* HTTP. */

static const struct {
	struct policies policies;
	const char *to;
	struct http_request request;
	const char *answer;
} requests[] = {
	{ ALLOW("'*.com'"), "a.com:80", { "GET", "a.com", 0, "/", false, "", NULL }, "allowed" },
	{ ALLOW("'*.com'"), "a.com:80", { "GET", "a.com", 80, "/", false, "", NULL }, "allowed" },
	{ ALLOW("'*.com'"), "a.com:80", { "GET", "a.com", 81, "/", false, "", NULL },
		"HTTP asks for port 81, but the connection is to port 80" },
	{ ALLOW("a.com"), "a.com:80", { "GET", "b.com", 0, "/", false, "", NULL },
		"HTTP asks for b.com, but the connection is to a.com; grant it, and connect to "
		"b.com:80 by name" },
	{ ALLOW("a.com"), "a.com:80", { "GET", "[::1]", 0, "/", false, "", NULL },
		"HTTP asks for [::1], but the connection is to a.com; grant it, and connect to "
		"[::1]:80 by name" },
	{ ALLOW("a.com"), "a.com:443", { "GET", "", 0, "/", false, "", NULL }, "allowed" },
	{ ALLOW("'*.com'"), "a.com:443", { "GET", "", 0, "/", false, "", NULL },
		NAMELESS("HTTP without a host") },
	{ ALLOW("'*.com'"), "a.com:443", { "GET", "a.com", 0, "/", true, "websocket", NULL },
		"allowed" },
	{ ALLOW("'*.com'"), "a.com:443", { "GET", "a.com", 0, "/", true, "h2c", NULL },
		NAMELESS("HTTP switches to another protocol") },
	{ ALLOW("a.com"), "a.com:443", { "GET", "a.com", 0, "/", true, "h2c", NULL }, "allowed" },
	/* Literal addresses: any host but what is forbidden, in any spelling. */
	{ ALLOW("1.2.3.4"), "1.2.3.4:80", { "GET", "1.2.3.4", 0, "/", false, "", NULL },
		"allowed" },
	{ ALLOW("1.2.3.4"), "1.2.3.4:80", { "GET", "a.com", 0, "/", false, "", NULL }, "allowed" },
	{ ALLOW("'[2606::1]'"), "[2606::1]:80", { "GET", "[2606::1]", 0, "/", false, "", NULL },
		"allowed" },
	{ ALLOW("1.2.3.4"), "1.2.3.4:80", { "GET", "169.254.169.254", 0, "/", false, "", NULL },
		"HTTP asks for 169.254.169.254:80: " NEVER },
	{ ALLOW("1.2.3.4"), "1.2.3.4:80", { "GET", "0xa9fea9fe", 0, "/", false, "", NULL },
		"HTTP asks for 0xa9fea9fe:80: " NEVER },
	{ { { "network: {allow: [1.2.3.4], deny: [b.com]}" } }, "1.2.3.4:80",
		{ "GET", "b.com", 0, "/", false, "", NULL },
		"HTTP asks for b.com:80: network.deny denies b.com:*; remove or narrow "
		"test.yaml:1: "
		"b.com:* [test.yaml:1: b.com:*]" },
	/* Methods and paths. */
	{ { { "network: {allow: [a.com], methods: [GET, HEAD]}" } }, "a.com:80",
		{ "HEAD", "a.com", 0, "/", false, "", NULL }, "allowed" },
	{ { { "network: {allow: [a.com], methods: [GET, HEAD]}" } }, "a.com:80",
		{ "POST", "a.com", 0, "/", false, "", NULL },
		"network.methods does not include POST; add network: {methods: [POST]} to "
		"test.yaml" },
	{ { { "network: {allow: [a.com]}", "network: {allow: [a.com], methods: [GET]}" } },
		"a.com:80", { "get", "a.com", 0, "/", false, "", NULL },
		"network.methods does not include get; none: it cannot be written in a policy "
		"file" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/admin/x", false, "", NULL },
		"network.deny denies http://a.com/admin/**; remove or narrow test.yaml:1: "
		"http://a.com/admin/** [test.yaml:1: http://a.com/admin/**]" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/%61dmin/x", false, "", NULL },
		"network.deny denies http://a.com/admin/**; remove or narrow test.yaml:1: "
		"http://a.com/admin/** [test.yaml:1: http://a.com/admin/**]" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/other", false, "", NULL }, "allowed" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "//admin/x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/admin%2Fx", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/\\admin/x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/admin;a/x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/x/../admin/x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/x/%2e%2E/admin/x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/admin/../x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/admin/.%2e", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/admin/..", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/./admin/x", false, "", NULL }, TWO_PATHS },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/x/%2E/y", false, "", NULL }, TWO_PATHS },
	/* Granted, a server that takes no folders back would serve it below /admin. */
	{ ALLOW("'http://a.com/public/**'"), "a.com:80",
		{ "GET", "a.com", 0, "/admin/../public/x", false, "", NULL }, TWO_PATHS },
	{ ALLOW("'http://a.com/public/**'"), "a.com:80",
		{ "GET", "a.com", 0, "/public/.../..x/x../.x/x.", false, "", NULL }, "allowed" },
	{ { { "network: {allow: [a.com], methods: [GET]}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/a/../b", false, "", NULL }, "allowed" },
	{ { { "network: {allow: [a.com], methods: [GET]}" } }, "a.com:80",
		{ "GET", "a.com", 0, "//a%2fb;c", false, "", NULL }, "allowed" },
	/* By its address, too. */
	{ { { "network: {allow: [1.2.3.4], deny: ['http://a.com/admin/**']}" } }, "1.2.3.4:80",
		{ "GET", "a.com", 0, "/admin/x", false, "", NULL },
		"HTTP asks for a.com: network.deny denies http://a.com/admin/**; remove or narrow "
		"test.yaml:1: http://a.com/admin/** [test.yaml:1: http://a.com/admin/**]" },
	{ { { "network: {allow: [1.2.3.4], deny: ['http://a.com/admin/**']}" } }, "1.2.3.4:80",
		{ "GET", "a.com", 0, "/other", false, "", NULL }, "allowed" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/", true, "h2c", NULL },
		"HTTP switches to another protocol, so methods and paths cannot be checked" },
	{ { { "network: {allow: [a.com], methods: [GET]}" } }, "a.com:80",
		{ "GET", "a.com", 0, "/", true, "h2c", NULL },
		"HTTP switches to another protocol, so methods and paths cannot be checked" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "OPTIONS", "a.com", 0, "*", false, "", NULL }, "allowed" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/admin/**']}" } }, "a.com:80",
		{ "GET", "b.com", 0, "/other", false, "", NULL },
		"HTTP asks for b.com, but the connection is to a.com; grant it, and connect to "
		"b.com:80 by name" },
};

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(requests); i++) {
		auto_policy *p = compile(&requests[i].policies);
		struct net_judgement j = { 0 };
		struct net_judge judge;
		char name[128];
		struct destination d = parse(requests[i].to, name);
		bool allowed;

		judge_init(&judge, p);
		allowed = judge_http(&judge, &d, &requests[i].request, &j);
		check(&j, allowed, &requests[i].policies, requests[i].request.host,
			requests[i].answer);
	}
}

/* No path is too long to be refused. */
static void test_long_path(void **state)
{
	auto_policy *p = test_compile("network: {allow: [a.com], deny: ['http://a.com/admin/**']}");
	static char path[32 << 10];
	const struct http_request r = { "GET", "a.com", 0, path, false, "", NULL };
	const struct destination d = { .name = "a.com", .port = 80 };
	struct net_judgement j = { 0 };
	struct net_judge judge;

	(void)state;
	judge_init(&judge, p);
	assert_true(judge.narrow);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	for (size_t len = 900; len < sizeof(path); len = len * 5 / 4) {
		path[len] = '\0';
		if (len > 1024) {
			assert_false(judge_http(&judge, &d, &r, &j));
			assert_non_null(strstr(j.reason, "compared with the rules"));
		} else {
			assert_true(judge_http(&judge, &d, &r, &j));
		}
		path[len] = 'x';
	}
}

/* Names and reasons that are as long as can be fit. */
static void test_long_names(void **state)
{
	auto_policy *p = test_compile("network: {allow: ['*']}");
	char name[254], other[254];
	const struct destination d = { .name = name, .port = 65535 };
	struct tls_hello hello = { .has_name = true };
	struct address a = parse_address("10.0.0.1");
	struct net_judgement j = { 0 };
	struct net_judge judge;

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = other[i] = i % 64 == 63 ? '.' : 'a';
	other[0] = 'b';
	name[253] = other[253] = '\0';
	(void)snprintf(hello.name, sizeof(hello.name), "%s", other);
	judge_init(&judge, p);
	assert_true(judge_destination(&judge, &d, &j));
	assert_int_equal(strlen(j.target), 253 + 6);
	assert_false(judge_hello(&judge, &d, &hello, &j));
	assert_false(judge_nameless(&judge, &d, "TLS without a server name", &j));
	assert_false(judge_answer(&judge, &d, &a, &j));
	assert_non_null(strstr(j.reason, "a private network"));
}

/* Agreed to: what the rule that asked says of the destination, and no more. */
static const struct {
	struct policies policies;
	const char *to, *address, *host; /* where it leads; the Host of a request, or NULL */
	bool is_dialled, is_served;
} agreed[] = {
	{ { { "rules: [{id: r1, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"a.com:80", "1.2.3.4", "a.com", true, true },
	/* A name that leads to the inside of the network. */
	{ { { "rules: [{id: r2, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"a.com:80", "10.0.0.1", NULL, false, true },
	{ { { "rules: [{id: r3, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"a.com:80", "127.0.0.1", NULL, false, true },
	{ { { "rules: [{id: r4, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"a.com:80", "169.254.169.254", NULL, false, true },
	/* An address that is denied, or that another rule asks about. */
	{ { { "{network: {deny: [1.2.3.4]}, rules: [{id: r5, action: ask, operations: "
	      "[net.connect], "
	      "patterns: [a.com]}]}" } },
		"a.com:80", "1.2.3.4", "a.com", false, true },
	{ { { "rules: [{id: r6, action: ask, operations: [net.connect], patterns: [a.com]}, {id: "
	      "r7, action: ask, "
	      "operations: [net.connect], patterns: [1.2.3.4]}]" } },
		"a.com:80", "1.2.3.4", "a.com", false, true },
	/* Another host on the same connection. */
	{ { { "rules: [{id: r8, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"a.com:80", "1.2.3.4", "b.com", true, false },
	/* Requests that another rule denies, or asks about. */
	{ { { "rules: [{id: r9, action: ask, operations: [net.connect], patterns: [a.com], "
	      "priority: 1}, "
	      "{id: r10, action: deny, operations: [net.connect], patterns: ['http://a.com/**'], "
	      "methods: "
	      "[GET], priority: 5}]" } },
		"a.com:80", "1.2.3.4", "a.com", true, false },
	/* An address itself. */
	{ { { "rules: [{id: r11, action: ask, operations: [net.connect], patterns: "
	      "['127.0.0.1:80']}]" } },
		"127.0.0.1:80", "127.0.0.1", "127.0.0.1", true, true },
	{ { { "rules: [{id: r12, action: ask, operations: [net.connect], patterns: "
	      "['1.2.3.0/24']}]" } },
		"1.2.3.4:80", "1.2.3.4", "1.2.3.4", true, true },
	{ { { "rules: [{id: r13, action: ask, operations: [net.connect], patterns: "
	      "['[::1]:80']}]" } },
		"[::1]:80", "::1", "[::1]", true, true },
	/* With names that it has, and that it has not. */
	{ { { "rules: [{id: r14, action: ask, operations: [net.connect], patterns: "
	      "['localhost:80']}]" } },
		"127.0.0.1:80", "127.0.0.1", "localhost", true, true },
	{ { { "rules: [{id: r15, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"1.2.3.4:80", "1.2.3.4", "a.com", true, false },
	{ { { "rules: [{id: r16, action: ask, operations: [net.connect], patterns: ['*']}]" } },
		"1.2.3.4:80", "1.2.3.4", "localhost", true, false },
	{ { { "rules: [{id: r17, action: ask, operations: [net.connect], patterns: "
	      "['1.2.0.0/16']}]" } },
		"1.2.3.4:80", "1.2.3.4", "1.2.3.5", true, false },
	/* A rule about some requests is not answered by the address. */
	{ { { "rules: [{id: r18, action: ask, operations: [net.connect], patterns: [1.2.3.4], "
	      "priority: 1}, {id: r19, action: ask, operations: [net.connect], patterns: "
	      "['http://1.2.3.4/**'], methods: [GET], priority: 5}]" } },
		"1.2.3.4:80", "1.2.3.4", "1.2.3.4", true, false },
	{ { { "rules: [{id: r20, action: ask, operations: [net.connect], patterns: [1.2.3.4], "
	      "priority: 1}, {id: r21, action: ask, operations: [net.connect], patterns: "
	      "['http://1.2.3.4/v1/**'], priority: 5}]" } },
		"1.2.3.4:80", "1.2.3.4", "1.2.3.4", true, true },
	/* Nor is one of another layer; one that asks the same is. */
	{ { { "rules: [{id: r22, action: ask, operations: [net.connect], patterns: [1.2.3.4]}]",
		  "network: {allow: [1.2.3.4]}\nrules: [{id: r23, action: ask, operations: "
		  "[net.connect], patterns: ['http://1.2.3.4/**'], methods: [GET]}]" } },
		"1.2.3.4:80", "1.2.3.4", "1.2.3.4", true, false },
	{ { { "rules: [{id: r24, action: ask, operations: [net.connect], patterns: [1.2.3.4]}]",
		  "rules: [{id: r25, action: ask, operations: [net.connect], patterns: "
		  "['1.2.0.0/16']}]" } },
		"1.2.3.4:80", "1.2.3.4", "1.2.3.4", true, true },
	/* Rules of one line and pattern are two if one of them is about some methods. */
	{ { { "rules: [{id: r26, action: ask, operations: [net.connect], patterns: [a.com], "
	      "priority: 1}, {id: r27, action: ask, operations: [net.connect], patterns: "
	      "[a.com], methods: [GET], priority: 5}]" } },
		"a.com:80", "1.2.3.4", "a.com", true, false },
};

static void test_agreed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(agreed); i++) {
		auto_policy *p = compile(&agreed[i].policies);
		struct http_request request = { .method = "GET", .path = "/", .host = "" };
		struct address a = parse_address(agreed[i].address);
		struct net_judgement j = { 0 };
		struct net_judge judge;
		char name[128], rule[sizeof(j.rule)];
		struct destination d = parse(agreed[i].to, name), other;
		struct tls_hello nameless = { 0 };

		judge_init(&judge, p);
		assert_false(judge_destination(&judge, &d, &j));
		assert_true(j.asks);
		(void)snprintf(rule, sizeof(rule), "%s", j.rule);
		/* Another rule was agreed to. */
		d.agreed = "x.yaml:1: *:*";
		assert_false(judge_destination(&judge, &d, &j));
		d.agreed = rule;
		assert_true(judge_destination(&judge, &d, &j));
		assert_false(j.asks);
		if (judge_answer(&judge, &d, &a, &j) != agreed[i].is_dialled)
			fail_msg("%zu: %s: %s", i, agreed[i].to, j.reason);
		assert_true(judge_hello(&judge, &d, &nameless, &j));
		if (agreed[i].host) {
			request.host = agreed[i].host;
			if (judge_http(&judge, &d, &request, &j) != agreed[i].is_served)
				fail_msg("%zu: %s: %s", i, agreed[i].to, j.reason);
		}
		/* This one was not agreed to. */
		other = d;
		other.agreed = NULL;
		assert_false(judge_destination(&judge, &other, &j));
	}
}

#define ASK_PATH(to)                                                                     \
	"rules: [{id: r, action: ask, operations: [net.connect], patterns: ['http://" to \
	"/v1/**']}]"

/* Requests that the policy asks about; "" if the user cannot be asked. */
static const struct {
	struct policies policies;
	const char *to;
	struct http_request request;
	const char *shown;
} shown[] = {
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com") } }, "a.com:80",
		{ "GET", "a.com", 0, "/v1/x", false, "", "a=b" }, "GET http://a.com:80/v1/x?a=b" },
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com") } }, "a.com:80",
		{ "BREW", "", 0, "/v1/x", false, "", "" }, "BREW http://a.com:80/v1/x?" },
	{ { { "network: {allow: ['[::1]:80']}\n" ASK_PATH("[::1]") } }, "[::1]:80",
		{ "GET", "[::1]", 0, "/v1/x", false, "", NULL }, "GET http://[::1]:80/v1/x" },
	{ { { "network: {allow: ['localhost:80']}\n" ASK_PATH("localhost") } }, "127.0.0.1:80",
		{ "GET", "localhost", 0, "/v1/x", false, "", NULL },
		"GET http://127.0.0.1:80/v1/x" },
	/* The rules of two layers. */
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com"),
		  "network: {allow: [a.com]}\n" ASK_PATH("*.com") } },
		"a.com:80", { "GET", "a.com", 0, "/v1/x", false, "", NULL },
		"GET http://a.com:80/v1/x" },
	/* What another layer denies, or the same by another rule, is not asked about. */
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com"),
		  "network: {allow: [a.com], methods: [POST]}" } },
		"a.com:80", { "GET", "a.com", 0, "/v1/x", false, "", NULL }, "" },
	{ { { "network: {allow: [a.com], deny: ['http://a.com/v1/x']}\n" ASK_PATH("a.com") } },
		"a.com:80", { "GET", "a.com", 0, "/v1/x", false, "", NULL }, "" },
	/* Nor what would be shown as something else. */
	{ { { "network: {allow: [1.2.3.4]}\n" ASK_PATH("1.2.3.4") } }, "1.2.3.4:80",
		{ "GET", "a.com", 0, "/v1/x", false, "", NULL }, "" },
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com") } }, "a.com:80",
		{ "GET", "a.com", 0, "/v1/x", true, "websocket", NULL }, "" },
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com") } }, "a.com:80",
		{ "GET", "a.com", 0, "/v1/\xe2\x80\xae", false, "", NULL }, "" },
	{ { { "network: {allow: [a.com]}\n" ASK_PATH("a.com") } }, "a.com:80",
		{ "GET", "a.com", 0, "/v1/x", false, "", "\x1b[2J" }, "" },
};

static void test_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(shown); i++) {
		auto_policy *p = compile(&shown[i].policies);
		char name[128], text[NET_REQUEST_BYTES];
		const struct destination d = parse(shown[i].to, name);
		struct net_judgement j = { 0 };
		struct net_judge judge;
		bool asks;

		judge_init(&judge, p);
		assert_true(judge_destination(&judge, &d, &j));
		assert_false(judge_http(&judge, &d, &shown[i].request, &j));
		asks = j.asks && judge_show_request(&d, &shown[i].request, text);
		if (asks != (shown[i].shown[0] != '\0'))
			fail_msg("%zu: %s: %s", i, shown[i].to, j.reason);
		if (!asks)
			continue;
		assert_string_equal(text, shown[i].shown);
		assert_true(judge_http_agreed(&judge, &d, &shown[i].request, &j));
	}
}

/* A rule that asks about everything does not keep a name that is granted from its addresses. */
static void test_granted_under_ask(void **state)
{
	static const struct policies policies = {
		{ "rules: [{id: r13, action: allow, operations: [net.connect], patterns: [a.com], "
		  "priority: "
		  "9}, "
		  "{id: r14, action: ask, operations: [net.connect], patterns: ['*'], priority: "
		  "1}]" }
	};
	auto_policy *p = compile(&policies);
	const struct destination d = { .name = "a.com", .port = 80 };
	struct address out = parse_address("1.2.3.4"), in = parse_address("127.0.0.1");
	struct net_judgement j = { 0 };
	struct net_judge judge;

	(void)state;
	judge_init(&judge, p);
	assert_true(judge_destination(&judge, &d, &j));
	assert_true(judge_answer(&judge, &d, &out, &j));
	assert_true(judge_alias(&judge, &d, "b.net", &j));
	assert_false(judge_answer(&judge, &d, &in, &j));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_hellos),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_agreed),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_granted_under_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
