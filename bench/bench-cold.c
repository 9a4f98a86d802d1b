/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `corral run -- /bin/true` from nothing in workspaces of different sizes, against posix_spawn() of
 * it, bubblewrap and the floor (floor.c): back to back and with gaps in which the machine comes to
 * rest, as root and as an ordinary user, by the normal scheduler. Beside the time on the clock it
 * counts what all processes of a run use together, those too for which the run does not wait:
 * processor time, page faults, and system calls (by strace).
 *
 *     bench-cold CORRAL FLOOR [ROUNDS [NAMES…]]     names of a workspace: 0 and 12500 if none is
 * given
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cold-place.h"
#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum {
	GAP_MS = 5,
	COUNTED = 15,         /* runs whose processor time and faults are counted */
	FEWER_ABOVE = 100000, /* names: a tenth of the rounds is enough there */
	ROUNDS_MIN = 10,
	NOBODY = 65534,
	WORDS_MAX = 64,
};

enum kind { BARE, RUN, FLOOR, BWRAP, KINDS };
static const char *const kind_names[KINDS] = { "posix_spawn /bin/true", "corral run -- /bin/true",
	"floor, /bin/true", "bwrap … /bin/true" };

struct cold {
	const char *argv[WORDS_MAX];
	int null[3];
	unsigned gap_ms;
};

static struct cold colds[KINDS];
static size_t n_kinds = KINDS; /* without BWRAP, if it does not work here */

static double cold_run(void *context)
{
	const struct cold *c = context;
	const struct timespec gap = { .tv_nsec = c->gap_ms * 1000000L };

	if (c->gap_ms)
		(void)nanosleep(&gap, NULL);
	return measure_command(c->argv, c->null);
}

/* The system read-only, /etc, its own /proc, /dev and /tmp, no network, the folder writable. */
static void cold_make_bwrap(const char **to, const char *folder)
{
	static const char *const fixed[] = { "bwrap", "--unshare-all", "--die-with-parent",
		"--new-session", "--clearenv", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc",
		"/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs",
		"/dev/shm" };
	static const char *const old[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32" };
	const char *const last[] = { "--bind", folder, folder, "--chdir", folder, "/bin/true",
		NULL };
	static char targets[N(old)][64];
	size_t n = N(fixed);

	memcpy(to, fixed, sizeof(fixed));
	for (size_t i = 0; i < N(old); i++) {
		ssize_t len = readlink(old[i], targets[i], sizeof(targets[i]) - 1);

		if (len < 0 && access(old[i], F_OK) < 0)
			continue;
		to[n++] = len < 0 ? "--ro-bind" : "--symlink";
		to[n++] = len < 0 ? old[i] : targets[i];
		to[n++] = old[i];
	}
	memcpy(to + n, last, sizeof(last));
}

static void cold_make(const char *corral, const char *floor, const char *folder)
{
	const char *const bare[] = { "/bin/true", NULL };
	const char *const run[] = { corral, "run", "--", "/bin/true", NULL };
	const char *const low[] = { floor, "run", folder, NULL };

	memcpy(colds[BARE].argv, bare, sizeof(bare));
	memcpy(colds[RUN].argv, run, sizeof(run));
	memcpy(colds[FLOOR].argv, low, sizeof(low));
	cold_make_bwrap(colds[BWRAP].argv, folder);
	for (size_t k = 0; k < KINDS; k++)
		for (size_t i = 0; i < 3; i++)
			colds[k].null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	n_kinds = measure_command(colds[BWRAP].argv, colds[BWRAP].null) >= 0 ? KINDS : BWRAP;
}

/* What all processes of one run use */

struct used {
	double processor, faults;
};

static struct used cold_children(void)
{
	struct rusage r = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &r);
	return (struct used){
		.processor = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
			     (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3,
		.faults = (double)(r.ru_minflt + r.ru_majflt),
	};
}

static int cold_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Medians. Whoever outlives the run becomes a child of ours, and is waited for. */
static struct used cold_use(struct cold *c)
{
	double processor[COUNTED], faults[COUNTED];

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (size_t i = 0; i < COUNTED; i++) {
		const struct used before = cold_children();
		struct used after;

		if (cold_run(c) < 0)
			measure_die("a run failed");
		while (waitpid(-1, NULL, 0) > 0)
			;
		after = cold_children();
		processor[i] = after.processor - before.processor;
		faults[i] = after.faults - before.faults;
	}
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	qsort(processor, COUNTED, sizeof(processor[0]), cold_by_value);
	qsort(faults, COUNTED, sizeof(faults[0]), cold_by_value);
	return (struct used){ processor[COUNTED / 2], faults[COUNTED / 2] };
}

/* All system calls, by strace's own sum; 0: not known. */
static unsigned long cold_calls(const struct cold *c, const char *table)
{
	const char *argv[WORDS_MAX + 8] = { "strace", "-f", "-c", "-U", "calls,name", "-o", table };
	unsigned long calls = 0;
	char line[256];
	FILE *f;

	for (size_t i = 0; c->argv[i]; i++)
		argv[7 + i] = c->argv[i];
	if (measure_command(argv, c->null) < 0 || !(f = fopen(table, "re")))
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "total"))
			calls = strtoul(line, NULL, 10);
	}
	(void)fclose(f);
	(void)unlink(table);
	return calls;
}

