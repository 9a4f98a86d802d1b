/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and their answers: each call is recorded once, with the status of its answer; the record of
 * a change is committed before the answer goes; wrong links are counted together; no call stays
 * without an answer.
 */
#include "daemon/supervisor/test/test-link.h"

#include <stdio.h>

#include "daemon/api/api.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/test/test-clock.h"
#include "test/failing.h"

FAILING_REALLOC

enum { FIRST = 50 };

/* What was recorded. */
struct call_row {
	char target[64], rule[16], reason[128];
	enum audit_decision decision;
	int64_t status;
	uint64_t count;
};

static struct call_row rows[API_CALLS_MAX + 8];
static size_t n_rows, n_commits;
static bool is_log_full;

uint64_t __wrap_journal_record(struct supervisor *s, const struct audit_event *e);
uint64_t __wrap_journal_record(struct supervisor *s, const struct audit_event *e)
{
	struct call_row *r = &rows[n_rows++];

	assert_ptr_equal(s, link_s);
	assert_true(n_rows <= ROWS(rows));
	assert_int_equal(e->action, AUDIT_SERVICE);
	assert_string_equal(e->program, "corrald-http");
	assert_true(e->exact);
	*r = (struct call_row){ .decision = e->decision, .status = e->status, .count = e->count };
	(void)snprintf(r->target, sizeof(r->target), "%s", e->target);
	(void)snprintf(r->rule, sizeof(r->rule), "%s", e->rule);
	(void)snprintf(r->reason, sizeof(r->reason), "%s", e->reason);
	return n_rows;
}

int __wrap_journal_commit(struct supervisor *s, struct error *e);
int __wrap_journal_commit(struct supervisor *s, struct error *e)
{
	assert_ptr_equal(s, link_s);
	assert_null(e);
	/* The record is there, and the answer has not gone yet. */
	assert_true(n_rows > 0);
	link_expect_event(FIRST + n_rows - 1, "api_request", NULL);
	assert_null(link_receive());
	n_commits++;
	return is_log_full ? -ENOSPC : 0;
}

static int setup(void **state)
{
	link_setup(state);
	link_s->bus.first_id = link_s->bus.next_id = FIRST;
	n_rows = n_commits = 0;
	is_log_full = false;
	return 0;
}

static int teardown(void **state)
{
	loop_stop(link_s->loop, &link_s->api.wrong_links.second);
	return link_teardown(state);
}

static void begin(size_t place, enum route_id route, uint64_t id, bool by_unix)
{
	link_s->api.calls[place] = (struct api_pending){ &routes[route], id, by_unix };
}

static void expect_row(size_t i, const struct call_row *r)
{
	assert_true(i < n_rows);
	assert_string_equal(rows[i].target, r->target);
	assert_string_equal(rows[i].rule, r->rule);
	assert_string_equal(rows[i].reason, r->reason);
	assert_int_equal(rows[i].decision, r->decision);
	assert_int_equal(rows[i].status, r->status);
	assert_int_equal(rows[i].count, r->count);
}

static void test_reply(void **state)
{
	(void)state;
	begin(3, ROUTE_STATUS, 7, true);
	api_reply(link_s, 7, 200, "{}\n", 3);
	expect_row(
		0, &(struct call_row){ "GET /api/status", "api.sock", "", AUDIT_ALLOWED, 200, 1 });
	link_expect_event(FIRST, "api_request",
		"{\"request\":\"GET /api/status\",\"status\":200,\"channel\":\"unix\","
		"\"count\":1,\"reason\":\"\"}");
	link_expect_answer(7, 200, "{}\n");
	assert_null(link_receive());
	assert_int_equal(n_commits, 0);
	assert_null(link_s->api.calls[3].route);
	assert_int_equal(link_s->api.metrics.requests[2], 1);
	/* The caller flushes: to flush here could start another corrald-http. */
	assert_int_equal(link_flushed, 0);
}

