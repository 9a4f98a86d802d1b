/* SPDX-License-Identifier: Apache-2.0 */
/* What files of a project say, and the corral.yaml that is made of it. */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "cli/project/internal.h"
#include "policy/format/project.h"

static void test_make(void **state)
{
	static const struct {
		const char *text;
		enum facts_target target;
	} rows[] = {
		{ "", FACTS_NONE },
		{ "CC := gcc\nA = b: c\n", FACTS_NONE },
		{ ".PHONY: test\n", FACTS_NONE },
		{ "all: x\n", FACTS_ALL },
		{ "all:\n\techo test: x\n", FACTS_ALL },
		{ "check: all\n", FACTS_CHECK },
		{ "check: all\ntest: all\n", FACTS_TEST },
		{ "a test b:\n", FACTS_TEST },
		{ "test:", FACTS_TEST },
		{ "# test: x\n", FACTS_NONE },
		{ "tests: x\n", FACTS_ALL },
		{ "test := x\n", FACTS_NONE },
		{ ":\n::\n", FACTS_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		if (facts_read_make(rows[i].text, strlen(rows[i].text)) != rows[i].target)
			fail_msg("%s", rows[i].text);
}

static void test_package(void **state)
{
	static const struct {
		const char *text;
		bool package, needs, test;
		uint32_t line;
	} rows[] = {
		{ "{\"scripts\": {\"test\": \"node t.js\"}}", true, false, true, 0 },
		{ "{\"devDependencies\": {\"a\": \"1\"}}", true, true, false, 0 },
		{ "{\"dependencies\": {}}", true, false, false, 0 },
		{ "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}",
			true, false, false, 0 },
		{ "{\"scripts\": [\"test\"], \"dependencies\": 1}", true, false, false, 0 },
		{ "[]", false, false, false, 0 },
		{ "{\n\"name\": ,\n", false, false, false, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct facts f = { 0 };

		facts_read_package(rows[i].text, strlen(rows[i].text), &f);
		if (f.package != rows[i].package || f.package_needs != rows[i].needs ||
			f.package_test != rows[i].test || f.package_line != rows[i].line ||
			!f.package_fault != rows[i].package)
			fail_msg("%s", rows[i].text);
	}
}

static void test_words(void **state)
{
	static const char remote[] = "[remote \"o\"]\n\turl = git@github.com:a/b\n";
	static const char other[] =
		"url = https://github.com.evil.example/x\nurl = x/notgithub.com/";

	(void)state;
	assert_true(facts_has_word("pytest>=8", 9, "pytest"));
	assert_true(facts_has_word("xpytest, pytest", 15, "pytest"));
	assert_false(facts_has_word("pytests", 7, "pytest"));
	assert_false(facts_has_word("", 0, "pytest"));
	assert_true(facts_has_remote(remote, strlen(remote), "github.com"));
	assert_false(facts_has_remote(other, strlen(other), "github.com"));
}

/* Every combination of facts is a file that can be read, and no name is there twice. */
static void test_proposals(void **state)
{
	enum { FLAGS = 15 };

	(void)state;
	for (unsigned bits = 0; bits < 1U << FLAGS; bits++) {
		struct facts f = { .package = bits & 1,
			.package_lock = bits & 2,
			.package_needs = bits & 4,
			.package_test = bits & 8,
			.python = bits & 16,
			.requirements = bits & 32,
			.uv_lock = bits & 64,
			.python_needs = bits & 128,
			.pytest = bits & 256,
			.tests_folder = bits & 512,
			.cargo = bits & 1024,
			.go = bits & 2048,
			.cmake = bits & 4096,
			.meson = bits & 8192,
			.github = bits & 16384,
			.make = (enum facts_target)((bits >> 4 ^ bits >> 9 ^ bits >> 13) % 4) };
		struct project_proposal has;
		auto_project_file p = { 0 };
		auto_buffer text = { 0 };
		struct error e = { 0 };

		/* What belongs to another fact says nothing without that. */
		if ((!f.package && bits & 14) || (!f.python && bits & 992))
			continue;
		project_propose(&f, &text, &has);
		if (project_file_read(&p, "corral.yaml", buffer_text(&text), text.len, &e) < 0)
			fail_msg("%s: %s", buffer_text(&text), e.text);
		assert_int_equal(has.has_test, project_file_find(&p, "test") != NULL);
		assert_int_equal(has.has_build, project_file_find(&p, "build") != NULL);
		assert_int_equal(has.has_install, project_file_find(&p, "install") != NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_package),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_proposals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
