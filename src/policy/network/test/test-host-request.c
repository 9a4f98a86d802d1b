/* SPDX-License-Identifier: Apache-2.0 */
/* Targets as a hostile program would spell them, and what they mean. */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/network/host.h"

static const struct {
	const char *target, *normal, *url_path; /* url_path NULL: a bare connection */
} good[] = {
	{ "example.com:443", "example.com:443", NULL },
	{ "example.com", "example.com", NULL },
	{ "EXAMPLE.com.:443", "example.com:443", NULL },
	{ "example。com:443", "example.com:443", NULL },
	{ "example．com｡:443", "example.com:443", NULL },
	{ "exa\xc2\xadmple.com:443", "example.com:443", NULL },
	{ "ｅxample.com:443", "example.com:443", NULL },
	{ "bücher.de:443", "xn--bcher-kva.de:443", NULL },
	{ "localhost.", "localhost", NULL },
	{ "LOCALHOST:80", "localhost:80", NULL },
	{ "a.localhost:80", "a.localhost:80", NULL },
	{ "_sip._tcp.example.com:5060", "_sip._tcp.example.com:5060", NULL },
	{ "udp:53", "udp:53", NULL },
	{ "example.com:1", "example.com:1", NULL },
	{ "example.com:65535", "example.com:65535", NULL },
	/* Addresses in disguise. */
	{ "127.0.0.1:80", "127.0.0.1:80", NULL },
	{ "127.1:80", "127.0.0.1:80", NULL },
	{ "0:80", "0.0.0.0:80", NULL },
	{ "0x7f.1", "127.0.0.1", NULL },
	{ "00000177.1:80", "127.0.0.1:80", NULL },
	{ "2130706433:80", "127.0.0.1:80", NULL },
	{ "1.2.3.4.:80", "1.2.3.4:80", NULL },
	{ "１２７．１:80", "127.0.0.1:80", NULL },
	{ "127。0。0。1:80", "127.0.0.1:80", NULL },
	{ "[::1]:80", "[::1]:80", NULL },
	{ "[::1]", "[::1]", NULL },
	{ "::1", "[::1]", NULL },
	{ "[::127.0.0.1]:80", "127.0.0.1:80", NULL },
	{ "[::ffff:169.254.169.254]:80", "169.254.169.254:80", NULL },
	{ "::ffff:7f00:1", "127.0.0.1", NULL },
	{ "[64:ff9b::a9fe:a9fe]:80", "169.254.169.254:80", NULL },
	{ "[2002:a9fe:a9fe::]:80", "169.254.169.254:80", NULL },
	{ "[2001:DB8:0:0::1]:80", "[2001:db8::1]:80", NULL },
	/* Other transports. */
	{ "udp://ntp.example.com:123", "udp://ntp.example.com:123", NULL },
	{ "UDP://127.1:53", "udp://127.0.0.1:53", NULL },
	{ "udp://[::1]:53", "udp://[::1]:53", NULL },
	{ "udp://example.com", "udp://example.com", NULL },
	{ "unix:/run/x.sock", "unix:/run/x.sock", NULL },
	{ "UNIX:/run/x\ty", "unix:/run/x\ty", NULL },
	/* URLs. */
	{ "https://example.com", "example.com:443", "/" },
	{ "HTTP://EXAMPLE.com./a/../b?c#d", "example.com:80", "/b" },
	{ "ws://example.com:8080/x", "example.com:8080", "/x" },
	{ "http:\\\\evil.com/x", "evil.com:80", "/x" },
	{ "http:/evil.com", "evil.com:80", "/" },
	{ "https://good.com@evil.com/", "evil.com:443", "/" },
	{ "https://user:p~w@evil.com/", "evil.com:443", "/" },
	{ "https://0x7f.1/", "127.0.0.1:443", "/" },
	{ "https://[::ffff:10.0.0.1]/", "10.0.0.1:443", "/" },
	{ "https://[2001:db8::1]/", "[2001:db8::1]:443", "/" },
	{ "https://example.com/a b", "example.com:443", "/a%20b" },
};

static void targets_are_read_as_what_they_reach(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		const char *target = good[i].target;
		auto_buffer out = { 0 };
		struct error e = { 0 };
		struct host_request r;

		if (host_request_parse(&r, target, &e) < 0)
			fail_msg("<%s>: %s (%s)", target, e.text, e.hint);
		host_request_print(&r, &out);
		check_text(target, buffer_text(&out), good[i].normal);
		check_yes(target, "has a path", r.has_url_path, good[i].url_path != NULL);
		check_text(target, r.url_path, good[i].url_path ? good[i].url_path : "");
		check_yes(target, "a name or an address", r.name[0] != '\0',
			!r.is_address && r.transport != TRANSPORT_UNIX);
	}
}

