/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-store-crowd [ROUNDS [SEED]]: eight processes begin with the same log at the same moment,
 * which none of them has made yet, and write to it; some are killed (-9) at a point that nobody
 * chose. Each tells through a pipe what was acknowledged. That must be there, once, in its order,
 * and the log must verify at any moment. No round depends on when a kill comes.
 */
#include "test/unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "audit/test/test-audit.h"

enum { ROUNDS = 6, WRITERS = 8, RECORDS = 500, TRIES = 1000, PATIENCE_MS = 60000 };

static unsigned rounds = ROUNDS;
static uint64_t seed;

static unsigned pick(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

struct writer {
	uint32_t number;
	pid_t pid;
	int out; /* what it tells comes here */
	bool killed;
	uint64_t acknowledged;
	/* What the log has of it. */
	uint64_t stored;
	bool wrong;
};

struct crowd {
	struct bench *bench;
	bool without_lock; /* somebody removes the file of the lock again and again */
	struct writer writers[WRITERS];
};

/* A crowd without a lock gets in each other's way; it must be told so, and may try again. */
static int again(const struct crowd *c, int r, unsigned *tries)
{
	const struct timespec pause = { .tv_nsec = 200000 };

	if (r == 0 || !c->without_lock || ++*tries > TRIES)
		return 0;
	(void)nanosleep(&pause, NULL);
	return 1;
}

static struct audit_store *open_store(const struct crowd *c)
{
	enum { BUSY_MAX = 12 };
	struct audit_store *s = NULL;
	struct error e = { 0 };
	unsigned tries = 0, busy = 0;
	int r;

	/* Eight of them on a busy machine may have the lock for longer than one waits for it. */
	do
		r = audit_store_open(&s, &c->bench->options, &e);
	while ((r == -EBUSY && ++busy < BUSY_MAX) || again(c, r, &tries));
	if (r < 0) {
		fprintf(stderr, "# open: %s\n", e.text);
		_exit(1);
	}
	audit_store_patience(s, PATIENCE_MS);
	return s;
}

static void commit(const struct crowd *c, struct audit_store *s)
{
	struct error e = { 0 };
	unsigned tries = 0;
	int r;

	if (c->without_lock && pick(4) == 0) {
		char lock[128];

		snprintf(lock, sizeof(lock), "%s.lock", c->bench->path);
		(void)unlink(lock);
	}
	do
		r = pick(8) == 0 ? audit_store_sign(s, &e) : audit_store_commit(s, &e);
	while (again(c, r, &tries));
	if (r < 0) {
		fprintf(stderr, "# commit: %s\n", e.text);
		_exit(2);
	}
}

static void close_store(const struct crowd *c, struct audit_store *s)
{
	struct error e = { 0 };

	if (audit_store_close(s, &e) == 0 || c->without_lock)
		return;
	fprintf(stderr, "# close: %s\n", e.text);
	_exit(3);
}

static void add(const struct crowd *c, struct audit_store *s, uint32_t who, uint64_t sequence)
{
	char target[64];
	struct audit_event v = bench_event(sequence, target);
	unsigned tries = 0;
	int r;

	v.pid = who;
	do
		r = audit_store_add(s, &v);
	while (again(c, r, &tries));
	if (r < 0)
		_exit(4);
}

static void write_records(const struct crowd *c, uint32_t who, int out)
{
	struct audit_store *s = open_store(c);
	uint64_t number = 0;

	while (number < RECORDS) {
		for (unsigned n = 1 + pick(30); n > 0 && number < RECORDS; n--)
			add(c, s, who, ++number);
		commit(c, s);
		if (write(out, &number, sizeof(number)) != sizeof(number))
			_exit(5);
		/* Everything is committed, so a close that could not sign loses nothing. */
		if (pick(10) == 0) {
			close_store(c, s);
			s = open_store(c);
		}
	}
	close_store(c, s);
	_exit(0);
}

/* Nobody begins before `start` is closed by the parent. */
static void start_writer(struct crowd *c, uint32_t i, int start, int others)
{
	int fds[2];
	char byte;

	assert_int_equal(pipe(fds), 0);
	(void)pick(2); /* each has another way */
	c->writers[i] = (struct writer){ .number = i, .out = fds[0], .pid = fork() };
	assert_true(c->writers[i].pid >= 0);
	if (c->writers[i].pid == 0) {
		(void)close(others);
		(void)!read(start, &byte, 1);
		write_records(c, i, fds[1]);
	}
	assert_int_equal(close(fds[1]), 0);
}

static void wait_for_news(const struct writer *w)
{
	struct pollfd p = { .fd = w->out, .events = POLLIN };

	assert_true(poll(&p, 1, 60000) == 1);
}

static void kill_some(struct crowd *c)
{
	for (unsigned i = 0; i < WRITERS; i += 2) {
		const struct timespec t = { .tv_nsec = (long)pick(5000000) };

		if (pick(2))
			wait_for_news(&c->writers[i]);
		(void)nanosleep(&t, NULL);
		assert_int_equal(kill(c->writers[i].pid, SIGKILL), 0);
		c->writers[i].killed = true;
	}
}

static void finish(struct writer *w)
{
	uint64_t number;
	int status;

	while (read(w->out, &number, sizeof(number)) == sizeof(number))
		w->acknowledged = number;
	assert_int_equal(close(w->out), 0);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	if (!w->killed && status != 0)
		fail_msg("writer %u ended with %x", w->number, (unsigned)status);
	if (!w->killed)
		assert_int_equal(w->acknowledged, RECORDS);
}

static int see(void *context, const struct audit_row *row)
{
	struct crowd *c = context;
	struct writer *w;

	if (row->event.pid >= WRITERS)
		return 1;
	w = &c->writers[row->event.pid];
	w->wrong |= row->event.sequence != ++w->stored;
	return 0;
}

static void check_stored(struct crowd *c)
{
	const struct audit_query everything = { .action = -1, .decision = -1 };
	struct audit_log *l = NULL;

	assert_int_equal(audit_log_open(&l, c->bench->path, NULL), 0);
	assert_int_equal(audit_log_read(l, &everything, see, c, NULL), 0);
	audit_log_close(l);
	for (unsigned i = 0; i < WRITERS; i++) {
		assert_false(c->writers[i].wrong);
		assert_true(c->writers[i].stored >= c->writers[i].acknowledged);
	}
}

static void expect_fine(struct bench *b)
{
	const struct audit_verdict v = bench_verify(b);

	if (v.fault != AUDIT_FINE)
		fail_msg("%s at %d: %s", audit_fault_name(v.fault), (int)v.number, v.text);
}

static void run_crowd(bool without_lock)
{
	struct crowd c = { .bench = bench_new(), .without_lock = without_lock };
	struct audit_store *s;
	int start[2];

	c.bench->options.batch = 1 + pick(64);
	c.bench->options.sign_records = 200;
	c.bench->options.sync = pick(3) ? AUDIT_SYNC_NORMAL : AUDIT_SYNC_FULL;
	assert_int_equal(pipe(start), 0);
	for (uint32_t i = 0; i < WRITERS; i++)
		start_writer(&c, i, start[0], start[1]);
	assert_int_equal(close(start[0]), 0);
	assert_int_equal(close(start[1]), 0);
	wait_for_news(&c.writers[1]);
	expect_fine(c.bench);
	kill_some(&c);
	expect_fine(c.bench);
	for (unsigned i = 0; i < WRITERS; i++)
		finish(&c.writers[i]);
	check_stored(&c);
	expect_fine(c.bench);
	/* The next one finds it in order, too, and signs what is left. */
	s = bench_open(c.bench);
	bench_close(s);
	assert_int_equal(bench_verify(c.bench).signed_up_to, bench_verify(c.bench).last);
	bench_free(c.bench);
}

static void all_at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rounds; i++)
		run_crowd(false);
}

/* The chain does not fork even then: numbers are unique. */
static void without_a_lock(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rounds; i++)
		run_crowd(true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(without_a_lock),
	};
	struct timespec t;

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	clock_gettime(CLOCK_REALTIME, &t);
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)t.tv_nsec * 2654435761;
	fprintf(stderr, "# seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
