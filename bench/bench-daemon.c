/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon costs and what it can do: its memory when nothing happens, what joining it costs
 * `corral run`, requests per second, events to many listeners, and all of that with 1,000 live
 * sandboxes. The daemon has folders of its own below /tmp.
 *
 *     bench-daemon CORRALD CORRAL JOIN-EVENTS [ROUNDS [SECONDS]]
 *
 * CORRALD_HTTP, CORRAL_PROGRAM and CORRAL_WARDEN name the other programs.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon-client.h"
#include "daemon-holder.h"
#include "daemon-host.h"
#include "join-peer.h"
#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum {
	BENCH_SANDBOXES = 1000,
	BENCH_LISTENERS = 100,
	BENCH_RATE = 1000,    /* events in a second */
	BENCH_EVENTS = 20000, /* in a row, for the time that one takes */
	BENCH_IDLE_MB = 20,
	BENCH_PATIENCE_MS = 20000,
};

static struct daemon_host host;
static const char *corral, *join_events;
static double seconds = 2;

/* Joining */

/* state: without a daemon, a folder that has no `missed`, as where no daemon ever ran. */
struct joining {
	const char *runtime, *state;
	int null[3];
};

static double bench_run(void *context)
{
	const struct joining *j = context;
	const char *const argv[] = { corral, "run", "--", "/bin/true", NULL };

	if (setenv("XDG_RUNTIME_DIR", j->runtime, 1) < 0 ||
		(j->state ? setenv("XDG_STATE_HOME", j->state, 1) : unsetenv("XDG_STATE_HOME")) < 0)
		return -1;
	return measure_command(argv, j->null);
}

static bool bench_joining(size_t rounds)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct joining without = { host.nothing, host.nothing, { null, null, STDERR_FILENO } },
		       with = { host.runtime, NULL, { null, null, STDERR_FILENO } };
	struct measure kinds[] = {
		{ .name = "corral run -- /bin/true", .run = bench_run, .context = &without },
		{ .name = "the same, with a daemon", .run = bench_run, .context = &with },
	};

	measure_all(kinds, N(kinds), rounds);
	measure_print(kinds, N(kinds));
	(void)setenv("XDG_RUNTIME_DIR", host.runtime, 1);
	(void)unsetenv("XDG_STATE_HOME");
	(void)close(null);
	return measure_judge_value("joining costs a run",
		1e3 * (measure_median(&kinds[1]) - measure_median(&kinds[0])), " ms", 0.3);
}

/* Requests */

static void bench_requests_of(const char *name, struct daemon_load l)
{
	static const size_t clients[] = { 1, 50 };

	for (size_t i = 0; i < N(clients); i++) {
		struct daemon_load load = l;

		load.clients = clients[i];
		load.seconds = seconds;
		daemon_load_run(&host, &load);
		(void)printf("%-28s %2zu clients %8.0f/s  %8.3f ms, 99%% within %.3f ms", name,
			clients[i], load.per_second, load.median * 1e3, load.percentile * 1e3);
		if (load.refused)
			(void)printf("; %zu refused", load.refused);
		(void)printf("\n");
		(void)fflush(stdout);
	}
}

static void bench_requests(void)
{
	bench_requests_of(
		"GET /api/status", (struct daemon_load){ .method = "GET", .path = "/api/status" });
	bench_requests_of("GET /api/sandboxes",
		(struct daemon_load){ .method = "GET", .path = "/api/sandboxes" });
	bench_requests_of("POST /api/policies/check",
		(struct daemon_load){ .method = "POST",
			.path = "/api/policies/check",
			.body = "{\"policy\":\"permissions:\\n  fs:\\n    read: [/srv/**]\\n\","
				"\"operation\":\"fs.read\",\"target\":\"/srv/x\"}" });
}

/* Events */

static bool bench_listeners(void)
{
	struct daemon_listen l = { .clients = BENCH_LISTENERS };
	const double before = daemon_host_processor(&host), start = measure_now();
	char count[16], rate[16];
	const char *const sender[] = { join_events, count, rate, NULL };
	const size_t sent = (size_t)(BENCH_RATE * seconds * 2);
	double all, took;

	(void)snprintf(count, sizeof(count), "%zu", sent);
	(void)snprintf(rate, sizeof(rate), "%d", BENCH_RATE);
	daemon_listen_run(&host, &l, sender);
	took = measure_now() - start - 0.5;
	all = (double)(l.delivered + l.dropped);
	(void)printf("%d listeners, %d events/s: %.0f delivered in a second, %.2f %% of them; "
		     "%zu dropped with a marker, %zu gaps without one\n",
		BENCH_LISTENERS, BENCH_RATE, (double)l.delivered / took,
		100 * (double)l.delivered / all, l.dropped, l.missing);
	(void)measure_judge_value("processor for that, of one core",
		100 * (daemon_host_processor(&host) - before) / took, " %", 0);
	if (l.missing > 0 || l.least < sent) {
		(void)printf("a listener heard of %zu of %zu events   MISSED\n", l.least, sent);
		return false;
	}
	return measure_judge_value(
		"events that listeners lost", 100 * (double)l.dropped / all + 1e-9, " %", 1);
}

