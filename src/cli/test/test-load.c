/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "cli/load.h"
#include "policy/algebra/algebra.h"
#include "policy/format/permissions-text.h"
#include "test/scratch.h"

static char template[] = "/tmp/test-load.XXXXXX", folder[PATH_MAX];

static const struct {
	const char *path, *text; /* text NULL: a folder */
} tree[] = {
	{ "read.yaml", "fs: {read: [/srv/**]}\n" },
	{ "write.yaml", "fs: {read: [/srv/data/**], write: [/srv/data/**]}\n" },
	{ "broken.yaml", "fs:\n  raed: [/srv]\n" },
	{ "skill", NULL },
	{ "skill/skill.yaml", "name: s\npermissions: {fs: {read: [$SKILL_DIR/x]}}\n" },
	{ "other", NULL },
	{ "other/skill.yaml", "name: o\npermissions: {}\n" },
	{ "two", NULL },
	{ "two/skill.yaml", "name: a\n" },
	{ "two/manifest.yaml", "name: b\n" },
	{ "none", NULL },
};

static int set_up(void **state)
{
	(void)state;
	if (scratch_make(template, folder) < 0 || chdir(folder) < 0)
		return -1;
	for (size_t i = 0; i < ROWS(tree); i++) {
		FILE *file;

		if (!tree[i].text) {
			if (mkdir(tree[i].path, 0700) < 0)
				return -1;
			continue;
		}
		file = fopen(tree[i].path, "we");
		if (!file || fputs(tree[i].text, file) < 0 || fclose(file) != 0)
			return -1;
	}
	return setenv("HOME", "/home/u", 1) < 0 || setenv("TMPDIR", "/var/tmp", 1) < 0 ||
			       setenv("XDG_DATA_HOME", "relative", 1) < 0
		       ? -1
		       : 0;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : scratch_remove(folder);
}

/* A call with an arena and an error of its own. */
struct fixture {
	struct arena arena;
	struct error error;
	struct verb verb;
	struct call call;
	struct load load;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ .verb = { .name = "test" } };
	f->call = (struct call){
		.verb = &f->verb, .name = "corral test", .arena = &f->arena, .error = &f->error
	};
}

static void fixture_deinit(struct fixture *f)
{
	load_deinit(&f->load);
	arena_deinit(&f->arena);
}
#define auto_fixture __attribute__((cleanup(fixture_deinit))) struct fixture

static int set(struct fixture *f, const char *value)
{
	const struct options_row row = LOAD_SET(&f->load);

	return load_set(&f->call, &row, value);
}

/* From the environment; a folder that is not absolute does not count. */
static void test_variables_have_defaults(void **state)
{
	auto_fixture f = { 0 };
	const char *const *values = f.load.variables.values;

	(void)state;
	fixture_init(&f);
	assert_int_equal(load_begin(&f.load, &f.call), 0);
	assert_string_equal(values[VARIABLE_WORK_DIR], folder);
	assert_string_equal(values[VARIABLE_HOME], "/home/u");
	assert_string_equal(values[VARIABLE_TEMP], "/var/tmp");
	assert_string_equal(values[VARIABLE_DATA_DIR], "/home/u/.local/share/corral/data");
	assert_string_equal(values[VARIABLE_SHARED_DIR], "/home/u/.local/share/corral/shared");
	assert_null(values[VARIABLE_SKILL_DIR]);
}

static void test_set_gives_a_variable_its_value(void **state)
{
	static const struct {
		const char *value;
		enum variable variable;
		const char *want;
	} rows[] = {
		{ "WORK_DIR=/srv/work", VARIABLE_WORK_DIR, "/srv/work" },
		{ "HOME=/srv/../home//x/", VARIABLE_HOME, "/home/x" },
		{ "TEMP=/a=b", VARIABLE_TEMP, "/a=b" },
	};
	auto_fixture f = { 0 };
	const char *below;

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(set(&f, rows[i].value), 0);
		assert_string_equal(f.load.variables.values[rows[i].variable], rows[i].want);
	}
	/* A relative folder is taken from the current one. */
	assert_int_equal(set(&f, "SKILL_DIR=skill"), 0);
	below = f.load.variables.values[VARIABLE_SKILL_DIR];
	assert_true(strncmp(below, folder, strlen(folder)) == 0);
	assert_string_equal(below + strlen(folder), "/skill");
	/* The defaults do not replace them. */
	assert_int_equal(load_begin(&f.load, &f.call), 0);
	assert_string_equal(f.load.variables.values[VARIABLE_WORK_DIR], "/srv/work");
}

static void test_set_refuses_other_values(void **state)
{
	static const struct {
		const char *value, *says, *hint;
	} rows[] = {
		{ "WORK_DIR", "invalid value for --set: expected NAME=DIR", "--help" },
		{ "WORK_DIR=", "invalid value for --set: expected NAME=DIR", "--help" },
		{ "", "invalid value for --set: expected NAME=DIR", "--help" },
		{ "WROK_DIR=/x", "--set: unknown variable `WROK_DIR`",
			"did you mean --set WORK_DIR=DIR?" },
		{ "=/x", "--set: unknown variable ``", "valid names: SKILL_DIR, WORK_DIR" },
		{ "HOME=/b", "--set HOME was given more than once", "--help" },
	};
	auto_fixture f = { 0 };

	(void)state;
	fixture_init(&f);
	assert_int_equal(set(&f, "HOME=/a"), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		f.error = (struct error){ 0 };
		assert_int_equal(set(&f, rows[i].value), -EINVAL);
		assert_non_null(strstr(f.error.text, rows[i].says));
		assert_non_null(strstr(f.error.hint, rows[i].hint));
	}
	assert_string_equal(f.load.variables.values[VARIABLE_HOME], "/a");
}

