/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double measure_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void measure_die(const char *what)
{
	(void)fprintf(stderr, "bench: %s\n", what);
	exit(2);
}

const char *measure_path(const char *path)
{
	static char paths[4][PATH_MAX];
	static size_t n;

	if (n == sizeof(paths) / sizeof(paths[0]) || !realpath(path, paths[n]))
		measure_die(path);
	return paths[n++];
}

static void run_once(struct measure *m, bool keep)
{
	double seconds = m->run(m->context);

	if (seconds < 0) {
		(void)fprintf(stderr, "bench: %s failed\n", m->name);
		exit(2);
	}
	if (keep)
		m->times[m->n++] = seconds;
}

void measure_all(struct measure *kinds, size_t n, size_t rounds)
{
	for (size_t k = 0; k < n; k++) {
		kinds[k].times = calloc(rounds, sizeof(*kinds[k].times));
		kinds[k].n = 0;
		if (!kinds[k].times)
			measure_die("out of memory");
		run_once(&kinds[k], false); /* files into the cache */
	}
	for (size_t i = 0; i < rounds; i++) {
		/* Each round starts with another kind, so that none always follows the same one. */
		for (size_t k = 0; k < n; k++) {
			struct measure *m = &kinds[(i + k) % n];

			if (i % (m->every ? m->every : 1) == 0)
				run_once(m, true);
		}
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double measure_median(const struct measure *m)
{
	qsort(m->times, m->n, sizeof(*m->times), by_value);
	return m->times[m->n / 2];
}

void measure_print(const struct measure *kinds, size_t n)
{
	(void)printf("%-44s %10s %10s %10s %6s\n", "", "median", "p10", "p90", "runs");
	for (size_t k = 0; k < n; k++) {
		const struct measure *m = &kinds[k];
		double median = measure_median(m);

		(void)printf("%-44s %7.3f ms %7.3f ms %7.3f ms %6zu\n", m->name, median * 1e3,
			m->times[m->n / 10] * 1e3, m->times[m->n * 9 / 10] * 1e3, m->n);
	}
}

static bool judge(const char *what, double value, const char *unit, double target, double best)
{
	bool met = target <= 0 || value <= target;

	(void)printf("%-44s %7.2f%s", what, value, unit);
	if (best > 0)
		(void)printf(" (%.2f%s)", best, unit);
	if (target > 0)
		(void)printf("   target %.2f%s   %s", target, unit, met ? "met" : "MISSED");
	(void)printf("\n");
	(void)fflush(stdout);
	return met;
}

bool measure_judge_value(const char *what, double value, const char *unit, double target)
{
	return judge(what, value, unit, target, 0);
}

bool measure_judge(const struct measure_ratio *r)
{
	double ratio = measure_median(r->over) / measure_median(r->under);
	/* Both are sorted now. */
	double best = r->over->times[r->over->n / 10] / r->under->times[r->under->n / 10];

	return judge(r->what, ratio, "x", r->target, best);
}

pid_t measure_spawn(const char *const *argv, const int *files)
{
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int r;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	for (int i = 0; files && i < 3; i++) {
		if (posix_spawn_file_actions_adddup2(&actions, files[i], i) != 0)
			measure_die("out of memory");
	}
	r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? pid : -1;
}

static double run_and_wait(const char *const *argv, const int *files, struct rusage *used)
{
	double start = measure_now();
	pid_t pid = measure_spawn(argv, files);
	int status;

	if (pid < 0 || wait4(pid, &status, 0, used) != pid || status != 0)
		return -1;
	return measure_now() - start;
}

double measure_command(const char *const *argv, const int *files)
{
	return run_and_wait(argv, files, NULL);
}

double measure_processor(const char *const *argv, const int *files)
{
	struct rusage used = { 0 };

	if (run_and_wait(argv, files, &used) < 0)
		return -1;
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}
