/* SPDX-License-Identifier: Apache-2.0 */
/* Who has a socket, as bytes: an init is among a command's processes, so nothing of it is believed.
 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "wire/owner.h"

static void test_question(void **state)
{
	static const struct {
		struct owner_question q;
		int r;
	} rows[] = {
		{ { 1, 1, 0, 0, 0 }, 0 },
		{ { UINT64_MAX, UINT16_MAX, 1, 0, 0 }, 0 },
		{ { 1, 80, 0, 1, 443 }, 0 },
		/* Of a connection, and where it goes; of nothing else. */
		{ { 1, 80, 0, 1, 0 }, -EPROTO },
		{ { 1, 80, 0, 0, 443 }, -EPROTO },
		{ { 1, 80, 0, 1, UINT16_MAX + 1 }, -EPROTO },
		{ { 1, 80, 1, 1, 443 }, -EPROTO },
		{ { 1, 80, 0, 2, 443 }, -EPROTO },
		{ { 0, 80, 0, 0, 0 }, -EPROTO },
		{ { 1, 0, 0, 0, 0 }, -EPROTO },
		{ { 1, UINT16_MAX + 1, 0, 0, 0 }, -EPROTO },
		{ { 1, 80, 2, 0, 0 }, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct owner_question got = { .id = 7 };

		assert_int_equal(
			owner_question_decode(&got, &rows[i].q, sizeof(rows[i].q)), rows[i].r);
		assert_int_equal(got.id, rows[i].r == 0 ? rows[i].q.id : 7);
		assert_int_equal(
			owner_question_decode(&got, &rows[i].q, sizeof(rows[i].q) - 1), -EPROTO);
	}
	assert_int_equal(owner_question_decode(NULL, "", 0), -EPROTO);
}

static void test_answer(void **state)
{
	static const struct {
		struct owner_answer a;
		int r;
	} rows[] = {
		{ { 1, "curl" }, 0 },
		{ { 1, "" }, 0 },
		{ { 0, "curl" }, -EPROTO },
		{ { 1, "a b" }, -EPROTO },
		{ { 1, "a\nb" }, -EPROTO },
		{ { 1, "\033[31m" }, -EPROTO },
		{ { 1, "\303\274" }, -EPROTO },
		/* Something behind the end. */
		{ { 1, "curl\0x" }, -EPROTO },
		{ { 1, { [OWNER_NAME_BYTES - 1] = 'x' } }, -EPROTO },
	};
	struct owner_answer full = { .id = 1 }, got = { .id = 7 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		got = (struct owner_answer){ .id = 7, .name = "before" };
		assert_int_equal(
			owner_answer_decode(&got, &rows[i].a, sizeof(rows[i].a)), rows[i].r);
		assert_int_equal(got.id, rows[i].r == 0 ? rows[i].a.id : 7);
		assert_string_equal(got.name, rows[i].r == 0 ? rows[i].a.name : "before");
		assert_int_equal(
			owner_answer_decode(&got, &rows[i].a, sizeof(rows[i].a) - 1), -EPROTO);
	}
	/* Without an end. */
	memset(full.name, 'x', sizeof(full.name));
	assert_int_equal(owner_answer_decode(&got, &full, sizeof(full)), -EPROTO);
	full.name[OWNER_NAME_BYTES - 1] = '\0';
	assert_int_equal(owner_answer_decode(&got, &full, sizeof(full)), 0);
}

static void test_program(void **state)
{
	static const struct {
		struct owner_program p;
		int r;
	} rows[] = {
		{ { 1, OWNER_FOUND, 0, "curl", "/usr/bin/curl" }, 0 },
		{ { 1, OWNER_FOUND, 0, "", "/usr/bin/a b" }, 0 },
		{ { 1, OWNER_UNSURE, 0, "curl", "two programs have it" }, 0 },
		{ { 1, OWNER_NOT_FOUND, 0, "", "" }, 0 },
		{ { 0, OWNER_FOUND, 0, "curl", "/usr/bin/curl" }, -EPROTO },
		/* A program that is none. */
		{ { 1, OWNER_FOUND, 0, "curl", "" }, -EPROTO },
		{ { 1, OWNER_FOUND, 0, "curl", "curl" }, -EPROTO },
		{ { 1, OWNER_NOT_FOUND, 0, "", "/usr/bin/curl" }, -EPROTO },
		{ { 1, OWNER_UNSURE, 0, "curl", "" }, -EPROTO },
		{ { 1, OWNER_FOUND_END, 0, "", "/usr/bin/curl" }, -EPROTO },
		{ { 1, OWNER_FOUND, 1, "", "/usr/bin/curl" }, -EPROTO },
		{ { 1, OWNER_FOUND, 0, "a b", "/usr/bin/curl" }, -EPROTO },
		{ { 1, OWNER_FOUND, 0, "", "/usr/bin/\ncurl" }, -EPROTO },
		{ { 1, OWNER_FOUND, 0, "", "/usr/bin/curl\0x" }, -EPROTO },
		{ { 1, OWNER_FOUND, 0, "", { '/', [OWNER_TEXT_BYTES - 1] = 'x' } }, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct owner_program got = { .id = 7 };

		if (owner_program_decode(&got, &rows[i].p, sizeof(rows[i].p)) != rows[i].r)
			fail_msg("row %zu", i);
		assert_int_equal(got.id, rows[i].r == 0 ? rows[i].p.id : 7);
		assert_int_equal(
			owner_program_decode(&got, &rows[i].p, sizeof(rows[i].p) - 1), -EPROTO);
	}
}

static void test_name(void **state)
{
	char name[OWNER_NAME_BYTES] = "before", text[OWNER_NAME_BYTES + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(owner_name_decode(name, text, OWNER_NAME_BYTES), -EPROTO);
	assert_int_equal(owner_name_decode(name, "a\0b", 3), -EPROTO);
	assert_string_equal(name, "before");
	assert_int_equal(owner_name_decode(name, text, OWNER_NAME_BYTES - 1), 0);
	assert_int_equal(strlen(name), OWNER_NAME_BYTES - 1);
	assert_int_equal(owner_name_decode(name, NULL, 0), 0);
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
