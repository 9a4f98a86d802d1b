/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/network/url.h"

/* "scheme host port path", with "user" after it if there was a user name. */
static void describe(const struct url *u, struct buffer *out)
{
	buffer_printf(out, "%s ", u->scheme);
	if (u->is_address)
		address_print(&u->address, out);
	else
		buffer_adds(out, u->host);
	buffer_printf(out, " %u %s%s", u->port, u->path, u->has_userinfo ? " user" : "");
}

static const struct {
	const char *text;
	size_t len;
	const char *parts;
} good[] = {
	{ TEXT("http://example.com"), "http example.com 80 /" },
	{ TEXT("https://example.com/"), "https example.com 443 /" },
	{ TEXT("ws://example.com/"), "ws example.com 80 /" },
	{ TEXT("wss://example.com/"), "wss example.com 443 /" },
	{ TEXT("ftp://example.com/"), "ftp example.com 21 /" },
	{ TEXT("HTTPS://EXAMPLE.COM/A"), "https example.com 443 /A" },
	/* What is dropped. */
	{ TEXT(" \x01\x1f https://a.com/ \0\n"), "https a.com 443 /" },
	{ TEXT("ht\ttps:/\n/a\r.c\tom:4\n43/x\ty"), "https a.com 443 /xy" },
	{ TEXT("https://a.com?b=c.com:80/d"), "https a.com 443 /" },
	{ TEXT("https://a.com/?b@c.com:80/d"), "https a.com 443 /" },
	{ TEXT("https://a.com/#@c.com"), "https a.com 443 /" },
	/* Slashes of all kinds. */
	{ TEXT("http:a.com"), "http a.com 80 /" },
	{ TEXT("http:/a.com"), "http a.com 80 /" },
	{ TEXT("http:////a.com"), "http a.com 80 /" },
	{ TEXT("http:\\\\a.com/b"), "http a.com 80 /b" },
	{ TEXT("http:/\\/a.com"), "http a.com 80 /" },
	/* Who is the host? */
	{ TEXT("http://a@b"), "http b 80 / user" },
	{ TEXT("http://good.com@evil.com/"), "http evil.com 80 / user" },
	{ TEXT("http://good.com:80@evil.com:81/"), "http evil.com 81 / user" },
	{ TEXT("http://evil.com/@good.com"), "http evil.com 80 /@good.com" },
	{ TEXT("http://evil.com/;x@good.com"), "http evil.com 80 /;x@good.com" },
	{ TEXT("https://sk_live-1.2~3:@api.com/"), "https api.com 443 / user" },
	{ TEXT("https://:token@api.com/"), "https api.com 443 / user" },
	{ TEXT("https://a!$&'()*+,=b:p%41%7e@api.com/"), "https api.com 443 / user" },
	{ TEXT("http://example.com.evil.com"), "http example.com.evil.com 80 /" },
	/* Names in disguise. */
	{ TEXT("http://ex%61mple.com"), "http example.com 80 /" },
	{ TEXT("http://example%2ecom"), "http example.com 80 /" },
	{ TEXT("http://example%E3%80%82com"), "http example.com 80 /" },
	{ TEXT("http://example。com"), "http example.com 80 /" },
	{ TEXT("http://ｅｘａｍｐｌｅ.com"), "http example.com 80 /" },
	{ TEXT("http://exa%C2%ADmple.com"), "http example.com 80 /" },
	{ TEXT("http://b%C3%BCcher.de"), "http xn--bcher-kva.de 80 /" },
	{ TEXT("http://example.com./"), "http example.com. 80 /" },
	/* Addresses in disguise. */
	{ TEXT("http://127.1"), "http 127.0.0.1 80 /" },
	{ TEXT("http://0x7f.1"), "http 127.0.0.1 80 /" },
	{ TEXT("http://0"), "http 0.0.0.0 80 /" },
	{ TEXT("http://2130706433"), "http 127.0.0.1 80 /" },
	{ TEXT("http://１２７.0.0.1"), "http 127.0.0.1 80 /" },
	{ TEXT("http://%31%32%37%2e1"), "http 127.0.0.1 80 /" },
	{ TEXT("http://1.2.3.4./"), "http 1.2.3.4 80 /" },
	{ TEXT("http://⑯⑨。②⑤④。⑯⑨。②⑤④"), "http 169.254.169.254 80 /" },
	{ TEXT("http://[::1]"), "http ::1 80 /" },
	{ TEXT("http://[::127.0.0.1]:8080"), "http ::7f00:1 8080 /" },
	{ TEXT("http://[2001:DB8::A]:443/x"), "http 2001:db8::a 443 /x" },
	{ TEXT("http://u:p@[::1]:81"), "http ::1 81 / user" },
	/* Ports. */
	{ TEXT("http://a:"), "http a 80 /" },
	{ TEXT("http://a:/"), "http a 80 /" },
	{ TEXT("http://a:1"), "http a 1 /" },
	{ TEXT("http://a:65535"), "http a 65535 /" },
	{ TEXT("http://a:000000000443"), "http a 443 /" },
	{ TEXT("https://a:80"), "https a 80 /" },
	/* Paths. */
	{ TEXT("http://a/b/../c"), "http a 80 /c" },
	{ TEXT("http://a/../../c"), "http a 80 /c" },
	{ TEXT("http://a/b/%2e%2E/c/."), "http a 80 /c/" },
	{ TEXT("http://a/b/.."), "http a 80 /" },
	{ TEXT("http://a/b/c/.%2e"), "http a 80 /b/" },
	{ TEXT("http://a/b\\..\\c"), "http a 80 /c" },
	{ TEXT("http://a/%7euser/%41%2f%2d"), "http a 80 /~user/A%2F-" },
	{ TEXT("http://a/x y/\"<>`{}^|[]"), "http a 80 /x%20y/%22%3C%3E%60%7B%7D%5E%7C%5B%5D" },
	{ TEXT("http://a/caf\xc3\xa9"), "http a 80 /caf%C3%A9" },
	{ TEXT("http://a/%c3%a9/\x80"), "http a 80 /%C3%A9/%80" },
	{ TEXT("http://a/100%/%zz/%4"), "http a 80 /100%25/%25zz/%254" },
	{ TEXT("http://a/!$&'()*+,;=:@"), "http a 80 /!$&'()*+,;=:@" },
	{ TEXT("http://a//b//c/"), "http a 80 //b//c/" },
	{ TEXT("http://a/x\0y"), "http a 80 /x%00y" },
	{ TEXT("http://a/@scope%2fname"), "http a 80 /@scope%2Fname" },
	{ TEXT("http://a/...;/..x/.x;"), "http a 80 /...;/..x/.x;" },
};

