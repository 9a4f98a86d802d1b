/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "holder/live-ceiling.h"
#include "policy/format/manifest.h"
#include "test/sleeping.h"

enum { HOUR_MS = 3600 * 1000 };

/* A sandbox that carries out each order. */
struct stage {
	struct permissions *permissions;
	const struct permissions *layer;
	struct holder_join join;
	struct holder_live live;
	unsigned n_puts, n_answers, n_failed, n_revoked, n_described, n_over, n_refused;
	size_t n_last; /* grants of the last change */
};

static void stage_answer(void *context, uint64_t asker, const struct answer *a)
{
	struct stage *s = context;

	(void)asker;
	(void)a;
	s->n_answers++;
}

static int stage_put(void *context, const struct live_grant *grants, size_t n, struct error *e)
{
	struct stage *s = context;

	(void)grants;
	(void)e;
	s->n_puts++;
	s->n_last = n;
	return 0;
}

static void stage_fail(void *context, const char *why)
{
	struct stage *s = context;

	(void)why;
	s->n_failed++;
}

static void stage_note(void *context, const struct audit_event *event)
{
	struct stage *s = context;

	s->n_revoked += strncmp(event->reason, "revoked", 7) == 0;
}

static void stage_over(void *context, uint64_t question, enum question_end how)
{
	struct stage *s = context;

	assert_int_not_equal(question, 0);
	(void)how;
	s->n_over++;
}

static void stage_refused(void *context, uint64_t question, const char *why)
{
	struct stage *s = context;

	assert_int_not_equal(question, 0);
	assert_true(why[0]);
	s->n_refused++;
}

static void stage_describe(void *context)
{
	struct stage *s = context;

	s->n_described++;
}

static void stage_begin(struct stage *s)
{
	static const char text[] = "fs: {read: [/srv/**]}\n";
	const struct holder_live_hooks hooks = { .answer = stage_answer,
		.put = stage_put,
		.fail = stage_fail,
		.describe = stage_describe,
		.note = stage_note,
		.over = stage_over,
		.refused = stage_refused,
		.context = s };
	struct holder_live_ceiling ceiling = { .layers = &s->layer, .n_layers = 1 };
	struct manifest m;

	*s = (struct stage){ .join = HOLDER_JOIN_NONE };
	assert_int_equal(
		manifest_read(&m, MANIFEST_UNKNOWN, "x.yaml", text, strlen(text), NULL), 0);
	s->layer = s->permissions = m.permissions;
	holder_live_init(&s->live, &s->join, &hooks, &ceiling);
}

static void stage_end(struct stage *s)
{
	assert_int_equal(s->n_failed, 0);
	holder_live_deinit(&s->live);
	permissions_free(s->permissions);
}

static void stage_order(struct stage *s, enum frame_type type, const void *body, size_t len)
{
	s->join.handler.order(s->join.handler.context, type, 1, body, len);
}

static void stage_grant(struct stage *s, const char *pattern, uint64_t ms)
{
	const struct live_grant g = {
		.op = OPERATION_FS_READ, .until_ms = ms, .by = GRANT_BY_API, .pattern = pattern
	};
	auto_buffer body = { 0 };

	assert_int_equal(live_grant_encode(&g, &body), 0);
	stage_order(s, FRAME_GRANT, body.data, body.len);
}

/* The time of whatever has one is over: a clock would decide otherwise on a slow machine. */
static void stage_expire(struct stage *s)
{
	for (size_t i = 0; i < s->live.n_grants; i++)
		if (s->live.grants[i].g.ends_ms)
			s->live.grants[i].g.ends_ms = 1;
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		if (s->live.questions[i].id)
			s->live.questions[i].until_ms = 1;
}

