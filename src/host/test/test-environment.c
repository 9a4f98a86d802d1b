/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in, by example: a policy, the host's variables and those of the call, and all that the
 * command sees beyond the usual values. Allocations fail on request (see meson.build).
 */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "host/environment.h"
#include "policy/match/env-name.h"
#include "test/failing-arena.h"

/* Helpers */

enum { ITEMS = 16 };

static const char *const usual[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/in/home",
	"TMPDIR=/tmp",
	"LANG=C.UTF-8",
	"TERM=dumb",
	"USER=user",
	"LOGNAME=user",
	"SHELL=/bin/sh",
	"PWD=/in/work",
};

static bool is_usual(const char *item)
{
	for (size_t i = 0; i < ROWS(usual); i++) {
		if (strcmp(item, usual[i]) == 0)
			return true;
	}
	return false;
}

static const char *find(const char *const *env, const char *name)
{
	for (; *env; env++) {
		if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=')
			return *env;
	}
	return NULL;
}

/* The usual names are all there, and no name stands twice. */
static void check_shape(const char *row, const char *const *env, size_t n)
{
	for (size_t i = 0; i < ROWS(usual); i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(usual[i], "="), usual[i]);
		if (!find(env, name))
			fail_msg("%s: no %s", row, name);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strncmp(env[i], env[k], strcspn(env[i], "=") + 1) == 0)
				fail_msg("%s: %s and %s", row, env[k], env[i]);
		}
	}
	assert_null(env[n]);
}

/* With what is granted asked for ahead, as a session does for all its commands? */
static bool ahead;

static int build(struct arena *a, const char *policy, const char *const *host,
	const char *const *call, const char *const **ret, size_t *ret_n, struct error *e)
{
	auto_policy *p = test_compile(policy);
	struct environment_options o = {
		.policy = p,
		.host_env = host,
		.call_env = call,
		.home = "/in/home",
		.cwd = "/in/work",
	};
	int r = ahead ? environment_granted(a, &o, &o.granted, e) : 0;

	return r < 0 ? r : environment_build(a, &o, ret, ret_n, e);
}

/* What comes in */

