/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a run in a real log. What a whole run writes: tests/e2e/test-run-audit.sh. */
#include "test/unit.h"

#include <errno.h>
#include <signal.h>

#include "audit/test/test-audit.h"
#include "base/arena.h"
#include "base/array.h"
#include "cli/run/run.h"

/* A run with a log of its own, which this process writes as `corral run` does. */
struct scene {
	struct bench *bench;
	struct arena arena;
	struct error error;
	struct call call;
	struct run run;
};

static const char *const no_words[] = { "true", NULL };
static const char *const no_variables[] = { NULL };

static struct scene *scene_new(const char *const *words, const char *const *variables)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->bench = bench_new();
	s->call = (struct call){ .arena = &s->arena, .error = &s->error };
	s->run = (struct run){ .call = &s->call,
		.cwd = "/srv/work",
		.argv = (const char **)words,
		.env = variables,
		.audit = { .path = s->bench->path } };
	while (words[s->run.n_argv])
		s->run.n_argv++;
	while (variables[s->run.n_env])
		s->run.n_env++;
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		s->run.limits.values[i] = LIMIT_NONE;
	if (run_audit_begin(&s->run) < 0)
		fail_msg("%s", s->error.text);
	return s;
}

static void scene_free(struct scene *s)
{
	run_audit_end(&s->run, 0);
	arena_deinit(&s->arena);
	bench_free(s->bench);
	free(s);
}

static int print(void *context, const struct audit_row *row)
{
	struct buffer *out = context;
	const struct audit_event *e = &row->event;

	buffer_printf(out, "%s|%s|%s|%s|%s|%s|%lld|%llu\n", audit_action_name(e->action), e->target,
		audit_decision_name(e->decision), e->program, e->rule, e->reason,
		(long long)e->status, (unsigned long long)e->count);
	return 0;
}

/* Ends the run, and says what is in the log of these actions. */
static char *finish(struct scene *s, int action)
{
	const struct audit_query q = { .action = action, .decision = -1 };
	struct audit_log *log = NULL;
	struct buffer out = { 0 };

	run_audit_end(&s->run, 0);
	assert_int_equal(audit_log_open(&log, s->bench->path, NULL), 0);
	assert_int_equal(audit_log_read(log, &q, print, &out, NULL), 0);
	audit_log_close(log);
	return buffer_take(&out);
}

static void check(struct scene *s, int action, const char *expected)
{
	char *text = finish(s, action);

	assert_string_equal(text, expected);
	free(text);
	scene_free(s);
}

/* The beginning */

static void test_words_are_readable(void **state)
{
	static const char *const words[] = { "sh", "-c", "echo a b", "", "x", NULL };

	(void)state;
	check(scene_new(words, no_variables), AUDIT_COMMAND_START,
		"command.start|sh -c 'echo a b' '' x|none|sh||in /srv/work|0|1\n");
}

/* A word ends where the next begins, whatever is in it. */
static void test_secrets_with_quotes(void **state)
{
	static const char *const secrets[] = { "it's canary", "a \"canary", "it's \"canary\"",
		"a`canary", "a&canary", "a\rcanary", "-canary", "'canary", "\"canary",
		"a\\' canary", "' canary '", "\" 'canary' \"" };

	(void)state;
	for (size_t i = 0; i < ROWS(secrets); i++) {
		char option[64], variable[64], user[64], header[64];
		const char *const words[] = { "x", "--password", secrets[i], option, variable, "-u",
			user, "-H", header, "the end", NULL };
		char *text;
		struct scene *s;

		(void)snprintf(option, sizeof(option), "--password=%s", secrets[i]);
		(void)snprintf(variable, sizeof(variable), "TOKEN=%s", secrets[i]);
		(void)snprintf(user, sizeof(user), "me:%s", secrets[i]);
		(void)snprintf(header, sizeof(header), "Authorization: %s", secrets[i]);
		s = scene_new(words, no_variables);
		text = finish(s, AUDIT_COMMAND_START);
		if (strstr(text, "canary") || !strstr(text, "'the end'"))
			fail_msg("<%s>: %s", secrets[i], text);
		free(text);
		scene_free(s);
	}
}

/* What is a script's first word does not hide the others. */
static void test_a_script_stays_readable(void **state)
{
	static const char *const words[] = { "sh", "-ec", "TOKEN=canary make test", NULL };

	(void)state;
	check(scene_new(words, no_variables), AUDIT_COMMAND_START,
		"command.start|sh -ec 'TOKEN=[redacted] make test'|none|sh||in /srv/work|0|1\n");
}

