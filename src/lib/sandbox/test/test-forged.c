/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warden that was taken over by what it runs: this program itself, which runs nothing and sends
 * what a command's second word asks for. The host gets a sentence, keeps its own time, grants
 * nothing, keeps no descriptor, and the next command has a new session.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "lib/sandbox/test/fake-warden.h"
#include "lib/sandbox/test/test-common.h"
#include "test/fds.h"
#include "wire/frame.h"
#include "wire/question.h"
#include "wire/report.h"
#include "wire/start.h"

enum { PATIENCE_MS = 60000, MOMENT_MS = 100 };

static const char *self;

/* The warden */

static int lent = -1;

static void say(enum frame_type type, uint64_t id, const void *body, size_t len, size_t n_fds)
{
	const int fds[] = { CONTROL, CONTROL };

	(void)frame_send(CONTROL, type, id, body, len, fds, n_fds);
}

static void say_started(uint64_t id)
{
	say(FRAME_STARTED, id, NULL, 0, 0);
}

static void say_end(uint64_t id, size_t n_fds)
{
	const struct report report = { .exit_code = 0 };

	say(FRAME_EXITED, id, &report, sizeof(report), n_fds);
}

static void send_bytes(const void *data, size_t len)
{
	(void)!send(CONTROL, data, len, MSG_NOSIGNAL);
}

static void act_nothing(uint64_t id)
{
	say_started(id);
	say_end(id, 0);
}

/* The host would read its output from there. */
static void act_started_with_terminal(uint64_t id)
{
	say(FRAME_STARTED, id, NULL, 0, 1);
}

static void act_started_with_body(uint64_t id)
{
	say(FRAME_STARTED, id, "x", 1, 0);
}

static void act_started_twice(uint64_t id)
{
	say_started(id);
	say_started(id);
}

static void act_ended_with_descriptors(uint64_t id)
{
	say_started(id);
	say_end(id, 2);
}

static void act_ended_without_report(uint64_t id)
{
	say_started(id);
	say(FRAME_EXITED, id, "x", 1, 0);
}

static void act_another_command(uint64_t id)
{
	say_started(id + 1);
}

static void act_no_command(uint64_t id)
{
	(void)id;
	say_started(0);
}

static void act_refused_while_it_runs(uint64_t id)
{
	say_started(id);
	say(FRAME_REFUSED, id, NULL, 0, 0);
}

static void act_ready_again(uint64_t id)
{
	const struct ready ready = { .tier = 1 };

	(void)id;
	say(FRAME_READY, 0, &ready, sizeof(ready), 0);
}

static void act_policy_unasked(uint64_t id)
{
	say(FRAME_POLICY, id, NULL, 0, 0);
}

static void act_grants(uint64_t id)
{
	auto_buffer body = { 0 };

	if (live_grants_encode(NULL, 0, &body) == 0)
		say(FRAME_GRANTS, id, body.data, body.len, 0);
}

static void act_order_of_daemon(uint64_t id)
{
	const struct live_grant g = {
		.op = OPERATION_NET_CONNECT, .by = GRANT_BY_API, .pattern = "a.example:443"
	};
	auto_buffer body = { 0 };

	if (live_grant_encode(&g, &body) == 0)
		say(FRAME_GRANT, id, body.data, body.len, 0);
}

static void act_question(uint64_t id)
{
	say(FRAME_QUESTION, id, "who knows", 9, 0);
}

static void act_question_with_descriptor(uint64_t id)
{
	const struct question q = { .op = OPERATION_NET_CONNECT,
		.wait_ms = 1000,
		.target = "a.example:443",
		.program = "",
		.rule = "",
		.reason = "" };
	auto_buffer body = { 0 };

	if (question_encode(&q, &body) == 0)
		say(FRAME_QUESTION, id, body.data, body.len, 1);
}

static void act_init_without_socket(uint64_t id)
{
	(void)id;
	say(FRAME_INIT, 0, NULL, 0, 0);
}

static void act_init_with_two(uint64_t id)
{
	(void)id;
	say(FRAME_INIT, 0, NULL, 0, 2);
}

static void act_init_twice(uint64_t id)
{
	(void)id;
	say(FRAME_INIT, 0, NULL, 0, 1);
	say(FRAME_INIT, 0, NULL, 0, 1);
}

static void act_half_a_header(uint64_t id)
{
	(void)id;
	send_bytes("CRRL", 4);
}

static void act_other_magic(uint64_t id)
{
	static const char zeroes[24];

	(void)id;
	send_bytes(zeroes, sizeof(zeroes));
}

/* A body that would be in a memfd, of a size that no frame has, without one. */
static void act_too_large(uint64_t id)
{
	const struct {
		uint32_t magic;
		uint16_t type, protocol;
		uint64_t id;
		uint32_t len, n_fds;
	} head = { 0x4c525243, FRAME_RECORD, FRAME_PROTOCOL, id, UINT32_MAX, 0 };

	send_bytes(&head, sizeof(head));
}

static void act_hang_up(uint64_t id)
{
	(void)id;
	_exit(0);
}

