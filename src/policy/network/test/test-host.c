/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: reading, printing, matching, containing, meeting. Requests are in test-host-request.c.
 */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/network/host.h"

static struct host_pattern pattern(struct arena *a, const char *text)
{
	struct host_pattern p = { 0 };
	struct error e = { 0 };

	if (host_pattern_parse(&p, a, text, NULL, &e) < 0)
		fail_msg("<%s>: %s (%s)", text, e.text, e.hint);
	return p;
}

static struct host_request request(const char *text)
{
	struct host_request r;
	struct error e = { 0 };

	if (host_request_parse(&r, text, &e) < 0)
		fail_msg("<%s>: %s (%s)", text, e.text, e.hint);
	return r;
}

static const struct {
	const char *text, *canonical; /* NULL: the text itself */
} good[] = {
	{ "api.example.com:443", NULL },
	{ "example.com", "example.com:*" },
	{ "example.com:*", NULL },
	{ "example.com:1-65535", "example.com:*" },
	{ "example.com:1000-2000", NULL },
	{ "example.com:443-443", "example.com:443" },
	{ "example.com:1", NULL },
	{ "example.com:65535", NULL },
	{ "EXAMPLE.com.:443", "example.com:443" },
	{ "bücher.example:443", "xn--bcher-kva.example:443" },
	{ "example。com:443", "example.com:443" },
	{ "localhost:80", NULL },
	{ "LOCALHOST.", "localhost:*" },
	{ "my_host:80", NULL },
	{ "http:80", NULL },
	{ "udp:53", NULL },
	{ "*.example.com:443", NULL },
	{ "*.EXAMPLE.com.", "*.example.com:*" },
	{ "*.com", "*.com:*" },
	{ "*.localhost:80", NULL },
	{ "*", "*:*" },
	{ "*:443", NULL },
	{ "*:*", NULL },
	{ "10.1.2.3:80", NULL },
	{ "10.1.2.3", "10.1.2.3:*" },
	{ "10.1.2.3/32", "10.1.2.3:*" },
	{ "10.1.0.0/16:5432", NULL },
	{ "0.0.0.0/0", "0.0.0.0/0:*" },
	{ "[2001:db8::1]:80", NULL },
	{ "[2001:DB8::1]", "[2001:db8::1]:*" },
	{ "2001:db8::1", "[2001:db8::1]:*" },
	{ "2001:db8::/32", "[2001:db8::]/32:*" },
	{ "[2001:db8::]/32:443", NULL },
	{ "[2001:db8::]/32", "[2001:db8::]/32:*" },
	{ "::1", "[::1]:*" },
	{ "::", "[::]:*" },
	{ "::/0", "[::]/0:*" },
	{ "64:ff9b:1::/48", "[64:ff9b:1::]/48:*" },
	{ "udp://ntp.example.com:123", NULL },
	{ "UDP://*.example.com", "udp://*.example.com:*" },
	{ "udp://10.0.0.0/8:53", NULL },
	{ "udp://[2001:db8::]/32:53", NULL },
	{ "unix:/run/x.sock", NULL },
	{ "UNIX:/run/X.sock", "unix:/run/X.sock" },
	{ "unix:/", NULL },
	{ "https://api.example.com", "api.example.com:443" },
	{ "https://api.example.com/", "api.example.com:443" },
	{ "https://api.example.com/*", "api.example.com:443" },
	{ "https://api.example.com/**", "api.example.com:443" },
	{ "HTTP://api.example.com", "api.example.com:80" },
	{ "ws://api.example.com", "api.example.com:80" },
	{ "wss://api.example.com:8443", "api.example.com:8443" },
	{ "ftp://api.example.com", "api.example.com:21" },
	{ "https://api.example.com:*/", "api.example.com:*" },
	{ "https://api.example.com:1-5", "api.example.com:1-5" },
	{ "https://*.github.com/**", "*.github.com:443" },
	{ "https://*", "*:443" },
	{ "https://10.0.0.1/", "10.0.0.1:443" },
	{ "https://[2001:db8::1]:8443", "[2001:db8::1]:8443" },
	{ "https://api.example.com/v1/**", NULL },
	{ "https://api.example.com/v1/", "https://api.example.com/v1/**" },
	{ "wss://api.example.com:443/v1/**", "https://api.example.com/v1/**" },
	{ "http://api.example.com/v1", NULL },
	{ "ftp://api.example.com/pub/**", NULL },
	{ "https://api.example.com:8443/v1", "http://api.example.com:8443/v1" },
	{ "http://api.example.com:*/v1", NULL },
	{ "http://api.example.com:1-5/v1", NULL },
	{ "https://*.example.com/{a,b}/*.json", NULL },
	{ "https://*/v1/**", NULL },
	{ "https://example.com/%7Euser/*", "https://example.com/~user/*" },
	{ "https://example.com/caf\xc3\xa9", "https://example.com/caf%C3%A9" },
	{ "https://10.0.0.1/8/x", "https://10.0.0.1:443/8/x" },
	{ "https://10.0.0.1:443/8", NULL },
	{ "https://10.0.0.0/8:443/32", NULL },
	{ "https://10.0.0.0/8:443/x", NULL },
	{ "https://10.0.0.0/8:443/", "10.0.0.0/8:443" },
	{ "https://[2001:db8::]/32:443/x", NULL },
	{ "https://[2001:db8::1]/x", "https://[2001:db8::1]:443/x" },
	{ "https://[2001:db8::1]:8443/32", "http://[2001:db8::1]:8443/32" },
};