static void test_variables_by_name_alone(void **state)
{
	static const char *const variables[] = { "API_KEY=canary-1234", "EMPTY=", NULL };

	(void)state;
	check(scene_new(no_words, variables), AUDIT_ENV,
		"env|API_KEY EMPTY|allowed|true||set|0|1\n");
}

static void test_values_are_nowhere(void **state)
{
	static const char *const words[] = { "curl", "-H", "X-Mine: canary-1234",
		"https://u:canary-5678@h/?token=canary-9abc", "canary-1234's", NULL };
	static const char *const variables[] = { "MINE=canary-1234", NULL };
	struct scene *s = scene_new(words, variables);
	char *text;

	(void)state;
	run_audit_refused(&s->run, RUN_FORBIDDEN, "canary-1234 is not granted");
	text = finish(s, -1);
	assert_null(strstr(text, "canary"));
	assert_non_null(strstr(text, "curl -H 'X-Mine: [redacted]'"));
	free(text);
	scene_free(s);
}

/* A word that is cut must not show the beginning of a secret. */
static void test_a_secret_at_the_edge(void **state)
{
	static const char *const variables[] = { "MINE=canary-1234", NULL };
	static char word[REDACT_TEXT_MAX + 64];

	(void)state;
	for (size_t before = REDACT_TEXT_MAX - 32; before < REDACT_TEXT_MAX + 32; before++) {
		const char *words[] = { "true", word, NULL };
		struct scene *s;
		char *text;

		memset(word, 'x', sizeof(word));
		memcpy(word + before, "canary-1234", sizeof("canary-1234"));
		s = scene_new(words, variables);
		text = finish(s, -1);
		assert_null(strstr(text, "can"));
		free(text);
		scene_free(s);
	}
}

static void test_a_log_that_cannot_be_opened(void **state)
{
	struct scene *s = scene_new(no_words, no_variables);

	(void)state;
	run_audit_end(&s->run, 0);
	assert_int_equal(unlink(s->bench->head), 0);
	assert_true(run_audit_begin(&s->run) < 0);
	assert_string_not_equal(s->error.text, "");
	assert_null(s->run.audit.trail);
	scene_free(s);
}

/* While it runs */

static struct record record(enum record_kind kind, const char *target)
{
	return (struct record){ .kind = kind,
		.target = target,
		.name = "",
		.address = "",
		.rule = "",
		.reason = "why",
		.remedy = "",
		.program = "" };
}

static void test_the_network(void **state)
{
	struct scene *s = scene_new(no_words, no_variables);
	struct record denied = record(RECORD_DENIED, "evil.example.com:443");
	struct record name = record(RECORD_DENIED, "evil.example.com");
	struct record failed = record(RECORD_FAILED, "api.example.com:443");
	struct record closed = record(RECORD_CLOSED, "api.example.com:443");
	char *text;

	(void)state;
	denied.rule = "policy.yaml:3";
	denied.count = 4;
	denied.program = "curl";
	name.dns = true;
	closed.address = "192.0.2.1";
	run_audit_network(&s->run, &denied);
	run_audit_network(&s->run, &name);
	run_audit_network(&s->run, &failed);
	run_audit_network(&s->run, &closed);
	text = finish(s, -1);
	assert_non_null(
		strstr(text, "net.connect|evil.example.com:443|denied|curl|policy.yaml:3|why|0|4\n"
			     "net.name|evil.example.com|denied|true||why|0|1\n"
			     "net.connect|api.example.com:443|failed|true||why|0|1\n"
			     "net.close|api.example.com:443|allowed|true||by 192.0.2.1|0|1\n"));
	free(text);
	scene_free(s);
}

