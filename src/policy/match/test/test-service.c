/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include "base/array.h"
#include "policy/match/service.h"

static void test_access(void **state)
{
	static const struct {
		const char *word;
		unsigned access;
	} rows[] = {
		{ "read", SERVICE_READ },
		{ "write", SERVICE_WRITE },
		{ "readwrite", SERVICE_READ | SERVICE_WRITE },
		{ "send", SERVICE_SEND },
		{ "open", SERVICE_OPEN },
		{ "", SERVICE_NONE },
		{ "Read", SERVICE_NONE },
		{ "rea", SERVICE_NONE },
		{ "reads", SERVICE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(
			service_access_parse(rows[i].word, strlen(rows[i].word)), rows[i].access);
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *name;
		unsigned access;
		const char *value;
	} rows[] = {
		{ "vault.read", 0, "vault", SERVICE_READ, NULL },
		{ "vault.read:", 0, "vault", SERVICE_READ, "" },
		{ "vault.read:a:b.c", 0, "vault", SERVICE_READ, "a:b.c" },
		{ "vault", 0, "vault", 0, NULL },
		{ "vault:x", 0, "vault", 0, "x" },
		{ "vault:x.y", 0, "vault", 0, "x.y" },
		{ "", -EINVAL, NULL, 0, NULL },
		{ ".read", -EINVAL, NULL, 0, NULL },
		{ ":x", -EINVAL, NULL, 0, NULL },
		{ "vault.", -EINVAL, NULL, 0, NULL },
		{ "vault.fly", -EINVAL, NULL, 0, NULL },
		{ "vault.read.write", -EINVAL, NULL, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct service_request r;

		assert_int_equal(service_request_parse(&r, rows[i].text), rows[i].code);
		if (rows[i].code < 0)
			continue;
		assert_int_equal(r.name_len, strlen(rows[i].name));
		assert_memory_equal(r.name, rows[i].name, r.name_len);
		assert_int_equal(r.access, rows[i].access);
		assert_true(rows[i].value ? strcmp(r.value, rows[i].value) == 0 : !r.value);
	}
}

static void test_words(void **state)
{
	static const struct {
		const char *pattern, *yes, *no; /* separated by blanks */
	} rows[] = {
		{ "Work", "Work", "Wor Works work" },
		{ "W*", "W Work W*", "aW" },
		{ "*k", "k Work kk", "Works" },
		{ "?ork", "Work ?ork", "ork WWork" },
		{ "*", "x xyz", "" },
		{ "a*b*c", "abc axbxc aabbcc", "ab acb abcd" },
		{ "a*?c", "axc axxc", "ac" },
		{ "**", "x", "" },
		{ "[a]", "[a]", "a" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (int yes = 0; yes < 2; yes++) {
			const char *s = yes ? rows[i].yes : rows[i].no;

			for (; *s; s += strspn(s, " ")) {
				size_t n = strcspn(s, " ");

				if (service_word_matches(rows[i].pattern, s, n) != yes)
					fail_msg("%s, %.*s", rows[i].pattern, (int)n, s);
				s += n;
			}
		}
	}
	assert_true(service_word_matches("", "", 0));
	assert_true(service_word_matches("*", "", 0));
	assert_false(service_word_matches("?", "", 0));
	assert_false(service_word_matches("", "x", 1));
}

static bool covers(const struct service *s, const char *text)
{
	struct service_request r;

	assert_int_equal(service_request_parse(&r, text), 0);
	return service_covers(s, &r);
}

static void test_covers(void **state)
{
	auto_permissions *p = permissions_new();
	struct service *s = permissions_service(p, "calendar");
	struct service_scope *calendars, *people;
	const char *const both[] = { "W*", "*k" };

	(void)state;
	s->access = SERVICE_READ;
	assert_true(covers(s, "calendar.read"));
	assert_true(covers(s, "calendar.read:anything"));
	assert_false(covers(s, "calendar.write"));
	assert_false(covers(s, "calendar.readwrite"));
	assert_false(covers(s, "calendars.read"));
	assert_false(covers(s, "cal.read"));
	assert_false(covers(s, "calendar"));

	calendars = permissions_scope(p, s, "calendars");
	assert_false(covers(s, "calendar.read"));
	assert_false(covers(s, "calendar.read:x"));
	assert_int_equal(permissions_add(p, &calendars->values, "Home", NULL), 0);
	assert_int_equal(permissions_add_all(p, &calendars->values, both, 2, NULL), 0);
	assert_true(covers(s, "calendar.read:Home"));
	assert_true(covers(s, "calendar.read:Work"));
	assert_false(covers(s, "calendar.read:Wor"));
	assert_false(covers(s, "calendar.read:"));
	/* One scope: the value is the whole text, whatever it looks like. */
	assert_false(covers(s, "calendar.read:calendars=Home"));
	assert_false(covers(s, "calendar.read:x,calendars=Home"));

	people = permissions_scope(p, s, "people");
	assert_int_equal(permissions_add(p, &people->values, "me", NULL), 0);
	calendars = permissions_scope(p, s, "calendars");
	assert_int_equal(s->n_scopes, 2);
	assert_true(covers(s, "calendar.read:calendars=Home,people=me"));
	assert_true(covers(s, "calendar.read:people=me,x=1,calendars=Work"));
	assert_false(covers(s, "calendar.read:calendars=Home"));
	assert_false(covers(s, "calendar.read:Home"));
	assert_false(covers(s, "calendar.read:calendars=Home,people=you"));
	assert_false(covers(s, "calendar.read:mycalendars=Home,people=me"));
	assert_false(covers(s, "calendar.read:calendarsHome,people=me"));
}

static void test_patterns(void **state)
{
	static const struct {
		const char *pattern, *request;
		bool covers;
	} rows[] = {
		{ "*", "vault.read:x", true },
		{ "vault", "vault.read:x", true },
		{ "vault", "vaults.read", false },
		{ "vault.read", "vault.read", true },
		{ "vault.write", "vault.read", false },
		{ "vault.readwrite", "vault.read", true },
		{ "vault.read", "vault.readwrite", false },
		{ "vault.read", "vault", false },
		{ "vault:a*", "vault.read:ab", true },
		{ "vault:a*", "vault.read", false },
		{ "vault.read:a", "vault.read:b", false },
		{ "", "vault.read", false },
		{ "vault.fly", "vault.read", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct service_request r;

		assert_int_equal(service_request_parse(&r, rows[i].request), 0);
		if (service_pattern_covers(rows[i].pattern, &r) != rows[i].covers)
			fail_msg("%s, %s", rows[i].pattern, rows[i].request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