static void patterns_are_read_and_printed(void **state)
{
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		auto_buffer first = { 0 }, second = { 0 };
		const char *want = good[i].canonical ? good[i].canonical : good[i].text;
		struct host_pattern p = pattern(&a, good[i].text);

		host_pattern_print(&p, &first);
		check_text(good[i].text, buffer_text(&first), want);
		p = pattern(&a, buffer_text(&first));
		host_pattern_print(&p, &second);
		check_text(good[i].text, buffer_text(&second), want);
	}
}

static const struct {
	const char *text, *says, *hint;
} bad[] = {
	{ "", "a host was expected", "example.com:443" },
	{ ":443", "not a host name", "example.com:443" },
	{ "udp://", "a host was expected", "example.com:443" },
	{ "https://", "a host was expected", "example.com:443" },
	{ "https:///x", "a host was expected", "example.com:443" },
	/* Ports. */
	{ "example.com:", "a port is a number", "write example.com:443" },
	{ "example.com:0", "a port is a number", "write example.com:443" },
	{ "example.com:65536", "a port is a number", "write example.com:443" },
	{ "example.com:99999999999", "a port is a number", "write example.com:443" },
	{ "example.com:+443", "a port is a number", "write example.com:443" },
	{ "example.com:-443", "a port is a number", "write example.com:443" },
	{ "example.com:0443", "a port is a number", "write example.com:443" },
	{ "example.com:４４３", "a port is a number", "write example.com:443" },
	{ "example.com:https", "a port is a number", "write example.com:443" },
	{ "example.com: 443", "a port is a number", "write example.com:443" },
	{ "example.com:443 ", "a port is a number", "write example.com:443" },
	{ "example.com:2-1", "a port is a number", "write example.com:443" },
	{ "example.com:1-", "a port is a number", "write example.com:443" },
	{ "example.com:-", "a port is a number", "write example.com:443" },
	{ "example.com:1-2-3", "a port is a number", "write example.com:443" },
	{ "example.com:0-5", "a port is a number", "write example.com:443" },
	{ "example.com:1-99999", "a port is a number", "write example.com:443" },
	{ "example.com:**", "a port is a number", "write example.com:443" },
	{ "[::1]:0", "a port is a number", "write [::1]:443" },
	{ "https://example.com:/", "a port is a number", "write example.com:443" },
	/* Names. */
	{ "example.com:80:80", "neither an IPv6 address", "[2001:db8::1]:443" },
	{ "exa mple.com", "not a host name", "example.com:443" },
	{ "a..b", "not a host name", "example.com:443" },
	{ "a@b", "not a host name", "example.com:443" },
	{ "a%2eb", "not a host name", "example.com:443" },
	{ "☃.com", "not a host name", "example.com:443" },
	{ "xn--.com", "not a host name", "example.com:443" },
	{ ".example.com", "start with a dot", "write *.example.com" },
	{ "https://.example.com/x", "start with a dot", "write *.example.com" },
	{ "a*.example.com", "a star stands for whole labels", "*.example.com" },
	{ "a.*.example.com", "a star stands for whole labels", "*.example.com" },
	{ "*.*.example.com", "a star stands for whole labels", "*.example.com" },
	{ "**.example.com", "a star stands for whole labels", "*.example.com" },
	{ "*example.com", "a star stands for whole labels", "*.example.com" },
	{ "example.*", "a star stands for whole labels", "*.example.com" },
	{ "*.", "not a host name", "example.com:443" },
	/* Addresses. */
	{ "0x7f.1", "this name is interpreted as an address by some programs", "write 127.0.0.1" },
	{ "0x7f.1:443", "this name is interpreted as an address by some programs",
		"write 127.0.0.1" },
	{ "127.1", "this name is interpreted as an address by some programs", "write 127.0.0.1" },
	{ "0", "this name is interpreted as an address by some programs", "write 0.0.0.0" },
	{ "2130706433:80", "this name is interpreted as an address by some programs",
		"write 127.0.0.1" },
	{ "00000177.1", "this name is interpreted as an address by some programs",
		"write 127.0.0.1" },
	{ "1.2.3.4.", "this name is interpreted as an address by some programs", "write 1.2.3.4" },
	{ "１.2.3.4", "this name is interpreted as an address by some programs", "write 1.2.3.4" },
	{ "*.1", "this name is interpreted as an address by some programs", "write 0.0.0.1" },
	{ "https://0x7f.1/", "this name is interpreted as an address by some programs",
		"write 127.0.0.1" },
	{ "1.2.3.4.5", "ends in a number", "192.0.2.1" },
	{ "256.1.1.1", "ends in a number", "192.0.2.1" },
	{ "*.example.5", "ends in a number", "192.0.2.1" },
	{ "10.1.2.3/16", "the address has bits set beyond the prefix", "write 10.1.0.0/16" },
	{ "10.1.2.3/16:443", "the address has bits set beyond the prefix", "write 10.1.0.0/16" },
	{ "2001:db8::1/32", "the address has bits set beyond the prefix", "write 2001:db8::/32" },
	{ "[2001:db8::1]/32:443", "the address has bits set beyond the prefix",
		"write 2001:db8::/32" },
	{ "10.0.0.0/33", "the length of a prefix", "10.0.0.0/8" },
	{ "10.0.0.0/", "the length of a prefix", "10.0.0.0/8" },
	{ "10.0.0.0/08", "the length of a prefix", "10.0.0.0/8" },
	{ "::/129", "the length of a prefix", "10.0.0.0/8" },
	{ "[::]/", "the length of a prefix", "10.0.0.0/8" },
	{ "example.com/path", "only a URL has a path", "write https://example.com/path" },
	{ "10/8", "only a URL has a path", "write https://10/8" },
	{ "::1%eth0", "a zone has no meaning", "%" },
	{ "[fe80::1%25eth0]:80", "a zone has no meaning", "%" },
	{ "2001:db8::1:443:x", "neither an IPv6 address", "[2001:db8::1]:443" },
	{ "2001:db8:443", "neither an IPv6 address", "[2001:db8::1]:443" },
	{ "[example.com]:443", "neither an IPv6 address", "[2001:db8::1]:443" },
	{ "[]", "neither an IPv6 address", "[2001:db8::1]:443" },
	{ "[::1", "brackets hold an IPv6 address", "[2001:db8::1]:443" },
	{ "[::1]443", "brackets hold an IPv6 address", "[2001:db8::1]:443" },
	{ "[1.2.3.4]:80", "brackets are for IPv6", "remove them" },
	{ "[*]:80", "brackets are for IPv6", "remove them" },
	{ "[*.example.com]:80", "brackets are for IPv6", "remove them" },
	{ "::ffff:10.0.0.1", "IPv4 in the form of IPv6", "write 10.0.0.1" },
	{ "::ffff:10.0.0.0/104", "IPv4 in the form of IPv6", "write 10.0.0.0/8" },
	{ "[64:ff9b::1.2.3.4]:80", "IPv4 in the form of IPv6", "write 1.2.3.4" },
	{ "2002:a00:1::/48", "IPv4 in the form of IPv6", "write 10.0.0.1" },
	{ "::127.0.0.1", "IPv4 in the form of IPv6", "write 127.0.0.1" },
	/* Schemes and URLs. */
	{ "tcp://example.com:80", "scheme is not supported", "host:port" },
	{ "gopher://example.com", "scheme is not supported", "host:port" },
	{ "://example.com", "scheme is not supported", "host:port" },
	{ "https://user@example.com/", "a user name or password", "up to the @" },
	{ "https://user:secret@example.com/", "a user name or password", "up to the @" },
	{ "https://evil.test;@example.com/", "a user name or password", "up to the @" },
	{ "https://a@b@example.com/", "a user name or password", "up to the @" },
	{ "https://@example.com/", "a user name or password", "up to the @" },
	{ "https://a%40example.com/", "not a host name", "example.com:443" },
	{ "https://a＠example.com/", "not a host name", "example.com:443" },
	{ "udp://a@example.com:53", "not a host name", "example.com:443" },
	{ "https://example.com/?q=1", "a query", "remove" },
	{ "https://example.com/#x", "a query", "remove" },
	{ "https://example.com\\x", "no backslash", "a slash" },
	{ "https://example.com/a/../b", "cannot contain '.', '..'",
		"write the path without . and .." },
	{ "https://example.com/%2e%2e/b", "cannot contain '.', '..'",
		"write the path without . and .." },
	{ "https://example.com/a//b", "cannot contain '.', '..'",
		"write the path without . and .." },
	{ "https://example.com/[\xc3\xa9]",
		"a path cannot contain '.', '..' or empty parts, nor a %-escape next to a [set]",
		"the path" },
	{ "https://example.com/[a", "[", "" },
	{ "https://10.0.0.0/8", "a path or the length", "write 10.0.0.0/8:443" },
	{ "http://[2001:db8::]/32", "a path or the length", "write [2001:db8::]/32:80" },
	{ "https://::1/", "an IPv6 address in a URL must be in brackets",
		"https://[2001:db8::1]/" },
	{ "https://2001:db8::1/x", "an IPv6 address in a URL must be in brackets",
		"https://[2001:db8::1]/" },
	/* Sockets. */
	{ "unix:", "absolute path", "unix:/run/name.sock" },
	{ "unix", "`unix:` introduces a socket path, such as unix:/path", "full name" },
	{ "http://UNIX./", "`unix:` introduces a socket path, such as unix:/path", "full name" },
	{ "unix:443", "absolute path", "unix:/run/name.sock" },
	{ "unix:*", "exact path", "without *" },
	{ "unix:run/x.sock", "absolute path", "unix:/run/name.sock" },
	{ "unix:@abstract", "absolute path", "unix:/run/name.sock" },
	{ "unix:///run/x.sock", "simplest form", "write unix:/run/x.sock" },
	{ "unix:/run/../x.sock", "simplest form", "write unix:/x.sock" },
	{ "unix:/run/x/", "simplest form", "write unix:/run/x" },
	{ "unix:/run/*.sock", "exact path", "without *" },
};

