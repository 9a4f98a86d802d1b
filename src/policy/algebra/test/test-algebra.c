/* SPDX-License-Identifier: Apache-2.0 */
/* Intersections and merges as they are printed: what is simplified, and what is kept as it is. */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "policy/algebra/algebra.h"
#include "policy/algebra/meet.h"

typedef int algebra_fn(
	struct permissions **ret, const struct permissions *a, const struct permissions *b);

/* a with b as YAML, on one line: what `want` says must print alike. */
static void check(algebra_fn *f, const char *a, const char *b, const char *want)
{
	auto_permissions *x = test_read(a), *y = test_read(b), *z = test_read(want), *p = NULL;
	auto_buffer got = { 0 }, wanted = { 0 };

	assert_int_equal(f(&p, x, y), 0);
	permissions_print_yaml(p, &got);
	permissions_print_yaml(z, &wanted);
	if (strcmp(buffer_text(&got), buffer_text(&wanted)) != 0)
		fail_msg("%s with %s:\n%swant\n%s", a, b, buffer_text(&got), buffer_text(&wanted));
}

#define RULES "rules: [{id: a, action: deny, operations: [env], patterns: [A]}]"

static void test_intersect(void **state)
{
	static const struct {
		const char *a, *b, *want;
	} rows[] = {
		{ "{}", "{}", "{}" },
		{ "fs: {read: [/a/**, /b]}", "fs: {read: [/a/x, /c]}", "fs: {read: [/a/x]}" },
		{ "fs: {read: [/a/**]}", "fs: {write: [/a/x]}", "fs: {read: [/a/x]}" },
		{ "fs: {write: [/a/**]}", "fs: {write: [/a/x], read: [/a/y]}",
			"fs: {read: [/a/y], write: [/a/x]}" },
		/* What may be written is not said twice. */
		{ "fs: {read: [/a], write: [/a]}", "fs: {read: [/a], write: [/a]}",
			"fs: {write: [/a]}" },
		{ "fs: {read: ['/a*']}", "fs: {read: ['/*b']}",
			"fs: {read: [{all: ['/*b', '/a*']}]}" },
		{ "fs: {read: ['/a*']}", "fs: {read: ['/b*']}", "{}" },
		{ "fs: {read: [{all: ['/a*', '/*b']}]}", "fs: {read: [/ab, /ac]}",
			"fs: {read: [/ab]}" },
		{ "fs: {read: ['/[ab]']}", "fs: {read: ['/{a,b}']}", "fs: {read: ['/[ab]']}" },
		{ "fs: {read: [/**], deny: [/x/y]}", "fs: {read: [/**], deny: [/x/**]}",
			"fs: {read: [/**], deny: [/x/**]}" },
		{ "fs: {read: [$HOME/**]}", "fs: {read: [$HOME/x, $TEMP/y, /**/z]}",
			"fs: {read: [$HOME/x, {all: [$HOME/**, $TEMP/y]}, {all: [$HOME/**, "
			"/**/z]}]}" },
		{ "fs: {read: [/**]}", "fs: {read: [$TEMP]}", "fs: {read: [$TEMP]}" },
		{ "dangerously_allow: [/**]", "dangerously_allow: [/etc/shadow]",
			"dangerously_allow: [/etc/shadow]" },

		{ "network: {allow: ['*.h.com', 10.0.0.0/8]}",
			"network: {allow: ['a.h.com:443', '*:80', 10.1.0.0/16]}",
			"network: {allow: [10.1.0.0/16:*, a.h.com:443, '*.h.com:80']}" },
		{ "network: {allow: ['*'], deny: [a.com]}",
			"network: {allow: ['*'], deny: [b.com]}",
			"network: {allow: ['*:*'], deny: ['a.com', 'b.com']}" },
		{ "network: {allow: ['https://h.com/a/**']}",
			"network: {allow: ['https://h.com/*/b']}",
			"network: {allow: [{all: ['https://h.com/*/b', 'https://h.com/a/**']}]}" },
		{ "network: {private: ['*.h.com:443', 'a.com:1'], allow: ['b.com']}",
			"network: {private: ['a.h.com'], allow: ['*']}",
			"network: {private: ['a.h.com:443'], allow: ['*.h.com:443', 'a.com:1', "
			"'b.com']}" },
		/* A name that leads to an address of the other: only two layers say that. */
		{ "network: {private: ['a.com:1']}", "network: {allow: [a.com, 10.0.0.1]}",
			"all_of: [{network: {private: ['a.com:1']}}, "
			"{network: {allow: [a.com, 10.0.0.1]}}]" },
		{ "network: {listen: [80, 81], methods: [GET, PUT]}",
			"network: {listen: [81, 82], methods: [GET, POST]}",
			"network: {listen: [81], methods: [GET]}" },
		/* One layer is enough for TLS to be opened. */
		{ "network: {inspect: [a.com:443], allow: ['https://a.com/v1/**']}",
			"network: {inspect: [b.com:443], allow: [a.com]}",
			"network: {inspect: [a.com:443, b.com:443], allow: "
			"['https://a.com/v1/**']}" },
		{ "network: {methods: [GET]}", "{}", "network: {methods: [GET]}" },
		{ "network: {methods: [GET]}", "network: {methods: [PUT]}",
			"all_of: [{network: {methods: [GET]}}, {network: {methods: [PUT]}}]" },
		{ "network: {rate_limit: 10/min, max_bytes: 5K}",
			"network: {rate_limit: 1/s, max_request_size: 1K}",
			"network: {rate_limit: 10/min, max_bytes: 5K, max_request_size: 1K}" },
		{ "limits: {memory: 1G, pids: 3}", "limits: {memory: 2G, fuel: 7}",
			"limits: {memory: 1G, pids: 3, fuel: 7}" },

		{ "exec: [git, ls]", "exec: ['git push:*', sh]", "exec: ['git push:*']" },
		{ "exec: ['git a:*']", "exec: ['git a b:']", "exec: ['git a b:']" },
		{ "exec: ['git a:']", "exec: ['git b:*']", "exec: []" },
		{ "exec: [git]", "exec: [/usr/**]", "exec: [{all: [/usr/**, git]}]" },
		{ "exec: ['git a:*']", "exec: ['/usr/** a b:']",
			"exec: [{all: [/usr/**, 'git a b:']}]" },
		{ "exec: ['*']", "exec: [git, /bin/x]", "exec: [git, /bin/x]" },
		{ "exec: [/bin/**, 'x:']", "exec: [/bin/ls]", "exec: [/bin/ls]" },
		/* No list: what can be read. It is written out where the other side has one. */
		{ "fs: {read: [/bin/**, '/my tool']}", "exec: [/bin/ls, '/my\\ tool']",
			"exec: [/bin/ls, '/my\\ tool']" },
		{ "exec: [git]", "fs: {read: [/usr/**], write: [/opt/**]}",
			"exec: [{all: [/opt/**, git]}, {all: [/usr/**, git]}]" },
		{ "fs: {read: [/a]}", "fs: {read: [/a]}", "fs: {read: [/a]}" },
		{ "exec: []", "fs: {read: [/**]}", "exec: []" },

		{ "env: [A*, B=1]", "env: ['*C', B]", "env: [B=1, {all: ['*C', 'A*']}]" },
		{ "env: [A=1]", "env: [A=2]", "{}" },
		{ "env: ['?']", "env: [A, AB]", "env: [A]" },

		{ "services: {reminders: {access: readwrite, lists: [a, b]}}",
			"services: {reminders: {access: read, lists: [b, c]}, notifications: true}",
			"services: {reminders: {access: read, lists: [b]}}" },
		{ "services: {reminders: {access: read}}",
			"services: {reminders: {access: readwrite, lists: ['a*']}}",
			"services: {reminders: {access: read, lists: ['a*']}}" },
		{ "services: {reminders: {access: read, lists: ['a*', 'b?']}}",
			"services: {reminders: {access: read, lists: ['*c', ab, bc]}}",
			"services: {reminders: {access: read, lists: [ab, bc, {all: ['*c', 'a*']}, "
			"{all: ['*c', "
			"'b?']}]}}" },
		{ "services: {reminders: {access: read}}", "services: {reminders: {access: write}}",
			"{}" },
		{ "services: {calendar: {access: read, range: 7d}}",
			"services: {calendar: {access: read}}",
			"services: {calendar: {access: read, range: 7d}}" },
		{ "services: {calendar: {access: read, range: 7d}}",
			"services: {calendar: {access: read, range: 2d}}",
			"services: {calendar: {access: read, range: 2d}}" },
		{ "services: {notifications: {access: send, rate_limit: 5/min, max_size: 2K}}",
			"services: {notifications: {access: send, rate_limit: 10/min, max_size: "
			"1K}}",
			"services: {notifications: {access: send, rate_limit: 5/min, max_size: "
			"1K}}" },
		/* Neither lies within the other: what fits into both. */
		{ "services: {notifications: {access: send, rate_limit: 10/min}}",
			"services: {notifications: {access: send, rate_limit: 100/hour}}",
			"services: {notifications: {access: send, rate_limit: 10/hour}}" },
		{ "services: {browser: {access: [open, eval], domains: [a.example, b.example]}}",
			"services: {browser: {access: eval, domains: ['*.example']}}",
			"services: {browser: {access: eval, domains: [a.example, b.example]}}" },

		/* Names, hosts and places that both have, each by itself. */
		{ "secrets: {A: {hosts: [x:1, y:1], in: [header, query]}, B: {hosts: [x:1]}}",
			"secrets: {A: [{hosts: [x:1]}, {hosts: [y:1], in: [query, body]}], C: "
			"{hosts: [x:1]}}",
			"secrets: {A: [{hosts: [x:1]}, {hosts: [y:1], in: [query]}]}" },
		{ "secrets: {A: {hosts: [x:1]}}", "secrets: {A: {hosts: [x:1], in: [form]}}",
			"{}" },
		{ "secrets: {A: {hosts: [x:1]}}", "env: [A]", "{}" },
		/* Programs that both have; any program is each of them. */
		{ "secrets: {A: {hosts: [x:1, y:1], programs: [/a, /b]}}",
			"secrets: {A: [{hosts: [x:1], programs: [/b, /c]}, {hosts: [y:1]}]}",
			"secrets: {A: [{hosts: [y:1], programs: [/a, /b]}, {hosts: [x:1], "
			"programs: [/b]}]}" },
		{ "secrets: {A: {hosts: [x:1], in: [header, query], programs: [/a]}}",
			"secrets: {A: {hosts: [x:1]}}",
			"secrets: {A: {hosts: [x:1], programs: [/a]}}" },
		{ "secrets: {A: {hosts: [x:1], programs: [/a]}}",
			"secrets: {A: {hosts: [x:1], programs: [/b]}}", "{}" },
		{ "secrets: {A: {hosts: [x:1]}}", "default: allow",
			"all_of: [{secrets: {A: {hosts: [x:1]}}}, {default: allow}]" },

		/* Rules, modes, defaults and guest paths stand beside. */
		{ "{env: [A], " RULES "}", "env: [A, B]",
			"all_of: [{env: [A], " RULES "}, {env: [A, B]}]" },
		{ "all_of: [{env: [A, B, C]}, {" RULES "}]", "env: [A, B]",
			"all_of: [{env: [A, B]}, {" RULES "}]" },
		{ "all_of: [{all_of: [{env: [A, B]}]}]", "env: [B]", "env: [B]" },
		{ "mode: audit", "{}", "all_of: [{mode: audit}, {}]" },
		{ "default: ask", "default: ask", "all_of: [{default: ask}, {default: ask}]" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check(algebra_intersect, rows[i].a, rows[i].b, rows[i].want);
}

/* The example of the architecture. */
static void test_three_lists(void **state)
{
	auto_permissions *a =
		test_read("network: {allow: ['api.example.com:443', 'cdn.example.com:443']}");
	auto_permissions *b = test_read("network: {allow: ['*.example.com:443']}");
	auto_permissions *c = test_read("network: {allow: ['*:443']}"), *ab = NULL, *abc = NULL;
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(algebra_intersect(&ab, a, b), 0);
	assert_int_equal(algebra_intersect(&abc, ab, c), 0);
	permissions_print_yaml(abc, &out);
	assert_string_equal(buffer_text(&out), "network:\n"
					       "  allow:\n"
					       "    - api.example.com:443\n"
					       "    - cdn.example.com:443\n");
}

static void test_merge(void **state)
{
	static const struct {
		const char *a, *b, *want;
	} rows[] = {
		{ "{}", "{}", "{}" },
		{ "fs: {read: [/a/**, /b]}", "fs: {read: [/a/x, /c]}",
			"fs: {read: [/a/**, /b, /c]}" },
		{ "fs: {read: [/a], deny: [/s/x]}", "fs: {write: [/b], deny: [/s/**]}",
			"fs: {read: [/a], write: [/b], deny: [/s/**]}" },
		{ "fs: {read: [{all: ['/a*', '/*b']}, '/a*']}", "{}", "fs: {read: ['/a*']}" },
		{ "network: {allow: [a.h.com], listen: [80], methods: [GET]}",
			"network: {allow: ['*.h.com'], listen: [80, 81], methods: [PUT]}",
			"network: {allow: ['*.h.com:*'], listen: [80, 81], methods: [GET, PUT]}" },
		{ "network: {inspect: [a.com:443]}", "network: {inspect: [b.com:443, a.com:443]}",
			"network: {inspect: [a.com:443, b.com:443]}" },
		{ "network: {private: ['a.com:1']}",
			"network: {private: ['*.com:1'], allow: [b.de]}",
			"network: {private: ['*.com:1'], allow: [b.de]}" },
		{ "network: {methods: [GET]}", "{}", "{}" },
		{ "network: {rate_limit: 10/min, max_bytes: 5K}",
			"network: {rate_limit: 1/s, max_bytes: 6K}",
			"network: {rate_limit: 1/s, max_bytes: 6K}" },
		{ "network: {rate_limit: 10/min}", "{}", "{}" },
		{ "limits: {memory: 1G, pids: 3}", "limits: {memory: 2G, fuel: 7}",
			"limits: {memory: 2G}" },
		{ "exec: [git]", "exec: [ls, git]", "exec: [git, ls]" },
		{ "exec: []", "exec: []", "exec: []" },
		{ "fs: {read: [/bin/**]}", "exec: [git]",
			"{fs: {read: [/bin/**]}, exec: [/bin/**, git]}" },
		{ "fs: {read: [/a]}", "fs: {read: [/b]}", "fs: {read: [/a, /b]}" },
		{ "guest_paths: [{guest: /g, host: /h, mode: ro}]", "exec: [git]",
			"{exec: [/h/**, git], guest_paths: [{guest: /g, host: /h, mode: ro}]}" },
		{ "guest_paths: [{guest: /g, host: /h, mode: ro}]",
			"guest_paths: [{guest: /g, host: /h, mode: rw}, {guest: /i, host: /h, "
			"mode: ro}]",
			"guest_paths: [{guest: /g, host: /h, mode: rw}, {guest: /i, host: /h, "
			"mode: ro}]" },
		{ "env: [A]", "env: ['A*', A=1]", "env: ['A*']" },
		{ "services: {notifications: true}", "services: {reminders: true}",
			"services: {reminders: true, notifications: true}" },
		/* No host gets a place that neither side gave it. */
		{ "secrets: {A: {hosts: [x:1]}, B: {hosts: [z:1]}}",
			"secrets: {A: {hosts: [y:1, x:1], in: [query]}}",
			"secrets: {A: [{hosts: [y:1], in: [query]}, {hosts: [x:1], in: [header, "
			"query]}], B: {hosts: [z:1]}}" },
		{ "secrets: {A: {hosts: [x:1], programs: [/a]}}",
			"secrets: {A: {hosts: [x:1], programs: [/b]}}",
			"secrets: {A: {hosts: [x:1], programs: [/a, /b]}}" },
		{ "secrets: {A: {hosts: [x:1], programs: [/a]}}", "secrets: {A: {hosts: [x:1]}}",
			"secrets: {A: {hosts: [x:1]}}" },
		{ "{" RULES ", default: ask, mode: audit}", "{env: [B], mode: monitor}",
			"{env: [B], " RULES ", mode: audit}" },
		{ "{rules: [{id: x, action: deny, operations: [exec], patterns: [rm]}]}",
			"exec: [git]",
			"{exec: [git], rules: [{id: x, action: deny, operations: [exec], patterns: "
			"[rm]}]}" },
		/* (A1 ∩ A2) ∪ B = (A1 ∪ B) ∩ (A2 ∪ B) */
		{ "all_of: [{env: [A]}, {env: [A, B], " RULES "}]", "env: [C]",
			"all_of: [{env: [A, C]}, {env: [A, B, C], " RULES "}]" },
		{ "all_of: [{all_of: [{fs: {read: [/**], deny: [/s]}}]}]", "fs: {read: [/**]}",
			"fs: {read: [/**], deny: [/s]}" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check(algebra_merge, rows[i].a, rows[i].b, rows[i].want);
}

/* The pattern with its # replaced by 0, 1, 2 … */
static void add_many(struct permissions *p, struct grant_list *to, unsigned n, const char *pattern)
{
	int before = (int)strcspn(pattern, "#");

	for (unsigned i = 0; i < n; i++) {
		char text[128];

		(void)snprintf(
			text, sizeof(text), "%.*s%u%s", before, pattern, i, pattern + before + 1);
		assert_int_equal(permissions_add(p, to, text, NULL), 0);
	}
}

/* Lists that would have too many meets, or meets that would cost too much, keep both layers. */
static void test_long_lists(void **state)
{
	static const struct {
		unsigned n;
		const char *a, *b;
		size_t layers; /* 0: one */
	} rows[] = {
		{ 300, "/f#", "/f#", 0 }, { 700, "/f#", "/f#", 0 },
		{ 1100, "/f#", "/f#", 2 },                              /* pairs */
		{ 100, "/*a#*", "/*b#*", 2 },                           /* meets */
		{ 200, "/**/*a*b*c*d*e*f#*", "/**/*b*c*d*e*f*a#*", 2 }, /* effort */
		{ 120, "/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}#",
			"/{b,c}{b,c}{b,c}{b,c}{b,c}{b,c}{b,c}#", 2 }, /* reading them */
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *a = permissions_new(), *b = permissions_new(), *both = NULL,
				 *sum = NULL;

		add_many(a, &a->fs_read, rows[i].n, rows[i].a);
		add_many(b, &b->fs_read, rows[i].n, rows[i].b);
		assert_int_equal(algebra_intersect(&both, a, b), 0);
		if (both->n_all_of != rows[i].layers)
			fail_msg("%s: %zu layers", rows[i].a, both->n_all_of);
		assert_int_equal(algebra_merge(&sum, a, b), 0);
		assert_true(sum->fs_read.n > 0);
	}
}

/* A layer without an exec list, written out: its paths must be read as paths, and as the same ones.
 */
static void test_written_out(void **state)
{
	static const struct {
		const char *path, *command;
	} rows[] = {
		{ "/a b", "/a\\ b" },
		{ "**/x", "/**/x" },
		{ "{/a,/b}/x", "/{/a,/b}/x" },
		{ "/a\\*\\\\b", "/a\\*\\\\b" },
		{ "/a\001b\177", "/a\\\001b\\\177" },
		{ "~/x", "~/x" },
		{ "/a:", "/a::*" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *a = permissions_new(), *b = test_read("exec: []"), *p = NULL;
		const struct permissions *layer;
		auto_policy *policy = NULL;

		assert_int_equal(permissions_add(a, &a->fs_read, rows[i].path, NULL), 0);
		assert_int_equal(algebra_merge(&p, a, b), 0);
		assert_string_equal(p->exec.items[0].all[0], rows[i].command);
		layer = p;
		assert_int_equal(policy_new(&policy, &layer, 1, &test_options, NULL), 0);
	}
}

/* A scope that would have too many meets keeps both layers, too. */
static void test_long_scopes(void **state)
{
	auto_permissions *a = permissions_new(), *both = NULL;
	struct service *s = permissions_service(a, "reminders");

	(void)state;
	s->access = SERVICE_READ;
	add_many(a, &permissions_scope(a, s, "lists")->values, 200, "w#");
	assert_int_equal(algebra_intersect(&both, a, a), 0);
	assert_int_equal(both->n_all_of, 2);
}

/* Beside a name there is room for 63 paths, and one too many is not left out. */
static void test_many_parts(void **state)
{
	auto_permissions *a = permissions_new(), *b = test_read("exec: [git]"), *both = NULL;
	char texts[70][32];
	const char *patterns[70];

	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "/*%02zux*", i);
		patterns[i] = texts[i];
	}
	a->exec_listed = true;
	assert_int_equal(permissions_add_all(a, &a->exec, patterns, 64, NULL), 0);
	assert_int_equal(algebra_intersect(&both, a, b), 0);
	assert_int_equal(both->n_all_of, 2);
	permissions_free(both);
	both = NULL;

	a->exec.items[0].n = 63;
	assert_int_equal(algebra_intersect(&both, a, b), 0);
	assert_int_equal(both->n_all_of, 0);
	assert_int_equal(both->exec.items[0].n, 64);
	permissions_free(both);
	both = NULL;

	/* More than 64 paths. */
	a->exec.n = 0;
	assert_int_equal(permissions_add_all(a, &a->fs_read, patterns, 70, NULL), 0);
	assert_int_equal(algebra_intersect(&both, a, a), 0);
	assert_int_equal(both->n_all_of, 2);
	permissions_free(both);
	both = NULL;

	/* More than 64 paths of URLs. */
	a->fs_read.n = 0;
	for (size_t i = 0; i < ROWS(patterns); i++)
		(void)snprintf(texts[i], sizeof(texts[i]), "https://h.com/%zu*", i);
	assert_int_equal(permissions_add_all(a, &a->network_allow, patterns, 70, NULL), 0);
	assert_int_equal(algebra_intersect(&both, a, a), 0);
	assert_int_equal(both->n_all_of, 2);
}

static void test_many_layers(void **state)
{
	auto_permissions *a = permissions_new(), *b = permissions_new(),
			 *rule = test_read("{" RULES "}");
	auto_permissions *p = NULL;

	(void)state;
	for (int i = 0; i < 65; i++) {
		assert_int_equal(permissions_add_layer(a, rule), 0);
		assert_int_equal(permissions_add_layer(b, rule), 0);
	}
	assert_int_equal(algebra_merge(&p, a, rule), -E2BIG);
	assert_int_equal(algebra_merge(&p, rule, a), -E2BIG);
	assert_int_equal(algebra_intersect(&p, a, rule), -E2BIG);
	a->n_all_of = 33;
	b->n_all_of = 2;
	assert_int_equal(algebra_merge(&p, a, b), -E2BIG);
	b->n_all_of = 32;
	assert_int_equal(algebra_intersect(&p, a, b), -E2BIG);
	assert_null(p);
	b->n_all_of = 31;
	assert_int_equal(algebra_intersect(&p, a, b), 0);
	assert_int_equal(p->n_all_of, 64);
}

/* Patterns that no reader lets through: nothing is granted that was not before. */
static void test_bad_patterns(void **state)
{
	static const struct {
		size_t list;
		const char *pattern;
	} rows[] = {
		{ offsetof(struct permissions, fs_read), "relative" },
		{ offsetof(struct permissions, fs_read), "$NOPE" },
		{ offsetof(struct permissions, fs_read), "/[" },
		{ offsetof(struct permissions, env), "[" },
		{ offsetof(struct permissions, network_allow), ":" },
		{ offsetof(struct permissions, exec), "a*" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *a = permissions_new(), *b = permissions_new(), *p = NULL;
		struct grant_list *x = (struct grant_list *)((char *)a + rows[i].list);
		struct grant_list *y = (struct grant_list *)((char *)b + rows[i].list);
		const char *good = rows[i].list == offsetof(struct permissions, network_allow)
					   ? "h.com"
				   : rows[i].list == offsetof(struct permissions, env) ? "A"
										       : "/a";

		a->exec_listed = b->exec_listed =
			rows[i].list == offsetof(struct permissions, exec);
		assert_int_equal(permissions_add(a, x, rows[i].pattern, NULL), 0);
		assert_int_equal(permissions_add(b, y, good, NULL), 0);
		assert_int_equal(algebra_intersect(&p, a, b), -EINVAL);
		assert_int_equal(algebra_intersect(&p, b, a), -EINVAL);
		assert_null(p);
		/* A merge keeps it, and the compiler complains. */
		assert_int_equal(algebra_merge(&p, a, b), 0);
		assert_int_equal(((struct grant_list *)((char *)p + rows[i].list))->n, 2);
	}
}

static void test_meet(void **state)
{
	const char *a = "vault", *b = "*";
	const struct grant x = { .all = &a, .n = 1 }, y = { .all = &b, .n = 1 };
	auto_permissions *p = permissions_new();
	size_t effort = 1;

	(void)state;
	/* Services have no patterns that meet. */
	assert_int_equal(meet_grants(p, &p->env, OPERATION_SERVICE, &x, &y, NULL), -EINVAL);
	assert_int_equal(meet_contains(OPERATION_SERVICE, &y, &x, NULL), 0);
	assert_int_equal(meet_contains(OPERATION_ENV, &y, &x, NULL), 1);
	assert_int_equal(meet_contains(OPERATION_ENV, &x, &y, NULL), 0);
	assert_int_equal(meet_words(p, &p->env, &x, &y), 0);
	assert_string_equal(p->env.items[0].all[0], "vault");
	assert_int_equal(meet_grants(p, &p->env, OPERATION_ENV, &x, &y, &effort), -E2BIG);
	assert_int_equal(effort, 0);
	assert_int_equal(meet_contains(OPERATION_ENV, &y, &x, &effort), 0);
	assert_int_equal(meet_contains(OPERATION_FS_READ, &y, &x, &effort), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intersect),
		cmocka_unit_test(test_three_lists),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_written_out),
		cmocka_unit_test(test_long_scopes),
		cmocka_unit_test(test_many_parts),
		cmocka_unit_test(test_many_layers),
		cmocka_unit_test(test_bad_patterns),
		cmocka_unit_test(test_meet),
	};

	return cmocka_run_group_tests_name("algebra", tests, NULL, NULL);
}
