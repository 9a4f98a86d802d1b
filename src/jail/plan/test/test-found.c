/* SPDX-License-Identifier: Apache-2.0 */
/* Denials by pattern of AgenShield's rules: what matches is masked, and what does not is as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/plan/test/test-plan.h"

static const char *const files[] = {
	"@/home/",
	"@/home/p/",
	"@/home/p/.env",
	"@/home/p/plain",
	"@/home/p/deep/",
	"@/home/p/deep/er/",
	"@/home/p/deep/er/a.key",
	"@/home/p/deep/er/a.keys",
	"@/home/p/folder.key/",
	"@/home/p/folder.key/inside",
	"@/home/p/planted>../../apart/far",
	"@/home/p/planted.key>../../apart/far",
	"@/data/",
	"@/data/.env",
	"@/data/x",
	"@/apart/",
	"@/apart/.env",
	"@/apart/far",
};

#define RULES(patterns)                                                                     \
	", rules: [{id: secrets, action: deny, operations: [fs.read, fs.write], patterns: " \
	"[" patterns "]}]}"

static const struct {
	const char *layer, *path; /* '@' in both */
	bool is_masked;
} cases[] = {
	/* At any depth, files and folders; where it may be written and where it is read only. */
	{ "{fs: {write: [@/home/p/**]}" RULES("'/**/.env'"), "@/home/p/.env", true },
	{ "{fs: {read: [@/data/**]}" RULES("'/**/.env'"), "@/data/.env", true },
	{ "{fs: {write: [@/home/p/**]}" RULES("'/**/*.key'"), "@/home/p/deep/er/a.key", true },
	{ "{fs: {write: [@/home/p/**]}" RULES("'/**/*.key'"), "@/home/p/folder.key", true },
	{ "{fs: {write: [@/home/p/**]}" RULES("'@/home/p/*/*/*.key'"), "@/home/p/deep/er/a.key",
		true },
	/* What does not match. */
	{ "{fs: {write: [@/home/p/**]}" RULES("'/**/*.key'"), "@/home/p/deep/er/a.keys", false },
	{ "{fs: {write: [@/home/p/**]}" RULES("'/**/.env'"), "@/home/p/plain", false },
	{ "{fs: {write: [@/home/p/**]}" RULES("'@/home/p/*.key'"), "@/home/p/deep/er/a.key",
		false },
	{ "{fs: {read: [@/data/**]}" RULES("'/**/*.key'"), "@/data/.env", false },
	/* What is not granted is not looked for. */
	{ "{fs: {read: [@/data/**]}" RULES("'/**/.env'"), "@/apart/.env", false },
	/* A link that a command could have made takes nothing away that its maker could not write.
	 */
	{ "{fs: {write: [@/home/p/**], read: [@/apart/**]}" RULES("'/**/*.key'"), "@/apart/far",
		false },
	{ "{fs: {write: [@/home/p/**, @/apart/**]}" RULES("'/**/*.key'"), "@/apart/far", true },
};

static int set_up(void **state)
{
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r;
}

static void test_masks(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		const char *const layers[] = { cases[i].layer, NULL };
		const struct plan_entry *entry;
		auto_plan *plan = NULL;
		struct error e = { 0 };
		struct plan_options o;
		struct test_policy t;

		test_policy_init(&t, layers);
		t.layers[0]->is_shield = true;
		o = test_policy_options(&t);
		o.masks_matches = true;
		if (plan_new(&plan, &o, &e) < 0)
			fail_msg("%s: %s", cases[i].layer, e.text);
		test_plan_check(plan);
		entry = test_plan_at(plan, cases[i].path);
		if ((entry && entry->kind == PLAN_MASK) != cases[i].is_masked) {
			print_message("%s: %s\n", cases[i].layer, cases[i].path);
			failed++;
		}
		test_policy_deinit(&t);
	}
	assert_int_equal(failed, 0);
}

/* Without the option they are refused. */
static void test_strict(void **state)
{
	static const char *const layers[] = {
		"{fs: {write: [@/home/p/**]}" RULES("'/**/.env', '/**/*.key'"), NULL
	};
	struct plan_options o;
	struct test_policy t;
	char *text;

	(void)state;
	test_policy_init(&t, layers);
	t.layers[0]->is_shield = true;
	o = test_policy_options(&t);
	text = test_plan_text(&o);
	assert_non_null(strstr(text, "EOPNOTSUPP"));
	free(text);
	o.masks_matches = true;
	text = test_plan_text(&o);
	assert_non_null(strstr(text, "mask @/home/p/.env"));
	free(text);
	test_policy_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_strict),
	};

	return cmocka_run_group_tests_name("found", tests, set_up, test_plan_tear_down);
}
