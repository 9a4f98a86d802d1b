/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "net/dns/lookup.h"

static const char missing[] = "/nonexistent/file";

static void write_file(char *path, const char *text, size_t len)
{
	auto_fd fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
}

static int read_resolv(struct lookup_config *ret, const char *text, size_t len)
{
	char path[] = "/tmp/test-lookup-config.XXXXXX";
	int r;

	write_file(path, text, len);
	r = lookup_config_read(ret, path, missing);
	assert_int_equal(unlink(path), 0);
	return r;
}

static const struct {
	const char *text;
	const char *servers; /* with spaces between */
	unsigned timeout_ms, attempts;
} cases[] = {
	{ "", "127.0.0.1", 2000, 2 },
	{ "nameserver 192.0.2.1", "192.0.2.1", 2000, 2 },
	{ "nameserver 192.0.2.1\n", "192.0.2.1", 2000, 2 },
	{ "nameserver\t192.0.2.1 # ours\r\n", "192.0.2.1", 2000, 2 },
	{ "  nameserver   2001:db8::1\n", "2001:db8::1", 2000, 2 },
	{ "nameserver 1.1.1.1\nnameserver 2.2.2.2\nnameserver 3.3.3.3\nnameserver 4.4.4.4\n",
		"1.1.1.1 2.2.2.2 3.3.3.3", 2000, 2 },
	{ "nameserver 1.1.1.1 2.2.2.2\n", "1.1.1.1", 2000, 2 },
	{ "# nameserver 1.1.1.1\n;nameserver 2.2.2.2\n#nameserver 3.3.3.3\n", "127.0.0.1", 2000,
		2 },
	{ "nameserver\nnameserver x\nnameserver 1.2.3\nnameserver 1.2.3.4.5\n", "127.0.0.1", 2000,
		2 },
	{ "nameservers 1.1.1.1\nname 2.2.2.2\n", "127.0.0.1", 2000, 2 },
	{ "search example.com\ndomain example.org\nsortlist 1.1.1.1\n", "127.0.0.1", 2000, 2 },
	{ "nameserver fe80::1%lo\n", "fe80::1", 2000, 2 },
	{ "nameserver fe80::1%nosuchzone\nnameserver 1.1.1.1%lo\n", "127.0.0.1", 2000, 2 },
	{ "nameserver fe80::1%an-interface-name-that-is-too-long\nnameserver fe80::2%\n",
		"127.0.0.1", 2000, 2 },
	{ "options timeout:5 attempts:3\n", "127.0.0.1", 5000, 3 },
	{ "options rotate timeout:1 edns0\noptions attempts:1 ndots:5\n", "127.0.0.1", 1000, 1 },
	{ "options timeout:0 attempts:0\n", "127.0.0.1", 1000, 1 },
	{ "options timeout:999999999999 attempts:99999999999999999999\n", "127.0.0.1", 30000, 5 },
	{ "options timeout: attempts:x timeout:-1 attempts:2x\n", "127.0.0.1", 2000, 2 },
	{ "options\noptions   \n\n\n   \n", "127.0.0.1", 2000, 2 },
};

static void print_servers(const struct lookup_config *c, struct buffer *out)
{
	for (size_t i = 0; i < c->n_servers; i++) {
		if (i > 0)
			buffer_addc(out, ' ');
		address_print(&c->servers[i].address, out);
		assert_int_equal(c->servers[i].port, 53);
	}
}

static void test_resolv_conf(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct lookup_config c;
		auto_buffer got = { 0 };

		assert_int_equal(read_resolv(&c, cases[i].text, strlen(cases[i].text)), 0);
		print_servers(&c, &got);
		if (strcmp(buffer_text(&got), cases[i].servers) != 0 ||
			c.timeout_ms != cases[i].timeout_ms || c.attempts != cases[i].attempts)
			fail_msg("%s: %s, %u, %u", cases[i].text, buffer_text(&got), c.timeout_ms,
				c.attempts);
		lookup_config_deinit(&c);
	}
}

static void test_zone(void **state)
{
	static const char text[] = "nameserver fe80::1%lo\nnameserver fe80::2\n";
	struct lookup_config c;

	(void)state;
	assert_int_equal(read_resolv(&c, text, sizeof(text) - 1), 0);
	assert_int_equal(c.servers[0].zone, 1);
	assert_int_equal(c.servers[1].zone, 0);
	lookup_config_deinit(&c);
}

static void test_bytes(void **state)
{
	static const char text[] = "nameserver 1.1.1.1\0\nnameserver 2.2.2.2\n\xff\xfe\0";
	struct lookup_config c;

	(void)state;
	assert_int_equal(read_resolv(&c, text, sizeof(text)), 0);
	assert_int_equal(c.n_servers, 1);
	assert_int_equal(c.servers[0].address.bytes[0], 2);
	lookup_config_deinit(&c);
}