static const struct {
	const char *target, *says;
} bad[] = {
	{ "", "a host was expected" },
	{ "udp://", "a host was expected" },
	{ ":443", "not a host name" },
	{ ".", "not a host name" },
	{ "a..b:443", "not a host name" },
	{ "example.com..:443", "not a host name" },
	{ "a b:443", "not a host name" },
	{ " example.com:443", "not a host name" },
	{ "*:443", "not a host name" },
	{ "*.example.com:443", "not a host name" },
	{ "a@b:443", "not a host name" },
	{ "user:pw@b", "not a port" },
	{ "exa%6dple.com:443", "not a host name" },
	{ "example.com%00.evil.com:443", "not a host name" },
	{ "example.com%2eevil.com", "not a host name" },
	{ "//evil.com", "not a host name" },
	{ "example.com/path", "not a host name" },
	{ "example.com/path:80", "not a host name" },
	{ "10.0.0.0/8:80", "not a host name" },
	{ "a,b:80", "not a host name" },
	{ "☃.com:80", "not a host name" },
	{ "a\xff.com", "not a host name" },
	{ "1.2.3.4.5:80", "ends in a number" },
	{ "256.0.0.1:80", "ends in a number" },
	{ "a.1:80", "ends in a number" },
	{ "example.com:", "not a port" },
	{ "example.com:0", "not a port" },
	{ "example.com:65536", "not a port" },
	{ "example.com:+443", "not a port" },
	{ "example.com:0443", "not a port" },
	{ "example.com:443 ", "not a port" },
	{ "example.com:４４３", "not a port" },
	{ "example.com:*", "not a port" },
	{ "example.com:1-5", "not a port" },
	{ "[::1]:0", "not a port" },
	{ "::1:443:x", "not an IPv6 address" },
	{ "[::1%eth0]:80", "not an IPv6 address" },
	{ "fe80::1%eth0", "not an IPv6 address" },
	{ "[127.0.0.1]:80", "not an IPv6 address" },
	{ "[example.com]:80", "not an IPv6 address" },
	{ "a:b:80", "not an IPv6 address" },
	{ "[::1", "brackets hold" },
	{ "[::1]80", "brackets hold" },
	{ "[::]/0:80", "brackets hold" },
	{ "exa\nmple.com", "control characters" },
	{ "http://exa\tmple.com", "control characters" },
	{ "example.com\x7f", "control characters" },
	{ "http:443", "URL or a host" },
	{ "https:example.com", "URL or a host" },
	{ "ftp:21", "URL or a host" },
	{ "ws:", "URL or a host" },
	{ "file:///etc/passwd", "scheme is not supported" },
	{ "tcp://example.com:80", "scheme is not supported" },
	{ "gopher:\\\\a", "scheme is not supported" },
	{ " http://example.com", "scheme is not supported" },
	{ "https://", "no host" },
	{ "https://evil.com\\.good.com/", "backslash" },
	{ "http://good.com\\@evil.com/", "backslash" },
	{ "https://evil.test;@a.example.com/", "different hosts" },
	{ "https://good.com%2f@evil.com/", "different hosts" },
	{ "https://a@good.com@evil.com/", "different hosts" },
	{ "https://good.com?@evil.com/", "different hosts" },
	{ "https://us\ter@evil.com/", "control characters" },
	{ "user@evil.com:443", "not a host name" },
	{ "udp://user@evil.com:53", "not a host name" },
	{ "http:\\\\evil.com\\x", "backslash" },
	{ "https://a:0/", "port 0" },
	{ "https://a/..%2fx", "contains a '..' that is hidden" },
	{ "unix:", "absolute path" },
	{ "unix:x", "absolute path" },
	{ "unix:@x", "absolute path" },
	{ "unix:///x", "simplest form" },
	{ "unix:/a/../b", "simplest form" },
	{ "unix:/a/", "simplest form" },
};

static void what_can_be_read_in_two_ways_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct host_request r = { .port = 7 };
		struct error e = { 0 };
		int err = host_request_parse(&r, bad[i].target, &e);

		if (err != -EINVAL || !strstr(e.text, bad[i].says))
			fail_msg("<%s>: %d <%s> (%s)", bad[i].target, err, e.text, e.hint);
		assert_int_equal(r.port, 7);
		assert_int_equal(host_request_parse(&r, bad[i].target, NULL), -EINVAL);
	}
}

static void targets_are_bounded(void **state)
{
	static char text[20000];
	struct host_request r;
	struct error e = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(host_request_parse(&r, text, &e), -EINVAL);
	assert_non_null(strstr(e.text, "longer than"));
	text[16000] = '\0';
	assert_int_equal(host_request_parse(&r, text, &e), -EINVAL);
	assert_non_null(strstr(e.text, "not a host name"));
	memcpy(text, "unix:/", 6);
	assert_int_equal(host_request_parse(&r, text, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_read_as_what_they_reach),
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(targets_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