static void test_fail(void **state)
{
	static const struct {
		unsigned status;
		enum audit_decision decision;
	} cases[] = { { 400, AUDIT_DENIED }, { 403, AUDIT_DENIED }, { 499, AUDIT_DENIED },
		{ 500, AUDIT_FAILED }, { 503, AUDIT_FAILED } };

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		begin(0, ROUTE_POLICY_PUT, i + 1, false);
		api_fail(link_s, i + 1, cases[i].status, "no \"such\"\nthing");
		expect_row(
			i, &(struct call_row){ "PUT /api/policies/{name}", "loopback",
				   "no \"such\"\nthing", cases[i].decision, cases[i].status, 1 });
		link_expect_event(FIRST + i, "api_request", NULL);
		link_expect_answer(
			i + 1, cases[i].status, "{\"error\":\"no \\\"such\\\"\\nthing\"}\n");
		assert_null(link_receive());
	}
	/* What was refused changed nothing: nothing is waited for. */
	assert_int_equal(n_commits, 0);
	assert_int_equal(link_s->api.metrics.requests[4], 3);
	assert_int_equal(link_s->api.metrics.requests[5], 2);
}

/* The record of a change is committed before its answer goes; the log may be full by then: what was
 * done is answered as done. */
static void test_commit(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		is_log_full = i == 1;
		begin(0, i ? ROUTE_REVOKE : ROUTE_ANSWER, i + 1, false);
		api_reply(link_s, i + 1, 200, "{}", 2);
		assert_int_equal(n_commits, i + 1);
		link_expect_answer(i + 1, 200, "{}");
		assert_null(link_receive());
	}
}

/* An answer is recorded once, and only of a call that there is. */
static void test_once(void **state)
{
	(void)state;
	begin(0, ROUTE_STATUS, 1, false);
	begin(API_CALLS_MAX - 1, ROUTE_DOCTOR, 2, false);
	api_answered(link_s, 3, 200, "");
	assert_int_equal(n_rows, 0);
	api_answered(link_s, 2, 200, "");
	api_answered(link_s, 2, 500, "again");
	assert_int_equal(n_rows, 1);
	expect_row(
		0, &(struct call_row){ "GET /api/doctor", "loopback", "", AUDIT_ALLOWED, 200, 1 });
	assert_non_null(link_s->api.calls[0].route);
	assert_null(link_s->api.calls[API_CALLS_MAX - 1].route);
}

/* A place that is free has the id of the call that it had. */
static void test_free_place(void **state)
{
	(void)state;
	begin(0, ROUTE_STATUS, 9, false);
	api_answered(link_s, 9, 200, "");
	begin(1, ROUTE_DOCTOR, 9, true);
	api_answered(link_s, 9, 200, "");
	assert_int_equal(n_rows, 2);
	assert_string_equal(rows[1].target, "GET /api/doctor");
	assert_string_equal(rows[1].rule, "api.sock");
}

/* Without corrald-http there is none to answer; its calls were recorded when it ended. */
static void test_no_process(void **state)
{
	(void)state;
	begin(0, ROUTE_STATUS, 1, false);
	begin(1, ROUTE_SHELL_EXEC, 2, true);
	link_s->http.child.pid = 0;
	api_forget_calls(link_s);
	assert_int_equal(n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(rows[i].status, 503);
		assert_int_equal(rows[i].decision, AUDIT_FAILED);
		assert_non_null(strstr(rows[i].reason, "may have been carried out"));
	}
	api_reply(link_s, 1, 200, "{}", 2);
	api_fail(link_s, 2, 500, "too late");
	api_forget_calls(link_s);
	assert_int_equal(n_rows, 2);
	assert_int_equal(n_commits, 0);
	assert_false(link_s->http.out.broken);
	link_s->http.child.pid = getpid();
	assert_null(link_receive());
}

static void test_forget_all(void **state)
{
	(void)state;
	link_s->http.child.pid = 0;
	for (size_t i = 0; i < API_CALLS_MAX; i++)
		begin(i, ROUTE_STATUS, i, false);
	api_forget_calls(link_s);
	assert_int_equal(n_rows, API_CALLS_MAX);
	for (size_t i = 0; i < API_CALLS_MAX; i++)
		assert_null(link_s->api.calls[i].route);
	link_s->http.child.pid = getpid();
}

