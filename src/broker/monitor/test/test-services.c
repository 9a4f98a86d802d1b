/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of services through the monitor. The back end is backend-lies.c, under the name of
 * corral-desktop in a folder of the test: it answers, dies, hangs and lies as the title of a
 * notification says.
 */
#include "broker/monitor/test/test-stage.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "broker/service/link.h"
#include "test/unit.h"

#define GRANTED                                                      \
	"{\"services\": {\"notifications\": {\"access\": \"send\", " \
	"\"rate_limit\": \"1000/min\"}}}"

static const char *backends, *services;
static char backends_variable[256], config_variable[256];
static const char *user_environment[] = { backends_variable, config_variable,
	"DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere", "SECRET=not for it", NULL };

static void services_stage(struct stage *s, const char *permissions, const char *sandbox)
{
	*s = (struct stage){ 0 };
	s->setup.user_environment = user_environment;
	s->setup.n_user_environment = ROWS(user_environment) - 1;
	s->setup.services = services ? services : "";
	stage_start(s, permissions);
	s->setup.sandbox = sandbox;
}

static void notify(struct stage *s, uint64_t id, const char *title, const char *body)
{
	struct values v = { 0 };

	v.v[0] = stage_text(SCHEMA_TEXT, title);
	if (body)
		v.v[1] = stage_text(SCHEMA_TEXT, body);
	stage_call(s, id, METHOD_NOTIFICATIONS_SEND, 0, &v);
}

static pid_t pid_of_backend(struct stage *s, uint64_t id)
{
	notify(s, id, "pid", NULL);
	stage_refused(s, id, RPC_SERVICE);
	if (strtol(s->why.message, NULL, 10) <= 1)
		fail_msg("no pid: %s", s->why.message);
	return (pid_t)strtol(s->why.message, NULL, 10);
}

static void test_what_it_is_given(void **state)
{
	struct stage s;
	auto_buffer text = { 0 };
	const char *path;

	(void)state;
	services_stage(&s, GRANTED, "shopping");
	path = stage_path(&s, "told");
	notify(&s, 1, "tell", path);
	stage_answer(&s, 1, METHOD_NOTIFICATIONS_SEND);
	assert_int_equal(s.answer.v[0].number, 1);
	assert_int_equal(file_read(path, 1 << 16, &text), 0);
	assert_non_null(
		strstr(buffer_text(&text), "backend=notifications\nsandbox=shopping\nlayers=1\n"));
	assert_non_null(
		strstr(buffer_text(&text), "env DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere\n"));
	/* No variable that its row does not name. */
	assert_null(strstr(buffer_text(&text), "SECRET"));
	assert_null(strstr(buffer_text(&text), "CORRAL_BACKENDS"));
	stage_remove(&s);
}

