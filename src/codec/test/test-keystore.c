/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "codec/keystore.h"

#define PEM(base64) "-----BEGIN CERTIFICATE-----\n" base64 "\n-----END CERTIFICATE-----\n"

enum { HEAD = 12, DIGEST = 20 };

/* Made by other means: a certificate of the bytes 0, 1, 2. */
static const char one[] = "feedfeed0000000200000001000000020008636f7272616c2d31000000000000"
			  "00000005582e35303900000003000102ada57cebebd406665e82166771fd7ad5"
			  "4921eb36";

static void test_print(void **state)
{
	char hex[512];
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(keystore_print("# a comment\n" PEM("AAEC"), NULL, 0, &out), 0);
	assert_string_equal(encoding_hex(out.data, out.len, hex), one);
}

/* What another list has comes behind, as it is, whatever it is; the digest is over all. */
static void test_add(void **state)
{
	char list[HEAD + 220 + DIGEST] = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1", hex[2 * DIGEST + 1];
	auto_buffer out = { 0 };

	(void)state;
	for (size_t i = 0; i < 20; i++)
		memcpy(list + HEAD + 11 * i, "other entry", 11);
	assert_int_equal(keystore_print(PEM("AAEC"), list, sizeof(list), &out), 0);
	assert_int_equal(out.len, sizeof(list) + 36);
	assert_int_equal(out.data[11], 2);
	assert_memory_equal(out.data + out.len - DIGEST - 220, list + HEAD, 220);
	assert_string_equal(encoding_hex(out.data + out.len - DIGEST, DIGEST, hex),
		"f2c59d7f7529b2f91ab573e9ffc9289f7a839216");
}

static void test_refused(void **state)
{
	static const struct {
		const char *pem, *head; /* NULL: no other list */
		size_t len;
	} rows[] = {
		{ "", NULL, 0 },
		{ "-----BEGIN CERTIFICATE-----\nAAEC\n", NULL, 0 },
		{ PEM("not base64"), NULL, 0 },
		{ PEM("AAEC"), "", 0 },
		{ PEM("AAEC"), "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\0", HEAD + DIGEST - 1 },
		{ PEM("AAEC"), "\xfe\xed\xfe\xed\0\0\0\1\0\0\0\0", HEAD + DIGEST },
		{ PEM("AAEC"), "\xce\xce\xce\xce\0\0\0\2\0\0\0\0", HEAD + DIGEST },
		{ PEM("AAEC"), "\xfe\xed\xfe\xed\0\0\0\2\xff\xff\xff\xff", HEAD + DIGEST },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		char list[HEAD + DIGEST] = "";
		auto_buffer out = { 0 };

		if (rows[i].head && rows[i].len >= HEAD)
			memcpy(list, rows[i].head, HEAD);
		assert_int_equal(
			keystore_print(rows[i].pem, rows[i].head ? list : NULL, rows[i].len, &out),
			-EINVAL);
		assert_int_equal(out.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
