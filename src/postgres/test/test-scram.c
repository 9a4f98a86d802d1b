/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "postgres/scram.h"

/* RFC 7677, 3; its password, and what the server answers. */
static const char nonce[] = "rOprNGfwEbeRWgbNEkqO1234"; /* of our length */
static const char password[] = "pencil";

static int continue_with(const char *message, struct buffer *out)
{
	struct scram s = { .stage = SCRAM_NOTHING };
	auto_buffer first = { 0 };
	int r;

	assert_int_equal(scram_begin(&s, SCRAM_PLAIN, NULL, 0, "", nonce, &first), 0);
	assert_string_equal(first.data, "n,,n=,r=rOprNGfwEbeRWgbNEkqO1234");
	r = scram_continue(&s, message, strlen(message), password, strlen(password), out);
	scram_deinit(&s);
	return r;
}

/* Worked out once by another implementation (Python's hashlib and hmac). */
static void test_exchange(void **state)
{
	static const char server_first[] =
		"r=rOprNGfwEbeRWgbNEkqO1234%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
		"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
	static const char *const finals[] = {
		"c=biws,r=rOprNGfwEbeRWgbNEkqO1234%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="
		"NpGax1LKVcx2zRFD44jAaMv7qtPaxksnyX4LKscz4aM=",
		"c=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsYWJj,r=rOprNGfwEbeRWgbNEkqO1234%"
		"hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=NoGFvFtgwZxI/zC36ohxG5B6wDnaTgsNJ5zzIui3+Tg="
	};
	static const char *const signatures[] = { "v=KAHD5mkbANVlgoAyerXUSavav0X0ofq7FXq1vOt28po=",
		"v=Vyuq6pXzMm3yIZcFVm/71fCRpERWuD2IAA6GK4yWMbU=" };

	(void)state;
	for (size_t i = 0; i < ROWS(finals); i++) {
		struct scram s = { .stage = SCRAM_NOTHING };
		auto_buffer first = { 0 }, last = { 0 };

		assert_int_equal(scram_begin(&s, i ? SCRAM_BOUND : SCRAM_PLAIN, i ? "abc" : NULL,
					 i ? 3 : 0, "user", nonce, &first),
			0);
		assert_int_equal(scram_continue(&s, server_first, strlen(server_first), password,
					 strlen(password), &last),
			0);
		assert_string_equal(buffer_text(&last), finals[i]);
		assert_int_equal(scram_finish(&s, signatures[i], strlen(signatures[i])), 0);
		assert_int_equal(s.stage, SCRAM_DONE);
		/* Once. */
		assert_int_equal(scram_finish(&s, signatures[i], strlen(signatures[i])), -EPROTO);
		scram_deinit(&s);
	}
}

#define N "r=rOprNGfwEbeRWgbNEkqO1234"

static void test_first_of_server(void **state)
{
	static const struct {
		const char *message;
		int result;
	} rows[] = {
		{ N "x,s=c2FsdA==,i=4096", 0 },
		{ N "x,s=c2FsdA==,i=600000", 0 },
		{ N "x,s=c2FsdA==,i=4095", -ERANGE },
		{ N "x,s=c2FsdA==,i=600001", -ERANGE },
		{ N "x,s=c2FsdA==,i=2147483648", -ERANGE },
		{ N "x,s=c2FsdA==,i=99999999999999999999999999", -ERANGE },
		{ N "x,s=c2FsdA==,i=04096", -EPROTO },
		{ N "x,s=c2FsdA==,i=-4096", -EPROTO },
		{ N "x,s=c2FsdA==,i=4096 ", -EPROTO },
		{ N "x,s=c2FsdA==,i=", -EPROTO },
		{ N ",s=c2FsdA==,i=4096", -EPROTO }, /* nothing of the server's */
		{ "r=rOprNGfwEbeRWgbNEkqO123,s=c2FsdA==,i=4096", -EPROTO },
		{ "r=xOprNGfwEbeRWgbNEkqO1234x,s=c2FsdA==,i=4096", -EPROTO },
		{ N "\tx,s=c2FsdA==,i=4096", -EPROTO },
		{ N "x,s=,i=4096", -EPROTO },
		{ N "x,s=!!!!,i=4096", -EPROTO },
		{ N "x,i=4096,s=c2FsdA==", -EPROTO },
		{ "m=ext," N "x,s=c2FsdA==,i=4096", -EPROTO },
		{ N "x,s=c2FsdA==,i=4096,e=x", -EPROTO },
		{ N "x,s=c2FsdA==,i=4096,", -EPROTO },
		{ N "x,s=c2FsdA==", -EPROTO },
		{ "e=other-error", -EPROTO },
		{ "", -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		if (continue_with(rows[i].message, &out) != rows[i].result)
			fail_msg("%s", rows[i].message);
		assert_int_equal(out.len > 0, rows[i].result == 0);
	}
}

static void test_last_of_server(void **state)
{
	static const char *const messages[] = { "", "v=", "v=AAAA", "e=invalid-proof",
		"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,x=y" };
	static const char challenge[] = N "x,s=c2FsdA==,i=4096";

	(void)state;
	for (size_t i = 0; i < ROWS(messages); i++) {
		struct scram s = { .stage = SCRAM_NOTHING };
		auto_buffer out = { 0 };

		/* Before its turn. */
		assert_int_equal(scram_finish(&s, messages[i], strlen(messages[i])), -EPROTO);
		assert_int_equal(scram_begin(&s, SCRAM_UNBOUND, NULL, 0, "", nonce, &out), 0);
		assert_int_equal(scram_continue(&s, challenge, strlen(challenge), password,
					 strlen(password), &out),
			0);
		assert_true(scram_finish(&s, messages[i], strlen(messages[i])) < 0);
		assert_int_not_equal(s.stage, SCRAM_DONE);
		scram_deinit(&s);
	}
}

static void test_passwords(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		int result;
	} rows[] = { { "pencil", 6, 0 }, { "", 0, -EINVAL }, { "a\0b", 3, -EINVAL },
		{ "p\xc3\xa4ss", 5, -EILSEQ }, { "tab\there", 8, 0 } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(scram_check(rows[i].text, rows[i].len), rows[i].result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_first_of_server),
		cmocka_unit_test(test_last_of_server),
		cmocka_unit_test(test_passwords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
