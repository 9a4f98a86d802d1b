/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set must answer what its entries answer one by one. Patterns and requests are drawn from a
 * small world, chosen so that they meet often and at the edges: parents and children, guards and
 * what surrounds them, ports that touch. The seed is fixed; the properties are checked on every
 * draw.
 */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/network/host.h"
#include "policy/network/hostset.h"

enum {
	PAIRS = 200000,
	REQUESTS_PER_SET = 40,
	SET_MAX = 24,
	MEETS = 3000,
	REQUESTS_PER_MEET = 30,
};

static uint64_t seed = 0x9e3779b97f4a7c15;

/* xorshift64* */
static uint32_t draw(uint32_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)(seed * 0x2545f4914f6cdd1d >> 33) % below;
}

#define PICK(table) ((table)[draw(ROWS(table))])

static const char *const hosts[] = { "com", "a.com", "b.com", "x.a.com", "y.x.a.com", "xa.com",
	"localhost", "x.localhost", "internal", "x.internal", "y.x.internal", "arpa", "home.arpa",
	"x.home.arpa", "0.0.0.0", "1.2.3.4", "8.8.8.8", "8.8.0.1", "9.9.9.9", "10.0.0.1",
	"10.1.0.1", "11.0.0.1", "127.0.0.1", "127.0.0.2", "128.0.0.1", "192.168.0.1", "192.169.0.1",
	"255.255.255.255", "[::]", "[::1]", "[2606::1]", "[2606:1::1]", "[fd00::1]", "[fd00:1::1]",
	"[fe80::1]", "[ff02::1]", "[2002:a00:1::]", "[::ffff:8.8.8.8]" };

static const char *const wide[] = { "*", "*.com", "*.a.com", "*.x.a.com", "*.localhost",
	"*.internal", "*.x.internal", "*.arpa", "*.home.arpa", "0.0.0.0/0", "0.0.0.0/1",
	"8.0.0.0/6", "8.0.0.0/8", "8.8.0.0/16", "10.0.0.0/8", "10.1.0.0/16", "126.0.0.0/7",
	"127.0.0.0/8", "127.0.0.0/30", "192.0.0.0/8", "192.168.0.0/15", "192.168.0.0/16",
	"128.0.0.0/1", "[::]/0", "[2600::]/8", "[2606::]/32", "[fc00::]/6", "[fc00::]/7",
	"[fd00::]/32", "[fe00::]/8", "[8000::]/1" };

static const char *const port_patterns[] = { "", "", ":*", ":80", ":443", ":80-443", ":81-442",
	":1-80", ":443-65535", ":2-65535", ":1-65534" };
static const char *const port_requests[] = { "", ":1", ":2", ":79", ":80", ":81", ":442", ":443",
	":444", ":65534", ":65535" };
static const char *const paths[] = { "/v1/**", "/v1/x", "/*/x", "/v2", "/**/x", "/#" };
static const char *const url_paths[] = { "/", "/v1", "/v1/x", "/v1/y", "/v2", "/v2/x" };
static const char *const methods[] = { "GET", "PUT", "POST" };

static struct host_pattern draw_pattern(struct arena *a)
{
	auto_buffer text = { 0 };
	const char *host = draw(2) ? PICK(hosts) : PICK(wide);
	struct host_pattern p;
	struct error e = { 0 };
	bool narrow = draw(6) == 0;

	switch (draw(20)) {
	case 0:
		buffer_printf(&text, "unix:/run/%u", draw(3));
		break;
	case 1:
		buffer_printf(&text, "udp://%s%s", host, PICK(port_patterns));
		break;
	default:
		if (narrow)
			buffer_printf(&text, "https://%s%s%s", host,
				strchr(host, '/') ? ":443" : PICK(port_patterns), PICK(paths));
		else
			buffer_printf(&text, "%s%s", host, PICK(port_patterns));
	}
	/* Disguised addresses are no patterns: take what they mean. */
	if (host_pattern_parse(&p, a, buffer_text(&text), NULL, &e) < 0 &&
		host_pattern_parse(&p, a, "10.0.0.1", NULL, &e) < 0)
		fail_msg("%s: %s", buffer_text(&text), e.text);
	for (uint32_t n = draw(8) == 0 ? 1 + draw(2) : 0; n > 0 && p.transport == TRANSPORT_TCP;
		n--)
		p.methods |= host_method(PICK(methods));
	return p;
}

/* The text must outlive the request. */
static struct host_request draw_request(struct buffer *text)
{
	struct host_request r;
	struct error e = { 0 };