/* How many connections there are is the command's choice. */
static void test_the_network_has_a_bound(void **state)
{
	enum { MORE = 10 };
	struct scene *s = scene_new(no_words, no_variables);
	const struct record r = record(RECORD_DENIED, "evil.example.com:443");
	const struct record closed = record(RECORD_CLOSED, "good.example.com:443");
	const struct audit_query q = { .action = AUDIT_NET_CLOSE, .decision = -1 };
	const size_t used = s->arena.used;
	struct audit_log *log = NULL;
	auto_buffer out = { 0 };

	(void)state;
	for (int i = 0; i < RUN_AUDIT_NETWORK_MAX + MORE; i++)
		run_audit_network(&s->run, &r);
	/* What is written is kept nowhere else. */
	assert_int_equal(s->arena.used, used);
	/* Who is denied often cannot hide by it what is allowed. */
	run_audit_network(&s->run, &closed);
	assert_int_equal(audit_trail_flush(s->run.audit.trail, NULL), 0);
	assert_int_equal(audit_log_open(&log, s->bench->path, NULL), 0);
	assert_int_equal(audit_log_read(log, &q, print, &out, NULL), 0);
	audit_log_close(log);
	assert_non_null(strstr(buffer_text(&out), "net.close|good.example.com:443|allowed"));
	check(s, AUDIT_STORE,
		"store|network|none|corral||further events of this kind are not recorded|0|1\n"
		"store|network|none|corral||network records were dropped|0|10\n");
}

static void test_limits(void **state)
{
	struct scene *s = scene_new(no_words, no_variables);
	const struct report report = { .signal = SIGKILL,
		.flags = REPORT_TIMED_OUT | REPORT_OUT_OF_MEMORY | REPORT_TOO_MANY_PIDS,
		.memory_by = REPORT_BY_CGROUP,
		.wall_us = 1500 };

	(void)state;
	s->run.limits.values[LIMIT_TIMEOUT_MS] = 500;
	s->run.limits.values[LIMIT_MEMORY] = 64 << 20;
	s->run.limits.values[LIMIT_PIDS] = 8;
	s->run.limits.values[LIMIT_OUTPUT] = 4096;
	run_audit_exited(&s->run, &report, 77);
	check(s, AUDIT_LIMIT,
		"limit|timeout|denied|true|timeout 500ms|the command timed out|0|1\n"
		"limit|memory|denied|true|memory 64M|the command exceeded its memory limit|0|1\n"
		"limit|pids|denied|true|pids 8|the command reached its limit of processes|0|1\n"
		"limit|output|denied|true|output 4K|bytes of output were dropped|0|77\n");
}

static void test_the_end(void **state)
{
	struct scene *s = scene_new(no_words, no_variables);
	const struct report report = { .signal = SIGTERM, .memory_by = REPORT_BY_CGROUP };

	(void)state;
	run_audit_exited(&s->run, &report, 0);
	check(s, AUDIT_COMMAND_END,
		"command.end|true|none|true||user 0 ms, system 0 ms, peak memory 0 bytes; memory "
		"held by cgroup|-15|1\n");
}

static void test_refusals(void **state)
{
	struct scene *s = scene_new(no_words, no_variables);

	(void)state;
	run_audit_refused(&s->run, RUN_NOT_FOUND, "not there");
	run_audit_refused(&s->run, RUN_FORBIDDEN, "not executable");
	s->run.audit.is_denied = true;
	s->run.audit.rule = "policy.yaml:7: exec";
	s->run.audit.reason = "nothing in exec grants it";
	run_audit_refused(&s->run, RUN_FORBIDDEN, "not there");
	check(s, AUDIT_EXEC,
		"exec|true|failed|true||not there|127|1\n"
		"exec|true|failed|true||not executable|126|1\n"
		"exec|true|denied|true|policy.yaml:7: exec|nothing in exec grants it|126|1\n");
}

static void test_without_a_log_nothing_happens(void **state)
{
	struct run r = { 0 };
	const struct record denied = record(RECORD_DENIED, "evil.example.com:443");

	(void)state;
	assert_int_equal(run_audit_begin(&r), 0);
	run_audit_network(&r, &denied);
	run_audit_started(&r);
	run_audit_tick(&r);
	assert_int_equal(run_audit_wait_ms(&r, 100), 100);
	assert_int_equal(run_audit_wait_ms(&r, -1), -1);
	run_audit_end(&r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_readable),
		cmocka_unit_test(test_secrets_with_quotes),
		cmocka_unit_test(test_a_script_stays_readable),
		cmocka_unit_test(test_variables_by_name_alone),
		cmocka_unit_test(test_values_are_nowhere),
		cmocka_unit_test(test_a_secret_at_the_edge),
		cmocka_unit_test(test_a_log_that_cannot_be_opened),
		cmocka_unit_test(test_the_network),
		cmocka_unit_test(test_the_network_has_a_bound),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_without_a_log_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
