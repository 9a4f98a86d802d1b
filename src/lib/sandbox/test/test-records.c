/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host hears of the network. The warden here is this program itself, which runs nothing and
 * sends what a command's second word asks for: so that records come in every order, and in numbers
 * that no real relay sends.
 */
#include "test/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "lib/sandbox/test/fake-warden.h"
#include "lib/sandbox/test/test-common.h"
#include "wire/frame.h"
#include "wire/record.h"
#include "wire/report.h"
#include "wire/start.h"

#include <corral/audit.h>

enum { FLOOD = 5000, DESTINATIONS = 4096, NOTED = 256 };

static const char *self;

/* The warden */

static const struct record template = { .kind = RECORD_DENIED,
	.target = "evil.example.com:443",
	.name = "evil.example.com",
	.address = "",
	.port = 443,
	.rule = "policy.yaml:3: *.example.com",
	.reason = "nothing grants it",
	.remedy = "add it",
	.program = "" };

static void send_record(const struct record *r)
{
	auto_buffer body = { 0 };

	if (record_encode(r, &body) < 0 ||
		frame_send(CONTROL, FRAME_RECORD, 0, body.data, body.len, NULL, 0) < 0)
		_exit(3);
}

static void send_end(uint64_t id)
{
	const struct report report = { .exit_code = 0 };

	(void)frame_send(CONTROL, FRAME_EXITED, id, &report, sizeof(report), NULL, 0);
}

static void deny(uint64_t id)
{
	send_record(&template);
	send_end(id);
}

static void deny_twice(uint64_t id)
{
	struct record r = template;

	send_record(&r);
	r.count = 4;
	send_record(&r);
	r.reason = "another one";
	send_record(&r);
	send_end(id);
}

static void deny_late(uint64_t id)
{
	send_end(id);
	send_record(&template);
}

static void flood(uint64_t id)
{
	for (unsigned i = 0; i < FLOOD; i++) {
		char target[64];
		struct record r = template;

		(void)snprintf(target, sizeof(target), "h%u.example.com:443", i);
		r.target = target;
		send_record(&r);
	}
	send_end(id);
}

/* Of the command that is started; the first is its program. */
static const char *const *started;

/* The rest when the host has been told of the first. What comes after the end shows that the end
 * was read. */
static void deny_while_told(uint64_t id)
{
	send_record(&template);
	while (access(started[2], F_OK) < 0)
		(void)usleep(1000);
	send_record(&template);
	send_end(id);
	send_record(&template);
}

static void transfer(uint64_t id)
{
	struct record r = template;

	r.kind = RECORD_CLOSED;
	r.target = "api.example.com:443";
	r.sent = 100;
	r.received = 5000000000;
	send_record(&r);
	send_record(&r);
	r.target = "udp://192.0.2.1:53";
	r.count = 3;
	send_record(&r);
	r.kind = RECORD_FAILED;
	r.count = 0;
	send_record(&r);
	send_record(&template);
	send_end(id);
}

static void send_nonsense(uint64_t id)
{
	(void)frame_send(CONTROL, FRAME_RECORD, 0, "nonsense", 8, NULL, 0);
	send_end(id);
}

/* An id that once was a command's makes it no better. */
static void send_with_id(uint64_t id)
{
	auto_buffer body = { 0 };

	if (record_encode(&template, &body) == 0)
		(void)frame_send(CONTROL, FRAME_RECORD, id, body.data, body.len, NULL, 0);
	send_end(id);
}

static void send_empty_event(uint64_t id)
{
	(void)frame_send(CONTROL, FRAME_EVENT, 0, NULL, 0, NULL, 0);
	send_end(id);
}

static uint64_t waiting;

static void wait_for_another(uint64_t id)
{
	waiting = id;
}

static void deny_both(uint64_t id)
{
	send_record(&template);
	send_end(waiting);
	send_end(id);
}

static const struct {
	const char *word;
	void (*act)(uint64_t id);
} acts[] = {
	{ "deny", deny },
	{ "deny-twice", deny_twice },
	{ "deny-late", deny_late },
	{ "flood", flood },
	{ "deny-while-told", deny_while_told },
	{ "transfer", transfer },
	{ "nonsense", send_nonsense },
	{ "with-id", send_with_id },
	{ "empty-event", send_empty_event },
	{ "wait", wait_for_another },
	{ "deny-both", deny_both },
	{ "nothing", send_end },
};

static void on_start(const struct frame *f)
{
	auto_arena arena = { 0 };
	struct start start;

	if (start_decode(&start, f->body, f->len, &arena) < 0 || start.n_argv < 2)
		_exit(2);
	(void)frame_send(CONTROL, FRAME_STARTED, f->id, NULL, 0, NULL, 0);
	started = start.argv;
	for (size_t i = 0; i < ROWS(acts); i++) {
		if (strcmp(acts[i].word, start.argv[1]) == 0)
			acts[i].act(f->id);
	}
}

