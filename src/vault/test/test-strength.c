/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "vault/strength.h"

static void test_values(void **state)
{
	static const struct {
		const char *value;
		bool is_weak;
	} rows[] = {
		{ "", true },
		{ "secret", true },
		{ "hunter2", true },
		{ "12345678901234567", true },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true },
		{ "Passw0rd!", true },
		{ "ghp_0123456789abcdefghijklmnopqrstuvwxyz", false },
		{ "5f4dcc3b5aa765d61d8327deb882cf99", false },
		{ "correct horse battery staple", false },
		{ "x7Kq-92mWz_P4", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		if (strength_is_weak(rows[i].value, strlen(rows[i].value)) != rows[i].is_weak)
			fail_msg("%s: %u bits", rows[i].value,
				strength_bits(rows[i].value, strlen(rows[i].value)));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_values) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
