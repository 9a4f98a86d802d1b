/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles as a whole against tests/data/seatbelt/NAME.sb (written by NAME.yaml), single patterns
 * and refusals as tables. What the baseline adds is data of its own and is tested apart, so that
 * the golden files do not change with it.
 *
 * CORRAL_UPDATE_GOLDEN=1 writes the .sb files anew; read the difference before you keep it.
 */
#include "test/unit.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "codec/yaml.h"
#include "jail/seatbelt/internal.h"
#include "jail/seatbelt/seatbelt.h"
#include "policy/match/glob.h"
#include "policy/format/mode.h"
#include "policy/format/permissions-text.h"
#include "policy/permissions.h"
#include "policy/variable.h"

#define BASELINE "\n; the baseline"

static const char *data_folder;

static const struct variables vars = {
	.values = {
		[VARIABLE_WORK_DIR] = "/Users/ann/project",
		[VARIABLE_DATA_DIR] = "/Users/ann/.omega",
		[VARIABLE_HOME] = "/Users/ann",
		[VARIABLE_TEMP] = "/var/folders/zz/T",
	},
};

static struct permissions *read_permissions(const char *file, const char *text)
{
	struct permissions *p = permissions_new();
	auto_document d = { 0 };
	struct error e = { 0 };

	assert_non_null(p);
	if (yaml_read(&d, file, 1, text, strlen(text), &e) < 0 ||
		permissions_read_node(p, &d, d.root, &e) < 0)
		fail_msg("%s:%u: %s", file, e.line, e.text);
	return p;
}

static void cut_baseline(struct buffer *b)
{
	char *at = b->data ? strstr(b->data, BASELINE) : NULL;

	assert_non_null(at);
	*at = '\0';
	b->len = (size_t)(at - b->data);
}

static void compare(const char *name, struct buffer *profile)
{
	auto_buffer expected = { 0 };
	char path[4096];

	cut_baseline(profile);
	(void)snprintf(path, sizeof(path), "%s/%s.sb", data_folder, name);
	if (getenv("CORRAL_UPDATE_GOLDEN"))
		assert_int_equal(file_replace(path, profile->data, profile->len, 0644), 0);
	assert_int_equal(file_read(path, 1 << 20, &expected), 0);
	assert_string_equal(buffer_text(profile), buffer_text(&expected));
}

static void test_golden(void **state)
{
	static const char *const names[] = { "skill", "globs", "layers", "rules", "network",
		"nothing" };

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		auto_buffer text = { 0 }, profile = { 0 };
		auto_permissions *p = NULL;
		struct error e = { 0 };
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/%s.yaml", data_folder, names[i]);
		assert_int_equal(file_read(path, 1 << 20, &text), 0);
		p = read_permissions(names[i], buffer_text(&text));
		if (seatbelt_print(p, &vars, &profile, &e) < 0)
			fail_msg("%s: %s", names[i], e.text);
		compare(names[i], &profile);
	}
}

static void test_agent(void **state)
{
	auto_buffer profile = { 0 };
	auto_permissions *p = permissions_new();
	struct error e = { 0 };

	(void)state;
	assert_non_null(p);
	assert_int_equal(
		agent_mode_permissions(AGENT_MODE_SANDBOX, "/Users/ann/.omega", NULL, 0, p, &e), 0);
	if (seatbelt_print_agent(p, &vars, &profile, &e) < 0)
		fail_msg("%s", e.text);
	compare("agent", &profile);
}

/* Everything is allowed there, so permissions that allow less must not be written so. */
static void test_agent_must_be_open(void **state)
{
	static const char *const texts[] = {
		"fs: {read: [/usr/**]}\nnetwork: {allow: ['*']}\n",
		"fs: {read: [/**]}\n",
		"fs: {read: [/**]}\nnetwork: {allow: ['*:443']}\n",
		"fs: {read: [/**]}\nnetwork: {allow: ['*']}\nexec: [ls]\n",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		auto_permissions *p = read_permissions("text", texts[i]);
		auto_buffer profile = { 0 };
		struct error e = { 0 };

		assert_int_equal(seatbelt_print_agent(p, &vars, &profile, &e), -EINVAL);
		assert_int_equal(profile.len, 0);
	}
}

static void test_baseline_comes_last(void **state)
{
	auto_permissions *p = read_permissions("text", "fs: {read: [/**], write: [/**]}\n");
	auto_buffer profile = { 0 };
	struct error e = { 0 };
	const char *baseline;

	(void)state;
	assert_int_equal(seatbelt_print(p, &vars, &profile, &e), 0);
	baseline = strstr(buffer_text(&profile), BASELINE);
	assert_non_null(baseline);
	assert_null(strstr(baseline, "(allow"));
	assert_non_null(strstr(baseline, "(subpath \"/Users/ann/.ssh\")"));
	assert_non_null(strstr(baseline, "(regex #\"^/Users/[^/][^/]*/\\.ssh(/.*)?$\")"));
	assert_non_null(strstr(baseline, "(subpath \"/private/var/root/.ssh\")"));
}

