/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/network.h"
#include "codec/json-writer.h"
#include "codec/node.h"

#define LINE "add network: {allow: [\"evil.example.com:443\"]} to "

static struct record denied(const char *target, const char *remedy)
{
	return (struct record){ .kind = RECORD_DENIED,
		.target = target,
		.name = "evil.example.com",
		.address = "",
		.port = 443,
		.rule = "",
		.reason = "nothing grants it",
		.remedy = remedy,
		.program = "" };
}

static void check_told(const struct record *records, size_t n, const char *expected)
{
	auto_arena a = { 0 };
	auto_output o = { 0 };
	struct run_network network = { 0 };

	for (size_t i = 0; i < n; i++)
		assert_int_equal(run_network_add(&network, &a, &records[i]), 0);
	run_network_tell(&network, &o);
	assert_string_equal(buffer_text(&o.text), expected);
}

static void test_nothing_is_told_of_nothing(void **state)
{
	(void)state;
	check_told(NULL, 0, "");
}

static void test_the_same_is_told_once(void **state)
{
	struct record records[] = { denied("evil.example.com:443", LINE "policy.yaml"),
		denied("evil.example.com:443", LINE "policy.yaml") };

	(void)state;
	records[1].count = 2;
	check_told(records, 2,
		"corral: denied: evil.example.com:443: nothing grants it (3 times)\n"
		"        to allow it: add network: {allow: [\"evil.example.com:443\"]} to "
		"policy.yaml\n");
}

static void test_another_reason_is_another_denial(void **state)
{
	struct record records[] = { denied("evil.example.com:443", ""),
		denied("evil.example.com:443", "") };

	(void)state;
	records[1].reason = "network.deny denies it";
	check_told(records, 2,
		"corral: denied: evil.example.com:443: nothing grants it\n"
		"corral: denied: evil.example.com:443: network.deny denies it\n");
}

/* What is built in has no file (explain_where()), and an option joins it; a policy has one. */
static void test_the_option_for_a_profile(void **state)
{
	static const char allow[] = "add network: {allow: [\"evil.example.com:443\"]}";
	const struct {
		const char *remedy, *told;
	} rows[] = {
		{ allow, "--net evil.example.com:443" },
		{ LINE "policy.yaml", LINE "policy.yaml" },
		{ "add network: {allow: [\"evil.example.com:443\"]} (2 layers do not allow it)",
			"--net evil.example.com:443 (2 layers do not allow it)" },
		{ "add network: {allow: [\"x", "add network: {allow: [\"x" },
		{ "add network: {allow: [\"", "add network: {allow: [\"" },
		{ "remove or narrow policy.yaml:3: *.example.com",
			"remove or narrow policy.yaml:3: *.example.com" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct record r = denied("evil.example.com:443", rows[i].remedy);
		char expected[256];

		(void)snprintf(expected, sizeof(expected),
			"corral: denied: evil.example.com:443: nothing grants it\n"
			"        to allow it: %s\n",
			rows[i].told);
		check_told(&r, 1, expected);
	}
}

/* What is granted and denied all the same is reported at once; and then not again. */
static void test_what_is_granted(void **state)
{
	const struct {
		const char *name;
		uint16_t port;
		bool dns, granted;
	} rows[] = {
		{ "inner.example.com", 443, false, true },
		{ "inner.example.com", 80, false, false },
		{ "evil.example.com", 443, false, false },
		{ "inner.example.com", 443, true, false },
		{ "", 443, false, false },
	};
	struct permissions *p = permissions_new();
	struct policy *policy = NULL;
	auto_arena a = { 0 };
	auto_output o = { 0 };
	struct run_network n = { 0 };

	(void)state;
	assert_non_null(p);
	assert_int_equal(permissions_add(p, &p->network_allow, "inner.example.com:443", NULL), 0);
	assert_int_equal(policy_new(&policy, (const struct permissions *const[]){ p }, 1,
				 &(struct policy_options){ 0 }, NULL),
		0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct record r = denied("inner.example.com:443", "");

		r.name = rows[i].name;
		r.port = rows[i].port;
		r.dns = rows[i].dns;
		assert_int_equal(run_network_is_granted(&r, policy), rows[i].granted);
		r.kind = RECORD_FAILED;
		assert_false(run_network_is_granted(&r, policy));
	}
	assert_int_equal(run_network_add(&n, &a,
				 &(struct record){ .kind = RECORD_DENIED,
					 .target = "x",
					 .name = "",
					 .address = "",
					 .rule = "",
					 .reason = "",
					 .remedy = "",
					 .program = "" }),
		0);
	n.items[0].is_told = true;
	run_network_tell(&n, &o);
	assert_string_equal(buffer_text(&o.text), "");
	policy_free(policy);
	permissions_free(p);
}

static void test_a_remedy_that_is_none(void **state)
{
	struct record r = denied(
		"169.254.169.254:80", "none: the baseline denies it, and no grant overrides that");

	(void)state;
	r.reason = "cloud metadata";
	check_told(&r, 1, "corral: denied: 169.254.169.254:80: cloud metadata\n");
}

/* One look at a name is several questions. */
static void test_a_name_is_not_counted(void **state)
{
	struct record r = denied("evil.example.com", "");

	(void)state;
	r.dns = true;
	r.count = 4;
	check_told(&r, 1, "corral: denied: the name evil.example.com: nothing grants it\n");
}

static void test_what_could_not_be_reached(void **state)
{
	struct record r = denied("api.example.com:443", "");

	(void)state;
	r.kind = RECORD_FAILED;
	r.reason = "cannot be reached: Connection refused";
	r.count = 2;
	check_told(&r, 1,
		"corral: api.example.com:443: cannot be reached: Connection refused (2 times)\n");
}

static void test_a_connection_is_not_told(void **state)
{
	struct record r = denied("api.example.com:443", "");

	(void)state;
	r.kind = RECORD_CLOSED;
	check_told(&r, 1, "");
}

/* What a program chose cannot write on the terminal. */
static void test_foreign_text_is_made_visible(void **state)
{
	struct record r = denied("a\x1b[2Jb:443", "add \x1b[2J");

	(void)state;
	check_told(&r, 1,
		"corral: denied: a\\x1b[2Jb:443: nothing grants it\n"
		"        to allow it: add \\x1b[2J\n");
}

static void add_many(struct run_network *n, struct arena *a, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char target[32];
		struct record r = denied(target, "");

		(void)snprintf(target, sizeof(target), "h%zu.example.com:443", i);
		assert_int_equal(run_network_add(n, a, &r), 0);
	}
}

