/* SPDX-License-Identifier: Apache-2.0 */
/* Every method by frames: what it answers, and what it refuses. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/test/test-stage.h"

#define POLICY                                                                                    \
	"{\"fs\":{\"read\":[\"$WORK_DIR/{,**}\",\"/usr/{,**}\"],"                                 \
	"\"write\":[\"$WORK_DIR/out/{,**}\"],\"deny\":[\"$WORK_DIR/secret\"]},"                   \
	"\"exec\":[\"echo\",\"cat\",\"sleep\",\"env\",\"seq\",\"git push:*\"],\"env\":[\"LANG\"," \
	"\"GREETING\"],\"network\":{\"allow\":[\"api.example.com:443\"]},"                        \
	"\"services\":{\"browser\":{\"access\":\"open\",\"domains\":[\"example.com\"]},"          \
	"\"vault\":{\"access\":\"read\",\"secrets\":[\"TOKEN\",\"NOWHERE\"],\"rate_limit\":\"20/" \
	"hour\"}}}"

static struct stage stage;

static int stage_set_up(void **state)
{
	static const char *const environment[] = { "LANG=C", "TOKEN=t0ps3cret" };
	static const char *const secrets[] = { "TOKEN=api.example.com:443,header" };

	(void)state;
	/* A lender that ends at once. */
	stage = (struct stage){ .setup = { .environment = environment,
					.n_environment = ROWS(environment),
					.lender = "/bin/false",
					.principal = "test",
					.secrets = secrets,
					.n_secrets = ROWS(secrets) } };
	stage_start(&stage, POLICY);
	stage_write(&stage, "a.txt", "hello\n");
	stage_write(&stage, "secret", "s");
	assert_int_equal(mkdir(stage_path(&stage, "out"), 0755), 0);
	return 0;
}

static int stage_tear_down(void **state)
{
	(void)state;
	stage_remove(&stage);
	return 0;
}

/* One parameter, and its answer. */
static void asks(uint64_t id, enum method_id m, uint32_t flags, struct value first)
{
	struct values v = { 0 };

	v.v[0] = first;
	stage_call(&stage, id, m, flags, &v);
}

static void answers(enum method_id m, struct value first)
{
	static uint64_t id = 100;

	asks(++id, m, 0, first);
	stage_answer(&stage, id, m);
}

static void refuses(enum method_id m, struct value first, enum rpc_class class)
{
	static uint64_t id = 500;

	asks(++id, m, 0, first);
	stage_refused(&stage, id, class);
}

static struct value path_value(const char *name)
{
	return stage_text(SCHEMA_PATH, name[0] == '/' ? name : stage_path(&stage, name));
}

/* Files */

static void test_read(void **state)
{
	(void)state;
	answers(METHOD_FS_READ, path_value("a.txt"));
	assert_int_equal(stage.answer.v[0].len, 6);
	assert_memory_equal(stage.answer.v[0].text, "hello\n", 6);
	assert_int_equal(stage.answer.v[2].number, 6);
	/* A relative path starts at the session's folder. */
	answers(METHOD_FS_READ, stage_text(SCHEMA_PATH, "out/../a.txt"));
	assert_int_equal(stage.answer.v[0].len, 6);
}

static void test_read_refused(void **state)
{
	bool found = false;

	(void)state;
	refuses(METHOD_FS_READ, path_value("/etc/passwd"), RPC_PERMISSION);
	assert_non_null(strstr(stage.why.message, "/etc/passwd"));
	assert_non_null(stage.why.hint);
	for (size_t i = 0; i < stage.why.n_allowed; i++)
		found = found || strcmp(stage.why.allowed[i].text, "$WORK_DIR/{,**}") == 0;
	assert_true(found);
	refuses(METHOD_FS_READ, path_value("secret"), RPC_PERMISSION);
	assert_non_null(stage.why.rule);
	assert_non_null(strstr(stage.why.rule, "secret"));
	refuses(METHOD_FS_READ, path_value("missing"), RPC_PATH);
	refuses(METHOD_FS_READ, path_value("out"), RPC_PATH);
	/* A link out of what is granted. */
	assert_int_equal(symlink("/etc/passwd", stage_path(&stage, "out/link")), 0);
	refuses(METHOD_FS_READ, path_value("out/link"), RPC_PERMISSION);
	refuses(METHOD_FS_READ, stage_text(SCHEMA_PATH, "../../etc/passwd"), RPC_PERMISSION);
	refuses(METHOD_FS_READ, path_value("/proc/self/environ"), RPC_PERMISSION);
}

