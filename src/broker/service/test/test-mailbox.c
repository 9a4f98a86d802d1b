/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buffer.h"
#include "broker/service/mailbox.h"
#include "policy/network/host.h"
#include "policy/service-table.h"

/* What is taken: the text, the name and the address. */
static const struct {
	const char *text, *name, *address;
} good[] = {
	{ "bob@example.com", "", "bob@example.com" },
	{ "Bob.O'Neil+list@Example.COM", "", "Bob.O'Neil+list@example.com" },
	{ "<bob@example.com>", "", "bob@example.com" },
	{ "Bob <bob@example.com>", "Bob", "bob@example.com" },
	{ "Bob Example  <bob@example.com>", "Bob Example", "bob@example.com" },
	{ "Jürgen Groß <j@example.com>", "Jürgen Groß", "j@example.com" },
	{ "Mr. O'Neil & Co <o@example.com>", "Mr. O'Neil & Co", "o@example.com" },
	{ "bob@example.com.", "", "bob@example.com" },
	{ "root@localhost", "", "root@localhost" },
	{ "bob@bücher.example", "", "bob@xn--bcher-kva.example" },
	{ "bob@BÜCHER.example", "", "bob@xn--bcher-kva.example" },
	{ "bob@xn--bcher-kva.example", "", "bob@xn--bcher-kva.example" },
	/* Other dots are dots for DNS, and full-width letters are letters. */
	{ "bob@example。com", "", "bob@example.com" },
	{ "bob@ｅxample.com", "", "bob@example.com" },
	/* A homograph is another domain, and shows it. */
	{ "bob@аllowed.example", "", "bob@xn--llowed-2nf.example" },
};

static void test_addresses_that_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		auto_buffer text = { 0 };
		struct mailbox m, again;
		const char *why;

		assert_int_equal(mailbox_parse(&m, good[i].text, strlen(good[i].text), &why), 0);
		assert_string_equal(m.name, good[i].name);
		assert_string_equal(m.address, good[i].address);
		mailbox_print(&m, &text);
		assert_int_equal(mailbox_parse(&again, text.data, text.len, &why), 0);
		assert_string_equal(again.name, m.name);
		assert_string_equal(again.address, m.address);
		assert_string_equal(mailbox_domain(&m), strchr(good[i].address, '@') + 1);
	}
}

static const char *const bad[] = {
	"",
	"@",
	"bob",
	"bob@",
	"@example.com",
	" bob@example.com",
	"bob@example.com ",
	/* Lists and groups. */
	"a@allowed.example, b@evil.example",
	"a@allowed.example,b@evil.example",
	"a@allowed.example;b@evil.example",
	"a@allowed.example b@evil.example",
	"friends: a@allowed.example, b@evil.example;",
	"undisclosed-recipients:;",
	"<a@allowed.example>, <b@evil.example>",
	"<a@allowed.example> <b@evil.example>",
	/* Two domains. */
	"\"a@allowed.example\"@evil.example",
	"a@evil.example@allowed.example",
	"a@allowed.example\\@evil.example",
	"a@[allowed.example]@evil.example",
	/* Source routes. */
	"@evil.example:a@allowed.example",
	"@a,@b:c@allowed.example",
	"<@evil.example:a@allowed.example>",
	"a%evil.example@allowed.example",
	"evil.example!a@allowed.example",
	/* Comments, quotes, literals. */
	"a(evil)@allowed.example",
	"a@allowed.example(x)",
	"(a)b@allowed.example",
	"\"a b\"@allowed.example",
	"a\\ b@allowed.example",
	"a@[127.0.0.1]",
	"a@127.0.0.1",
	"a@[IPv6:::1]",
	"a@1",
	"a@x.1",
	/* New lines, and what else ends a line for some. */
	"a@allowed.example\r\nRCPT TO:<b@evil.example>",
	"a@allowed.example\n",
	"a\r@allowed.example",
	"Bob\r\nBcc: b@evil.example <a@allowed.example>",
	"Bob\t<a@allowed.example>",
	"a@allowed.example>\r\nDATA",
	"Bob <a@allowed.example>\r\n",
	"a@allowed\v.example",
	/* Names that read like addresses, or end the name. */
	"a@allowed.example <b@evil.example>",
	"a＠allowed.example <b@evil.example>",
	"\"Bob\" <a@allowed.example>",
	"Bob, Eve <a@allowed.example>",
	"Bob \\ <a@allowed.example>",
	"=?utf-8?q?a=40allowed.example?= <b@evil.example>",
	"Bob\xe2\x80\xae <a@allowed.example>",
	"Bob\xff <a@allowed.example>",
	" Bob <a@allowed.example>",
	"Bob <a@allowed.example> x",
	"Bob <a <b@allowed.example>",
	"Bob <<a@allowed.example>>",
	"Bob <>",
	"<",
	"<>",
	">",
	/* The part before the @. */
	".a@allowed.example",
	"a.@allowed.example",
	"a..b@allowed.example",
	"-f@allowed.example",
	"|cat@allowed.example",
	"/tmp/x@allowed.example",
	"*@allowed.example",
	"a?@allowed.example",
	"ä@allowed.example",
	"a\x7f@allowed.example",
	/* The domain. */
	"a@.allowed.example",
	"a@allowed..example",
	"a@-allowed.example",
	"a@allowed-.example",
	"a@allowed_.example",
	"a@allowed.example..",
	"a@*.example",
	"a@all owed.example",
	"a@allowed.example:25",
	"a@allowed.example/x",
	"a@xn--zzzzzz9999999.example",
	"a@\xff.example",
	"a@allowed.example%00",
	"a@ẞ.example",
};

