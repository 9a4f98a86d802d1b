/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WASM skills: a cold run and a warm call against posix_spawn(), what 1,000 loaded skills hold, and
 * what compiling costs. A bare round trip through two pipes between two processes is what a warm
 * call cannot be faster than. Speed of compute is bench-wasm.py's, which starts this.
 *
 *     bench-wasm CORRAL FOLDER [ROUNDS] [SKILLS]
 *     bench-wasm call SKILL       loads that, calls it once, and prints its answer
 *
 * FOLDER has the skill `empty` (a handler that does nothing). CORRAL_WARDEN and CORRAL_WASM are the
 * programs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corral/skill.h>

#include "measure.h"
#include "processes.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { SKILLS_MAX = 10000, CALLS = 200 };

static const char *const true_argv[] = { "/bin/true", NULL };
static const char *command_argv[16], *skill_argv[8];
static int null[3];
static struct corral_skill *skill, *loaded[SKILLS_MAX];

static double bare(void *context)
{
	(void)context;
	return measure_command(true_argv, null);
}

static double started(void *context)
{
	return measure_command(context, null);
}

/* One call of many, as one is too short to be timed alone. */
static double warm(void *context)
{
	double start = measure_now();

	(void)context;
	for (int i = 0; i < CALLS; i++) {
		struct corral_error *e = NULL;

		if (corral_skill_call(skill, NULL, NULL, &e) < 0)
			measure_die(corral_error_message(e));
	}
	return (measure_now() - start) / CALLS;
}

/* Another process that answers as many bytes as a worker does, to as many as a call has. */
enum { PING = 12, PONG = 34 };
static int ping = -1, pong = -1;

static void start_echo(void)
{
	int to[2], from[2];
	char bytes[PONG] = { 0 };
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		measure_die("no pipes");
	pid = fork();
	if (pid < 0)
		measure_die("no process");
	if (pid == 0) {
		(void)close(to[1]);
		(void)close(from[0]);
		while (read(to[0], bytes, PING) == PING && write(from[1], bytes, PONG) == PONG)
			continue;
		_exit(0);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	ping = to[1];
	pong = from[0];
}

static double round_trip(void *context)
{
	double start = measure_now();
	char bytes[PONG] = { 0 };

	(void)context;
	for (int i = 0; i < CALLS; i++) {
		if (write(ping, bytes, PING) != PING || read(pong, bytes, PONG) != PONG)
			measure_die("the other process is gone");
	}
	return (measure_now() - start) / CALLS;
}

static int configure(void *context, struct corral_builder *b)
{
	(void)context;
	return corral_builder_allow_unapproved_skill(b);
}

static struct corral_skill *load(const char *dir)
{
	struct corral_skill_options o = CORRAL_SKILL_OPTIONS;
	struct corral_skill *s = NULL;
	struct corral_error *e = NULL;

	o.configure = configure;
	if (corral_skill_load(&s, dir, &o, &e) < 0)
		measure_die(corral_error_message(e));
	return s;
}

/*
 * The memory that is available falls by all that they hold, the kernel's part of it too; others who
 * use the machine change it as well.
 */
static void hold(const char *dir, size_t n)
{
	struct processes held;
	const double available = (double)processes_available_kb();
	double start = measure_now();

	for (size_t i = 0; i < n; i++)
		loaded[i] = load(dir);
	start = measure_now() - start;
	processes_below(getpid(), &held);
	(void)printf(
		"%zu loaded skills: %zu processes, %.1f ms to load one; each holds %.0f kB that "
		"it wrote, %.0f kB by its share of pages, and takes %.0f kB of what is "
		"available\n",
		n, held.n, 1000 * start / (double)n, (double)held.private_kb / (double)n,
		(double)held.pss_kb / (double)n,
		(available - (double)processes_available_kb()) / (double)n);
	for (size_t i = 0; i < n; i++)
		corral_skill_free(loaded[i]);
}

static int call(const char *dir)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;

	skill = load(dir);
	if (corral_skill_call(skill, NULL, &result, &e) < 0)
		measure_die(corral_error_message(e));
	(void)fputs(corral_result_stdout(result, NULL), stdout);
	corral_result_free(result);
	corral_skill_free(skill);
	return 0;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 100;
	size_t skills = argc > 4 ? strtoul(argv[4], NULL, 10) : 1000;
	char dir[4096];
	bool met = true;
	struct measure kinds[] = {
		{ .name = "posix_spawn /bin/true", .run = bare },
		{ .name = "corral run /bin/true", .run = started, .context = command_argv },
		{ .name = "corral run --skill, cached", .run = started, .context = skill_argv },
		{ .name = "bare round trip, two pipes", .run = round_trip },
		{ .name = "warm call, empty handler", .run = warm },
	};

	if (argc == 3 && strcmp(argv[1], "call") == 0)
		return call(argv[2]);
	if (argc < 3 || rounds < 3 || rounds > MEASURE_ROUNDS_MAX || skills > SKILLS_MAX)
		measure_die("usage: bench-wasm CORRAL FOLDER [ROUNDS] [SKILLS]");
	for (size_t i = 0; i < 3; i++)
		null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)snprintf(dir, sizeof(dir), "%s/empty", argv[2]);
	memcpy(command_argv,
		(const char *[]){
			argv[1], "run", "--read", "/usr", "--read", "/bin", "--", "/bin/true" },
		8 * sizeof(char *));
	memcpy(skill_argv, (const char *[]){ argv[1], "run", "--yes", "--skill", dir },
		5 * sizeof(char *));
	start_echo();
	skill = load(dir);
	measure_all(kinds, N(kinds), rounds);
	measure_print(kinds, N(kinds));
	met &= measure_judge_value("a cold call, on top of a session : posix_spawn",
		(measure_median(&kinds[2]) - measure_median(&kinds[1])) / measure_median(&kinds[0]),
		"times", 5);
	met &= measure_judge_value(
		"a warm call of an empty handler", 1e6 * measure_median(&kinds[4]), "µs", 30);
	(void)printf("a warm call : a bare round trip %.2f\n",
		measure_median(&kinds[4]) / measure_median(&kinds[3]));
	corral_skill_free(skill);
	if (skills > 0)
		hold(dir, skills);
	return met ? 0 : 1;
}
