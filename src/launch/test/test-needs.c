/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "base/array.h"
#include "base/path.h"
#include "launch/needs.h"
#include "policy/policy.h"
#include "skill/test/test.h"

/* A skill that requires this, of its manifest and of SKILL.md beside it. */
static struct folder *skill_requiring(const char *own, const char *described)
{
	struct folder *f = folder_new();
	char text[512];

	(void)snprintf(text, sizeof(text), "name: x\nrequires: %s\npermissions: {}\n", own);
	folder_add(f, "skill.yaml", text);
	(void)snprintf(text, sizeof(text), "---\nname: x\nrequires: %s\n---\n", described);
	folder_add(f, "SKILL.md", text);
	return f;
}

static void test_states(void **state)
{
	static const struct {
		const char *name;
		bool is_program;
		enum launch_need_state state;
	} wanted[] = {
		{ "granted", true, LAUNCH_NEED_MET },
		{ "other", true, LAUNCH_NEED_DENIED },
		{ "plain", true, LAUNCH_NEED_ABSENT },
		{ "no-such-program", true, LAUNCH_NEED_ABSENT },
		{ "", true, LAUNCH_NEED_ABSENT },
		{ "HERE", false, LAUNCH_NEED_MET },
		{ "EMPTY", false, LAUNCH_NEED_MET },
		{ "CORRAL_TEST_HOST", false, LAUNCH_NEED_DENIED },
		{ "CORRAL_TEST_UNSET", false, LAUNCH_NEED_ABSENT },
		{ "HER", false, LAUNCH_NEED_ABSENT },
	};
	struct folder *programs = folder_new();
	struct folder *f = skill_requiring(
		"{bins: [granted, other, plain], env: [HERE, EMPTY, CORRAL_TEST_HOST]}",
		"{bins: [other, no-such-program, ''], env: [CORRAL_TEST_UNSET, HER, HERE]}");
	char path[PATH_BYTES], pattern[PATH_BYTES];
	const char *const env[] = { path, "HERE=1", "EMPTY=", NULL };
	auto_permissions *p = permissions_new();
	const struct permissions *layers[] = { p };
	auto_policy *policy = NULL;
	auto_launch_skill s = LAUNCH_SKILL_NONE;
	auto_arena a = { 0 };
	struct launch_needs needs = { 0 };

	(void)state;
	folder_add_bytes(programs, "granted", "x", 1, 0755);
	folder_add_bytes(programs, "other", "x", 1, 0755);
	folder_add(programs, "plain", "x");
	(void)snprintf(path, sizeof(path), "PATH=%s", programs->path);
	(void)snprintf(pattern, sizeof(pattern), "%s/granted", programs->path);
	p->exec_listed = true;
	assert_int_equal(permissions_add(p, &p->exec, pattern, NULL), 0);
	assert_int_equal(policy_new(&policy, layers, 1, NULL, NULL), 0);
	assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_LOOK, &a, NULL), 0);
	assert_int_equal(setenv("CORRAL_TEST_HOST", "1", 1), 0);
	assert_int_equal(unsetenv("CORRAL_TEST_UNSET"), 0);
	assert_int_equal(launch_needs_find(&s, policy, env, "/", &a, &needs), 0);
	assert_int_equal(needs.n, ROWS(wanted));
	for (size_t i = 0; i < ROWS(wanted); i++) {
		assert_string_equal(needs.items[i].name, wanted[i].name);
		assert_int_equal(needs.items[i].is_program, wanted[i].is_program);
		assert_int_equal(needs.items[i].state, wanted[i].state);
		assert_int_equal(
			!*launch_need_fault(&needs.items[i]), wanted[i].state == LAUNCH_NEED_MET);
	}
	folder_free(programs);
	folder_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