/* The host */

struct seen {
	pthread_mutex_t lock;
	struct corral_sandbox *sandbox; /* asked for its numbers by the sink */
	unsigned denied, ended, known;
	uint64_t tried; /* the sum of all counts */
	uint64_t command;
	char target[64], program[64];
	const char
		*meet; /* made when the first denial is told, which lasts until three have come */
};

static void on_event(void *context, const struct corral_event *e)
{
	struct seen *seen = context;
	struct corral_stats stats;

	(void)pthread_mutex_lock(&seen->lock);
	if (e->kind == CORRAL_EVENT_DENIED) {
		seen->denied++;
		seen->known += e->command != 0;
		seen->tried += e->denial->count;
		seen->command = e->command;
		(void)snprintf(seen->target, sizeof(seen->target), "%s", e->denial->target);
		(void)snprintf(seen->program, sizeof(seen->program), "%s", e->program);
		assert_int_equal(e->denial->op, CORRAL_NET_CONNECT);
		assert_int_equal(e->denial->exact, 1);
	}
	seen->ended += e->kind == CORRAL_EVENT_ENDED;
	(void)pthread_mutex_unlock(&seen->lock);
	/* No lock of the library is held. */
	if (seen->sandbox)
		corral_sandbox_stats(seen->sandbox, &stats, sizeof(stats));
	if (seen->sandbox && seen->meet && e->kind == CORRAL_EVENT_DENIED && seen->denied == 1) {
		(void)test_file(seen->meet, "", 0600);
		while (stats.denials < 3)
			corral_sandbox_stats(seen->sandbox, &stats, sizeof(stats));
	}
}

static struct corral_sandbox *open_sandbox(struct seen *seen)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;

	*seen = (struct seen){ .lock = PTHREAD_MUTEX_INITIALIZER };
	assert_int_equal(corral_builder_warden(b, self), 0);
	assert_int_equal(corral_builder_with_audit(b, on_event, seen), 0);
	s = test_build(b);
	seen->sandbox = s;
	return s;
}