static void what_could_be_a_mistake_is_refused(void **state)
{
	const struct location where = { "policy.yaml", 3, 7 };
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct host_pattern p = { .port_lo = 7 };
		struct error e = { 0 };
		int r = host_pattern_parse(&p, &a, bad[i].text, &where, &e);

		if (r != -EINVAL || !strstr(e.text, bad[i].says) || !strstr(e.hint, bad[i].hint))
			fail_msg("<%s>: %d <%s> (%s)", bad[i].text, r, e.text, e.hint);
		assert_int_equal(p.port_lo, 7);
		assert_int_equal(e.line, 3);
		assert_int_equal(host_pattern_parse(&p, &a, bad[i].text, NULL, NULL), -EINVAL);
	}
}

static void patterns_are_bounded(void **state)
{
	char text[6000], url[2000] = "https://example.com/";
	auto_arena a = { 0 };
	struct host_pattern p;
	struct error e = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(host_pattern_parse(&p, &a, text, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "longer than"));
	text[4100] = '\0';
	assert_int_equal(host_pattern_parse(&p, &a, text, NULL, &e), -EINVAL);
	memset(text, '/', 4100);
	assert_int_equal(host_pattern_parse(&p, &a, text, NULL, &e), -EINVAL);
	memset(text, '1', 4100);
	text[1] = ':';
	text[2] = ':';
	assert_int_equal(host_pattern_parse(&p, &a, text, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "not an address"));
	memset(url + strlen(url), 'a', 1500);
	assert_int_equal(host_pattern_parse(&p, &a, url, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "too long"));
}