/* The next command goes to a socket of ours, which blocks. */
static void act_lend(uint64_t id)
{
	int pair[2];

	if (frame_pair(pair) < 0 || frame_send(CONTROL, FRAME_INIT, 0, NULL, 0, &pair[0], 1) < 0)
		_exit(3);
	(void)close(pair[0]);
	lent = pair[1];
	act_nothing(id);
}

/* Frames of a command that is over, for as long as the host reads. */
static void act_flood(uint64_t id)
{
	say_started(id);
	while (frame_send(CONTROL, FRAME_STARTED, 1, NULL, 0, NULL, 0) == 0)
		;
}

struct act {
	const char *word;
	void (*act)(uint64_t id);
};

static const struct act ends[] = {
	{ "started-with-terminal", act_started_with_terminal },
	{ "started-with-body", act_started_with_body },
	{ "started-twice", act_started_twice },
	{ "ended-with-descriptors", act_ended_with_descriptors },
	{ "ended-without-report", act_ended_without_report },
	{ "another-command", act_another_command },
	{ "no-command", act_no_command },
	{ "refused-while-it-runs", act_refused_while_it_runs },
	{ "ready-again", act_ready_again },
	{ "policy-unasked", act_policy_unasked },
	{ "grants", act_grants },
	{ "order-of-daemon", act_order_of_daemon },
	{ "question", act_question },
	{ "question-with-descriptor", act_question_with_descriptor },
	{ "init-without-socket", act_init_without_socket },
	{ "init-with-two", act_init_with_two },
	{ "init-twice", act_init_twice },
	{ "half-a-header", act_half_a_header },
	{ "other-magic", act_other_magic },
	{ "too-large", act_too_large },
	{ "hang-up", act_hang_up },
};
static const struct act others[] = {
	{ "nothing", act_nothing },
	{ "lend", act_lend },
	{ "flood", act_flood },
};

static void act_by(const struct act *acts, size_t n, const char *word, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(acts[i].word, word) == 0)
			acts[i].act(id);
}

static void on_start(const struct frame *f)
{
	auto_arena arena = { 0 };
	struct start start;

	if (start_decode(&start, f->body, f->len, &arena) < 0 || start.n_argv < 2)
		_exit(2);
	act_by(ends, ROWS(ends), start.argv[1], f->id);
	act_by(others, ROWS(others), start.argv[1], f->id);
}

/* The host */

static struct corral_sandbox *open_sandbox(void)
{
	struct corral_builder *b = test_builder();

	assert_int_equal(corral_builder_warden(b, self), 0);
	return test_build(b);
}

static struct corral_process *start(struct corral_sandbox *s, const char *word)
{
	const char *const argv[] = { "/usr/bin/env", word, NULL };
	struct corral_process *p = NULL;
	struct corral_error *e = NULL;

	if (corral_process_start(&p, s, argv, NULL, &e) < 0)
		fail_msg("%s: %s", word, corral_error_message(e));
	return p;
}

static void runs(struct corral_sandbox *s, const char *word)
{
	struct corral_process *p = start(s, word);

	assert_int_equal(corral_process_wait(p, PATIENCE_MS, NULL, NULL), 0);
	corral_process_free(p);
}

static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(ends); i++) {
		const size_t before = count_fds();
		struct corral_sandbox *s = open_sandbox();
		struct corral_process *p = start(s, ends[i].word);
		struct corral_error *e = NULL;
		const int r = corral_process_wait(p, PATIENCE_MS, NULL, &e);

		if (r != -ECONNRESET && r != -EPROTO)
			fail_msg("%s: the command ended with %d", ends[i].word, r);
		if (!strstr(corral_error_message(e), "warden") &&
			!strstr(corral_error_message(e), "session"))
			fail_msg("%s: it says: %s", ends[i].word, corral_error_message(e));
		corral_error_free(e);
		corral_process_free(p);
		runs(s, "nothing");
		corral_sandbox_free(s);
		assert_int_equal(count_fds(), before);
	}
}

/* A lent init that says nothing, by a socket that blocks: the host waits as long as it wants to. */
static void test_lent(void **state)
{
	const size_t before = count_fds();
	struct corral_sandbox *s = open_sandbox();
	struct corral_process *p;

	(void)state;
	runs(s, "lend");
	p = start(s, "nothing");
	assert_int_equal(corral_process_wait(p, MOMENT_MS, NULL, NULL), -EAGAIN);
	(void)corral_process_kill(p);
	assert_int_equal(corral_process_wait(p, MOMENT_MS, NULL, NULL), -EAGAIN);
	corral_process_free(p);
	corral_sandbox_free(s);
	assert_int_equal(count_fds(), before);
}

/* A warden that sends without end does not block the caller. */
static void test_flood(void **state)
{
	struct corral_sandbox *s = open_sandbox();
	struct corral_process *p;

	(void)state;
	/* Number 1, of a command that is over. */
	runs(s, "nothing");
	p = start(s, "flood");
	assert_int_equal(corral_process_wait(p, MOMENT_MS, NULL, NULL), -EAGAIN);
	corral_process_free(p);
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_flood),
	};
	static char path[4096];

	if (fake_warden_is_it())
		return fake_warden_run(on_start);
	if (!realpath("/proc/self/exe", path))
		return 1;
	self = path;
	return cmocka_run_group_tests(tests, test_make_folder, test_remove_folder);
}
