/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/shell.h"

#include "daemon/enclave/test/test-stage.h"

#define EXEC shell_exec, &routes[ROUTE_SHELL_EXEC]
#define PROGRAMS "exec: [/usr/bin/**, /bin/**]\n"

static void test_runs(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s, PROGRAMS);
	answers(&s, 200, "{\"exit_code\":0,\"signal\":null,\"timed_out\":false,", EXEC, "cmd",
		"/usr/bin/printf", "args", "[\"a b\"]", "cwd", s.work);
	answers(&s, 200, "\"stdout\":{\"data\":\"a b\",\"encoding\":\"utf8\",\"truncated\":false}",
		EXEC, "cmd", "/usr/bin/printf", "args", "[\"a b\"]", "cwd", s.work);
	answers(&s, 200, "\"stdout\":{\"data\":\"in\"", EXEC, "cmd", "/usr/bin/cat", "stdin", "in",
		"cwd", s.work);
	answers(&s, 200, "\"timed_out\":true", EXEC, "cmd", "/usr/bin/sleep", "args", "[\"600\"]",
		"timeout_ms", "50", "cwd", s.work);
	/* Without an id there are no events. */
	assert_null(strstr(buffer_text(&s.told), "output "));
	stage_end(&s);
}

static void test_refused(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s, "exec: [/usr/bin/true]\n");
	answers(&s, 403, "\"denial\":{\"op\":\"exec\"", EXEC, "cmd", "/usr/bin/env", "cwd", s.work);
	answers(&s, 400, "error", EXEC, "cmd", "/usr/bin/true", "args", "{}", "cwd", s.work);
	answers(&s, 400, "error", EXEC, "cmd", "/usr/bin/true", "args", "[1]", "cwd", s.work);
	answers(&s, 400, "must be absolute", EXEC, "cmd", "/usr/bin/true", "cwd", "work");
	stage_end(&s);
}

/* With an id all output is sent as events, which say how much was left out. */
static void test_events(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s, PROGRAMS);
	answers(&s, 200, "\"exit_code\":0", EXEC, "cmd", "/usr/bin/printf", "args", "[\"ab\"]",
		"id", "call-1", "cwd", s.work);
	assert_non_null(strstr(buffer_text(&s.told),
		"output {\"call\":\"call-1\",\"stream\":\"stdout\",\"data\":\"ab\",\"encoding\":"
		"\"utf8\",\"skipped\":0}"));
	stage_end(&s);
}

/* More than an answer may have is cut, and the answer says so. */
static void test_much(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s, PROGRAMS);
	answers(&s, 200, "\"truncated\":true}", EXEC, "cmd", "/usr/bin/head", "args",
		"[\"-c\", \"2000000\", \"/dev/zero\"]", "cwd", s.work);
	stage_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