static const struct {
	const char *policy;
	const char *host[ITEMS];
	const char *call[ITEMS];
	const char *want; /* all but the usual, each with a space after it */
} rows[] = {
	{ "{}", { "A=1", "HOME=/h", "PATH=/p", "SECRET=x" }, { NULL }, "" },
	{ "env: [A]", { "A=1", "B=2", "AA=3" }, { NULL }, "A=1 " },
	{ "env: ['A*']", { "A=1", "B=2", "AA=3", "A" }, { NULL }, "A=1 AA=3 " },
	{ "env: [A]", { "A=1", "A=2" }, { NULL }, "A=1 " },
	{ "env: [A]", { "A=" }, { NULL }, "A= " },
	{ "env: [A]", { "A=a\x1b\n=b\xff" }, { NULL }, "A=a\x1b\n=b\xff " },
	{ "env: ['*']", { "=x", "", "A", "B=1", "a/b=2" }, { NULL }, "B=1 " },
	/* Values that are granted. */
	{ "env: [A=1]", { NULL }, { NULL }, "A=1 " },
	{ "env: [A=1]", { "A=2" }, { NULL }, "A=1 " },
	{ "env: [A, A=1]", { "A=2" }, { NULL }, "A=1 " },
	{ "env: [A=1, A=2]", { NULL }, { NULL }, "A=1 " },
	{ "env: ['A=', B=x=y z]", { NULL }, { NULL }, "A= B=x=y z " },
	{ "env: [PATH=/x, HOME=/y, LANG=z]", { NULL }, { NULL }, "PATH=/x HOME=/y LANG=z " },
	{ "env: [{all: ['A*', A1=2]}]", { "A1=3" }, { NULL }, "A1=2 " },
	{ "env: [{all: ['B*', A1=2]}]", { "A1=3" }, { NULL }, "" },
	{ "rules: [{id: r, action: allow, operations: [env], patterns: [A, B=2]}]", { "A=1" },
		{ NULL }, "B=2 A=1 " },
	/* Denied and asked for. */
	{ "{env: ['*'], rules: [{id: r, action: deny, operations: [env], patterns: [A]}]}",
		{ "A=1", "B=2" }, { NULL }, "B=2 " },
	{ "{env: ['*'], rules: [{id: r, action: ask, operations: [env], patterns: [A]}]}",
		{ "A=1", "B=2" }, { NULL }, "B=2 " },
	{ "{env: [A=1], rules: [{id: r, action: deny, operations: [env], patterns: [A]}]}",
		{ NULL }, { NULL }, "" },
	/* Layers: granted in one, allowed by all. */
	{ "all_of: [{env: [A, B]}, {env: ['*']}]", { "A=1", "C=2" }, { NULL }, "A=1 " },
	{ "all_of: [{env: [A=1]}, {env: [A]}]", { "A=2" }, { NULL }, "A=1 " },
	{ "all_of: [{env: [A]}, {env: [A=1]}]", { "A=2" }, { NULL }, "A=1 " },
	{ "all_of: [{env: [A=1]}, {env: [A=2]}]", { "A=1" }, { NULL }, "" },
	{ "all_of: [{env: [A=1]}, {env: [B]}]", { "B=2" }, { NULL }, "" },
	/* A default is no grant, and neither is watching. */
	{ "default: allow", { "A=1" }, { NULL }, "" },
	{ "mode: monitor", { "A=1" }, { NULL }, "" },
	{ "mode: audit", { "A=1" }, { NULL }, "" },
	{ "{mode: monitor, env: [A]}", { "A=1", "B=2" }, { NULL }, "A=1 " },
	{ "all_of: [{default: allow}, {env: [A]}]", { "A=1", "B=2" }, { NULL }, "A=1 " },
	{ "all_of: [{mode: monitor}, {env: [A]}]", { "A=1", "B=2" }, { NULL }, "A=1 " },
	{ "all_of: [{mode: monitor, rules: [{id: r, action: deny, operations: [env], "
	  "patterns: [A]}]}, {default: allow}]",
		{ "A=1" }, { NULL }, "" },
	{ "all_of: [{mode: monitor, rules: [{id: r, action: deny, operations: [env], "
	  "patterns: [ENV]}]}, {env: ['*']}]",
		{ "ENV=1" }, { NULL }, "" },
	/* Names that a pattern does not mean. */
	{ "env: ['*']",
		{ "LD_PRELOAD=x", "LD_X=1", "BASH_ENV=x", "ENV=x", "GCONV_PATH=x", "IFS=x",
			"BASH_FUNC_a%%=() { x; }", "PYTHONPATH=x", "GLIBC_TUNABLES=x", "HOME=/h",
			"PWD=/w", "OLDPWD=/o", "TMPDIR=/t", "OK=1" },
		{ NULL }, "OK=1 " },
	{ "env: ['LD_*', 'LD_PRELOA?', HOM*]", { "LD_PRELOAD=x", "HOME=/h" }, { NULL }, "" },
	{ "env: [LD_PRELOAD]", { "LD_PRELOAD=x", "LD_AUDIT=y" }, { NULL }, "LD_PRELOAD=x " },
	{ "env: [LD_PRELOAD=/y]", { "LD_PRELOAD=x" }, { NULL }, "LD_PRELOAD=/y " },
	{ "all_of: [{env: ['*']}, {env: [ENV]}]", { "ENV=x" }, { NULL }, "ENV=x " },
	{ "{default: allow, rules: [{id: r, action: ask, operations: [env], patterns: [ENV]}]}",
		{ "ENV=x" }, { NULL }, "" },
	{ "env: [HOME, PWD, TMPDIR]", { "HOME=/h", "PWD=/w", "TMPDIR=/t" }, { NULL },
		"HOME=/h PWD=/w TMPDIR=/t " },
	{ "env: [PATH, SHELL, USER]", { "PATH=/p", "SHELL=/s", "USER=u" }, { NULL },
		"PATH=/p SHELL=/s USER=u " },
	/* The user's shell, where it may run. */
	{ "fs: {read: [/usr/**]}", { "SHELL=/usr/bin/fish" }, { NULL }, "SHELL=/usr/bin/fish " },
	{ "fs: {read: [/usr/**]}", { "SHELL=/home/u/fish" }, { NULL }, "" },
	{ "fs: {read: [/usr/**]}", { "SHELL=fish" }, { NULL }, "" },
	{ "{fs: {read: [/usr/**]}, exec: [/usr/bin/git]}", { "SHELL=/usr/bin/fish" }, { NULL },
		"" },
	/* Ours. */
	{ "env: ['*', CORRAL_X, CORRAL_Y=1, 'CORRAL_*']",
		{ "CORRAL_X=1", "CORRAL_Z=2", "CORRAL=3" }, { NULL }, "CORRAL=3 " },
	/* The call. */
	{ "env: [A]", { "A=1" }, { "A=2" }, "A=2 " },
	{ "env: [A=1]", { NULL }, { "A=1" }, "A=1 " },
	{ "env: [A, A=1]", { NULL }, { "A=2" }, "A=2 " },
	{ "env: ['A*']", { NULL }, { "AB=x=y", "AB=z" }, "AB=x=y " },
	{ "env: [LD_PRELOAD]", { NULL }, { "LD_PRELOAD=/x" }, "LD_PRELOAD=/x " },
	{ "env: [LD_PRELOAD=/x]", { NULL }, { "LD_PRELOAD=/x" }, "LD_PRELOAD=/x " },
	{ "env: [HOME]", { "HOME=/h" }, { "HOME=/x" }, "HOME=/x " },
	{ "default: allow", { NULL }, { "A=1" }, "A=1 " },
	{ "mode: monitor", { NULL }, { "A=1" }, "A=1 " },
};

