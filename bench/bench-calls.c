/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a broker answers what runs inside: pings of 1, 100 and 1,000 clients at once, in
 * batches, and files of 4 kB against reading them. Clients and broker share the machine's
 * processors.
 *
 *     bench-calls CORRAL WARDEN BROKER CLIENT [SECONDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define READ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"file_read\",\"params\":{\"path\":\"%s\"}}"

enum { FILE_BYTES = 4096, REQUEST_BYTES = 512 };

/* Texts of arguments: of calls-client. */
struct load {
	const char *what, *clients, *batch;
	double rate, p99; /* targets; 0: none */
};

struct answer {
	double rate, median, p99;
};

static const char *corral, *client, *seconds = "2";

static struct answer calls_measure(const struct load *l, const char *request)
{
	const char *argv[] = { corral, "run", "--broker", "--read", client, "--", client,
		l->clients, l->batch, seconds, request, NULL };
	struct answer a = { 0 };
	int pipes[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC), status = -1;
	char text[128] = "", *end;
	FILE *f;
	pid_t pid;

	if (null < 0 || pipe2(pipes, O_CLOEXEC) < 0)
		measure_die("no pipe");
	pid = measure_spawn(argv, (const int[]){ null, pipes[1], STDERR_FILENO });
	(void)close(pipes[1]);
	(void)close(null);
	f = fdopen(pipes[0], "r");
	if (f && fgets(text, sizeof(text), f)) {
		a.rate = strtod(text, &end);
		a.median = strtod(end, &end);
		a.p99 = strtod(end, NULL);
	}
	if (f)
		(void)fclose(f);
	if (a.rate <= 0)
		measure_die("the client printed no result");
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		measure_die("the client failed");
	(void)printf("%-34s %9.0f calls/s   median %7.1f us   p99 %8.1f us", l->what, a.rate,
		a.median, a.p99);
	if (l->rate > 0)
		(void)printf("   target %.0f calls/s: %s", l->rate,
			a.rate >= l->rate ? "met" : "missed");
	if (l->p99 > 0)
		(void)printf(
			"   target p99 %.0f us: %s", l->p99, a.p99 <= l->p99 ? "met" : "missed");
	(void)putchar('\n');
	(void)fflush(stdout);
	return a;
}

static void calls_make_file(const char *path)
{
	char bytes[FILE_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	memset(bytes, 'a', sizeof(bytes));
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		measure_die("cannot write a file");
	(void)close(fd);
}

/* The same bytes without a broker: microseconds for open, read, close. */
static double calls_bare(const char *path)
{
	enum { TIMES = 20000 };
	char bytes[FILE_BYTES];
	double since = measure_now();

	for (int i = 0; i < TIMES; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
			measure_die("cannot read a file");
		(void)close(fd);
	}
	return 1e6 * (measure_now() - since) / TIMES;
}

int main(int argc, char **argv)
{
	static const struct load pings[] = {
		{ "ping, 1 client", "1", "1", 0, 0 },
		{ "ping, 100 clients", "100", "1", 0, 1000 },
		{ "ping, 1,000 clients", "1000", "1", 0, 0 },
		{ "ping, 1 client, batches of 100", "1", "100", 100000, 0 },
		{ "ping, 100 clients, batches of 100", "100", "100", 100000, 0 },
	};
	static const struct load reads[] = {
		{ "file_read of 4 kB, 1 client", "1", "1", 0, 0 },
		{ "file_read of 4 kB, 100 clients", "100", "1", 0, 0 },
	};
	char folder[] = "/tmp/bench-calls-XXXXXX", path[64], request[REQUEST_BYTES];
	bool met = true;

	if (argc < 5)
		measure_die("usage: bench-calls CORRAL WARDEN BROKER CLIENT [SECONDS]");
	corral = measure_path(argv[1]);
	client = measure_path(argv[4]);
	seconds = argc > 5 ? argv[5] : seconds;
	if (setenv("CORRAL_WARDEN", measure_path(argv[2]), 1) < 0 ||
		setenv("CORRAL_BROKER", measure_path(argv[3]), 1) < 0)
		measure_die("out of memory");
	if (!mkdtemp(folder) || chdir(folder) < 0)
		measure_die("no folder in /tmp");
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	calls_make_file(path);
	(void)snprintf(request, sizeof(request), READ, path);
	for (size_t i = 0; i < N(pings); i++) {
		struct answer a = calls_measure(&pings[i], PING);

		met &= a.rate >= pings[i].rate && (pings[i].p99 <= 0 || a.p99 <= pings[i].p99);
	}
	for (size_t i = 0; i < N(reads); i++)
		(void)calls_measure(&reads[i], request);
	(void)printf("%-34s %.1f us\n", "the same file by open and read", calls_bare(path));
	(void)unlink(path);
	(void)chdir("/");
	(void)rmdir(folder);
	return met ? 0 : 1;
}
