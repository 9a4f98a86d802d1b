/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most of those who tell of something only put it into the ring; one of 64 carries a batch into the
 * log and waits for its commit. So there are two figures with a log: what everybody pays who does
 * not carry, and what all of them pay together. The first is time of the processor: nothing is
 * waited for there, and who else uses the machine does not matter.
 */
#include "audit-trail.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/trail.h"
#include "measure.h"

enum { EVENTS = 100000, BATCH = 64, THREADS = 2, MILLION = 1000000, HOUR_MS = 3600 * 1000 };

struct work {
	const struct audit_trail_sample *sample;
	char folder[64], path[80];
	struct audit_trail *memory, *log;
};

static void add(struct audit_trail *t, const struct audit_trail_sample *s, uint64_t i)
{
	const struct audit_event e = s->event(i);

	if (audit_trail_add(t, &e) == 0)
		measure_die("audit_trail_add");
}

/* Of this thread alone. */
static double processor_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds for a million events, as all of these. */
static double run_memory(void *context)
{
	const struct work *w = context;
	const double start = processor_now();

	for (uint64_t i = 0; i < EVENTS; i++)
		add(w->memory, w->sample, i);
	return (processor_now() - start) / EVENTS * MILLION;
}

/* Only those that do not make a batch full. */
static double run_log(void *context)
{
	const struct work *w = context;
	double sum = 0;
	unsigned n = 0;

	while (n < EVENTS) {
		const double start = processor_now();

		for (unsigned i = 0; i < BATCH - 1; i++)
			add(w->log, w->sample, n++);
		sum += processor_now() - start;
		if (audit_trail_flush(w->log, NULL) < 0)
			return -1;
	}
	return sum / n * MILLION;
}

static double run_log_all(void *context)
{
	const struct work *w = context;
	const double start = measure_now();

	for (uint64_t i = 0; i < EVENTS; i++)
		add(w->log, w->sample, i);
	if (audit_trail_flush(w->log, NULL) < 0)
		return -1;
	return (measure_now() - start) / EVENTS * MILLION;
}

static void *add_events(void *context)
{
	const struct work *w = context;

	for (uint64_t i = 0; i < EVENTS; i++)
		add(w->log, w->sample, i);
	return NULL;
}

static double run_threads(void *context)
{
	struct work *w = context;
	pthread_t threads[THREADS];
	const double start = measure_now();

	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, add_events, w) != 0)
			return -1;
	}
	for (unsigned i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	if (audit_trail_flush(w->log, NULL) < 0)
		return -1;
	return (measure_now() - start) / (THREADS * EVENTS) * MILLION;
}

static struct audit_trail *open_trail(
	const struct audit_trail_sample *s, const struct audit_store_options *store)
{
	const struct audit_trail_options o = { .store = store, .session = "5f0c2b9e7a41" };
	struct audit_trail *t = NULL;

	if (audit_trail_new(&t, &o, NULL) < 0)
		measure_die("audit_trail_new");
	for (unsigned i = 0; i < s->n_values; i++) {
		char value[AUDIT_TRAIL_VALUE];

		s->value(i, value);
		if (audit_trail_secret(t, "VARIABLE", value) < 0)
			measure_die("audit_trail_secret");
	}
	return t;
}

static void open_trails(struct work *w)
{
	const char *tmp = getenv("TMPDIR");
	/* Time must not end a batch that is measured as one that is not full. */
	const struct audit_store_options store = {
		.path = w->path, .batch = BATCH, .batch_ms = HOUR_MS
	};

	(void)snprintf(
		w->folder, sizeof(w->folder), "%s/corral-bench-trail.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(w->folder))
		measure_die("mkdtemp");
	(void)snprintf(w->path, sizeof(w->path), "%s/log", w->folder);
	w->memory = open_trail(w->sample, NULL);
	w->log = open_trail(w->sample, &store);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void close_trails(struct work *w)
{
	if (audit_trail_lost(w->log) > 0 || audit_trail_close(w->log, NULL) < 0)
		measure_die("audit_trail_close");
	(void)audit_trail_close(w->memory, NULL);
	(void)nftw(w->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool audit_trail_figures(const struct audit_trail_sample *sample, size_t rounds)
{
	struct work w = { .sample = sample };
	struct measure kinds[] = {
		{ .name = "a million: trail, in memory", .run = run_memory, .context = &w },
		{ .name = "a million: trail, no batch is full", .run = run_log, .context = &w },
		{ .name = "a million: trail, committed", .run = run_log_all, .context = &w },
		{ .name = "a million: the same, 2 threads", .run = run_threads, .context = &w },
	};
	bool good;

	open_trails(&w);
	measure_all(kinds, sizeof(kinds) / sizeof(kinds[0]), rounds);
	measure_print(kinds, sizeof(kinds) / sizeof(kinds[0]));
	good = measure_judge_value(
		"an event on its way into memory", measure_median(&kinds[0]), "µs", 0.8);
	good &= measure_judge_value(
		"an event with a log, unless it carries", measure_median(&kinds[1]), "µs", 2.0);
	(void)measure_judge_value(
		"an event with a log, all costs shared", measure_median(&kinds[2]), "µs", 0);
	close_trails(&w);
	return good;
}
