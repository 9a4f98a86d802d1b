/* SPDX-License-Identifier: Apache-2.0 */
/* Other permissions for a sandbox that lives: files, programs, variables, limits. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/sandbox/test/test-common.h"
#include "test/fds.h"

/* LENT: the descriptor of an init that may be lent, or not yet. */
enum { PATIENCE_MS = 60000, THREADS = 4, UPDATES = 200, LENT = 1 };

#define SYSTEM "'/usr/**', '/etc/alternatives/**'"
#define ONLY_A "fs: {read: [" SYSTEM ", '$WORK_DIR/a']}"
#define ONLY_B "fs: {read: [" SYSTEM ", '$WORK_DIR/b']}"

static struct corral_permissions *parse(const char *yaml)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;

	if (corral_permissions_parse(&p, "test.yaml", yaml, strlen(yaml), &e) < 0)
		fail_msg("%s: %s", yaml, corral_error_message(e));
	return p;
}

static int try_update(struct corral_sandbox *s, const char *yaml, struct corral_update *u,
	struct corral_error **e)
{
	struct corral_permissions *p = parse(yaml);
	int r = corral_sandbox_update(s, (const struct corral_permissions *const *)&p, 1, u, e);

	corral_permissions_free(p);
	return r;
}

static struct corral_update update(struct corral_sandbox *s, const char *yaml)
{
	struct corral_update u = { .size = sizeof(u) };
	struct corral_error *e = NULL;

	if (try_update(s, yaml, &u, &e) < 0)
		fail_msg("%s: %s", yaml, corral_error_message(e));
	return u;
}

static struct corral_sandbox *open_with(const char *yaml)
{
	struct corral_permissions *p = parse(yaml);
	struct corral_builder *b = NULL;

	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	corral_permissions_free(p);
	return test_build(b);
}

static uint64_t count_sessions(struct corral_sandbox *s)
{
	struct corral_stats stats;

	corral_sandbox_stats(s, &stats, sizeof(stats));
	return stats.sessions;
}

/*
 * Wardens of this test. With a sanitizer one that fails while it builds may be stopped in its
 * search for leaks, and what is left of it cannot be reaped: those are not counted.
 */
static int wardens_before;

static int count_wardens(void)
{
	return test_count_children("corral-warden", NULL) - wardens_before;
}

static int note_wardens(void **state)
{
	(void)state;
	wardens_before = test_count_children("corral-warden", NULL);
	return 0;
}

/* The only one. */
static pid_t find_warden(void)
{
	pid_t pid = 0;

	assert_int_equal(test_count_children("corral-warden", &pid), 1);
	return pid;
}