static const struct {
	const char *pattern, *request;
	bool matches;
} matches[] = {
	/* Names are equal or they are not. */
	{ "example.com:443", "example.com:443", true },
	{ "example.com:443", "EXAMPLE.COM.:443", true },
	{ "example.com:443", "https://example.com/", true },
	{ "example.com:443", "evilexample.com:443", false },
	{ "example.com:443", "example.com.evil.com:443", false },
	{ "example.com:443", "www.example.com:443", false },
	{ "example.com:443", "com:443", false },
	{ "example.com:443", "https://example.com@evil.com/", false },
	{ "example.com:443", "https://evil.com/#@example.com/", false },
	{ "example.com:443", "https://ex%61mple。com/", true },
	{ "xn--bcher-kva.de", "bücher.de", true },
	/* Subdomains, with the dot. */
	{ "*.example.com:443", "a.example.com:443", true },
	{ "*.example.com:443", "a.b.example.com:443", true },
	{ "*.example.com:443", "example.com:443", false },
	{ "*.example.com:443", "evilexample.com:443", false },
	{ "*.example.com:443", "a.example.com.evil.com:443", false },
	{ "*.com", "example.com:1", true },
	/* Ports. */
	{ "example.com:443", "example.com:80", false },
	{ "example.com:443", "example.com", false },
	{ "example.com:1-65534", "example.com", false },
	{ "example.com:2-65535", "example.com", false },
	{ "example.com:*", "example.com", true },
	{ "example.com", "example.com:65535", true },
	{ "example.com:80-443", "example.com:80", true },
	{ "example.com:80-443", "example.com:443", true },
	{ "example.com:80-443", "example.com:444", false },
	{ "https://example.com", "http://example.com", false },
	{ "https://example.com", "http://example.com:443", true },
	/* Transports. */
	{ "example.com:53", "udp://example.com:53", false },
	{ "udp://example.com:53", "udp://example.com:53", true },
	{ "udp://example.com:53", "example.com:53", false },
	{ "udp://*", "udp://example.com:53", true },
	{ "unix:/run/x.sock", "unix:/run/x.sock", true },
	{ "unix:/run/x.sock", "unix:/run/y.sock", false },
	{ "unix:/run/x", "unix:/run/x/y", false },
	{ "*", "unix:/run/x.sock", false },
	{ "unix:/run/x.sock", "x:80", false },
	/* Addresses. */
	{ "8.8.8.0/24:53", "8.8.8.8:53", true },
	{ "8.8.8.0/24:53", "8.8.9.8:53", false },
	{ "8.8.8.8", "134744072", true },
	{ "8.8.8.8", "[::ffff:8.8.8.8]:53", true },
	{ "8.8.8.8", "[2002:808:808::1]:53", true },
	{ "[2001:4860::]/32:443", "[2001:4860::8888]:443", true },
	{ "[2001:4860::]/32:443", "8.8.8.8:443", false },
	{ "8.8.8.8", "dns.google:53", false },
	{ "dns.google", "8.8.8.8:53", false },
	/* Any name, and public addresses. */
	{ "*:443", "example.com:443", true },
	{ "*:443", "com:443", true },
	{ "*:443", "8.8.8.8:443", true },
	{ "*:443", "[2606:4700::1]:443", true },
	{ "*:443", "example.com:80", false },
	{ "*", "127.0.0.1:80", false },
	{ "*", "127.1:80", false },
	{ "*", "0:80", false },
	{ "*", "[::]:80", false },
	{ "*", "[::1]:80", false },
	{ "*", "[::127.0.0.1]:80", false },
	{ "*", "[::ffff:10.0.0.1]:80", false },
	{ "*", "[64:ff9b::10.0.0.1]:80", false },
	{ "*", "[64:ff9b:1:a00:0:100:808:808]:80", false },
	{ "*", "[2002:a00:1::]:80", false },
	{ "*", "http://2852039166/", false },
	{ "*", "10.0.0.1:80", false },
	{ "*", "172.31.0.1:80", false },
	{ "*", "172.32.0.1:80", true },
	{ "*", "192.168.1.1:80", false },
	{ "*", "169.254.169.254:80", false },
	{ "*", "100.64.0.1:80", false },
	{ "*", "224.0.0.1:80", false },
	{ "*", "255.255.255.255:80", false },
	{ "*", "[fd00::1]:80", false },
	{ "*", "[fe80::1]:80", false },
	{ "*", "localhost:80", false },
	{ "*", "localhost.:80", false },
	{ "*", "x.localhost:80", false },
	{ "*", "printer.local:80", false },
	{ "*", "local:80", false },
	{ "*", "notlocal:80", true },
	{ "*", "host.docker.internal:80", false },
	{ "*", "metadata.google.internal:80", false },
	{ "*", "router.home.arpa:80", false },
	/* Guards are passed by patterns within them, and by no others. */
	{ "0.0.0.0/0", "8.8.8.8:80", true },
	{ "0.0.0.0/0", "10.0.0.1:80", false },
	{ "8.0.0.0/6", "10.0.0.1:80", false },
	{ "10.0.0.0/8", "10.0.0.1:80", true },
	{ "10.1.0.0/16", "10.1.0.1:80", true },
	{ "10.0.0.1", "10.0.0.1:80", true },
	{ "192.0.0.0/8", "192.168.0.1:80", false },
	{ "192.0.0.0/8", "192.1.0.1:80", true },
	{ "192.168.0.0/16", "192.168.0.1:80", true },
	{ "127.0.0.0/8", "127.0.0.1:80", true },
	{ "::/0", "[2606:4700::1]:80", true },
	{ "::/0", "[::1]:80", false },
	{ "::/0", "[fd00::1]:80", false },
	{ "fd00::/8", "[fd00::1]:80", true },
	{ "fc00::/6", "[fd00::1]:80", false },
	{ "::/0", "10.0.0.1:80", false },
	{ "0.0.0.0/0", "[::ffff:10.0.0.1]:80", false },
	{ "*.internal", "x.internal:80", true },
	{ "*.x.internal", "y.x.internal:80", true },
	{ "x.internal", "x.internal:80", true },
	{ "*.arpa", "router.home.arpa:80", false },
	{ "*.arpa", "1.in-addr.arpa:80", true },
	{ "*.home.arpa", "router.home.arpa:80", true },
	{ "*.local", "printer.local:80", true },
	/* localhost. */
	{ "localhost:80", "localhost:80", true },
	{ "localhost:80", "LOCALHOST.:80", true },
	{ "localhost:80", "127.0.0.1:80", true },
	{ "localhost:80", "0x7f000001:80", true },
	{ "localhost:80", "[::1]:80", true },
	{ "localhost:80", "[::ffff:127.0.0.1]:80", true },
	{ "localhost:80", "127.0.0.2:80", false },
	{ "localhost:80", "[::]:80", false },
	{ "localhost:80", "0.0.0.0:80", false },
	{ "localhost:80", "x.localhost:80", false },
	{ "localhost:80", "localhost:81", false },
	{ "*.localhost:80", "x.localhost:80", true },
	{ "*.localhost:80", "localhost:80", false },
	{ "*.localhost:80", "127.0.0.1:80", false },
	{ "127.0.0.1:80", "localhost:80", false },
	/* URL paths, where they can be seen. */
	{ "https://a.com/v1/**", "https://a.com/v1/x", true },
	{ "https://a.com/v1/**", "https://a.com/v1", true },
	{ "https://a.com/v1/**", "https://a.com/v2/x", false },
	{ "https://a.com/v1/**", "https://a.com/v1/../v2/x", false },
	{ "https://a.com/v1/**", "https://a.com/v1/%2e%2e/v2/x", false },
	{ "https://a.com/v1/**", "https://a.com/%76%31/x", true },
	{ "https://a.com/v1/**", "https://a.com/v1x", false },
	{ "https://a.com/v1/**", "a.com:443", false },
	{ "https://a.com/v1/**", "http://a.com/v1/x", false },
	{ "https://a.com/*.json", "https://a.com/x.json?a=/b", true },
	{ "https://a.com/*.json", "https://a.com/x/y.json", false },
	{ "https://a.com/**", "a.com:443", true },
	{ "https://a.com/", "https://a.com/x/y", true },
};

