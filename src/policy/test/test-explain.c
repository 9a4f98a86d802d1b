/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include "base/array.h"
#include "policy/explain.h"

struct row {
	const char *yaml, *request;
	const char *reason, *rule, *line, *remedy;
};

static void check(const struct row *row, const char *what, const char *want, struct buffer *got)
{
	if (strcmp(buffer_text(got), want) != 0)
		fail_msg("%s: %s: %s <%s>, want <%s>", row->yaml, row->request, what,
			buffer_text(got), want);
	buffer_deinit(got);
}

#define NOTHING(list) "nothing in " list " grants it"

static const struct row rows[] = {
	{ "fs: {read: [/a]}", "fs.read /a", "fs.read grants /a", "test.yaml:1: /a", "", "" },
	{ "fs: {write: [{all: [/a*, '/*b']}]}", "fs.read /ab", "fs.write grants /a* and /*b",
		"test.yaml:1: /a*", "", "" },
	{ "{}", "fs.read /a/../b", NOTHING("fs.read or fs.write"), "", "fs: {read: [\"/b\"]}",
		"add fs: {read: [\"/b\"]} to test.yaml" },
	{ "{}", "fs.write /a*", NOTHING("fs.write"), "", "fs: {write: [\"/a\\\\*\"]}",
		"add fs: {write: [\"/a\\\\*\"]} to test.yaml" },
	{ "{}", "net.connect https://H.com/x", NOTHING("network.allow"), "",
		"network: {allow: [\"h.com:443\"]}",
		"add network: {allow: [\"h.com:443\"]} to test.yaml" },
	{ "{}", "net.connect udp://[::1]:53", NOTHING("network.allow"), "",
		"network: {allow: [\"udp://[::1]:53\"]}",
		"add network: {allow: [\"udp://[::1]:53\"]} to test.yaml" },
	{ "{}", "net.connect unix:/a*", NOTHING("network.allow"), "", "",
		"none: it cannot be written in a policy file" },
	{ "{}", "env A", NOTHING("env"), "", "env: [\"A\"]", "add env: [\"A\"] to test.yaml" },
	{ "{}", "env A=1", NOTHING("env"), "", "env: [\"A=1\"]",
		"add env: [\"A=1\"] to test.yaml" },
	{ "{}", "env A?", NOTHING("env"), "", "", "none: it cannot be written in a policy file" },
	{ "{}", "env A*=1", NOTHING("env"), "", "", "none: it cannot be written in a policy file" },
	{ "{default: allow}", "secret A=X.example:443", NOTHING("secrets"), "",
		"secrets: {\"A\": {hosts: [\"x.example:443\"], in: [header]}}",
		"add secrets: {\"A\": {hosts: [\"x.example:443\"], in: [header]}} to test.yaml" },
	{ "secrets: {A: {hosts: ['x.example:443'], programs: [/a]}}", "secret A=x.example:443",
		"secrets grants it to programs that are named", "",
		"secrets: {\"A\": {hosts: [\"x.example:443\"], in: [header]}}",
		"add secrets: {\"A\": {hosts: [\"x.example:443\"], in: [header]}} to test.yaml" },
	{ "{}", "secret A=x.example:443,query,/usr/bin/gh", NOTHING("secrets"), "",
		"secrets: {\"A\": {hosts: [\"x.example:443\"], in: [query], programs: "
		"[\"/usr/bin/gh\"]}}",
		"add secrets: {\"A\": {hosts: [\"x.example:443\"], in: [query], programs: "
		"[\"/usr/bin/gh\"]}} to test.yaml" },
	{ "{}", "service reminders.read:Work", NOTHING("services"), "",
		"services: {\"reminders\": {access: read, lists: [\"Work\"]}}",
		"add services: {\"reminders\": {access: read, lists: [\"Work\"]}} to test.yaml" },
	{ "{}", "service reminders.read", NOTHING("services"), "",
		"services: {\"reminders\": {access: read}}",
		"add services: {\"reminders\": {access: read}} to test.yaml" },
	{ "{}", "service browser.open:https://A.example:8443/x", NOTHING("services"), "",
		"services: {\"browser\": {access: open, domains: [\"a.example\"]}}",
		"add services: {\"browser\": {access: open, domains: [\"a.example\"]}} to "
		"test.yaml" },
	{ "{}", "service nope.read", NOTHING("services"), "", "",
		"none: it cannot be written in a policy file" },
	{ "services: {notifications: true}", "service notifications.send", "services grants it", "",
		"", "" },
	{ "exec: []", "exec git push", NOTHING("exec"), "", "exec: [\"git\"]",
		"add exec: [\"git\"] to test.yaml" },
	{ "exec: ['git status:*']", "exec git push -f", NOTHING("exec"), "",
		"exec: [\"git push:*\"]", NULL },
	{ "exec: ['git status:*']", "exec git", NOTHING("exec"), "", "exec: [\"git\"]", NULL },
	{ "exec: ['git status:*']", "exec ls -l", NOTHING("exec"), "", "exec: [\"ls\"]", NULL },
	{ "exec: []", "exec /bin//a:", NOTHING("exec"), "", "exec: [\"/bin/a::*\"]", NULL },
	{ "exec: []", "exec ~", NOTHING("exec"), "", "exec: [\"\\\\~\"]", NULL },
	{ "{}", "exec /bin/ls", "the file may not be read, so it may not be run", "",
		"fs: {read: [\"/bin/ls\"]}", NULL },
	{ "{}", "exec ls", "the file may not be read, so it may not be run", "", "exec: [\"ls\"]",
		NULL },
	{ "fs: {read: [/bin/**]}", "exec /bin/ls",
		"the policy has no list of programs, and the file may be read",
		"test.yaml:1: /bin/**", "", "" },
	{ "fs: {deny: [/s]}", "fs.read /s", "fs.deny denies /s", "test.yaml:1: /s", "",
		"remove or narrow test.yaml:1: /s" },
	{ "{fs: {deny: [/s]}, exec: [/s]}", "exec /s", "fs.deny denies /s", "test.yaml:1: /s", "",
		"remove or narrow test.yaml:1: /s" },
	{ "rules: [{id: r1, action: ask, operations: [env], patterns: [A]}]", "env A",
		"rule r1 asks about A", "test.yaml:1: A", "",
		"allow it in test.yaml:1: A, or by an answer, where the user can be asked" },
	{ "rules: [{id: r1, action: deny, operations: [env], patterns: [A]}]", "env A",
		"rule r1 denies A", "test.yaml:1: A", "", "remove or narrow test.yaml:1: A" },
	{ "rules: [{id: r1, action: allow, operations: [env], patterns: [A]}]", "env A",
		"rule r1 grants A", "test.yaml:1: A", "", "" },
	{ "default: ask", "env A", "no rule matches, and the default is ask", "", "env: [\"A\"]",
		"add env: [\"A\"] to test.yaml" },
	{ "default: allow", "env A", "no rule matches, and the default is allow", "", "", "" },
	{ "mode: audit", "env A",
		"no rule denies it, and this layer only blocks what a rule denies; it would be "
		"denied, but the layer only audits",
		"", "", "" },
	{ "mode: monitor", "env A",
		NOTHING("env") "; it would be denied, but the layer only monitors", "", "", "" },
	{ "{mode: monitor, rules: [{id: r1, action: ask, operations: [env], patterns: [A]}]}",
		"env A",
		"rule r1 asks about A; it would be asked about, but the layer only monitors",
		"test.yaml:1: A", "", "" },
	{ "fs: {read: [/**]}", "fs.read /etc/shadow",
		"the baseline denies /etc/shadow (it holds the accounts of this machine)", "",
		"dangerously_allow: [\"/etc/shadow\"]",
		"the baseline denies it unless it is granted and listed: dangerously_allow: "
		"[\"/etc/shadow\"]" },
	{ "network: {allow: ['169.254.169.254']}", "net.connect 169.254.169.254",
		"the baseline denies 169.254.169.254 (it hands the machine's own cloud "
		"credentials to whoever asks)",
		"", "", "none: the baseline denies it, and no grant overrides that" },
	{ "network: {allow: [h.com], methods: [GET]}", "net.connect https://h.com/ POST",
		"network.methods does not include POST", "", "network: {methods: [POST]}",
		"add network: {methods: [POST]} to test.yaml" },
	{ "network: {allow: [h.com], methods: [GET]}", "net.connect https://h.com/ BREW",
		"network.methods does not include BREW", "", "",
		"none: it cannot be written in a policy file" },
	{ "default: allow", "net.connect 10.0.0.1:80",
		"10.0.0.0/8 (it is a private network) requires a grant that names it", "",
		"network: {allow: [\"10.0.0.1:80\"]}",
		"add network: {allow: [\"10.0.0.1:80\"]} to test.yaml" },
	{ "{}", "fs.read relative", "the target is malformed", "", "", "" },
	{ "all_of: [{}, {fs: {read: [/b]}}]", "fs.read /a", NOTHING("fs.read or fs.write"), "",
		"fs: {read: [\"/a\"]}",
		"add fs: {read: [\"/a\"]} to test.yaml (2 layers do not allow it)" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_policy *p = test_compile(rows[i].yaml);
		struct buffer text = { 0 };
		struct test_request q;
		struct decision d;

		test_request(&q, rows[i].request);
		(void)policy_decide(p, &q.request, &d);
		explain_reason(&q.request, &d, &text);
		check(&rows[i], "reason", rows[i].reason, &text);
		explain_rule(&d, &text);
		check(&rows[i], "rule", rows[i].rule, &text);
		explain_line(&q.request, &d, &text);
		check(&rows[i], "line", rows[i].line, &text);
		explain_remedy(&q.request, &d, &text);
		if (rows[i].remedy)
			check(&rows[i], "remedy", rows[i].remedy, &text);
		buffer_deinit(&text);
	}
}