static void test_dangerously_allowed(void **state)
{
	auto_permissions *p = read_permissions(
		"text", "fs: {read: [/**]}\ndangerously_allow: [~/.ssh/known_hosts]\n");
	auto_buffer profile = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(seatbelt_print(p, &vars, &profile, &e), 0);
	assert_non_null(strstr(
		buffer_text(&profile), "(require-not (literal \"/Users/ann/.ssh/known_hosts\"))"));
}

static const struct {
	const char *text;
	int code;
	const char *sentence; /* a part of it */
} refusals[] = {
	{ "network: {allow: ['api.example.com:443']}", -EOPNOTSUPP,
		"it does not support names and addresses" },
	{ "network: {allow: ['*.example.com']}", -EOPNOTSUPP,
		"it does not support names and addresses" },
	{ "network: {allow: ['10.0.0.0/8']}", -EOPNOTSUPP,
		"it does not support names and addresses" },
	{ "network: {allow: ['127.0.0.1:80']}", -EOPNOTSUPP,
		"it does not support names and addresses" },
	{ "network: {allow: ['*:1000-2000']}", -EOPNOTSUPP, "it does not support port ranges" },
	{ "network: {allow: ['*'], deny: ['evil.example.com']}", -EOPNOTSUPP,
		"does not support names" },
	{ "network: {allow: ['*'], rate_limit: 10/min}", -EOPNOTSUPP, "limits of the network" },
	{ "exec: ['git push:*']", -EOPNOTSUPP, "not its arguments" },
	{ "fs: {read: ['/a/\"*']}", -EOPNOTSUPP, "quotation mark" },
	{ "fs: {read: ['/a/[\\\\x]']}", -EOPNOTSUPP, "backslash in a set" },
	{ "fs: {read: [\"/a\\nb\"]}", -EOPNOTSUPP, "control characters" },
	{ "fs: {read: [$SKILL_DIR/**]}", -ENOENT, "$SKILL_DIR has no value" },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refusals); i++) {
		auto_permissions *p = read_permissions(refusals[i].text, refusals[i].text);
		auto_buffer profile = { 0 };
		struct error e = { 0 };
		int r = seatbelt_print(p, &vars, &profile, &e);

		if (r != refusals[i].code || !strstr(e.text, refusals[i].sentence))
			fail_msg("%s: %d, \"%s\"", refusals[i].text, r, e.text);
		assert_int_equal(profile.len, 0);
	}
}

static void test_modes_and_fallback(void **state)
{
	auto_permissions *p = permissions_new();
	auto_buffer profile = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_non_null(p);
	p->mode = MODE_MONITOR;
	assert_int_equal(seatbelt_print(p, &vars, &profile, &e), -EOPNOTSUPP);
	p->mode = MODE_ENFORCE;
	p->fallback = VERDICT_ALLOW;
	assert_int_equal(seatbelt_print(p, &vars, &profile, &e), -EOPNOTSUPP);
	assert_int_equal(profile.len, 0);
}

