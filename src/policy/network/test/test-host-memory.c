/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory, everywhere: the linker leads each call of an allocating function to the wrapper
 * here (see meson.build), and a loop fails the first call, then the second, and so on until all
 * succeed. Every failure must come back as -ENOMEM; sanitizers see that nothing leaks.
 */
#include "policy/network/test/test-host.h"

#include <stdlib.h>

#include "base/array.h"
#include "policy/network/host.h"
#include "policy/network/hostset.h"
#include "policy/network/idna.h"
#include "policy/network/url.h"
#include "test/failing-arena.h"

FAILING_CALLOC
FAILING_MALLOC
FAILING_AS(-ENOMEM, int, idna_library_lookup, (const char *name, char *out, size_t size), name, out,
	size)

static int read_name(void)
{
	char out[256];

	return idna_to_ascii(TEXT("bücher.de"), out, sizeof(out));
}

static int read_url(void)
{
	struct url u;

	return url_parse(&u, TEXT("https://bücher.de/"), NULL);
}

static int read_request(void)
{
	struct host_request r;

	return host_request_parse(&r, "bücher.de:443", NULL);
}

static int read_pattern(const char *text)
{
	struct arena a = { 0 };
	struct host_pattern p;
	struct error e = { 0 };
	int r = host_pattern_parse(&p, &a, text, NULL, &e);

	assert_true(r == 0 || e.text[0]);
	arena_deinit(&a);
	return r;
}

static int read_name_pattern(void)
{
	return read_pattern("bücher.de:443");
}

static int read_url_pattern(void)
{
	return read_pattern("https://a.com/v1/{a,b}*");
}

static int read_socket_pattern(void)
{
	return read_pattern("unix:/run/x");
}

static const char *const paths[] = { "/a/**", "/b*" };
static const struct host_pattern patterns[] = {
	{ .kind = HOST_NAME, .name = "localhost", .port_lo = 1, .port_hi = 65535 },
	{ .kind = HOST_NAME,
		.name = "a.com",
		.port_lo = 1,
		.port_hi = 80,
		.url_paths = (const char **)&paths[0],
		.n_url_paths = 1 },
	{ .kind = HOST_SUBDOMAINS,
		.name = "com",
		.port_lo = 80,
		.port_hi = 443,
		.url_paths = (const char **)&paths[1],
		.n_url_paths = 1 },
	{ .kind = HOST_ANY, .transport = TRANSPORT_UDP, .port_lo = 53, .port_hi = 53 },
	{ .kind = HOST_SOCKET, .transport = TRANSPORT_UNIX, .name = "/run/x" },
};

static int meet(void)
{
	struct arena a = { 0 };
	struct host_pattern both[2];
	int r = host_pattern_meet(&patterns[1], &patterns[2], &a, both);

	arena_deinit(&a);
	return r == 1 ? 0 : r;
}

static int build_set(void)
{
	auto_hostset *s = hostset_new();
	int r = s ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < ROWS(patterns) && r == 0; i++)
		r = hostset_add(s, &patterns[i], 1, i);
	if (r == 0)
		r = hostset_add(s, &patterns[1], 2, 9);
	return r == 0 ? hostset_build(s) : r;
}

static const struct {
	const char *name;
	int (*run)(void);
	long least; /* it must fail at least so often */
} cases[] = {
	{ "name", read_name, 2 },
	{ "url", read_url, 2 },
	{ "request", read_request, 2 },
	{ "name pattern", read_name_pattern, 3 },
	{ "url pattern", read_url_pattern, 3 },
	{ "socket pattern", read_socket_pattern, 1 },
	{ "meet", meet, 1 },
	{ "set", build_set, 20 },
};

static void every_failure_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		long n = 0;
		int r;

		do {
			failing_start(n);
			r = cases[i].run();
			if (!failing_stop())
				break; /* all calls succeeded */
			check_code(cases[i].name, r, -ENOMEM);
			n++;
		} while (true);
		check_code(cases[i].name, r, 0);
		check_yes(cases[i].name, "fails often enough", n >= cases[i].least, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failure_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
