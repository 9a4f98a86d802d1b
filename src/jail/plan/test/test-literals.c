/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel without nf_tables could hold: addresses to listen at, or a sentence. */
#include "base/array.h"
#include "jail/plan/test/test-plan.h"

static const struct {
	const char *layers[3];
	const char *expected; /* the addresses, or what the sentence begins with */
} cases[] = {
	{ { "network: {allow: [api.example.com:443, '*.example.org:80-95']}" }, "" },
	{ { "network: {allow: [api.example.com:443, '10.1.2.3:5432', '[2001:db8::1]:80-81']}" },
		"10.1.2.3:5432 2001:db8::1:80 2001:db8::1:81 " },
	/* Each once. */
	{ { "network: {allow: ['1.2.3.4:80', '1.2.3.4/32:80', '1.2.3.4:79-80']}" },
		"1.2.3.4:80 1.2.3.4:79 " },
	{ { "network: {allow: ['https://1.2.3.4/v1/**']}" }, "1.2.3.4:443 " },
	{ { "rules: [{id: a, action: allow, operations: [net.connect], patterns: "
	    "['1.2.3.4:80']}]" },
		"1.2.3.4:80 " },
	{ { "network: {deny: ['*', '10.0.0.0/8', 'udp://a.com', 'localhost'], allow: "
	    "['1.2.3.4:80']}" },
		"1.2.3.4:80 " },

	{ { "network: {allow: [a.com:443, '*:443']}" },
		"policy.yaml:1:30: *:443 cannot be enforced: this kernel lacks nf_tables, and "
		"without it only hosts that are listed by name" },
	{ { "network: {allow: ['10.0.0.0/8:443']}" },
		"policy.yaml:1:19: 10.0.0.0/8:443 cannot be enforced: this kernel lacks "
		"nf_tables, and without it only single addresses" },
	{ { "network: {allow: ['[2001:db8::]/127:443']}" },
		"policy.yaml:1:19: [2001:db8::]/127:443 " },
	{ { "network: {allow: ['udp://a.com:53']}" },
		"policy.yaml:1:19: udp://a.com:53 cannot be enforced: this kernel lacks "
		"nf_tables, and without it datagrams" },
	{ { "network: {allow: [localhost:80]}" },
		"policy.yaml:1:19: localhost:80 cannot be enforced: this kernel lacks nf_tables, "
		"and without it the host's loopback" },
	{ { "network: {allow: ['127.0.0.1:80']}" }, "policy.yaml:1:19: 127.0.0.1:80 " },
	{ { "network: {allow: ['[::1]:80']}" }, "policy.yaml:1:19: [::1]:80 " },
	{ { "network: {allow: [a.com]}" },
		"policy.yaml:1:19: a.com:* cannot be enforced: this kernel lacks nf_tables, and "
		"without it at most 16 ports" },
	{ { "network: {allow: [a.com:1-17]}" }, "policy.yaml:1:19: a.com:1-17 " },
	{ { "network: {allow: ['1.2.3.4']}" }, "policy.yaml:1:19: 1.2.3.4:* " },
	{ { "{default: allow, fs: {deny: ['/**']}, network: {allow: [a.com:443]}}" },
		"a layer that allows every host by default cannot be enforced" },
	{ { "rules: [{id: a, action: allow, operations: [net.connect], patterns: ['*:80']}]" },
		"policy.yaml:1:70: *:80 " },

	/* One layer that names them is enough, whatever the others say. */
	{ { "network: {allow: ['*', 'udp://*']}", "network: {allow: ['1.2.3.4:80', a.com:443]}" },
		"1.2.3.4:80 " },
	{ { "network: {allow: ['1.2.3.4:80', a.com:443]}", "network: {allow: ['0.0.0.0/0']}" },
		"1.2.3.4:80 " },
	{ { "network: {allow: ['*:80', '1.2.3.4:81']}", "network: {allow: ['1.0.0.0/8']}" },
		"policy.yaml:1:19: 1.0.0.0/8:* " },
};

static void print(const struct plan *plan, struct buffer *out)
{
	if (plan->unheld) {
		assert_int_equal(plan->n_literals, 0);
		buffer_adds(out, plan->unheld);
	}
	for (size_t i = 0; i < plan->n_literals; i++) {
		address_print(&plan->literals[i].address, out);
		buffer_printf(out, ":%u ", plan->literals[i].port);
	}
}

static struct plan *make(const char *const *layers)
{
	struct test_policy t;
	struct plan_options o;
	struct plan *plan = NULL;
	struct error e = { 0 };

	test_policy_init(&t, layers);
	o = test_policy_options(&t);
	if (plan_new(&plan, &o, &e) < 0)
		fail_msg("%s: %s", layers[0], e.text);
	test_policy_deinit(&t);
	assert_int_equal(plan->network, PLAN_NETWORK_RELAY);
	return plan;
}

static void test_cases(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_plan *plan = make(cases[i].layers);
		auto_buffer text = { 0 };
		size_t len = plan->unheld ? strlen(cases[i].expected) : SIZE_MAX;

		print(plan, &text);
		if (strncmp(buffer_text(&text), cases[i].expected, len) != 0) {
			print_message("%zu: %s\n---- expected: %s\n", i, buffer_text(&text),
				cases[i].expected);
			failed++;
		}
	}
	assert_int_equal(failed, 0);
}

/* Sockets for names: one for each port. */
static void test_listeners(void **state)
{
	static const struct {
		const char *layers[3];
		size_t n;
	} rows[] = {
		{ { "network: {allow: ['1.2.3.4:80']}" }, 0 },
		{ { "network: {allow: [a.com:443, b.com:80-95]}" }, 17 },
		{ { "network: {allow: [a.com:443, '*.b.com:443']}" }, PLAN_LISTENERS_MAX },
		{ { "network: {allow: ['*']}", "network: {allow: [a.com:443]}" }, 1 },
		{ { "network: {allow: [a.com:443, '*']}" }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_plan *plan = make(rows[i].layers);

		assert_int_equal(plan->n_listeners, rows[i].n);
	}
}

/* As many as there is room for, and one more. */
static void test_many(void **state)
{
	(void)state;
	for (unsigned n = PLAN_LITERALS_MAX; n <= PLAN_LITERALS_MAX + 1; n++) {
		auto_buffer layer = { 0 };
		auto_plan *plan = NULL;

		buffer_adds(&layer, "network: {allow: [");
		for (unsigned i = 0; i < n; i++)
			buffer_printf(&layer, "%s'1.2.%u.%u:80'", i ? ", " : "", i / 200, i % 200);
		buffer_adds(&layer, "]}");
		plan = make((const char *const[]){ buffer_text(&layer), NULL });
		assert_int_equal(plan->n_literals, n == PLAN_LITERALS_MAX ? n : 0);
		assert_true((plan->unheld != NULL) == (n > PLAN_LITERALS_MAX));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, test_plan_set_up, test_plan_tear_down);
}