static struct corral_result *run(struct corral_sandbox *s, const char *word)
{
	const char *const argv[] = { "/usr/bin/env", word, NULL };
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	if (corral_sandbox_execute_argv(s, argv, NULL, &r, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return r;
}

static struct corral_process *start(struct corral_sandbox *s, const char *word)
{
	const char *const argv[] = { "/usr/bin/env", word, NULL };
	struct corral_process *p = NULL;
	struct corral_error *e = NULL;

	if (corral_process_start(&p, s, argv, NULL, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return p;
}

static struct corral_stats stats_of(struct corral_sandbox *s)
{
	struct corral_stats stats;

	corral_sandbox_stats(s, &stats, sizeof(stats));
	return stats;
}

static void close_sandbox(struct seen *seen)
{
	struct corral_sandbox *s = seen->sandbox;

	seen->sandbox = NULL;
	corral_sandbox_free(s);
}

static void test_a_denial_is_in_the_result(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = run(s, "deny");
	const struct corral_denial *d = corral_result_denial(r, 0);

	(void)state;
	assert_int_equal(corral_result_denials(r), 1);
	assert_int_equal(d->op, CORRAL_NET_CONNECT);
	assert_string_equal(d->target, "evil.example.com:443");
	assert_string_equal(d->rule, "policy.yaml:3: *.example.com");
	assert_string_equal(d->reason, "nothing grants it");
	assert_string_equal(d->remedy, "add it");
	assert_int_equal(d->exact, 1);
	assert_int_equal(d->count, 1);
	/* Told when it happened, and not once more at the end. */
	assert_int_equal(seen.denied, 1);
	assert_int_equal(seen.command, 1);
	assert_string_equal(seen.program, "/usr/bin/env");
	assert_int_equal(seen.ended, 1);
	assert_int_equal(stats_of(s).denials, 1);
	corral_result_free(r);
	close_sandbox(&seen);
}

static void test_the_same_is_counted(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = run(s, "deny-twice");

	(void)state;
	assert_int_equal(corral_result_denials(r), 2);
	assert_int_equal(corral_result_denial(r, 0)->count, 5);
	assert_string_equal(corral_result_denial(r, 1)->reason, "another one");
	assert_int_equal(corral_result_denial(r, 1)->count, 4);
	assert_int_equal(seen.denied, 3);
	assert_int_equal(seen.tried, 9);
	assert_int_equal(stats_of(s).denials, 9);
	corral_result_free(r);
	close_sandbox(&seen);
}

/* It is reported and counted, whenever the library reads it. */
static void test_a_late_denial_is_not_lost(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);

	(void)state;
	corral_result_free(run(s, "deny-late"));
	/* What the warden sends about this one comes after the late record. */
	corral_result_free(run(s, "nothing"));
	assert_int_equal(seen.denied, 1);
	assert_int_equal(stats_of(s).denials, 1);
	close_sandbox(&seen);
}

static void test_freeing_tells_the_last(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_stats stats;

	(void)state;
	corral_result_free(run(s, "deny-late"));
	/* Asking does not tell the sink, but it must hear of it in the end. */
	do {
		stats = stats_of(s);
	} while (stats.denials == 0);
	close_sandbox(&seen);
	assert_int_equal(seen.denied, 1);
}

/* Who asks for numbers while it is told reads on; what is read by that comes before the end, too.
 */
static void test_what_comes_while_telling_is_told(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	char path[4096];
	const char *const argv[] = { "/usr/bin/env", "deny-while-told", path, NULL };
	struct corral_result *r = NULL;

	(void)state;
	seen.meet = "told";
	(void)snprintf(path, sizeof(path), "%s/%s", test_folder, seen.meet);
	assert_int_equal(corral_sandbox_execute_argv(s, argv, NULL, &r, NULL), 0);
	assert_int_equal(seen.denied, 3);
	assert_int_equal(seen.ended, 1);
	corral_result_free(r);
	close_sandbox(&seen);
}

static void test_several_commands_share_a_denial(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_process *p = start(s, "wait");
	struct corral_result *mine = run(s, "deny-both"), *other = NULL;

	(void)state;
	assert_int_equal(corral_process_wait(p, -1, &other, NULL), 0);
	assert_int_equal(corral_result_denials(mine), 1);
	assert_int_equal(corral_result_denials(other), 1);
	assert_string_equal(corral_result_denial(other, 0)->target, "evil.example.com:443");
	/* Once, and nobody knows whose it was. */
	assert_int_equal(seen.denied, 1);
	assert_int_equal(seen.known, 0);
	assert_string_equal(seen.program, "");
	assert_int_equal(stats_of(s).denials, 1);
	corral_result_free(mine);
	corral_result_free(other);
	corral_process_free(p);
	close_sandbox(&seen);
}

static void test_a_flood_has_bounds(void **state)
{
	static struct corral_destination list[FLOOD];
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = run(s, "flood");

	(void)state;
	assert_int_equal(seen.denied, FLOOD);
	assert_int_equal(seen.known, FLOOD);
	assert_int_equal(stats_of(s).denials, FLOOD);
	assert_int_equal(corral_result_denials(r), NOTED);
	assert_int_equal(
		corral_sandbox_destinations(s, list, FLOOD, sizeof(list[0])), DESTINATIONS);
	for (size_t i = 0; i < DESTINATIONS; i++) {
		char target[64];

		(void)snprintf(target, sizeof(target), "h%zu.example.com:443", i);
		assert_string_equal(list[i].target, target);
		assert_int_equal(list[i].denied, 1);
	}
	assert_null(list[DESTINATIONS].target);
	corral_result_free(r);
	close_sandbox(&seen);
}

static void check_destinations(const struct corral_destination *list)
{
	assert_string_equal(list[0].target, "api.example.com:443");
	assert_int_equal(list[0].connections, 2);
	assert_int_equal(list[0].sent, 200);
	assert_int_equal(list[0].received, 10000000000);
	assert_int_equal(list[0].denied + list[0].failed, 0);
	assert_string_equal(list[1].target, "udp://192.0.2.1:53");
	assert_int_equal(list[1].connections, 3);
	assert_int_equal(list[1].failed, 1);
	assert_string_equal(list[2].target, "evil.example.com:443");
	assert_int_equal(list[2].denied, 1);
	assert_int_equal(list[2].connections, 0);
}

static void test_destinations(void **state)
{
	struct corral_destination list[4];
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);

	(void)state;
	assert_int_equal(corral_sandbox_destinations(s, NULL, 0, sizeof(list[0])), 0);
	corral_result_free(run(s, "transfer"));
	assert_int_equal(corral_sandbox_destinations(s, list, 4, sizeof(list[0])), 3);
	check_destinations(list);
	assert_int_equal(stats_of(s).connections, 5);
	assert_int_equal(stats_of(s).sent_bytes, 300);
	assert_int_equal(stats_of(s).received_bytes, 15000000000);
	corral_result_free(run(s, "transfer"));
	/* Fewer than there are. */
	memset(list, 0, sizeof(list));
	assert_int_equal(corral_sandbox_destinations(s, list, 1, sizeof(list[0])), 3);
	assert_int_equal(list[0].connections, 4);
	assert_null(list[1].target);
	close_sandbox(&seen);
}

/* A host that was built with another version of the struct. */
static void test_destinations_of_another_size(void **state)
{
	struct {
		struct corral_destination known;
		uint64_t later;
	} larger[2];
	const char *smaller[2];
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);

	(void)state;
	corral_result_free(run(s, "transfer"));
	memset(larger, 0xff, sizeof(larger));
	assert_int_equal(corral_sandbox_destinations(s, (void *)larger, 2, sizeof(larger[0])), 3);
	assert_string_equal(larger[1].known.target, "udp://192.0.2.1:53");
	assert_int_equal(larger[1].later, 0);
	assert_int_equal(corral_sandbox_destinations(s, (void *)smaller, 2, sizeof(smaller[0])), 3);
	assert_string_equal(smaller[1], "udp://192.0.2.1:53");
	close_sandbox(&seen);
}

/* What a log has of them: each connection with its bytes, and whose it was. */

struct connections {
	unsigned closed, failed, denied;
	uint64_t sent, received, count;
};

static int count_connections(void *context, const struct corral_audit_event *e)
{
	struct connections *c = context;

	if (strncmp(e->action, "net.", 4) != 0)
		return 0;
	assert_string_equal(e->program, "/usr/bin/env");
	assert_int_equal(e->exact, 1);
	if (strcmp(e->action, "net.close") == 0) {
		assert_string_equal(e->decision, "allowed");
		c->closed++;
		c->sent += e->sent;
		c->received += e->received;
		c->count += e->count;
	} else if (strcmp(e->decision, "failed") == 0) {
		assert_string_equal(e->target, "udp://192.0.2.1:53");
		assert_string_equal(e->reason, "nothing grants it");
		c->failed++;
	} else {
		assert_string_equal(e->target, "evil.example.com:443");
		assert_string_equal(e->rule, "policy.yaml:3: *.example.com");
		c->denied++;
	}
	return 0;
}

static void test_connections_are_audited(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_audit *audit = NULL;
	struct connections c = { 0 };
	struct corral_sandbox *s;

	(void)state;
	assert_int_equal(corral_audit_new(&audit, NULL, NULL), 0);
	assert_int_equal(corral_builder_warden(b, self), 0);
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, audit), 0);
	s = test_build(b);
	corral_result_free(run(s, "transfer"));
	corral_sandbox_free(s);
	assert_true(corral_audit_latest(audit, 0, count_connections, &c, NULL) > 0);
	assert_int_equal(c.closed, 3);
	assert_int_equal(c.failed, 1);
	assert_int_equal(c.denied, 1);
	assert_int_equal(c.count, 5);
	assert_int_equal(c.sent, 300);
	assert_int_equal(c.received, 15000000000);
	assert_int_equal(corral_audit_free(audit, NULL), 0);
}

