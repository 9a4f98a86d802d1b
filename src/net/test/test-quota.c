/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-policy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "net/quota.h"

/* The policy's clock starts somewhere, not at 0. */
enum { START = 123456789 };

struct limited {
	struct policy *policy;
	struct quota *quota;
	char reason[256];
};

static void make(struct limited *l, const char *yaml)
{
	*l = (struct limited){ .policy = test_compile(yaml) };
	assert_non_null(l->policy);
	assert_int_equal(quota_new(&l->quota, l->policy, NULL), 0);
}

static void end(struct limited *l)
{
	quota_free(l->quota);
	policy_free(l->policy);
}

static int open_at(struct limited *l, const char *target, uint64_t ms)
{
	struct quota_account *a = NULL;

	return quota_open(l->quota, target, START + ms, &a, l->reason);
}

static void test_none(void **state)
{
	struct quota_account *a = NULL;
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['*']}");
	for (int i = 0; i < 100000; i++)
		assert_int_equal(quota_open(l.quota, "a:1", START, &a, l.reason), 0);
	quota_charge(a, UINT64_MAX, UINT64_MAX);
	assert_true(quota_left(a) == UINT64_MAX);
	end(&l);
}

/* The rate is the session's, whatever the destination; what is refused does not count. */
static void test_rate(void **state)
{
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['*'], rate_limit: 10/min}");
	for (int i = 0; i < 10; i++)
		assert_int_equal(open_at(&l, i % 2 ? "a:1" : "b:1", 0), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(open_at(&l, "c:1", 59999), -EDQUOT);
	assert_non_null(strstr(l.reason, "more than 10 connections in 60 s: "));
	/* A part of the window later at the latest. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(open_at(&l, "a:1", 60000 + 60000 / 64 + 1), 0);
	assert_int_equal(open_at(&l, "a:1", 60000 + 60000 / 64 + 1), -EDQUOT);
	/* After a long time. */
	assert_int_equal(open_at(&l, "a:1", UINT64_MAX / 2), 0);
	end(&l);
}

/*
 * Whoever tries without pause gets in as often as allowed in each stretch of time, wherever it
 * begins, and not much less.
 */
static void test_any_stretch(void **state)
{
	enum { SPAN = 40000, WINDOW = 10000, MOST = 7 };
	static uint8_t in[SPAN];
	struct limited l;
	unsigned now = 0, all = 0;

	(void)state;
	make(&l, "network: {allow: ['*'], rate_limit: 7/10s}");
	for (unsigned ms = 0; ms < SPAN; ms++) {
		/* In the middle of a window at first, to be at its edge later. */
		in[ms] = ms >= 4321 && open_at(&l, "a:1", ms) == 0;
		all += in[ms];
		now += in[ms];
		if (ms >= WINDOW)
			now -= in[ms - WINDOW];
		assert_true(now <= MOST);
	}
	assert_int_equal(all, 4 * MOST);
	end(&l);
}

static void test_layers(void **state)
{
	struct limited l;
	uint64_t ms = 0;
	int n = 0;

	(void)state;
	make(&l,
		"all_of: [{network: {allow: ['*'], rate_limit: 3/s, max_bytes: 5K}},"
		" {network: {allow: ['*'], rate_limit: 10/min, max_bytes: 1K}}, {default: allow}]");
	for (; ms < 50000; ms += 10)
		n += open_at(&l, "a:1", ms) == 0;
	assert_int_equal(n, 10);
	assert_non_null(strstr(l.reason, "10 connections in 60 s"));
	for (int i = 0; i < 3; i++)
		assert_int_equal(open_at(&l, "a:1", 200000), 0);
	assert_int_equal(open_at(&l, "a:1", 200000), -EDQUOT);
	assert_non_null(strstr(l.reason, "3 connections in 1 s"));
	end(&l);
}

static void test_bytes(void **state)
{
	struct quota_account *a, *b, *again;
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['*'], max_bytes: 1000}");
	assert_int_equal(quota_open(l.quota, "a:1", START, &a, l.reason), 0);
	assert_int_equal(quota_open(l.quota, "b:1", START, &b, l.reason), 0);
	assert_true(a != b);
	quota_charge(a, 300, 400);
	assert_int_equal(quota_left(a), 300);
	assert_int_equal(quota_left(b), 1000);
	assert_int_equal(quota_open(l.quota, "a:1", START, &again, l.reason), 0);
	assert_ptr_equal(a, again);
	quota_charge(again, 0, 301);
	assert_int_equal(quota_left(a), 0);
	assert_int_equal(open_at(&l, "a:1", 0), -EDQUOT);
	assert_non_null(strstr(l.reason, "the limit of 1000 bytes "));
	quota_charge(b, UINT64_MAX, 2);
	assert_int_equal(quota_left(b), 0);
	end(&l);
}