	buffer_clear(text);
	switch (draw(16)) {
	case 0:
		buffer_printf(text, "unix:/run/%u", draw(4));
		break;
	case 1:
		buffer_printf(text, "udp://%s%s", PICK(hosts), PICK(port_requests));
		break;
	case 2:
	case 3:
	case 4:
		buffer_printf(
			text, "https://%s%s%s", PICK(hosts), PICK(port_requests), PICK(url_paths));
		break;
	default:
		buffer_printf(text, "%s%s", PICK(hosts), PICK(port_requests));
	}
	if (host_request_parse(&r, buffer_text(text), &e) < 0)
		fail_msg("%s: %s", buffer_text(text), e.text);
	if (draw(2))
		r.method = host_method(PICK(methods));
	return r;
}

struct entry {
	struct host_pattern all[3];
	size_t n;
	uint32_t rank;
};

static uint32_t plain_answer(const struct entry *entries, size_t n, const struct host_request *r)
{
	uint32_t best = RANK_NONE;

	for (size_t i = 0; i < n; i++) {
		bool all = true;

		for (size_t j = 0; j < entries[i].n; j++)
			all = all && host_pattern_matches(&entries[i].all[j], r);
		if (all)
			best = rank_best(best, entries[i].rank);
	}
	return best;
}

static void show(const struct entry *entries, size_t n, struct buffer *out)
{
	for (size_t i = 0; i < n; i++) {
		buffer_printf(out, "\n  %u:", entries[i].rank);
		for (size_t j = 0; j < entries[i].n; j++) {
			buffer_addc(out, ' ');
			host_pattern_print(&entries[i].all[j], out);
			buffer_printf(out, " (%x)", entries[i].all[j].methods);
		}
	}
}

static void sets_answer_like_their_entries(void **state)
{
	uint32_t matched = 0;

	(void)state;
	for (uint32_t done = 0; done < PAIRS; done += REQUESTS_PER_SET) {
		auto_hostset *s = hostset_new();
		auto_buffer target = { 0 };
		auto_arena a = { 0 };
		struct entry entries[SET_MAX];
		size_t n = draw(SET_MAX + 1);

		assert_non_null(s);
		for (size_t i = 0; i < n; i++) {
			entries[i].n = draw(4) ? 1 : 1 + draw(3);
			entries[i].rank = draw(2 * SET_MAX);
			for (size_t j = 0; j < entries[i].n; j++)
				entries[i].all[j] = draw_pattern(&a);
			assert_int_equal(
				hostset_add(s, entries[i].all, entries[i].n, entries[i].rank), 0);
		}
		assert_int_equal(hostset_build(s), 0);
		for (uint32_t i = 0; i < REQUESTS_PER_SET; i++) {
			struct host_request r = draw_request(&target);
			uint32_t want = plain_answer(entries, n, &r), got = hostset_match(s, &r);
			auto_buffer shown = { 0 };

			matched += want != RANK_NONE;
			if (got == want)
				continue;
			show(entries, n, &shown);
			fail_msg("%s (%x): got %u, want %u%s", buffer_text(&target), r.method, got,
				want, buffer_text(&shown));
		}
	}
	/* The world is small enough for the test to mean something. */
	assert_in_range(matched, PAIRS / 10, PAIRS - PAIRS / 10);
}

static void meets_and_containment_agree_with_matching(void **state)
{
	uint32_t met = 0, contained = 0;

	(void)state;
	for (int i = 0; i < MEETS; i++) {
		auto_arena a = { 0 };
		auto_buffer target = { 0 }, shown = { 0 };
		struct host_pattern p = draw_pattern(&a), q = draw(8) ? draw_pattern(&a) : p,
				    both[2];
		int n = host_pattern_meet(&p, &q, &a, both);
		bool p_has_q = host_pattern_contains(&p, &q);

		host_pattern_print(&p, &shown);
		buffer_adds(&shown, " and ");
		host_pattern_print(&q, &shown);
		met += n > 0;
		contained += p_has_q;
		for (int j = 0; j < REQUESTS_PER_MEET; j++) {
			struct host_request r = draw_request(&target);
			bool in_p = host_pattern_matches(&p, &r),
			     in_q = host_pattern_matches(&q, &r);
			bool in_meet = n > 0 && host_pattern_matches(&both[0], &r);

			check_yes(buffer_text(&shown), buffer_text(&target), in_meet, in_p && in_q);
			if (p_has_q && in_q && !in_p)
				fail_msg("%s: contained, but %s", buffer_text(&shown),
					buffer_text(&target));
		}
		/* What is contained is the meet. */
		if (p_has_q)
			check_yes(buffer_text(&shown), "the second",
				n == 1 && host_pattern_contains(&both[0], &q), true);
		if (n == 1 && (!host_pattern_contains(&p, &both[0]) ||
				      !host_pattern_contains(&q, &both[0])))
			fail_msg("%s: a meet that is not contained", buffer_text(&shown));
	}
	assert_in_range(met, MEETS / 20, MEETS);
	assert_in_range(contained, MEETS / 40, MEETS);
}