static void check_rows(void)
{
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		auto_buffer got = { 0 };
		const char *const *env;
		struct error e = { 0 };
		size_t n = 0;
		int r = build(&a, rows[i].policy, rows[i].host, rows[i].call, &env, &n, &e);

		if (r < 0)
			fail_msg("%s: %d: %s", rows[i].policy, r, e.text);
		check_shape(rows[i].policy, env, n);
		for (size_t k = 0; k < n; k++) {
			if (!is_usual(env[k]))
				buffer_printf(&got, "%s ", env[k]);
		}
		if (strcmp(buffer_text(&got), rows[i].want) != 0)
			fail_msg("row %zu, %s: got <%s>, want <%s>", i, rows[i].policy,
				buffer_text(&got), rows[i].want);
	}
}

static void what_comes_in(void **state)
{
	(void)state;
	check_rows();
	ahead = true;
	check_rows();
	ahead = false;
}

/* What the call may not set */

static const struct {
	const char *policy, *item;
	int code;
	const char *text, *hint; /* parts of them */
} refused[] = {
	{ "{}", "A=1", -EACCES, "variable A is not allowed: ", "add env: [\"A\"]" },
	{ "env: [A=1]", "A=2", -EACCES, "variable A is not allowed: ", "add env: [\"A\"]" },
	{ "env: [B]", "A=1", -EACCES, "variable A ", "add env: [\"A\"]" },
	{ "all_of: [{env: [A]}, {}]", "A=1", -EACCES, "variable A ", "add env: [\"A\"]" },
	{ "{env: [A], rules: [{id: r, action: deny, operations: [env], patterns: [A]}]}", "A=1",
		-EACCES, "variable A is not allowed: ", "" },
	{ "{env: [A], rules: [{id: r, action: ask, operations: [env], patterns: [A]}]}", "A=1",
		-EACCES, "variable A is not allowed: ", "" },
	{ "env: ['*']", "LD_PRELOAD=/x", -EACCES, "LD_PRELOAD must be granted by its exact name",
		"add env: [LD_PRELOAD]" },
	{ "default: allow", "BASH_ENV=/x", -EACCES, "BASH_ENV must be granted by its exact name",
		"add env: [BASH_ENV]" },
	{ "env: ['*']", "HOME=/x", -EACCES, "HOME must be granted by its exact name",
		"add env: [HOME]" },
	{ "env: [LD_PRELOAD=/y, 'LD_*']", "LD_PRELOAD=/x", -EACCES,
		"must be granted by its exact name", "" },
	{ "env: ['*', CORRAL_X]", "CORRAL_X=1", -EACCES, "CORRAL_X is reserved for Corral",
		"another name" },
	{ "env: [CORRAL_X=1]", "CORRAL_X=1", -EACCES, "CORRAL_X is reserved for Corral",
		"another name" },
	{ "env: ['*']", "a/b=1", -EACCES, "a/b has an invalid name", "another" },
	{ "{}", "a\x1b[1m=1", -EACCES, "a\\x1b[1m is not allowed", "" },
	{ "env: ['*']", "A", -EINVAL, "NAME=value", "" },
	{ "env: ['*']", "=1", -EINVAL, "NAME=value", "" },
	{ "env: ['*']", "", -EINVAL, "NAME=value", "" },
};

