/* SPDX-License-Identifier: Apache-2.0 */
/* Corral's own folders: where they are, and which are made for which policy. */
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "host/own.h"
#include "policy/permissions.h"
#include "test/scratch.h"

static char top[64];

static const struct {
	const char *name;
	const char *grant; /* to read and write; "@" is the scratch folder */
	const char *variable, *value;
	const char *made[4], *missing[4];
} cases[] = {
	{ "nothing is granted", NULL, NULL, NULL, { NULL },
		{ "@/home/.local", "@/home/.cache", NULL } },
	{ "all is granted", "@/**", NULL, NULL,
		{ "@/home/.local/state/corral", "@/home/.cache/corral", NULL }, { NULL } },
	{ "the home is", "@/home/**", NULL, NULL,
		{ "@/home/.local/state/corral", "@/home/.cache/corral", NULL }, { NULL } },
	{ "another folder is", "@/other/**", NULL, NULL, { NULL },
		{ "@/home/.local", "@/home/.cache", NULL } },
	{ "XDG_STATE_HOME", "@/**", "XDG_STATE_HOME", "@/other/state",
		{ "@/other/state/corral", "@/home/.local/state/corral", NULL }, { NULL } },
	{ "XDG_CACHE_HOME is not absolute", "@/**", "XDG_CACHE_HOME", "cache",
		{ "@/home/.cache/corral", NULL }, { NULL } },
	{ "XDG_RUNTIME_DIR that is there", "@/**", "XDG_RUNTIME_DIR", "@/run",
		{ "@/run/corral", NULL }, { NULL } },
	{ "XDG_CONFIG_HOME", "@/**", "XDG_CONFIG_HOME", "@/other/config",
		{ "@/other/config/corral", NULL }, { "@/home/.config", NULL } },
	{ "XDG_CONFIG_HOME as usual: the baseline has it", "@/**", "XDG_CONFIG_HOME",
		"@/home/.config", { NULL }, { "@/home/.config", NULL } },
	{ "XDG_CONFIG_HOME that no command sees", "@/home/**", "XDG_CONFIG_HOME", "@/other/config",
		{ NULL }, { "@/other/config", NULL } },
	{ "one that is not: nothing is made for it", "@/**", "XDG_RUNTIME_DIR", "@/none", { NULL },
		{ "@/none", NULL } },
};

static char *in_top(struct arena *a, const char *name)
{
	return name[0] == '@' ? arena_printf(a, "%s%s", top, name + 1) : arena_strdup(a, name);
}

static void make_folders(struct arena *a)
{
	static const char *const folders[] = { "@", "@/home", "@/other", "@/run" };

	strcpy(top, "/tmp/corral-test-own-XXXXXX");
	assert_non_null(mkdtemp(top));
	for (size_t i = 1; i < ROWS(folders); i++)
		assert_int_equal(mkdir(in_top(a, folders[i]), 0755), 0);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		static const char *const variables[] = { "XDG_STATE_HOME", "XDG_CACHE_HOME",
			"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME" };
		auto_arena a = { 0 };
		auto_permissions *p = permissions_new();
		const struct permissions *layers[] = { p };
		const char *found[OWN_FOLDERS_MAX];
		struct policy *policy = NULL;
		struct error e = { 0 };
		struct stat st;
		size_t n = 0;

		make_folders(&a);
		for (size_t k = 0; k < ROWS(variables); k++)
			assert_int_equal(unsetenv(variables[k]), 0);
		if (cases[i].variable)
			assert_int_equal(
				setenv(cases[i].variable, in_top(&a, cases[i].value), 1), 0);
		if (cases[i].grant) {
			const char *grant = in_top(&a, cases[i].grant);

			assert_int_equal(permissions_add(p, &p->fs_read, grant, NULL), 0);
			assert_int_equal(permissions_add(p, &p->fs_write, grant, NULL), 0);
		}
		assert_int_equal(
			policy_new(&policy, layers, 1, &(struct policy_options){ 0 }, &e), 0);
		assert_int_equal(own_folders(&a, in_top(&a, "@/home"), policy, found, &n, &e), 0);
		assert_in_range(n, 3, OWN_FOLDERS_MAX);
		for (size_t k = 0; cases[i].made[k]; k++) {
			const char *path = in_top(&a, cases[i].made[k]);
			bool is_listed = false;

			assert_int_equal(stat(path, &st), 0);
			assert_int_equal(st.st_mode & 07777, 0700);
			for (size_t j = 0; j < n; j++)
				is_listed = is_listed || strcmp(found[j], path) == 0;
			/* What is configured may be seen. */
			assert_int_equal(is_listed, !strstr(path, "config"));
		}
		for (size_t k = 0; cases[i].missing[k]; k++)
			assert_int_equal(stat(in_top(&a, cases[i].missing[k]), &st), -1);
		policy_free(policy);
		assert_int_equal(scratch_remove(top), 0);
	}
}

/* The variable has a link on its way, the path that was opened has none. */
static void test_has(void **state)
{
	auto_arena a = { 0 };

	(void)state;
	make_folders(&a);
	assert_int_equal(mkdir(in_top(&a, "@/run/corral"), 0700), 0);
	assert_int_equal(symlink("run", in_top(&a, "@/link")), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", in_top(&a, "@/link"), 1), 0);
	assert_true(own_has(in_top(&a, "@/link/corral/token"), false));
	assert_true(own_has(in_top(&a, "@/run/corral/token"), false));
	assert_true(own_has(in_top(&a, "@/run/corral"), false));
	assert_false(own_has(in_top(&a, "@/run"), false));
	assert_true(own_has(in_top(&a, "@/run"), true));
	assert_false(own_has(in_top(&a, "@/other/corral"), true));
	assert_int_equal(scratch_remove(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