static void test_one_process_stays(void **state)
{
	struct stage s;
	pid_t pid;

	(void)state;
	services_stage(&s, GRANTED, "");
	pid = pid_of_backend(&s, 1);
	for (uint64_t i = 2; i < 10; i++)
		assert_int_equal(pid_of_backend(&s, i), pid);
	stage_remove(&s);
	/* It ended with its monitor, and was reaped. */
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void test_the_policy_is_asked_first(void **state)
{
	struct stage s;

	(void)state;
	services_stage(&s, "{}", "dies");
	notify(&s, 1, "die", NULL);
	stage_refused(&s, 1, RPC_PERMISSION);
	stage_remove(&s);
	services_stage(&s, "{\"services\": {\"clipboard\": {\"access\": \"read\"}}}", "dies");
	notify(&s, 1, "die", NULL);
	stage_refused(&s, 1, RPC_PERMISSION);
	stage_remove(&s);
}

static void test_bounds_of_the_policy(void **state)
{
	struct stage s;
	char long_body[300];

	(void)state;
	memset(long_body, 'x', sizeof(long_body) - 1);
	long_body[sizeof(long_body) - 1] = '\0';
	services_stage(&s,
		"{\"services\": {\"notifications\": {\"access\": \"send\", \"rate_limit\": "
		"\"3/min\", \"max_size\": 100}}}",
		"");
	/* What is refused does not count. */
	for (uint64_t i = 1; i < 6; i++) {
		notify(&s, i, "answer", long_body);
		stage_refused(&s, i, RPC_SCOPE);
	}
	for (uint64_t i = 10; i < 13; i++) {
		notify(&s, i, "answer", NULL);
		stage_answer(&s, i, METHOD_NOTIFICATIONS_SEND);
	}
	notify(&s, 13, "answer", NULL);
	stage_refused(&s, 13, RPC_RATE);
	stage_remove(&s);
	/* Without one the row's holds. */
	services_stage(&s, "{\"services\": {\"notifications\": {\"access\": \"send\"}}}", "");
	for (uint64_t i = 0; i < method_rows[METHOD_NOTIFICATIONS_SEND].per_minute; i++) {
		notify(&s, i, "answer", NULL);
		stage_answer(&s, i, METHOD_NOTIFICATIONS_SEND);
	}
	notify(&s, 100, "answer", NULL);
	stage_refused(&s, 100, RPC_RATE);
	stage_remove(&s);
}

/* Whatever a back end does: the call is refused, and the next one is served by another process. */
static void test_a_back_end_that_lies(void **state)
{
	static const char *const titles[] = { "garbage", "forge", "call", "descriptor", "note",
		"ready", "die" };

	(void)state;
	for (size_t i = 0; i < ROWS(titles); i++) {
		struct stage s;
		pid_t pid;

		services_stage(&s, GRANTED, "");
		pid = pid_of_backend(&s, 1);
		notify(&s, 2, titles[i], NULL);
		stage_refused(&s, 2, RPC_SERVICE);
		if (!strstr(s.why.message, "whether it was done is not known"))
			fail_msg("%s: %s", titles[i], s.why.message);
		if (pid_of_backend(&s, 3) == pid)
			fail_msg("%s: it was not replaced", titles[i]);
		stage_remove(&s);
	}
}

static void test_an_answer_that_comes_twice(void **state)
{
	struct stage s;
	pid_t pid;

	(void)state;
	services_stage(&s, GRANTED, "");
	pid = pid_of_backend(&s, 1);
	notify(&s, 2, "twice", NULL);
	stage_answer(&s, 2, METHOD_NOTIFICATIONS_SEND);
	/* The second one is for no call: it is ended, whenever that is seen. */
	notify(&s, 3, "answer", NULL);
	assert_true(stage_hear(&s));
	assert_int_equal(s.frame.id, 3);
	assert_true(pid_of_backend(&s, 4) != pid);
	stage_remove(&s);
}

static void test_one_that_is_killed(void **state)
{
	struct stage s;
	pid_t pid;

	(void)state;
	services_stage(&s, GRANTED, "");
	pid = pid_of_backend(&s, 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	/* Until that was seen, a call may be lost; then another process is there. */
	for (uint64_t i = 2;; i++) {
		notify(&s, i, "pid", NULL);
		stage_refused(&s, i, RPC_SERVICE);
		if (strtol(s.why.message, NULL, 10) > 0)
			break;
	}
	assert_true(strtol(s.why.message, NULL, 10) != pid);
	stage_remove(&s);
}

static void test_one_that_dies_often(void **state)
{
	struct stage s;
	uint64_t id = 0;

	(void)state;
	services_stage(&s, GRANTED, "dies");
	/* Five in ten seconds: a machine that takes longer for them has to start more. */
	do {
		notify(&s, ++id, "answer", NULL);
		stage_refused(&s, id, RPC_SERVICE);
	} while (id < 100 && strstr(s.why.message, "ended before it could serve"));
	assert_true(id > LINK_STARTS_MAX);
	assert_non_null(strstr(s.why.message, "started too often"));
	stage_remove(&s);
}

static void test_one_that_cannot_serve(void **state)
{
	struct stage s;

	(void)state;
	services_stage(&s, GRANTED, "fails");
	notify(&s, 1, "answer", NULL);
	stage_refused(&s, 1, RPC_SERVICE);
	assert_string_equal(s.why.message, "there is no bus");
	assert_string_equal(s.why.hint, "start one");
	stage_remove(&s);
}

static void test_a_call_that_is_cancelled(void **state)
{
	struct stage s;
	pid_t pid;

	(void)state;
	services_stage(&s, GRANTED, "");
	pid = pid_of_backend(&s, 1);
	notify(&s, 2, "ignore", NULL);
	notify(&s, 3, "answer", NULL);
	stage_answer(&s, 3, METHOD_NOTIFICATIONS_SEND);
	stage_send(&s, FRAME_CALL_CANCEL, 2, NULL, 0);
	stage_refused(&s, 2, RPC_INTERNAL);
	assert_int_equal(monitor_calls(s.monitor), 0);
	/* It said that it is over, so it stays. */
	assert_int_equal(pid_of_backend(&s, 4), pid);
	/* A front that goes takes its calls along. */
	notify(&s, 5, "ignore", NULL);
	notify(&s, 6, "answer", NULL);
	stage_answer(&s, 6, METHOD_NOTIFICATIONS_SEND);
	stage_reconnect(&s);
	assert_int_equal(monitor_calls(s.monitor), 0);
	assert_int_equal(pid_of_backend(&s, 7), pid);
	stage_remove(&s);
}

static void test_a_program_that_is_missing(void **state)
{
	const char *const none[] = { "CORRAL_BACKENDS=/nonexistent" };
	struct stage s = { 0 };

	(void)state;
	s.setup.user_environment = none;
	s.setup.n_user_environment = 1;
	s.setup.services = "";
	stage_start(&s, GRANTED);
	notify(&s, 1, "answer", NULL);
	stage_refused(&s, 1, RPC_SERVICE);
	assert_non_null(strstr(s.why.message, "/nonexistent/corral-desktop is not installed"));
	assert_non_null(strstr(s.why.hint, "-Dnotifications=enabled"));
	stage_remove(&s);
}

static void test_a_wrong_configuration(void **state)
{
	struct stage s;

	(void)state;
	services = "notifications:\n  colour: red\n";
	services_stage(&s, GRANTED, "");
	notify(&s, 1, "answer", NULL);
	stage_refused(&s, 1, RPC_SERVICE);
	assert_non_null(strstr(s.why.message, "services:2: unknown key `colour`"));
	stage_remove(&s);
	services = NULL;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_is_given),
		cmocka_unit_test(test_one_process_stays),
		cmocka_unit_test(test_the_policy_is_asked_first),
		cmocka_unit_test(test_bounds_of_the_policy),
		cmocka_unit_test(test_a_back_end_that_lies),
		cmocka_unit_test(test_an_answer_that_comes_twice),
		cmocka_unit_test(test_one_that_is_killed),
		cmocka_unit_test(test_one_that_dies_often),
		cmocka_unit_test(test_one_that_cannot_serve),
		cmocka_unit_test(test_a_call_that_is_cancelled),
		cmocka_unit_test(test_a_program_that_is_missing),
		cmocka_unit_test(test_a_wrong_configuration),
	};
	char folder[] = "/tmp/corral-backends-XXXXXX", link[64], program[PATH_MAX];
	int r;

	if (argc != 2 || !realpath(argv[1], program) || !mkdtemp(folder))
		return 1;
	backends = folder;
	(void)snprintf(link, sizeof(link), "%s/corral-desktop", folder);
	if (symlink(program, link) < 0)
		return 1;
	(void)snprintf(
		backends_variable, sizeof(backends_variable), "CORRAL_BACKENDS=%s", backends);
	(void)snprintf(config_variable, sizeof(config_variable), "XDG_CONFIG_HOME=%s", backends);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(link);
	(void)rmdir(folder);
	return r;
}