static void empty_sets_match_nothing(void **state)
{
	auto_hostset *s = hostset_new();
	auto_buffer target = { 0 };

	(void)state;
	assert_int_equal(hostset_build(s), 0);
	for (int i = 0; i < 100; i++) {
		struct host_request r = draw_request(&target);

		assert_int_equal(hostset_match(s, &r), RANK_NONE);
	}
	hostset_free(NULL);
}

/* Ten thousand entries of one kind each, so that tables grow and ports are cut many times. */
static void large_sets_are_exact(void **state)
{
	auto_hostset *s = hostset_new();
	auto_arena a = { 0 };
	struct host_request r;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		const char *text = i % 2 ? arena_printf(&a, "h%u.example.com:%u", i, i + 1)
					 : arena_printf(&a, "*:%u-%u", i + 1, 65535 - i);
		struct host_pattern p;

		assert_int_equal(host_pattern_parse(&p, &a, text, NULL, NULL), 0);
		assert_int_equal(hostset_add(s, &p, 1, 20000 - i), 0);
	}
	assert_int_equal(hostset_build(s), 0);
	assert_int_equal(host_request_parse(&r, "h777.example.com:778", NULL), 0);
	/* Of the stars, the last that covers port 778 is number 776. */
	assert_int_equal(hostset_match(s, &r), 20000 - 777);
	assert_int_equal(host_request_parse(&r, "h778.example.com:779", NULL), 0);
	assert_int_equal(hostset_match(s, &r), 20000 - 778);
	assert_int_equal(host_request_parse(&r, "h1.example.com:30000", NULL), 0);
	assert_int_equal(hostset_match(s, &r), 20000 - 9998);
	assert_int_equal(host_request_parse(&r, "10.0.0.1:30000", NULL), 0);
	assert_int_equal(hostset_match(s, &r), RANK_NONE);
}

static void long_names_are_looked_up(void **state)
{
	auto_hostset *s = hostset_new();
	auto_arena a = { 0 };
	struct host_pattern p;
	struct host_request r;
	char name[254];

	(void)state;
	for (size_t i = 0; i < 253; i++)
		name[i] = i % 2 ? '.' : 'a';
	name[253] = '\0';
	assert_int_equal(host_pattern_parse(&p, &a, "*.a", NULL, NULL), 0);
	assert_int_equal(hostset_add(s, &p, 1, 5), 0);
	assert_int_equal(host_pattern_parse(&p, &a, name, NULL, NULL), 0);
	assert_int_equal(hostset_add(s, &p, 1, 3), 0);
	assert_int_equal(hostset_build(s), 0);
	assert_int_equal(host_request_parse(&r, name, NULL), 0);
	assert_int_equal(hostset_match(s, &r), 3);
	assert_int_equal(host_request_parse(&r, name + 2, NULL), 0);
	assert_int_equal(hostset_match(s, &r), 5);
	assert_int_equal(host_request_parse(&r, "a", NULL), 0);
	assert_int_equal(hostset_match(s, &r), RANK_NONE);
}

static void bad_globs_do_not_compile(void **state)
{
	const char *path = "/[";
	auto_hostset *s = hostset_new();
	struct host_pattern p = { .kind = HOST_ANY,
		.port_lo = 1,
		.port_hi = 65535,
		.url_paths = &path,
		.n_url_paths = 1 };

	(void)state;
	assert_int_equal(hostset_add(s, &p, 1, 0), 0);
	assert_int_equal(hostset_build(s), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_answer_like_their_entries),
		cmocka_unit_test(meets_and_containment_agree_with_matching),
		cmocka_unit_test(empty_sets_match_nothing),
		cmocka_unit_test(large_sets_are_exact),
		cmocka_unit_test(long_names_are_looked_up),
		cmocka_unit_test(bad_globs_do_not_compile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
