/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "cli/ask/ask.h"
#include "cli/ask/notify.h"
#include "cli/output.h"

/* What is shown of names that are made to deceive: no two look alike, no byte moves the cursor. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
		{ "example.com:443", "example.com:443" },
		{ "/home/u/a b", "/home/u/a b" },
		{ "/home/u/a ", "/home/u/a\\x20" },
		{ "/tmp/x\nanswer: run", "/tmp/x\\x0aanswer: run" },
		{ "/tmp/\x1b[2Jx", "/tmp/\\x1b[2Jx" },
		{ "/tmp/a\rb", "/tmp/a\\x0db" },
		/* Right to left. */
		{ "/tmp/\xe2\x80\xaegpj.sh", "/tmp/\\xe2\\x80\\xaegpj.sh\n    not all of it is "
					     "ASCII: /tmp/\\xe2\\x80\\xaegpj.sh" },
		/* A Cyrillic letter. */
		{ "/srv/\xd0\xb0pp", "/srv/\xd0\xb0pp\n    not all of it is ASCII: "
				     "/srv/\\xd0\\xb0pp" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_output o = { 0 };

		ask_words_name(&o, rows[i].name);
		assert_string_equal(buffer_text(&o.text), rows[i].shown);
	}
}

/* Each operation has the verb of its row; a number that is none, one that fits all. */
static void test_verbs(void **state)
{
	(void)state;
	for (uint32_t op = 0; op < OPERATION_COUNT; op++)
		assert_ptr_equal(ask_words_of(op), operation_rows[op].verb);
	assert_string_equal(ask_words_of(OPERATION_COUNT), "use");
	assert_string_equal(ask_words_of(UINT32_MAX), "use");
}

/* It is written whole, however long it is. */
static void test_length(void **state)
{
	char name[3000];
	const struct question q = { .op = OPERATION_FS_READ, .target = name, .wait_ms = 1000 };
	auto_output o = { 0 };

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	memcpy(name + sizeof(name) - 5, ".end", 5);
	ask_words(&q, false, &o);
	assert_non_null(strstr(buffer_text(&o.text), name));
	/* It has no pattern: nothing is offered but this once. */
	assert_null(strstr(buffer_text(&o.text), "until the command ends"));
}

/* On the desktop there is no room: what would be cut is left out, and nothing hides in it. */
static void test_desktop(void **state)
{
	char name[300] = "/srv/";
	auto_buffer title = { 0 }, body = { 0 }, longer = { 0 };

	(void)state;
	ask_notify_words(OPERATION_NET_CONNECT, "a\nb\xe2\x80\xae.com:443", false, &title, &body);
	assert_string_equal(buffer_text(&title), "a command waits for your answer");
	assert_non_null(strstr(buffer_text(&body), "May it connect to this?\na\\x0ab\\xe2\\x80"));
	assert_null(strstr(buffer_text(&body), "\xe2"));
	memset(name + 5, 'a', sizeof(name) - 6);
	ask_notify_words(OPERATION_FS_READ, name, true, &title, &longer);
	assert_null(strstr(buffer_text(&longer), "aaaa"));
	assert_non_null(strstr(buffer_text(&longer), "a name of 299 bytes"));
}

/* The row of its own is that of the table. */
static void test_desktop_method(void **state)
{
	const struct method *m = &method_rows[METHOD_NOTIFICATIONS_SEND];
	const struct {
		const struct schema_field *own, *whole;
	} rows[] = { { ask_notify_method.params, m->params },
		{ ask_notify_method.results, m->results } };

	(void)state;
	assert_int_equal(ask_notify_method.id, m->id);
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct schema_field *own = rows[i].own, *whole = rows[i].whole;

		assert_int_equal(schema_count(own), schema_count(whole));
		for (; own->name; own++, whole++) {
			assert_string_equal(own->name, whole->name);
			assert_int_equal(own->type, whole->type);
			assert_int_equal(own->required, whole->required);
			assert_int_equal(own->max, whole->max);
		}
	}
}

/* What the command says of itself is not in it. */
static void test_own_words(void **state)
{
	const struct question q = { .op = OPERATION_NET_CONNECT,
		.target = "a.com:443",
		.program = "trust-me",
		.reason = "because",
		.method = "please",
		.n_scopes = 1,
		.scopes = { "a.com:443" },
		.wait_ms = 60000 };
	auto_output o = { 0 };

	(void)state;
	ask_words(&q, true, &o);
	assert_non_null(strstr(buffer_text(&o.text), "connect to"));
	assert_non_null(strstr(buffer_text(&o.text), "always"));
	assert_null(strstr(buffer_text(&o.text), "trust-me"));
	assert_null(strstr(buffer_text(&o.text), "because"));
	assert_null(strstr(buffer_text(&o.text), "please"));
}

static void test_read(void **state)
{
	static const struct {
		const char *line;
		enum ask_word word;
	} rows[] = {
		{ "", ASK_WORD_NONE },
		{ "y", ASK_WORD_ONCE },
		{ "Once", ASK_WORD_ONCE },
		{ "run", ASK_WORD_RUN },
		{ "day", ASK_WORD_DAY },
		{ "always", ASK_WORD_ALWAYS },
		{ "a", ASK_WORD_NONE },
		{ "n", ASK_WORD_NO },
		{ "runs", ASK_WORD_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(ask_words_read(rows[i].line), rows[i].word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_desktop),
		cmocka_unit_test(test_desktop_method),
		cmocka_unit_test(test_own_words),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