static void test_from_takes_a_kind_by_its_name(void **state)
{
	enum manifest_kind kind = MANIFEST_UNKNOWN;
	const struct options_row row = { .is = { .name = "from" }, .target = &kind };
	auto_fixture f = { 0 };

	(void)state;
	fixture_init(&f);
	assert_int_equal(load_kind(&f.call, &row, "rules"), 0);
	assert_int_equal(kind, MANIFEST_RULES);
	assert_int_equal(load_kind(&f.call, &row, "skil"), -EINVAL);
	assert_string_equal(f.error.text, "invalid value for --from: `skil`");
	assert_non_null(strstr(f.error.hint, "did you mean skill?"));
	assert_int_equal(kind, MANIFEST_RULES);
}

/* The folder of the skill that was read; with two skills there is no telling which. */
static void test_skill_dir_is_the_folder_of_the_skill(void **state)
{
	auto_fixture f = { 0 };
	const char *const *value = &f.load.variables.values[VARIABLE_SKILL_DIR];

	(void)state;
	fixture_init(&f);
	assert_int_equal(load_begin(&f.load, &f.call), 0);
	assert_int_equal(load_add(&f.load, &f.call, "skill", MANIFEST_UNKNOWN), 0);
	assert_non_null(*value);
	assert_string_equal(strrchr(*value, '/'), "/skill");
	assert_int_equal(load_add(&f.load, &f.call, "skill/skill.yaml", MANIFEST_UNKNOWN), 0);
	assert_non_null(*value);
	assert_int_equal(load_add(&f.load, &f.call, "other", MANIFEST_UNKNOWN), 0);
	assert_null(*value);
	assert_int_equal(f.load.n, 3);
}

static void test_files_that_cannot_be_read_are_named(void **state)
{
	static const struct {
		const char *path, *says;
		unsigned line;
	} rows[] = {
		{ "", "the file name is empty", 0 },
		{ "missing.yaml", "cannot be read: No such file or directory", 0 },
		{ "none", "is a folder that contains no policy", 0 },
		{ "two", "contains more than one manifest", 0 },
		{ "broken.yaml", "unknown key `fs.raed`", 2 },
		{ "/dev/zero", "is larger than 4 MiB, the maximum for a policy", 0 },
		{ "fd:x", "is not a valid descriptor for a policy", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fixture f = { 0 };

		fixture_init(&f);
		assert_int_equal(load_begin(&f.load, &f.call), 0);
		assert_true(load_add(&f.load, &f.call, rows[i].path, MANIFEST_UNKNOWN) < 0);
		assert_non_null(strstr(f.error.text, rows[i].says));
		assert_int_equal(f.error.line, rows[i].line);
		assert_int_equal(f.load.n, 0);
	}
}

/* Each file is a layer, so only what all of them allow is allowed; combined, they are one. */
static void test_what_was_read_is_compiled_and_combined(void **state)
{
	static const char *const paths[] = { "read.yaml", "write.yaml" };
	static const struct {
		load_operation *operation;
		const char *has, *lacks;
	} rows[] = {
		{ algebra_intersect, "/srv/data/**", "write" },
		{ algebra_merge, "write", "deny" },
	};
	auto_fixture f = { 0 };
	struct policy *policy = NULL;

	(void)state;
	fixture_init(&f);
	assert_int_equal(load_begin(&f.load, &f.call), 0);
	assert_int_equal(load_add_all(&f.load, &f.call, paths, ROWS(paths), MANIFEST_UNKNOWN), 0);
	assert_int_equal(f.load.n, 2);
	assert_int_equal(load_compile(&f.load, &f.call, &policy), 0);
	policy_free(policy);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct permissions *all = NULL;
		auto_buffer text = { 0 };

		assert_int_equal(load_combine(&f.load, &f.call, rows[i].operation, &all), 0);
		permissions_print_yaml(all, &text);
		assert_non_null(strstr(buffer_text(&text), rows[i].has));
		assert_null(strstr(buffer_text(&text), rows[i].lacks));
		permissions_free(all);
	}
}

static void test_paths_become_absolute(void **state)
{
	static const struct {
		const char *path, *want; /* '@' is the current folder */
	} rows[] = {
		{ "/a/./b/../c//d/", "/a/c/d" },
		{ ".", "@" },
		{ "x/y", "@/x/y" },
		{ "./x", "@/x" },
	};
	auto_fixture f = { 0 };

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *want = rows[i].want, *path = NULL;
		size_t skip = want[0] == '@' ? strlen(folder) : 0;

		assert_int_equal(load_absolute(&f.call, rows[i].path, &path), 0);
		assert_true(strncmp(path, folder, skip) == 0);
		assert_string_equal(path + skip, want + (skip ? 1 : 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables_have_defaults),
		cmocka_unit_test(test_set_gives_a_variable_its_value),
		cmocka_unit_test(test_set_refuses_other_values),
		cmocka_unit_test(test_from_takes_a_kind_by_its_name),
		cmocka_unit_test(test_skill_dir_is_the_folder_of_the_skill),
		cmocka_unit_test(test_files_that_cannot_be_read_are_named),
		cmocka_unit_test(test_what_was_read_is_compiled_and_combined),
		cmocka_unit_test(test_paths_become_absolute),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
