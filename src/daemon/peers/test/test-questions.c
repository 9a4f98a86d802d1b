/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions and grants of sandboxes as the daemon shows them. The frames are real ones, encoded as
 * a holder encodes them; the events that go to clients are collected here, and the time of day is
 * the test's.
 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/questions.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/supervisor.h"
#include "test/failing.h"
#include "wire/question.h"

enum { MOST = 64 /* questions of one sandbox, and those that are remembered */ };

FAILING_CALLOC
FAILING(char *, arena_strdup, (struct arena * a, const char *s), a, s)

/* Time of day */

static uint64_t now_ms;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ .tv_sec = (time_t)(now_ms / 1000),
		.tv_nsec = (long)(now_ms % 1000) * 1000000 };
	return 0;
}

/* Events */

static struct {
	size_t n;
	char type[32];
	struct buffer json; /* of the last one */
} events;

void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json);
void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json)
{
	assert_non_null(s);
	events.n++;
	(void)snprintf(events.type, sizeof(events.type), "%s", type);
	buffer_clear(&events.json);
	buffer_adds(&events.json, json);
}

struct sandbox *__wrap_peers_find(const struct supervisor *s, const char *id);
struct sandbox *__wrap_peers_find(const struct supervisor *s, const char *id)
{
	sandboxes_for_each(b, s)
	{
		if (b->who.id && strcmp(b->who.id, id) == 0)
			return b;
	}
	return NULL;
}

/* Notifications */

static struct {
	size_t n;
	char words[256]; /* of the last one */
} shown;

int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r);
int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r)
{
	size_t at = 0;

	assert_non_null(s);
	assert_non_null(r->take);
	shown.n++;
	for (size_t i = 0; r->argv[i]; i++)
		at += (size_t)snprintf(
			shown.words + at, sizeof(shown.words) - at, "%s|", r->argv[i]);
	return -EBUSY;
}

/* Two sandboxes of one daemon */

struct world {
	struct supervisor s;
	struct sandbox a, b;
};

static int setup(void **state)
{
	struct world *w = __real_calloc(1, sizeof(*w));

	if (!w)
		return -1;
	link_init(&w->s.peers.sandboxes);
	w->a = (struct sandbox){ .s = &w->s,
		.who = { .id = "aaaaaaaa", .name = "skill", .command = "run it" } };
	w->b = (struct sandbox){ .s = &w->s,
		.who = { .id = "bbbbbbbb", .name = "other", .command = "sh" } };
	link_append(&w->s.peers.sandboxes, &w->a.link);
	link_append(&w->s.peers.sandboxes, &w->b.link);
	now_ms = 1000000;
	events.n = 0;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	(void)failing_stop();
	questions_free(&w->a);
	questions_free(&w->b);
	buffer_deinit(&events.json);
	free(w);
	return 0;
}

static int deliver(
	struct sandbox *b, enum frame_type type, uint64_t id, const void *body, size_t len)
{
	struct frame f = { .type = type, .id = id, .body = body, .len = len };

	return questions_on_frame(b, &f);
}

static const struct question reads = { .op = OPERATION_FS_READ,
	.pid = 7,
	.wait_ms = 5000,
	.n_scopes = 2,
	.target = "/etc/\"x\"",
	.program = "cat",
	.rule = "a.yaml:1",
	.reason = "why",
	.method = "",
	.scopes = { "/etc/x", "/etc/**" } };

static int ask(struct sandbox *b, uint64_t id, const struct question *q)
{
	auto_buffer body = { 0 };

	assert_int_equal(question_encode(q, &body), 0);
	return deliver(b, FRAME_QUESTION, id, body.data, body.len);
}

static int end(struct sandbox *b, uint64_t id, uint32_t how)
{
	return deliver(b, FRAME_QUESTION_OVER, id, &how, sizeof(how));
}

