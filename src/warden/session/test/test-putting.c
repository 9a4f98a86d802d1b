/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "test/unit.h"
#include "warden/session/putting.h"

static int grant_result, change_result;
static uint32_t n_changed; /* grants in the last change of the network */

int __wrap_session_grant(struct session *s, uint64_t id, const struct live_grant *g, size_t n);
int __wrap_session_change(struct session *s, uint64_t id, const void *body, size_t len);

int __wrap_session_grant(struct session *s, uint64_t id, const struct live_grant *g, size_t n)
{
	(void)s;
	(void)id;
	(void)g;
	(void)n;
	return grant_result;
}

int __wrap_session_change(struct session *s, uint64_t id, const void *body, size_t len)
{
	static struct change c;

	(void)s;
	(void)id;
	assert_int_equal(change_decode(&c, body, len), 0);
	n_changed = c.n_grants;
	return change_result;
}

static const struct live_grant grants[] = {
	{ .op = OPERATION_NET_CONNECT, .pattern = "a.example.com:443" },
	{ .op = OPERATION_FS_READ, .pattern = "/tmp/x" },
};

static int put(struct session_putting *p, int broker, int relay)
{
	static struct change c;
	int r;

	c = (struct change){ .text = "{}", .n_grants = 7 };
	grant_result = broker;
	change_result = relay;
	session_putting_begin(p, p->id + 1);
	r = session_putting_grants(p, NULL, grants, 2);
	return r < 0 ? r : session_putting_network(p, NULL, &c, grants, 2);
}

static struct session_event answer(enum session_event_kind kind, uint64_t id, const char *refusal)
{
	return (struct session_event){ .kind = kind,
		.id = id,
		.refusal = { .error = refusal ? EACCES : 0, .text = refusal } };
}

/* Only the relay's own grants reach it, and both are waited for, in any order. */
static void both_answer(void **state)
{
	struct session_putting p = { 0 };
	struct session_event policy, given;

	(void)state;
	for (int first = 0; first < 2; first++) {
		assert_int_equal(put(&p, 0, 0), 0);
		assert_int_equal(n_changed, 1);
		policy = answer(SESSION_POLICY, p.id, NULL);
		given = answer(SESSION_GRANTS, p.id, NULL);
		assert_false(session_putting_heard(&p, first ? &policy : &given));
		assert_true(session_putting_waits(&p));
		assert_false(session_putting_heard(&p, first ? &policy : &given));
		assert_true(session_putting_heard(&p, first ? &given : &policy));
		assert_int_equal(p.code, 0);
		assert_false(session_putting_waits(&p));
	}
}

/* What is said of another change settles nothing; a refusal of either is the change's. */
static void others_do_not_count(void **state)
{
	struct session_putting p = { 0 };
	struct session_event e;

	(void)state;
	assert_int_equal(put(&p, 0, 0), 0);
	e = answer(SESSION_POLICY, p.id + 1, NULL);
	assert_false(session_putting_heard(&p, &e));
	e = answer(SESSION_EXITED, p.id, NULL);
	assert_false(session_putting_heard(&p, &e));
	assert_true(p.relay_waits && p.broker_waits);
	e = answer(SESSION_POLICY, p.id, "first");
	assert_false(session_putting_heard(&p, &e));
	e = answer(SESSION_GRANTS, p.id, "second");
	assert_true(session_putting_heard(&p, &e));
	assert_int_equal(p.code, -EACCES);
	assert_string_equal(p.why.text, "first");
}

/* One that is started again has all grants: its end is an answer, and no refusal. */
static void broker_ends(void **state)
{
	struct session_putting p = { 0 };
	struct session_event e;

	(void)state;
	assert_int_equal(put(&p, 0, -ENOTCONN), -ENOTCONN);
	assert_false(p.relay_waits);
	e = answer(SESSION_BROKER, 0, "it ended");
	assert_true(session_putting_heard(&p, &e));
	assert_int_equal(p.code, 0);
	assert_false(session_putting_heard(&p, &e));
	assert_int_equal(put(&p, -EAGAIN, 0), -EAGAIN);
	assert_false(session_putting_waits(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_answer),
		cmocka_unit_test(others_do_not_count),
		cmocka_unit_test(broker_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
