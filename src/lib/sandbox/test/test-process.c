/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: commands that run while the host does other things. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/sandbox/test/test-common.h"

enum { PATIENCE_MS = 60000 };

static struct corral_process *start(
	struct corral_sandbox *s, const char *line, const struct corral_call *call)
{
	struct corral_process *p = NULL;
	struct corral_error *e = NULL;

	if (corral_process_start_line(&p, s, line, call, &e) < 0)
		fail_msg("%s: %s", line, corral_error_message(e));
	return p;
}

/* As a host's loop does it: sleep on the descriptor, then dispatch. */
static void loop(struct corral_process *p)
{
	struct pollfd fd = { .fd = corral_process_fd(p), .events = POLLIN };
	int r;

	assert_true(fd.fd >= 0);
	while ((r = corral_process_dispatch(p)) == 0)
		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_int_equal(r, 1);
}

static struct corral_result *finish(struct corral_process *p)
{
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	if (corral_process_wait(p, PATIENCE_MS, &r, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_process_free(p);
	return r;
}

struct heard {
	char out[256], err[256];
	size_t bytes;
	struct corral_process *process;
	int (*also)(struct heard *h);
};

static int hear(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct heard *h = context;
	char *to = stream == CORRAL_STDERR ? h->err : h->out;

	h->bytes += len;
	if (strlen(to) + len < sizeof(h->out))
		(void)strncat(to, data, len);
	return h->also ? h->also(h) : 0;
}

/* It said that on stdout or stderr, which hear() keeps. */
static void await_text(struct corral_process *p, const char *stream, const char *text)
{
	struct pollfd fd = { .fd = corral_process_fd(p), .events = POLLIN };

	while (!strstr(stream, text)) {
		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		assert_int_equal(corral_process_dispatch(p), 0);
	}
}

static void test_loop(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct heard h = { 0 };
	struct corral_process *p;
	struct corral_result *r;

	(void)state;
	c.output = hear;
	c.context = &h;
	p = start(s, "echo one; echo two >&2; exit 5", &c);
	assert_true(corral_process_id(p) > 0);
	loop(p);
	assert_string_equal(h.out, "one\n");
	assert_string_equal(h.err, "two\n");
	assert_int_equal(corral_process_dispatch(p), 1);
	r = finish(p);
	assert_int_equal(corral_result_exit_code(r), 5);
	assert_string_equal(corral_result_stdout(r, NULL), "");
	assert_true(corral_result_stdout_bytes(r) == 4);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/*
 * What a command does to an open file of the device that it was given is not there for the next:
 * a lock, which is the open file's, or a flag.
 */
static void test_null_is_new(void **state)
{
	struct corral_sandbox *s = test_sandbox();

	(void)state;
	for (int i = 0; i < 3; i++) {
		test_prints(s, "flock -n 0 && echo locked", "locked\n", 0);
		test_prints(s, "exec 9</dev/null; flock -n 9 && echo free", "free\n", 0);
	}
	corral_sandbox_free(s);
}

/* Who asks for the descriptor of a process that is over finds it ready. */
static void test_late_descriptor(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_process *p = start(s, "exit 4", NULL);
	struct corral_result *r = NULL;
	struct pollfd fd = { .events = POLLIN };

	(void)state;
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, &r, NULL), 0);
	fd.fd = corral_process_fd(p);
	assert_true(fd.fd >= 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(corral_process_dispatch(p), 1);
	assert_int_equal(poll(&fd, 1, 0), 1);
	corral_result_free(r);
	corral_process_free(p);
	corral_sandbox_free(s);
}

/* A conversation: each answer comes before the next question. */
static void test_conversation(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct heard h = { 0 };
	struct corral_process *p;
	struct corral_result *r;

	(void)state;
	c.flags = CORRAL_CALL_INPUT;
	c.output = hear;
	c.context = &h;
	p = start(s, "while read -r line; do echo \"<$line>\"; done; echo end", &c);
	assert_int_equal(corral_process_write(p, NULL, 5), -EINVAL);
	assert_int_equal(corral_process_write(p, NULL, 0), 0);
	for (int i = 0; i < 5; i++) {
		struct pollfd fd = { .fd = corral_process_fd(p), .events = POLLIN };

		h.out[0] = '\0';
		assert_int_equal(corral_process_write(p, "word\n", 5), 5);
		while (!strchr(h.out, '\n')) {
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
			assert_int_equal(corral_process_dispatch(p), 0);
		}
		assert_string_equal(h.out, "<word>\n");
	}
	assert_int_equal(corral_process_close_stdin(p), 0);
	assert_int_equal(corral_process_close_stdin(p), -EPIPE);
	assert_int_equal(corral_process_write(p, "x", 1), -EPIPE);
	loop(p);
	assert_non_null(strstr(h.out, "end\n"));
	r = finish(p);
	assert_int_equal(corral_result_exit_code(r), 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* More than the pipe and the queue take, while nobody reads; then it goes on. */
static void test_back_pressure(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	static char data[3 << 20];
	struct corral_process *p;
	struct corral_result *r;
	size_t sent = 0;

	(void)state;
	c.flags = CORRAL_CALL_INPUT;
	p = start(s, "read -r go; wc -c", &c);
	(void)memset(data, 'x', sizeof(data));
	while (sent < sizeof(data)) {
		long n = corral_process_write(p, data + sent, sizeof(data) - sent);

		if (n == -EAGAIN)
			break;
		assert_true(n > 0);
		sent += (size_t)n;
	}
	assert_true(sent < sizeof(data));
	/* "read" takes everything up to here as its line. */
	while (corral_process_write(p, "\n12345", 6) == -EAGAIN) {
		struct pollfd fd = { .fd = corral_process_fd(p), .events = POLLIN };

		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		assert_int_equal(corral_process_dispatch(p), 0);
	}
	assert_int_equal(corral_process_close_stdin(p), 0);
	r = finish(p);
	assert_int_equal(strtol(corral_result_stdout(r, NULL), NULL, 10), 5);
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_signal_and_kill(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_process *p;
	struct corral_call c = CORRAL_CALL;
	struct heard h = { 0 };
	struct corral_result *r;

	(void)state;
	c.output = hear;
	c.context = &h;
	p = start(
		s, "trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.01; done", &c);
	await_text(p, h.out, "ready");
	assert_int_equal(corral_process_signal(p, 0), -EINVAL);
	assert_int_equal(corral_process_signal(p, SIGUSR1), 0);
	r = finish(p);
	assert_string_equal(h.out, "ready\ncaught\n");
	assert_int_equal(corral_result_exit_code(r), 9);
	corral_result_free(r);

	/* What is killed before it began has no result. */
	h = (struct heard){ 0 };
	p = start(s, "(setsid sleep 1000 &); echo up; sleep 1000", &c);
	await_text(p, h.out, "up\n");
	assert_int_equal(corral_process_wait(p, 20, NULL, NULL), -EAGAIN);
	assert_int_equal(corral_process_kill(p), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, &r, NULL), 0);
	assert_int_equal(corral_result_killed(r), 1);
	assert_int_equal(corral_result_signal(r), SIGKILL);
	assert_int_equal(corral_process_kill(p), -ESRCH);
	assert_int_equal(corral_process_signal(p, SIGTERM), -ESRCH);
	corral_result_free(r);
	corral_process_free(p);
	test_prints(s, "echo warm", "warm\n", 0);
	corral_sandbox_free(s);
}

static int stop(struct heard *h)
{
	return h->bytes > 100;
}

static int use_own(struct heard *h)
{
	assert_int_equal(corral_process_dispatch(h->process), 0);
	assert_int_equal(corral_process_wait(h->process, 0, NULL, NULL), -EDEADLK);
	assert_true(corral_process_write(h->process, "x", 1) < 0);
	return 0;
}

static int wait_own(struct heard *h)
{
	struct corral_error *e = NULL;

	assert_int_equal(corral_process_wait(h->process, -1, NULL, &e), -EDEADLK);
	test_says(e, "callback");
	return 0;
}

static void test_callbacks(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct heard h = { .also = stop };
	struct corral_result *r;

	(void)state;
	c.output = hear;
	c.context = &h;
	/* It would print for ever. */
	r = test_run(s, "while :; do echo something; done", &c);
	assert_int_equal(corral_result_killed(r), 1);
	corral_result_free(r);
	h = (struct heard){ .also = wait_own };
	h.process = start(s, "echo x", &c);
	corral_result_free(finish(h.process));
	h = (struct heard){ .also = use_own };
	h.process = start(s, "echo x", &c);
	corral_result_free(finish(h.process));
	assert_string_equal(h.out, "x\n");
	corral_sandbox_free(s);
}

/* The pipes themselves, for a host with its own way of reading. */
static void test_raw(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_process *p;
	struct corral_result *r;
	char data[64] = "";
	int in, out;

	(void)state;
	c.flags = CORRAL_CALL_RAW | CORRAL_CALL_INPUT;
	p = start(s, "cat; echo done", &c);
	in = corral_process_take_fd(p, CORRAL_STDIN);
	assert_true(in >= 0);
	assert_true(fcntl(in, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(corral_process_take_fd(p, CORRAL_STDIN), -EBADF);
	assert_int_equal(write(in, "abc\n", 4), 4);
	assert_int_equal(close(in), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, &r, NULL), 0);
	out = corral_process_take_fd(p, CORRAL_STDOUT);
	assert_true(out >= 0);
	assert_int_equal(read(out, data, sizeof(data) - 1), 9);
	assert_string_equal(data, "abc\ndone\n");
	assert_int_equal(close(out), 0);
	corral_result_free(r);
	corral_process_free(p);
	corral_sandbox_free(s);
}

/* Descriptors of the host's own: a file in, a pipe out. */
static void test_given_stdio(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;
	struct corral_error *e = NULL;
	int in = open(test_file("input", "from a file\n", 0600), O_RDONLY | O_CLOEXEC), out[2];
	char data[64] = "";

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c.stdio = (const int[]){ in, out[1], -1 };
	r = test_run(s, "cat; echo lost >&2", &c);
	assert_string_equal(corral_result_stdout(r, NULL), "");
	assert_string_equal(corral_result_stderr(r, NULL), "lost\n");
	corral_result_free(r);
	assert_int_equal(read(out[0], data, sizeof(data) - 1), 12);
	assert_string_equal(data, "from a file\n");
	c.input = "x";
	c.input_len = 1;
	assert_int_equal(corral_sandbox_execute(s, "cat", &c, NULL, &e), -EINVAL);
	test_says(e, "not both");
	c.input_len = 0;
	c.flags = CORRAL_CALL_TTY;
	assert_int_equal(corral_sandbox_execute(s, "cat", &c, NULL, NULL), -EINVAL);
	(void)close(in);
	(void)close(out[0]);
	(void)close(out[1]);
	corral_sandbox_free(s);
}

/* The host's pipes and files lead one way, and hold what they held; all is there when it ended. */
static void test_given_one_way(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;
	int in[2], out[2];
	const char *path = test_file("log", "kept\n", 0600);
	int log = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
	char data[8192] = "";

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(write(out[1], "earlier\n", 8), 8);
	assert_int_equal(write(in[1], "one\ntwo\n", 8), 8);
	c.stdio = (const int[]){ in[0], out[1], log };
	r = test_run(s,
		"read x; dd if=/proc/self/fd/1 iflag=nonblock bs=8 count=1 2>/dev/null; "
		"(truncate -s 0 /proc/self/fd/2; : >/dev/stderr) 2>/dev/null; "
		"i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo line $i; done; echo $x >&2",
		&c);
	assert_int_equal(corral_result_exit_code(r), 0);
	corral_result_free(r);
	(void)close(out[1]);
	for (size_t n = 0, more = 1; more > 0; n += more) {
		ssize_t got = read(out[0], data + n, sizeof(data) - 1 - n);

		assert_true(got >= 0);
		more = (size_t)got;
	}
	assert_memory_equal(data, "earlier\nline 1\nline 2\n", 22);
	assert_non_null(strstr(data, "line 299\nline 300\n"));
	assert_int_equal(read(in[0], data, sizeof(data)), 4);
	assert_memory_equal(data, "two\n", 4);
	assert_int_equal(pread(log, data, sizeof(data), 0), 9);
	assert_memory_equal(data, "kept\none\n", 9);
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(out[0]);
	(void)close(log);
	corral_sandbox_free(s);
}

/* Output that nobody reads does not hold up a command whose time is over, or that is killed. */
static void test_given_unread(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_process *p;
	struct corral_result *r = NULL;
	struct heard h = { 0 };
	int out[2];

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c.stdio = (const int[]){ -1, out[1], -1 };
	c.timeout_ms = 300;
	r = test_run(s, "exec yes", &c);
	assert_int_equal(corral_result_timed_out(r), 1);
	corral_result_free(r);
	c.timeout_ms = 0;
	c.output = hear;
	c.context = &h;
	p = start(s, "echo up >&2; head -c 90000 /dev/zero", &c);
	await_text(p, h.err, "up\n");
	assert_int_equal(corral_process_wait(p, 500, &r, NULL), -EAGAIN);
	assert_int_equal(corral_process_kill(p), 0);
	assert_int_equal(corral_process_wait(p, -1, &r, NULL), 0);
	corral_result_free(r);
	corral_process_free(p);
	(void)close(out[0]);
	(void)close(out[1]);
	corral_sandbox_free(s);
}

static void test_terminal(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct heard h = { 0 };
	struct corral_process *p;
	struct corral_result *r;

	(void)state;
	c.flags = CORRAL_CALL_TTY;
	c.rows = 33;
	c.columns = 111;
	r = test_run(s, "test -t 0 && test -t 1 && test -t 2 && stty size", &c);
	assert_string_equal(corral_result_stdout(r, NULL), "33 111\r\n");
	corral_result_free(r);

	c.output = hear;
	c.context = &h;
	p = start(
		s, "trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.01; done", &c);
	assert_int_equal(corral_process_resize(p, 1, 1), -EBADF);
	await_text(p, h.out, "ready");
	assert_int_equal(corral_process_resize(p, 44, 55), 0);
	r = finish(p);
	assert_non_null(strstr(h.out, "44 55"));
	assert_int_equal(corral_result_exit_code(r), 3);
	corral_result_free(r);

	/* Ctrl-C is a character. */
	h = (struct heard){ 0 };
	p = start(s, "trap 'exit 4' INT; echo ready; while :; do sleep 0.01; done", &c);
	assert_int_equal(corral_process_write(p, "", 0), 0);
	await_text(p, h.out, "ready");
	assert_int_equal(corral_process_write(p, "\003", 1), 1);
	r = finish(p);
	assert_int_equal(corral_result_exit_code(r), 4);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* The end of input on a terminal, and its master in the host's hands. */
static void test_terminal_input(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_process *p;
	struct corral_result *r;
	int fd;

	(void)state;
	c.flags = CORRAL_CALL_TTY;
	c.input = "hello\n";
	c.input_len = 6;
	r = test_run(s, "stty -echo; cat >got; cat got", &c);
	assert_non_null(strstr(corral_result_stdout(r, NULL), "hello\r\n"));
	corral_result_free(r);
	c.input_len = 0;
	c.flags |= CORRAL_CALL_RAW;
	p = start(s, "read -r line; echo \"<$line>\" >got", &c);
	while ((fd = corral_process_take_fd(p, CORRAL_STDIN)) == -EAGAIN) {
		struct pollfd poller = { .fd = corral_process_fd(p), .events = POLLIN };

		assert_int_equal(poll(&poller, 1, PATIENCE_MS), 1);
		assert_int_equal(corral_process_dispatch(p), 0);
	}
	assert_true(fd >= 0);
	assert_int_equal(corral_process_take_fd(p, CORRAL_STDOUT), -EBADF);
	assert_int_equal(write(fd, "line\n", 5), 5);
	r = finish(p);
	corral_result_free(r);
	(void)close(fd);
	test_prints(s, "cat got", "<line>\n", 0);
	corral_sandbox_free(s);
}

/* Many at once, heard of in another order than they were started. */
static void test_many(void **state)
{
	enum { N = 40 };
	struct corral_sandbox *s = test_sandbox();
	struct corral_process *p[N];
	struct corral_stats stats;
	char line[64];

	(void)state;
	for (int i = 0; i < N; i++) {
		(void)snprintf(line, sizeof(line), "read -r x; echo %d", i);
		p[i] = start(s, line,
			&(struct corral_call){
				.size = sizeof(struct corral_call), .flags = CORRAL_CALL_INPUT });
	}
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.running, N);
	for (int i = N - 1; i >= 0; i--) {
		struct corral_result *r;

		assert_int_equal(corral_process_write(p[i], "\n", 1), 1);
		r = finish(p[i]);
		assert_int_equal(strtol(corral_result_stdout(r, NULL), NULL, 10), i);
		corral_result_free(r);
	}
	corral_sandbox_free(s);
}

/* All at once, and freed while they run. */
static void test_kill_all(void **state)
{
	enum { N = 10 };
	struct corral_sandbox *s = test_sandbox();
	struct corral_process *p[N];
	struct corral_result *r;
	struct corral_error *e = NULL;

	(void)state;
	for (int i = 0; i < N; i++)
		p[i] = start(s, "sleep 1000", NULL);
	assert_int_equal(corral_sandbox_kill(s), N);
	for (int i = 0; i < N; i++) {
		int code = corral_process_wait(p[i], PATIENCE_MS, &r, NULL);

		/* Some may not have begun. */
		assert_true(code == 0 || code == -ECANCELED);
		if (code == 0) {
			assert_int_equal(corral_result_killed(r), 1);
			corral_result_free(r);
		}
		corral_process_free(p[i]);
	}
	corral_process_free(start(s, "sleep 1000", NULL));
	test_prints(s, "echo on", "on\n", 0);
	/* The sandbox goes first. */
	p[0] = start(s, "sleep 1000", NULL);
	corral_sandbox_free(s);
	assert_int_equal(corral_process_wait(p[0], PATIENCE_MS, NULL, &e), -ECONNRESET);
	test_says(e, "freed");
	assert_int_equal(corral_process_dispatch(p[0]), 1);
	corral_process_free(p[0]);
	corral_process_free(NULL);
	corral_sandbox_free(NULL);
	corral_result_free(NULL);
	corral_builder_free(NULL);
}

static void test_start_script(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_process *p = NULL;
	struct corral_result *r;

	(void)state;
	assert_int_equal(
		corral_process_start_script(&p, s, test_file("s", "#!/bin/sh\necho \"$1\"\n", 0600),
			NULL, (const char *[]){ "arg", NULL }, NULL, NULL),
		0);
	r = finish(p);
	assert_string_equal(corral_result_stdout(r, NULL), "arg\n");
	corral_result_free(r);
	assert_int_equal(corral_process_start(&p, s, NULL, NULL, NULL), -EINVAL);
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_null_is_new),
		cmocka_unit_test(test_late_descriptor),
		cmocka_unit_test(test_conversation),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_signal_and_kill),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_given_stdio),
		cmocka_unit_test(test_given_one_way),
		cmocka_unit_test(test_given_unread),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_terminal_input),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_kill_all),
		cmocka_unit_test(test_start_script),
	};

	return cmocka_run_group_tests_name("process", tests, test_make_folder, test_remove_folder);
}
