/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "policy/algebra/subset.h"

static void compare(struct subset *s, const char *a, const char *b)
{
	auto_permissions *x = test_read(a), *y = test_read(b);
	struct error e = { 0 };
	int r = subset_compare(s, x, y, &test_options, &e);

	if (r < 0)
		fail_msg("%s in %s: %d: %s", a, b, r, e.text);
}

#define NO(what, witness) SUBSET_NO, what, witness
#define YES SUBSET_YES, NULL, NULL
#define COMPLEX(reason) SUBSET_TOO_COMPLEX, NULL, reason

#define ENV_RULE(pattern) \
	"rules: [{id: a, action: deny, operations: [env], patterns: ['" pattern "']}]"

static void test_answers(void **state)
{
	static const struct {
		const char *a, *b;
		enum subset_answer answer;
		const char *what, *text;
	} rows[] = {
		{ "{}", "{}", YES },
		{ "{}", "fs: {read: [/**]}", YES },
		{ "fs: {read: [/a]}", "{}", NO("fs.read", "/a") },
		{ "fs: {read: [/a/b]}", "fs: {read: [/a/**]}", YES },
		{ "fs: {read: [/a/**]}", "fs: {read: [/a/b]}", NO("fs.read", "/a") },
		{ "fs: {read: ['/a/{b,c}']}", "fs: {read: [/a/b, /a/c]}", YES },
		{ "fs: {read: [/a]}", "fs: {write: [/a]}", YES },
		{ "fs: {write: [/a]}", "fs: {read: [/a]}", NO("fs.write", "/a") },
		{ "fs: {read: [/a/**], deny: [/a/s]}", "fs: {read: [/a/**]}", YES },
		{ "fs: {read: [/a/**]}", "fs: {read: [/a/**], deny: [/a/s]}",
			NO("fs.read", "/a/s") },
		{ "fs: {read: [~/x]}", "fs: {read: [/home/me/**]}", YES },
		{ "dangerously_allow: [/etc/shadow]", "{}",
			NO("dangerously_allow", "/etc/shadow") },
		{ "dangerously_allow: [/etc/shadow]", "dangerously_allow: [/etc/**]", YES },
		{ "guest_paths: [{guest: /g, host: /h, mode: rw}]", "fs: {write: [/h/**]}", YES },
		{ "{mode: monitor}", "{default: allow, mode: audit}", YES },
		{ "{default: ask}", "{}", NO("fs.read", "/") },
		{ "{}", "{default: ask}", YES },

		{ "network: {allow: ['h.com:443']}", "network: {allow: ['*.com', 'h.com']}", YES },
		{ "network: {allow: ['*:443']}", "network: {allow: ['*.com:443']}",
			NO("net.connect", "corral-witness.corral-witness:443") },
		{ "network: {allow: ['udp://h.com']}",
			"network: {allow: ['udp://h.com:1-100', 'udp://h.com:101-65535']}",
			NO("net.connect", "udp://h.com") },
		{ "network: {allow: [10.1.0.0/16]}", "network: {allow: [10.0.0.0/8]}", YES },
		{ "network: {allow: [10.0.0.0/8]}", "network: {allow: ['*']}",
			NO("net.connect", "10.0.0.0") },
		{ "network: {allow: ['[2001:db8::]/32:1-5']}",
			"network: {allow: ['[2001:db8::]/33:1-5']}",
			NO("net.connect", "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:1") },
		{ "network: {allow: ['unix:/a']}", "network: {allow: ['unix:/b']}",
			NO("net.connect", "unix:/a") },
		{ "network: {allow: ['unix:/a']}", "network: {allow: ['unix:/a']}", YES },
		{ "network: {allow: [localhost]}",
			"network: {allow: [localhost, 127.0.0.1, '::1']}", YES },
		{ "network: {allow: ['https://h.com/v1']}", "network: {allow: ['h.com']}",
			COMPLEX("network patterns with URL paths or methods") },
		{ "network: {private: ['h.com:443']}", "network: {private: [h.com]}", YES },
		{ "network: {allow: ['h.com:443']}", "network: {private: [h.com]}", YES },
		{ "network: {private: ['h.com:443']}", "network: {allow: [h.com]}",
			NO("network.private", "h.com:443") },
		{ "network: {private: ['*.h.com:443']}",
			"network: {private: ['a.h.com:443'], allow: ['*.h.com:443']}",
			NO("network.private", "corral-witness.h.com:443") },
		{ "all_of: [{network: {private: ['h.com:443']}}, "
		  "{network: {allow: [h.com, 10.0.0.1]}}]",
			"network: {allow: [h.com]}",
			COMPLEX("network.private beside grants of addresses") },
		{ "network: {allow: ['https://a.com/v1/**'], inspect: [a.com:443]}",
			"network: {allow: ['https://a.com/v1/**'], inspect: [a.com:443]}",
			COMPLEX("network patterns with URL paths or methods") },
		{ "network: {allow: ['https://a.com/v1/**'], inspect: [a.com:443]}",
			"network: {allow: ['https://a.com/v1/**']}",
			NO("net.connect", "a.com:443") },
		{ "network: {inspect: [a.com:443]}", "{}", YES },
		{ "network: {allow: [a.com], inspect: [a.com:443]}", "network: {allow: [a.com]}",
			YES },
		/* B takes nothing but HTTP there. */
		{ "network: {allow: [a.com]}", "network: {allow: [a.com], inspect: [a.com:443]}",
			NO("network.inspect", "a.com:443") },
		{ "network: {listen: [80]}", "network: {listen: [80, 81]}", YES },
		{ "network: {listen: [80, 82]}", "network: {listen: [80, 81]}",
			NO("network.listen", "82") },
		{ "all_of: [{network: {listen: [80, 82]}}, {network: {listen: [80]}}]",
			"network: {listen: [80]}", YES },

		{ "exec: [git]", "exec: [git, ls]", YES },
		{ "exec: [git]", "exec: [ls]", NO("exec", "git") },
		{ "exec: [git]", "exec: ['*']", YES },
		{ "exec: ['*']", "exec: [git, /**/x]", NO("exec", "/") },
		{ "exec: ['git push:*']", "exec: [git]", YES },
		{ "exec: [git]", "exec: ['git push:*']", NO("exec", "git") },
		{ "exec: ['git push:*']", "exec: ['git push:']",
			NO("exec", "git push corral-witness") },
		{ "exec: ['git a\\ b:']", "exec: [ls]", NO("exec", "git a\\ b") },
		{ "exec: ['/bin/git push:']", "exec: ['/bin/git pull:', ls]",
			NO("exec", "/bin/git push") },
		{ "exec: [/bin/git]", "fs: {read: [/bin/**]}", YES },
		{ "exec: [git]", "fs: {read: [/**]}", YES },
		{ "fs: {read: [/bin/**]}", "{fs: {read: [/bin/**]}, exec: [/bin/**]}", YES },
		{ "fs: {read: [/bin/**]}", "{fs: {read: [/bin/**]}, exec: [ls]}",
			NO("exec", "/bin") },
		{ "exec: [/bin/**]", "{exec: [/bin/**], fs: {deny: [/bin/x]}}",
			NO("exec", "/bin/x") },
		/* A name with a path means files that only the file system knows. */
		{ "exec: [{all: [git, /usr/**]}]", "exec: [/usr/**]", YES },
		{ "exec: [{all: [git, /usr/**]}]", "exec: [git]", YES },
		{ "exec: [{all: [git, /usr/**]}]", "exec: [{all: [git, /usr/**]}]", YES },
		{ "exec: [{all: [git, /usr/**]}]", "exec: [{all: [git, /opt/**]}, ls]",
			COMPLEX("exec") },
		{ "exec: [{all: [git, /usr/**]}]", "exec: [{all: [git, /usr/**, /*/bin/**]}]",
			COMPLEX("exec") },
		{ "exec: [{all: [git, '*']}]", "exec: [git]", YES },
		{ "exec: [{all: ['git a:', '/usr/** b:']}]", "exec: []", YES },

		{ "env: [A]", "env: ['A*']", YES },
		{ "env: ['A*']", "env: [A, AB]", NO("env", "Aa") },
		{ "env: [A=1]", "env: [A]", YES },
		{ "env: [A]", "env: [A=1]", NO("env", "A") },
		{ "env: [A=1]", "env: [A=2]", NO("env", "A=1") },
		{ "env: [A]", "{env: [A], " ENV_RULE("A=1") "}", NO("env", "A=1") },
		{ "env: [{all: [A*, AB=1]}]", "env: [AB]", YES },

		{ "secrets: {A: {hosts: [x:1]}}",
			"secrets: {A: {hosts: [x:1, y:1], in: [query, header]}}", YES },
		{ "secrets: {A: {hosts: [x:1], in: [header, form]}}",
			"secrets: {A: {hosts: [x:1]}}", NO("secret", "A=x:1,form") },
		{ "secrets: {A: {hosts: [x:1], programs: [/a]}}", "secrets: {A: {hosts: [x:1]}}",
			YES },
		{ "secrets: {A: {hosts: [x:1], programs: [/a]}}",
			"secrets: {A: {hosts: [x:1], programs: [/a, /b]}}", YES },
		{ "secrets: {A: {hosts: [x:1]}}",
			"secrets: {A: {hosts: [x:1], programs: [/a, /b]}}",
			NO("secret", "A=x:1,header") },
		{ "secrets: {A: {hosts: [x:1], programs: [/a, /b]}}",
			"secrets: {A: {hosts: [x:1], programs: [/a]}}",
			NO("secret", "A=x:1,header,/b") },
		{ "secrets: {A: {hosts: [x:1]}}", "secrets: {B: {hosts: [x:1]}}",
			NO("secret", "A=x:1,header") },
		{ "secrets: {A: {hosts: [x:1]}}", "{default: allow, mode: monitor}",
			NO("secret", "A=x:1,header") },
		{ "secrets: {A: {hosts: [x:1]}}",
			"all_of: [{secrets: {A: {hosts: [x:1]}}}, {secrets: {A: {hosts: [y:1]}}}]",
			NO("secret", "A=x:1,header") },

		{ "services: {notifications: true}", "services: {notifications: {access: send}}",
			YES },
		{ "services: {reminders: true}", "services: {reminders: {access: read}}",
			NO("service", "reminders.write") },
		{ "services: {reminders: {access: read, lists: [a]}}",
			"services: {reminders: {access: read, lists: [a, b]}}", YES },
		{ "services: {reminders: {access: read}}",
			"services: {reminders: {access: read, lists: [a]}}",
			NO("service", "reminders.read") },
		{ "services: {reminders: {access: read, lists: ['a*']}}",
			"services: {reminders: {access: read, lists: ['a*']}}",
			COMPLEX("services with wildcards or several scopes") },
		{ "rules: [{id: a, action: allow, operations: [service], patterns: ['*']}]",
			"services: {notifications: true}", NO("service", "notifications.read") },
		{ "rules: [{id: a, action: allow, operations: [service], patterns: ['vault:x']}]",
			"services: {notifications: true}", NO("service", "vault.read:x") },
		{ "services: {calendar: {access: read, range: 7d}}",
			"services: {calendar: {access: read, range: 8d}}", YES },
		{ "services: {calendar: {access: read}}",
			"services: {calendar: {access: read, range: 8d}}",
			COMPLEX("bounds of services") },
		{ "services: {calendar: {access: read, range: 9d}}",
			"services: {calendar: {access: read, range: 8d}}",
			COMPLEX("bounds of services") },
		{ "services: {notifications: {access: send, rate_limit: 5/min, max_size: 1K}}",
			"services: {notifications: {access: send, rate_limit: 10/min, max_size: "
			"2K}}",
			YES },
		{ "services: {notifications: {access: send, max_size: 3K}}",
			"services: {notifications: {access: send, max_size: 2K}}",
			COMPLEX("bounds of services") },
		/* 10 in the last second of a minute and 10 in the first of the next. */
		{ "services: {notifications: {access: send, rate_limit: 10/min}}",
			"services: {notifications: {access: send, rate_limit: 10/hour}}",
			COMPLEX("bounds of services") },

		{ "limits: {memory: 1K}", "limits: {memory: 2K}", YES },
		{ "limits: {memory: 2K}", "limits: {memory: 1K}",
			NO("limits", "memory 2048 is more than 1024") },
		{ "{}", "limits: {pids: 5}", NO("limits", "pids has no limit") },
		{ "all_of: [{limits: {pids: 9}}, {limits: {pids: 3}}]", "limits: {pids: 5}", YES },
		{ "network: {allow: [h.com], max_bytes: 1K, max_request_size: 1K, rate_limit: "
		  "1/min, methods: "
		  "[GET]}",
			"network: {allow: [h.com], max_bytes: 1K, max_request_size: 1K, "
			"rate_limit: 1/min, "
			"methods: [GET]}",
			YES },
		/* Limits of what is not granted are no matter. */
		{ "{}", "network: {max_bytes: 1K, rate_limit: 1/min, methods: [GET]}", YES },
		{ "network: {allow: [h.com]}", "network: {allow: [h.com], max_bytes: 1K}",
			NO("network", "max_bytes has no limit") },
		{ "network: {allow: [h.com], max_request_size: 2K}",
			"network: {allow: [h.com], max_request_size: 1K}",
			NO("network", "max_request_size 2048 is more than 1024") },
		{ "network: {allow: [h.com]}", "network: {allow: [h.com], rate_limit: 5/min}",
			NO("network", "rate_limit is more than 5 in 60 s") },
		{ "network: {allow: [h.com], rate_limit: 100/hour}",
			"network: {allow: [h.com], rate_limit: 5/min}",
			NO("network", "rate_limit is more than 5 in 60 s") },
		{ "network: {allow: [h.com], rate_limit: 1/s}",
			"network: {allow: [h.com], rate_limit: 60/min}", YES },
		{ "all_of: [{network: {allow: [h.com], rate_limit: 9/min}}, {network: {allow: "
		  "[h.com], "
		  "rate_limit: 50/hour}}]",
			"network: {allow: [h.com], rate_limit: 5/min}",
			COMPLEX("several rate limits") },
		{ "network: {allow: [h.com], methods: [GET]}",
			"network: {allow: [h.com], methods: [GET, POST]}", YES },
		{ "network: {allow: [h.com], methods: [GET, PUT]}",
			"network: {allow: [h.com], methods: [GET]}", NO("network.methods", "PUT") },
		{ "network: {allow: [h.com]}", "network: {allow: [h.com], methods: [GET]}",
			NO("network.methods", "any other") },
		{ "{default: allow}", "{default: allow, network: {max_bytes: 1}}",
			NO("network", "max_bytes has no limit") },
		{ "rules: [{id: a, action: allow, operations: [net.connect], patterns: [h.com]}]",
			"network: {allow: [h.com], max_bytes: 1}",
			NO("network", "max_bytes has no limit") },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_subset s;
		const char *text;

		compare(&s, rows[i].a, rows[i].b);
		text = buffer_text(s.answer == SUBSET_NO ? &s.witness : &s.reason);
		if (s.answer != rows[i].answer ||
			(rows[i].what && strcmp(s.what, rows[i].what) != 0) ||
			(rows[i].text && strcmp(text, rows[i].text) != 0))
			fail_msg("%s in %s: %d %s <%s>", rows[i].a, rows[i].b, (int)s.answer,
				s.what ? s.what : "", text);
	}
}

