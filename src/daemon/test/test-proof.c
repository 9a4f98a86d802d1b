/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "daemon/proof.h"

#define TAB "0123456789abcdef0123456789abcdef"
#define START "fedcba9876543210fedcba9876543210"
/* Of nothing. */
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct proof_tab tab = { .id = TAB, .key = { 1, 2, 3 } };
static const struct proof_request asked = { .start = START,
	.method = "GET",
	.host = "127.0.0.1",
	.path = "/api/audit",
	.query = "limit=1",
	.port = 3847 };

/* What a page computes. */
static struct proof_claim claim(void)
{
	static const char *const lines[] = { "corral-request-1", START, TAB, "7", "GET",
		"127.0.0.1:3847", "/api/audit", "limit=1", EMPTY, NULL };
	struct proof_claim c = { .tab = TAB, .count = 7, .body = EMPTY };
	uint8_t mac[PROOF_MAC / 2];

	proof_mac(tab.key, lines, mac);
	encoding_hex(mac, sizeof(mac), c.mac);
	return c;
}

/* RFC 4231, test case 1 has a key of 20 bytes; with zeros behind them it is the same key. */
static void test_vector(void **state)
{
	static const char *const lines[] = { "Hi There", NULL };
	uint8_t key[PROOF_KEY] = { 0 }, mac[PROOF_MAC / 2];
	char text[PROOF_MAC + 1];

	(void)state;
	memset(key, 0x0b, 20);
	proof_mac(key, lines, mac);
	encoding_hex(mac, sizeof(mac), text);
	assert_string_equal(
		text, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
}

static void test_read(void **state)
{
	static const char *const bad[] = { "", "Corral", "Corral ",
		"Bearer " TAB ":7:" EMPTY ":" EMPTY, "Corral " TAB ":0:" EMPTY ":" EMPTY,
		"Corral " TAB ":07:" EMPTY ":" EMPTY, "Corral " TAB ":-7:" EMPTY ":" EMPTY,
		"Corral " TAB "::" EMPTY ":" EMPTY,
		"Corral " TAB ":1000000000000000:" EMPTY ":" EMPTY, "Corral " TAB ":7:" EMPTY,
		"Corral " TAB ":7:" EMPTY ":", "Corral " TAB ":7:" EMPTY ":" EMPTY "0",
		"Corral " TAB ":7:" EMPTY ":" EMPTY " ", "Corral " TAB "0:7:" EMPTY ":" EMPTY,
		"Corral  " TAB ":7:" EMPTY ":" EMPTY,
		"Corral 0123456789ABCDEF0123456789abcdef:7:" EMPTY ":" EMPTY };
	struct proof_claim c = { .count = 99 };

	(void)state;
	assert_false(proof_read(NULL, &c));
	for (size_t i = 0; i < ROWS(bad); i++)
		assert_false(proof_read(bad[i], &c));
	assert_int_equal(c.count, 99);
	assert_true(proof_read("corral " TAB ":999999999999999:" EMPTY ":" EMPTY, &c));
	assert_string_equal(c.tab, TAB);
	assert_string_equal(c.mac, EMPTY);
	assert_true(c.count == 999999999999999);
}

/* Each part that is another one makes the proof wrong. */
static void test_parts(void **state)
{
	const struct proof_claim right = claim();
	struct proof_claim c = right;
	struct proof_tab other = tab;
	struct proof_request r;

	(void)state;
	assert_true(proof_is_right(&tab, &right, &asked));
	r = asked, r.start = TAB;
	assert_false(proof_is_right(&tab, &right, &r));
	r = asked, r.method = "PUT";
	assert_false(proof_is_right(&tab, &right, &r));
	r = asked, r.host = "localhost";
	assert_false(proof_is_right(&tab, &right, &r));
	r = asked, r.port = 3848;
	assert_false(proof_is_right(&tab, &right, &r));
	r = asked, r.path = "/api/audit/";
	assert_false(proof_is_right(&tab, &right, &r));
	r = asked, r.query = "limit=2";
	assert_false(proof_is_right(&tab, &right, &r));
	r = asked, r.query = NULL;
	assert_false(proof_is_right(&tab, &right, &r));
	c.count = 8;
	assert_false(proof_is_right(&tab, &c, &asked));
	c = right, c.body[0] = 'f';
	assert_false(proof_is_right(&tab, &c, &asked));
	c = right, c.mac[63] = c.mac[63] == '0' ? '1' : '0';
	assert_false(proof_is_right(&tab, &c, &asked));
	other.key[31] = 1;
	assert_false(proof_is_right(&other, &right, &asked));
	other = tab, other.id[0] = 'f';
	assert_false(proof_is_right(&other, &right, &asked));
	/* Zeroed: a tab that there is not proves nothing. */
	c = right, c.tab[0] = '\0';
	assert_false(proof_is_right(&(struct proof_tab){ 0 }, &c, &asked));
	assert_true(proof_is_body(&right, "", 0));
	assert_false(proof_is_body(&right, "{}", 2));
}

static void test_counts(void **state)
{
	struct proof_tab t = tab;

	(void)state;
	assert_false(proof_count(&t, 0));
	assert_true(proof_count(&t, 1));
	assert_false(proof_count(&t, 1));
	/* In another order, as by several connections; each once. */
	assert_true(proof_count(&t, 5));
	for (uint64_t i = 2; i < 5; i++) {
		assert_true(proof_count(&t, i));
		assert_false(proof_count(&t, i));
	}
	assert_true(proof_count(&t, 5 + PROOF_WINDOW));
	assert_false(proof_count(&t, 5));
	assert_true(proof_count(&t, 6));
	assert_true(proof_count(&t, 1000000));
	assert_false(proof_count(&t, 1000000 - PROOF_WINDOW));
	for (uint64_t i = 1000000 - PROOF_WINDOW + 1; i < 1000000; i++) {
		assert_true(proof_count(&t, i));
		assert_false(proof_count(&t, i));
	}
	assert_false(proof_count(&t, 7));
	assert_true(proof_count(&t, UINT64_MAX));
	assert_false(proof_count(&t, UINT64_MAX));
}

static void test_answer(void **state)
{
	struct proof_answer a = { START, 7, 200, "{}", 2 };
	char mac[7][PROOF_MAC + 1];
	struct proof_tab other = tab;

	(void)state;
	other.key[0] = 9;
	proof_of_answer(&tab, &a, mac[0]);
	proof_of_answer(&other, &a, mac[1]);
	a.count = 8;
	proof_of_answer(&tab, &a, mac[2]);
	a = (struct proof_answer){ START, 7, 500, "{}", 2 };
	proof_of_answer(&tab, &a, mac[3]);
	a = (struct proof_answer){ TAB, 7, 200, "{}", 2 };
	proof_of_answer(&tab, &a, mac[4]);
	a = (struct proof_answer){ START, 7, 200, "[]", 2 };
	proof_of_answer(&tab, &a, mac[5]);
	a = (struct proof_answer){ START, 7, 200, NULL, 0 };
	proof_of_answer(&tab, &a, mac[6]);
	for (size_t i = 0; i < ROWS(mac); i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(mac[i], mac[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