static void test_nonsense_ends_the_session(void **state)
{
	static const char *const words[] = { "nonsense", "with-id", "empty-event" };

	(void)state;
	for (size_t i = 0; i < ROWS(words); i++) {
		struct seen seen;
		struct corral_sandbox *s = open_sandbox(&seen);
		struct corral_process *p = start(s, words[i]);

		assert_int_equal(corral_process_wait(p, -1, NULL, NULL), -ECONNRESET);
		assert_int_equal(seen.denied, 0);
		corral_process_free(p);
		corral_result_free(run(s, "nothing"));
		assert_int_equal(stats_of(s).sessions, 2);
		close_sandbox(&seen);
	}
}

static void *run_some(void *context)
{
	for (int i = 0; i < 50; i++)
		corral_result_free(run(context, i % 2 ? "deny" : "transfer"));
	return NULL;
}

static void test_many_threads(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_some, s), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(stats_of(s).denials, THREADS * 50);
	assert_int_equal(stats_of(s).connections, THREADS * 25 * 5);
	assert_int_equal(stats_of(s).sessions, 1);
	close_sandbox(&seen);
	assert_int_equal(seen.denied, THREADS * 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_denial_is_in_the_result),
		cmocka_unit_test(test_the_same_is_counted),
		cmocka_unit_test(test_a_late_denial_is_not_lost),
		cmocka_unit_test(test_freeing_tells_the_last),
		cmocka_unit_test(test_what_comes_while_telling_is_told),
		cmocka_unit_test(test_several_commands_share_a_denial),
		cmocka_unit_test(test_a_flood_has_bounds),
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_destinations_of_another_size),
		cmocka_unit_test(test_connections_are_audited),
		cmocka_unit_test(test_nonsense_ends_the_session),
		cmocka_unit_test(test_many_threads),
	};
	static char path[4096];

	if (fake_warden_is_it())
		return fake_warden_run(on_start);
	if (!realpath("/proc/self/exe", path))
		return 1;
	self = path;
	return cmocka_run_group_tests(tests, test_make_folder, test_remove_folder);
}
