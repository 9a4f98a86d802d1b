/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/suggest.h"

#define LONG "a-name-of-49-letters-which-is-one-more-than-we-see"

static const char *const known[] = { "read", "write", "network", "allow", "exec", "env", "fs",
	"services", "permissions", LONG };

static const struct {
	const char *word, *suggestion;
} cases[] = {
	{ "read", "read" },
	{ "raed", "read" },  /* swapped */
	{ "reed", "read" },  /* replaced */
	{ "rad", "read" },   /* missing */
	{ "reads", "read" }, /* one too many */
	{ "READ", "read" },
	{ "sf", "fs" },
	{ "permission", "permissions" },
	{ "premisions", "permissions" },
	{ "netwrok", "network" },
	{ "service", "services" },
	{ "nev", "env" },
	{ "x", NULL },
	{ "xy", NULL },
	{ "abc", NULL },
	{ "filesystem", NULL },
	{ "", NULL },
	{ LONG, NULL },
};

static void test_suggest(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		const char *s = suggest(cases[i].word, known, ROWS(known));

		if (!cases[i].suggestion && s)
			fail_msg("%s: %s", cases[i].word, s);
		if (cases[i].suggestion)
			assert_string_equal(s ? s : "nothing", cases[i].suggestion);
	}
	assert_null(suggest("read", known, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_suggest) };

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
