/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as bytes: what goes in comes out, and nothing else comes in. */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/plan/plan.h"
#include "skill/archive.h"

static struct plan_entry entries[] = {
	{ .kind = PLAN_DIR, .path = "/etc", .is_dir = true },
	{ .kind = PLAN_FILE, .path = "/etc/passwd", .text = "u:x" },
	{ .kind = PLAN_FILE, .path = "/etc/empty", .text = "" },
	{ .kind = PLAN_FILE, .path = "/home/.netrc", .text = "x", .is_masked = true },
	{ .kind = PLAN_LINK, .path = "/lib", .text = "usr/lib" },
	{ .kind = PLAN_TMP, .path = "/tmp", .is_dir = true, .writable = true },
	{ .kind = PLAN_BIND,
		.path = "/usr",
		.is_dir = true,
		.exec = true,
		.dev = UINT64_MAX,
		.ino = 7 },
	{ .kind = PLAN_MASK, .path = "/usr/secret", .over = true, .dev = 1, .ino = 2 },
	{ .kind = PLAN_BIND, .path = "/usr/shadow/a", .live = true },
	{ .kind = PLAN_BIND, .path = "/usr/shadow/b", .writable = true, .stands_in = true },
	{ .kind = PLAN_SOCKET, .path = "/usr/socket", .over = true },
	{ .kind = PLAN_MASK, .path = "/usr/x.key", .is_found = true, .dev = 1, .ino = 3 },
};
static const char *programs[] = { "/usr/bin/a", "/usr/bin/b" };
static const char *late[] = { "/srv/a", "/srv/b" };
static const char *appear[] = { "/srv", "|", "+/srv/a/**", "-/**/.env" };
static struct plan_literal literals[] = {
	{ { .bits = 32, .bytes = { 10, 1, 2, 3 } }, 443 },
	{ { .bits = 128, .bytes = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } }, UINT16_MAX },
};
enum { N = ROWS(entries) };

static struct plan make(void)
{
	struct plan p = { .entries = entries,
		.n = N,
		.programs = programs,
		.n_programs = 2,
		.home_real = "/home/me",
		.late = late,
		.n_late = 2,
		.spared = late + 1,
		.n_spared = 1,
		.appear = appear,
		.n_appear = ROWS(appear),
		.exec_listed = true,
		.is_watched = true,
		.network = PLAN_NETWORK_RELAY,
		.ports = { { .port = 8080, .inner = 80 }, { .port = 9, .inner = 9 } },
		.n_ports = 2,
		.loopback = { { 1, 9 }, { 5432, 5432 } },
		.n_loopback = 2,
		.literals = literals,
		.n_literals = 2,
		.n_listeners = PLAN_LISTENERS_MAX,
		.unheld = "no" };

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
		    a->over == b->over && a->copied == b->copied && a->live == b->live &&
		    a->stands_in == b->stands_in && a->is_found == b->is_found &&
		    a->is_masked == b->is_masked);
	assert_true(a->dev == b->dev && a->ino == b->ino);
}

/* Ports to publish are the relay's: the zygote is told how many. */
static void same_network(const struct plan *a, const struct plan *b)
{
	assert_int_equal(a->network, b->network);
	assert_int_equal(a->n_ports, b->n_ports);
	assert_int_equal(a->n_loopback, b->n_loopback);
	assert_memory_equal(a->loopback, b->loopback, sizeof(a->loopback));
	assert_int_equal(a->n_literals, b->n_literals);
	for (size_t i = 0; i < a->n_literals; i++) {
		assert_int_equal(a->literals[i].port, b->literals[i].port);
		assert_true(address_equal(&a->literals[i].address, &b->literals[i].address));
	}
	assert_int_equal(a->n_listeners, b->n_listeners);
	assert_true(!a->unheld == !b->unheld);
	if (a->unheld)
		assert_string_equal(a->unheld, b->unheld);
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
	assert_string_equal(got->home_real, "/home/me");
	assert_int_equal(got->n_late, 2);
	assert_string_equal(got->late[1], late[1]);
	assert_int_equal(got->n_spared, 1);
	assert_string_equal(got->spared[0], late[1]);
	assert_int_equal(got->n_appear, ROWS(appear));
	assert_string_equal(got->appear[3], appear[3]);
	assert_true(got->exec_listed && got->is_watched);
	same_network(got, &p);
	assert_memory_equal(&got->limits, &p.limits, sizeof(p.limits));
}

