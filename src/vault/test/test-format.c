/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "vault/format.h"

static const uint8_t key[VAULT_KEY_BYTES] = "0123456789abcdef0123456789abcde";
static struct secret scratch;

static int begin(void **state)
{
	(void)state;
	return secret_begin() < 0 || secret_new(&scratch, VAULT_SCRATCH_BYTES) < 0;
}

static int end(void **state)
{
	(void)state;
	secret_free(&scratch);
	return 0;
}

static void fill(struct vault *v)
{
	struct vault_entry *e;

	memset(v->header.id, 7, sizeof(v->header.id));
	v->header.generation = 3;
	v->header.n_slots = 1;
	vault_slot_new(&v->header.slots[0], VAULT_SLOT_SYSTEMD);
	v->header.slots[0].blob_len = 4;
	memcpy(v->header.slots[0].blob, "blob", 4);
	vault_slot_wrap(&v->header.slots[0], v->header.id, key, key);
	e = vault_add(v, "GITHUB_TOKEN");
	assert_non_null(e);
	e->value = (const uint8_t *)"ghp_\0value";
	e->value_len = 10;
	e->version = 2;
	e->created_s = 1;
	e->changed_s = 5;
	e->expires_s = 9;
	e->n_grants = 2;
	e->grants[0] = (struct vault_grant){ "api.github.com:443", VAULT_HEADER, "claude", "", "" };
	e->grants[1] = (struct vault_grant){ "[::1]:443", VAULT_QUERY | VAULT_FIELD, "",
		"x-a,x-b.c", "/usr/bin/gh,/usr/bin/curl" };
	e = vault_add(v, "AWS");
	assert_non_null(e);
	e->source = "cmd:/usr/bin/aws configure";
	e->keep_s = 60;
	e = vault_add(v, "LOGIN_REFRESH");
	assert_non_null(e);
	e->value = (const uint8_t *)"refresh";
	e->value_len = 7;
	e->stand_in = "abcdef23ghr_abcdef2312345678";
	e->n_grants = 1;
	e->grants[0] = (struct vault_grant){ "login.example:443", VAULT_LOGIN, "claude", "", "" };
}

static void make(struct buffer *out)
{
	auto_vault v = { 0 };

	fill(&v);
	assert_int_equal(vault_encode(&v, key, &scratch, out), 0);
}

static void test_round(void **state)
{
	auto_buffer file = { 0 };
	auto_vault v = { 0 };
	struct error e = { 0 };
	const struct vault_entry *x;

	(void)state;
	make(&file);
	assert_memory_equal(file.data, "corral vault 1\n", 15);
	assert_null(memmem(file.data, file.len, "ghp_", 4));
	assert_null(memmem(file.data, file.len, "GITHUB", 6));
	assert_int_equal(vault_decode(&v, file.data, file.len, "vault", key, &e), 0);
	assert_int_equal(v.n, 3);
	assert_int_equal(v.header.generation, 3);
	x = vault_find(&v, "LOGIN_REFRESH");
	assert_string_equal(x->stand_in, "abcdef23ghr_abcdef2312345678");
	assert_int_equal(x->grants[0].places, VAULT_LOGIN);
	x = vault_find(&v, "GITHUB_TOKEN");
	assert_non_null(x);
	assert_int_equal(x->value_len, 10);
	assert_memory_equal(x->value, "ghp_\0value", 10);
	assert_int_equal(x->version, 2);
	assert_string_equal(x->stand_in, "");
	assert_int_equal(x->expires_s, 9);
	assert_int_equal(x->n_grants, 2);
	assert_string_equal(x->grants[0].fields, "");
	assert_string_equal(x->grants[1].fields, "x-a,x-b.c");
	assert_string_equal(x->grants[0].programs, "");
	assert_string_equal(x->grants[1].programs, "/usr/bin/gh,/usr/bin/curl");
	assert_int_equal(x->grants[1].places, VAULT_QUERY | VAULT_FIELD);
	assert_string_equal(x->grants[0].host, "api.github.com:443");
	assert_string_equal(x->grants[0].principal, "claude");
	x = vault_find(&v, "AWS");
	assert_string_equal(x->source, "cmd:/usr/bin/aws configure");
	assert_int_equal(x->keep_s, 60);
	assert_null(vault_find(&v, "aws"));
	vault_remove(&v, vault_find(&v, "GITHUB_TOKEN"));
	assert_int_equal(v.n, 2);
	assert_string_equal(v.entries[0].name, "AWS");
}