static void test_no_policy(void **state)
{
	const struct request q = { .op = OPERATION_FS_READ, .target = "/a" };
	auto_buffer reason = { 0 }, remedy = { 0 };
	auto_policy *p = NULL;
	struct decision d;

	(void)state;
	assert_int_equal(policy_new(&p, NULL, 0, NULL, NULL), 0);
	assert_int_equal(policy_decide(p, &q, &d), 0);
	explain_reason(&q, &d, &reason);
	explain_remedy(&q, &d, &remedy);
	assert_string_equal(buffer_text(&reason), "there is no policy");
	assert_string_equal(buffer_text(&remedy), "add fs: {read: [\"/a\"]}");
}

/* Foreign text must not reach the terminal as it is, and what no file can hold is not suggested. */
static void test_hostile_text(void **state)
{
	auto_permissions *p = permissions_new();
	const struct permissions *layer = p;
	const struct location where = { "f\x1b.yaml", 0, 0 };
	auto_policy *policy = NULL;
	auto_buffer reason = { 0 }, rule = { 0 }, line = { 0 }, remedy = { 0 };
	struct request q = { .op = OPERATION_FS_READ, .target = "/\x1b[31m" };
	struct decision d;

	(void)state;
	p->origin = "o\x07rigin";
	assert_int_equal(permissions_add(p, &p->fs_deny, "/\x1b*", &where), 0);
	assert_int_equal(policy_new(&policy, &layer, 1, NULL, NULL), 0);
	assert_int_equal(policy_decide(policy, &q, &d), 0);
	explain_reason(&q, &d, &reason);
	explain_rule(&d, &rule);
	assert_string_equal(buffer_text(&reason), "fs.deny denies /\\x1b*");
	assert_string_equal(buffer_text(&rule), "f\\x1b.yaml: /\\x1b*");

	/* Made by code, in no file. */
	p->fs_deny.items[0].where.file = NULL;
	policy_free(policy);
	assert_int_equal(policy_new(&policy, &layer, 1, NULL, NULL), 0);
	assert_int_equal(policy_decide(policy, &q, &d), 0);
	buffer_clear(&rule);
	explain_rule(&d, &rule);
	assert_string_equal(buffer_text(&rule), "/\\x1b*");

	q.target = "/\x07";
	assert_int_equal(policy_decide(policy, &q, &d), 0);
	explain_remedy(&q, &d, &remedy);
	assert_string_equal(buffer_text(&remedy), "add fs: {read: [\"/\\u0007\"]} to o\\x07rigin");
	q.target = "/\xff";
	assert_int_equal(policy_decide(policy, &q, &d), 0);
	explain_line(&q, &d, &line);
	assert_string_equal(buffer_text(&line), "");
	/* A target that is no path, in a decision that was made up. */
	q.target = "x";
	explain_line(&q, &d, &line);
	q.op = OPERATION_NET_CONNECT;
	q.target = "";
	explain_line(&q, &d, &line);
	q.op = OPERATION_SERVICE;
	q.target = "vault";
	explain_line(&q, &d, &line);
	assert_string_equal(buffer_text(&line), "");
	q.target = "vault.read:A";
	explain_line(&q, &d, &line);
	assert_string_equal(
		buffer_text(&line), "services: {\"vault\": {access: read, secrets: [\"A\"]}}");
}

