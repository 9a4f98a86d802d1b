/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "policy/format/test/test-manifest.h"

#define ROOT(pattern) "fs:\n  read:\n    - " pattern "\n  write:\n    - " pattern "\nexec: []\n"

static const struct reading readings[] = {
	{ "allowed_roots: []", "exec: []\n" },
	/* Roots are folders: their names are names. */
	{ "allowed_roots: [/srv/a]", ROOT("/srv/a/**") },
	{ "allowed_roots: [/srv//a/./b/../]", ROOT("/srv/a/**") },
	{ "allowed_roots: [/]", ROOT("/**") },
	{ "allowed_roots: [~/notes]", ROOT("$HOME/notes/**") },
	{ "allowed_roots: [\"~\"]", ROOT("$HOME/**") },
	{ "allowed_roots: [$WORK_DIR]", ROOT("$WORK_DIR/**") },
	{ "allowed_roots: [$WORK_DIR/]", ROOT("$WORK_DIR/**") },
	{ "allowed_roots: [\"/srv/[x]*\"]", ROOT("/srv/\\[x\\]\\*/**") },
	{ "allowed_roots: [\"/srv/$HOME\"]", ROOT("/srv/\\$HOME/**") },
	/* Commands: a program, or a prefix in whole words. */
	{ "allowed_commands: [git, npm  run, /usr/bin/jq, \"a:b\", \"x\\\\y\", \"ls:\"]",
		"exec:\n  - /usr/bin/jq\n  - a:b\n  - git\n  - ls::*\n  - npm run:*\n"
		"  - x\\\\y\n" },
	{ "allowed_hosts: [A.example, \"b.example:443\", \"*.c.example\"]",
		"network:\n  allow:\n    - \"*.c.example:*\"\n    - a.example:*\n    - "
		"b.example:443\n"
		"exec: []\n" },
};

static void test_readings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++)
		check_manifest(MANIFEST_UNKNOWN, "grants.yaml", &readings[i]);
}

static void test_sample(void **state)
{
	auto_buffer text = { 0 };
	auto_manifest m = { 0 };

	(void)state;
	load_sample("enclave.json", &text);
	assert_int_equal(manifest_read(&m, MANIFEST_UNKNOWN, "enclave.json", buffer_text(&text),
				 text.len, NULL),
		0);
	assert_int_equal(m.kind, MANIFEST_ENCLAVE);
	assert_string_equal(m.session_id, "5f0c");
	assert_int_equal(m.permissions->fs_write.n, 3);
	assert_int_equal(m.permissions->exec.n, 3);
	assert_int_equal(m.permissions->network_allow.n, 2);
	check_round_trip(m.permissions);
}

static void test_refusals(void **state)
{
	static const struct refusal rows[] = {
		{ "allowed_roots: [projects]", 1, 17, "`projects` is not an absolute path", NULL },
		{ "allowed_roots: [\"\"]", 1, 17, "`` is not an absolute path", NULL },
		{ "allowed_roots: [$HOEM/x]", 1, 17, "unknown variable $HOEM", "did you mean" },
		{ "allowed_roots: [[]]", 1, 17, "must be text", NULL },
		{ "allowed_roots: /srv", 1, 16, "must be a list", "write" },
		{ "allowed_commands: [\"*\"]", 1, 20,
			"commands cannot contain wildcards; use a prefix", NULL },
		{ "allowed_commands: [\"\"]", 1, 20, "needs a program", NULL },
		{ "allowed_commands: [null]", 1, 20, "must be text", NULL },
		{ "allowed_hosts: [a b]", 1, 17, "not a host name", "write" },
		{ "allowed_hosts: [{}]", 1, 17, "must be text", NULL },
		{ "allowed_hosts: []\nallowed_root: []", 2, 1, "did you mean `allowed_roots`?",
			NULL },
		{ "allowed_hosts: []\ndenied_paths: []", 2, 1, "unknown key `denied_paths`",
			"valid keys" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_refused(MANIFEST_UNKNOWN, "grants.yaml", &rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("manifest-enclave", tests, NULL, NULL);
}
