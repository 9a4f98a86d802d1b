/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When something runs out: a clear error, nothing half-started, nothing left behind, and a session
 * that goes on as soon as there is room again.
 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "test/fds.h"
#include "warden/session/internal.h"
#include "warden/session/test/test-box.h"

/* Only `left` more descriptors can be opened. Gives back what to restore. */
static struct rlimit squeeze_files(unsigned left)
{
	struct rlimit old, tight;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(next >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = (rlim_t)next + left;
	(void)close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	return old;
}

static size_t count_family(void)
{
	pid_t pids[BOX_FAMILY];

	return box_family(getpid(), pids);
}

static void on_event(void *context, const struct session_event *event)
{
	(void)context;
	(void)event;
}

/* From no descriptor at all to enough. */
static void too_few_files_to_build(void **state)
{
	const struct session_options o = { 0 };
	const struct session_handler h = { .event = on_event, .context = NULL };
	struct plan p;
	size_t fds = count_fds();
	bool built = false;

	(void)state;
	box_plan(&p);
	for (unsigned left = 0; left < 16 && !built; left++) {
		struct rlimit old = squeeze_files(left);
		struct session *s = NULL;
		struct error e = { 0 };
		int r = session_prepare(&s, &o, &e);

		if (r == 0)
			r = session_build(s, &p, &h, &e);
		built = r == 0;
		session_free(s);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		if (r < 0) {
			assert_int_equal(r, -EMFILE);
			assert_non_null(strstr(e.text, "open files"));
		}
		assert_int_equal(count_fds(), fds);
		assert_int_equal(count_family(), 0);
	}
	assert_true(built);
}

/* Runs one with few descriptors left: it runs, or the reason why not is that. */
static void run_tight(struct session *s, struct seen *seen, unsigned left)
{
	const char *argv[4];
	struct start start = box_shell(argv, "exit 5");
	struct error e = { 0 };
	struct rlimit old = squeeze_files(left);
	int r;

	seen->n = 0;
	r = session_start(s, 1, &start, (int[]){ 2, 2, 2 }, &e);
	for (int i = 0; i < 1000 && r == 0 && session_commands(s) > 0; i++)
		box_until(s, seen, seen->n + 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	if (r < 0) {
		assert_int_equal(r, -EMFILE);
		assert_non_null(strstr(e.text, "open files"));
	} else if (seen->events[0].kind == SESSION_REFUSED) {
		assert_int_equal(seen->events[0].refusal.error, EMFILE);
		assert_non_null(strstr(seen->texts[0], "open files"));
	} else {
		assert_int_equal(seen->events[0].kind, SESSION_STARTED);
		assert_int_equal(seen->events[1].report.exit_code, 5);
	}
}

static void too_few_files_to_start(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (unsigned left = 0; left < 10; left++) {
		run_tight(s, &seen, left);
		/* Twice: the first may have used up the spare, and none could be had. */
		run_tight(s, &seen, left);
		assert_int_equal(box_run(s, &seen, 2, "exit 6"), 6);
	}
	session_free(s);
}

/* Many at once with room for some: each runs or is refused, and the session lives. */
static void too_few_files_for_all(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct rlimit old;
	size_t refused = 0, ran = 0;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	old = squeeze_files(40);
	for (uint64_t i = 0; i < 30; i++) {
		const char *argv[4];
		struct start start = box_shell(argv, "read x; exit 0");
		struct error e = { 0 };

		refused += session_start(s, i, &start, (int[]){ 2, 2, 2 }, &e) == -EMFILE;
	}
	for (uint64_t i = 0; i < 30; i++)
		(void)session_kill(s, i);
	for (int i = 0; i < 1000 && session_commands(s) > 0; i++)
		box_until(s, &seen, seen.n + 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (size_t i = 0; i < seen.n; i++) {
		ran += seen.events[i].kind == SESSION_EXITED;
		refused += seen.events[i].kind == SESSION_REFUSED;
		assert_int_not_equal(seen.events[i].kind, SESSION_GONE);
	}
	assert_int_equal(ran + refused, 30);
	assert_int_equal(box_run(s, &seen, 2, "exit 6"), 6);
	session_free(s);
}

/* Takes all descriptors that are left. */
static size_t fill_files(int fds[64])
{
	size_t n = 0;

	while (n < 64 && (fds[n] = fcntl(2, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	return n;
}

/* Handles what comes until nothing comes any more: how often. */
static size_t count_rounds(struct session *s)
{
	size_t rounds = 0;

	for (; rounds < 1000; rounds++) {
		struct pollfd p = { .fd = session_fd(s), .events = POLLIN };

		if (poll(&p, 1, 300) == 0)
			break;
		assert_int_equal(session_dispatch(s), 0);
	}
	return rounds;
}

/* The next init comes, and there is no room for its descriptors: nobody asks over and over. */
static void does_not_spin(void **state)
{
	const char *argv[4];
	struct start start = box_shell(argv, "sleep 1000");
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e = { 0 };
	struct rlimit old = { 0 };
	int fds[64];
	size_t n;
	int r = -1;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	/* One is left that waits, and it is here. */
	for (uint64_t i = 10; i < 20; i++)
		box_start(s, i, "sleep 1000", -1, 0);
	box_until(s, &seen, 10);
	box_await_spare(s);
	assert_int_equal(s->n_spares, 1);
	seen.n = 0;
	/* As few as will do. */
	for (unsigned left = 3; r < 0 && left < 20; left++) {
		old = squeeze_files(left);
		r = session_start(s, 1, &start, (int[]){ 2, 2, 2 }, &e);
		if (r < 0)
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	}
	assert_int_equal(r, 0);
	n = fill_files(fds);
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_STARTED);
	assert_true(count_rounds(s) < 20);
	while (n > 0)
		(void)close(fds[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(session_commands(s), 11);
	assert_int_equal(box_run(s, &seen, 2, "exit 6"), 6);
	session_free(s);
}

/* In a process of its own, since the number of processes counts for the whole user. */
static int cannot_fork(void)
{
	static struct seen seen;
	const char *argv[4];
	struct start start = box_shell(argv, "exit 5");
	struct rlimit none = { 0, 0 };
	struct error e = { 0 };
	struct session *s;
	struct plan p;

	box_plan(&p);
	s = box_open(&p, &seen, false);
	if (getuid() != 0) {
		/* The zygote has the limit of before; this process can make no other. */
		struct session *other = NULL;
		const struct session_options o = { 0 };

		(void)setrlimit(RLIMIT_NPROC, &none);
		if (session_prepare(&other, &o, &e) != -EAGAIN || !e.text[0])
			return 1;
	}
	seen.n = 0;
	if (session_start(s, 1, &start, (int[]){ 2, 2, 2 }, &e) < 0)
		return 2;
	box_until(s, &seen, 2);
	if (seen.events[1].report.exit_code != 5)
		return 3;
	session_free(s);
	return count_family() == 0 ? 0 : 4;
}

static void too_many_processes(void **state)
{
	pid_t pid = fork();
	int status = 0;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(cannot_fork());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct session_event run_limited(
	struct session *s, struct seen *seen, struct start start, const char *line)
{
	const char *argv[4];
	struct start shell = box_shell(argv, line);
	struct error e = { 0 };
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);

	start.cwd = shell.cwd;
	start.program = shell.program;
	start.argv = shell.argv;
	start.env = shell.env;
	start.n_argv = shell.n_argv;
	start.n_env = shell.n_env;
	seen->n = 0;
	assert_int_equal(session_start(s, 1, &start, (int[]){ null, null, null }, &e), 0);
	box_until(s, seen, 2);
	assert_int_equal(seen->events[1].kind, SESSION_EXITED);
	return seen->events[1];
}

/* Longer than any of them takes on a machine that has other things to do. */
enum { LONG_MS = 90000 };

static const char eat[] = "a=aaaaaaaaaaaaaaaa; while :; do a=$a$a; done";
static const char multiply[] = "n=0; while test $n -lt 300; do sleep 100 & n=$((n+1)); done; wait";

static void limits(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct session_event e;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	e = run_limited(s, &seen, (struct start){ .memory = 64 << 20, .timeout_ms = LONG_MS }, eat);
	assert_false(e.report.flags & REPORT_TIMED_OUT);
	/* Stopped by the kernel in a single leap, or counted. */
	assert_true(e.report.flags & REPORT_OUT_OF_MEMORY || e.report.exit_code != 0);
	assert_int_not_equal(e.report.memory_by, REPORT_BY_NOTHING);
	assert_int_equal(box_run(s, &seen, 2, "exit 6"), 6);

	e = run_limited(s, &seen, (struct start){ .pids = 20, .timeout_ms = LONG_MS }, multiply);
	assert_false(e.report.flags & REPORT_TIMED_OUT);
	assert_true(e.report.flags & REPORT_TOO_MANY_PIDS || e.report.exit_code != 0);
	assert_int_not_equal(e.report.pids_by, REPORT_BY_NOTHING);
	assert_int_equal(box_run(s, &seen, 2, "exit 6"), 6);

	e = run_limited(s, &seen, (struct start){ .file_size = 1 << 16 },
		"exec head -c 1000000 /dev/zero >/tmp/big");
	assert_int_equal(e.report.signal, SIGXFSZ);
	assert_int_equal(
		box_run(s, &seen, 2, "test $(wc -c </tmp/big) -eq 65536 && rm /tmp/big"), 0);

	e = run_limited(s, &seen, (struct start){ .open_files = 10 },
		"test $(ulimit -n) -eq 10 || exit 3; exec 9</dev/null 10</dev/null; exit 4");
	assert_int_not_equal(e.report.exit_code, 3);
	assert_int_not_equal(e.report.exit_code, 4);
	assert_int_equal(box_run(s, &seen, 2, "exit 6"), 6);
	session_free(s);
}

/* The session's own file system in memory is full: the command hears of it, and the rest runs. */
static void full_disk(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	/* By names, which are bounded like bytes: no memory of the machine is used up for it. */
	assert_int_equal(box_run(s, &seen, 1,
				 "exec 2>/dev/null; cd /tmp; truncate -s 1T sparse && "
				 "fallocate -l 1T solid && exit 1; rm -f sparse solid; exit 7"),
		7);
	assert_int_equal(box_run(s, &seen, 2, "echo a >/tmp/a && test -s /tmp/a"), 0);
	session_free(s);
}

static size_t count_entries(pid_t pid, const char *what)
{
	char path[128];
	struct dirent *d;
	size_t n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	dir = opendir(path);
	if (!dir)
		return 0; /* an ordinary user may not look into it */
	while ((d = readdir(dir)))
		n += d->d_name[0] != '.';
	(void)closedir(dir);
	return n;
}

static size_t count_lines(pid_t pid)
{
	char path[64];
	size_t n = 0;
	FILE *f;
	int c;

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0; /* an ordinary user may not look into it */
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	(void)fclose(f);
	return n;
}

/* Nothing grows with the number of commands. */
static void no_growth(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	pid_t pids[BOX_FAMILY];
	size_t fds, theirs, mounts;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	assert_int_equal(box_run(s, &seen, 1, "exit 0"), 0);
	assert_true(box_children(getpid(), pids) == 1);
	fds = count_fds();
	theirs = count_entries(pids[0], "fd");
	mounts = count_lines(pids[0]);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(box_run(s, &seen, 1, "exit 0"), 0);
	/* Inits that have told of their command's end may need a moment for their own. */
	for (int i = 0; i < BOX_PATIENCE_MS / 10 && count_family() > 6; i++)
		(void)usleep(10000);
	/* The spare may be here or on its way, then as now: two descriptors here, three there. */
	assert_in_range(count_fds(), 0, fds + 2);
	assert_in_range(count_entries(pids[0], "fd"), 0, theirs + 3);
	assert_int_equal(count_lines(pids[0]), mounts);
	/* The zygote, an init that waits and one that is about to end, each with a child. */
	assert_in_range(count_family(), 1, 6);
	session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_few_files_to_build),
		cmocka_unit_test(too_few_files_to_start),
		cmocka_unit_test(too_few_files_for_all),
		cmocka_unit_test(does_not_spin),
		cmocka_unit_test(too_many_processes),
		cmocka_unit_test(limits),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(no_growth),
	};

	return cmocka_run_group_tests_name("exhaust", tests, NULL, NULL);
}
