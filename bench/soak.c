/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Very many commands in a row in one sandbox: nothing may grow. Descriptors, mounts, zombies, the
 * number of processes and the memory of this program and of all that it started are looked at ten
 * times; after the first tenth (caches are warm, inits are waiting) they must stay as they are.
 * Memory may differ by a little, because allocators do. Without root, the insides of the warden are
 * not for us to see; the rest is.
 *
 * Every kind of command takes its turn: one that works, one that fails, one that is not found, one
 * that prints, one that leaves a daemon behind, and one that is killed.
 *
 *     soak WARDEN COMMANDS [KB]
 *
 * KB: by how much memory may differ (512). Sanitizers keep what was freed, so there it has to be
 * more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"
#include "processes.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { LOOKS = 10 };

static size_t slack_kb = 512;

static const struct {
	const char *argv[4];
	int code; /* how it ends; -1: it does not start */
} commands[] = {
	{ { "/bin/true" }, 0 },
	{ { "/bin/false" }, 1 },
	{ { "/bin/echo", "hello" }, 0 },
	{ { "/bin/sh", "-c", "sleep 1000 & exit 3" }, 3 },
	{ { "/bin/sh", "-c", "kill -9 $$" }, 137 },
	{ { "/no/such/program" }, -1 },
	{ { "/bin/true" }, 0 },
	{ { "/bin/true" }, 0 },
};

struct look {
	struct processes below;
	size_t fds, private_kb;
};

static void look(struct look *ret)
{
	processes_below(getpid(), &ret->below);
	ret->fds = processes_fds(getpid());
	ret->private_kb = processes_private_kb(getpid());
}

static void print_look(const struct look *l, size_t done, double seconds)
{
	(void)printf("# %8zu commands, %6.1f s: %zu fds, %zu kB; below: %zu processes, %zu "
		     "zombies, %zu fds, %zu mounts, %zu kB\n",
		done, seconds, l->fds, l->private_kb, l->below.n, l->below.zombies, l->below.fds,
		l->below.mounts, l->below.private_kb);
	(void)fflush(stdout);
}

static bool grew(const char *what, size_t before, size_t after, size_t slack)
{
	if (after <= before + slack)
		return false;
	(void)printf("# %s grew from %zu to %zu\n", what, before, after);
	return true;
}

/* Inits are made ahead of time, so there may be one process more or less, with all that it has. */
static bool compare(const struct look *a, const struct look *b)
{
	size_t each = a->below.n ? a->below.n : 1;
	const struct {
		const char *what;
		size_t before, after, slack;
	} rows[] = {
		{ "descriptors", a->fds, b->fds, 0 },
		{ "memory", a->private_kb, b->private_kb, slack_kb },
		{ "zombies", a->below.zombies, b->below.zombies, 1 },
		{ "processes", a->below.n, b->below.n, 3 },
		{ "descriptors below", a->below.fds, b->below.fds, 2 * a->below.fds / each },
		{ "mounts below", a->below.mounts, b->below.mounts, 2 * a->below.mounts / each },
		{ "memory below", a->below.private_kb, b->below.private_kb,
			slack_kb + 2 * a->below.private_kb / each },
	};
	bool any = false;

	for (size_t i = 0; i < N(rows); i++)
		any |= grew(rows[i].what, rows[i].before, rows[i].after, rows[i].slack);
	return any;
}

static bool run_one(struct corral_sandbox *s, size_t i)
{
	struct corral_result *result = NULL;
	struct corral_error *error = NULL;
	int r = corral_sandbox_execute_argv(s, commands[i].argv, NULL, &result, &error);
	int code = r < 0 ? -1 : corral_result_exit_code(result);
	bool good = code == commands[i].code;

	if (!good)
		(void)printf("# %s: %d, not %d: %s\n", commands[i].argv[0], code, commands[i].code,
			error ? corral_error_message(error) : "");
	corral_result_free(result);
	corral_error_free(error);
	return good;
}

static struct corral_sandbox *make(const char *warden)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *s = NULL;
	struct corral_error *error = NULL;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(b, warden);
	(void)corral_builder_work_dir(b, "/tmp");
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, "/bin/{,**}");
	if (corral_builder_build(b, &s, &error) < 0)
		measure_die(corral_error_message(error));
	corral_builder_free(b);
	return s;
}

static bool soak(struct corral_sandbox *s, size_t total)
{
	double start = measure_now();
	static struct look first, now;

	for (size_t i = 0; i < total; i++) {
		if (!run_one(s, i % N(commands)))
			return false;
		if ((i + 1) % (total / LOOKS) != 0)
			continue;
		look(&now);
		print_look(&now, i + 1, measure_now() - start);
		if (i + 1 == total / LOOKS)
			first = now;
	}
	return !compare(&first, &now);
}

int main(int argc, char **argv)
{
	size_t total = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct processes left;

	if (argc < 3 || total < 100)
		measure_die("usage: soak WARDEN COMMANDS (100 at least) [KB]");
	if (argc > 3)
		slack_kb = strtoul(argv[3], NULL, 10);
	struct corral_sandbox *s = make(measure_path(argv[1]));
	(void)printf("1..2\n");
	bool good = soak(s, total);
	(void)printf("%s 1 - nothing grows\n", good ? "ok" : "not ok");
	corral_sandbox_free(s);
	processes_below(getpid(), &left);
	(void)printf("%s 2 - nothing is left behind\n", left.n == 0 ? "ok" : "not ok");
	return good && left.n == 0 ? 0 : 1;
}
