/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "inject/tokens.h"

static void test_types(void **state)
{
	static const struct {
		const char *type;
		enum tokens_form form;
	} rows[] = {
		{ "application/json", TOKENS_JSON },
		{ "Application/JSON; charset=utf-8", TOKENS_JSON },
		{ "application/vnd.x+json", TOKENS_JSON },
		{ "application/x-www-form-urlencoded;charset=utf-8", TOKENS_FORM },
		{ "text/plain", TOKENS_OTHER },
		{ "application/jsonx", TOKENS_OTHER },
		{ "+json", TOKENS_OTHER },
		{ "", TOKENS_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(tokens_form(rows[i].type, strlen(rows[i].type)), rows[i].form);
}

/* A text, what becomes of it with A, R and I in place of its tokens; NULL: none or refused. */
static const struct {
	enum tokens_form form;
	const char *in, *out;
	int result;
} answers[] = {
	{ TOKENS_JSON,
		"{\"access_token\": \"0123456\", \"n\": 1.50, \"refresh_token\": \"abcdefg\"}",
		"{\"access_token\":\"A\",\"n\":1.50,\"refresh_token\":\"R\"}", 1 },
	{ TOKENS_JSON, "{\"access_t\\u006fken\":\"01234\\u0035\",\"id_token\":\"abcdef\"}",
		"{\"access_token\":\"A\",\"id_token\":\"I\"}", 1 },
	{ TOKENS_JSON, "{\"accessToken\":\"012345\",\"refreshToken\":null}",
		"{\"accessToken\":\"A\",\"refreshToken\":null}", 1 },
	{ TOKENS_JSON, "{\"error\":\"authorization_pending\"}", NULL, 0 },
	{ TOKENS_JSON, "{\"access_token\":null}", NULL, 0 },
	{ TOKENS_JSON, "{\"access_token\":\"012345\",\"accessToken\":\"012345\"}", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"access_token\":\"012345\",\"access_token\":\"012345\"}", NULL,
		-EBADMSG },
	{ TOKENS_JSON, "{\"access_token\":\"01234\"}", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"access_token\":\"0123456\\n\"}", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"access_token\":\"012345 7\"}", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"access_token\":1234567}", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"access_token\":{\"value\":\"0123456\"}}", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"user\":{\"access_token\":\"0123456\"}}", NULL, -EINVAL },
	{ TOKENS_JSON, "[{\"access_token\":\"0123456\"}]", NULL, -EINVAL },
	{ TOKENS_JSON, "{\"access_token\":\"0123456\"", NULL, -EBADMSG },
	{ TOKENS_JSON, "{\"access_token\":\"0123456\"} x", NULL, -EBADMSG },
	{ TOKENS_JSON, "\xef\xbb\xbf{\"access_token\":\"0123456\"}", NULL, -EBADMSG },
	{ TOKENS_FORM, "scope=a&access_token=012%3445&token_type=bearer",
		"scope=a&access_token=A&token_type=bearer", 1 },
	{ TOKENS_FORM, "refresh_token=abcdef&x&access%5Ftoken=012345",
		"refresh_token=R&x&access%5Ftoken=A", 1 },
	{ TOKENS_FORM, "error=authorization_pending", NULL, 0 },
	{ TOKENS_FORM, "access_token=&error=x", NULL, 0 },
	{ TOKENS_FORM, "access_token=012345&access_token=012345", NULL, -EBADMSG },
	{ TOKENS_FORM, "access_token=012345&access%5ftoken=012345", NULL, -EBADMSG },
	{ TOKENS_FORM, "access_token=012345&accessToken=012345", NULL, -EINVAL },
	{ TOKENS_FORM, "access_token=012345%0d%0a", NULL, -EINVAL },
	{ TOKENS_FORM, "access_token=012+345", NULL, -EINVAL },
	{ TOKENS_FORM, "access%00_token=012345", NULL, -EBADMSG },
	{ TOKENS_OTHER, "{\"access_token\":\"0123456\"}", NULL, 0 },
};

static void test_answers(void **state)
{
	static const char *const texts[LEND_TOKENS_MAX] = { "A", "R", "I" };

	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		struct tokens t = { 0 };
		auto_buffer out = { 0 };
		const char *why = NULL;
		int r = tokens_read(
			&t, answers[i].form, answers[i].in, strlen(answers[i].in), &why);

		if (r != answers[i].result)
			fail_msg("%s: %d", answers[i].in, r);
		assert_int_equal(!why, r >= 0);
		if (r == 1) {
			assert_int_equal(tokens_print(&t, texts, &out), 0);
			assert_string_equal(out.data, answers[i].out);
		}
		tokens_deinit(&t);
	}
}

static void test_long(void **state)
{
	struct tokens t = { 0 };
	auto_buffer text = { 0 };
	const char *why = NULL;

	(void)state;
	buffer_adds(&text, "access_token=");
	for (size_t i = 0; i < TOKENS_VALUE_MAX; i++)
		buffer_addc(&text, 'x');
	assert_int_equal(tokens_read(&t, TOKENS_FORM, text.data, text.len, &why), 1);
	tokens_deinit(&t);
	buffer_addc(&text, 'x');
	assert_int_equal(tokens_read(&t, TOKENS_FORM, text.data, text.len, &why), -EINVAL);
	tokens_deinit(&t);
	/* More fields than a form of this kind has. */
	buffer_clear(&text);
	for (size_t i = 0; i < 100; i++)
		buffer_printf(&text, "a%zu=1&", i);
	assert_int_equal(tokens_read(&t, TOKENS_FORM, text.data, text.len, &why), -EBADMSG);
	tokens_deinit(&t);
}

static void test_requests(void **state)
{
	static const struct {
		const char *body;
		enum tokens_request kind;
	} rows[] = {
		{ "grant_type=refresh_token&refresh_token=ghr_x", TOKENS_REFRESH },
		{ "client_id=a&refresh_token=ghr%5fx&grant%5ftype=refresh_token&scope=a+b",
			TOKENS_REFRESH },
		{ "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"ghr_x\",\"client_id\":"
		  "\"a\"}",
			TOKENS_REFRESH },
		/* Of another one, or with what makes another login of it. */
		{ "grant_type=refresh_token&refresh_token=ghr_y", TOKENS_LOGIN },
		{ "grant_type=refresh_token&refresh_token=ghr_xx", TOKENS_LOGIN },
		{ "grant_type=authorization_code&refresh_token=ghr_x", TOKENS_LOGIN },
		{ "grant_type=refresh_token&refresh_token=ghr_x&code=1", TOKENS_LOGIN },
		{ "grant_type=refresh_token&refresh_token=ghr_x&device_code=1", TOKENS_LOGIN },
		{ "grant_type=refresh_token&refresh_token=ghr_x&grant_type=x", TOKENS_LOGIN },
		{ "grant_type=refresh_token&refresh_token=ghr_x&refresh_token=y", TOKENS_LOGIN },
		{ "grant_type=refresh_token&refresh_token=ghr_x&=y", TOKENS_LOGIN },
		{ "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"ghr_x\",\"code\":1}",
			TOKENS_LOGIN },
		{ "{\"grant_type\":\"refresh_token\",\"refresh_token\":\"ghr_x\","
		  "\"grant_type\":\"x\"}",
			TOKENS_LOGIN },
		{ "{\"grant_type\":[\"refresh_token\"],\"refresh_token\":\"ghr_x\"}",
			TOKENS_LOGIN },
		{ "[]", TOKENS_LOGIN },
		{ "", TOKENS_LOGIN },
		{ "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=x",
			TOKENS_EXCHANGE },
		{ "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code",
			TOKENS_LOGIN },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (tokens_request(rows[i].body, strlen(rows[i].body), "ghr_x") != rows[i].kind)
			fail_msg("%s", rows[i].body);
		assert_int_not_equal(
			tokens_request(rows[i].body, strlen(rows[i].body), NULL), TOKENS_REFRESH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