static size_t count_lines(const struct buffer *text)
{
	size_t n = 0;

	for (const char *s = buffer_text(text); *s; s++)
		n += *s == '\n';
	return n;
}

static void test_many_are_not_all_told(void **state)
{
	auto_arena a = { 0 };
	auto_output o = { 0 };
	struct run_network n = { 0 };

	(void)state;
	add_many(&n, &a, RUN_NETWORK_MAX + 500);
	assert_int_equal(n.n, RUN_NETWORK_MAX);
	assert_int_equal(n.missed, 500);
	run_network_tell(&n, &o);
	assert_int_equal(count_lines(&o.text), RUN_NETWORK_SHOWN + 1);
	assert_non_null(strstr(buffer_text(&o.text),
		"corral: and 1514 more that were denied or could not be reached\n"));
}

static void test_exactly_as_many_as_are_shown(void **state)
{
	auto_arena a = { 0 };
	auto_output o = { 0 };
	struct run_network n = { 0 };

	(void)state;
	add_many(&n, &a, RUN_NETWORK_SHOWN);
	run_network_tell(&n, &o);
	assert_int_equal(count_lines(&o.text), RUN_NETWORK_SHOWN);
}

static void read_list(struct document *d, const struct run_network *n)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };

	run_network_print(n, &(struct json_writer){ .out = &text }, NULL);
	if (json_read(d, NULL, buffer_text(&text), text.len, &e) < 0)
		fail_msg("%s in %s", e.text, buffer_text(&text));
	assert_int_equal(d->root->type, NODE_LIST);
}

static void test_an_empty_list(void **state)
{
	const struct run_network n = { 0 };
	auto_document d = { 0 };

	(void)state;
	read_list(&d, &n);
	assert_int_equal(d.root->count, 0);
}

static void check_number(const struct node *map, const char *key, int64_t expected)
{
	int64_t value;

	assert_int_equal(node_integer(node_get(map, key), &value), 0);
	assert_int_equal(value, expected);
}

static void test_json_can_be_read(void **state)
{
	auto_arena a = { 0 };
	auto_document d = { 0 };
	struct run_network n = { 0 };
	struct record r = denied("evil\"\x80.example.com:443", LINE "policy.yaml");

	(void)state;
	assert_int_equal(run_network_add(&n, &a, &r), 0);
	r.kind = RECORD_CLOSED;
	r.sent = 100;
	r.received = UINT64_C(1) << 40;
	assert_int_equal(run_network_add(&n, &a, &r), 0);
	assert_int_equal(run_network_add(&n, &a, &r), 0);
	read_list(&d, &n);
	assert_int_equal(d.root->count, 2);
	assert_string_equal(node_text(node_get(d.root->first, "event")), "denied");
	assert_string_equal(
		node_text(node_get(d.root->first, "target")), "evil\"\\x80.example.com:443");
	assert_string_equal(node_text(node_get(d.root->first, "remedy")), LINE "policy.yaml");
	check_number(d.root->first, "count", 1);
	assert_string_equal(node_text(node_get(d.root->last, "event")), "connection");
	check_number(d.root->last, "count", 2);
	check_number(d.root->last, "sent", 200);
	check_number(d.root->last, "received", INT64_C(1) << 41);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_told_of_nothing),
		cmocka_unit_test(test_the_same_is_told_once),
		cmocka_unit_test(test_another_reason_is_another_denial),
		cmocka_unit_test(test_the_option_for_a_profile),
		cmocka_unit_test(test_what_is_granted),
		cmocka_unit_test(test_a_remedy_that_is_none),
		cmocka_unit_test(test_a_name_is_not_counted),
		cmocka_unit_test(test_what_could_not_be_reached),
		cmocka_unit_test(test_a_connection_is_not_told),
		cmocka_unit_test(test_foreign_text_is_made_visible),
		cmocka_unit_test(test_many_are_not_all_told),
		cmocka_unit_test(test_exactly_as_many_as_are_shown),
		cmocka_unit_test(test_an_empty_list),
		cmocka_unit_test(test_json_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