static void host_and_port_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		auto_buffer out = { 0 };
		struct error e = { 0 };
		struct url u;

		if (url_parse(&u, good[i].text, good[i].len, &e) < 0)
			fail_msg("<%s>: %s", good[i].text, e.text);
		describe(&u, &out);
		check_text(good[i].text, buffer_text(&out), good[i].parts);
	}
}

static const struct {
	const char *text;
	size_t len;
	const char *says;
} bad[] = {
	{ TEXT(""), "scheme" },
	{ TEXT("example.com"), "scheme" },
	{ TEXT("//example.com"), "scheme" },
	{ TEXT("/x"), "scheme" },
	{ TEXT("://example.com"), "scheme" },
	{ TEXT("?http://example.com"), "scheme" },
	{ TEXT("file:///etc/passwd"), "'file'" },
	{ TEXT("gopher://a"), "'gopher'" },
	{ TEXT("javascript:alert(1)"), "'javascript'" },
	{ TEXT("httpx://a"), "'httpx'" },
	{ TEXT("http s://a"), "'http s'" },
	{ TEXT("httpѕ://a"), "scheme" },
	{ TEXT("http://"), "no host" },
	{ TEXT("http:"), "no host" },
	{ TEXT("http:///"), "no host" },
	{ TEXT("http://?a"), "no host" },
	{ TEXT("http://user@"), "no host" },
	{ TEXT("http://user@/x"), "no host" },
	{ TEXT("http://:80"), "no host" },
	/* Who is the host? Old programs end the user name elsewhere, or take the first "@". */
	{ TEXT("https://evil.test;@a.example.com/"), "different hosts" },
	{ TEXT("https://evil.test:80;@a.example.com:443/"), "different hosts" },
	{ TEXT("http://a@b@c"), "different hosts" },
	{ TEXT("http://a@evil.com:80@good.com/"), "different hosts" },
	{ TEXT("http://a[b@c"), "different hosts" },
	{ TEXT("http://[::1]@c"), "different hosts" },
	{ TEXT("http://evil.com @good.com/"), "different hosts" },
	{ TEXT("http://evil.com%20@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%00@good.com/"), "different hosts" },
	{ TEXT("http://evil.com\0@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%0d%0a@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%2f@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%5C@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%3f@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%23@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%3b@good.com/"), "different hosts" },
	{ TEXT("http://a%40evil.com@good.com/"), "different hosts" },
	{ TEXT("http://a%2540evil.com@good.com/"), "different hosts" },
	{ TEXT("http://a%@good.com/"), "different hosts" },
	{ TEXT("http://evil.com:80:x@good.com/"), "different hosts" },
	{ TEXT("http://evil.com%3a80@good.com/"), "different hosts" },
	{ TEXT("http://evil.com|@good.com/"), "different hosts" },
	{ TEXT("http://evil.com\"@good.com/"), "different hosts" },
	{ TEXT("http://evil.com；@good.com/"), "different hosts" },
	{ TEXT("http://a＠evil.com@good.com/"), "different hosts" },
	{ TEXT("http://a%EF%BC%A0evil.com@good.com/"), "different hosts" },
	{ TEXT("http://evil.com？@good.com/"), "different hosts" },
	{ TEXT("http://\xff@good.com/"), "different hosts" },
	{ TEXT("http://@c"), "different hosts" },
	{ TEXT("http://:@c"), "different hosts" },
	{ TEXT("http:///@c/"), "different hosts" },
	{ TEXT("https://a.com?b@c.com:80/d"), "different hosts" },
	{ TEXT("https://a.com#@c.com"), "different hosts" },
	{ TEXT("https://u@a.com?@c.com"), "different hosts" },
	{ TEXT("http://evil.com?@good.com"), "different hosts" },
	{ TEXT("http://evil.com:80?x#@good.com/"), "different hosts" },
	/* What IDNA would make an "@" of, or what cuts a URL. */
	{ TEXT("http://good.com＠evil.com"), "not a host name" },
	{ TEXT("http://good.com﹫evil.com"), "not a host name" },
	{ TEXT("http://good.com%EF%BC%A0evil.com"), "not a host name" },
	{ TEXT("http://evil.com；.good.com"), "not a host name" },
	{ TEXT("http://evil.com？.good.com"), "not a host name" },
	{ TEXT("http://evil.com＃.good.com"), "not a host name" },
	{ TEXT("http://evil.com＼.good.com"), "not a host name" },
	{ TEXT("http://evil.com℀.good.com"), "not a host name" },
	{ TEXT("http://evil.com;.good.com"), "not a host name" },
	{ TEXT("http://a b"), "not a host name" },
	{ TEXT("http://a%00b"), "not a host name" },
	{ TEXT("http://a\0b"), "not a host name" },
	{ TEXT("http://a%20b"), "not a host name" },
	{ TEXT("http://a%2fb"), "not a host name" },
	{ TEXT("http://a%40b"), "not a host name" },
	{ TEXT("http://a%3A80"), "not a host name" },
	{ TEXT("http://%2561"), "not a host name" },
	{ TEXT("http://a%"), "not a host name" },
	{ TEXT("http://a%zz"), "not a host name" },
	{ TEXT("http://％４１.com"), "not a host name" },
	{ TEXT("http://a／b.com"), "not a host name" },
	{ TEXT("http://a<b"), "not a host name" },
	{ TEXT("http://a|b"), "not a host name" },
	{ TEXT("http://a^b"), "not a host name" },
	{ TEXT("http://a..b"), "not a host name" },
	{ TEXT("http://.a"), "not a host name" },
	{ TEXT("http://a\xff.com"), "not a host name" },
	{ TEXT("http://*.com"), "not a host name" },
	{ TEXT("http://1.2.3.4.5"), "ends in a number" },
	{ TEXT("http://256.256.256.256"), "ends in a number" },
	{ TEXT("http://4294967296"), "ends in a number" },
	{ TEXT("http://foo.0x"), "ends in a number" },
	{ TEXT("http://08"), "ends in a number" },
	{ TEXT("http://[::1"), "not an IPv6 address" },
	{ TEXT("http://["), "not an IPv6 address" },
	{ TEXT("http://[]"), "not an IPv6 address" },
	{ TEXT("http://[::1]x"), "not an IPv6 address" },
	{ TEXT("http://[::1%25eth0]"), "not an IPv6 address" },
	{ TEXT("http://[::1%eth0]"), "not an IPv6 address" },
	{ TEXT("http://[127.0.0.1]"), "not an IPv6 address" },
	{ TEXT("http://[%3a%3a1]"), "not an IPv6 address" },
	{ TEXT("http://::1"), "no host" },
	{ TEXT("http://2001:db8::1"), "not a port" },
	{ TEXT("http://a:0"), "port 0" },
	{ TEXT("http://a:65536"), "65535" },
	{ TEXT("http://a:99999999999999999999"), "65535" },
	{ TEXT("http://a:-1"), "not a port" },
	{ TEXT("http://a:+443"), "not a port" },
	{ TEXT("http://a:443a"), "not a port" },
	{ TEXT("http://a: 443"), "not a port" },
	{ TEXT("http://a:0x50"), "not a port" },
	{ TEXT("http://a:４４３"), "not a port" },
	{ TEXT("http://a:%34"), "not a port" },
	{ TEXT("http://a:80:80"), "not a port" },
	{ TEXT("http://a/b//../c"), "contains a '..' that is hidden" },
	{ TEXT("http://a/v1/..%2fadmin"), "contains a '..' that is hidden" },
	{ TEXT("http://a/v1/x%2f..%2fadmin"), "contains a '..' that is hidden" },
	{ TEXT("http://a/v1/%2e%2e%5cadmin"), "contains a '..' that is hidden" },
	{ TEXT("http://a/v1/..;/admin"), "contains a '..' that is hidden" },
	{ TEXT("http://a/v1/..;x=y/admin"), "contains a '..' that is hidden" },
	{ TEXT("http://a/v1/.%2f"), "contains a '..' that is hidden" },
};