static const struct {
	const char *pattern, *filters; /* joined by a space */
} patterns[] = {
	{ "/a/b", "(literal \"/a/b\")" },
	{ "/a/b/**", "(subpath \"/a/b\")" },
	{ "/", "(literal \"/\")" },
	{ "/**", "(subpath \"/\")" },
	{ "/say \"hi\"", "(literal \"/say \\\"hi\\\"\")" },
	{ "/back\\\\slash", "(literal \"/back\\\\slash\")" },
	{ "/a/{b,c/**}", "(literal \"/a/b\") (subpath \"/a/c\")" },
	{ "$WORK_DIR/x", "(literal \"/Users/ann/project/x\")" },
	/* links into /private */
	{ "/tmp", "(literal \"/private/tmp\")" },
	{ "/tmp/**", "(subpath \"/private/tmp\")" },
	{ "/tmpx/**", "(subpath \"/tmpx\")" },
	{ "/var/*/x", "(regex #\"^/private/var/[^/][^/]*/x$\")" },
	{ "/etc/**/x", "(regex #\"^/private/etc/(.*/)?x$\")" },
	{ "/**/x", "(regex #\"^/(.*/)?x$\")" },
	{ "/te*", "(regex #\"^/te[^/]*$\")" },
	{ "/t*/x", "(require-all (regex #\"^/private/(tmp|var|etc)(/.*)?$\") "
		   "(regex #\"^/private/t[^/]*/x$\")) (regex #\"^/t[^/]*/x$\")" },
	{ "/tmp*", "(require-all (regex #\"^/private/(tmp|var|etc)(/.*)?$\") "
		   "(regex #\"^/private/tmp[^/]*$\")) (regex #\"^/tmp[^/]*$\")" },
	/* globs */
	{ "/a/*.c", "(regex #\"^/a/[^/]*\\.c$\")" },
	{ "/a/?", "(regex #\"^/a/[^/]$\")" },
	{ "/a/x+(y)*", "(regex #\"^/a/x\\+\\(y\\)[^/]*$\")" },
	{ "/a/*/**", "(regex #\"^/a/[^/][^/]*(/.*)?$\")" },
	{ "/a/[a-cx]", "(regex #\"^/a/[a-cx]$\")" },
	{ "/a/[x]", "(literal \"/a/x\")" },
	{ "/a/[!0-9]", "(regex #\"^/a/[^/-9]$\")" },
	{ "/a/[!ab]", "(regex #\"^/a/[^/ab]$\")" },
	{ "/a/[\\]a]", "(regex #\"^/a/[]a]$\")" },
	{ "/a/[\\^\\-]", "(regex #\"^/a/[-^]$\")" },
	{ "/a/[a\\^\\-]", "(regex #\"^/a/[a^-]$\")" },
	{ "/a/[\\^]*", "(regex #\"^/a/\\^[^/]*$\")" },
	{ "/a/[!\\]\\^]", "(regex #\"^/a/[^]/^]$\")" },
};

static void test_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++) {
		auto_arena arena = { 0 };
		auto_buffer got = { 0 };
		struct error e = { 0 };
		struct seatbelt_context c = { &arena, &vars, &e, NULL };
		struct seatbelt_filters f = { 0 };

		if (seatbelt_filter_path(&c, patterns[i].pattern, &f) < 0)
			fail_msg("%s: %s", patterns[i].pattern, e.text);
		for (size_t k = 0; k < f.n; k++)
			buffer_printf(&got, "%s%s", k ? " " : "", f.items[k]);
		assert_string_equal(buffer_text(&got), patterns[i].filters);
	}
}

/* The regular expressions say what the globs say: asked of the C library's, which has the same
 * syntax here. */
static void test_regex_agrees_with_glob(void **state)
{
	static const char *const globs[] = { "/a/*.c", "/a/?", "/a/**/b", "/a/*/**", "/**/b",
		"/a/[!0-9]", "/a/[]a^-]", "/a/[!]a^-]", "/a/x+(y)*", "/a/b*c*d", "/a/[a-c][!a-c]",
		"/a/**/b/**" };
	static const char *const paths[] = { "/a", "/b", "/a/b", "/a/", "/a/b/c", "/a/x/y/b",
		"/a/.c", "/a/b.c", "/a/b.cc", "/a/b/x.c", "/a/0", "/a/]", "/a/^", "/a/-", "/a/a",
		"/a/x+(y)", "/a/x+(y)z", "/a/xx(y)", "/a/bcd", "/a/bxcxd", "/a/b/cd", "/a/ad",
		"/a/aa", "/a/b/x/b/y", "/ab" };

	(void)state;
	for (size_t i = 0; i < ROWS(globs); i++) {
		auto_arena arena = { 0 };
		auto_buffer text = { 0 };
		struct error e = { 0 };
		struct glob g;
		regex_t regex;

		assert_int_equal(glob_parse(&g, &arena, globs[i], NULL, &e), 0);
		assert_int_equal(g.n, 1);
		buffer_addc(&text, '^');
		assert_int_equal(seatbelt_regex_print(&g.alternatives[0], &text), 0);
		buffer_addc(&text, '$');
		assert_int_equal(regcomp(&regex, buffer_text(&text), REG_EXTENDED | REG_NOSUB), 0);
		for (size_t k = 0; k < ROWS(paths); k++) {
			bool by_regex = regexec(&regex, paths[k], 0, NULL, 0) == 0;

			if (by_regex != glob_match(&g, paths[k], strlen(paths[k])))
				fail_msg("%s and %s differ on %s", globs[i], buffer_text(&text),
					paths[k]);
		}
		regfree(&regex);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_agent_must_be_open),
		cmocka_unit_test(test_baseline_comes_last),
		cmocka_unit_test(test_dangerously_allowed),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_modes_and_fallback),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_regex_agrees_with_glob),
	};

	data_folder = argc > 1 ? argv[1] : "tests/data/seatbelt";
	return cmocka_run_group_tests_name("seatbelt", tests, NULL, NULL);
}
