/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the benchmarks share: kinds of work that are timed in turn, round after round, and compared
 * by their medians. Absolute times depend on the machine and on who else uses it; within one round
 * all kinds meet the same conditions, so ratios can be trusted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MEASURE_ROUNDS_MAX = 10000 };

/* One kind of work. */
struct measure {
	const char *name;
	/* Does it once; returns the seconds that count, or a negative value: it failed. */
	double (*run)(void *context);
	void *context;
	unsigned every; /* is run in every n-th round; 0: in each */
	double *times;  /* filled by measure_all() */
	size_t n;
};

/* A ratio that is looked at: of two kinds, and the most that it may be. */
struct measure_ratio {
	const char *what;
	const struct measure *over, *under;
	double target; /* 0: for information */
};

/* The absolute path of a program; dies if there is none. */
const char *measure_path(const char *path);
double measure_now(void);
_Noreturn void measure_die(const char *what);
/* Runs all kinds in turn, `rounds` times; dies if one fails. */
void measure_all(struct measure *kinds, size_t n, size_t rounds);
double measure_median(const struct measure *m);
/* Prints the medians. */
void measure_print(const struct measure *kinds, size_t n);
/*
 * Prints a ratio of medians and, in parentheses, that of the tenth percentiles, which a busy
 * machine disturbs less. True unless it has a target and the medians miss it.
 */
bool measure_judge(const struct measure_ratio *r);
/* The same for a plain number. */
bool measure_judge_value(const char *what, double value, const char *unit, double target);

/* Starts a program with posix_spawn; files: stdin, stdout, stderr, or NULL: as ours. -1: failed. */
pid_t measure_spawn(const char *const *argv, const int *files);
/* The same, and waits; seconds from start to end, negative if it failed or did not exit with 0. */
double measure_command(const char *const *argv, const int *files);
/* The same in seconds of the processor that it took. */
double measure_processor(const char *const *argv, const int *files);