static void test_no_bytes(void **state)
{
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['*'], max_bytes: 0}");
	assert_int_equal(open_at(&l, "a:1", 0), -EDQUOT);
	end(&l);
}

/* All that there is room for, each with its own account; the next one has none. */
static void test_full(void **state)
{
	struct quota_account **all = calloc(QUOTA_DESTINATIONS_MAX, sizeof(*all)), *a;
	struct limited l;
	char target[32];

	(void)state;
	assert_non_null(all);
	make(&l, "network: {allow: ['*'], max_bytes: 1M}");
	for (uint64_t i = 0; i < QUOTA_DESTINATIONS_MAX; i++) {
		(void)snprintf(target, sizeof(target), "n%" PRIu64 ":1", i);
		assert_int_equal(quota_open(l.quota, target, START, &all[i], l.reason), 0);
		quota_charge(all[i], i, 0);
	}
	assert_int_equal(open_at(&l, "more:1", 0), -ENOSPC);
	assert_non_null(strstr(l.reason, "65536 destinations"));
	for (uint64_t i = 0; i < QUOTA_DESTINATIONS_MAX; i++) {
		(void)snprintf(target, sizeof(target), "n%" PRIu64 ":1", i);
		assert_int_equal(quota_open(l.quota, target, START, &a, l.reason), 0);
		assert_ptr_equal(a, all[i]);
		assert_int_equal(quota_left(a), (1 << 20) - i);
	}
	free(all);
	end(&l);
}

/* Two relays of one session: neither the rate nor the bytes start anew. */
static void test_shared(void **state)
{
	static const char yaml[] =
		"all_of: [{network: {allow: ['*'], rate_limit: 10/min, max_bytes: 1000}},"
		" {network: {allow: ['*'], rate_limit: 20/min}}]";
	struct quota_account *a, *b;
	struct ledger *ledger;
	struct limited one, other;
	int fd, n = 0;

	(void)state;
	assert_int_equal(ledger_new(&ledger, &fd), 0);
	one = (struct limited){ .policy = test_compile(yaml) };
	other = (struct limited){ .policy = test_compile(yaml) };
	assert_int_equal(quota_new(&one.quota, one.policy, ledger), 0);
	assert_int_equal(quota_new(&other.quota, other.policy, ledger), 0);
	for (int i = 0; i < 20; i++)
		n += open_at(i % 2 ? &one : &other, i % 3 ? "a:1" : "b:1", 0) == 0;
	assert_int_equal(n, 10);
	/* To ask counts nothing. */
	for (int i = 0; i < 20; i++) {
		assert_int_equal(quota_ask(one.quota, "a:1", START + 30000, one.reason), -EDQUOT);
		assert_int_equal(quota_ask(one.quota, "a:1", START + 70000, one.reason), 0);
	}
	assert_int_equal(quota_open(one.quota, "c:1", START + 70000, &a, one.reason), 0);
	assert_int_equal(quota_open(other.quota, "c:1", START + 70000, &b, other.reason), 0);
	quota_charge(a, 300, 300);
	assert_int_equal(quota_left(b), 400);
	quota_charge(b, 0, 400);
	assert_int_equal(quota_left(a), 0);
	assert_int_equal(open_at(&one, "c:1", 70000), -EDQUOT);
	assert_int_equal(quota_ask(other.quota, "c:1", START + 70000, other.reason), -EDQUOT);
	/* A change is no way to more. */
	assert_int_equal(quota_change(one.quota, one.policy), 0);
	assert_int_equal(open_at(&one, "c:1", 70000), -EDQUOT);
	end(&one);
	end(&other);
	ledger_free(ledger);
	(void)close(fd);
}

/* Rates at the edge of what can be written. */
static void test_edges(void **state)
{
	static const char *const rates[] = { "1000000000/s", "1/36500d", "4294967296/day" };

	(void)state;
	for (size_t i = 0; i < ROWS(rates); i++) {
		struct limited l;
		char yaml[128];

		(void)snprintf(
			yaml, sizeof(yaml), "network: {allow: ['*'], rate_limit: %s}", rates[i]);
		make(&l, yaml);
		assert_int_equal(open_at(&l, "a:1", 0), 0);
		assert_int_equal(open_at(&l, "a:1", 1000000), i == 1 ? -EDQUOT : 0);
		end(&l);
	}
	quota_free(NULL);
}