static void what_is_no_such_url_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct error e = { 0 };
		struct url u = { .port = 7 };
		int r = url_parse(&u, bad[i].text, bad[i].len, &e);

		if (r != -EINVAL || !strstr(e.text, bad[i].says))
			fail_msg("<%s>: %d, <%s>", bad[i].text, r, e.text);
		assert_int_equal(u.port, 7);
		assert_int_equal(url_parse(&u, bad[i].text, bad[i].len, NULL), -EINVAL);
	}
}

static int parse_long(const char *head, size_t n)
{
	char text[20000];
	size_t len = strlen(head);
	struct url u;

	assert_true(len + n <= sizeof(text));
	memcpy(text, head, len);
	memset(text + len, 'a', n);
	return url_parse(&u, text, len + n, NULL);
}

static void lengths_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(parse_long("http://a/", 1022), 0);
	assert_int_equal(parse_long("http://a/", 1023), -EINVAL);
	assert_int_equal(parse_long("http://a/%", 1022), -EINVAL);
	assert_int_equal(parse_long("http://a/%g", 1018), 0);
	assert_int_equal(parse_long("http://a/%g", 1019), -EINVAL);
	assert_int_equal(parse_long("http://a/?%", 1019), 0);
	assert_int_equal(parse_long("http://a/?", 15000), 0);
	assert_int_equal(parse_long("http://a.", 63), 0);
	assert_int_equal(parse_long("http://a.", 64), -EINVAL);
	assert_int_equal(parse_long("http://a.", 1500), -EINVAL);
	assert_int_equal(parse_long("http://u:", 9000), -EINVAL);
}