static void what_the_call_may_not_set(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		const char *call[] = { refused[i].item, NULL };
		const char *const *env = NULL;
		auto_arena a = { 0 };
		struct error e = { 0 };
		size_t n = 77;
		int r = build(&a, refused[i].policy, NULL, call, &env, &n, &e);

		if (r != refused[i].code || !strstr(e.text, refused[i].text) ||
			!strstr(e.hint, refused[i].hint))
			fail_msg("%s, %s: got %d <%s> <%s>", refused[i].policy, refused[i].item, r,
				e.text, e.hint);
		assert_true(!env && n == 77);
	}
}

/* The usual values */

static const struct {
	struct environment_options o;
	const char *host[3];
	const char *want;
} defaults[] = {
	{ { .tty = true }, { "TERM=xterm-256color" }, "TERM=xterm-256color" },
	{ { .tty = false }, { "TERM=xterm" }, "TERM=dumb" },
	{ { .tty = true }, { "TERM=/x/y" }, "TERM=dumb" },
	{ { .tty = true }, { "TERM=.." }, "TERM=dumb" },
	{ { .tty = true }, { "TERM=" }, "TERM=dumb" },
	{ { .tty = true }, { "TERM=a b" }, "TERM=dumb" },
	{ { .tty = true }, { NULL }, "TERM=dumb" },
	{ { .tty = true },
		{ "TERM=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
		"TERM=dumb" },
	{ { 0 }, { "LANG=de_DE.UTF-8@euro" }, "LANG=de_DE.UTF-8@euro" },
	{ { 0 }, { "LANG=de_DE.UTF-8", "LC_ALL=en_GB.UTF-8" }, "LANG=en_GB.UTF-8" },
	{ { 0 }, { "LANG=de_DE.UTF-8", "LC_ALL=" }, "LANG=de_DE.UTF-8" },
	{ { 0 }, { "LANG=de_DE.UTF-8", "LC_ALL=/x" }, "LANG=de_DE.UTF-8" },
	{ { 0 }, { "LANG=../x" }, "LANG=C.UTF-8" },
	{ { 0 }, { "LANG=x\x1b" }, "LANG=C.UTF-8" },
	{ { 0 }, { NULL }, "LANG=C.UTF-8" },
	{ { .user = "alice" }, { "USER=eve" }, "USER=alice" },
	{ { .user = "alice" }, { NULL }, "LOGNAME=alice" },
	{ { .home = "/h" }, { "HOME=/x" }, "HOME=/h" },
	{ { .tmp = "/t" }, { "TMPDIR=/x" }, "TMPDIR=/t" },
	{ { .path = "/b" }, { "PATH=/x" }, "PATH=/b" },
	{ { .cwd = "/w" }, { "PWD=/x" }, "PWD=/w" },
};

static void what_is_usual(void **state)
{
	auto_policy *p = test_compile("{}");

	(void)state;
	for (size_t i = 0; i < ROWS(defaults); i++) {
		struct environment_options o = defaults[i].o;
		const char *const *env;
		auto_arena a = { 0 };
		struct error e = { 0 };
		bool found = false;
		size_t n;

		o.policy = p;
		o.host_env = defaults[i].host;
		assert_int_equal(environment_build(&a, &o, &env, &n, &e), 0);
		for (size_t k = 0; k < n; k++)
			found = found || strcmp(env[k], defaults[i].want) == 0;
		if (!found)
			fail_msg("row %zu: no %s", i, defaults[i].want);
		/* A folder that is not known is not set. */
		assert_true(!o.home == !find(env, "HOME") && !o.cwd == !find(env, "PWD"));
	}
}

/* Every word that is known to run code is one that a pattern does not mean. */
static void known_words_are_unsafe(void **state)
{
	(void)state;
	assert_true(env_name_n_code_words > 50);
	for (size_t i = 0; i < env_name_n_code_words; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "%s", env_name_code_words[i]);
		for (char *star = strchr(name, '*'); star; star = strchr(name, '*'))
			*star = 'Q';
		assert_true(env_name_is_unsafe(name, strlen(name)));
	}
	assert_false(env_name_is_unsafe("LANG", 4));
	assert_false(env_name_is_unsafe("LD", 2));
	assert_false(env_name_is_unsafe("ENVIRON", 7));
}