static int grant(struct sandbox *b, uint64_t id, const struct live_grant *g)
{
	auto_buffer body = { 0 };

	assert_int_equal(live_grant_encode(g, &body), 0);
	return deliver(b, FRAME_GRANTED, id, body.data, body.len);
}

static int grant_until(struct sandbox *b, uint64_t id, const char *pattern, uint64_t until_ms)
{
	return grant(b, id,
		&(struct live_grant){ .since_ms = 1000000,
			.until_ms = until_ms,
			.op = OPERATION_FS_READ,
			.by = GRANT_BY_ANSWER,
			.pattern = pattern });
}

static enum questions_state state_of(struct world *w, const char *id)
{
	struct sandbox *b = NULL;
	uint64_t number = 0;

	return questions_find(&w->s, id, &b, &number);
}

#define READS_TEXT(count, asked, expires)                                                         \
	"{\"id\":\"aaaaaaaa.3\",\"sandbox\":\"aaaaaaaa\",\"name\":\"skill\",\"command\":\"run "   \
	"it\",\"program\":\"cat\",\"method\":\"\",\"pid\":7,\"action\":\"fs.read\",\"target\":\"" \
	"/etc/\\\"x\\\"\",\"rule\":\"a.yaml:1\",\"reason\":\"why\",\"asked_ms\":" asked           \
	",\"expires_ms\":" expires ",\"count\":" count ",\"scopes\":[\"/etc/x\",\"/etc/**\"]}"

/* One question, from its asking to its answer: what clients read, and the events. */
static void test_question(void **state)
{
	struct world *w = *state;
	auto_buffer out = { 0 };

	assert_int_equal(questions_count(&w->a), 0);
	questions_print(&w->s, &out);
	assert_string_equal(out.data, "{\"questions\":[]}\n");
	assert_int_equal(ask(&w->a, 3, &reads), 0);
	assert_int_equal(questions_count(&w->a), 1);
	assert_int_equal(questions_count(&w->b), 0);
	assert_string_equal(events.type, "question");
	assert_string_equal(events.json.data,
		"{\"state\":\"asked\",\"question\":" READS_TEXT("1", "1000000", "1005000") "}");
	buffer_clear(&out);
	questions_print(&w->s, &out);
	assert_string_equal(
		out.data, "{\"questions\":[" READS_TEXT("1", "1000000", "1005000") "]}\n");
	assert_int_equal(end(&w->a, 3, QUESTION_ANSWERED), 0);
	assert_string_equal(events.json.data,
		"{\"state\":\"answered\",\"question\":" READS_TEXT("1", "1000000", "1005000") "}");
	assert_int_equal(questions_count(&w->a), 0);
	assert_int_equal(events.n, 2);
}

/* The same one again counts, and is waited for anew; it stays one. */
static void test_asked_again(void **state)
{
	struct world *w = *state;
	struct question other = reads;

	assert_int_equal(ask(&w->a, 3, &reads), 0);
	now_ms += 4000;
	other.target = "/etc/shadow";
	other.wait_ms = 1;
	assert_int_equal(ask(&w->a, 3, &other), 0);
	assert_int_equal(questions_count(&w->a), 1);
	/* What was shown before cannot be exchanged for something else. */
	assert_string_equal(events.json.data,
		"{\"state\":\"asked\",\"question\":" READS_TEXT("2", "1000000", "1004001") "}");
	assert_int_equal(end(&w->a, 3, QUESTION_EXPIRED), 0);
	/* After its end the number is a new question: counts begin anew. */
	assert_int_equal(ask(&w->a, 3, &reads), 0);
	assert_string_equal(events.json.data,
		"{\"state\":\"asked\",\"question\":" READS_TEXT("1", "1004000", "1009000") "}");
	assert_int_equal(state_of(w, "aaaaaaaa.3"), QUESTIONS_OPEN);
}

