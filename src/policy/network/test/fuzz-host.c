/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is up to four lines: a target, then patterns. Whatever parses must
 *
 *   print as text that parses to the same,
 *   meet in what is contained in both, and matches exactly what both match,
 *   answer in a set as it does alone;
 *
 * and a URL has the same host for a reader that takes the first '@' for the end of the user name,
 * or looks for one after a query.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/baseline.h"
#include "policy/network/host.h"
#include "policy/network/hostset.h"

enum { PATTERNS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void print_pattern(const struct host_pattern *p, struct buffer *out)
{
	host_pattern_print(p, out);
	require(!out->failed);
}

static void check_pattern(const struct host_pattern *p, struct arena *a)
{
	auto_buffer first = { 0 }, second = { 0 };
	struct host_pattern again;
	struct error e = { 0 };

	print_pattern(p, &first);
	require(host_pattern_parse(&again, a, buffer_text(&first), NULL, &e) == 0);
	print_pattern(&again, &second);
	require(strcmp(buffer_text(&first), buffer_text(&second)) == 0);
	require(host_pattern_contains(p, &again) && host_pattern_contains(&again, p));
}

/* A normal form is normal: reading it again changes nothing. */
static void check_request(const struct host_request *r)
{
	auto_buffer first = { 0 }, second = { 0 };
	struct host_request again;
	struct error e = { 0 };

	require(r->is_address + (r->name[0] != '\0') + (r->transport == TRANSPORT_UNIX) == 1);
	require(r->has_url_path == (r->url_path[0] == '/'));
	host_request_print(r, &first);
	/* "http:80" is refused as a target, but is a fine normal form of http://http/ */
	if (host_request_parse(&again, buffer_text(&first), &e) < 0)
		return;
	host_request_print(&again, &second);
	require(strcmp(buffer_text(&first), buffer_text(&second)) == 0);
	require(baseline_never(r) == baseline_never(&again));
	require(baseline_guard(r) == baseline_guard(&again));
}

/* The URL up to its path, after the slashes of its scheme; the path's own '@' does not count. */
static void check_one_host(const struct host_request *r, const char *target)
{
	const char *authority = strchr(target, ':'), *first, *end;

	if (!r->has_url_path || !authority)
		return;
	authority += 1 + strspn(authority + 1, "/\\");
	end = strchr(authority, '/');
	end = end ? end : authority + strlen(authority);
	first = memchr(authority, '@', (size_t)(end - authority));
	require(first == memrchr(authority, '@', (size_t)(end - authority)));
	if (!first)
		return;
	require(first > authority);
	for (const char *p = authority; p < first; p++)
		require(!strchr("/\\?#;[]<> \t\"|^`{}", *p) && (unsigned char)*p < 0x80);
}

static void check_meet(const struct host_pattern *p, const struct host_pattern *q,
	const struct host_request *r, struct arena *a)
{
	struct host_pattern both[2];
	int n = host_pattern_meet(p, q, a, both);
	bool in_p = host_pattern_matches(p, r), in_q = host_pattern_matches(q, r), in_meet = false;

	require(n >= 0 && n <= 2);
	for (int i = 0; i < n; i++) {
		require(host_pattern_contains(p, &both[i]) && host_pattern_contains(q, &both[i]));
		in_meet = in_meet || host_pattern_matches(&both[i], r);
	}
	require(in_meet == (in_p && in_q));
	require(!in_q || in_p || !host_pattern_contains(p, q));
}

static void check_set(const struct host_pattern *patterns, size_t n, const struct host_request *r)
{
	auto_hostset *s = hostset_new();
	uint32_t want = RANK_NONE;
	bool all = n > 0;

	require(s != NULL);
	for (uint32_t i = 0; i < n; i++) {
		bool matches = host_pattern_matches(&patterns[i], r);

		all = all && matches;
		if (matches)
			want = rank_best(want, PATTERNS - i);
		require(hostset_add(s, &patterns[i], 1, PATTERNS - i) == 0);
	}
	if (n > 0)
		require(hostset_add(s, patterns, n, 0) == 0);
	require(hostset_build(s) == 0);
	require(hostset_match(s, r) == (all ? 0 : want));
}

/* The next line, NUL-terminated, or NULL. */
static char *next_line(char **rest)
{
	char *line = *rest, *end;

	if (!line)
		return NULL;
	end = strchr(line, '\n');
	*rest = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer text = { 0 };
	auto_arena a = { 0 };
	struct host_pattern patterns[PATTERNS];
	struct host_request r;
	struct error e = { 0 };
	bool have_request;
	char *rest, *line;
	size_t n = 0;

	buffer_add(&text, data, size);
	rest = text.data;
	line = next_line(&rest);
	have_request = host_request_parse(&r, line, &e) == 0;
	require(have_request || e.text[0]);
	if (have_request) {
		check_request(&r);
		check_one_host(&r, line);
	}
	while (n < PATTERNS && (line = next_line(&rest))) {
		int err = host_pattern_parse(&patterns[n], &a, line, NULL, &e);

		require(err == 0 || e.text[0]);
		if (err < 0)
			continue;
		check_pattern(&patterns[n], &a);
		/* Layers keep these: they are in no set, and meet what they may have in common. */
		if (patterns[n].kind == HOST_GLOB) {
			(void)(have_request && host_pattern_matches(&patterns[n], &r));
			continue;
		}
		n++;
	}
	if (!have_request)
		return 0;
	for (size_t i = 0; i < n * n; i++)
		check_meet(&patterns[i / n], &patterns[i % n], &r, &a);
	check_set(patterns, n, &r);
	return 0;
}
