/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "services/mail/message.h"

static struct mailbox box(const char *text)
{
	struct mailbox m;
	const char *why;

	assert_int_equal(mailbox_parse(&m, text, strlen(text), &why), 0);
	return m;
}

static struct message plain(const struct mailbox *to)
{
	return (struct message){ .from = box("Agent <agent@example.com>"),
		.to = to,
		.n_to = 1,
		.subject = "Hello",
		.body = "First line\nSecond line\n",
		.id = "0123456789abcdef@example.com",
		.date = 1794814200,
		.boundary = "0123456789abcdef0123456789abcdef" };
}

static void test_a_mail_as_it_is_sent(void **state)
{
	const struct mailbox to = box("bob@example.org");
	const struct message m = plain(&to);
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(message_print(&m, &out), 0);
	assert_string_equal(out.data, "Date: Mon, 16 Nov 2026 07:30:00 +0000\r\n"
				      "From: \"Agent\"\r\n <agent@example.com>\r\n"
				      "To: bob@example.org\r\n"
				      "Subject: Hello\r\n"
				      "Message-ID: <0123456789abcdef@example.com>\r\n"
				      "Auto-Submitted: auto-generated\r\n"
				      "MIME-Version: 1.0\r\n"
				      "Content-Type: text/plain; charset=utf-8\r\n"
				      "Content-Transfer-Encoding: base64\r\n\r\n"
				      "Rmlyc3QgbGluZQ0KU2Vjb25kIGxpbmUNCg==\r\n");
}

static void test_files_are_parts(void **state)
{
	const struct mailbox to[] = { box("bob@example.org"), box("Zoë <zoe@example.org>") };
	const struct message_file files[] = { { "a.pdf", "%PDF", 4 }, { "übergröße.txt", "x\n", 2 },
		{ "a\"b\\c/d\r\n\xe2\x80\xae"
		  "e",
			"", 0 } };
	struct message m = plain(to);
	auto_buffer out = { 0 };

	(void)state;
	m.n_to = 2;
	m.files = files;
	m.n_files = ROWS(files);
	assert_int_equal(message_print(&m, &out), 0);
	assert_non_null(strstr(out.data,
		"To: bob@example.org,\r\n =?UTF-8?B?Wm/Dqw==?=\r\n <zoe@example.org>\r\n"));
	assert_non_null(strstr(out.data,
		"\r\n--0123456789abcdef0123456789abcdef\r\nContent-Type: application/pdf\r\n"
		"Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment;\r\n "
		"filename=\"a.pdf\"\r\n\r\nJVBERg==\r\n--"));
	assert_non_null(strstr(out.data, "filename*=utf-8''%C3%BCbergr%C3%B6%C3%9Fe.txt\r\n"));
	assert_non_null(strstr(out.data, "filename=\"a_b_c_d___e\"\r\n"));
	assert_string_equal(out.data + out.len - 38, "--0123456789abcdef0123456789abcdef--\r\n");
}

/* No line is too long, and none begins with what ends a mail; no text is seen as it was given. */
static void test_texts_cannot_make_lines(void **state)
{
	static const char *const bodies[] = { "\r\n.\r\nRCPT TO:<b@evil.example>\r\n", ".", "..",
		"\n.\n", "From here\n", "--0123456789abcdef0123456789abcdef--\r\n", "\r\r\n\n" };
	const struct mailbox to = box("bob@example.org");

	(void)state;
	for (size_t i = 0; i < ROWS(bodies); i++) {
		struct message m = plain(&to);
		auto_buffer out = { 0 };

		m.body = bodies[i];
		assert_int_equal(message_print(&m, &out), 0);
		assert_null(strstr(out.data, "\r\n."));
		assert_null(strstr(out.data, "evil"));
		assert_null(strstr(out.data, "\r\nFrom here"));
		assert_null(strstr(out.data, "\r\n--"));
	}
}

static void test_subjects(void **state)
{
	static const char nul[] = "a\0b";
	static char longest[MESSAGE_SUBJECT_MAX + 2];

	(void)state;
	memset(longest, 'x', MESSAGE_SUBJECT_MAX + 1);
	assert_null(message_subject_fault("", 0));
	assert_null(message_subject_fault("Grüße", strlen("Grüße")));
	assert_null(message_subject_fault(longest, MESSAGE_SUBJECT_MAX));
	assert_non_null(message_subject_fault(longest, MESSAGE_SUBJECT_MAX + 1));
	assert_non_null(message_subject_fault("a\r\nBcc: b@evil.example", 22));
	assert_non_null(message_subject_fault("a\nb", 3));
	assert_non_null(message_subject_fault("a\rb", 3));
	assert_non_null(message_subject_fault("a\tb", 3));
	assert_non_null(message_subject_fault(nul, 3));
	assert_non_null(message_subject_fault("a\xff", 2));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mail_as_it_is_sent),
		cmocka_unit_test(test_files_are_parts),
		cmocka_unit_test(test_texts_cannot_make_lines),
		cmocka_unit_test(test_subjects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