/* Its texts are copies: the frame they came in is used again. */
static void test_texts_are_copies(void **state)
{
	struct world *w = *state;
	auto_buffer body = { 0 }, out = { 0 };

	assert_int_equal(question_encode(&reads, &body), 0);
	assert_int_equal(deliver(&w->a, FRAME_QUESTION, 3, body.data, body.len), 0);
	memset(body.data, 'X', body.len);
	questions_print(&w->s, &out);
	assert_string_equal(
		out.data, "{\"questions\":[" READS_TEXT("1", "1000000", "1005000") "]}\n");
}

/* Texts as long as they may be do not fit into an event: it names the question, or the grant, so
 * that clients read it. */
static void test_long(void **state)
{
	struct world *w = *state;
	char text[QUESTION_TEXT_MAX + 1];
	struct question q = reads;
	auto_buffer out = { 0 };

	memset(text, 'x', QUESTION_TEXT_MAX);
	text[QUESTION_TEXT_MAX] = '\0';
	q.target = q.program = q.reason = q.scopes[0] = q.scopes[1] = text;
	assert_int_equal(ask(&w->a, 3, &q), 0);
	assert_string_equal(events.json.data,
		"{\"state\":\"asked\",\"question\":{\"id\":\"aaaaaaaa.3\",\"sandbox\":"
		"\"aaaaaaaa\"}}");
	questions_print(&w->s, &out);
	assert_true(out.len > MESSAGE_EVENT_MAX);
	assert_non_null(strstr(out.data, text));
	assert_int_equal(end(&w->a, 3, QUESTION_ANSWERED), 0);
	assert_non_null(strstr(events.json.data, "\"answered\""));
	/* Control characters are six bytes each in JSON. */
	memset(text, '\1', QUESTION_TEXT_MAX);
	assert_int_equal(grant_until(&w->a, 5, text, 0), 0);
	assert_string_equal(events.type, "grant");
	assert_string_equal(events.json.data,
		"{\"state\":\"granted\",\"grant\":{\"id\":\"aaaaaaaa.5\",\"sandbox\":"
		"\"aaaaaaaa\"}}");
	assert_int_equal(events.n, 3);
}

/* A full table refuses the next one as a broken rule, since holders have the same bound; those that
 * are there stay, and a place that becomes free is used. */
static void test_full_table(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 1; i <= MOST; i++)
		assert_int_equal(ask(&w->a, i, &reads), 0);
	assert_int_equal(questions_count(&w->a), MOST);
	assert_int_equal(ask(&w->a, MOST + 1, &reads), -EPROTO);
	assert_int_equal(questions_count(&w->a), MOST);
	assert_int_equal(ask(&w->a, MOST, &reads), 0);
	assert_int_equal(ask(&w->b, 1, &reads), 0);
	assert_int_equal(end(&w->a, 5, QUESTION_GIVEN_UP), 0);
	assert_int_equal(ask(&w->a, MOST + 1, &reads), 0);
	assert_int_equal(questions_count(&w->a), MOST);
}

/* An answer to a question that is over learns how it ended; the last MOST are remembered. */
static void test_past(void **state)
{
	struct world *w = *state;
	char id[64];

	assert_int_equal(ask(&w->a, 1, &reads), 0);
	assert_int_equal(end(&w->a, 1, QUESTION_ANSWERED), 0);
	assert_int_equal(ask(&w->a, 2, &reads), 0);
	assert_int_equal(end(&w->a, 2, QUESTION_EXPIRED), 0);
	assert_int_equal(ask(&w->a, 3, &reads), 0);
	assert_int_equal(end(&w->a, 3, QUESTION_GIVEN_UP), 0);
	assert_int_equal(state_of(w, "aaaaaaaa.1"), QUESTIONS_ANSWERED);
	assert_int_equal(state_of(w, "aaaaaaaa.2"), QUESTIONS_EXPIRED);
	assert_int_equal(state_of(w, "aaaaaaaa.3"), QUESTIONS_EXPIRED);
	for (uint64_t i = 4; i <= MOST; i++) {
		assert_int_equal(ask(&w->a, i, &reads), 0);
		assert_int_equal(end(&w->a, i, QUESTION_ANSWERED), 0);
	}
	assert_int_equal(state_of(w, "aaaaaaaa.1"), QUESTIONS_ANSWERED);
	assert_int_equal(ask(&w->a, 1000, &reads), 0);
	assert_int_equal(end(&w->a, 1000, QUESTION_ANSWERED), 0);
	assert_int_equal(state_of(w, "aaaaaaaa.1"), QUESTIONS_UNKNOWN);
	assert_int_equal(state_of(w, "aaaaaaaa.2"), QUESTIONS_EXPIRED);
	(void)snprintf(id, sizeof(id), "aaaaaaaa.%d", 1000);
	assert_int_equal(state_of(w, id), QUESTIONS_ANSWERED);
}