/* An answer that is too long, or has no status, is an error of ours: the client learns so. */
static void test_too_long(void **state)
{
	const size_t len = MESSAGE_JSON_MAX + 1;
	char *json = malloc(len);

	(void)state;
	assert_non_null(json);
	memset(json, ' ', len);
	begin(0, ROUTE_AUDIT, 1, false);
	api_reply(link_s, 1, 200, json, len);
	expect_row(0, &(struct call_row){ "GET /api/audit", "loopback", "the answer is too long",
			      AUDIT_FAILED, 500, 1 });
	link_expect_event(FIRST, "api_request", NULL);
	link_expect_answer(1, 500, "{\"error\":\"the answer is too long\"}\n");
	assert_null(link_receive());

	/* At the bound it goes, by a memfd. */
	begin(0, ROUTE_AUDIT, 2, false);
	api_reply(link_s, 2, 200, json, len - 1);
	link_expect_event(FIRST + 1, "api_request", NULL);
	assert_non_null(link_receive());
	assert_int_equal(link_frame.type, FRAME_API_ANSWER);
	assert_int_equal(link_frame.len, len - 1 + sizeof(uint32_t));
	assert_int_equal(n_rows, 2);
	free(json);
}

static void test_send(void **state)
{
	auto_buffer json = { 0 };

	(void)state;
	buffer_adds(&json, "[]");
	begin(0, ROUTE_RULES, 1, false);
	api_send(link_s, 1, &json);
	link_expect_event(FIRST, "api_request", NULL);
	link_expect_answer(1, 200, "[]");

	begin(0, ROUTE_RULES, 2, false);
	json.failed = true;
	api_send(link_s, 2, &json);
	link_expect_event(FIRST + 1, "api_request", NULL);
	link_expect_answer(2, 503, "{\"error\":\"out of memory\"}\n");
	assert_int_equal(rows[1].status, 503);
}

/* Whether corrald-http got an answer to this call, and with which status; 0: none. */
static unsigned answered_with(uint64_t id)
{
	unsigned status = 0;

	while (link_receive()) {
		struct message_answer a;

		if (link_frame.type != FRAME_API_ANSWER)
			continue;
		assert_int_equal(status, 0);
		assert_int_equal(link_frame.id, id);
		assert_int_equal(message_answer_decode(&a, link_frame.body, link_frame.len), 0);
		status = a.status;
	}
	return status;
}

/*
 * Whichever allocation fails: the call has one answer and one record, or the link is broken and
 * with it the call is over. Never is there a call that corrald-http waits for without end.
 */
static void test_memory(void **state)
{
	const char *const json = "{\"a\": 1}";

	(void)state;
	for (size_t stays = 0; stays < 2; stays++)
		for (long n = 0;; n++) {
			const size_t before = n_rows;
			unsigned status;
			bool failed;

			begin(0, ROUTE_STATUS, 1, false);
			failing_stays = stays;
			failing_start(n);
			api_reply(link_s, 1, 200, json, strlen(json));
			failed = failing_stop();
			failing_stays = false;
			status = answered_with(1);
			assert_true(status == 200 || status == 503 || link_s->http.out.broken);
			assert_true(!link_s->http.out.broken || status == 0);
			assert_int_equal(n_rows, before + 1);
			assert_null(link_s->api.calls[0].route);
			link_s->http.out.broken = false;
			if (!failed) {
				assert_int_equal(status, 200);
				assert_true(n > 0);
				break;
			}
		}
}

static void test_memory_of_failure(void **state)
{
	(void)state;
	for (long n = 0;; n++) {
		bool failed;
		unsigned status;

		begin(0, ROUTE_STATUS, 1, false);
		failing_stays = true;
		failing_start(n);
		api_fail(link_s, 1, 404, "there is none");
		failed = failing_stop();
		failing_stays = false;
		status = answered_with(1);
		assert_int_equal(status, link_s->http.out.broken ? 0 : 404);
		link_s->http.out.broken = false;
		if (!failed) {
			assert_int_equal(status, 404);
			break;
		}
	}
}