/* The change that was under way still had it, and as many orders wait as may. */
static void test_over_meanwhile(void **state)
{
	const uint64_t unknown = 999;
	struct stage s;

	(void)state;
	stage_begin(&s);
	stage_grant(&s, "/srv/a", HOUR_MS);
	holder_live_settled(&s.live, 0, "");
	stage_grant(&s, "/srv/b", 0);
	assert_int_equal(s.n_last, 2);
	for (unsigned i = 0; i < HOLDER_LIVE_ORDERS_MAX + 2; i++)
		stage_order(&s, FRAME_REVOKE, &unknown, sizeof(unknown));
	stage_expire(&s);
	holder_live_tick(&s.live);
	holder_live_tick(&s.live);
	assert_int_equal(s.n_puts, 2);
	assert_int_equal(holder_live_wait_ms(&s.live, -1), -1);

	/* It is in force until it has been left out. */
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(s.n_revoked, 0);
	assert_int_equal(s.live.n_grants, 2);
	assert_int_equal(s.n_puts, 3);
	assert_int_equal(s.n_last, 1);
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(s.n_revoked, 1);
	assert_int_equal(s.live.n_grants, 1);
	assert_false(s.live.is_busy);
	stage_end(&s);
}

/* One that is over before it is in force is not waited for, and ends after that. */
static void test_over_before(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s);
	stage_grant(&s, "/srv/a", HOUR_MS);
	stage_expire(&s);
	holder_live_tick(&s.live);
	assert_int_equal(holder_live_wait_ms(&s.live, -1), -1);
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(holder_live_wait_ms(&s.live, -1), 0);
	holder_live_tick(&s.live);
	assert_int_equal(s.n_last, 0);
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(s.live.n_grants, 0);
	stage_end(&s);
}

/* Time passes while the machine sleeps. */
static void test_machine_slept(void **state)
{
	const struct question q = {
		.op = OPERATION_FS_READ, .wait_ms = HOUR_MS, .target = "/srv/b"
	};
	struct stage s;

	(void)state;
	stage_begin(&s);
	stage_grant(&s, "/srv/a", HOUR_MS);
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(holder_live_ask(&s.live, 7, &q), 0);
	holder_live_tick(&s.live);
	assert_false(s.live.grants[0].is_over);
	sleeping_s += 8 * 3600;
	assert_int_equal(holder_live_wait_ms(&s.live, -1), 0);
	holder_live_tick(&s.live);
	assert_int_equal(s.n_last, 0);
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(s.live.n_grants, 0);
	assert_int_equal(holder_live_wait_ms(&s.live, -1), -1);
	stage_end(&s);
}

/* A question is not answered after its time, whether or not who asked has said so. */
static void test_question_over(void **state)
{
	const struct question q = { .op = OPERATION_FS_READ,
		.wait_ms = HOUR_MS,
		.n_scopes = 1,
		.target = "/srv/a",
		.program = "fs.read",
		.rule = "",
		.reason = "",
		.scopes = { "/srv/a" } };
	struct answer a = { .kind = ANSWER_ONCE, .pattern = "" };
	auto_buffer body = { 0 };
	struct stage s;

	(void)state;
	stage_begin(&s);
	assert_int_equal(holder_live_ask(&s.live, 7, &q), 0);
	a.question = s.live.questions[0].id;
	assert_int_equal(answer_encode(&a, &body), 0);
	assert_in_range(holder_live_wait_ms(&s.live, -1), 0, HOUR_MS);
	stage_expire(&s);
	holder_live_tick(&s.live);
	assert_int_equal(holder_live_wait_ms(&s.live, -1), -1);
	stage_order(&s, FRAME_ANSWER, body.data, body.len);
	assert_int_equal(s.n_answers, 0);
	stage_end(&s);
}

