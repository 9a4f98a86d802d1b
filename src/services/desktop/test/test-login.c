/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "services/desktop/login.h"
#include "services/desktop/page.h"

#define PAGE "https://auth.openai.com/oauth/authorize"
#define CLIENT "client_id=app_EMoamEEZ73f0CkXaXp7hrann"
#define BACK "redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%2Fauth%2Fcallback"
#define LOGIN PAGE "?response_type=code&" CLIENT "&" BACK

static const struct {
	const char *text;
	bool is_login;
} rows[] = {
	/* As the agents write them. */
	{ LOGIN "&code_challenge=x45z-9_w&code_challenge_method=S256&state=4xF_wxAY69&scope=openid+"
		"profile+api.connectors.read&id_token_add_organizations=true&originator=codex_cli_"
		"rs",
		true },
	{ "https://claude.com/cai/oauth/authorize?code=true&client_id=9d1c250a-e61b-44d9-88ed-"
	  "5944d1962f5e&response_type=code&redirect_uri=https%3A%2F%2Fplatform.claude.com%2Foauth%"
	  "2Fcode%2Fcallback&scope=org%3Acreate_api_key+user%3Aprofile&state=1-_b%3D%3D",
		true },
	{ PAGE "?" CLIENT "&redirect_uri=http://127.0.0.1:1455/auth/callback", true },
	{ "HTTPS://AUTH.openai.com:443/oauth/../oauth/authorize?" CLIENT "&" BACK, true },
	/* Another scheme, host, port or page. */
	{ "http://auth.openai.com/oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com:8443/oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com.evil.example/oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.co/oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com./oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://evil.example/https://auth.openai.com/oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.\xd0\xbepenai.com/oauth/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com/logout?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com/oauth/authorize/?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com/oauth%2Fauthorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com/OAUTH/authorize?" CLIENT "&" BACK, false },
	{ "https://auth.openai.com/oauth/authorize;x?" CLIENT "&" BACK, false },
	/* Another client, or none. */
	{ PAGE "?client_id=app_evil&" BACK, false },
	{ PAGE "?" BACK, false },
	{ PAGE "?client_id=&" BACK, false },
	{ LOGIN "&" CLIENT, false },
	{ LOGIN "&client_id=app_evil", false },
	{ LOGIN "&Client_ID=app_evil", false },
	/* Another way back, none, or two. */
	{ PAGE "?" CLIENT, false },
	{ PAGE, false },
	{ PAGE "?", false },
	{ PAGE "?" CLIENT "&redirect_uri=https%3A%2F%2Fevil.example%2F", false },
	{ PAGE "?" CLIENT "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1456%2Fauth%2Fcallback", false },
	{ PAGE "?" CLIENT "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%2Fauth%2Fcallback%2F..",
		false },
	{ PAGE "?" CLIENT "&redirect_uri=http%3A%2F%2F127.0.0.1%3A1455%40evil.example%2F", false },
	{ PAGE "?" CLIENT
	       "&redirect_uri=http%253A%252F%252F127.0.0.1%253A1455%252Fauth%252Fcallback",
		false },
	{ LOGIN "&redirect_uri=https%3A%2F%2Fevil.example%2F", false },
	{ LOGIN "&REDIRECT_URI=https%3A%2F%2Fevil.example%2F", false },
	{ LOGIN "&redirect%5Furi=https%3A%2F%2Fevil.example%2F", false },
	{ LOGIN "&redirect_uri[]=x", false },
	{ LOGIN "&" BACK, false },
	{ LOGIN ";redirect_uri=x", false },
	{ LOGIN "%00", false },
	{ LOGIN "%", false },
	{ LOGIN "#x", false },
	/* The row of one agent, with the client of another. */
	{ "https://claude.com/cai/oauth/authorize?" CLIENT "&" BACK, false },
	/* Requests that are kept elsewhere; other addresses. */
	{ LOGIN "&request_uri=urn", false },
	{ LOGIN "&request=abc", false },
	{ LOGIN "&next=https%3A%2F%2Fevil.example", false },
	{ LOGIN "&next=%2F%2Fevil.example", false },
	{ LOGIN "&next=%5C%5Cevil.example", false },
	{ LOGIN "&next=%2Fx%3Fy%3D%252F%252Fevil", false },
	{ LOGIN "&state=javascript%3Aalert(1)", false },
	{ LOGIN "&state=a%0Ab", false },
	{ LOGIN "&state", false },
	{ LOGIN "&&", false },
	{ LOGIN "&=x", false },
};

static int check(const char *text)
{
	auto_buffer page = { 0 };
	struct error e = { 0 };

	if (page_normal(text, strlen(text), &page, &e) < 0)
		return -EINVAL;
	return login_check(page.data, page.len, &e);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		if ((check(rows[i].text) == 0) != rows[i].is_login)
			fail_msg("%s", rows[i].text);
}

/* Values have a bound, and addresses in between do not matter. */
static void test_long(void **state)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	buffer_adds(&text, LOGIN "&state=");
	for (size_t i = 0; i < 3000; i++) {
		buffer_addc(&text, 'x');
		assert_int_equal(login_check(text.data, text.len, &e), i < 2047 ? 0 : -EINVAL);
	}
}

/* What the presets name is what such an address has in normal form; no page leads elsewhere. */
static void test_data(void **state)
{
	size_t n = 0;

	(void)state;
	for (const char *row = login_rows; *row; row += strlen(row) + 1, n++) {
		const char *space = strchr(row, ' '), *last = strrchr(row, ' ');
		auto_buffer page = { 0 };
		struct error e = { 0 };

		assert_true(space && last > space + 1 && strlen(last) > 1);
		assert_int_equal(page_normal(row, (size_t)(space - row), &page, &e), 0);
		assert_int_equal(page.len, (size_t)(space - row));
		assert_memory_equal(page.data, row, page.len);
		assert_memory_equal(row, "https://", 8);
		assert_true(strncmp(last + 1, "https://", 8) == 0 ||
			    strncmp(last + 1, "http://127.0.0.1:", 17) == 0 ||
			    strncmp(last + 1, "http://localhost:", 17) == 0);
	}
	assert_true(n >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