static void test_files(void **state)
{
	struct lookup_config c = { .attempts = 77 };
	size_t len = (1 << 20) + 1;
	char *large = malloc(len);

	(void)state;
	assert_non_null(large);
	memset(large, '\n', len);
	assert_int_equal(read_resolv(&c, large, len), -EFBIG);
	assert_int_equal(lookup_config_read(&c, "/", missing), -EISDIR);
	assert_int_equal(lookup_config_read(&c, missing, "/"), -EISDIR);
	assert_int_equal(c.attempts, 77);
	assert_int_equal(read_resolv(&c, large, len - 1), 0);
	lookup_config_deinit(&c);
	assert_int_equal(lookup_config_read(&c, missing, missing), 0);
	assert_int_equal(c.n_servers, 1);
	lookup_config_deinit(&c);
	lookup_config_deinit(&c);
	free(large);
}

/* hosts(5). */

static const char hosts_text[] = "# a comment\n"
				 "127.0.0.1\tlocalhost\n"
				 "192.0.2.1 One.Example. one ONE-ALIAS\t_under#score\n"
				 "2001:db8::1   one.example\n"
				 "192.0.2.2 two.example # three.example\n"
				 "192.0.2.3\n"
				 "192.0.2.300 four.example\n"
				 "fe80::1%lo five.example\n"
				 "   192.0.2.6 six.example\r\n"
				 "\n"
				 "192.0.2.7 b\xc3\xa4"
				 "d bad/name . seven.example nul\0inside\n"
				 "192.0.2.8 two.example\n"
				 "192.0.2.9 last.example";

static const struct {
	const char *name;
	const char *addresses;
} names[] = {
	{ "localhost", "127.0.0.1" },
	{ "one.example", "192.0.2.1 2001:db8::1" },
	{ "one", "192.0.2.1" },
	{ "one-alias", "192.0.2.1" },
	{ "_under", "192.0.2.1" },
	{ "two.example", "192.0.2.2 192.0.2.8" },
	{ "three.example", "" },
	{ "four.example", "" },
	{ "five.example", "" },
	{ "six.example", "192.0.2.6" },
	{ "bad/name", "" },
	{ "b\xc3\xa4"
	  "d",
		"" },
	{ "seven.example", "192.0.2.7" },
	{ "nul", "" },
	{ "inside", "" },
	{ "last.example", "192.0.2.9" },
	{ "", "" },
	{ ".", "" },
	{ "example", "" },
	{ "zzz", "" },
};

static struct lookup_hosts *read_hosts(const char *text, size_t len)
{
	char path[] = "/tmp/test-lookup-config.XXXXXX";
	struct lookup_hosts *h = NULL;

	write_file(path, text, len);
	assert_int_equal(lookup_hosts_read(&h, path), 0);
	assert_int_equal(unlink(path), 0);
	return h;
}

static void test_hosts(void **state)
{
	struct lookup_hosts *h = read_hosts(hosts_text, sizeof(hosts_text) - 1);

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		struct address found[4];
		size_t n = lookup_hosts_find(h, names[i].name, found, 4);
		auto_buffer got = { 0 };

		for (size_t k = 0; k < n; k++) {
			if (k > 0)
				buffer_addc(&got, ' ');
			address_print(&found[k], &got);
		}
		if (strcmp(buffer_text(&got), names[i].addresses) != 0)
			fail_msg("%s: %s", names[i].name, buffer_text(&got));
	}
	lookup_hosts_free(h);
}

/* Bounded by the caller; in the order of the file, however many there are. */
static void test_many_hosts(void **state)
{
	auto_buffer text = { 0 };
	struct address found[3];
	struct lookup_hosts *h;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buffer_printf(&text, "10.0.%d.%d all.test n%d.test\n", i / 250, i % 250, i);
	h = read_hosts(text.data, text.len);
	assert_int_equal(lookup_hosts_find(h, "all.test", found, 3), 3);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(found[i].bytes[3], i);
	assert_int_equal(lookup_hosts_find(h, "n999.test", found, 3), 1);
	assert_int_equal(found[0].bytes[2], 3);
	assert_int_equal(found[0].bytes[3], 249);
	assert_int_equal(lookup_hosts_find(h, "all.test", found, 0), 0);
	lookup_hosts_free(h);
	assert_int_equal(lookup_hosts_find(NULL, "all.test", found, 3), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolv_conf),
		cmocka_unit_test(test_zone),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_many_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