static void patterns_match(void **state)
{
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(matches); i++) {
		struct host_pattern p = pattern(&a, matches[i].pattern);
		struct host_request r = request(matches[i].request);

		check_yes(matches[i].pattern, matches[i].request, host_pattern_matches(&p, &r),
			matches[i].matches);
	}
}

static void methods_narrow(void **state)
{
	auto_arena a = { 0 };
	struct host_pattern p = pattern(&a, "a.com:443");
	struct host_request r = request("https://a.com/x");

	(void)state;
	assert_int_equal(host_method("get"), 0);
	assert_int_equal(host_method("GETS"), 0);
	assert_int_equal(host_method(""), 0);
	assert_int_not_equal(host_method("GET"), host_method("POST"));
	p.methods = host_method("GET") | host_method("HEAD");
	assert_false(host_pattern_matches(&p, &r));
	r.method = host_method("HEAD");
	assert_true(host_pattern_matches(&p, &r));
	r.method = host_method("PATCH");
	assert_false(host_pattern_matches(&p, &r));
	p.methods = 0;
	assert_true(host_pattern_matches(&p, &r));
}

/* What two patterns share ("" for nothing), and which of them contains the other. */
static const struct {
	const char *a, *b, *meet;
	bool a_contains_b, b_contains_a;
} meets[] = {
	{ "a.com:443", "a.com:443", "a.com:443", true, true },
	{ "a.com:443", "b.com:443", "", false, false },
	{ "a.com:443", "a.com:80", "", false, false },
	{ "a.com", "a.com:80", "a.com:80", true, false },
	{ "a.com:1-100", "a.com:50-200", "a.com:50-100", false, false },
	{ "a.com", "udp://a.com", "", false, false },
	{ "*.a.com", "x.a.com:443", "x.a.com:443", true, false },
	{ "*.a.com", "a.com", "", false, false },
	{ "*.a.com", "*.x.a.com:443", "*.x.a.com:443", true, false },
	{ "*.a.com", "*.a.com", "*.a.com:*", true, true },
	{ "*.a.com", "*.xa.com", "", false, false },
	{ "*.a.com", "1.2.3.4", "", false, false },
	{ "*:443", "*.a.com", "*.a.com:443", false, false },
	{ "*", "*:443", "*:443", true, false },
	{ "*", "a.com", "a.com:*", true, false },
	{ "*", "unix:/x", "", false, false },
	{ "unix:/x", "unix:/x", "unix:/x", true, true },
	{ "unix:/x", "unix:/y", "", false, false },
	{ "8.0.0.0/8", "8.8.0.0/16:53", "8.8.0.0/16:53", true, false },
	{ "8.0.0.0/8", "9.0.0.0/8", "", false, false },
	{ "8.0.0.0/8", "2001:db8::/32", "", false, false },
	{ "*", "8.8.8.8", "8.8.8.8:*", true, false },
	/* Guarded. */
	{ "*", "10.0.0.0/8", "", false, false },
	{ "*", "10.0.0.1", "", false, false },
	{ "*", "0.0.0.0/0", "0.0.0.0/0:*", true, false },
	{ "*", "::/0", "[::]/0:*", true, false },
	{ "*", "localhost", "", false, false },
	{ "*", "*.internal", "", false, false },
	{ "*", "x.internal", "", false, false },
	{ "0.0.0.0/0", "10.0.0.0/8", "", false, false },
	{ "0.0.0.0/0", "8.0.0.0/6", "8.0.0.0/6:*", true, false },
	{ "8.0.0.0/6", "10.0.0.0/8", "", false, false },
	{ "10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16:*", true, false },
	{ "10.0.0.0/8", "10.0.0.1", "10.0.0.1:*", true, false },
	{ "::/0", "fd00::/8", "", false, false },
	{ "fc00::/7", "fd00::/8", "[fd00::]/8:*", true, false },
	{ "::/0", "::1", "", false, false },
	{ "*.arpa", "*.home.arpa", "", false, false },
	{ "*.arpa", "x.home.arpa", "", false, false },
	{ "*.home.arpa", "x.home.arpa", "x.home.arpa:*", true, false },
	/* localhost. */
	{ "localhost", "localhost:80", "localhost:80", true, false },
	{ "localhost:80", "127.0.0.1", "127.0.0.1:80", false, false },
	{ "localhost", "127.0.0.1:80", "127.0.0.1:80", true, false },
	{ "localhost", "127.0.0.0/8", "127.0.0.1:*", false, false },
	{ "localhost", "::1", "[::1]:*", true, false },
	{ "localhost", "127.0.0.2", "", false, false },
	{ "localhost", "::/0", "", false, false },
	{ "localhost", "*.localhost", "", false, false },
	{ "localhost", "0.0.0.0/0", "", false, false },
	/* Paths. */
	{ "https://a.com/v1/**", "a.com", "https://a.com/v1/**", false, true },
	{ "https://a.com/v1/**", "https://a.com/v1/**", "https://a.com/v1/**", true, true },
	{ "https://a.com/v1/**", "https://*.com/**/x", "https://a.com/v1/** & https://a.com/**/x",
		false, false },
	{ "https://a.com/v1/**", "https://a.com/v1/x", "https://a.com/v1/** & https://a.com/v1/x",
		true, false },
	{ "https://*/v1", "10.0.0.0/8", "", false, false },
	{ "https://*/v1", "8.0.0.0/8", "https://8.0.0.0/8:443/v1", false, false },
};