static void test_programs(void **state)
{
	static const char *const bad[] = { ",", "/a,", ",/a", "/a,,/b", "a", "/", "/a/../b", "/a b",
		"/a*", "/a\n", "/usr/bin/[a]", "~/a", "$HOME/a", "/a/" };
	char longest[VAULT_PROGRAMS_MAX + 2];

	(void)state;
	assert_true(vault_programs_are_valid("") && vault_programs_are_valid("/a") &&
		    vault_programs_are_valid("/usr/bin/gh,/opt/g++/x-y_z.1@2"));
	for (size_t i = 0; i < ROWS(bad); i++)
		if (vault_programs_are_valid(bad[i]))
			fail_msg("%s", bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	assert_false(vault_programs_are_valid(longest));
	longest[sizeof(longest) - 2] = '\0';
	assert_true(vault_programs_are_valid(longest));
	assert_true(vault_programs_have("/a,/b/c", "/a") && vault_programs_have("/a,/b/c", "/b/c"));
	assert_false(vault_programs_have("/a,/b/c", "/b") ||
		     vault_programs_have("/a,/b", "/a,/b") || vault_programs_have("/ab", "/a") ||
		     vault_programs_have("", "/a") || vault_programs_have("", "") ||
		     vault_programs_have("/a", ""));
}

/* A file that says that programs follow, and has none: no program is not any program. */
static void test_no_programs(void **state)
{
	auto_buffer file = { 0 };
	auto_vault v = { 0 }, got = { 0 };
	struct error e = { 0 };

	(void)state;
	fill(&v);
	vault_find(&v, "GITHUB_TOKEN")->grants[0].places |= 1U << 16;
	assert_int_equal(vault_encode(&v, key, &scratch, &file), 0);
	assert_int_equal(vault_decode(&got, file.data, file.len, "vault", key, &e), -EBADMSG);
}

/* A file that is cut off anywhere, has more behind it, or differs in a bit is no file. */
static void test_damage(void **state)
{
	auto_buffer file = { 0 };
	struct error e = { 0 };
	char *copy;

	(void)state;
	make(&file);
	for (size_t len = 0; len < file.len; len++) {
		auto_vault v = { 0 };

		assert_true(vault_decode(&v, file.data, len, "vault", key, &e) < 0);
	}
	copy = malloc(file.len + 1);
	assert_non_null(copy);
	for (size_t i = 0; i < file.len; i++) {
		auto_vault v = { 0 };

		memcpy(copy, file.data, file.len);
		copy[i] = (char)(copy[i] ^ 4);
		assert_true(vault_decode(&v, copy, file.len, "vault", key, &e) < 0);
	}
	memcpy(copy, file.data, file.len);
	copy[file.len] = 0;
	assert_int_equal(
		vault_decode(&(struct vault){ 0 }, copy, file.len + 1, "vault", key, &e), -EBADMSG);
	free(copy);
}

static void test_version(void **state)
{
	static const char newer[] = "corral vault 2\nof another form";
	struct error e = { 0 };
	struct vault_header h;
	size_t at;

	(void)state;
	assert_int_equal(
		vault_header_decode(&h, newer, sizeof(newer), "/x/vault", &at, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "/x/vault: the vault has version 2"));
	assert_int_equal(vault_header_decode(&h, "corral vault \n", 14, "v", &at, &e), -EBADMSG);
	assert_int_equal(
		vault_header_decode(&h, "corral vault 9999999999\n", 24, "v", &at, &e), -EBADMSG);
}

static void test_key(void **state)
{
	uint8_t other[VAULT_KEY_BYTES] = { 1 };
	auto_buffer file = { 0 };
	auto_vault v = { 0 };
	struct error e = { 0 };

	(void)state;
	make(&file);
	assert_int_equal(vault_decode(&v, file.data, file.len, "vault", other, &e), -EKEYREJECTED);
	assert_null(v.plain.data);
}

static void test_slot(void **state)
{
	const uint8_t id[VAULT_ID_BYTES] = { 1 }, strange[VAULT_ID_BYTES] = { 2 };
	uint8_t by[VAULT_KEY_BYTES], wrong[VAULT_KEY_BYTES], got[VAULT_KEY_BYTES];
	struct vault_slot s;

	(void)state;
	vault_slot_new(&s, VAULT_SLOT_PASSPHRASE);
	s.ops = 1;
	s.memory = 8192;
	assert_int_equal(vault_slot_derive(&s, "correct horse", 13, by), 0);
	assert_int_equal(vault_slot_derive(&s, "correct house", 13, wrong), 0);
	vault_slot_wrap(&s, id, by, key);
	assert_int_equal(vault_slot_unwrap(&s, id, by, got), 0);
	assert_memory_equal(got, key, sizeof(key));
	assert_int_equal(vault_slot_unwrap(&s, id, wrong, got), -EKEYREJECTED);
	assert_int_equal(vault_slot_unwrap(&s, strange, by, got), -EKEYREJECTED);
	s.kind = VAULT_SLOT_SYSTEMD;
	assert_int_equal(vault_slot_unwrap(&s, id, by, got), -EKEYREJECTED);
}

static void test_words(void **state)
{
	static const char *const names[] = { "", "1a", "-a", ".a", "a b", "a/b", "a=b", "é" };
	static const char *const hosts[] = { "", "x", "x:", ":1", "x:0", "x:65536", "x:01", "X:1",
		"*.x:1", "x/y:1", "x:1:2", "[::1:1", "x y:1", "x:-1" };
	uint32_t places = 0;
	auto_buffer text = { 0 };

	(void)state;
	assert_true(vault_name_is_valid("a") && vault_name_is_valid("_A9.b-c"));
	for (size_t i = 0; i < ROWS(names); i++)
		assert_false(vault_name_is_valid(names[i]));
	assert_true(vault_host_is_valid("api.github.com:443") &&
		    vault_host_is_valid("[::1]:65535") && vault_host_is_valid("127.0.0.1:1"));
	for (size_t i = 0; i < ROWS(hosts); i++)
		assert_false(vault_host_is_valid(hosts[i]));
	assert_int_equal(vault_places_parse("query,header", &places), 0);
	assert_int_equal(places, VAULT_HEADER | VAULT_QUERY);
	vault_places_print(places, "", &text);
	assert_string_equal(buffer_text(&text), "header,query");
	buffer_clear(&text);
	assert_int_equal(vault_places_parse("header:X-A,query,header:x-b", &places), 0);
	assert_int_equal(places, VAULT_FIELD | VAULT_QUERY);
	assert_int_equal(vault_fields_parse("header:X-A,query,header:x-b", &text), 0);
	assert_string_equal(buffer_text(&text), "x-a,x-b");
	buffer_clear(&text);
	vault_places_print(places, "x-a,x-b", &text);
	assert_string_equal(buffer_text(&text), "query,header:x-a,header:x-b");
	assert_true(vault_fields_have("x-a,x-b", "X-B", 3));
	assert_false(vault_fields_have("x-a,x-b", "x-", 2) || vault_fields_have("x-a", "x-ab", 4) ||
		     vault_fields_have("", "", 0) || vault_fields_have(NULL, "x", 1));
	assert_false(vault_fields_are_valid("a,") || vault_fields_are_valid(",a") ||
		     vault_fields_are_valid("A") || vault_fields_are_valid("a:b") ||
		     vault_fields_are_valid("a,,b"));
	assert_true(vault_fields_are_valid("") && vault_fields_are_valid("a,x-b"));
	assert_int_equal(vault_places_parse("header:", &places), -EINVAL);
	assert_int_equal(vault_places_parse("header:a b", &places), -EINVAL);
	assert_int_equal(vault_places_parse("", &places), -EINVAL);
	assert_int_equal(vault_places_parse("header,", &places), 0);
	assert_int_equal(vault_places_parse("cookie", &places), -EINVAL);
}

static void test_bounds(void **state)
{
	static uint8_t large[VAULT_VALUE_MAX];
	auto_buffer file = { 0 };
	auto_vault v = { 0 }, again = { 0 };
	struct error e = { 0 };
	char name[16];

	(void)state;
	fill(&v);
	/* As many as there may be, each small; then too many bytes. */
	while (v.n < VAULT_ENTRIES_MAX) {
		(void)snprintf(name, sizeof(name), "S%zu", v.n);
		assert_non_null(vault_add(&v, name));
	}
	assert_null(vault_add(&v, "MORE"));
	assert_int_equal(vault_encode(&v, key, &scratch, &file), 0);
	assert_int_equal(vault_decode(&again, file.data, file.len, "vault", key, &e), 0);
	assert_int_equal(again.n, VAULT_ENTRIES_MAX);
	for (size_t i = 0; i < v.n; i++) {
		v.entries[i].value = large;
		v.entries[i].value_len = sizeof(large);
	}
	buffer_clear(&file);
	assert_int_equal(vault_encode(&v, key, &scratch, &file), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_no_programs),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