/* Another policy, by which the old one is freed. */
static void change(struct limited *l, const char *yaml)
{
	struct policy *next = test_compile(yaml);

	assert_non_null(next);
	assert_int_equal(quota_change(l->quota, next), 0);
	policy_free(l->policy);
	l->policy = next;
}

/* A change is no way to a fresh start. */
static void test_change_keeps_counts(void **state)
{
	struct quota_account *a, *again;
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['a', 'b'], max_bytes: 1000, rate_limit: 10/min}");
	assert_int_equal(quota_open(l.quota, "a:1", START, &a, l.reason), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(open_at(&l, "b:1", 0), 0);
	quota_charge(a, 300, 400);
	change(&l, "network: {allow: ['a', 'b', 'c'], max_bytes: 1000, rate_limit: 10/min}");
	assert_int_equal(quota_left(a), 300);
	assert_int_equal(quota_open(l.quota, "a:1", START, &again, l.reason), 0);
	assert_ptr_equal(a, again);
	assert_int_equal(open_at(&l, "c:1", 0), -EDQUOT);
	/* Fewer bytes, and fewer connections, count at once. */
	change(&l, "network: {allow: ['a', 'b'], max_bytes: 700, rate_limit: 12/min}");
	assert_int_equal(quota_left(a), 0);
	assert_int_equal(quota_review(l.quota, &a, "a:1", 700, l.reason), -EDQUOT);
	assert_non_null(strstr(l.reason, "the limit of 700 bytes "));
	assert_int_equal(open_at(&l, "b:1", 0), 0);
	assert_int_equal(open_at(&l, "b:1", 0), 0);
	assert_int_equal(open_at(&l, "b:1", 0), -EDQUOT);
	change(&l, "network: {allow: ['a', 'b']}");
	assert_int_equal(quota_review(l.quota, &a, "a:1", 700, l.reason), 0);
	assert_true(quota_left(a) == UINT64_MAX);
	assert_int_equal(open_at(&l, "b:1", 0), 0);
	end(&l);
}

/* Nor is one that puts other layers in front of the one that had the rate. */
static void test_change_of_layers(void **state)
{
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['a'], rate_limit: 2/min}");
	assert_int_equal(open_at(&l, "a:1", 0), 0);
	assert_int_equal(open_at(&l, "a:1", 0), 0);
	change(&l, "all_of:\n"
		   "  - network: {allow: ['a'], rate_limit: 100/hour}\n"
		   "  - network: {allow: ['a'], rate_limit: 2/min}\n");
	assert_int_equal(open_at(&l, "a:1", 0), -EDQUOT);
	/* Of two of one length, what was counted longer. */
	change(&l, "all_of:\n"
		   "  - network: {allow: ['a'], rate_limit: 4/min}\n"
		   "  - network: {allow: ['a'], rate_limit: 3/min}\n");
	assert_int_equal(open_at(&l, "a:1", 0), 0);
	assert_int_equal(open_at(&l, "a:1", 0), -EDQUOT);
	end(&l);
}

/* All share one account while nothing is limited; then each has to have its own. */
static void test_change_to_limited(void **state)
{
	struct quota_account *a, *b, *shared;
	struct limited l;

	(void)state;
	make(&l, "network: {allow: ['*']}");
	assert_int_equal(quota_open(l.quota, "a:1", START, &a, l.reason), 0);
	assert_int_equal(quota_open(l.quota, "b:1", START, &b, l.reason), 0);
	shared = a;
	assert_ptr_equal(a, b);
	quota_charge(a, 5000, 0);
	change(&l, "network: {allow: ['*'], max_bytes: 1000}");
	assert_int_equal(quota_review(l.quota, &a, "a:1", 5000, l.reason), -EDQUOT);
	assert_int_equal(quota_review(l.quota, &b, "b:1", 10, l.reason), 0);
	assert_true(a != shared && b != shared && a != b);
	assert_int_equal(quota_left(b), 990);
	/* No second time for the same bytes. */
	assert_int_equal(quota_review(l.quota, &b, "b:1", 10, l.reason), 0);
	assert_int_equal(quota_left(b), 990);
	assert_int_equal(open_at(&l, "a:1", 0), -EDQUOT);
	assert_int_equal(open_at(&l, "c:1", 0), 0);
	end(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change_keeps_counts),
		cmocka_unit_test(test_change_of_layers),
		cmocka_unit_test(test_change_to_limited),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_any_stretch),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_no_bytes),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