static void test_write(void **state)
{
	struct values v = { 0 };
	struct stat st;

	(void)state;
	v.v[0] = path_value("out/b");
	v.v[1] = stage_text(SCHEMA_DATA, "new");
	v.v[3] = value_number(SCHEMA_NUMBER, 0600);
	stage_call(&stage, 1, METHOD_FS_WRITE, CALL_BY_SHIELD, &v);
	stage_answer(&stage, 1, METHOD_FS_WRITE);
	assert_int_equal(stage.answer.v[0].number, 3);
	assert_string_equal(stage.answer.v[1].text, stage_path(&stage, "out/b"));
	assert_int_equal(stat(stage_path(&stage, "out/b"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 3);
	/* Where it may only read. */
	v.v[0] = path_value("a.txt");
	stage_call(&stage, 2, METHOD_FS_WRITE, 0, &v);
	stage_refused(&stage, 2, RPC_PERMISSION);
	assert_int_equal(stat(stage_path(&stage, "a.txt"), &st), 0);
	assert_int_equal(st.st_size, 6);
}

static void test_list_and_stat(void **state)
{
	struct values v = { 0 };

	(void)state;
	stage_write(&stage, "out/x.c", "");
	stage_write(&stage, "out/y.h", "12");
	answers(METHOD_FS_LIST, path_value("out"));
	assert_int_equal(stage.answer.v[0].n, 2);
	assert_string_equal(stage.answer.v[0].files[0].name, "x.c");
	assert_string_equal(stage.answer.v[0].files[1].path, stage_path(&stage, "out/y.h"));
	assert_int_equal(stage.answer.v[0].files[1].size, 2);
	v.v[0] = stage_text(SCHEMA_PATH, ".");
	v.v[1] = stage_text(SCHEMA_TEXT, "**/*.h");
	v.v[2] = value_number(SCHEMA_FLAG, 1);
	stage_call(&stage, 1, METHOD_FS_LIST, 0, &v);
	stage_answer(&stage, 1, METHOD_FS_LIST);
	assert_int_equal(stage.answer.v[0].n, 1);
	assert_string_equal(stage.answer.v[0].files[0].name, "y.h");
	refuses(METHOD_FS_LIST, path_value("/etc"), RPC_PERMISSION);

	answers(METHOD_FS_STAT, path_value("out/y.h"));
	assert_string_equal(stage.answer.v[1].text, "file");
	assert_int_equal(stage.answer.v[2].number, 2);
	answers(METHOD_FS_STAT, path_value("out"));
	assert_string_equal(stage.answer.v[1].text, "directory");
	refuses(METHOD_FS_STAT, path_value("/etc/passwd"), RPC_PERMISSION);
}

static void test_delete(void **state)
{
	(void)state;
	stage_write(&stage, "out/gone", "");
	answers(METHOD_FS_DELETE, path_value("out/gone"));
	assert_int_equal(access(stage_path(&stage, "out/gone"), F_OK), -1);
	refuses(METHOD_FS_DELETE, path_value("a.txt"), RPC_PERMISSION);
	assert_int_equal(access(stage_path(&stage, "a.txt"), F_OK), 0);
	refuses(METHOD_FS_DELETE, path_value("out/gone"), RPC_PATH);
}

/* Programs */

enum { COMMAND, ARGS, CWD, ENV, TIMEOUT, INPUT, ENCODED, SHELL, STREAM };

static struct value words(const struct value_item *items, size_t n)
{
	return (struct value){ .type = SCHEMA_WORDS, .items = items, .n = n };
}

static void run(
	uint64_t id, const char *command, const struct value_item *args, size_t n, struct values v)
{
	v.v[COMMAND] = stage_text(SCHEMA_TEXT, command);
	v.v[ARGS] = words(args, n);
	stage_call(&stage, id, METHOD_EXEC_RUN, 0, &v);
}

static void test_exec(void **state)
{
	const struct value_item hello[] = { { .text = "hello" }, { .text = "you" } };
	const struct value_item push[] = { { .text = "pull" } };
	struct values v = { 0 };

	(void)state;
	run(1, "echo", hello, 2, v);
	stage_answer(&stage, 1, METHOD_EXEC_RUN);
	assert_int_equal(stage.answer.v[0].number, 0);
	assert_string_equal(stage.answer.v[1].text, "hello you\n");
	v.v[INPUT] = stage_text(SCHEMA_DATA, "in");
	run(2, "cat", NULL, 0, v);
	stage_answer(&stage, 2, METHOD_EXEC_RUN);
	assert_string_equal(stage.answer.v[1].text, "in");
	run(3, "ls", NULL, 0, (struct values){ 0 });
	stage_refused(&stage, 3, RPC_PERMISSION);
	assert_true(stage.why.n_allowed > 0);
	/* A rule about arguments. */
	run(4, "git", push, 1, (struct values){ 0 });
	stage_refused(&stage, 4, RPC_PERMISSION);
	/* A file that may be read is no program that may run. */
	run(5, "/usr/bin/id", NULL, 0, (struct values){ 0 });
	stage_refused(&stage, 5, RPC_PERMISSION);
}

/* Without a list of programs what may be read may run, as for the commands inside. */
static void test_exec_without_a_list(void **state)
{
	const struct value_item hello[] = { { .text = "hello" } };

	(void)state;
	stage_remove(&stage);
	stage_make(&stage, "{\"fs\":{\"read\":[\"/usr/{,**}\",\"$WORK_DIR/{,**}\"],\"deny\":["
			   "\"/usr/bin/id\"]}}");
	run(1, "echo", hello, 1, (struct values){ 0 });
	stage_answer(&stage, 1, METHOD_EXEC_RUN);
	assert_string_equal(stage.answer.v[1].text, "hello\n");
	run(2, "id", NULL, 0, (struct values){ 0 });
	stage_refused(&stage, 2, RPC_PERMISSION);
	run(3, "/etc/passwd", NULL, 0, (struct values){ 0 });
	stage_refused(&stage, 3, RPC_PERMISSION);
	/* No layer at all lets nothing run. */
	stage_remove(&stage);
	stage_make(&stage, "{}");
	run(4, "echo", hello, 1, (struct values){ 0 });
	stage_refused(&stage, 4, RPC_PERMISSION);
}

static void test_exec_parameters(void **state)
{
	const struct value_item ten[] = { { .text = "10" } };
	const struct value_item granted[] = { { .key = "GREETING", .text = "hi" } };
	const struct value_item other[] = { { .key = "LD_PRELOAD", .text = "x" } };
	const struct value_item trick[] = { { .key = "GREETING=x", .text = "hi" } };
	struct values v = { 0 };

	(void)state;
	v.v[TIMEOUT] = value_number(SCHEMA_NUMBER, 300);
	run(1, "sleep", ten, 1, v);
	stage_answer(&stage, 1, METHOD_EXEC_RUN);
	assert_int_equal(stage.answer.v[5].number, 1);
	v = (struct values){ 0 };
	v.v[ENV] = (struct value){ .type = SCHEMA_PAIRS, .items = granted, .n = 1 };
	run(2, "env", NULL, 0, v);
	stage_answer(&stage, 2, METHOD_EXEC_RUN);
	assert_non_null(strstr(stage.answer.v[1].text, "GREETING=hi\n"));
	assert_null(strstr(stage.answer.v[1].text, "t0ps3cret"));
	v.v[ENV].items = other;
	run(3, "env", NULL, 0, v);
	stage_refused(&stage, 3, RPC_PERMISSION);
	v.v[ENV].items = trick;
	run(4, "env", NULL, 0, v);
	stage_refused(&stage, 4, RPC_PARAMS);
	v = (struct values){ 0 };
	v.v[SHELL] = value_number(SCHEMA_FLAG, 1);
	run(5, "echo", NULL, 0, v);
	stage_refused(&stage, 5, RPC_PARAMS);
	v = (struct values){ 0 };
	v.v[CWD] = path_value("/etc");
	run(6, "echo", NULL, 0, v);
	stage_refused(&stage, 6, RPC_PERMISSION);
}

/* The program waits for a caller that does not read; all of it comes in order. */
static void test_exec_streams(void **state)
{
	const struct value_item all[] = { { .text = "100000" } };
	static char seen[1 << 20];
	size_t len = 0, n_notes = 0;
	bool is_over = false;
	struct values v = { 0 };

	(void)state;
	v.v[STREAM] = value_number(SCHEMA_FLAG, 1);
	run(1, "seq", all, 1, v);
	while (!is_over && stage_hear(&stage) && stage.frame.type == FRAME_CALL_NOTE) {
		auto_arena a = { 0 };

		assert_int_equal(values_decode(method_rows[METHOD_EXEC_RUN].notes, stage.frame.body,
					 stage.frame.len, &a, &v),
			0);
		assert_int_equal(v.v[0].number, 0);
		assert_true(len + v.v[1].len < sizeof(seen));
		memcpy(seen + len, v.v[1].text, v.v[1].len);
		len += v.v[1].len;
		/* No more than so many are on their way; the answer may be. */
		if (++n_notes < CALL_NOTES_MAX)
			continue;
		for (int i = 0; i < 20 && !is_over; i++) {
			assert_int_equal(loop_turn(stage.loop, 5), 0);
			is_over = frame_receive(stage.front, &stage.frame) == 1;
			assert_int_equal(is_over, stage.frame.type == FRAME_CALL_ANSWER);
		}
		for (; n_notes > 0 && !is_over; n_notes--)
			stage_send(&stage, FRAME_CALL_NOTE, 1, NULL, 0);
	}
	assert_int_equal(stage.frame.type, FRAME_CALL_ANSWER);
	seen[len] = '\0';
	assert_int_equal(len, 588895);
	assert_memory_equal(seen, "1\n2\n3\n", 6);
	assert_string_equal(seen + len - 7, "100000\n");
}

/* The caller has gone: what it started ends, and the slot is free. */
static void test_exec_cancelled(void **state)
{
	const struct value_item ten[] = { { .text = "1000" } };

	(void)state;
	run(1, "sleep", ten, 1, (struct values){ 0 });
	for (int i = 0; i < 30; i++)
		assert_int_equal(loop_turn(stage.loop, 10), 0);
	stage_send(&stage, FRAME_CALL_CANCEL, 1, NULL, 0);
	stage_refused(&stage, 1, RPC_INTERNAL);
	for (int i = 0; i < 6000 && monitor_calls(stage.monitor); i++)
		assert_int_equal(loop_turn(stage.loop, 10), 0);
	assert_int_equal(monitor_calls(stage.monitor), 0);
}

/* The rest */

static void test_environment(void **state)
{
	(void)state;
	answers(METHOD_ENV_GET, stage_text(SCHEMA_TEXT, "LANG"));
	assert_string_equal(stage.answer.v[0].text, "C");
	assert_int_equal(stage.answer.v[1].number, 1);
	answers(METHOD_ENV_GET, stage_text(SCHEMA_TEXT, "GREETING"));
	assert_int_equal(stage.answer.v[0].type, SCHEMA_NONE);
	assert_int_equal(stage.answer.v[1].number, 0);
	refuses(METHOD_ENV_GET, stage_text(SCHEMA_TEXT, "TOKEN"), RPC_PERMISSION);
	assert_null(strstr(stage.why.message, "t0ps3cret"));
	refuses(METHOD_ENV_GET, stage_text(SCHEMA_TEXT, "LANG=C"), RPC_PARAMS);
	refuses(METHOD_ENV_GET, stage_text(SCHEMA_TEXT, ""), RPC_PARAMS);
}

static const struct {
	const char *op, *target;
	int allowed; /* -1: a parameter is wrong */
} checks[] = {
	{ "fs.read", "/usr/bin", 1 },
	{ "file_read", "a.txt", 1 },
	{ "fs.write", "a.txt", 0 },
	{ "fs.write", "out/x", 1 },
	{ "fs.delete", "out/x", 1 },
	{ "fs.read", "secret", 0 },
	{ "fs.read", "out/to-passwd", 0 },
	{ "exec", "echo hello", 1 },
	{ "exec.run", "ls -l", 0 },
	{ "exec", "git push origin", 1 },
	{ "exec", "git pull", 0 },
	{ "exec", "echo $HOME", 0 },
	{ "exec", "echo a; ls", -1 },
	{ "exec", "echo > x", -1 },
	{ "http_request", "https://api.example.com/x", 1 },
	{ "net.connect", "evil.example.com:443", 0 },
	{ "net.connect", "http://169.254.169.254/", 0 },
	{ "env", "LANG", 1 },
	{ "env", "TOKEN", 0 },
	{ "open_url", "https://example.com/", 1 },
	{ "open_url", "https://evilexample.com/", 0 },
	{ "ping", "x", -1 },
	{ "no.such", "x", -1 },
};

static void test_policy_check(void **state)
{
	(void)state;
	assert_int_equal(symlink("/etc/passwd", stage_path(&stage, "out/to-passwd")), 0);
	for (size_t i = 0; i < ROWS(checks); i++) {
		struct values v = { 0 };

		v.v[0] = stage_text(SCHEMA_TEXT, checks[i].op);
		v.v[1] = stage_text(SCHEMA_TEXT, checks[i].target);
		stage_call(&stage, i, METHOD_POLICY_CHECK, CALL_BY_SHIELD, &v);
		if (checks[i].allowed < 0) {
			stage_refused(&stage, i, RPC_PARAMS);
			continue;
		}
		stage_answer(&stage, i, METHOD_POLICY_CHECK);
		if (stage.answer.v[0].number != (uint64_t)checks[i].allowed)
			fail_msg("%s %s: %s", checks[i].op, checks[i].target,
				stage.answer.v[2].text);
		assert_int_equal(stage.answer.v[2].type, SCHEMA_TEXT);
	}
}

static void injects(uint64_t id, const char *name, const char *variable)
{
	struct values v = { 0 };

	v.v[0] = stage_text(SCHEMA_TEXT, name);
	if (variable)
		v.v[1] = stage_text(SCHEMA_TEXT, variable);
	stage_call(&stage, id, METHOD_SECRET_INJECT, CALL_BY_SHIELD, &v);
}

static void test_secrets(void **state)
{
	static const struct {
		const char *name, *variable;
		enum rpc_class class;
	} refused[] = {
		{ "*", NULL, RPC_PARAMS },
		{ "TOK?N", NULL, RPC_PARAMS },
		{ "TOKEN=a:443", NULL, RPC_PARAMS },
		{ "", NULL, RPC_PARAMS },
		{ "TOKEN", "", RPC_PARAMS },
		{ "TOKEN", "1A", RPC_PARAMS },
		{ "TOKEN", "A=B", RPC_PARAMS },
		{ "TOKEN", "LD_PRELOAD", RPC_PARAMS },
		{ "TOKEN", "SSL_CERT_FILE", RPC_PARAMS },
		{ "TOKEN", "SANDBOX_SOCKET", RPC_PARAMS },
		{ "TOKEN", "PATH", RPC_PARAMS },
		/* The policy does not name it; or not where it may go. */
		{ "OTHER", NULL, RPC_SCOPE },
		{ "NOWHERE", NULL, RPC_PERMISSION },
	};
	uint64_t id = 1000;

	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		injects(++id, refused[i].name, refused[i].variable);
		stage_refused(&stage, id, refused[i].class);
	}
	injects(++id, "TOKEN", NULL);
	stage_answer(&stage, id, METHOD_SECRET_INJECT);
	assert_int_equal(stage.answer.v[0].number, 1);
	/* It cannot be lent, so the program does not start; the next one has none. */
	asks(++id, METHOD_EXEC_RUN, 0, stage_text(SCHEMA_TEXT, "env"));
	stage_refused(&stage, id, RPC_SERVICE);
	assert_non_null(strstr(stage.why.message, "its process ended"));
	asks(++id, METHOD_EXEC_RUN, 0, stage_text(SCHEMA_TEXT, "env"));
	stage_answer(&stage, id, METHOD_EXEC_RUN);
	assert_null(strstr(stage.answer.v[1].text, "TOKEN"));
	/* The one that waits goes with its connection, and no more than eight do. */
	for (unsigned i = 0; i < 8; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "V%u", i);
		injects(++id, "TOKEN", name);
		stage_answer(&stage, id, METHOD_SECRET_INJECT);
	}
	injects(++id, "TOKEN", "V8");
	stage_refused(&stage, id, RPC_RATE);
	stage_send(&stage, FRAME_CALL_GONE, 0, NULL, 0);
	asks(++id, METHOD_EXEC_RUN, 0, stage_text(SCHEMA_TEXT, "env"));
	stage_answer(&stage, id, METHOD_EXEC_RUN);
	/* Names are of the policy, so its rate counts. */
	for (unsigned i = 0; i < 10; i++) {
		injects(++id, "TOKEN", "A");
		stage_answer(&stage, id, METHOD_SECRET_INJECT);
	}
	injects(++id, "TOKEN", "A");
	stage_refused(&stage, id, RPC_RATE);
}

