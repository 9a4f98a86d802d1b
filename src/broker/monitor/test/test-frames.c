/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front that was taken over: it sends any frame. Whatever it sends, it gains nothing that the
 * policy does not grant; what breaks a rule ends it; and the next front finds a monitor that works.
 */
#include "test/failing.h"
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/test/test-stage.h"
#include "wire/frame.h"

/* A minute, as turns are counted here. */
enum { TURNS_MAX = 12000 };

#define POLICY "{\"fs\":{\"read\":[\"$WORK_DIR/{,**}\"]}}"
#define ASKING                                                                       \
	"{\"rules\":[{\"id\":\"q\",\"action\":\"ask\",\"operations\":[\"fs.read\"]," \
	"\"patterns\":[\"$WORK_DIR/**\"]}]}"

FAILING_AS((errno = ENFILE, -1), int, memfd_create, (const char *name, unsigned flags), name, flags)

static struct stage stage;

static int stage_set_up(void **state)
{
	(void)state;
	stage_make(&stage, POLICY);
	stage_write(&stage, "a", "hello");
	return 0;
}

static int stage_tear_down(void **state)
{
	(void)state;
	stage_remove(&stage);
	return 0;
}

static void asks_to_read(uint64_t id, const char *path)
{
	struct values v = { 0 };

	v.v[0] = stage_text(SCHEMA_PATH, path);
	stage_call(&stage, id, METHOD_FS_READ, 0, &v);
}

/* Without the log's place it cannot be kept from calls: there is no monitor, and a sentence why. */
static void test_no_log(void **state)
{
	struct broker_setup setup = stage.setup;
	struct corral_error *e = NULL;
	struct monitor *m = NULL;

	(void)state;
	setup.log = "/nonexistent/log";
	assert_int_equal(
		monitor_new(
			&m, &(struct monitor_options){ .setup = &setup, .loop = stage.loop }, &e),
		-ENOENT);
	assert_null(m);
	assert_non_null(e);
	assert_non_null(strstr(corral_error_message(e), "cannot find the log /nonexistent/log"));
	corral_error_free(e);
}

/* The next front is served as if nothing had been. */
static void is_well(void)
{
	if (stage.is_lost)
		stage_reconnect(&stage);
	asks_to_read(77777, stage_path(&stage, "a"));
	stage_answer(&stage, 77777, METHOD_FS_READ);
	assert_string_equal(stage.answer.v[0].text, "hello");
	assert_int_equal(monitor_calls(stage.monitor), 0);
}

/* Frames of every type that are none of a front's. */
static void test_other_frames(void **state)
{
	(void)state;
	for (int type = FRAME_NONE; type < FRAME_TYPE_COUNT; type++) {
		if (type == FRAME_CALL || type == FRAME_CALL_CANCEL || type == FRAME_CALL_NOTE ||
			type == FRAME_CALL_GONE)
			continue;
		/* No frame has the type 0, so this front cannot send it by our functions. */
		if (frame_send(stage.front, (enum frame_type)type, 1, "x", 1, NULL, 0) < 0)
			continue;
		stage_lost(&stage, -EPROTO);
		is_well();
	}
}

