/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What checking costs a host that has tools of its own: a file of 4 kB read through an enclave,
 * against open(), read() and close(); and a decision with its line in the audit, without anything
 * that is done then.
 *
 *     bench-enclave [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corral/enclave.h>

#include "measure.h"

enum { FILE_BYTES = 4096, CALLS = 2000, GRANTS = 50 };

#define MICROSECONDS 1e6
#define URL "https://api.example.com/v1/items"

struct bench {
	struct corral_enclave *enclave;
	struct corral_policy *policy;
	char path[64];
};

static double run_plain(void *context)
{
	const struct bench *b = context;
	double start = measure_now();

	for (unsigned i = 0; i < CALLS; i++) {
		char *data = malloc(FILE_BYTES + 1);
		int fd = open(b->path, O_RDONLY | O_CLOEXEC);
		ssize_t n = data ? read(fd, data, FILE_BYTES + 1) : -1;

		(void)close(fd);
		free(data);
		if (n != FILE_BYTES)
			return -1;
	}
	return measure_now() - start;
}

static double run_read(void *context)
{
	const struct bench *b = context;
	double start = measure_now();

	for (unsigned i = 0; i < CALLS; i++) {
		char *data = NULL;
		size_t len = 0;
		int r = corral_enclave_fs_read(b->enclave, NULL, b->path, &data, &len, NULL);

		corral_free(data);
		if (r < 0 || len != FILE_BYTES)
			return -1;
	}
	return measure_now() - start;
}

static double run_judged(void *context)
{
	const struct bench *b = context;
	double start = measure_now();

	for (unsigned i = 0; i < CALLS; i++) {
		if (corral_enclave_http_request(b->enclave, NULL, "GET", URL, NULL) < 0)
			return -1;
	}
	return measure_now() - start;
}

static double run_decision(void *context)
{
	const struct bench *b = context;
	double start = measure_now();

	for (unsigned i = 0; i < CALLS; i++) {
		if (corral_policy_check_request(b->policy, "GET", URL, NULL) != CORRAL_ALLOW)
			return -1;
	}
	return measure_now() - start;
}

static struct corral_permissions *make_permissions(const char *path)
{
	struct corral_permissions *p = NULL;
	char text[128];

	if (corral_permissions_new(&p) < 0 ||
		corral_permissions_allow(p, CORRAL_FS_READ, path, NULL) < 0 ||
		corral_permissions_allow(p, CORRAL_NET_CONNECT, "*.example.com:443", NULL) < 0)
		measure_die("permissions");
	for (unsigned i = 0; i < GRANTS; i++) {
		(void)snprintf(text, sizeof(text), "/srv/project-%u/**", i);
		(void)corral_permissions_allow(p, CORRAL_FS_READ, text, NULL);
		(void)snprintf(text, sizeof(text), "host-%u.example.org:443", i);
		(void)corral_permissions_allow(p, CORRAL_NET_CONNECT, text, NULL);
	}
	return p;
}

static void make(struct bench *b)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_permissions *p;
	char token[CORRAL_TOKEN_BYTES], data[FILE_BYTES];
	int fd;

	(void)snprintf(b->path, sizeof(b->path), "/var/tmp/corral-bench-XXXXXX");
	fd = mkstemp(b->path);
	memset(data, 'x', sizeof(data));
	if (fd < 0 || write(fd, data, sizeof(data)) != sizeof(data) || close(fd) < 0)
		measure_die("cannot make a file");
	p = make_permissions(b->path);
	o.granted = p;
	if (corral_enclave_new(&b->enclave, &o, token, NULL) < 0 ||
		corral_policy_new(&b->policy, (const struct corral_permissions *[]){ p }, 1, NULL,
			0, NULL) < 0)
		measure_die("cannot make an enclave");
	corral_permissions_free(p);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	struct bench b = { 0 };
	struct measure kinds[] = {
		{ .name = "plain", .run = run_plain, .context = &b },
		{ .name = "fs_read", .run = run_read, .context = &b },
		{ .name = "judged and told", .run = run_judged, .context = &b },
		{ .name = "judged", .run = run_decision, .context = &b },
	};
	const struct measure_ratio ratio = {
		.what = "fs_read of 4 kB / open, read, close", .over = &kinds[1], .under = &kinds[0]
	};

	make(&b);
	measure_all(kinds, 4, rounds);
	for (size_t i = 0; i < 4; i++)
		(void)measure_judge_value(kinds[i].name,
			measure_median(&kinds[i]) / CALLS * MICROSECONDS, " us for each call", 0);
	(void)measure_judge(&ratio);
	(void)unlink(b.path);
	corral_policy_free(b.policy);
	corral_enclave_free(b.enclave);
	return 0;
}
