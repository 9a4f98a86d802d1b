/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a policy's hosts is in a plan: which network a command gets, which ports, and the files
 * that tell it of hosts. Single hosts are not: the relay asks the policy.
 */
#include "base/array.h"
#include "jail/plan/test/test-plan.h"

static const char *const files[] = { "@/home/", "@/home/p/", "@/etc/", "@/etc/hosts" };

static int make(const struct test_policy *t, bool public_is_open, struct plan **ret)
{
	struct plan_options o = test_policy_options(t);
	struct error e = { 0 };
	int r;

	o.public_is_open = public_is_open;
	r = plan_new(ret, &o, &e);
	if (r == 0)
		test_plan_check(*ret);
	return r;
}

static struct plan *make_one(const char *layer)
{
	struct test_policy t;
	struct plan *plan = NULL;

	test_policy_init(&t, (const char *const[]){ layer, NULL });
	if (make(&t, false, &plan) < 0)
		fail_msg("%s is refused", layer);
	test_policy_deinit(&t);
	return plan;
}

static const struct plan_entry *at(const struct plan *plan, const char *path)
{
	const struct plan_entry *found = plan_find(plan, path);

	return found && strcmp(found->path, path) == 0 ? found : NULL;
}

/* Which network */

#define PUBLIC "'*:*', 'udp://*:*'"
#define OPEN "network: {allow: [" PUBLIC "]}"
#define BOTH(host) ", '" host ":*', 'udp://" host ":*'"
/* A wide pattern leaves private addresses out: each range has to be named. */
#define EVERYTHING                                                                            \
	PUBLIC BOTH("localhost") BOTH("127.0.0.0/8") BOTH("10.0.0.0/8") BOTH("172.16.0.0/12") \
		BOTH("192.168.0.0/16") BOTH("100.64.0.0/10") BOTH("169.254.0.0/16")           \
			BOTH("224.0.0.0/4") BOTH("[::1]") BOTH("[fc00::/7]") BOTH("[fe80::/10]")
#define RULE(action, host)                                                          \
	"rules: [{id: h, action: " action ", operations: [net.connect], patterns: " \
	"['" host "']}]"