/* An end of what is not known is no error: it may have come before us. */
static void test_unknown_end(void **state)
{
	struct world *w = *state;

	assert_int_equal(end(&w->a, 9, QUESTION_ANSWERED), 0);
	assert_int_equal(end(&w->a, 0, QUESTION_ANSWERED), 0);
	assert_int_equal(deliver(&w->a, FRAME_GRANT_OVER, 9, NULL, 0), 0);
	assert_int_equal(deliver(&w->a, FRAME_GRANT_OVER, 0, NULL, 0), 0);
	assert_int_equal(events.n, 0);
	assert_int_equal(state_of(w, "aaaaaaaa.9"), QUESTIONS_UNKNOWN);
}

/* Ids are "SANDBOX.N" in one form only. */
static void test_ids(void **state)
{
	static const char *const bad[] = { "", ".", ".3", "3", "aaaaaaaa", "aaaaaaaa.",
		"aaaaaaaa.0", "aaaaaaaa.03", "aaaaaaaa.+3", "aaaaaaaa.-3", "aaaaaaaa. 3",
		"aaaaaaaa.3 ", "aaaaaaaa.3x", "aaaaaaaa.3.3", "aaaaaaaa.0x3",
		"aaaaaaaa.18446744073709551619", "aaaaaaaa.99999999999999999999999", "aaaaaaa.3",
		"aaaaaaaaa.3", "bbbbbbbb.3", "cccccccc.3",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.3" };
	struct world *w = *state;
	struct sandbox *b = NULL;
	uint64_t number = 0;

	assert_int_equal(ask(&w->a, 3, &reads), 0);
	assert_int_equal(grant_until(&w->a, 3, "/a", 0), 0);
	assert_int_equal(questions_find(&w->s, "aaaaaaaa.3", &b, &number), QUESTIONS_OPEN);
	assert_ptr_equal(b, &w->a);
	assert_int_equal(number, 3);
	assert_ptr_equal(questions_find_grant(&w->s, "aaaaaaaa.3", &number), &w->a);
	for (size_t i = 0; i < ROWS(bad); i++) {
		b = NULL;
		assert_int_equal(questions_find(&w->s, bad[i], &b, &number), QUESTIONS_UNKNOWN);
		assert_null(b);
		assert_null(questions_find_grant(&w->s, bad[i], &number));
	}
	/* The largest number, as the relay's questions have. */
	assert_int_equal(ask(&w->a, UINT64_MAX, &reads), 0);
	assert_int_equal(state_of(w, "aaaaaaaa.18446744073709551615"), QUESTIONS_OPEN);
}

/* A sandbox that is not known, frames that are none, and bodies that are cut. */
static void test_malformed(void **state)
{
	static const struct question with_none = { .op = OPERATION_FS_READ, .target = "/" };
	struct world *w = *state;
	struct sandbox stranger = { .s = &w->s };
	const uint32_t beyond = QUESTION_END_COUNT;
	auto_buffer body = { 0 }, granted = { 0 };

	assert_int_equal(ask(&stranger, 1, &reads), -EPROTO);
	assert_null(stranger.questions);
	assert_int_equal(ask(&w->a, 0, &reads), -EPROTO);
	assert_int_equal(question_encode(&reads, &body), 0);
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(deliver(&w->a, FRAME_QUESTION, 1, body.data, n), -EPROTO);
	assert_int_equal(deliver(&w->a, FRAME_QUESTION_OVER, 1, NULL, 0), -EPROTO);
	assert_int_equal(deliver(&w->a, FRAME_QUESTION_OVER, 1, &beyond, sizeof(beyond)), -EPROTO);
	assert_int_equal(live_grant_encode(&(struct live_grant){ .pattern = "/a" }, &granted), 0);
	for (size_t n = 0; n < granted.len; n++)
		assert_int_equal(deliver(&w->a, FRAME_GRANTED, 1, granted.data, n), -EPROTO);
	assert_int_equal(deliver(&w->a, FRAME_GRANTED, 0, granted.data, granted.len), -EPROTO);
	assert_int_equal(deliver(&w->a, FRAME_GRANT_OVER, 1, "", 1), -EPROTO);
	assert_int_equal(deliver(&w->a, FRAME_JOIN_STOP, 1, NULL, 0), -EPROTO);
	assert_int_equal(questions_count(&w->a), 0);
	assert_int_equal(events.n, 0);
	assert_int_equal(ask(&w->a, 1, &with_none), 0);
}

/* The connection is lost: its questions end as events, and nothing of it is known any more. */
static void test_lost(void **state)
{
	struct world *w = *state;

	assert_int_equal(ask(&w->a, 3, &reads), 0);
	assert_int_equal(ask(&w->a, 4, &reads), 0);
	assert_int_equal(end(&w->a, 4, QUESTION_ANSWERED), 0);
	assert_int_equal(grant_until(&w->a, 5, "/a", 0), 0);
	events.n = 0;
	questions_free(&w->a);
	assert_int_equal(events.n, 1);
	assert_string_equal(events.json.data,
		"{\"state\":\"expired\",\"question\":" READS_TEXT("1", "1000000", "1005000") "}");
	assert_null(w->a.questions);
	assert_int_equal(state_of(w, "aaaaaaaa.3"), QUESTIONS_UNKNOWN);
	assert_int_equal(state_of(w, "aaaaaaaa.4"), QUESTIONS_UNKNOWN);
	questions_free(&w->a);
	assert_int_equal(events.n, 1);
}

/* Grants */

#define GRANT_TEXT(until)                                                                       \
	"{\"id\":\"aaaaaaaa.5\",\"sandbox\":\"aaaaaaaa\",\"action\":\"fs.read\",\"target\":\"/" \
	"a\","                                                                                  \
	"\"since_ms\":1000000,\"expires_ms\":" until ",\"by\":\"answer\"}"

static void test_grant(void **state)
{
	struct world *w = *state;
	auto_buffer out = { 0 }, one = { 0 };
	struct json_writer j = { .out = &one };

	assert_int_equal(grant_until(&w->a, 5, "/a", 2000000), 0);
	assert_string_equal(events.type, "grant");
	assert_string_equal(
		events.json.data, "{\"state\":\"granted\",\"grant\":" GRANT_TEXT("2000000") "}");
	/* One id is one grant. */
	assert_int_equal(grant_until(&w->a, 5, "/b", 0), -EPROTO);
	questions_print_all_grants(&w->s, &out);
	assert_string_equal(out.data, "{\"grants\":[" GRANT_TEXT("2000000") "]}\n");
	json_open_list(&j, NULL);
	questions_print_grants(&w->b, &j);
	questions_print_grants(&w->a, &j);
	json_close(&j);
	assert_string_equal(one.data, "[" GRANT_TEXT("2000000") "]");
	assert_int_equal(deliver(&w->a, FRAME_GRANT_OVER, 5, NULL, 0), 0);
	assert_string_equal(
		events.json.data, "{\"state\":\"ended\",\"grant\":" GRANT_TEXT("2000000") "}");
	assert_int_equal(grant_until(&w->a, 5, "/a", 0), 0);
	/* One that lasts as long as the sandbox. */
	assert_string_equal(
		events.json.data, "{\"state\":\"granted\",\"grant\":" GRANT_TEXT("null") "}");
	/* A grant is no question. */
	assert_int_equal(state_of(w, "aaaaaaaa.5"), QUESTIONS_UNKNOWN);
}

static void test_full_grants(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 1; i <= QUESTION_GRANTS_MAX; i++)
		assert_int_equal(grant_until(&w->a, i, "/a", 0), 0);
	assert_int_equal(grant_until(&w->a, QUESTION_GRANTS_MAX + 1, "/a", 0), -EPROTO);
	assert_int_equal(deliver(&w->a, FRAME_GRANT_OVER, 7, NULL, 0), 0);
	assert_int_equal(grant_until(&w->a, QUESTION_GRANTS_MAX + 1, "/a", 0), 0);
}