static const struct {
	const char *text, *normal; /* NULL: refused */
} patterns[] = {
	{ "/v1/**", "/v1/**" },
	{ "/%7euser/*.js", "/~user/*.js" },
	{ "/{a,b}/[0-9]", "/{a,b}/[0-9]" },
	{ "/caf\xc3\xa9/%c3%a9", "/caf%C3%A9/%C3%A9" },
	{ "/a b", "/a%20b" },
	{ "/a/", "/a/" },
	{ "", "" },
	{ "/[\xc3\xa9]", NULL },
	{ "/[a-z]/%20", NULL },
	{ "/a/../b", NULL },
	{ "/a/%2e%2e/b", NULL },
	{ "/a/.", NULL },
	{ "/a//b", NULL },
	{ "//", NULL },
};

static void path_patterns_are_normalized(void **state)
{
	char out[64];

	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++) {
		const char *text = patterns[i].text;
		int r = url_path_pattern(text, strlen(text), out, sizeof(out));

		check_code(text, r, patterns[i].normal ? 0 : -EINVAL);
		if (r == 0)
			check_text(text, out, patterns[i].normal);
	}
	assert_int_equal(url_path_pattern(TEXT("/1234567"), out, 8), -ENAMETOOLONG);
	assert_int_equal(url_path_pattern(TEXT("/1234567"), out, 9), 0);
}

static void schemes_have_ports(void **state)
{
	(void)state;
	assert_int_equal(url_scheme_port(TEXT("https")), 443);
	assert_int_equal(url_scheme_port(TEXT("WsS")), 443);
	assert_int_equal(url_scheme_port(TEXT("http")), 80);
	assert_int_equal(url_scheme_port(TEXT("htt")), 0);
	assert_int_equal(url_scheme_port(TEXT("udp")), 0);
	assert_int_equal(url_scheme_port(TEXT("")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_port_are_found),
		cmocka_unit_test(what_is_no_such_url_is_refused),
		cmocka_unit_test(lengths_are_bounded),
		cmocka_unit_test(path_patterns_are_normalized),
		cmocka_unit_test(schemes_have_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