/* A command that prints what it is told to when it is told to. */
static struct corral_process *start_shell(struct corral_sandbox *s)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_process *p = NULL;
	struct corral_error *e = NULL;

	call.flags = CORRAL_CALL_INPUT;
	if (corral_process_start_line(&p, s, "sh", &call, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return p;
}

static void finish_shell(struct corral_process *p, const char *input, const char *output)
{
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	assert_int_equal(corral_process_write(p, input, strlen(input)), strlen(input));
	assert_int_equal(corral_process_close_stdin(p), 0);
	if (corral_process_wait(p, PATIENCE_MS, &r, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	assert_string_equal(corral_result_stdout(r, NULL), output);
	corral_result_free(r);
	corral_process_free(p);
}

static int make_files(void **state)
{
	if (test_make_folder(state) < 0)
		return -1;
	(void)test_file("a", "a\n", 0600);
	(void)test_file("b", "b\n", 0600);
	return 0;
}

/* Tests */

static void test_files_of_the_next_command(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_process *old = start_shell(s);
	const unsigned changed = CORRAL_PART_FILES | CORRAL_PART_PROGRAMS;
	struct corral_update u;

	(void)state;
	test_prints(s, "cat a b 2>/dev/null", "a\n", 1);
	u = update(s, ONLY_B);
	assert_int_equal(u.generation, 2);
	assert_int_equal(u.changed, changed);
	assert_int_equal(u.next, changed);
	assert_int_equal(u.at_once, 0);
	assert_int_equal(u.running, 1);
	test_prints(s, "cat a b 2>/dev/null", "b\n", 1);
	/* It has what it had, all of it and nothing else. */
	finish_shell(old, "cat a b 2>/dev/null\n", "a\n");
	assert_int_equal(count_wardens(), 1);
	assert_int_equal(count_sessions(s), 2);
	corral_sandbox_free(s);
	assert_int_equal(count_wardens(), 0);
}

/* The init that was lent for a short way is one of the old session. */
static void test_no_init_of_the_old_session(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);

	(void)state;
	for (int i = 0; i < 20; i++) {
		test_prints(s, "cat a b 2>/dev/null", "a\n", 1);
		test_prints(s, "cat a b 2>/dev/null", "a\n", 1);
		(void)update(s, ONLY_B);
		test_prints(s, "cat a b 2>/dev/null", "b\n", 1);
		(void)update(s, ONLY_A);
	}
	corral_sandbox_free(s);
}

static void test_programs(void **state)
{
	static const char *const argv[] = { "cat", "a", NULL };
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_error *e = NULL;
	struct corral_update u = update(s, ONLY_A "\nexec: [ls]");

	(void)state;
	assert_int_equal(u.changed, CORRAL_PART_PROGRAMS);
	assert_int_equal(corral_sandbox_execute_argv(s, argv, NULL, NULL, &e), -EACCES);
	assert_non_null(corral_error_denial(e));
	corral_error_free(e);
	test_prints(s, "ls a", "a\n", 0);
	u = update(s, ONLY_A);
	assert_int_equal(u.changed, CORRAL_PART_PROGRAMS);
	assert_int_equal(corral_sandbox_execute_argv(s, argv, NULL, NULL, NULL), 0);
	corral_sandbox_free(s);
}

static void test_variables(void **state)
{
	static const char *const env[] = { "CORNER=round", NULL };
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_call call = CORRAL_CALL;
	struct corral_result *r;

	(void)state;
	call.env = env;
	assert_int_equal(corral_sandbox_execute(s, "true", &call, NULL, NULL), -EACCES);
	assert_int_equal(update(s, ONLY_A "\nenv: [CORNER=round]").changed, CORRAL_PART_VARIABLES);
	r = test_run(s, "echo $CORNER", &call);
	assert_string_equal(corral_result_stdout(r, NULL), "round\n");
	corral_result_free(r);
	assert_int_equal(update(s, ONLY_A).changed, CORRAL_PART_VARIABLES);
	assert_int_equal(corral_sandbox_execute(s, "true", &call, NULL, NULL), -EACCES);
	corral_sandbox_free(s);
}

/* Those of the builder narrow whatever comes. */
static void test_limits(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;
	struct corral_result *r;
	bool printed = false;

	(void)state;
	assert_int_equal(corral_builder_timeout(b, 60000), 0);
	assert_int_equal(corral_builder_output_limit(b, 3), 0);
	s = test_build(b);
	assert_int_equal(update(s, ONLY_A).changed & CORRAL_PART_LIMITS, 0);
	test_prints(s, "echo 12345", "123", 0);
	/* On a busy machine the time may be over before it printed anything: then it gets more. */
	for (unsigned ms = 100; !printed && ms < 50000; ms *= 2) {
		char yaml[256];

		(void)snprintf(
			yaml, sizeof(yaml), ONLY_A "\nlimits: {timeout: %ums, output: 1k}", ms);
		assert_int_equal(update(s, yaml).changed, CORRAL_PART_LIMITS);
		r = test_run(s, "echo 12345; exec sleep 1000", NULL);
		assert_true(corral_result_timed_out(r));
		printed = strcmp(corral_result_stdout(r, NULL), "123") == 0;
		corral_result_free(r);
	}
	assert_true(printed);
	corral_sandbox_free(s);
}

/* Nothing new costs no session. */
static void test_the_same_again(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_process *old = start_shell(s);
	struct corral_update u = update(s, "fs: {read: ['$WORK_DIR/a', " SYSTEM "]}");

	(void)state;
	assert_int_equal(u.generation, 2);
	assert_int_equal(u.changed | u.at_once | u.next | u.running, 0);
	assert_int_equal(count_sessions(s), 1);
	finish_shell(old, "echo x\n", "x\n");
	corral_sandbox_free(s);
}

static void test_no_layer_allows_nothing(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_update u = { .size = sizeof(u) };

	(void)state;
	assert_int_equal(corral_sandbox_update(s, NULL, 0, &u, NULL), 0);
	assert_true(u.changed & CORRAL_PART_FILES);
	assert_true(corral_sandbox_execute(s, "/usr/bin/cat a", NULL, NULL, NULL) != 0 ||
		    count_sessions(s) == 2);
	assert_true(
		corral_sandbox_execute_argv(s, (const char *const[]){ "/usr/bin/cat", "a", NULL },
			NULL, NULL, NULL) < 0);
	(void)update(s, ONLY_A);
	test_prints(s, "cat a", "a\n", 0);
	corral_sandbox_free(s);
}

/* All of them must allow. */
static void test_two_layers(void **state)
{
	struct corral_permissions *both[] = { parse("fs: {read: [" SYSTEM ", '$WORK_DIR/**']}"),
		parse(ONLY_B) };
	struct corral_sandbox *s = open_with(ONLY_A);

	(void)state;
	assert_int_equal(corral_sandbox_update(
				 s, (const struct corral_permissions *const *)both, 2, NULL, NULL),
		0);
	test_prints(s, "cat a b 2>/dev/null", "b\n", 1);
	corral_sandbox_free(s);
	corral_permissions_free(both[0]);
	corral_permissions_free(both[1]);
}

/* Each is refused at another stage: by the compiler, by the plan, by the session. */
static const struct {
	const char *yaml, *says;
} wrong[] = {
	{ "fs: {read: ['$SHARED_DIR/**']}", "SHARED_DIR" },
	{ "fs: {write: ['$WORK_DIR/**/*.c']}", "" },
	{ "network: {allow: ['unix:/nowhere/socket']}", "/nowhere/socket" },
	{ "listen: [0]", "" },
};

static void test_what_cannot_be_changes_nothing(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_process *old = start_shell(s);
	size_t fds = count_fds();

	(void)state;
	for (size_t i = 0; i < ROWS(wrong); i++) {
		struct corral_permissions *p = NULL;
		struct corral_update u = { .size = sizeof(u), .generation = 77 };
		struct corral_error *e = NULL;

		if (corral_permissions_parse(
			    &p, "test.yaml", wrong[i].yaml, strlen(wrong[i].yaml), NULL) < 0)
			continue;
		assert_true(corral_sandbox_update(s, (const struct corral_permissions *const *)&p,
				    1, &u, &e) < 0);
		assert_int_equal(u.generation, 77);
		test_says(e, wrong[i].says);
		corral_permissions_free(p);
		test_prints(s, "cat a b 2>/dev/null", "a\n", 1);
	}
	assert_int_equal(corral_sandbox_update(s, NULL, 1, NULL, NULL), -EINVAL);
	assert_int_equal(count_sessions(s), 1);
	assert_true(count_fds() <= fds + LENT);
	assert_int_equal(update(s, ONLY_B).generation, 2);
	finish_shell(old, "cat a\n", "a\n");
	corral_sandbox_free(s);
}

static void test_no_session_stands(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);

	(void)state;
	test_prints(s, "cat a", "a\n", 0);
	assert_int_equal(kill(find_warden(), SIGKILL), 0);
	(void)update(s, ONLY_B);
	test_prints(s, "cat a b 2>/dev/null", "b\n", 1);
	assert_int_equal(count_sessions(s), 2);
	corral_sandbox_free(s);
	assert_int_equal(count_wardens(), 0);
}

/* Commands of sessions before the last are the sandbox's, too. */
static void test_freed_with_old_commands(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_process *old[3];
	struct corral_error *e = NULL;

	(void)state;
	for (int i = 0; i < 3; i++) {
		old[i] = start_shell(s);
		(void)update(s, i % 2 ? ONLY_A : ONLY_B);
	}
	assert_int_equal(count_wardens(), 4);
	assert_int_equal(corral_sandbox_kill(s), 3);
	corral_sandbox_free(s);
	assert_int_equal(count_wardens(), 0);
	for (int i = 0; i < 3; i++) {
		int r = corral_process_wait(old[i], PATIENCE_MS, NULL, &e);

		assert_true(r == -ECONNRESET || r == 0);
		corral_error_free(e);
		e = NULL;
		corral_process_free(old[i]);
	}
}

static void test_old_session_dies(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_process *old = start_shell(s);
	struct corral_error *e = NULL;
	pid_t warden = 0;

	(void)state;
	warden = find_warden();
	(void)update(s, ONLY_B);
	assert_int_equal(kill(warden, SIGKILL), 0);
	assert_int_equal(corral_process_wait(old, PATIENCE_MS, NULL, &e), -ECONNRESET);
	corral_error_free(e);
	corral_process_free(old);
	/* That of now is another. */
	test_prints(s, "cat b", "b\n", 0);
	assert_int_equal(count_sessions(s), 2);
	corral_sandbox_free(s);
}

/* A caller of an older version has a shorter struct. */
static void test_size(void **state)
{
	struct corral_sandbox *s = open_with(ONLY_A);
	struct corral_update u = { .size = offsetof(struct corral_update, changed),
		.changed = 12345 };

	(void)state;
	assert_int_equal(try_update(s, ONLY_B, &u, NULL), 0);
	assert_int_equal(u.generation, 2);
	assert_int_equal(u.changed, 12345);
	assert_int_equal(try_update(s, ONLY_A, NULL, NULL), 0);
	corral_sandbox_free(s);
}

/* Sinks */

struct sink {
	struct corral_sandbox *sandbox;
	int result, sessions;
};

static void on_event(void *context, const struct corral_event *event)
{
	struct sink *sink = context;

	if (event->kind != CORRAL_EVENT_SESSION)
		return;
	sink->sessions++;
	if (sink->sandbox)
		sink->result = corral_sandbox_update(sink->sandbox, NULL, 0, NULL, NULL);
}

static void test_sink_updates(void **state)
{
	struct sink sink = { 0 };
	struct corral_builder *b = test_builder();

	(void)state;
	assert_int_equal(corral_builder_with_audit(b, on_event, &sink), 0);
	sink.sandbox = NULL;
	sink.sandbox = test_build(b);
	(void)update(sink.sandbox, ONLY_B);
	assert_int_equal(sink.result, -EDEADLK);
	assert_int_equal(sink.sessions, 2);
	test_prints(sink.sandbox, "cat b", "b\n", 0);
	corral_sandbox_free(sink.sandbox);
}

/* Ports */

static unsigned find_port(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	assert_int_equal(close(fd), 0);
	return ntohs(name.sin_port);
}

/* A port of the host belongs to one session: the old one gives it up, if nothing runs in it. */
static void test_published_ports(void **state)
{
	char with_a[256], with_b[256];
	unsigned port = find_port();
	struct corral_process *old;
	struct corral_sandbox *s;
	struct corral_error *e = NULL;

	(void)state;
	(void)snprintf(with_a, sizeof(with_a), "%s\nnetwork: {listen: [%u]}", ONLY_A, port);
	(void)snprintf(with_b, sizeof(with_b), "%s\nnetwork: {listen: [%u]}", ONLY_B, port);
	s = open_with(with_a);
	(void)update(s, with_b);
	test_prints(s, "cat a b 2>/dev/null", "b\n", 1);
	old = start_shell(s);
	assert_int_equal(try_update(s, with_a, NULL, &e), -EADDRINUSE);
	test_says(e, "stop it first");
	test_prints(s, "cat a b 2>/dev/null", "b\n", 1);
	finish_shell(old, "cat b\n", "b\n");
	(void)update(s, with_a);
	test_prints(s, "cat a b 2>/dev/null", "a\n", 1);
	corral_sandbox_free(s);
}

/* Many threads */

struct crowd {
	struct corral_sandbox *sandbox;
	atomic_bool over;
	atomic_uint ran, wrong;
};

/* The variable comes with the command, the file with the session. */
#define MARK "echo $MARK; cat a b 2>/dev/null"
#define ALL_A ONLY_A "\nenv: [MARK=a]"
#define ALL_B ONLY_B "\nenv: [MARK=b]"

/* All of one, or all of the other. */
static void *run_commands(void *context)
{
	struct crowd *c = context;

	while (!atomic_load(&c->over)) {
		struct corral_result *r = NULL;
		const char *out = "";

		if (corral_sandbox_execute(c->sandbox, MARK, NULL, &r, NULL) == 0)
			out = corral_result_stdout(r, NULL);
		if (strcmp(out, "a\na\n") != 0 && strcmp(out, "b\nb\n") != 0)
			atomic_fetch_add(&c->wrong, 1);
		corral_result_free(r);
		atomic_fetch_add(&c->ran, 1);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	struct crowd c = { 0 };
	pthread_t threads[THREADS];
	size_t fds;

	(void)state;
	c.sandbox = open_with(ALL_A);
	test_prints(c.sandbox, MARK, "a\na\n", 1);
	fds = count_fds();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_commands, &c), 0);
	for (int i = 1; i <= UPDATES; i++) {
		struct corral_update u = update(c.sandbox, i % 2 ? ALL_B : ALL_A);

		assert_int_equal(u.generation, i + 1);
		assert_true(u.running <= THREADS);
		/* What starts after it returned has the new ones. */
		test_prints(c.sandbox, MARK, i % 2 ? "b\nb\n" : "a\na\n", 1);
	}
	atomic_store(&c.over, true);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(c.wrong, 0);
	assert_true(c.ran >= THREADS);
	/* Of 201 sessions one is left. */
	test_prints(c.sandbox, "cat a", "a\n", 0);
	assert_int_equal(count_wardens(), 1);
	assert_true(count_fds() <= fds + LENT);
	corral_sandbox_free(c.sandbox);
	assert_int_equal(count_wardens(), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, note_wardens)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files_of_the_next_command),
		TEST(test_no_init_of_the_old_session),
		TEST(test_programs),
		TEST(test_variables),
		TEST(test_limits),
		TEST(test_the_same_again),
		TEST(test_no_layer_allows_nothing),
		TEST(test_two_layers),
		TEST(test_no_session_stands),
		TEST(test_freed_with_old_commands),
		TEST(test_old_session_dies),
		TEST(test_size),
		TEST(test_sink_updates),
		TEST(test_published_ports),
		TEST(test_many_threads),
		TEST(test_what_cannot_be_changes_nothing),
	};

	return cmocka_run_group_tests_name("update", tests, make_files, test_remove_folder);
}
