/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as bytes: what goes in comes out, and nothing else comes in. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "jail/plan-wire.h"

static struct plan_entry entries[] = {
	{ .kind = PLAN_DIR, .path = "/etc", .is_dir = true },
	{ .kind = PLAN_FILE, .path = "/etc/passwd", .text = "u:x" },
	{ .kind = PLAN_FILE, .path = "/etc/empty", .text = "" },
	{ .kind = PLAN_LINK, .path = "/lib", .text = "usr/lib" },
	{ .kind = PLAN_TMP, .path = "/tmp", .is_dir = true, .writable = true },
	{ .kind = PLAN_BIND,
		.path = "/usr",
		.is_dir = true,
		.exec = true,
		.dev = UINT64_MAX,
		.ino = 7 },
	{ .kind = PLAN_MASK, .path = "/usr/secret", .over = true, .dev = 1, .ino = 2 },
};
static const char *programs[] = { "/usr/bin/a", "/usr/bin/b" };
enum { N = sizeof(entries) / sizeof(entries[0]) };

static struct plan make(void)
{
	struct plan p = { .entries = entries,
		.n = N,
		.programs = programs,
		.n_programs = 2,
		.exec_listed = true,
		.network = PLAN_NETWORK_HOST };

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		p.limits.values[i] = i;
	return p;
}

static void same_entry(const struct plan_entry *a, const struct plan_entry *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_string_equal(a->path, b->path);
	assert_true(!a->text == !b->text);
	if (a->text)
		assert_string_equal(a->text, b->text);
	assert_true(a->is_dir == b->is_dir && a->writable == b->writable && a->exec == b->exec &&
		    a->over == b->over);
	assert_true(a->dev == b->dev && a->ino == b->ino);
}

static void round_trip(void **state)
{
	const struct plan p = make();
	auto_plan *got = NULL;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(plan_decode(&got, body.data, body.len), 0);
	assert_int_equal(got->n, p.n);
	for (size_t i = 0; i < p.n; i++)
		same_entry(&got->entries[i], &p.entries[i]);
	assert_int_equal(got->n_programs, 2);
	assert_string_equal(got->programs[1], programs[1]);
	assert_true(got->exec_listed);
	assert_int_equal(got->network, PLAN_NETWORK_HOST);
	assert_memory_equal(&got->limits, &p.limits, sizeof(p.limits));
}

/* A copy of just that length, so that a sanitizer sees every byte too many. */
static int decode(const void *bytes, size_t len)
{
	struct plan *got = NULL;
	void *copy = malloc(len > 0 ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	r = plan_decode(&got, copy, len);
	assert_true(r == 0 || r == -EPROTO);
	assert_true((r == 0) == (got != NULL));
	plan_free(got);
	free(copy);
	return r;
}

static void cut_off(void **state)
{
	const struct plan p = make();
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(plan_encode(&p, &body), 0);
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(decode(body.data, len), -EPROTO);
	buffer_add(&body, "", 1);
	assert_int_equal(decode(body.data, body.len), -EPROTO);
}

/* One byte changed, everywhere: refused or another plan, never a crash. */
static void changed(void **state)
{
	static const unsigned char masks[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80,
		0xff };
	const struct plan p = make();
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(plan_encode(&p, &body), 0);
	for (size_t i = 0; i < body.len; i++)
		for (size_t m = 0; m < sizeof(masks); m++) {
			body.data[i] = (char)(body.data[i] ^ masks[m]);
			(void)decode(body.data, body.len);
			body.data[i] = (char)(body.data[i] ^ masks[m]);
		}
	assert_int_equal(decode(body.data, body.len), 0);
}

/* What the tree is made from must have all that its makers use. */
static void incomplete(void **state)
{
	static const struct plan_entry bad[] = {
		{ .kind = PLAN_LINK, .path = "/lib" },
		{ .kind = PLAN_FILE, .path = "/etc/passwd" },
		{ .kind = PLAN_DIR, .path = "etc" },
		{ .kind = PLAN_DIR, .path = "" },
		{ .kind = PLAN_SOCKET + 1, .path = "/etc" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct plan_entry entry = bad[i];
		const struct plan p = { .entries = &entry, .n = 1 };
		auto_buffer body = { 0 };

		assert_int_equal(plan_encode(&p, &body), 0);
		assert_int_equal(decode(body.data, body.len), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(changed),
		cmocka_unit_test(incomplete),
	};

	return cmocka_run_group_tests_name("plan-wire", tests, NULL, NULL);
}
