/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left when something is killed: nothing of what it stood for, and everything else. And
 * commands that do not want to end.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "warden/session/internal.h"
#include "warden/session/test/test-box.h"

/* What leaves its parent, its group and its terminal after, ignores signals, and stays. */
static const char stubborn[] = "trap '' TERM INT HUP QUIT; (setsid sh -c 'trap \"\" TERM HUP; "
			       "sleep 1000 & sleep 1000' &) ; sleep 1000 & echo; wait";

/* Starts it and waits until it said that it stands. */
static void start_stubborn(struct session *s, struct seen *seen, uint64_t id, uint64_t ms)
{
	char byte;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	seen->n = 0;
	box_start(s, id, stubborn, pipes[1], ms);
	(void)close(pipes[1]);
	box_until(s, seen, 1);
	assert_int_equal(seen->events[0].kind, SESSION_STARTED);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	(void)close(pipes[0]);
}

/* The zygote is the only child of this process. */
static pid_t find_zygote(void)
{
	pid_t pids[BOX_FAMILY];

	assert_true(box_family(getpid(), pids) > 0);
	return pids[0];
}

static void zygote_killed(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct box_hold hold;
	const char *argv[4];
	struct start start = box_shell(argv, "exit 0");
	struct error e = { 0 };

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	start_stubborn(s, &seen, 1, 0);
	start_stubborn(s, &seen, 2, 0);
	box_hold(&hold, getpid());
	assert_true(hold.n >= 6);
	seen.n = 0;
	assert_int_equal(kill(find_zygote(), SIGKILL), 0);
	box_until(s, &seen, 1);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.events[0].kind, SESSION_GONE);
	assert_int_equal(session_commands(s), 0);
	(void)printf("# all gone after %.1f ms\n", box_await_end(&hold));
	assert_int_equal(session_start(s, 3, &start, (int[]){ 2, 2, 2 }, &e), -ECONNRESET);
	assert_true(session_dispatch(s) < 0);
	session_free(s);
}

/* The process that holds a session, as `corral run` does. */
static void holder_killed(void **state)
{
	(void)state;
	for (int single = 0; single < 2; single++) {
		struct box_hold hold;
		char byte;
		int ready[2];
		pid_t pid;

		assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct plan p;
			static struct seen seen;

			box_plan(&p);
			start_stubborn(box_open(&p, &seen, single), &seen, 1, 0);
			(void)!write(ready[1], "", 1);
			for (;;)
				(void)pause();
		}
		(void)close(ready[1]);
		assert_int_equal(read(ready[0], &byte, 1), 1);
		(void)close(ready[0]);
		box_hold(&hold, pid);
		assert_true(hold.n >= 4);
		assert_int_equal(kill(pid, SIGKILL), 0);
		(void)printf("# %s: all gone after %.1f ms\n", single ? "single" : "session",
			box_await_end(&hold));
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

/* Inits are the children of the zygote. One that waits has at most the process that waits for a
 * program; a stubborn command has more. */
static bool is_idle(pid_t init)
{
	pid_t below[BOX_FAMILY];

	return box_family(init, below) <= 1;
}

static pid_t find_init(void)
{
	pid_t inits[BOX_FAMILY];
	size_t n = box_children(find_zygote(), inits);

	for (size_t i = 0; i < n; i++)
		if (!is_idle(inits[i]))
			return inits[i];
	return 0;
}

static void init_killed(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct box_hold hold;
	pid_t init;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	start_stubborn(s, &seen, 1, 0);
	start_stubborn(s, &seen, 2, 0);
	seen.n = 0;
	init = find_init();
	assert_true(init > 0);
	box_hold(&hold, init);
	assert_true(hold.n > 0);
	assert_int_equal(kill(init, SIGKILL), 0);
	(void)box_await_end(&hold);
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_EXITED);
	assert_int_equal(seen.events[0].report.signal, SIGKILL);
	assert_int_equal(seen.events[0].report.flags, 0);
	assert_int_equal(session_commands(s), 1);
	assert_int_equal(box_run(s, &seen, 3, "exit 3"), 3);
	session_free(s);
}

/* All that run nothing: those that wait, and maybe one that is about to end anyway. */
static void kill_idle_inits(void)
{
	pid_t inits[BOX_FAMILY];
	size_t n = box_children(find_zygote(), inits);

	for (size_t i = 0; i < n; i++) {
		struct pollfd death = { .fd = (int)syscall(SYS_pidfd_open, inits[i], 0),
			.events = POLLIN };

		if (death.fd < 0)
			continue;
		(void)kill(inits[i], SIGKILL);
		assert_int_equal(poll(&death, 1, BOX_PATIENCE_MS), 1);
		(void)close(death.fd);
	}
}

/* An init that nobody uses yet: the next command has to get another. */
static void spare_killed(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (int i = 0; i < 10; i++) {
		struct pollfd spare = { .fd = session_fd(s), .events = POLLIN };

		assert_int_equal(box_run(s, &seen, 1, "exit 1"), 1);
		/* The next one comes when this one is used; here or on its way, it dies. */
		if (i % 2)
			(void)poll(&spare, 1, 100);
		assert_int_equal(session_dispatch(s), 0);
		kill_idle_inits();
		assert_int_equal(box_run(s, &seen, 2, "exit 2"), 2);
	}
	session_free(s);
}