/* Which grants end soon */

static struct {
	size_t n;
	uint64_t number, until_ms;
} ending;

static void take(struct supervisor *s, const struct questions_ending *e)
{
	assert_ptr_equal(e->sandbox->s, s);
	assert_string_equal(e->action, "fs.read");
	assert_string_equal(e->pattern, "/a");
	ending.n++;
	ending.number = e->number;
	ending.until_ms = e->until_ms;
}

static size_t ending_at(struct world *w, uint64_t ms)
{
	now_ms = ms;
	ending.n = 0;
	questions_each_ending(&w->s, take);
	return ending.n;
}

/* Five minutes before its end, or in the second half of a shorter time; not when it is over. */
static void test_ending(void **state)
{
	struct world *w = *state;

	assert_int_equal(ending_at(w, 1000000), 0);
	assert_int_equal(grant_until(&w->a, 5, "/a", 1000000 + 3600000), 0);
	assert_int_equal(ending_at(w, 1000000 + 3300000 - 1), 0);
	assert_int_equal(ending_at(w, 1000000 + 3300000), 1);
	assert_int_equal(ending.number, 5);
	assert_int_equal(ending.until_ms, 1000000 + 3600000);
	assert_int_equal(ending_at(w, 1000000 + 3599999), 1);
	assert_int_equal(ending_at(w, 1000000 + 3600000), 0);
	assert_int_equal(ending_at(w, 1000000 + 9000000), 0);
	assert_int_equal(deliver(&w->a, FRAME_GRANT_OVER, 5, NULL, 0), 0);
	assert_int_equal(ending_at(w, 1000000 + 3599999), 0);
	assert_int_equal(grant_until(&w->a, 6, "/a", 1000000 + 10000), 0);
	assert_int_equal(ending_at(w, 1000000 + 4999), 0);
	assert_int_equal(ending_at(w, 1000000 + 5000), 1);
	/* An end before the beginning, as with a clock that was set back, never ends soon. */
	assert_int_equal(grant_until(&w->b, 1, "/a", 999999), 0);
	assert_int_equal(ending_at(w, 999990), 0);
}

