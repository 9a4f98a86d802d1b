/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts are sources, and what the output of a program means. tests/e2e/test-vault.py runs
 * them. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "vault/source-text.h"
#include "vault/source.h"

static void test_text(void **state)
{
	static const struct {
		const char *text;
		int kind;
	} rows[] = {
		{ "file:/x", SOURCE_FILE },
		{ "env:TOKEN", SOURCE_ENV },
		{ "cmd:/usr/bin/gh auth token", SOURCE_CMD },
		{ "secret-service:service=github,user=me", SOURCE_SERVICE },
		{ "login:gh", SOURCE_LOGIN },
		{ "login:gh#github.com", SOURCE_LOGIN },
		{ "link:linear", SOURCE_LINK },
		{ "link:a-2", SOURCE_LINK },
		{ "link:", -EINVAL },
		{ "link:A", -EINVAL },
		{ "link:-a", -EINVAL },
		{ "link:a-", -EINVAL },
		{ "link:a_b", -EINVAL },
		{ "link:a/b", -EINVAL },
		{ "link:--help", -EINVAL },
		{ "login:", -EINVAL },
		{ "login:other", -EINVAL },
		{ "login:/home/me/.netrc", -EINVAL },
		{ "", -EINVAL },
		{ "/x", -EINVAL },
		{ "file:x", -EINVAL },
		{ "File:/x", -EINVAL },
		{ "file:/x\n", -EINVAL },
		{ "cmd:gh", -EINVAL },
		{ "env:", -EINVAL },
		{ "env:A=B", -EINVAL },
		{ "secret-service:=x", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *rest = NULL;
		struct error e = { 0 };

		assert_int_equal(source_text_check(rows[i].text, &rest, &e), rows[i].kind);
		assert_true(rows[i].kind >= 0 || e.text[0]);
	}
}

static void test_output(void **state)
{
	static const struct {
		const char *text, *value; /* NULL: refused */
		uint64_t expires_s;
	} rows[] = {
		{ "ghp_x", "ghp_x", 0 },
		{ "{not json", "{not json", 0 },
		{ "{\"value\":\"v\"}", "v", 0 },
		{ "{\"value\":\"v\",\"expires_in\":60}", "v", 1060 },
		{ "{\"value\":\"v\",\"expires\":2000}", "v", 2000 },
		{ "{\"value\":\"v\",\"expires\":\"1970-01-01T01:00:00Z\"}", "v", 3600 },
		{ "{\"value\":\"v\",\"expires\":\"1970-01-01T01:00:00.25+01:00\"}", NULL, 0 },
		{ "{\"value\":\"v\",\"expires\":\"1970-01-01T03:00:00.25+01:00\"}", "v", 7200 },
		{ "{\"AccessKeyId\":\"A\",\"Expiration\":\"1970-01-02T00:00:00Z\"}",
			"{\"AccessKeyId\":\"A\",\"Expiration\":\"1970-01-02T00:00:00Z\"}", 86400 },
		{ "{\"value\":\"v\",\"expires\":\"tomorrow\"}", NULL, 0 },
		{ "{\"value\":\"v\",\"expires_in\":-1}", NULL, 0 },
		{ "{\"value\":{}}", NULL, 0 },
	};

	(void)state;
	assert_int_equal(secret_begin(), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct source_value got = { 0 };
		struct error e = { 0 };
		int r = source_parse(rows[i].text, strlen(rows[i].text), 1000, &got, &e);

		assert_int_equal(r, rows[i].value ? 0 : -EINVAL);
		if (r < 0)
			continue;
		assert_int_equal(got.value.len, strlen(rows[i].value));
		assert_memory_equal(got.value.data, rows[i].value, got.value.len);
		assert_int_equal(got.expires_s, rows[i].expires_s);
		secret_free(&got.value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
