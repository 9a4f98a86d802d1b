/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many sandboxes alive at once, each running a command; and what memory one takes. Then as many
 * `corral run`. The command waits for its input to end, so all of them are known to run at the same
 * time. More than 128 of one user are more than there are inotify instances on most machines.
 *
 *     bench-many WARDEN CORRAL [NUMBER]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"
#include "processes.h"

enum { MANY_MAX = 10000, SHOWN = 100, JUDGED_LEAST = 1000 };

struct one {
	struct corral_sandbox *sandbox;
	struct corral_process *process;
};

static struct corral_builder *make_builder(const char *warden)
{
	struct corral_builder *b = NULL;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(b, warden);
	(void)corral_builder_work_dir(b, "/tmp");
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, "/bin/{,**}");
	return b;
}

static void begin(struct one *o, struct corral_builder *b)
{
	static const char *const argv[] = { "/bin/cat", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_error *error = NULL;

	call.flags = CORRAL_CALL_INPUT;
	if (corral_builder_build(b, &o->sandbox, &error) < 0 ||
		corral_process_start(&o->process, o->sandbox, argv, &call, &error) < 0)
		measure_die(corral_error_message(error));
	if (corral_process_write(o->process, "x", 1) != 1)
		measure_die("cannot write to a command");
}

/* It echoed what it was sent, so it ran. */
static void end(struct one *o)
{
	struct corral_result *result = NULL;
	struct corral_error *error = NULL;
	size_t len = 0;

	(void)corral_process_close_stdin(o->process);
	if (corral_process_wait(o->process, 60000, &result, &error) < 0)
		measure_die(error ? corral_error_message(error) : "a command does not end");
	if (corral_result_exit_code(result) != 0 || corral_result_stdout(result, &len)[0] != 'x')
		measure_die("a command did not do its work");
	corral_result_free(result);
	corral_process_free(o->process);
	corral_sandbox_free(o->sandbox);
}

static void raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* One sandbox that has run a command and waits for the next. */
static bool judge_memory(struct corral_builder *b)
{
	struct processes p;
	struct one o;
	bool met = true;

	begin(&o, b);
	end(&o);
	begin(&o, b);
	processes_below(getpid(), &p);
	if (p.child && processes_private_kb(p.child) > 0) {
		met = measure_judge_value("private memory of a warden",
			(double)processes_private_kb(p.child) / 1024, " MB", 3);
		(void)measure_judge_value("and of all it started, with one command",
			(double)p.private_kb / 1024, " MB", 0);
	} else {
		(void)puts("private memory: skipped, only root may look into a warden");
	}
	end(&o);
	return met;
}

/* How long the last hundred took, each: the curve. */
static void show_progress(size_t i, double *last)
{
	if ((i + 1) % SHOWN != 0)
		return;
	(void)printf("  %5zu live: %.2f ms for each of the last %d\n", i + 1,
		(measure_now() - *last) / SHOWN * 1e3, SHOWN);
	*last = measure_now();
}

static bool judge_sandboxes(struct corral_builder *b, size_t n)
{
	struct one *all = calloc(n, sizeof(*all));
	struct processes before, during, after;
	size_t fds = processes_fds(getpid());
	double start = measure_now(), last = start, up, looked, down;
	bool met = true;

	if (!all)
		measure_die("out of memory");
	processes_below(getpid(), &before);
	for (size_t i = 0; i < n; i++) {
		begin(&all[i], b);
		show_progress(i, &last);
	}
	up = measure_now();
	processes_below(getpid(), &during);
	looked = measure_now();
	for (size_t i = 0; i < n; i++)
		end(&all[i]);
	down = measure_now();
	processes_below(getpid(), &after);
	(void)printf("%zu sandboxes, each with a running command: %zu processes, %.0f MB of "
		     "private memory\n%.2f ms to make one, %.2f ms to end one\n",
		n, during.n, (double)during.private_kb / 1024, (up - start) / (double)n * 1e3,
		(down - looked) / (double)n * 1e3);
	if (during.n < 2 * n || after.n != before.n || processes_fds(getpid()) != fds) {
		(void)printf("left behind: %zu processes, %zd descriptors\n", after.n - before.n,
			(ssize_t)(processes_fds(getpid()) - fds));
		met = false;
	}
	free(all);
	return met;
}

/* One `corral run`, that has echoed a byte. */
struct live {
	pid_t pid;
	int in, out;
};

static void run_begin(struct live *l, const char *corral)
{
	const char *const argv[] = { corral, "run", "--", "/bin/cat", NULL };
	int in[2], out[2];
	char byte = 'x';

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		measure_die("no pipe");
	l->pid = measure_spawn(argv, (int[]){ in[0], out[1], STDERR_FILENO });
	l->in = in[1];
	l->out = out[0];
	(void)close(in[0]);
	(void)close(out[1]);
	if (l->pid < 0 || write(l->in, &byte, 1) != 1 || read(l->out, &byte, 1) != 1)
		measure_die("a corral run did not do its work");
}

static bool run_end(const struct live *l)
{
	int status = -1;

	(void)close(l->in);
	(void)close(l->out);
	return waitpid(l->pid, &status, 0) == l->pid && status == 0;
}

static bool judge_runs(const char *corral, size_t n)
{
	struct live *all = calloc(n, sizeof(*all));
	double start = measure_now(), last = start;
	bool met = true;

	if (!all)
		measure_die("out of memory");
	for (size_t i = 0; i < n; i++) {
		run_begin(&all[i], corral);
		show_progress(i, &last);
	}
	(void)printf("%zu corral run, each with a running command: %.2f ms to make one\n", n,
		(measure_now() - start) / (double)n * 1e3);
	for (size_t i = 0; i < n; i++)
		met &= run_end(&all[i]);
	free(all);
	if (!met)
		(void)puts("a corral run did not end well");
	return met;
}

int main(int argc, char **argv)
{
	size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;
	struct corral_builder *b;
	bool met;

	if (argc < 3 || n < 1 || n > MANY_MAX)
		measure_die("usage: bench-many WARDEN CORRAL [NUMBER]");
	/* The curve is of use while it is drawn. */
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	raise_files();
	b = make_builder(measure_path(argv[1]));
	/* The small case is a test, also of a build with sanitizers: what it takes decides nothing.
	 */
	met = n < JUDGED_LEAST || judge_memory(b);
	met &= judge_sandboxes(b, n);
	met &= judge_runs(measure_path(argv[2]), n);
	corral_builder_free(b);
	return met ? 0 : 1;
}