/* The same that lasts longer keeps it from being reported; something else does not. */
static void test_ending_again(void **state)
{
	struct world *w = *state;
	struct live_grant writes = {
		.since_ms = 1000000, .op = OPERATION_FS_WRITE, .by = GRANT_BY_API, .pattern = "/a"
	};

	assert_int_equal(grant_until(&w->a, 5, "/a", 1010000), 0);
	assert_int_equal(grant_until(&w->a, 6, "/b", 0), 0);
	assert_int_equal(grant(&w->a, 7, &writes), 0);
	assert_int_equal(grant_until(&w->b, 1, "/a", 0), 0);
	assert_int_equal(ending_at(w, 1009000), 1);
	/* As long as it, and no longer: both end. */
	assert_int_equal(grant_until(&w->a, 8, "/a", 1010000), 0);
	assert_int_equal(ending_at(w, 1009000), 2);
	/* Longer by a millisecond: that one is the last, and ends soon itself. */
	assert_int_equal(grant_until(&w->a, 9, "/a", 1010001), 0);
	assert_int_equal(ending_at(w, 1009000), 1);
	assert_int_equal(ending.number, 9);
	assert_int_equal(grant_until(&w->a, 10, "/a", 0), 0);
	assert_int_equal(ending_at(w, 1009000), 0);
}