static void cold_count(const char *home)
{
	char table[PATH_BYTES];

	(void)snprintf(table, sizeof(table), "%s/calls", home);
	(void)printf("%-32s %14s %12s %12s\n", "of all processes of a run", "processor", "faults",
		"system calls");
	for (size_t k = 0; k < n_kinds; k++) {
		struct used u = cold_use(&colds[k]);
		unsigned long calls = cold_calls(&colds[k], table);

		(void)printf("%-32s %11.2f ms %12.0f ", kind_names[k], u.processor, u.faults);
		if (calls)
			(void)printf("%12lu\n", calls);
		else
			(void)printf("%12s\n", "not known");
	}
}

/* Times */

static void cold_time(unsigned gap_ms, size_t rounds)
{
	struct measure kinds[KINDS];
	const struct measure_ratio ratios[] = {
		{ "corral run : posix_spawn", &kinds[RUN], &kinds[BARE], 0 },
		{ "floor : posix_spawn", &kinds[FLOOR], &kinds[BARE], 0 },
		{ "corral run : floor", &kinds[RUN], &kinds[FLOOR], 0 },
		{ "bwrap : posix_spawn", &kinds[BWRAP], &kinds[BARE], 0 },
		{ "corral run : bwrap", &kinds[RUN], &kinds[BWRAP], 0 },
	};

	for (size_t k = 0; k < n_kinds; k++) {
		colds[k].gap_ms = gap_ms;
		kinds[k] = (struct measure){
			.name = kind_names[k], .run = cold_run, .context = &colds[k]
		};
	}
	measure_all(kinds, n_kinds, rounds);
	measure_print(kinds, n_kinds);
	for (size_t i = 0; i < N(ratios) - (n_kinds == KINDS ? 0 : 2); i++)
		(void)measure_judge(&ratios[i]);
	for (size_t k = 0; k < n_kinds; k++) {
		free(kinds[k].times);
		colds[k].gap_ms = 0;
	}
}

static void cold_measure(const struct cold_place *p, size_t rounds, const char *who)
{
	const char *home = cold_place_home(p, geteuid());

	if (p->names > FEWER_ABOVE)
		rounds /= 10;
	rounds = rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds;
	(void)setenv("HOME", home, 1);
	(void)unsetenv("XDG_STATE_HOME");
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)unsetenv("XDG_RUNTIME_DIR");
	for (unsigned gap = 0; gap <= GAP_MS; gap += GAP_MS) {
		(void)printf("\n%s, %zu names, %s\n", who, p->names,
			gap ? "5 ms between two runs" : "back to back");
		cold_time(gap, rounds);
	}
	cold_count(home);
	(void)fflush(stdout);
}

/* In a process of its own, which can never be root again. */
static bool cold_measure_as_other(const struct cold_place *p, size_t rounds)
{
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
			setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(2);
		if (access(colds[RUN].argv[0], X_OK) < 0 ||
			access(colds[FLOOR].argv[0], X_OK) < 0) {
			(void)printf("\nan ordinary user may not run %s: not measured\n",
				colds[RUN].argv[0]);
			(void)fflush(stdout);
			_exit(0);
		}
		cold_measure(p, rounds, "an ordinary user");
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool cold_bench(char *const *programs, size_t rounds, size_t names)
{
	bool is_fine = true;

	cold_place_make(names, NOBODY);
	if (chdir(cold_place.work) < 0)
		measure_die(cold_place.work);
	cold_make(programs[0], programs[1], cold_place.work);
	cold_measure(&cold_place, rounds, geteuid() == 0 ? "root" : "an ordinary user");
	if (geteuid() == 0)
		is_fine = cold_measure_as_other(&cold_place, rounds);
	(void)chdir("/");
	cold_place_remove();
	return is_fine;
}

int main(int argc, char **argv)
{
	static const size_t usual[] = { 0, 12500 };
	const size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 100;
	const size_t n = argc > 4 ? (size_t)argc - 4 : N(usual);
	bool is_fine = true;

	if (argc < 3 || rounds < ROUNDS_MIN || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-cold CORRAL FLOOR [ROUNDS [NAMES…]]");
	/* Whatever started us: a real-time one decides otherwise which process goes on. */
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	char *const programs[] = { (char *)measure_path(argv[1]), (char *)measure_path(argv[2]) };

	for (size_t i = 0; i < n; i++) {
		const size_t names = argc > 4 ? strtoul(argv[4 + i], NULL, 10) : usual[i];

		if (names > COLD_PLACE_NAMES_MAX)
			measure_die("a workspace has at most 1000000 names");
		is_fine &= cold_bench(programs, rounds, names);
	}
	return is_fine ? 0 : 1;
}