static void test_addresses_that_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct mailbox m = { .address = "untouched" };
		const char *why = NULL;

		if (mailbox_parse(&m, bad[i], strlen(bad[i]), &why) != -EINVAL)
			fail_msg("`%s` was taken as %s", bad[i], m.address);
		assert_non_null(why);
		assert_string_equal(m.address, "untouched");
	}
}

static void test_a_nul_is_no_end(void **state)
{
	static const char local[] = "a\0b@evil.example",
			  domain[] = "a@allowed.example\0.evil.example",
			  name[] = "Bob\0 <a@allowed.example>";
	struct mailbox m;
	const char *why;

	(void)state;
	assert_int_equal(mailbox_parse(&m, local, sizeof(local) - 1, &why), -EINVAL);
	assert_int_equal(mailbox_parse(&m, domain, sizeof(domain) - 1, &why), -EINVAL);
	assert_int_equal(mailbox_parse(&m, name, sizeof(name) - 1, &why), -EINVAL);
}

static void test_lengths(void **state)
{
	char text[MAILBOX_TEXT_MAX + 2], label[64];
	struct mailbox m;
	const char *why;
	int n;

	(void)state;
	memset(label, 'x', 63);
	label[63] = '\0';
	n = snprintf(text, sizeof(text), "%sx@example.com", label);
	assert_int_equal(mailbox_parse(&m, text, (size_t)n, &why), 0);
	n = snprintf(text, sizeof(text), "%sxx@example.com", label);
	assert_int_equal(mailbox_parse(&m, text, (size_t)n, &why), -EINVAL);
	/* 254 in all: 2 before the @ and 251 behind. */
	n = snprintf(text, sizeof(text), "ab@%s.%s.%s.%.59s", label, label, label, label);
	assert_int_equal(n, MAILBOX_ADDRESS_MAX);
	assert_int_equal(mailbox_parse(&m, text, (size_t)n, &why), 0);
	n = snprintf(text, sizeof(text), "abc@%s.%s.%s.%.59s", label, label, label, label);
	assert_int_equal(mailbox_parse(&m, text, (size_t)n, &why), -EINVAL);
	n = snprintf(text, sizeof(text), "%s %s <a@b>", label, label);
	assert_int_equal(mailbox_parse(&m, text, (size_t)n, &why), 0);
	n = snprintf(text, sizeof(text), "%s %s xx <a@b>", label, label);
	assert_int_equal(mailbox_parse(&m, text, (size_t)n, &why), -EINVAL);
	memset(text, 'a', sizeof(text));
	assert_int_equal(mailbox_parse(&m, text, sizeof(text), &why), -EINVAL);
}

/* What a policy compares is the address that is sent to, but for the case of its first part. */
static void test_a_policy_sees_the_same_address(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		char normal[PATH_BYTES];
		struct service_request r = { .name = "email", .name_len = 5 };
		struct host_request host;
		struct mailbox m;
		const char *why;

		assert_int_equal(mailbox_parse(&m, good[i].text, strlen(good[i].text), &why), 0);
		r.value = m.address;
		assert_int_equal(service_value_normal(&r, normal, &host), 0);
		assert_int_equal(strcasecmp(r.value, m.address), 0);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_that_are_read),
		cmocka_unit_test(test_addresses_that_are_refused),
		cmocka_unit_test(test_a_nul_is_no_end),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_a_policy_sees_the_same_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