static void test_option(void **state)
{
	static const struct {
		const char *remedy, *option, *value, *rest;
	} options[] = {
		{ "add fs: {read: [\"/srv/a b\"]}", "--read", "/srv/a b", "" },
		{ "add fs: {write: [\"/srv/a\"]} (2 layers do not allow it)", "--write", "/srv/a",
			" (2 layers do not allow it)" },
		{ "add exec: [\"git\"]", "--exec", "git", "" },
		{ "add network: {allow: [\"a.example:443\"]}", "--net", "a.example:443", "" },
		{ "add network: {private: [\"a.example:443\"]}", "--net-private", "a.example:443",
			"" },
		/* It has a file, or is none of these, or would have to be escaped. */
		{ "add fs: {read: [\"/srv/a\"]} to policy.yaml", NULL, "", "" },
		{ "add fs: {read: [\"/srv/a\"]}, below permissions:", NULL, "", "" },
		{ "add fs: {read: [\"/srv/\\\\*\"]}", NULL, "", "" },
		{ "add fs: {read: [\"/srv/a", NULL, "", "" },
		{ "add env: [\"A\"]", NULL, "", "" },
		{ "remove or narrow p.yaml:1: /s", NULL, "", "" },
		{ "", NULL, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(options); i++) {
		const char *rest = "", *option;
		auto_buffer value = { 0 };

		option = explain_option(options[i].remedy, &value, &rest);
		assert_int_equal(!option, !options[i].option);
		if (option)
			assert_string_equal(option, options[i].option);
		assert_string_equal(buffer_text(&value), options[i].value);
		assert_string_equal(rest, options[i].rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_policy),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_option),
	};

	return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