/* A long list: the pattern with its # replaced by 1, 2, 3 … */
static struct permissions *many(size_t list, unsigned n, const char *pattern)
{
	struct permissions *p = permissions_new();
	int before = (int)strcspn(pattern, "#");

	p->exec_listed = list == offsetof(struct permissions, exec);
	for (unsigned i = 1; i <= n; i++) {
		char text[256];

		(void)snprintf(
			text, sizeof(text), "%.*s%u%s", before, pattern, i, pattern + before + 1);
		assert_int_equal(
			permissions_add(p, (struct grant_list *)((char *)p + list), text, NULL), 0);
	}
	return p;
}

/* Too much of anything is too complex; never "yes". */
static void test_too_complex(void **state)
{
	static const struct {
		size_t list;
		unsigned n;
		const char *pattern, *reason;
	} rows[] = {
		{ offsetof(struct permissions, fs_read), 30, "/*a#????????????????????????????????",
			"fs.read" },
		{ offsetof(struct permissions, dangerously_allow), 30,
			"/*a#????????????????????????????????", "dangerously_allow" },
		{ offsetof(struct permissions, network_allow), 700, "h.com:#", "net.connect" },
		{ offsetof(struct permissions, network_allow), 5000, "h#.com", "net.connect" },
		{ offsetof(struct permissions, exec), 100, "git a#:*", "exec" },
		{ offsetof(struct permissions, exec), 3000, "git#", "exec" },
		{ offsetof(struct permissions, exec), 30, "/*a#????????????????????????????????",
			"exec" },
		{ offsetof(struct permissions, env), 30, "*A#????????????????????????????????",
			"env" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *a = many(rows[i].list, rows[i].n, rows[i].pattern);
		auto_permissions *b = permissions_copy(a);
		auto_subset s;

		assert_int_equal(subset_compare(&s, a, b, &test_options, NULL), 0);
		if (s.answer != SUBSET_TOO_COMPLEX ||
			strcmp(buffer_text(&s.reason), rows[i].reason) != 0)
			fail_msg("%s: %d %s %s", rows[i].pattern, (int)s.answer,
				s.what ? s.what : "", buffer_text(&s.reason));
	}
}

static void test_layers(void **state)
{
	auto_permissions *a = permissions_new(), *one = test_read("fs: {read: [/a]}"),
			 *empty = NULL;
	auto_subset s, t;

	(void)state;
	for (int i = 0; i < 17; i++)
		assert_int_equal(permissions_add_layer(a, one), 0);
	assert_int_equal(subset_compare(&s, a, one, NULL, NULL), 0);
	assert_int_equal(s.answer, SUBSET_TOO_COMPLEX);
	assert_string_equal(buffer_text(&s.reason), "too many layers or patterns");
	a->n_all_of = 16;
	empty = permissions_copy(a);
	assert_int_equal(subset_compare(&t, a, empty, NULL, NULL), 0);
	assert_int_equal(t.answer, SUBSET_YES);
}

/* 65 patterns in one entry are more than an automaton takes. */
static void test_wide_entries(void **state)
{
	auto_permissions *a = permissions_new();
	const char *patterns[65];
	auto_subset s;

	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++)
		patterns[i] = i % 2 ? "/a*" : "/*b";
	assert_int_equal(permissions_add_all(a, &a->fs_read, patterns, ROWS(patterns), NULL), 0);
	assert_int_equal(subset_compare(&s, a, a, NULL, NULL), 0);
	assert_int_equal(s.answer, SUBSET_TOO_COMPLEX);
}