/* Bounds */

static void check_bounds(void)
{
	enum { LONG = 128 << 10 };
	static char item[LONG + 1] = "A=", many[20000][8];
	static const char *host[20001];
	auto_arena a = { 0 };
	const char *const *env = NULL;
	const char *one[] = { item, NULL };
	struct error e = { 0 };
	size_t n = 0;

	memset(item + 2, 'x', LONG - 3);
	item[LONG - 1] = '\0';
	assert_int_equal(build(&a, "env: [A]", one, NULL, &env, &n, &e), 0);
	assert_string_equal(env[0], item);
	item[LONG - 1] = 'x';
	assert_int_equal(build(&a, "env: [A]", one, NULL, &env, &n, &e), -E2BIG);
	assert_non_null(strstr(e.text, "too large: A and later"));
	assert_int_equal(build(&a, "env: [B]", one, NULL, &env, &n, &e), 0);
	for (size_t i = 0; i < ROWS(many); i++) {
		(void)snprintf(many[i], sizeof(many[i]), "V%zu=", i);
		host[i] = many[i];
	}
	assert_int_equal(build(&a, "env: ['V*']", host, NULL, &env, &n, &e), -E2BIG);
	assert_int_equal(build(&a, "env: [V19999]", host, NULL, &env, &n, &e), 0);
	assert_string_equal(find(env, "V19999"), "V19999=");
}

static void it_is_bounded(void **state)
{
	(void)state;
	check_bounds();
	ahead = true;
	check_bounds();
	ahead = false;
}

/* What is granted ahead counts with what each call adds. */
static void a_call_adds_to_what_is_granted(void **state)
{
	enum { LONG = 120 << 10, NUMBER = 8 };
	static char items[NUMBER + 1][LONG];
	const char *host[NUMBER + 1] = { NULL }, *call[] = { items[NUMBER], NULL };
	auto_policy *p = test_compile("env: ['?']");
	struct environment_options o = { .policy = p, .host_env = host };
	auto_arena a = { 0 };
	const char *const *env = NULL;
	struct error e = { 0 };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i <= NUMBER; i++) {
		memset(items[i], 'x', LONG - 1);
		items[i][0] = (char)('A' + i);
		items[i][1] = '=';
		if (i < NUMBER)
			host[i] = items[i];
	}
	assert_int_equal(environment_granted(&a, &o, &o.granted, &e), 0);
	assert_int_equal(environment_build(&a, &o, &env, &n, &e), 0);
	/* Not copied for each call. */
	assert_ptr_equal(env[0], o.granted[0]);
	o.call_env = call;
	assert_int_equal(environment_build(&a, &o, &env, &n, &e), -E2BIG);
}

static void its_total_is_bounded(void **state)
{
	enum { EACH = 100000, NUMBER = 12 };
	static char items[NUMBER][EACH];
	const char *host[NUMBER + 1] = { NULL };
	auto_arena a = { 0 };
	const char *const *env = NULL;
	struct error e = { 0 };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < NUMBER; i++) {
		memset(items[i], 'x', EACH - 1);
		items[i][0] = (char)('A' + i);
		items[i][1] = '=';
		host[i] = items[i];
	}
	assert_int_equal(build(&a, "env: ['?']", host, NULL, &env, &n, &e), -E2BIG);
	assert_non_null(strstr(e.text, "K and later"));
	host[9] = NULL;
	assert_int_equal(build(&a, "env: ['?']", host, NULL, &env, &n, &e), 0);
}

