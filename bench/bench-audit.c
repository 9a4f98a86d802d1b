/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What telling of something costs, with texts as they are in every day's events and the values of
 * fifty variables to look for. A function for each figure; those that have a target fail the run
 * if they miss it.
 *
 *     bench-audit [ROUNDS]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit-store.h"
#include "audit-trail.h"
#include "audit/redact/redact.h"
#include "audit/ring.h"
#include "base/buffer.h"
#include "measure.h"

enum { THREADS = 2, EVENTS = 500000, VARIABLES = 50, RING_BYTES = 16 << 20, SAMPLES = 4 };
enum { MILLION = 1000000 };

static const struct audit_event samples[SAMPLES] = {
	{ .session = "5f0c2b9e-7a41",
		.user = "1000",
		.sandbox = "b-12",
		.pid = 4711,
		.program = "/usr/bin/curl",
		.action = AUDIT_NET_CONNECT,
		.target = "https://api.example.com:443/v1/items?page=3",
		.decision = AUDIT_ALLOWED,
		.rule = "policy.yaml:12: *.example.com:443",
		.reason = "granted",
		.exact = true },
	{ .session = "5f0c2b9e-7a41",
		.user = "1000",
		.sandbox = "b-12",
		.pid = 4712,
		.program = "/usr/bin/node",
		.action = AUDIT_FS_READ,
		.target = "/home/user/app/node_modules/@scope/package/dist/index.js",
		.decision = AUDIT_DENIED,
		.rule = "baseline: ~/.ssh/**",
		.reason = "no rule grants it",
		.exact = true },
	{ .session = "5f0c2b9e-7a41",
		.user = "1000",
		.sandbox = "b-12",
		.pid = 4713,
		.program = "/bin/sh",
		.action = AUDIT_COMMAND_START,
		.target = "git -c user.name=agent commit --message 'fix the parser' --quiet",
		.decision = AUDIT_ALLOWED,
		.rule = "policy.yaml:3: exec: git",
		.reason = "" },
	{ .session = "5f0c2b9e-7a41",
		.user = "1000",
		.sandbox = "b-12",
		.pid = 4714,
		.program = "/usr/bin/python3",
		.action = AUDIT_NET_NAME,
		.target = "pypi.org",
		.decision = AUDIT_DENIED,
		.rule = "",
		.reason = "pypi.org is not among the hosts that are granted" },
};

/* No two events in a row are about the same thing, and none comes again soon. */
enum { TARGETS = 4096, TARGET_BYTES = 96 };
static char targets[TARGETS][TARGET_BYTES];

static void make_targets(void)
{
	for (unsigned i = 0; i < TARGETS; i++)
		(void)snprintf(targets[i], TARGET_BYTES, "%s/%u", samples[i % SAMPLES].target, i);
}

static struct audit_event sample(uint64_t i)
{
	struct audit_event e = samples[i % SAMPLES];

	e.target = targets[i % TARGETS];
	e.sequence = i + 1;
	e.time_ns = 1700000000000000000 + i;
	e.count = 1;
	return e;
}

static void variable(unsigned i, char value[AUDIT_TRAIL_VALUE])
{
	(void)snprintf(value, AUDIT_TRAIL_VALUE, "%08x-value-of-a-variable-%u", i * 2654435761u, i);
}

static struct redactor *make_redactor(void)
{
	struct redactor *r = NULL;

	if (redactor_new(&r) < 0)
		measure_die("redactor");
	for (unsigned i = 0; i < VARIABLES; i++) {
		char value[AUDIT_TRAIL_VALUE];

		variable(i, value);
		if (redactor_add(r, "VARIABLE", value) < 0)
			measure_die("redactor_add");
	}
	return r;
}

static void *write_events(void *ring)
{
	for (uint64_t i = 0; i < EVENTS; i++) {
		const struct audit_event e = sample(i);

		(void)audit_ring_add(ring, &e);
	}
	return NULL;
}

/* Seconds for a million events, as all of these. From two threads at once. */
static double run_ring(void *ring)
{
	pthread_t threads[THREADS];
	double start = measure_now();

	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, write_events, ring) != 0)
			return -1;
	}
	for (unsigned i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	return (measure_now() - start) / (THREADS * EVENTS) * MILLION;
}

struct path {
	struct audit_ring *ring;
	struct redactor *redactor;
};

/* The parts of what a trail does (audit-trail.c): redacted, encoded, in the ring. */
static double run_path(void *context)
{
	const struct path *p = context;
	auto_buffer texts = { 0 };
	double start = measure_now();

	for (uint64_t i = 0; i < EVENTS; i++) {
		struct audit_event e = sample(i);

		buffer_clear(&texts);
		redact_event(p->redactor, &e, &texts);
		(void)audit_ring_add(p->ring, &e);
	}
	return (measure_now() - start) / EVENTS * MILLION;
}

static double run_redact(void *context)
{
	const struct path *p = context;
	auto_buffer texts = { 0 };
	double start = measure_now();

	for (uint64_t i = 0; i < EVENTS; i++) {
		struct audit_event e = sample(i);

		buffer_clear(&texts);
		redact_event(p->redactor, &e, &texts);
	}
	return (measure_now() - start) / EVENTS * MILLION;
}

static double run_encode(void *context)
{
	auto_buffer bytes = { 0 };
	double start = measure_now();

	(void)context;
	for (uint64_t i = 0; i < EVENTS; i++) {
		const struct audit_event e = sample(i);

		buffer_clear(&bytes);
		audit_event_encode(&e, &bytes);
	}
	return (measure_now() - start) / EVENTS * MILLION;
}

static bool judge_rate(const char *what, const struct measure *m, double target)
{
	double rate = 1 / measure_median(m);

	(void)printf("%-44s %8.2f M/s (at least %.2f)%s\n", what, rate, target,
		rate >= target ? "" : "  MISSED");
	return rate >= target;
}

/* Events in memory, and on the way to it. */
static bool measure_events(size_t rounds)
{
	struct path path = { .redactor = make_redactor() };
	bool good;

	if (audit_ring_new(&path.ring, RING_BYTES) < 0)
		measure_die("audit_ring_new");
	struct measure kinds[] = {
		{ .name = "a million: ring, 2 threads", .run = run_ring, .context = path.ring },
		{ .name = "a million: redact, encode, ring", .run = run_path, .context = &path },
		{ .name = "a million: redact", .run = run_redact, .context = &path },
		{ .name = "a million: encode", .run = run_encode },
	};
	measure_all(kinds, sizeof(kinds) / sizeof(kinds[0]), rounds);
	measure_print(kinds, sizeof(kinds) / sizeof(kinds[0]));
	good = judge_rate("events into the ring from 2 threads", &kinds[0], 1.0);
	good &= measure_judge_value("of an event, redaction", measure_median(&kinds[2]), "µs", 0.4);
	audit_ring_free(path.ring);
	redactor_free(path.redactor);
	return good;
}

int main(int argc, char **argv)
{
	static const struct audit_trail_sample told = { sample, variable, VARIABLES };
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 11;
	bool good;

	if (rounds < 1 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-audit [ROUNDS]");
	make_targets();
	good = measure_events(rounds);
	good &= audit_trail_figures(&told, rounds);
	good &= audit_store_figures(sample);
	return good ? 0 : 1;
}