/* The user answers where the sandbox runs, with no daemon; the checks are the same. */
static void test_answer_here(void **state)
{
	const struct question q = { .op = OPERATION_FS_READ,
		.wait_ms = HOUR_MS,
		.n_scopes = 1,
		.target = "/srv/a",
		.scopes = { "/srv/a" } };
	struct answer a = { .kind = ANSWER_ALLOW, .pattern = "/srv/**" };
	struct stage s;

	(void)state;
	stage_begin(&s);
	assert_null(holder_live_next(&s.live, 0));
	assert_int_equal(holder_live_ask(&s.live, 7, &q), 0);
	assert_int_equal(holder_live_ask(&s.live, 8, &q), 0);
	a.question = holder_live_next(&s.live, 0)->id;
	assert_true(holder_live_next(&s.live, a.question)->id > a.question);
	/* A scope that was not offered. */
	holder_live_answer(&s.live,
		&(struct answer){
			.question = a.question, .kind = ANSWER_ALLOW, .pattern = "/etc/**" });
	assert_int_equal(s.n_answers, 0);
	assert_int_equal(s.n_refused, 1);
	a.pattern = "";
	holder_live_answer(&s.live, &a);
	holder_live_settled(&s.live, 0, "");
	assert_int_equal(s.n_answers, 1);
	assert_int_equal(s.n_over, 1);
	assert_int_equal(s.live.n_grants, 1);
	/* It is answered once. */
	holder_live_answer(&s.live, &a);
	assert_int_equal(s.n_answers, 1);
	assert_int_equal(s.n_refused, 2);
	stage_end(&s);
}

/* A daemon cannot take the place of the user here. */
static void test_order_of_here(void **state)
{
	const struct question q = {
		.op = OPERATION_FS_READ, .wait_ms = HOUR_MS, .target = "/srv/a"
	};
	struct answer a = { .kind = ANSWER_ONCE, .pattern = "" };
	auto_buffer body = { 0 };
	struct stage s;

	(void)state;
	stage_begin(&s);
	assert_int_equal(holder_live_ask(&s.live, 7, &q), 0);
	a.question = holder_live_next(&s.live, 0)->id;
	assert_int_equal(answer_encode(&a, &body), 0);
	s.join.handler.order(s.join.handler.context, FRAME_ANSWER, UINT64_MAX, body.data, body.len);
	assert_int_equal(s.n_answers, 0);
	assert_int_equal(s.n_refused, 0);
	stage_end(&s);
}

/* A daemon that has let us in hears what the sandbox may do, but not of one that is over by then:
 * that takes longer than the command. */
static void test_describe_later(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s);
	s.join.handler.joined(s.join.handler.context);
	assert_int_equal(s.n_described, 0);
	assert_in_range(holder_live_wait_ms(&s.live, -1), 0, HOLDER_LIVE_DESCRIBE_MS);
	s.live.describe_ms = UINT64_MAX;
	holder_live_tick(&s.live);
	assert_int_equal(s.n_described, 0);
	s.live.describe_ms = 1;
	holder_live_tick(&s.live);
	holder_live_tick(&s.live);
	assert_int_equal(s.n_described, 1);
	assert_int_equal(holder_live_wait_ms(&s.live, -1), -1);
	stage_end(&s);
}

/* All of a refusal is there: what is left out of the list is counted. */
static void test_refusal_is_whole(void **state)
{
	struct holder_live_ceiling ceiling = { .n_layers = 1 };
	struct live_grant g = { .op = OPERATION_FS_READ, .pattern = "/elsewhere/x" };
	auto_buffer text = { 0 };
	const struct permissions *layer;
	struct manifest m;
	auto_arena a = { 0 };
	struct error e = { 0 };

	(void)state;
	buffer_adds(&text, "fs: {read: [");
	for (unsigned i = 0; i < 40; i++)
		buffer_printf(&text, "%s/srv/a-folder-with-a-name-%u/**", i ? ", " : "", i);
	buffer_adds(&text, "]}\n");
	assert_int_equal(
		manifest_read(&m, MANIFEST_UNKNOWN, "x.yaml", buffer_text(&text), text.len, NULL),
		0);
	layer = m.permissions;
	ceiling.layers = &layer;
	assert_int_equal(live_ceiling_check(&ceiling, &g, &a, &e), -EPERM);
	assert_non_null(strstr(e.text, "/srv/a-folder-with-a-name-0/**, "));
	assert_non_null(strstr(e.text, " and 3"));
	assert_string_equal(e.text + strlen(e.text) - strlen(" more"), " more");
	/* Below it, but of no use. */
	g.pattern = "/etc/shadow";
	e = (struct error){ 0 };
	permissions_free(m.permissions);
	assert_int_equal(manifest_read(&m, MANIFEST_UNKNOWN, "x.yaml", "fs: {read: [/etc/**]}\n",
				 strlen("fs: {read: [/etc/**]}\n"), NULL),
		0);
	layer = m.permissions;
	assert_int_equal(live_ceiling_check(&ceiling, &g, &a, &e), -EPERM);
	assert_non_null(strstr(e.text, "stays denied"));
	assert_non_null(strstr(e.text, "the baseline denies /etc/shadow"));
	permissions_free(m.permissions);
}