static void end_memory(bool is_ahead)
{
	static const char *const host[] = { "A=1", "B=2", "C=3", "LANG=x", "D=4", "E=5", NULL };
	static const char *const call[] = { "F=6", NULL };
	auto_policy *p = test_compile("env: ['?', G=7]");
	struct environment_options o = {
		.policy = p, .host_env = host, .call_env = call, .home = "/h", .cwd = "/w"
	};

	for (unsigned i = 0;; i++) {
		auto_arena a = { 0 };
		const char *const *env = NULL;
		struct error e = { 0 };
		size_t n = 77;
		int r;

		assert_true(i < 1000);
		failing_start(i);
		o.granted = NULL;
		r = !is_ahead ? 0 : environment_granted(&a, &o, &o.granted, &e);
		if (r == 0)
			r = environment_build(&a, &o, &env, &n, &e);
		if (!failing_stop()) {
			assert_int_equal(r, 0);
			assert_true(i > 10);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_string_equal(e.text, "out of memory");
		assert_true(!env && n == 77);
	}
}

/* Out of memory comes back as such, at every place. */
static void memory_may_end(void **state)
{
	(void)state;
	end_memory(false);
	end_memory(true);
}

/* Its socket is not to be set by anybody else; its folder is the last of PATH, whoever set that. */
static void the_broker_of_a_sandbox(void **state)
{
	static const struct {
		const char *policy, *host[3], *path;
	} cases[] = {
		{ "{}", { NULL }, NULL },
		{ "env: ['*']", { "SANDBOX_SOCKET=/mine", NULL }, NULL },
		{ "env: [SANDBOX_SOCKET=/mine, PATH=/x]", { NULL }, "PATH=/x:/tools" },
		{ "env: [PATH]", { "PATH=/h", NULL }, "PATH=/h:/tools" },
		{ "env: ['PATH=']", { NULL }, "PATH=/tools" },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(cases); i++) {
		const bool there = i % 2;
		auto_policy *p = test_compile(cases[i / 2].policy);
		const struct environment_options o = { .policy = p,
			.host_env = cases[i / 2].host,
			.socket = there ? "/s" : NULL,
			.tools = there ? "/tools" : NULL,
			.http_url = there ? "http://u/" : NULL,
			.http_token = there ? "t" : NULL };
		auto_arena a = { 0 };
		const char *const *env;
		struct error e = { 0 };
		size_t n;

		assert_int_equal(environment_build(&a, &o, &env, &n, &e), 0);
		if (there) {
			assert_string_equal(find(env, "SANDBOX_SOCKET"), "SANDBOX_SOCKET=/s");
			assert_string_equal(
				find(env, "SANDBOX_HTTP_URL"), "SANDBOX_HTTP_URL=http://u/");
			assert_string_equal(find(env, "SANDBOX_TOKEN"), "SANDBOX_TOKEN=t");
			assert_non_null(strstr(find(env, "PATH"), "/tools"));
		} else if (i < 2) {
			assert_null(find(env, "SANDBOX_SOCKET"));
			assert_null(find(env, "SANDBOX_TOKEN"));
			assert_null(strstr(find(env, "PATH"), "/tools"));
		}
		if (there && cases[i / 2].path)
			assert_string_equal(find(env, "PATH"), cases[i / 2].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_in),
		cmocka_unit_test(what_the_call_may_not_set),
		cmocka_unit_test(what_is_usual),
		cmocka_unit_test(known_words_are_unsafe),
		cmocka_unit_test(it_is_bounded),
		cmocka_unit_test(a_call_adds_to_what_is_granted),
		cmocka_unit_test(its_total_is_bounded),
		cmocka_unit_test(memory_may_end),
		cmocka_unit_test(the_broker_of_a_sandbox),
	};

	return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