/* A copy in a folder of ours can be written, a name of a shadow only be read; both are mounts. */
static void refused_stand_ins(void **state)
{
	static const struct plan_entry rows[] = {
		{ .kind = PLAN_BIND, .path = "/a", .live = true, .writable = true },
		{ .kind = PLAN_BIND, .path = "/a", .live = true, .copied = true },
		{ .kind = PLAN_BIND, .path = "/a", .live = true, .over = true },
		{ .kind = PLAN_TMP, .path = "/a", .live = true },
		{ .kind = PLAN_MASK, .path = "/a", .live = true },
		{ .kind = PLAN_BIND, .path = "/a", .stands_in = true },
		{ .kind = PLAN_TMP, .path = "/a", .stands_in = true, .writable = true },
		{ .kind = PLAN_MASK, .path = "/a", .is_masked = true },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct plan_entry entry = rows[i];
		const struct plan p = { .entries = &entry, .n = 1 };
		auto_plan *got = NULL;
		auto_buffer body = { 0 };

		assert_int_equal(plan_encode(&p, &body), 0);
		assert_int_equal(plan_decode(&got, body.data, body.len), -EPROTO);
	}
}

/* What is copied needs a copy. */
static void round_trip_of_skill(void **state)
{
	static const struct skill_archive skill = { .path = "/usr/skill" };
	struct plan_entry entry = { .kind = PLAN_BIND, .path = "/usr/skill", .copied = true };
	struct plan p = { .entries = &entry, .n = 1, .skill = &skill };
	auto_plan *got = NULL, *none = NULL;
	auto_buffer body = { 0 }, without = { 0 };

	(void)state;
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(plan_decode(&got, body.data, body.len), 0);
	assert_true(got->has_skill && !got->skill);
	same_entry(&got->entries[0], &entry);
	p.skill = NULL;
	assert_int_equal(plan_encode(&p, &without), 0);
	assert_int_equal(plan_decode(&none, without.data, without.len), -EPROTO);
}

/* Who calls a broker needs one. */
static void round_trip_of_broker(void **state)
{
	struct plan p = { .has_broker = true };
	auto_plan *bare = NULL, *got = NULL, *http = NULL, *none = NULL;
	auto_buffer body = { 0 }, with = { 0 }, without = { 0 };

	(void)state;
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(plan_decode(&bare, body.data, body.len), 0);
	assert_true(bare->has_broker && !bare->caller.path);
	p.caller = (struct plan_entry){
		.kind = PLAN_BIND, .path = "/usr/bin/sandbox-call", .exec = true, .dev = 3, .ino = 4
	};
	assert_int_equal(plan_encode(&p, &with), 0);
	assert_int_equal(plan_decode(&got, with.data, with.len), 0);
	same_entry(&got->caller, &p.caller);
	p.has_http = true;
	buffer_clear(&with);
	assert_int_equal(plan_encode(&p, &with), 0);
	assert_int_equal(plan_decode(&http, with.data, with.len), 0);
	assert_true(http->has_http && !got->has_http && !http->is_watched);
	p.caller.path = NULL;
	p.has_broker = false;
	buffer_clear(&body);
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(plan_decode(&none, body.data, body.len), -EPROTO);
	p.caller.path = "/usr/bin/sandbox-call";
	p.has_http = false;
	assert_int_equal(plan_encode(&p, &without), 0);
	assert_int_equal(plan_decode(&none, without.data, without.len), -EPROTO);
}

