/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/network/idna.h"

#define LABEL63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define NAME253                         \
	LABEL63 "." LABEL63 "." LABEL63 \
		".aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg"

static const struct {
	const char *name, *ascii;
} good[] = {
	{ "example.com", "example.com" },
	{ "EXAMPLE.Com", "example.com" },
	{ "example.com.", "example.com." },
	{ "localhost", "localhost" },
	{ "_dmarc.example.com", "_dmarc.example.com" },
	{ "r3---sn-ab5l.googlevideo.com", "r3---sn-ab5l.googlevideo.com" },
	{ "-a-.b", "-a-.b" },
	{ "127.0.0.1", "127.0.0.1" },
	{ LABEL63 ".com", LABEL63 ".com" },
	{ NAME253, NAME253 },
	{ NAME253 ".", NAME253 "." },
	{ "faß.de", "xn--fa-hia.de" },
	{ "fass.de", "fass.de" },
	{ "BÜCHER.example", "xn--bcher-kva.example" },
	{ "bu\xcc\x88"
	  "cher.example",
		"xn--bcher-kva.example" },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
	{ "XN--BCHER-KVA.EXAMPLE", "xn--bcher-kva.example" },
	{ "中国.example", "xn--fiqs8s.example" },
	{ "пример.рф", "xn--e1afmkfd.xn--p1ai" },
	{ "ｅｘａｍｐｌｅ.com", "example.com" },
	{ "ｘｎ－－ｆｉｑｓ８ｓ.com", "xn--fiqs8s.com" },
	{ "example。com", "example.com" },
	{ "example．com", "example.com" },
	{ "example｡com。", "example.com." },
	{ "exa\xc2\xadmple.com", "example.com" },
	{ "exa\xe2\x80\x8bmple.com", "example.com" },
	{ "１２７.0.0.1", "127.0.0.1" },
	{ "ᴱxample.com", "example.com" },
	{ "ﬁle.com", "file.com" },
	{ "Kelvin.com", "kelvin.com" },
	{ "ⅷ.com", "viii.com" },
};

static void names_become_a_labels(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		char out[256] = "";

		check_code(good[i].name,
			idna_to_ascii(good[i].name, strlen(good[i].name), out, sizeof(out)), 0);
		check_text(good[i].name, out, good[i].ascii);
	}
}

static const struct {
	const char *name;
	size_t len;
} bad[] = {
	{ TEXT("") },
	{ TEXT(".") },
	{ TEXT("..") },
	{ TEXT(".a") },
	{ TEXT("a..b") },
	{ TEXT("a..") },
	{ TEXT("a b") },
	{ TEXT(" a") },
	{ TEXT("a\tb") },
	{ TEXT("a\nb") },
	{ TEXT("a\0b") },
	{ TEXT("é\0b") },
	{ TEXT("a\x7f") },
	{ TEXT("a/b") },
	{ TEXT("a:b") },
	{ TEXT("a@b") },
	{ TEXT("a%41") },
	{ TEXT("a*b") },
	{ TEXT("*.example.com") },
	{ TEXT("[a]") },
	{ TEXT("a,b") },
	{ TEXT("a!b") },
	{ TEXT("a'b") },
	{ TEXT(LABEL63 "a.com") },
	{ TEXT(NAME253 "a") },
	{ TEXT(LABEL63 "é.com") },
	/* A-labels that stand for nothing, or not for what they say. */
	{ TEXT("xn--.com") },
	{ TEXT("xn--a.com") },
	{ TEXT("xn--a-.com") },
	{ TEXT("xn--abc-.com") },
	{ TEXT("xn--zn7c.com") },
	{ TEXT("xn--e-xbb.com") },
	{ TEXT("xn--u-ccb.com") },
	{ TEXT("a.xn--\xc3\xa9.com") },
	{ TEXT("xn--99999999.com") },
	{ TEXT("ｘｎ－－.com") },
	/* Characters that no name has, in disguise. */
	{ TEXT("a\xef\xbc\x85\x34\x31.com") }, /* fullwidth % */
	{ TEXT("a／b.com") },
	{ TEXT("a？b.com") },
	{ TEXT("a＠b.com") },
	{ TEXT("a：80") },
	{ TEXT("℀.com") }, /* a/c */
	{ TEXT("⒈com") },
	{ TEXT("\xc2\xad") },
	{ TEXT("a.\xc2\xad.b") },
	{ TEXT("a\xe2\x80\x8e"
	       "b.com") },
	{ TEXT("a\xe2\x80\x8d"
	       "b.com") },
	{ TEXT("☃.com") },
	{ TEXT("xn--n3h.com") },
	/* "ss" to one version of the standard, "ß" to the next. */
	{ TEXT("fa\xe1\xba\x9e.de") },
	/* Not UTF-8. */
	{ TEXT("a\xff.com") },
	{ TEXT("a\xc3.com") },
	{ TEXT("a\xc0\xae"
	       "com") },
	{ TEXT("a\xed\xa0\x80.com") },
};

static void what_is_no_name_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		char out[256];

		check_code(bad[i].name, idna_to_ascii(bad[i].name, bad[i].len, out, sizeof(out)),
			-EINVAL);
	}
}

static void length_is_bounded(void **state)
{
	char long_name[2000], out[8];

	(void)state;
	memset(long_name, 'a', sizeof(long_name));
	memcpy(long_name, "é", 2);
	assert_int_equal(idna_to_ascii(long_name, sizeof(long_name), out, sizeof(out)), -EINVAL);
	assert_int_equal(idna_to_ascii(TEXT("abcdefg"), out, sizeof(out)), 0);
	assert_int_equal(idna_to_ascii(TEXT("abcdefgh"), out, sizeof(out)), -ENAMETOOLONG);
	assert_int_equal(idna_to_ascii(TEXT("bücher"), out, sizeof(out)), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_a_labels),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(length_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