/* No descriptor for an answer that needs one: it comes later, and the front stays. */
static void test_shortage(void **state)
{
	static char text[200000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	stage_write(&stage, "large", text);
	asks_to_read(1, stage_path(&stage, "large"));
	failing_stays = true;
	failing_start(0);
	for (int i = 0; i < TURNS_MAX && !failing_did; i++)
		assert_true(loop_turn(stage.loop, 5) >= 0);
	/* Those behind it wait for it. */
	asks_to_read(2, stage_path(&stage, "a"));
	for (int i = 0; i < 5; i++)
		assert_true(loop_turn(stage.loop, 20) >= 0);
	assert_true(failing_stop());
	failing_stays = false;
	assert_false(stage.is_lost);
	stage_answer(&stage, 1, METHOD_FS_READ);
	assert_int_equal(stage.answer.v[0].len, sizeof(text) - 1);
	stage_answer(&stage, 2, METHOD_FS_READ);
	assert_string_equal(stage.answer.v[0].text, "hello");
	is_well();
}

static void test_descriptors(void **state)
{
	auto_fd fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(frame_send(stage.front, FRAME_CALL_CANCEL, 1, NULL, 0, &fd, 1), 0);
	stage_lost(&stage, -EPROTO);
	is_well();
}

static void test_hang_up(void **state)
{
	(void)state;
	asks_to_read(1, stage_path(&stage, "a"));
	fd_close(&stage.front);
	stage_lost(&stage, -EPIPE);
	is_well();
}

/* Calls that their row does not allow. */
static void test_wrong_calls(void **state)
{
	static const struct {
		const char *name;
		uint32_t head[4]; /* method, flags, pid, uid */
		const char *body;
		size_t len;
	} rows[] = {
		{ "nothing", { METHOD_FS_READ, 0, 1, 1 }, "", 0 },
		{ "no such method", { METHOD_COUNT, 0, 1, 1 }, "", 0 },
		{ "far away", { UINT32_MAX, 0, 1, 1 }, "", 0 },
		{ "an unknown flag", { METHOD_FS_READ, 4, 1, 1 }, "\2\1\0\0\0/\0\0", 8 },
		{ "by a name that it has not", { METHOD_FS_STAT, CALL_BY_SHIELD, 1, 1 },
			"\2\1\0\0\0/\0", 7 },
		{ "not by HTTP", { METHOD_FS_DELETE, CALL_BY_HTTP, 1, 1 }, "\2\1\0\0\0/\0", 7 },
		{ "refused in the table", { METHOD_SKILL_INSTALL, CALL_BY_SHIELD, 1, 1 }, "", 0 },
		{ "the front's own", { METHOD_PING, 0, 1, 1 }, "\0", 1 },
		{ "another type", { METHOD_FS_STAT, 0, 1, 1 }, "\1\1\0\0\0/\0", 7 },
		{ "an empty path", { METHOD_FS_STAT, 0, 1, 1 }, "\2\0\0\0\0\0", 6 },
		{ "a NUL in it", { METHOD_FS_STAT, 0, 1, 1 }, "\2\3\0\0\0/\0a\0", 9 },
		{ "longer than the frame", { METHOD_FS_STAT, 0, 1, 1 }, "\2\377\377\377\377/\0",
			7 },
		{ "something behind it", { METHOD_FS_STAT, 0, 1, 1 }, "\2\1\0\0\0/\0x", 8 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer body = { 0 };

		buffer_add(&body, rows[i].head, sizeof(rows[i].head));
		buffer_add(&body, rows[i].body, rows[i].len);
		stage_send(&stage, FRAME_CALL, 5, body.data, body.len);
		print_message("# %s\n", rows[i].name);
		stage_lost(&stage, -EPROTO);
		is_well();
	}
}

/* An id that is under way, notes that were not sent, and bodies where there are none. */
static void test_wrong_state(void **state)
{
	(void)state;
	stage_remove(&stage);
	stage = (struct stage){ .setup = { .ask_ms = 60000 } };
	stage_start(&stage, ASKING);
	stage_write(&stage, "a", "hello");
	asks_to_read(9, stage_path(&stage, "a"));
	asks_to_read(9, stage_path(&stage, "a"));
	stage_lost(&stage, -EPROTO);
	stage_reconnect(&stage);
	asks_to_read(9, stage_path(&stage, "a"));
	stage_send(&stage, FRAME_CALL_NOTE, 9, NULL, 0);
	stage_lost(&stage, -EPROTO);
	stage_reconnect(&stage);
	stage_send(&stage, FRAME_CALL_CANCEL, 9, "x", 1);
	stage_lost(&stage, -EPROTO);
	stage_reconnect(&stage);
	stage_send(&stage, FRAME_CALL_GONE, 9, "x", 1);
	stage_lost(&stage, -EPROTO);
	stage_reconnect(&stage);
	/* Late words about calls that are over are no fault, nor are those about connections. */
	stage_send(&stage, FRAME_CALL_GONE, 1234, NULL, 0);
	stage_send(&stage, FRAME_CALL_GONE, UINT64_MAX, NULL, 0);
	stage_send(&stage, FRAME_CALL_CANCEL, 1234, NULL, 0);
	stage_send(&stage, FRAME_CALL_NOTE, 1234, NULL, 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_turn(stage.loop, 1), 0);
	assert_false(stage.is_lost);
}

static int keep_number(void *context, const struct corral_question *question)
{
	*(uint64_t *)context = question->id;
	return 0;
}

/* Once a call waits for it. */
static void somebody_says(enum corral_verdict verdict)
{
	struct monitor *m = stage.monitor;
	uint64_t id = 0;

	for (int i = 0; i < TURNS_MAX && (!m->first || !m->first->is_asking); i++)
		assert_int_equal(loop_turn(stage.loop, 5), 0);
	assert_int_equal(corral_enclave_questions(m->enclave, keep_number, &id), 1);
	if (verdict != CORRAL_ASK)
		assert_int_equal(
			corral_enclave_answer(m->enclave, m->token, id, verdict, NULL, NULL, NULL),
			0);
}

/* The question is allowed, denied, or not answered. */
static void test_questions(void **state)
{
	(void)state;
	stage_remove(&stage);
	stage = (struct stage){ .setup = { .ask_ms = 60000 } };
	stage_start(&stage, ASKING);
	stage_write(&stage, "a", "hello");
	asks_to_read(1, stage_path(&stage, "a"));
	somebody_says(CORRAL_ALLOW);
	stage_answer(&stage, 1, METHOD_FS_READ);
	assert_string_equal(stage.answer.v[0].text, "hello");
	/* Once was agreed to. */
	asks_to_read(2, stage_path(&stage, "a"));
	somebody_says(CORRAL_DENY);
	stage_refused(&stage, 2, RPC_PERMISSION);
	/* Its caller gives up. */
	stage_write(&stage, "b", "hello");
	asks_to_read(3, stage_path(&stage, "b"));
	somebody_says(CORRAL_ASK);
	stage_send(&stage, FRAME_CALL_CANCEL, 3, NULL, 0);
	stage_refused(&stage, 3, RPC_INTERNAL);
	assert_int_equal(monitor_calls(stage.monitor), 0);
}

static void test_question_without_answer(void **state)
{
	(void)state;
	for (uint32_t ask_ms = 0; ask_ms <= 100; ask_ms += 100) {
		stage_remove(&stage);
		stage = (struct stage){ .setup = { .ask_ms = ask_ms } };
		stage_start(&stage, ASKING);
		stage_write(&stage, "a", "hello");
		asks_to_read(1, stage_path(&stage, "a"));
		stage_refused(&stage, 1, RPC_PERMISSION);
		assert_non_null(stage.why.hint);
	}
}

/* Questions that get no answer, however many, leave room for the next one. */
static void test_many_questions_without_answer(void **state)
{
	uint64_t none = 0;

	(void)state;
	stage_remove(&stage);
	stage = (struct stage){ .setup = { .ask_ms = 1 } };
	stage_start(&stage, ASKING);
	for (uint64_t id = 1; id <= 40; id++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%u", (unsigned)id);
		asks_to_read(id, stage_path(&stage, name));
		stage_refused(&stage, id, RPC_PERMISSION);
		assert_null(strstr(stage.why.message, "pending"));
	}
	assert_int_equal(corral_enclave_questions(stage.monitor->enclave, keep_number, &none), 0);
}

/* Who a call is said to come from changes nothing: no pid, user or channel is granted more. */
static void test_lies_about_the_caller(void **state)
{
	static const uint32_t ids[] = { 0, 1, 1000, UINT32_MAX };
	static const char *const paths[] = { "/etc/passwd", "/proc/self/environ",
		"/proc/1/root/etc/passwd", "../../../etc/passwd", "/dev/null" };
	uint64_t id = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(ids) * ROWS(paths); i++) {
		for (uint32_t flags = 0; flags <= CALL_FLAGS; flags++) {
			struct broker_call call = { .method = &method_rows[METHOD_FS_READ],
				.flags = flags,
				.pid = ids[i % ROWS(ids)],
				.uid = ids[i % ROWS(ids)] };
			auto_buffer body = { 0 };

			call.params.v[0] = stage_text(SCHEMA_PATH, paths[i / ROWS(ids)]);
			assert_int_equal(call_encode(&call, &body), 0);
			stage_send(&stage, FRAME_CALL, ++id, body.data, body.len);
			stage_refused(&stage, id, RPC_PERMISSION);
		}
	}
}

/* One caller has no more than its share; a front that has more than all of them is a liar. */
static void test_limits(void **state)
{
	size_t refused = 0;

	(void)state;
	stage_remove(&stage);
	stage = (struct stage){ .setup = { .ask_ms = 60000 } };
	stage_start(&stage, ASKING);
	stage_write(&stage, "a", "hello");
	for (uint64_t id = 1; id <= MONITOR_CALLER_CALLS_MAX + 10; id++) {
		asks_to_read(id, stage_path(&stage, "a"));
		assert_int_equal(loop_turn(stage.loop, 0), 0);
	}
	while (refused < 10) {
		assert_true(stage_hear(&stage));
		assert_int_equal(stage.frame.type, FRAME_CALL_REFUSED);
		refused++;
	}
	assert_int_equal(monitor_calls(stage.monitor), MONITOR_CALLER_CALLS_MAX);
	stage_reconnect(&stage);
	for (int i = 0; i < TURNS_MAX && monitor_calls(stage.monitor); i++)
		assert_int_equal(loop_turn(stage.loop, 5), 0);
	assert_int_equal(monitor_calls(stage.monitor), 0);
}

/* Any bytes at all, as many frames as a test has time for: nothing is read that is not granted. */
static void test_random_frames(void **state)
{
	static unsigned char body[4096];
	unsigned seed = 20260;
	struct stat before, after;

	(void)state;
	assert_int_equal(stat(stage_path(&stage, "a"), &before), 0);
	for (int round = 0; round < 20000; round++) {
		uint32_t head[4] = { (uint32_t)rand_r(&seed) % (METHOD_COUNT + 1),
			(uint32_t)rand_r(&seed) % 5, 1, 1 };
		size_t len = (size_t)rand_r(&seed) % 64;

		if (stage.is_lost)
			stage_reconnect(&stage);
		for (size_t i = 0; i < len; i++)
			body[sizeof(head) + i] = rand_r(&seed) % 3
							 ? (unsigned char)(rand_r(&seed) % 4)
							 : (unsigned char)rand_r(&seed);
		memcpy(body, head, sizeof(head));
		(void)frame_send(stage.front, rand_r(&seed) % 4 ? FRAME_CALL : FRAME_CALL_CANCEL,
			(uint64_t)rand_r(&seed) % 8, body, sizeof(head) + len, NULL, 0);
		assert_int_equal(loop_turn(stage.loop, 0), 0);
		while (!stage.is_lost && frame_receive(stage.front, &stage.frame) == 1)
			assert_true(stage.frame.type == FRAME_CALL_REFUSED ||
				    stage.frame.type == FRAME_CALL_ANSWER);
	}
	stage_reconnect(&stage);
	for (int i = 0; i < TURNS_MAX && monitor_calls(stage.monitor); i++)
		assert_int_equal(loop_turn(stage.loop, 5), 0);
	is_well();
	assert_int_equal(stat(stage_path(&stage, "a"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, stage_set_up, stage_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_log),
		TEST(test_other_frames),
		TEST(test_shortage),
		TEST(test_descriptors),
		TEST(test_hang_up),
		TEST(test_wrong_calls),
		TEST(test_wrong_state),
		TEST(test_questions),
		TEST(test_question_without_answer),
		TEST(test_many_questions_without_answer),
		TEST(test_lies_about_the_caller),
		TEST(test_limits),
		TEST(test_random_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