/* The word that stands for all others cannot be guessed: here B mentions just that one. */
static void test_fresh_words(void **state)
{
	static const struct {
		const char *a, *b, *witness;
	} rows[] = {
		{ "network: {allow: ['*:443']}",
			"network: {deny: [corral-witness.zz], allow: ['h.com:443']}",
			"corral-witness1.corral-witness1:443" },
		{ "network: {allow: ['*:443']}",
			"network: {allow: ['corral-witness1.zz:443', 'Corral-Witness.zz:443']}",
			"corral-witness2.corral-witness2:443" },
		{ "exec: ['git x:*']", "exec: ['git x corral-witness:*', 'git x:']",
			"git x corral-witness1" },
		{ "services: {reminders: {access: read}}",
			"services: {reminders: {access: read, lists: [corral-witness]}}",
			"reminders.read" },
		{ "rules: [{id: a, action: allow, operations: [service], patterns: [vault]}]",
			"rules: [{id: a, action: allow, operations: [service], patterns: "
			"['vault:corral-witness']}]",
			"vault.read" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_subset s;

		compare(&s, rows[i].a, rows[i].b);
		assert_int_equal(s.answer, SUBSET_NO);
		if (strcmp(buffer_text(&s.witness), rows[i].witness) != 0)
			fail_msg("%s in %s: %s", rows[i].a, rows[i].b, buffer_text(&s.witness));
	}
	{
		auto_permissions *a =
			many(offsetof(struct permissions, exec), 1000, "corral-witness#");
		auto_subset s;

		assert_int_equal(permissions_add(a, &a->exec, "corral-witness", NULL), 0);
		assert_int_equal(subset_compare(&s, a, a, NULL, NULL), 0);
		assert_string_equal(buffer_text(&s.reason), "names made to look like a witness");
	}
}

/* A representative that is too long to be asked for. */
static void test_long_words(void **state)
{
	static char text[5000];
	auto_permissions *a = permissions_new(), *b = permissions_new();
	auto_subset s, t;

	(void)state;
	memset(text, 'a', 251);
	for (size_t i = 50; i < 250; i += 50)
		text[i] = '.';
	assert_int_equal(permissions_add(a, &a->network_allow, text, NULL), 0);
	assert_int_equal(subset_compare(&s, a, a, NULL, NULL), 0);
	assert_int_equal(s.answer, SUBSET_TOO_COMPLEX);
	assert_string_equal(buffer_text(&s.reason), "net.connect");

	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "A=", 2);
	assert_int_equal(permissions_add(b, &b->env, text, NULL), 0);
	assert_int_equal(subset_compare(&t, b, b, NULL, NULL), 0);
	assert_int_equal(t.answer, SUBSET_TOO_COMPLEX);
	assert_string_equal(buffer_text(&t.reason), "env");
}