static void test_services(void **state)
{
	struct values v = { 0 };

	(void)state;
	refuses(METHOD_OPEN_URL, stage_text(SCHEMA_TEXT, "https://example.com/"), RPC_SERVICE);
	refuses(METHOD_OPEN_URL, stage_text(SCHEMA_TEXT, "https://evilexample.com/"), RPC_SCOPE);
	v.v[0] = stage_text(SCHEMA_TEXT, "k");
	stage_call(&stage, 1, METHOD_SECRET_INJECT, CALL_BY_SHIELD, &v);
	stage_refused(&stage, 1, RPC_SCOPE);
	/* There is no log. */
	v.v[0] = stage_text(SCHEMA_JSON, "[{\"a\":1}]");
	stage_call(&stage, 2, METHOD_EVENTS_BATCH, CALL_BY_SHIELD, &v);
	stage_refused(&stage, 2, RPC_SERVICE);
	v.v[0] = stage_text(SCHEMA_JSON, "[1]");
	stage_call(&stage, 3, METHOD_EVENTS_BATCH, CALL_BY_SHIELD, &v);
	stage_refused(&stage, 3, RPC_PARAMS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, stage_set_up, stage_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_read),
		TEST(test_read_refused),
		TEST(test_write),
		TEST(test_list_and_stat),
		TEST(test_delete),
		TEST(test_exec),
		TEST(test_exec_without_a_list),
		TEST(test_exec_parameters),
		TEST(test_exec_streams),
		TEST(test_exec_cancelled),
		TEST(test_environment),
		TEST(test_policy_check),
		TEST(test_secrets),
		TEST(test_services),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
