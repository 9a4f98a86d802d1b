/* SPDX-License-Identifier: Apache-2.0 */
/* Grants that join the text of a corral.yaml. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "cli/project/project.h"

static int append(const char *text, const char *more, struct buffer *ret)
{
	auto_arena arena = { 0 };
	struct error e = { 0 };
	struct call c = { .arena = &arena, .error = &e };
	auto_project p = { .path = "corral.yaml" };
	auto_project_file grants = { 0 };

	buffer_adds(&p.text, text);
	assert_int_equal(project_file_read(&p.file, "corral.yaml", text, strlen(text), &e), 0);
	assert_int_equal(project_file_read(&grants, "more", more, strlen(more), &e), 0);
	return project_append(&p, &c, grants.permissions, ret);
}

static void test_append(void **state)
{
	static const struct {
		const char *text, *more, *result; /* NULL: it is refused */
	} rows[] = {
		{ "version: 1\n", "fs: {read: [/a]}", "version: 1\nfs:\n  read:\n    - /a\n" },
		{ "version: 1", "env: [A]", "version: 1\nenv:\n  - A\n" },
		{ "fs:\n  # why\n  read:\n    - /a # this\nenv: [X]\n", "fs: {read: [/a, /b]}",
			"fs:\n  # why\n  read:\n    - /a # this\n    - /b\nenv: [X]\n" },
		{ "fs:\n  read:\n  - /a\n", "fs: {read: [/b, /c]}",
			"fs:\n  read:\n  - /a\n  - /b\n  - /c\n" },
		{ "fs:\n  read:\n    - /a\n", "fs: {write: [/b]}",
			"fs:\n  write:\n    - /b\n  read:\n    - /a\n" },
		{ "exec:\n  - git\n", "exec: ['git push:*']", "exec:\n  - git\n  - git push:*\n" },
		{ "commands:\n  test: make\n", "network: {allow: ['*.example.com:443']}",
			"commands:\n  test: make\nnetwork:\n  allow:\n    - "
			"\"*.example.com:443\"\n" },
		/* Not by lines. */
		{ "fs: {read: [/a]}\n", "fs: {read: [/b]}", NULL },
		{ "fs:\n  read: [/a]\n", "fs: {read: [/b]}", NULL },
		{ "{version: 1}\n", "env: [A]", NULL },
		{ "env:\n  - >-\n    A\n", "env: [B]", NULL },
		{ "version: 1\n...\n", "env: [A]", NULL },
		/* A word of a command would end with another byte. */
		{ "commands:\n  test:\n    - sh\n    - |\n      make", "env: [A]", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer got = { 0 };
		int r = append(rows[i].text, rows[i].more, &got);

		if (rows[i].result ? r != 0 : r != -ENOTSUP)
			fail_msg("%s: %d %s", rows[i].text, r, buffer_text(&got));
		if (rows[i].result)
			assert_string_equal(buffer_text(&got), rows[i].result);
	}
}

static void test_nothing_new(void **state)
{
	auto_buffer got = { 0 };

	(void)state;
	assert_int_equal(append("env: [A, B]\n", "env: [B]", &got), 1);
	assert_int_equal(got.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_nothing_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
