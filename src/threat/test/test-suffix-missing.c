/* SPDX-License-Identifier: Apache-2.0 */
/* Without libpsl (the linker leads dlopen() here): what the tables do not know is not guessed. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>
/* cmocka.h needs those above. */
#include "threat/threat.h"

static unsigned opened;

void *__wrap_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags)
{
	(void)flags;
	assert_string_equal(file, "libpsl.so.5");
	opened++;
	return NULL;
}

static void tables_do_not_need_it(void **state)
{
	(void)state;
	assert_int_equal(threat_is_public_suffix("com"), 1);
	assert_int_equal(threat_is_public_suffix("internal"), 0);
	assert_int_equal(threat_is_public_suffix("amazonaws.com"), 1);
	assert_non_null(threat_host("pastebin.com", THREAT_DROP));
	assert_int_equal(opened, 0);
}

static void others_are_unknown(void **state)
{
	(void)state;
	assert_int_equal(threat_is_public_suffix("co.uk"), -ELIBACC);
	assert_int_equal(threat_is_public_suffix("example.com"), -ELIBACC);
	assert_int_equal(opened, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_do_not_need_it),
		cmocka_unit_test(others_are_unknown),
	};

	return cmocka_run_group_tests_name("suffix-missing", tests, NULL, NULL);
}