/* Memory */

/* Wherever it fails: -ENOMEM, no event, no place taken; then it succeeds. */
static void test_memory(void **state)
{
	struct world *w = *state;
	auto_buffer body = { 0 };
	long n;

	assert_int_equal(question_encode(&reads, &body), 0);
	for (n = 0;; n++) {
		int r;

		failing_start(n);
		r = deliver(&w->a, FRAME_QUESTION, 3, body.data, body.len);
		if (!failing_stop())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(questions_count(&w->a), 0);
		assert_int_equal(events.n, 0);
		assert_int_equal(state_of(w, "aaaaaaaa.3"), QUESTIONS_UNKNOWN);
		questions_free(&w->a);
	}
	/* The table, five texts and two scopes. */
	assert_int_equal(n, 8);
	assert_string_equal(events.json.data,
		"{\"state\":\"asked\",\"question\":" READS_TEXT("1", "1000000", "1005000") "}");
	buffer_clear(&body);
	events.n = 0;
	assert_int_equal(live_grant_encode(&(struct live_grant){ .pattern = "/a" }, &body), 0);
	failing_start(0);
	assert_int_equal(deliver(&w->a, FRAME_GRANTED, 5, body.data, body.len), -ENOMEM);
	assert_true(failing_stop());
	assert_int_equal(events.n, 0);
	assert_int_equal(deliver(&w->a, FRAME_GRANTED, 5, body.data, body.len), 0);
	assert_int_equal(events.n, 1);
}

/* A run points to its questions itself; for the others the daemon does, a few times in a minute. */
static void test_notified(void **state)
{
	struct world *w = *state;
	const size_t before = shown.n;

	assert_int_equal(unsetenv("CI"), 0);
	assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1), 0);
	assert_int_equal(ask(&w->a, 3, &reads), 0);
	assert_int_equal(shown.n, before);
	w->b.who.kind = JOIN_SESSION;
	assert_int_equal(ask(&w->b, 1, &reads), 0);
	assert_int_equal(shown.n, before + 1);
	assert_string_equal(shown.words, "questions|notify|--|fs.read|/etc/\"x\"|");
	/* The same once more is no new one. */
	assert_int_equal(ask(&w->b, 1, &reads), 0);
	assert_int_equal(shown.n, before + 1);
	w->b.who.kind = JOIN_ENCLAVE;
	for (uint64_t i = 2; i < 12; i++)
		assert_int_equal(ask(&w->b, i, &reads), 0);
	assert_int_equal(shown.n, before + PEERS_NOTIFIED_MAX);
	now_ms += PEERS_NOTIFIED_MS;
	assert_int_equal(ask(&w->b, 12, &reads), 0);
	assert_int_equal(shown.n, before + PEERS_NOTIFIED_MAX + 1);
	/* Where no person looks. */
	now_ms += PEERS_NOTIFIED_MS;
	assert_int_equal(setenv("CI", "true", 1), 0);
	assert_int_equal(ask(&w->b, 13, &reads), 0);
	assert_int_equal(unsetenv("CI"), 0);
	assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unixexec:path=/bin/true", 1), 0);
	assert_int_equal(ask(&w->b, 14, &reads), 0);
	w->s.is_system = true;
	assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1), 0);
	assert_int_equal(ask(&w->b, 15, &reads), 0);
	assert_int_equal(shown.n, before + PEERS_NOTIFIED_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_question, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asked_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_texts_are_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_past, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grant, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_grants, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ending_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_notified, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