/* What an answer can be about: all that was asked for is in each of these. */
static void test_scopes(void **state)
{
	static const char text[] =
		"rules: [{id: a, action: ask, operations: [net.connect], patterns: "
		"['www.example.com:443', '127.0.0.1:80', '*.example.com', '*.example.net:443']}, "
		"{id: b, action: ask, operations: [net.connect], patterns: ['api.example.org:80', "
		"'http://api.example.org/v1/**', 'http://api.example.org/v2/**']}, "
		"{id: c, action: ask, operations: [fs.read], patterns: ['/srv/a/**', '/srv/b/**', "
		"'/srv/**']}, {id: d, action: ask, operations: [exec], patterns: ['/bin/ls', "
		"'/bin/cat']}]\n";
	static const struct {
		uint32_t op;
		const char *asked, *scopes;
	} rows[] = {
		{ OPERATION_NET_CONNECT, "www.example.com:443",
			"www.example.com:443 *.example.com:* " },
		{ OPERATION_NET_CONNECT, "a.example.net:443",
			"a.example.net:443 *.example.net:443 " },
		{ OPERATION_NET_CONNECT, "127.0.0.1:80", "127.0.0.1:80 " },
		{ OPERATION_NET_CONNECT, "GET http://api.example.org/v2/x",
			"GET http://api.example.org/v2/x api.example.org:80 "
			"http://api.example.org/v2/** " },
		{ OPERATION_FS_READ, "/srv/b/x/y", "/srv/b/x/y /srv/b/x/** /srv/b/** /srv/** " },
		{ OPERATION_EXEC, "/bin/cat", "/bin/cat " },
	};
	struct holder_live_ceiling ceiling = { .n_layers = 1 };
	const struct permissions *layer;
	struct manifest m;

	(void)state;
	assert_int_equal(
		manifest_read(&m, MANIFEST_UNKNOWN, "x.yaml", text, strlen(text), NULL), 0);
	layer = m.permissions;
	ceiling.layers = &layer;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct question q = { .op = rows[i].op,
			.n_scopes = 1,
			.target = rows[i].asked,
			.scopes = { rows[i].asked } };
		auto_buffer scopes = { 0 };
		auto_arena a = { 0 };

		assert_int_equal(live_ceiling_widen(&ceiling, &q, &a), 0);
		for (size_t k = 0; k < q.n_scopes; k++)
			buffer_printf(&scopes, "%s ", q.scopes[k]);
		assert_string_equal(buffer_text(&scopes), rows[i].scopes);
	}
	permissions_free(m.permissions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_over_meanwhile),
		cmocka_unit_test(test_over_before),
		cmocka_unit_test(test_machine_slept),
		cmocka_unit_test(test_question_over),
		cmocka_unit_test(test_answer_here),
		cmocka_unit_test(test_order_of_here),
		cmocka_unit_test(test_describe_later),
		cmocka_unit_test(test_refusal_is_whole),
		cmocka_unit_test(test_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
