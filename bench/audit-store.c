/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of a million records in the temporary folder, written in batches of 64 with a signed head
 * at the usual intervals, by one thread, which is all that a store has; then verified, and one
 * record proved. Written in parts, of which the median counts: a disk has its moods.
 */
#include "audit-store.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "audit/store/proof.h"
#include "audit/store/store.h"
#include "audit/store/verify.h"
#include "base/buffer.h"
#include "measure.h"

enum { RECORDS = 1000000, PARTS = 20, PART = RECORDS / PARTS, RATE = 150 };

struct work {
	struct audit_event (*sample)(uint64_t i);
	char folder[64], path[80];
	struct audit_store *store;
	uint64_t written;
};

static double write_part(void *context)
{
	struct work *w = context;
	double start = measure_now();

	for (unsigned i = 0; i < PART; i++) {
		const struct audit_event e = w->sample(w->written++);

		if (audit_store_add(w->store, &e) < 0)
			return -1;
	}
	if (audit_store_commit(w->store, NULL) < 0)
		return -1;
	return (measure_now() - start) / PART * RECORDS;
}

static double verify(void *context)
{
	struct work *w = context;
	struct audit_log *log = NULL;
	struct audit_verdict v = { 0 };
	double start = measure_now();
	int r = audit_log_open(&log, w->path, NULL);

	if (r == 0)
		r = audit_log_verify(log, NULL, NULL, &v, NULL);
	audit_log_close(log);
	return r == 0 && v.fault == AUDIT_FINE && v.records == w->written ? measure_now() - start
									  : -1;
}

static double prove(void *context)
{
	struct work *w = context;
	auto_buffer proof = { 0 };
	struct audit_log *log = NULL;
	double start = measure_now();
	int r = audit_log_open(&log, w->path, NULL);

	if (r == 0)
		r = audit_log_prove(log, RECORDS / 3, &proof, NULL);
	audit_log_close(log);
	return r == 0 ? measure_now() - start : -1;
}

static int ignore(void *context, const struct audit_row *row)
{
	(void)context;
	(void)row;
	return 0;
}

static double list_denied(void *context)
{
	const struct audit_query q = { .action = -1, .decision = AUDIT_DENIED, .target = "*.org" };
	struct work *w = context;
	struct audit_log *log = NULL;
	double start = measure_now();
	int r = audit_log_open(&log, w->path, NULL);

	if (r == 0)
		r = audit_log_read(log, &q, ignore, NULL, NULL);
	audit_log_close(log);
	return r == 0 ? measure_now() - start : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void open_store(struct work *w)
{
	const char *tmp = getenv("TMPDIR");
	const struct audit_store_options options = { .path = w->path, .batch = 64 };

	(void)snprintf(
		w->folder, sizeof(w->folder), "%s/corral-bench-audit.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(w->folder))
		measure_die("mkdtemp");
	(void)snprintf(w->path, sizeof(w->path), "%s/log", w->folder);
	if (audit_store_open(&w->store, &options, NULL) < 0)
		measure_die("audit_store_open");
}

static bool judge(const struct measure *writing, const struct measure *reading, size_t n)
{
	const double rate = RECORDS / measure_median(writing) / 1000;
	/* It is sorted now. */
	const double best = RECORDS / writing->times[writing->n / 10] / 1000;
	bool good = rate >= RATE;

	measure_print(writing, 1);
	measure_print(reading, n);
	(void)printf("%-44s %8.0f k/s (%.0f; at least %d)%s\n", "durable events, batches of 64",
		rate, best, RATE, good ? "" : "  MISSED");
	good &= measure_judge_value(
		"verifying a million records", measure_median(&reading[0]), "s", 10.0);
	return good;
}

bool audit_store_figures(struct audit_event (*sample)(uint64_t i))
{
	struct work w = { .sample = sample };
	struct measure writing = { .name = "a million: durable", .run = write_part, .context = &w };
	struct measure reading[] = {
		{ .name = "a million: verify", .run = verify, .context = &w },
		{ .name = "a million: prove one", .run = prove, .context = &w },
		{ .name = "a million: list with filters", .run = list_denied, .context = &w },
	};
	const size_t n = sizeof(reading) / sizeof(reading[0]);
	bool good;

	open_store(&w);
	measure_all(&writing, 1, PARTS);
	if (audit_store_close(w.store, NULL) < 0)
		measure_die("audit_store_close");
	measure_all(reading, n, 3);
	good = judge(&writing, reading, n);
	(void)nftw(w.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return good;
}
