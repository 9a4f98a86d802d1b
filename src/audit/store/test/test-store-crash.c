/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-store-crash [ROUNDS]: a process writes, and tells through a pipe what was acknowledged; it
 * is killed (-9) at some point that nobody chose; what it told must be there, and the log must
 * verify and go on. Round after round on the same log, with heads and retention at work, and a new
 * log now and then, so that the making of one is hit, too. No round depends on when the kill comes.
 */
#include "test/unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "audit/test/test-audit.h"

enum { ROUNDS = 200, ROUNDS_PER_LOG = 10 };

static unsigned rounds = ROUNDS;

/* Whatever the seed, the test must pass; it is printed so that a failure can be looked at. */
static uint64_t seed;

static unsigned pick(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

/* Never returns. */
static void write_forever(struct bench *b, int out, uint64_t number)
{
	struct audit_store *s = NULL;

	if (audit_store_open(&s, &b->options, NULL) < 0)
		_exit(1);
	for (;;) {
		const unsigned n = 1 + pick(40);

		for (unsigned i = 0; i < n; i++) {
			char target[64];
			const struct audit_event v = bench_event(++number, target);

			if (audit_store_add(s, &v) < 0)
				_exit(2);
		}
		if (pick(4) == 0 ? audit_store_sign(s, NULL) < 0 : audit_store_commit(s, NULL) < 0)
			_exit(3);
		if (audit_store_committed(s) != number)
			_exit(4);
		if (write(out, &number, sizeof(number)) != sizeof(number))
			_exit(5);
		/* Closing and opening can be hit as well. */
		if (pick(20) == 0 && (audit_store_close(s, NULL) < 0 ||
					     audit_store_open(&s, &b->options, NULL) < 0))
			_exit(6);
	}
}

/* The last number that was reported; reads until no writer is left. */
static uint64_t drain(int in, uint64_t last)
{
	uint64_t number;

	while (read(in, &number, sizeof(number)) == sizeof(number))
		last = number;
	return last;
}

/* The number that the log ends with. */
static uint64_t verified(struct bench *b)
{
	const struct audit_verdict v = bench_verify(b);

	if (v.fault != AUDIT_FINE)
		fail_msg("%s at %d: %s", audit_fault_name(v.fault), (int)v.number, v.text);
	return v.removed + v.records;
}

/* Half of the time until it has told something, half of the time from its very start. A log that is
 * being written verifies at any moment, too. */
static void wait_a_little(struct bench *b, int in)
{
	const struct timespec t = { .tv_nsec = (long)pick(4000000) };

	if (pick(2)) {
		struct pollfd p = { .fd = in, .events = POLLIN };

		assert_true(poll(&p, 1, 60000) == 1);
		(void)verified(b);
	}
	nanosleep(&t, NULL);
}

/* Writes after `last`, killed; returns the last number that was acknowledged. */
static uint64_t write_and_kill(struct bench *b, uint64_t last)
{
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	(void)pick(2); /* the child's way must not be the one of the round before */
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(fds[0]);
		write_forever(b, fds[1], last);
	}
	assert_int_equal(close(fds[1]), 0);
	wait_a_little(b, fds[0]);
	assert_int_equal(kill(child, SIGKILL), 0);
	last = drain(fds[0], last);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	/* It did not end by itself. */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return last;
}

/* Everything that was acknowledged is there, for a reader and for the next writer; returns where
 * the log ends. */
static uint64_t check_log(struct bench *b, uint64_t acknowledged)
{
	const bool is_there = access(b->head, F_OK) == 0;
	const uint64_t last = is_there ? verified(b) : 0;
	struct audit_store *s = bench_open(b);

	assert_true(last >= acknowledged);
	assert_int_equal(audit_store_committed(s), last);
	bench_close(s);
	return last;
}

/* A log of some rounds; returns how many records it had in the end. */
static uint64_t try_log(unsigned variant, unsigned n)
{
	struct bench *b = bench_new();
	uint64_t last = 0;

	b->options.batch = 1 + pick(64);
	b->options.sign_records = 100;
	b->options.keep_records = variant % 2 ? 2000 : 0;
	b->options.sync = variant % 3 ? AUDIT_SYNC_NORMAL : AUDIT_SYNC_FULL;
	for (unsigned i = 0; i < n; i++)
		last = check_log(b, write_and_kill(b, last));
	assert_int_equal(verified(b), last);
	bench_free(b);
	return last;
}

static void kill_at_any_point(void **state)
{
	uint64_t total = 0;

	(void)state;
	for (unsigned done = 0; done < rounds; done += ROUNDS_PER_LOG)
		total += try_log(done / ROUNDS_PER_LOG, ROUNDS_PER_LOG);
	/* Else nothing was ever written before the kill. */
	assert_true(total > rounds);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_at_any_point),
	};
	struct timespec t;

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	clock_gettime(CLOCK_REALTIME, &t);
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)t.tv_nsec * 2654435761;
	fprintf(stderr, "# seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