static void print(const struct host_pattern *p, int n, struct buffer *out)
{
	for (int i = 0; i < n; i++)
		host_pattern_print(&p[i], out);
}

static void patterns_meet(void **state)
{
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(meets); i++) {
		struct host_pattern x = pattern(&a, meets[i].a), y = pattern(&a, meets[i].b),
				    both[2];
		auto_buffer one = { 0 };
		int n = host_pattern_meet(&x, &y, &a, both);

		print(both, n, &one);
		check_text(meets[i].a, buffer_text(&one), meets[i].meet);
		/* The other way round it is the same, but for the order of paths. */
		check_code(meets[i].b, host_pattern_meet(&y, &x, &a, both), n);
		if (n > 0)
			check_yes(
				meets[i].a, meets[i].b, host_pattern_contains(&x, &both[0]), true);
		check_yes(meets[i].a, meets[i].b, host_pattern_contains(&x, &y),
			meets[i].a_contains_b);
		check_yes(meets[i].b, meets[i].a, host_pattern_contains(&y, &x),
			meets[i].b_contains_a);
	}
}

static void methods_meet(void **state)
{
	auto_arena a = { 0 };
	struct host_pattern x = pattern(&a, "a.com:443"), y = x, both[2];

	(void)state;
	x.methods = host_method("GET") | host_method("PUT");
	assert_int_equal(host_pattern_meet(&x, &y, &a, both), 1);
	assert_int_equal(both[0].methods, x.methods);
	assert_true(host_pattern_contains(&y, &x));
	assert_false(host_pattern_contains(&x, &y));
	y.methods = host_method("PUT") | host_method("POST");
	assert_int_equal(host_pattern_meet(&x, &y, &a, both), 1);
	assert_int_equal(both[0].methods, host_method("PUT"));
	assert_false(host_pattern_contains(&x, &y));
	y.methods = host_method("PUT");
	assert_true(host_pattern_contains(&x, &y));
	y.methods = host_method("POST");
	assert_int_equal(host_pattern_meet(&x, &y, &a, both), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_read_and_printed),
		cmocka_unit_test(what_could_be_a_mistake_is_refused),
		cmocka_unit_test(patterns_are_bounded),
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(methods_narrow),
		cmocka_unit_test(patterns_meet),
		cmocka_unit_test(methods_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
