/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "inject/placeholders.h"

static const char jwt[] = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9mLWl0";
static const char pem[] = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n"
			  "-----END OPENSSH PRIVATE KEY-----\n";

/* A value, how its placeholder begins and ends, and how long it is. */
static const struct {
	const char *value, *begin, *end;
	size_t len;
} kinds[] = {
	{ "ghp_0123456789abcdef0123456789abcdef0123", "ghp_", "", 40 },
	{ "ghp_short", "ghp_", "", 40 },
	{ "github_pat_11ABCDEFG0abcdefghijkl_xyz", "github_pat_", "", 93 },
	{ "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxx", "sk-ant-api03-", "AA", 108 },
	{ "sk-proj-xxxxxxxxxx", "sk-proj-", "", 164 },
	{ "sk-xxxxxxxxxxxxxxxx", "sk-", "", 51 },
	{ "AKIAIOSFODNN7EXAMPLE", "AKIA", "", 20 },
	{ "SG.aaaaaaaaaaaaaaaaaaaaaa.bbbb", "SG.", "", 69 },
	{ "0123abcd", "", "", 40 },
	{ "correct horse battery staple", "", "", 40 },
	{ "x", "", "", 40 },
	{ "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "", "", 36 },
	{ jwt, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.", "", 84 },
	{ pem, "-----BEGIN OPENSSH PRIVATE KEY-----\n", "-----END OPENSSH PRIVATE KEY-----\n",
		36 + 6 * 65 + 34 },
};

static void test_kinds(void **state)
{
	struct placeholder_mark mark;

	(void)state;
	assert_int_equal(placeholder_mark_make(&mark), 0);
	for (size_t i = 0; i < ROWS(kinds); i++) {
		auto_buffer text = { 0 };
		auto_buffer other = { 0 };
		size_t ends = strlen(kinds[i].end);

		assert_int_equal(
			placeholder_make(&mark, kinds[i].value, strlen(kinds[i].value), &text), 0);
		assert_int_equal(
			placeholder_make(&mark, kinds[i].value, strlen(kinds[i].value), &other), 0);
		if (text.len != kinds[i].len)
			fail_msg("%s: %zu bytes: %s", kinds[i].value, text.len, text.data);
		assert_memory_equal(text.data, kinds[i].begin, strlen(kinds[i].begin));
		assert_string_equal(text.data + text.len - ends, kinds[i].end);
		assert_string_not_equal(text.data, other.data);
		assert_non_null(placeholder_mark_find(&mark, text.data, text.len));
		/* Nothing of the value but what all of its kind have. */
		if (strlen(kinds[i].begin) < 20 && strlen(kinds[i].value) > 20)
			assert_null(strstr(text.data, kinds[i].value + strlen(kinds[i].begin)));
	}
}

static void test_refused(void **state)
{
	static char large[PLACEHOLDER_MAX + 1];
	struct placeholder_mark mark;
	auto_buffer text = { 0 };

	(void)state;
	assert_int_equal(placeholder_mark_make(&mark), 0);
	assert_int_equal(placeholder_make(&mark, "", 0, &text), -EINVAL);
	assert_int_equal(placeholder_make(&mark, large, sizeof(large), &text), -EINVAL);
}

static void test_uuid(void **state)
{
	struct placeholder_mark mark;
	auto_buffer text = { 0 };

	(void)state;
	assert_int_equal(placeholder_mark_make(&mark), 0);
	assert_int_equal(
		placeholder_make(&mark, "3f2504e0-4f89-41d3-9a0c-0305e82c3301", 36, &text), 0);
	assert_int_equal(text.data[8], '-');
	assert_int_equal(text.data[13], '-');
	assert_int_equal(text.data[14], '4');
	assert_int_equal(text.data[18], '-');
	assert_int_equal(text.data[19], 'a');
	assert_int_equal(text.data[23], '-');
}

static bool judge_all(void *context, const struct placeholder *p)
{
	(void)p;
	return *(const bool *)context;
}

static void test_replace(void **state)
{
	const struct placeholder *a, *b, *c;
	struct placeholders *t;
	auto_buffer text = { 0 };
	auto_buffer out = { 0 };
	bool yes = true, no = false;

	(void)state;
	assert_int_equal(placeholders_new(&t), 0);
	assert_int_equal(placeholders_add(t, "A", "ghp_value", 9, &a), 0);
	assert_int_equal(placeholders_add(t, "B", "second", 6, &b), 0);
	assert_int_equal(placeholders_add(t, "B", "second", 6, &c), -EEXIST);
	buffer_printf(
		&text, "%s%s x %.*s %sy", a->text, b->text, (int)a->len - 1, a->text, b->text);
	assert_int_equal(
		placeholders_replace(t, text.data, text.len, judge_all, &yes, NULL, &out), 3);
	assert_memory_equal(out.data, "ghp_valuesecond x ", 18);
	assert_string_equal(out.data + out.len - 8, " secondy");
	/* Cut off, it stays what it is. */
	assert_non_null(strstr(out.data, "ghp_"));
	buffer_clear(&out);
	assert_int_equal(
		placeholders_replace(t, text.data, text.len, judge_all, &no, NULL, &out), 0);
	assert_string_equal(out.data, text.data);
	placeholders_free(t);
}

/* A mark alone, marks in a row, and one that a client made up. */
static void test_deceiving(void **state)
{
	const struct placeholder *a;
	struct placeholders *t;
	auto_buffer text = { 0 };
	auto_buffer out = { 0 };
	bool yes = true;

	(void)state;
	assert_int_equal(placeholders_new(&t), 0);
	assert_int_equal(placeholders_add(t, "A", "value-of-a", 10, &a), 0);
	for (int i = 0; i < 50; i++)
		buffer_add(&text, a->text + a->mark_at, PLACEHOLDER_MARK);
	buffer_printf(&text, "%.*sXXXXXXXX", PLACEHOLDER_MARK, a->text + a->mark_at);
	buffer_adds(&text, a->text);
	buffer_add(&text, a->text, a->len - 1);
	assert_int_equal(
		placeholders_replace(t, text.data, text.len, judge_all, &yes, NULL, &out), 1);
	assert_int_equal(out.len, text.len - a->len + 10);
	placeholders_free(t);
}

/* One that comes from the vault is the same in each run, beside those with another mark. */
static void test_of_vault(void **state)
{
	struct placeholders *first, *second;
	const struct placeholder *other;
	auto_buffer stand_in = { 0 }, again = { 0 }, text = { 0 }, out = { 0 };
	bool yes = true;

	(void)state;
	assert_int_equal(placeholders_new(&first), 0);
	assert_int_equal(placeholders_stand_in(first, "A", "gho_value", 9, &stand_in), 0);
	assert_int_equal(placeholders_put(first, "A", stand_in.data, "gho_value", 9), 0);
	/* Another value has the same. */
	assert_int_equal(placeholders_stand_in(first, "A", "gho_other", 9, &again), 0);
	assert_string_equal(stand_in.data, again.data);
	assert_int_equal(placeholders_new(&second), 0);
	assert_int_equal(placeholders_add(second, "B", "ghp_b", 5, &other), 0);
	assert_int_equal(placeholders_put(second, "A", stand_in.data, "gho_value", 9), 0);
	assert_int_equal(placeholders_put(second, "A", stand_in.data, "gho_other", 9), 0);
	assert_int_equal(placeholders_count(second), 2);
	assert_int_equal(placeholders_put(second, "C", stand_in.data, "x", 1), -EEXIST);
	buffer_printf(&text, "%s %s %s", stand_in.data + PLACEHOLDER_MARK, other->text,
		stand_in.data + PLACEHOLDER_MARK);
	assert_int_equal(
		placeholders_replace(second, text.data, text.len, judge_all, &yes, NULL, &out), 3);
	assert_string_equal(out.data, "gho_other ghp_b gho_other");
	placeholders_free(first);
	placeholders_free(second);
}

/* Claims are in the placeholder: another value has another one, and the old one serves, too. */
static void test_claims(void **state)
{
	static const char one[] = "eyJhIjoxfQ.eyJiIjoxfQ.0123456789abcdefghij";
	static const char two[] = "eyJhIjoxfQ.eyJiIjoyfQ.0123456789abcdefghij";
	struct placeholders *t;
	auto_buffer first = { 0 }, second = { 0 }, text = { 0 }, out = { 0 };
	bool yes = true;

	(void)state;
	assert_int_equal(placeholders_new(&t), 0);
	assert_int_equal(placeholders_stand_in(t, "A", one, strlen(one), &first), 0);
	assert_int_equal(placeholders_put(t, "A", first.data, one, strlen(one)), 0);
	assert_int_equal(placeholders_stand_in(t, "A", two, strlen(two), &second), 0);
	assert_int_equal(placeholders_put(t, "A", second.data, two, strlen(two)), 0);
	assert_string_not_equal(first.data, second.data);
	buffer_printf(
		&text, "%s %s", first.data + PLACEHOLDER_MARK, second.data + PLACEHOLDER_MARK);
	assert_int_equal(
		placeholders_replace(t, text.data, text.len, judge_all, &yes, NULL, &out), 2);
	assert_memory_equal(out.data, two, strlen(two));
	placeholders_free(t);
}

static void test_bad_of_vault(void **state)
{
	static const char *const rows[] = { "", "abcdef2", "abcdef23", "abcdef23x",
		"ABCDEF23ghp_ABCDEF2312345678", "abcdef23ghp_abcdef231234567",
		"abcdef23nothing-of-the-mark-here" };
	struct placeholders *t;

	(void)state;
	assert_int_equal(placeholders_new(&t), 0);
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(placeholders_put(t, "A", rows[i], "value", 5), -EINVAL);
	assert_int_equal(placeholders_count(t), 0);
	for (unsigned i = 0; i < PLACEHOLDERS_MARKS_MAX + 1; i++) {
		char name[16], text[64];

		(void)snprintf(name, sizeof(name), "N%u", i);
		(void)snprintf(text, sizeof(text), "abcdef%c%c%sabcdef%c%c12345678",
			"abcdef"[i % 6], "abcdef"[i / 6], "x", "abcdef"[i % 6], "abcdef"[i / 6]);
		assert_int_equal(placeholders_put(t, name, text, "value", 5),
			i + 1 < PLACEHOLDERS_MARKS_MAX ? 0 : -E2BIG);
	}
	placeholders_free(t);
}

static void test_many(void **state)
{
	const struct placeholder *p;
	struct placeholders *t;
	char name[16];

	(void)state;
	assert_int_equal(placeholders_new(&t), 0);
	for (size_t i = 0; i < PLACEHOLDERS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "N%zu", i);
		assert_int_equal(placeholders_add(t, name, i % 2 ? "AKIAX" : "ghp_x", 5, &p), 0);
	}
	assert_int_equal(placeholders_add(t, "more", "x", 1, &p), -E2BIG);
	for (size_t i = 0; i < PLACEHOLDERS_MAX; i++) {
		size_t at;

		p = placeholders_at(t, i);
		assert_ptr_equal(placeholders_find(t, p->text, p->len, &at), p);
	}
	assert_null(placeholders_at(t, PLACEHOLDERS_MAX));
	placeholders_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_deceiving),
		cmocka_unit_test(test_of_vault),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_bad_of_vault),
		cmocka_unit_test(test_many),
	};

	if (secret_begin() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