/* All of its files, or none. */
static void round_trip_of_worker(void **state)
{
	struct plan p = { 0 };
	auto_plan *got = NULL, *none = NULL;
	auto_buffer body = { 0 };

	(void)state;
	for (size_t i = 0; i < PLAN_WORKER_FILES; i++)
		p.worker[i] = (struct plan_entry){ .kind = PLAN_BIND,
			.path = "/usr/libexec/x",
			.exec = true,
			.dev = i,
			.ino = 4 };
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(plan_decode(&got, body.data, body.len), 0);
	for (size_t i = 0; i < PLAN_WORKER_FILES; i++)
		same_entry(&got->worker[i], &p.worker[i]);
	for (size_t len = body.len - 1; len > body.len - 40; len--)
		assert_int_equal(plan_decode(&none, body.data, len), -EPROTO);
	p.worker[PLAN_WORKER_MODULE].kind = PLAN_TMP;
	buffer_clear(&body);
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(plan_decode(&none, body.data, body.len), -EPROTO);
}

static void round_trip_of_networks(void **state)
{
	(void)state;
	for (int network = PLAN_NETWORK_NONE; network <= PLAN_NETWORK_HOST; network++) {
		const struct plan p = { .network = network, .n_ports = PLAN_PORTS_MAX };
		auto_plan *got = NULL;
		auto_buffer body = { 0 };

		assert_int_equal(plan_encode(&p, &body), 0);
		assert_int_equal(plan_decode(&got, body.data, body.len), 0);
		same_network(got, &p);
	}
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
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct plan_entry entry = bad[i];
		const struct plan p = { .entries = &entry, .n = 1 };
		auto_buffer body = { 0 };

		assert_int_equal(plan_encode(&p, &body), 0);
		assert_int_equal(decode(body.data, body.len), -EPROTO);
	}
}

/* Counts that there is no room for, and what no count announces. */
static void bad_network(void **state)
{
	static struct plan_literal none[] = { { { .bits = 32 }, 0 } };
	static struct plan_literal odd[] = { { { .bits = 64 }, 1 } };
	const struct plan bad[] = {
		{ .network = PLAN_NETWORK_HOST + 1 },
		{ .n_ports = PLAN_PORTS_MAX + 1 },
		{ .n_ports = UINT32_MAX },
		{ .n_loopback = PLAN_RANGES_MAX + 1 },
		{ .n_loopback = UINT32_MAX },
		{ .literals = none, .n_literals = 1 },
		{ .literals = odd, .n_literals = 1 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		auto_buffer body = { 0 };

		assert_int_equal(plan_encode(&bad[i], &body), 0);
		assert_int_equal(decode(body.data, body.len), -EPROTO);
	}
}

static void too_many_literals(void **state)
{
	static struct plan_literal many[PLAN_LITERALS_MAX + 1];
	struct plan p = { .literals = many, .n_literals = PLAN_LITERALS_MAX };
	auto_buffer body = { 0 };

	(void)state;
	for (size_t i = 0; i <= PLAN_LITERALS_MAX; i++)
		many[i] = literals[0];
	assert_int_equal(plan_encode(&p, &body), 0);
	assert_int_equal(decode(body.data, body.len), 0);
	p.n_literals++;
	assert_int_equal(plan_encode(&p, &body), -E2BIG);
	p.n_literals = 0;
	p.n_listeners = PLAN_LISTENERS_MAX + 1;
	assert_int_equal(plan_encode(&p, &body), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(refused_stand_ins),
		cmocka_unit_test(round_trip_of_skill),
		cmocka_unit_test(round_trip_of_broker),
		cmocka_unit_test(round_trip_of_worker),
		cmocka_unit_test(round_trip_of_networks),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(changed),
		cmocka_unit_test(incomplete),
		cmocka_unit_test(bad_network),
		cmocka_unit_test(too_many_literals),
	};

	return cmocka_run_group_tests_name("plan-wire", tests, NULL, NULL);
}