/* Until the daemon has taken an event, when it gets one after the other. */
static double bench_event_us(void)
{
	const double before = daemon_host_processor(&host);
	char count[16];
	const char *const argv[] = { join_events, count, "0", NULL };

	(void)snprintf(count, sizeof(count), "%d", BENCH_EVENTS);
	if (measure_command(argv, NULL) < 0)
		measure_die("events could not be sent");
	return (daemon_host_processor(&host) - before) / BENCH_EVENTS * 1e6;
}

static double bench_list_ms(size_t *ret_bytes)
{
	struct daemon_load l = {
		.method = "GET", .path = "/api/sandboxes", .clients = 1, .seconds = seconds
	};

	daemon_load_run(&host, &l);
	*ret_bytes = l.bytes;
	return l.median * 1e3;
}

static double bench_status_ms(void)
{
	struct daemon_load l = {
		.method = "GET", .path = "/api/status", .clients = 1, .seconds = seconds
	};

	daemon_load_run(&host, &l);
	return l.median * 1e3;
}

static void bench_join_all(int *fds, size_t n)
{
	char id[17];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(id, sizeof(id), "%016zx", i + 1);
		if (join_peer_open(id, &fds[i]) < 0 || join_peer_send(fds[i], id, i) < 0)
			measure_die("a sandbox cannot join");
	}
	for (size_t i = 0; i < n; i++) {
		struct pollfd joined = { .fd = fds[i], .events = POLLIN };

		if (poll(&joined, 1, BENCH_PATIENCE_MS) != 1)
			measure_die("the daemon does not say that a sandbox joined");
	}
}

static bool bench_many(void)
{
	static int fds[BENCH_SANDBOXES];
	const size_t kb = daemon_host_pss_kb(&host);
	const double event = bench_event_us(), status = bench_status_ms();
	size_t empty, full;
	const double list = bench_list_ms(&empty), processor = daemon_host_processor(&host);
	double many;
	bool met;

	bench_join_all(fds, BENCH_SANDBOXES);
	(void)printf("%d sandboxes joined, with an event each: %.3f ms of the processor for one\n",
		BENCH_SANDBOXES,
		(daemon_host_processor(&host) - processor) / BENCH_SANDBOXES * 1e3);
	many = bench_list_ms(&full);
	(void)printf("GET /api/sandboxes: %.3f ms for %zu bytes with none, %.3f ms for %zu bytes "
		     "with %d\n",
		list, empty, many, full, BENCH_SANDBOXES);
	met = measure_judge_value(
		"GET /api/status with 1,000 : with none", bench_status_ms() / status, "x", 1.5);
	met &= measure_judge_value(
		"an event with 1,000 : with none", bench_event_us() / event, "x", 1.5);
	(void)printf("an event takes %.1f us of the processor with none\n", event);
	if (geteuid() == 0)
		(void)measure_judge_value("memory for each of 1,000 sandboxes",
			(double)(daemon_host_pss_kb(&host) - kb) / BENCH_SANDBOXES, " kB", 0);
	for (size_t i = 0; i < BENCH_SANDBOXES; i++)
		(void)close(fds[i]);
	return met;
}

static bool bench_memory(const char *when)
{
	if (geteuid() != 0) {
		(void)puts("memory: skipped, only root may look into the daemon");
		return true;
	}
	return measure_judge_value(
		when, (double)daemon_host_pss_kb(&host) / 1024, " MB", BENCH_IDLE_MB);
}

static void bench_raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

int main(int argc, char **argv)
{
	const size_t rounds = argc > 4 ? strtoul(argv[4], NULL, 10) : 300;
	bool met;

	if (argc < 4 || rounds < 1 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-daemon CORRALD CORRAL JOIN-EVENTS [ROUNDS [SECONDS]]");
	if (argc > 5)
		seconds = strtod(argv[5], NULL);
	corral = measure_path(argv[2]);
	join_events = measure_path(argv[3]);
	daemon_host_start(&host, measure_path(argv[1]));
	met = bench_memory("memory of a daemon that is idle");
	met &= bench_joining(rounds);
	daemon_holder_bench(rounds);
	bench_requests();
	met &= bench_listeners();
	met &= bench_memory("memory after all that");
	bench_raise_files();
	met &= bench_many();
	daemon_host_end(&host);
	return met ? 0 : 1;
}
