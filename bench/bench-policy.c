/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one decision costs, with 10, 100, 1,000 and 10,000 patterns of the same kind, interleaved in
 * one run: each round times every size once, and the medians are compared. Absolute times depend on
 * the machine; the ratio to the smallest set is the figure that counts (at most 2), and 1 µs at
 * 10,000.
 *
 *     bench-policy CORPUS [ROUNDS]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/file.h"
#include "policy/policy.h"

enum { SIZES = 4, ROUNDS_MAX = 1000 };
static const size_t sizes[SIZES] = { 10, 100, 1000, 10000 };

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	(void)fprintf(stderr, "bench-policy: %s\n", what);
	exit(2);
}

struct lines {
	struct buffer text;
	const char **items;
	size_t n;
};

static void read_lines(struct lines *l, const char *dir, const char *name)
{
	auto_buffer path = { 0 };
	char *save = NULL;

	buffer_printf(&path, "%s/%s", dir, name);
	if (file_read(buffer_text(&path), 64 << 20, &l->text) < 0)
		die(buffer_text(&path));
	l->items = calloc(l->text.len, sizeof(*l->items));
	if (!l->items)
		die("out of memory");
	for (char *s = strtok_r(l->text.data, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
		l->items[l->n++] = s;
}

/* A policy for files with the first n patterns, or for hosts made from them. */
static struct policy *make(const struct lines *patterns, size_t n, double *ret_seconds)
{
	struct permissions *p = permissions_new();
	struct policy *policy = NULL;
	struct error e = { 0 };
	double start = now();

	for (size_t i = 0; i < n; i++) {
		char host[64];

		(void)snprintf(host, sizeof(host), "%sh%zu.example%zu.com:443", i % 3 ? "" : "*.",
			i, i % 97);
		if (permissions_add(p, &p->fs_read, patterns->items[i % patterns->n], NULL) < 0 ||
			permissions_add(p, &p->network_allow, host, NULL) < 0)
			die("out of memory");
	}
	if (policy_new(&policy, (const struct permissions *const *)&p, 1, NULL, &e) < 0)
		die(e.text);
	*ret_seconds = now() - start;
	permissions_free(p);
	return policy;
}

static double time_requests(const struct policy *p, enum operation op, const struct lines *requests,
	unsigned *ret_allowed)
{
	double start = now();

	for (size_t i = 0; i < requests->n; i++) {
		const struct request r = { .op = op, .target = requests->items[i] };
		struct decision d;

		if (policy_decide(p, &r, &d) == 0)
			*ret_allowed += d.verdict == VERDICT_ALLOW;
	}
	return (now() - start) / (double)requests->n * 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

static void run(const char *what, enum operation op, struct policy *const *policies,
	const struct lines *requests, size_t rounds)
{
	static double times[SIZES][ROUNDS_MAX];
	unsigned allowed[SIZES] = { 0 };
	double base = 0;

	for (size_t i = 0; i < rounds; i++) {
		for (size_t s = 0; s < SIZES; s++)
			times[s][i] = time_requests(policies[s], op, requests, &allowed[s]);
	}
	for (size_t s = 0; s < SIZES; s++) {
		double ns = median(times[s], rounds);

		if (s == 0)
			base = ns;
		(void)printf("%-12s %6zu patterns  %7.0f ns/decision  x%.2f of %zu patterns  "
			     "(%.0f%% allowed)\n",
			what, sizes[s], ns, ns / base, sizes[0],
			100.0 * allowed[s] / (double)(rounds * requests->n));
	}
}

/* Hosts in the same number as paths: half of them granted in the largest set. */
static void make_hosts(struct lines *hosts, size_t n)
{
	hosts->items = calloc(n, sizeof(*hosts->items));
	for (size_t i = 0; hosts->items && i < n; i++) {
		char host[64];

		(void)snprintf(host, sizeof(host), "%s%zu.example%zu.com:443", i % 2 ? "h" : "x",
			i * 5 % 10000, i * 5 % 10000 % 97);
		hosts->items[hosts->n++] = strdup(host);
	}
}

int main(int argc, char **argv)
{
	struct lines patterns = { 0 }, requests = { 0 }, hosts = { 0 };
	struct policy *policies[SIZES];
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 101;

	if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX)
		die("usage: bench-policy CORPUS [ROUNDS]");
	read_lines(&patterns, argv[1], "patterns.txt");
	read_lines(&requests, argv[1], "requests.txt");
	make_hosts(&hosts, requests.n);
	for (size_t s = 0; s < SIZES; s++) {
		double seconds;

		policies[s] = make(&patterns, sizes[s], &seconds);
		(void)printf("%-12s %6zu patterns  %7.1f ms\n", "compile", sizes[s], seconds * 1e3);
	}
	run("fs.read", OPERATION_FS_READ, policies, &requests, rounds);
	run("net.connect", OPERATION_NET_CONNECT, policies, &hosts, rounds);
	for (size_t s = 0; s < SIZES; s++)
		policy_free(policies[s]);
	buffer_deinit(&patterns.text);
	buffer_deinit(&requests.text);
	free(patterns.items);
	free(requests.items);
	for (size_t i = 0; i < hosts.n; i++)
		free((char *)hosts.items[i]);
	free(hosts.items);
	return 0;
}
