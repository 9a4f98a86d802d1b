/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "audit/redact/internal.h"
#include "audit/redact/redact.h"

/* A text that differs in one byte, or is longer or shorter by one, is another one. */
static void test_whole_texts(void **state)
{
	static struct redact_memo m;

	(void)state;
	for (size_t len = REDACTOR_VALUE_LEAST; len <= REDACT_MEMO_BYTES; len++) {
		char text[REDACT_MEMO_BYTES + 2];

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)('a' + i % 23);
		redact_memo_clear(&m);
		assert_false(redact_memo_has(&m, text, len));
		redact_memo_add(&m, text, len);
		assert_true(redact_memo_has(&m, text, len));
		assert_false(redact_memo_has(&m, text, len + 1));
		if (len > REDACTOR_VALUE_LEAST)
			assert_false(redact_memo_has(&m, text, len - 1));
		for (size_t i = 0; i < len; i++) {
			text[i] ^= 1;
			assert_false(redact_memo_has(&m, text, len));
			text[i] ^= 1;
		}
		assert_true(redact_memo_has(&m, text, len));
	}
}

/* Of two that have the same slot, the one that came again stays for a while. */
static void test_stays(void **state)
{
	static const char kept[] = "12345678 aaaa 12345678", other[] = "12345678 bbbb 12345678";
	static struct redact_memo m;
	const size_t len = sizeof(kept) - 1;

	(void)state;
	redact_memo_add(&m, kept, len);
	assert_true(redact_memo_has(&m, kept, len));
	for (unsigned i = 0; i < REDACT_MEMO_STAYS; i++) {
		redact_memo_add(&m, other, len);
		assert_false(redact_memo_has(&m, other, len));
	}
	redact_memo_add(&m, other, len);
	assert_true(redact_memo_has(&m, other, len));
	assert_false(redact_memo_has(&m, kept, len));
}

/* Longer ones are not kept, nor is anything after all were forgotten. */
static void test_forgets(void **state)
{
	static char text[REDACT_MEMO_BYTES + 1];
	static struct redact_memo m;

	(void)state;
	memset(text, 'x', sizeof(text));
	redact_memo_add(&m, text, sizeof(text));
	assert_false(redact_memo_has(&m, text, sizeof(text)));
	redact_memo_add(&m, text, sizeof(text) - 1);
	assert_true(redact_memo_has(&m, text, sizeof(text) - 1));
	redact_memo_clear(&m);
	assert_false(redact_memo_has(&m, text, sizeof(text) - 1));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_texts),
		cmocka_unit_test(test_stays),
		cmocka_unit_test(test_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