/* Values times rules. */
static void test_many_values(void **state)
{
	auto_permissions *a = permissions_new();
	struct service *v = permissions_service(a, "vault");
	struct service_scope *scope = permissions_scope(a, v, "secrets");
	auto_subset s;

	(void)state;
	v->access = SERVICE_READ;
	for (unsigned i = 0; i < 4000; i++) {
		char text[16];

		(void)snprintf(text, sizeof(text), "v%u", i);
		assert_int_equal(permissions_add(a, &scope->values, text, NULL), 0);
	}
	for (unsigned i = 0; i < 600; i++) {
		struct service more = { .name = "vault", .access = SERVICE_READ };

		assert_int_equal(permissions_add_service(a, &more), 0);
	}
	assert_int_equal(subset_compare(&s, a, a, NULL, NULL), 0);
	assert_int_equal(s.answer, SUBSET_TOO_COMPLEX);
}

static void test_errors(void **state)
{
	auto_permissions *a = test_read("fs: {read: [$SKILL_DIR/x]}"), *b = test_read("{}");
	struct subset s;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(subset_compare(&s, a, b, NULL, &e), -ENOENT);
	assert_non_null(strstr(e.text, "$SKILL_DIR"));
	assert_int_equal(e.line, 1);
	assert_int_equal(s.answer, SUBSET_TOO_COMPLEX);
	assert_int_equal(subset_compare(&s, b, a, NULL, &e), -ENOENT);
	subset_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_too_complex),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_wide_entries),
		cmocka_unit_test(test_fresh_words),
		cmocka_unit_test(test_long_words),
		cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests_name("subset", tests, NULL, NULL);
}