static const struct {
	const char *layers[TEST_LAYERS_MAX];
	enum plan_network want, want_if_public; /* the latter with public_is_open */
} networks[] = {
	{ { NULL }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { "{}" }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { "network: {deny: ['*']}" }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { RULE("deny", "a.example:443") }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	/* Some hosts. */
	{ { "network: {allow: ['a.example:443']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['*.a.example:*']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['udp://10.1.2.3:53']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['localhost:5432']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['https://a.example/v1/**']}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { RULE("allow", "a.example:443") }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	/* Two layers that have nothing in common: the relay says no to all. */
	{ { "network: {allow: ['a.example:443']}", "network: {allow: ['b.example:443']}" },
		PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	/* One layer grants nothing. */
	{ { "network: {allow: ['a.example:443']}", "{}" }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { "{}", OPEN }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { OPEN, OPEN, RULE("deny", "a.example:443") }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { "all_of: [{network: {allow: ['*:*']}}, {fs: {read: [@/**]}}]" }, PLAN_NETWORK_NONE,
		PLAN_NETWORK_NONE },
	/* All public ones. */
	{ { OPEN }, PLAN_NETWORK_RELAY, PLAN_NETWORK_HOST },
	{ { OPEN, OPEN }, PLAN_NETWORK_RELAY, PLAN_NETWORK_HOST },
	/* Less than that by a protocol, a port, a host, a rule, a limit. */
	{ { "network: {allow: ['*:*']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['udp://*:*']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['*:443', 'udp://*:*']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['*:2-65535', 'udp://*:*']}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { "network: {allow: ['*:1-65534', 'udp://*:*']}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { OPEN, "network: {allow: ['*:443']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {allow: [" PUBLIC "], deny: [a.example]}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { "{" OPEN ", " RULE("deny", "a.example:443") "}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { "{" OPEN ", " RULE("ask", "a.example:443") "}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { "network: {allow: [" PUBLIC "], methods: [GET]}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { "network: {allow: [" PUBLIC "], max_bytes: 1M}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	{ { "network: {allow: [" PUBLIC "], rate_limit: 5/s}" }, PLAN_NETWORK_RELAY,
		PLAN_NETWORK_RELAY },
	/* Everything. */
	{ { "network: {allow: [" EVERYTHING "]}" }, PLAN_NETWORK_HOST, PLAN_NETWORK_HOST },
	{ { "network: {allow: [" EVERYTHING "]}", OPEN }, PLAN_NETWORK_RELAY, PLAN_NETWORK_HOST },
	/* Servers inside, that the host is to reach. */
	{ { "network: {listen: [8080]}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {private: ['a.com:80']}" }, PLAN_NETWORK_RELAY, PLAN_NETWORK_RELAY },
	{ { "network: {private: ['a.com:80']}", "{}" }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
	{ { "network: {listen: [8080]}", "{}" }, PLAN_NETWORK_NONE, PLAN_NETWORK_NONE },
};

static void test_network(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(networks); i++) {
		bool open = i % 2;
		enum plan_network want =
			open ? networks[i / 2].want_if_public : networks[i / 2].want;
		struct test_policy t;
		auto_plan *plan = NULL;

		test_policy_init(&t, networks[i / 2].layers);
		assert_int_equal(make(&t, open, &plan), 0);
		if (plan->network != want) {
			print_error("%s %s: %d, expected %d\n", networks[i / 2].layers[0],
				open ? "(public is open)" : "", plan->network, want);
			failed++;
		}
		/* A person is told. */
		assert_int_equal(plan->n_notes > 0, plan->network == PLAN_NETWORK_HOST);
		test_policy_deinit(&t);
	}
	assert_int_equal(failed, 0);
}

/* To be reported, there must be a person who can be asked; all else is as it was. */
static void test_explained(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(networks); i++) {
		enum plan_network want = networks[i].want;
		struct test_policy t;
		struct plan_options o;
		auto_plan *plan = NULL;

		test_policy_init(&t, networks[i].layers);
		o = test_policy_options(&t);
		o.explain = true;
		if (want == PLAN_NETWORK_NONE && o.n_layers > 0)
			want = PLAN_NETWORK_RELAY;
		assert_int_equal(plan_new(&plan, &o, NULL), 0);
		assert_int_equal(plan->network, want);
		test_policy_deinit(&t);
	}
}

/* Ports */

static const struct {
	const char *layers[TEST_LAYERS_MAX];
	size_t n;
	const char *ports; /* in order, with spaces between */
} published[] = {
	{ { "{}" }, 0, "" },
	{ { "network: {listen: [8080, 1, 65535]}" }, 3, "8080 1 65535 " },
	{ { "network: {listen: [8080, 9, 8080]}" }, 2, "8080 9 " },
	{ { "network: {listen: [8080, 9]}", "network: {listen: [10, 9]}" }, 1, "9 " },
	{ { "network: {listen: [8080]}", "network: {allow: ['*:*']}" }, 0, "" },
	{ { "network: {allow: ['*:*']}", "network: {listen: [8080]}" }, 0, "" },
	{ { "network: {listen: [9]}", "network: {listen: [9]}", "network: {listen: [8]}" }, 0, "" },
	{ { "network: {listen: ['8080:80', '0.0.0.0:9', '[::]:9:1', 'localhost:8080:80']}" }, 3,
		"8080:80 0.0.0.0:9 [::]:9:1 " },
	/* What one layer publishes for others, another one does not. */
	{ { "network: {listen: ['0.0.0.0:9']}", "network: {listen: [9]}" }, 0, "" },
	{ { "network: {listen: ['9:1']}", "network: {listen: [9]}" }, 0, "" },
};

static void test_ports(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(published); i++) {
		struct test_policy t;
		auto_plan *plan = NULL;
		auto_buffer text = { 0 };

		test_policy_init(&t, published[i].layers);
		assert_int_equal(make(&t, false, &plan), 0);
		assert_int_equal(plan->n_ports, published[i].n);
		for (size_t k = 0; k < plan->n_ports; k++) {
			listen_print(&plan->ports[k], &text);
			buffer_addc(&text, ' ');
		}
		assert_string_equal(buffer_text(&text), published[i].ports);
		test_policy_deinit(&t);
	}
}

/* A file cannot say these, but who fills in permissions by hand can. */
static void test_bad_ports(void **state)
{
	static const char *const bad[] = { "", "0", "65536", "-1", "+1", " 1", "80x", "http", "1-2",
		"99999999999999999999", "example.com:80", "*:80" };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct test_policy t;
		auto_plan *plan = NULL;

		test_policy_init(&t, (const char *const[]){ "{}", NULL });
		assert_int_equal(
			permissions_add(t.layers[0], &t.layers[0]->listen, bad[i], NULL), 0);
		if (make(&t, false, &plan) != -EINVAL)
			fail_msg("'%s' is taken for a port", bad[i]);
		test_policy_deinit(&t);
	}
}

static int publish(unsigned n, struct plan **ret)
{
	auto_buffer yaml = { 0 };
	struct test_policy t;
	int r;

	buffer_adds(&yaml, "network: {listen: [");
	for (unsigned i = 0; i < n; i++)
		buffer_printf(&yaml, "%u, ", 1000 + i);
	/* Again what is there already. */
	buffer_adds(&yaml, "1000]}");
	test_policy_init(&t, (const char *const[]){ buffer_text(&yaml), NULL });
	r = make(&t, false, ret);
	test_policy_deinit(&t);
	return r;
}

static void test_many_ports(void **state)
{
	auto_plan *plan = NULL;

	(void)state;
	assert_int_equal(publish(PLAN_PORTS_MAX + 1, &plan), -E2BIG);
	assert_null(plan);
	assert_int_equal(publish(PLAN_PORTS_MAX, &plan), 0);
	assert_int_equal(plan->n_ports, PLAN_PORTS_MAX);
	assert_int_equal(plan->ports[PLAN_PORTS_MAX - 1].port, 1000 + PLAN_PORTS_MAX - 1);
}

/* A port of the host leads to one port of the sandbox. */
static void test_ports_for_two(void **state)
{
	struct test_policy t;
	auto_plan *plan = NULL;

	(void)state;
	test_policy_init(&t, (const char *const[]){ "network: {listen: ['9:1', '9:2']}", NULL });
	assert_int_equal(make(&t, false, &plan), -EINVAL);
	test_policy_deinit(&t);
}

/* Loopback */

enum { BOTH = PLAN_FAMILY_4 | PLAN_FAMILY_6 };

#define ALLOW(host) "network: {allow: ['" host "']}"

static const struct {
	const char *layers[TEST_LAYERS_MAX];
	size_t n;
	struct plan_range ranges[3];
} loopbacks[] = {
	{ { ALLOW("a.example:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("10.0.0.1:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("*:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("localhost.example:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("notlocalhost:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("udp://localhost:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("[2001:db8::1]:5432") }, 0, { { 0, 0, 0 } } },
	{ { ALLOW("localhost:5432") }, 1, { { 5432, 5432, BOTH } } },
	{ { ALLOW("db.localhost:5432") }, 1, { { 5432, 5432, BOTH } } },
	{ { ALLOW("*.localhost:5432") }, 1, { { 5432, 5432, BOTH } } },
	{ { ALLOW("127.0.0.1:80-90") }, 1, { { 80, 90, PLAN_FAMILY_4 } } },
	{ { ALLOW("127.9.9.9:80") }, 1, { { 80, 80, PLAN_FAMILY_4 } } },
	{ { ALLOW("127.0.0.0/8:80") }, 1, { { 80, 80, PLAN_FAMILY_4 } } },
	{ { ALLOW("[::1]:5") }, 1, { { 5, 5, PLAN_FAMILY_6 } } },
	{ { ALLOW("http://localhost/") }, 1, { { 80, 80, BOTH } } },
	{ { ALLOW("localhost") }, 1, { { 1, UINT16_MAX, BOTH } } },
	{ { ALLOW("localhost:*") }, 1, { { 1, UINT16_MAX, BOTH } } },
	{ { RULE("allow", "localhost:7") }, 1, { { 7, 7, BOTH } } },
	/* One in another. */
	{ { "network: {allow: ['localhost:1-9', '127.0.0.1:2-9', '[::1]:9']}" }, 1,
		{ { 1, 9, BOTH } } },
	{ { "network: {allow: ['localhost:5', '127.0.0.1:7', '[::1]:5']}" }, 2,
		{ { 5, 5, BOTH }, { 7, 7, PLAN_FAMILY_4 } } },
	/* Named by any layer: who decides is the policy. */
	{ { ALLOW("localhost:5"), ALLOW("127.0.0.1:1-9") }, 2,
		{ { 5, 5, BOTH }, { 1, 9, PLAN_FAMILY_4 } } },
	{ { ALLOW("localhost:5"), ALLOW("*:*") }, 1, { { 5, 5, BOTH } } },
	{ { ALLOW("localhost:5"), "{}" }, 0, { { 0, 0, 0 } } },
};

static void test_loopback(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(loopbacks); i++) {
		struct test_policy t;
		auto_plan *plan = NULL;

		test_policy_init(&t, loopbacks[i].layers);
		assert_int_equal(make(&t, false, &plan), 0);
		if (plan->n_loopback != loopbacks[i].n ||
			memcmp(plan->loopback, loopbacks[i].ranges,
				plan->n_loopback * sizeof(plan->loopback[0])) != 0) {
			print_error("%s: %zu ranges, the first %u-%u\n", loopbacks[i].layers[0],
				plan->n_loopback, plan->loopback[0].lo, plan->loopback[0].hi);
			failed++;
		}
		test_policy_deinit(&t);
	}
	assert_int_equal(failed, 0);
}

/* More than there is room for is all of them. */
static void test_many_ranges(void **state)
{
	static const char eight[] = "'localhost:1', 'localhost:3', 'localhost:5', 'localhost:7', "
				    "'localhost:9', 'localhost:11', 'localhost:13', 'localhost:15'";
	auto_buffer yaml = { 0 };
	auto_plan *full = NULL, *over = NULL;

	(void)state;
	buffer_printf(&yaml, "network: {allow: [%s]}", eight);
	full = make_one(buffer_text(&yaml));
	assert_int_equal(full->n_loopback, PLAN_RANGES_MAX);
	assert_int_equal(full->loopback[7].hi, 15);
	buffer_clear(&yaml);
	buffer_printf(&yaml, "network: {allow: [%s, 'localhost:17', 'localhost:19']}", eight);
	over = make_one(buffer_text(&yaml));
	assert_int_equal(over->n_loopback, 1);
	assert_int_equal(over->loopback[0].lo, 1);
	assert_int_equal(over->loopback[0].hi, UINT16_MAX);
}

/* Files about hosts */

/* A relay's or, without one, what every sandbox has. */
static void test_files(void **state)
{
	auto_plan *relay = make_one(ALLOW("a.example:443"));
	auto_plan *none = make_one("{}");

	(void)state;
	assert_int_equal(at(relay, "/etc/hosts")->kind, PLAN_FILE);
	assert_non_null(strstr(at(relay, "/etc/hosts")->text, "127.0.0.1 localhost\n"));
	assert_non_null(strstr(at(relay, "/etc/hosts")->text, PLAN_SELF_4 " corral\n"));
	assert_null(strstr(at(none, "/etc/hosts")->text, PLAN_SELF_4));
	assert_non_null(strstr(
		plan_find(relay, "/etc/resolv.conf")->text, "nameserver " PLAN_SERVER_4 "\n"));
	assert_non_null(
		strstr(plan_find(none, "/etc/resolv.conf")->text, "nameserver 127.0.0.53\n"));
}

/* Whatever the policy says of the files around them. */
static void test_covers(void **state)
{
	static const char *const grants[] = { "read: [/etc/**]", "read: [/etc/hosts]",
		"read: [/**]", "write: [/etc/hosts]" };

	(void)state;
	for (size_t i = 0; i < ROWS(grants); i++) {
		auto_buffer yaml = { 0 };
		auto_plan *plan = NULL;
		const struct plan_entry *hosts;

		buffer_printf(&yaml, "{fs: {%s}, network: {allow: ['a.example:443']}}", grants[i]);
		plan = make_one(buffer_text(&yaml));
		hosts = at(plan, "/etc/hosts");
		assert_non_null(hosts);
		assert_int_equal(hosts->kind, PLAN_FILE);
		assert_false(hosts->writable || hosts->exec);
		assert_non_null(strstr(hosts->text, PLAN_SELF_4 " corral\n"));
	}
}

/* Without a relay, who grants the host's files means them, but for the name server. */
static void test_originals(void **state)
{
	auto_plan *none = make_one("fs: {read: [/etc/**]}");
	auto_plan *host = make_one("{fs: {read: [/etc/**]}, network: {allow: [" EVERYTHING "]}}");
	auto_plan *bare = make_one("network: {allow: [" EVERYTHING "]}");

	(void)state;
	assert_null(at(none, "/etc/hosts"));
	assert_non_null(strstr(at(none, "/etc/resolv.conf")->text, PLAN_SERVER_LOCAL "\n"));
	assert_null(at(host, "/etc/hosts"));
	assert_int_equal(at(bare, "/etc/hosts")->kind, PLAN_BIND);
}

static void test_denied(void **state)
{
	auto_plan *around = make_one("{fs: {read: [/etc/**], deny: [/etc/hosts]}, "
				     "network: {allow: ['a.example:443']}}");
	auto_plan *alone = make_one("{fs: {deny: [/etc/hosts]}, "
				    "network: {allow: ['a.example:443']}}");

	(void)state;
	assert_int_equal(at(around, "/etc/hosts")->kind, PLAN_MASK);
	assert_null(at(alone, "/etc/hosts"));
}

static int set_up(void **state)
{
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_explained),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_bad_ports),
		cmocka_unit_test(test_many_ports),
		cmocka_unit_test(test_ports_for_two),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_many_ranges),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_originals),
		cmocka_unit_test(test_denied),
	};

	return cmocka_run_group_tests_name("plan-network", tests, set_up, test_plan_tear_down);
}