/* Wrong links */

static void wrong_link(uint64_t id, bool by_unix)
{
	begin(0, ROUTE_LOGIN, id, by_unix);
	api_answered(link_s, id, 401, API_WRONG_LINK);
	assert_null(link_s->api.calls[0].route);
	while (link_receive())
		;
}

/* So many are recorded one by one; those behind them as one, when the second is over. */
static void test_wrong_links(void **state)
{
	(void)state;
	for (size_t i = 0; i < API_WRONG_LINKS_MAX + 500; i++)
		wrong_link(i + 1, i >= API_WRONG_LINKS_MAX);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX);
	clock_pass(link_s->loop, 999);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX);
	clock_pass(link_s->loop, 1);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX + 1);
	expect_row(API_WRONG_LINKS_MAX, &(struct call_row){ "POST /api/login", "api.sock",
						API_WRONG_LINK, AUDIT_DENIED, 401, 500 });
	assert_int_equal(link_s->api.metrics.requests[4], API_WRONG_LINKS_MAX + 500);
	/* The next second begins with the next one. */
	clock_pass(link_s->loop, 5000);
	wrong_link(1000, false);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX + 2);
	assert_int_equal(rows[n_rows - 1].count, 1);
	clock_pass(link_s->loop, 1000);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX + 2);
}

/* Other answers of the same route, and the same answer of others, are recorded at once. */
static void test_not_wrong_links(void **state)
{
	(void)state;
	for (size_t i = 0; i < API_WRONG_LINKS_MAX + 5; i++)
		wrong_link(i + 1, false);
	begin(0, ROUTE_LOGIN, 100, false);
	api_answered(link_s, 100, 200, "");
	begin(0, ROUTE_LOGIN_CODE, 101, false);
	api_answered(link_s, 101, 401, "no");
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX + 2);
}

/* corrald-http ends within the second: what was counted is not lost, and not counted twice. */
static void test_wrong_links_at_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < API_WRONG_LINKS_MAX + 3; i++)
		wrong_link(i + 1, false);
	api_forget_calls(link_s);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX + 1);
	assert_int_equal(rows[API_WRONG_LINKS_MAX].count, 3);
	clock_pass(link_s->loop, 2000);
	assert_int_equal(n_rows, API_WRONG_LINKS_MAX + 1);
}

/* Notes: requests that became no call. */
static void test_note(void **state)
{
	(void)state;
	api_note(link_s,
		&(struct message_note){
			.status = 401, .more = 4, .target = "GET /x", .reason = "no token" });
	expect_row(0, &(struct call_row){ "GET /x", "loopback", "no token", AUDIT_DENIED, 401, 5 });
	assert_int_equal(link_s->api.metrics.requests[4], 5);
	assert_true(link_said("refused GET /x: 401 no token"));
	/* The count does not wrap. */
	api_note(link_s, &(struct message_note){ .status = 200,
				 .more = UINT32_MAX,
				 .by_unix = true,
				 .target = "GET /",
				 .reason = "" });
	expect_row(1, &(struct call_row){ "GET /", "api.sock", "", AUDIT_ALLOWED, 200,
			      (uint64_t)UINT32_MAX + 1 });
}

#define CALLS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CALLS_TEST(test_reply),
		CALLS_TEST(test_fail),
		CALLS_TEST(test_commit),
		CALLS_TEST(test_once),
		CALLS_TEST(test_free_place),
		CALLS_TEST(test_no_process),
		CALLS_TEST(test_forget_all),
		CALLS_TEST(test_too_long),
		CALLS_TEST(test_send),
		CALLS_TEST(test_memory),
		CALLS_TEST(test_memory_of_failure),
		CALLS_TEST(test_wrong_links),
		CALLS_TEST(test_not_wrong_links),
		CALLS_TEST(test_wrong_links_at_end),
		CALLS_TEST(test_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
