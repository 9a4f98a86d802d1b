/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "daemon/login.h"

#define NONCE "00112233445566778899aabbccddeeff"
#define TAB "0123456789abcdef0123456789abcdef"
#define START "fedcba9876543210fedcba9876543210"

static const uint8_t secret[LOGIN_SECRET] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };

static void prove(const uint8_t *with, const char *const *lines, char ret[PROOF_MAC + 1])
{
	uint8_t mac[PROOF_MAC / 2];

	proof_mac(with, lines, mac);
	encoding_hex(mac, sizeof(mac), ret);
}

static struct login_request ask(const uint8_t *with, const char *nonce)
{
	static char proof[PROOF_MAC + 1];
	const char *const lines[] = { "corral-login-1", nonce, NULL };

	prove(with, lines, proof);
	return (struct login_request){ nonce, proof, TAB, START };
}

static void test_once(void **state)
{
	static const char *const own[] = { "corral-daemon-1", NONCE, TAB, START, NULL };
	static const char *const tab[] = { "corral-tab-1", NONCE, TAB, NULL };
	const struct login_request q = ask(secret, NONCE);
	struct login l = { 0 };
	struct login_answer a;
	char expected[PROOF_MAC + 1];
	uint8_t key[PROOF_KEY];

	(void)state;
	login_begin(&l, secret, 1000);
	assert_true(login_take(&l, &q, 1001, &a));
	/* The daemon knows it, too; and both have one key, which neither sent. */
	prove(secret, own, expected);
	assert_string_equal(a.proof, expected);
	proof_mac(secret, tab, key);
	assert_memory_equal(a.key, key, sizeof(key));
	assert_false(login_take(&l, &q, 1001, &a));
	/* Nothing of it is left. */
	for (size_t i = 0; i < sizeof(l.secret); i++)
		assert_int_equal(l.secret[i], 0);
}

static void test_a_minute(void **state)
{
	const struct login_request q = ask(secret, NONCE);
	struct login l = { 0 };
	struct login_answer a;

	(void)state;
	login_begin(&l, secret, 1000);
	assert_false(login_take(&l, &q, 1000 + LOGIN_MS, &a));
	/* And not when the clock goes back. */
	assert_false(login_take(&l, &q, 1001, &a));
	login_begin(&l, secret, 1000);
	assert_true(login_take(&l, &q, 999 + LOGIN_MS, &a));
}

/* Wrong ones void nothing, however many there are. */
static void test_flood(void **state)
{
	struct login l = { 0 };
	struct login_answer a;
	uint8_t wrong[LOGIN_SECRET] = { 0 };

	(void)state;
	login_begin(&l, secret, 0);
	for (unsigned i = 0; i < 10000; i++) {
		struct login_request q;

		memcpy(wrong, &i, sizeof(i));
		q = ask(wrong, NONCE);
		assert_false(login_take(&l, &q, 1, &a));
	}
	{
		const struct login_request q = ask(secret, NONCE);

		assert_true(login_take(&l, &q, 1, &a));
	}
}

static void test_none(void **state)
{
	static const uint8_t zero[LOGIN_SECRET];
	static const char longer[] = NONCE "0";
	static const char *const nonces[] = { "", "0", longer, "00112233445566778899AABBCCDDEEFF",
		"0011223344556677\n899aabbccddeeff" };
	const struct login_request empty = ask(zero, NONCE);
	struct login l = { 0 };
	struct login_answer a;

	(void)state;
	/* Zeroed: no link is valid, not even the one of zeros. */
	assert_false(login_take(&l, &empty, 0, &a));
	login_begin(&l, secret, 0);
	for (size_t i = 0; i < ROWS(nonces); i++) {
		const struct login_request q = ask(secret, nonces[i]);

		assert_false(login_take(&l, &q, 1, &a));
	}
	assert_false(login_take(&l, &(struct login_request){ NONCE, "", TAB, START }, 1, &a));
	/* The last link counts. */
	login_begin(&l, (const uint8_t[LOGIN_SECRET]){ 1 }, 1);
	{
		const struct login_request q = ask(secret, NONCE);

		assert_false(login_take(&l, &q, 1, &a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_a_minute),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