static void await_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
}

/* An init that reports the end when its time for that is just over: it is killed, and must not get
 * the next command. */
static void late_init_killed(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	size_t spares;
	pid_t init;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	start_stubborn(s, &seen, 1, 0);
	box_await_spare(s);
	spares = s->n_spares;
	init = find_init();
	assert_true(init > 0);
	assert_int_equal(kill(init, SIGSTOP), 0);
	assert_int_equal(session_kill(s, 1), 0);
	await_readable(s->timer);
	assert_int_equal(kill(init, SIGCONT), 0);
	await_readable(s->commands->socket);
	/* Of the two that are ready, the timer is first. */
	session_pass_deadlines(s);
	seen.n = 0;
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_EXITED);
	assert_int_equal(seen.events[0].report.flags, REPORT_KILLED);
	assert_int_equal(s->n_spares, spares);
	for (uint64_t i = 2; i < 5; i++)
		assert_int_equal(box_run(s, &seen, i, "exit 3"), 3);
	session_free(s);
}

static void times_out(void **state)
{
	static const char *const lines[] = {
		"trap '' TERM; while :; do sleep 1000; done",
		"(setsid sleep 1000 &); (setsid setsid sleep 1000 &); sleep 1000",
		"kill -STOP $$",
		"f() { f | f & }; f; while :; do :; done",
		"while :; do (:) & done",
		"sh -c 'kill -STOP $$' & sleep 1000",
		"exec sleep 1000",
	};
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (size_t i = 0; i < ROWS(lines); i++) {
		const char *argv[4];
		struct start start = box_shell(argv, lines[i]);
		struct error e = { 0 };
		auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);

		start.timeout_ms = 150;
		start.pids = 200;
		seen.n = 0;
		assert_int_equal(session_start(s, 1, &start, (int[]){ null, null, null }, &e), 0);
		box_until(s, &seen, 2);
		assert_int_equal(seen.events[1].kind, SESSION_EXITED);
		/* The bomb may be stopped by what is done against bombs, before its time is up. */
		assert_true(
			seen.events[1].report.flags & (REPORT_TIMED_OUT | REPORT_TOO_MANY_PIDS));
		assert_int_equal(seen.events[1].report.signal, SIGKILL);
		assert_int_equal(box_run(s, &seen, 2, "exit 3"), 3);
	}
	session_free(s);
}

/* Who is told to end before it could start was not started; a signal is not lost. */
static void ends_while_waiting(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	size_t refused = 0, terminated = 0, killed = 0;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (uint64_t i = 0; i < 20; i++)
		box_start(s, i, "sleep 1000", -1, 0);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(i % 2 ? session_kill(s, i) : session_signal(s, i, SIGTERM), 0);
	for (int i = 0; i < 1000 && session_commands(s) > 0; i++)
		box_until(s, &seen, seen.n + 1);
	for (size_t i = 0; i < seen.n; i++) {
		const struct session_event *e = &seen.events[i];

		refused += e->kind == SESSION_REFUSED;
		if (e->kind == SESSION_REFUSED)
			assert_int_equal(e->refusal.error, ECANCELED);
		terminated += e->kind == SESSION_EXITED && e->report.signal == SIGTERM;
		killed += e->kind == SESSION_EXITED && e->report.flags == REPORT_KILLED;
	}
	assert_int_equal(refused + killed, 10);
	assert_int_equal(terminated, 10);
	assert_true(refused > 0);
	assert_int_equal(session_kill(s, 1), -ESRCH);
	assert_int_equal(session_signal(s, 1, SIGTERM), -ESRCH);
	assert_int_equal(box_run(s, &seen, 2, "exit 3"), 3);
	session_free(s);
}

static void many_at_once(void **state)
{
	struct plan p;
	static struct seen seen;
	struct session *s;
	struct box_hold hold;
	size_t killed = 0;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (uint64_t i = 0; i < 200; i++)
		box_start(s, i, "trap '' TERM; sleep 1000", -1, 0);
	box_until(s, &seen, 200);
	assert_int_equal(session_commands(s), 200);
	box_hold(&hold, getpid());
	assert_true(hold.n >= 400);
	for (uint64_t i = 0; i < 200; i++)
		assert_int_equal(session_kill(s, i), 0);
	box_until(s, &seen, 400);
	for (size_t i = 200; i < 400; i++)
		killed += seen.events[i].kind == SESSION_EXITED &&
			  seen.events[i].report.flags == REPORT_KILLED;
	assert_int_equal(killed, 200);
	assert_int_equal(session_commands(s), 0);
	assert_int_equal(box_run(s, &seen, 2, "exit 3"), 3);
	session_free(s);
	(void)box_await_end(&hold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zygote_killed),
		cmocka_unit_test(holder_killed),
		cmocka_unit_test(init_killed),
		cmocka_unit_test(spare_killed),
		cmocka_unit_test(late_init_killed),
		cmocka_unit_test(times_out),
		cmocka_unit_test(ends_while_waiting),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests_name("crash", tests, NULL, NULL);
}
