/* SPDX-License-Identifier: Apache-2.0 */
/* corral.yaml: what it says, and what it may not say. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/format/permissions-text.h"
#include "policy/format/project.h"

static int read_text(struct project_file *p, const char *text, struct error *e)
{
	return project_file_read(p, "corral.yaml", text, strlen(text), e);
}

static void test_whole(void **state)
{
	static const char text[] = "version: 1\n"
				   "preset: readonly\n"
				   "with: [npm, git]\n"
				   "fs:\n  write: [\"$WORK_DIR/out/**\"]\n"
				   "network: {allow: [\"example.com:443\"]}\n"
				   "limits: {timeout: 5m}\n"
				   "commands:\n"
				   "  test: npm  test\n"
				   "  all: [sh, -c, 'a && b', '']\n";
	auto_project_file p = { 0 };
	auto_buffer printed = { 0 };
	const struct project_command *c;

	(void)state;
	assert_int_equal(read_text(&p, text, NULL), 0);
	assert_string_equal(p.preset, "readonly");
	assert_int_equal(p.preset_where.line, 2);
	assert_int_equal(p.n_packs, 2);
	assert_string_equal(p.packs[1], "git");
	c = project_file_find(&p, "test");
	assert_non_null(c);
	assert_int_equal(c->n, 2);
	assert_string_equal(c->words[1], "test");
	assert_null(c->words[2]);
	assert_int_equal(c->where.line, 9);
	c = project_file_find(&p, "all");
	assert_non_null(c);
	assert_int_equal(c->n, 4);
	assert_string_equal(c->words[2], "a && b");
	assert_null(project_file_find(&p, "tests"));
	permissions_print_yaml(p.permissions, &printed);
	assert_string_equal(buffer_text(&printed),
		"fs:\n  write:\n    - $WORK_DIR/out/**\nnetwork:\n  allow:\n    - example.com:443\n"
		"limits:\n  timeout: 5m\n");
	assert_string_equal(p.permissions->fs_write.items[0].where.file, "corral.yaml");
	assert_int_equal(p.permissions->fs_write.items[0].where.line, 5);
	project_file_cut_network(&p);
	assert_int_equal(p.permissions->network_allow.n, 0);
	assert_int_equal(p.permissions->fs_write.n, 1);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *says, *hints;
	} rows[] = {
		{ "presets: npm\n", 1, "unknown key `presets`", "did you mean `preset`?" },
		{ "preset: workspace\nwiht: [npm]\n", 2, "unknown key `wiht`", "`with`" },
		{ "fs: {raed: []}\n", 1, "unknown key `fs.raed`", "did you mean `fs.read`?" },
		{ "fs: {read: [/a]}\nfs: {read: [/b]}\n", 2, "fs", NULL },
		{ "version: 2\n", 0, "version 2", "upgrade Corral" },
		{ "version: one\n", 1, "`version`", NULL },
		{ "ask: always\n", 1, "`ask`", NULL },
		{ "ask: [denied]\n", 1, "`ask`", NULL },
		{ "extends: workspace\n", 1, "`extends`", "preset: NAME" },
		{ "dangerously_allow: [~/.ssh]\n", 1, "`dangerously_allow`",
			"--dangerously-allow" },
		{ "default: allow\n", 1, "`default`", NULL },
		{ "mode: monitor\n", 1, "`mode`", NULL },
		{ "all_of: [{}]\n", 1, "`all_of`", NULL },
		{ "preset: ../x\n", 1, "is not the name of a profile or an agent", NULL },
		{ "with: npm\n", 1, "`with` must be a list", NULL },
		{ "commands: {test: make && rm -r x}\n", 1, "no script", "as a list" },
		{ "commands: {test: \"echo $HOME\"}\n", 1, "no script", NULL },
		{ "commands: {test: \"A=b make\"}\n", 1, "no script", NULL },
		{ "commands: {test: \"a\\nb\"}\n", 1, "no script", NULL },
		{ "commands: {test: \"\"}\n", 1, "needs a program", NULL },
		{ "commands: {test: []}\n", 1, "needs a program", NULL },
		{ "commands: {test: [\"\", x]}\n", 1, "needs a program", NULL },
		{ "commands: {-x: make}\n", 1, "is not the name of a command", NULL },
		{ "commands: {\"a/b\": make}\n", 1, "is not the name of a command", NULL },
		{ "commands: {\"a\\e[1m\": make}\n", 1, "is not the name of a command", NULL },
		{ "commands: {test: {run: x}}\n", 1, "must be text", NULL },
		{ "commands: {a: x, a: y}\n", 1, "a", NULL },
		{ "[]\n", 1, "must be a map", NULL },
		{ "", 0, "must be a map", "write {}" },
		{ "a: &x [*x]\n", 0, "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_project_file p = { 0 };
		struct error e = { 0 };

		assert_true(read_text(&p, rows[i].text, &e) < 0);
		assert_null(p.permissions);
		if (rows[i].line)
			assert_int_equal(e.line, rows[i].line);
		if (!strstr(e.text, rows[i].says) ||
			(rows[i].hints && !strstr(e.text, rows[i].hints) &&
				!strstr(e.hint, rows[i].hints)))
			fail_msg("%s: %s (%s)", rows[i].text, e.text, e.hint);
	}
}

static void test_bytes(void **state)
{
	static char huge[PROJECT_BYTES_MAX + 2], deep[4096];
	auto_project_file p = { 0 };
	struct error e = { 0 };

	(void)state;
	memset(huge, '#', sizeof(huge) - 1);
	assert_int_equal(project_file_read(&p, "f", huge, sizeof(huge) - 1, &e), -EFBIG);
	memset(deep, '[', sizeof(deep));
	assert_true(project_file_read(&p, "f", deep, sizeof(deep), &e) < 0);
	assert_true(project_file_read(&p, "f", "a: b\0c\n", 7, &e) < 0);
	assert_true(project_file_read(&p, "f", "preset: \xff\n", 10, &e) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
