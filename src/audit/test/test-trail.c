/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is added is in the ring and, sooner or later, in the store: once, in its order, without
 * secrets. Time moves only where a test says so; threads are real.
 */
#include "test/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>

#include "audit/test/test-audit.h"
#include "audit/trail.h"
#include "base/array.h"

enum { THREADS = 4, EVENTS = 4000, SLOTS = AUDIT_RING_LEAST / 512, LONG = 3000 };

/* The linker sends questions for the time here (--wrap). */
static _Atomic int64_t now_ms;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, t);
	*t = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
	return 0;
}

/* How long was asked to sleep, in all. Where only the test itself could end what is waited for, it
 * is counted and not slept. */
static _Atomic uint64_t slept_ns;
static bool sleep_is_counted;

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	slept_ns += (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
	return sleep_is_counted ? 0 : __real_nanosleep(time, left);
}

/* A thread that is interrupted in the middle of an event, which is too long for its slot. */
static _Atomic int stalling; /* 1: the next one shall; 2: it does; 0: go on */

size_t __real_audit_event_pack(const struct audit_event *e, void *out, size_t room);
size_t __wrap_audit_event_pack(const struct audit_event *e, void *out, size_t room);
size_t __wrap_audit_event_pack(const struct audit_event *e, void *out, size_t room)
{
	int wanted = 1;

	if (room < AUDIT_EVENT_MAX && atomic_compare_exchange_strong(&stalling, &wanted, 2)) {
		while (stalling == 2)
			(void)usleep(100);
	}
	return __real_audit_event_pack(e, out, room);
}

static int reset_time(void **state)
{
	(void)state;
	now_ms = 1000000;
	sleep_is_counted = false;
	return 0;
}

static struct audit_trail *open_trail(struct bench *b, size_t ring_bytes)
{
	const struct audit_trail_options o = { .ring_bytes = ring_bytes,
		.store = b ? &b->options : NULL,
		.session = "s-1",
		.sandbox = "box" };
	struct audit_trail *t = NULL;
	struct error e = { 0 };

	if (audit_trail_new(&t, &o, &e) < 0)
		fail_msg("%s", e.text);
	return t;
}

static void close_trail(struct audit_trail *t)
{
	struct error e = { 0 };

	if (audit_trail_close(t, &e) < 0)
		fail_msg("%s", e.text);
}

static uint64_t add(struct audit_trail *t, const char *target)
{
	const struct audit_event e = { .action = AUDIT_FS_READ, .target = target };

	return audit_trail_add(t, &e);
}

static uint64_t stored(struct bench *b)
{
	struct audit_log *l = NULL;
	uint64_t first, last;

	assert_int_equal(audit_log_open(&l, b->path, NULL), 0);
	assert_int_equal(audit_log_range(l, &first, &last, NULL), 0);
	audit_log_close(l);
	return last;
}

static void visit(struct bench *b, audit_log_visit *visitor, void *context)
{
	const struct audit_query q = { .action = -1, .decision = -1 };
	struct audit_log *l = NULL;
	struct error e = { 0 };

	if (audit_log_open(&l, b->path, &e) < 0 || audit_log_read(l, &q, visitor, context, &e) < 0)
		fail_msg("%s", e.text);
	audit_log_close(l);
}

static void what_is_missing_is_filled_in(void **state)
{
	struct audit_trail *t = open_trail(NULL, 0);
	const struct audit_event plain = { .action = AUDIT_SERVICE }, own = { .time_ns = 7,
		.sequence = 9,
		.session = "own",
		.user = "u",
		.sandbox = "other",
		.program = "p",
		.action = AUDIT_EXEC,
		.count = 3 };
	struct audit_reader reader = { 0 };
	char buffer[AUDIT_EVENT_MAX], user[32];
	struct audit_event e;

	(void)state;
	snprintf(user, sizeof(user), "%lu", (unsigned long)geteuid());
	assert_int_equal(audit_trail_add(t, &plain), 1);
	assert_int_equal(audit_trail_add(t, &own), 2);
	assert_int_equal(audit_trail_add(t, &plain), 3);
	assert_int_equal(audit_ring_read(audit_trail_ring(t), &reader, &e, buffer), 1);
	assert_true(e.time_ns > UINT64_C(1700000000000000000) && e.sequence == 1 && e.count == 1);
	assert_string_equal(e.session, "s-1");
	assert_string_equal(e.user, user);
	assert_string_equal(e.sandbox, "box");
	assert_string_equal(e.target, "");
	assert_int_equal(audit_ring_read(audit_trail_ring(t), &reader, &e, buffer), 1);
	assert_true(e.time_ns == 7 && e.sequence == 9 && e.count == 3);
	assert_string_equal(e.session, "own");
	assert_string_equal(e.user, "u");
	assert_string_equal(e.sandbox, "other");
	assert_int_equal(audit_ring_read(audit_trail_ring(t), &reader, &e, buffer), 1);
	assert_int_equal(e.sequence, 2);
	/* Without a store there is nothing to wait for. */
	assert_int_equal(audit_trail_wait_ms(t), -1);
	assert_int_equal(audit_trail_tick(t, NULL), 0);
	assert_int_equal(audit_trail_flush(t, NULL), 0);
	close_trail(t);
}

static void no_event(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, 0);
	const struct audit_event none = { .action = AUDIT_ACTION_COUNT };

	(void)state;
	assert_int_equal(audit_trail_add(t, &none), 0);
	close_trail(t);
	bench_fine(b, 0);
	bench_free(b);
}

static void a_full_batch(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;

	(void)state;
	b->options.batch = 10;
	t = open_trail(b, 0);
	for (unsigned i = 0; i < 9; i++)
		(void)add(t, "/x");
	assert_int_equal(stored(b), 0);
	(void)add(t, "/x");
	assert_int_equal(stored(b), 10);
	for (unsigned i = 0; i < 25; i++)
		(void)add(t, "/x");
	assert_int_equal(stored(b), 30);
	assert_int_equal(audit_trail_flush(t, NULL), 0);
	assert_int_equal(stored(b), 35);
	(void)add(t, "/x");
	close_trail(t);
	bench_fine(b, 36);
	bench_free(b);
}

static void time_ends_a_batch(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;

	(void)state;
	b->options.batch_ms = 20;
	b->options.sign_seconds = 10;
	t = open_trail(b, 0);
	assert_int_equal(audit_trail_wait_ms(t), -1);
	(void)add(t, "/1");
	now_ms += 15;
	(void)add(t, "/2");
	assert_int_equal(audit_trail_wait_ms(t), 5);
	assert_int_equal(audit_trail_tick(t, NULL), 0);
	assert_int_equal(stored(b), 0);
	now_ms += 5;
	assert_int_equal(audit_trail_wait_ms(t), 0);
	assert_int_equal(audit_trail_tick(t, NULL), 0);
	assert_int_equal(stored(b), 2);
	/* The next thing is a head. */
	assert_int_equal(audit_trail_wait_ms(t), 10 * 1000 - 20);
	(void)add(t, "/3");
	assert_int_equal(audit_trail_wait_ms(t), 20);
	/* Who adds looks at the time, too. */
	now_ms += 20;
	(void)add(t, "/4");
	assert_int_equal(stored(b), 4);
	now_ms += 10 * 1000;
	assert_int_equal(audit_trail_wait_ms(t), 0);
	assert_int_equal(audit_trail_tick(t, NULL), 0);
	assert_int_equal(audit_trail_wait_ms(t), -1);
	assert_int_equal(bench_verify(b).signed_up_to, 4);
	close_trail(t);
	bench_free(b);
}

/* What threads wrote: each its own events in their order, all of them. */
struct tally {
	unsigned next[THREADS];
	uint64_t n, lost;
	bool wrong;
};

static int count_row(void *context, const struct audit_row *row)
{
	struct tally *tally = context;
	const uint32_t thread = row->event.pid;
	char want[64];

	if (row->event.action == AUDIT_STORE) {
		tally->lost += row->event.count;
		return 0;
	}
	tally->n++;
	if (thread >= THREADS)
		return 1;
	snprintf(want, sizeof(want), "/%u", tally->next[thread]++);
	tally->wrong |= strcmp(row->event.target, want) != 0;
	return 0;
}

struct writer {
	struct audit_trail *trail;
	uint32_t number;
	pthread_t thread;
};

static void *write_events(void *context)
{
	struct writer *w = context;

	for (unsigned i = 0; i < EVENTS; i++) {
		char target[64];
		const struct audit_event e = {
			.action = AUDIT_FS_READ, .pid = w->number, .target = target
		};

		snprintf(target, sizeof(target), "/%u", i);
		(void)audit_trail_add(w->trail, &e);
		if (i % 1000 == 999)
			(void)audit_trail_flush(w->trail, NULL);
	}
	return NULL;
}

static void write_by_threads(struct audit_trail *t)
{
	struct writer writers[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){ .trail = t, .number = i };
		assert_int_equal(
			pthread_create(&writers[i].thread, NULL, write_events, &writers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
}

/* The ring is much smaller than what they write, so it would run over if nobody waited. */
static void threads_lose_nothing(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, AUDIT_RING_LEAST);
	struct tally tally = { 0 };

	(void)state;
	write_by_threads(t);
	assert_int_equal(audit_trail_lost(t), 0);
	close_trail(t);
	visit(b, count_row, &tally);
	assert_int_equal(tally.n, THREADS * EVENTS);
	assert_int_equal(tally.lost, 0);
	assert_false(tally.wrong);
	bench_fine(b, THREADS * EVENTS);
	bench_free(b);
}

static void *add_long(void *trail)
{
	char target[LONG + 1];

	memset(target, 'x', LONG);
	target[LONG] = '\0';
	(void)add(trail, target);
	return NULL;
}

/* Lets it go on when nobody else does any more. */
static void *wake(void *trail)
{
	uint64_t before = UINT64_MAX, count = 0;

	while (count != before) {
		before = count;
		(void)usleep(20000);
		count = audit_ring_count(audit_trail_ring(trail));
	}
	stalling = 0;
	return NULL;
}

static int find_long(void *context, const struct audit_row *row)
{
	*(unsigned *)context += strlen(row->event.target) == LONG;
	return 0;
}

/* Its event is not lost, though the others could have gone round the ring many times. */
static void a_thread_that_is_interrupted(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, AUDIT_RING_LEAST);
	pthread_t stalled, waker;
	unsigned found = 0;

	(void)state;
	stalling = 1;
	assert_int_equal(pthread_create(&stalled, NULL, add_long, t), 0);
	while (stalling != 2)
		(void)usleep(100);
	assert_int_equal(pthread_create(&waker, NULL, wake, t), 0);
	for (unsigned i = 0; i < 20 * SLOTS; i++)
		(void)add(t, "/x");
	assert_int_equal(pthread_join(waker, NULL), 0);
	assert_int_equal(pthread_join(stalled, NULL), 0);
	assert_int_equal(audit_trail_flush(t, NULL), 0);
	assert_int_equal(audit_trail_lost(t), 0);
	close_trail(t);
	visit(b, find_long, &found);
	assert_int_equal(found, 1);
	bench_fine(b, 20 * SLOTS + 1);
	bench_free(b);
}

/* As another process does, until unlock_log(). A sleep could not end with the lock before that, so
 * sleeps are only counted. */
static int lock_log(const struct bench *b)
{
	char lock[128];
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", b->path);
	fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	sleep_is_counted = true;
	return fd;
}

static void unlock_log(int fd)
{
	assert_int_equal(close(fd), 0);
	sleep_is_counted = false;
}

/* Another process has the log and does not let go: nobody is held up for long, and what fits into
 * memory is there later. */
static void others_have_the_log(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;
	int fd;

	(void)state;
	b->options.batch = 8;
	t = open_trail(b, AUDIT_RING_LEAST);
	fd = lock_log(b);
	for (unsigned i = 0; i < 50; i++)
		(void)add(t, "/x");
	/* That is no failure yet. */
	assert_int_equal(audit_trail_failure(t), 0);
	assert_true(audit_trail_wait_ms(t) > 0);
	for (unsigned i = 50; i < 10 * SLOTS; i++)
		(void)add(t, "/x");
	assert_int_equal(audit_trail_failure(t), -EBUSY);
	assert_int_equal(stored(b), 0);
	unlock_log(fd);
	assert_int_equal(audit_trail_flush(t, NULL), -EOVERFLOW);
	assert_true(audit_trail_lost(t) > 0);
	assert_true(stored(b) >= SLOTS);
	close_trail(t);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	bench_free(b);
}

/* Who ends waits for them once, not for each try, and not again to close. */
static void others_have_the_log_at_the_end(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;
	struct error e = { 0 };
	int fd;

	(void)state;
	b->options.batch_ms = 20;
	t = open_trail(b, 0);
	fd = lock_log(b);
	for (unsigned i = 0; i < 5; i++) {
		(void)add(t, "/x");
		now_ms += 1000;
	}
	slept_ns = 0;
	assert_int_equal(audit_trail_flush(t, &e), -EBUSY);
	assert_non_null(strstr(e.text, "locked by another process"));
	assert_true(audit_trail_close(t, NULL) < 0);
	assert_true(slept_ns < UINT64_C(6000000000));
	unlock_log(fd);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	bench_free(b);
}

/* As long as the options say. */
static void others_have_the_log_for_long(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;
	int fd;

	(void)state;
	b->options.patience_ms = 6000;
	t = open_trail(b, 0);
	fd = lock_log(b);
	(void)add(t, "/x");
	slept_ns = 0;
	assert_int_equal(audit_trail_flush(t, NULL), -EBUSY);
	assert_in_range(slept_ns, UINT64_C(5500000000), UINT64_C(6500000000));
	unlock_log(fd);
	assert_int_equal(audit_trail_flush(t, NULL), 0);
	close_trail(t);
	bench_free(b);
}

/* Who closes without a flush before it waits for them once, too. */
static void others_have_the_log_while_it_closes(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, 0);
	int fd;

	(void)state;
	fd = lock_log(b);
	(void)add(t, "/x");
	slept_ns = 0;
	assert_int_equal(audit_trail_close(t, NULL), -EBUSY);
	assert_true(slept_ns < UINT64_C(6000000000));
	unlock_log(fd);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	bench_free(b);
}

/* Who has a loop waits for a moment, and after that in vain not at all for a while. */
static void others_have_the_log_of_a_loop(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;
	struct error e = { 0 };
	int fd;

	(void)state;
	t = open_trail(b, 0);
	fd = lock_log(b);
	/* Nothing waits for its commit. */
	assert_int_equal(audit_trail_try_flush(t, &e), 0);
	(void)add(t, "/x");
	slept_ns = 0;
	assert_int_equal(audit_trail_try_flush(t, &e), -EBUSY);
	assert_true(slept_ns < UINT64_C(200000000));
	slept_ns = 0;
	assert_int_equal(audit_trail_try_flush(t, &e), -EBUSY);
	assert_int_equal(slept_ns, 0);
	unlock_log(fd);
	now_ms += 1000;
	assert_int_equal(audit_trail_try_flush(t, &e), 0);
	assert_int_equal(stored(b), 1);
	close_trail(t);
	bench_free(b);
}

static int check_long(void *context, const struct audit_row *row)
{
	uint64_t *n = context;

	(*n)++;
	return strlen(row->event.target) != LONG;
}

/* They go round the smaller ring for long ones long before the slots are full. */
static void long_events_are_stored_whole(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, AUDIT_RING_LEAST);
	char target[LONG + 1];
	uint64_t n = 0;

	(void)state;
	memset(target, 'x', LONG);
	target[LONG] = '\0';
	for (unsigned i = 0; i < 60; i++)
		(void)add(t, target);
	close_trail(t);
	visit(b, check_long, &n);
	assert_int_equal(n, 60);
	bench_free(b);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Nobody who adds is held up, what fits into memory goes in later, the rest is counted. */
static void a_full_disk(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t;
	struct tally tally = { .next = { 0 } };
	struct error e = { 0 };
	uint64_t added = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	b->options.batch = 8;
	t = open_trail(b, AUDIT_RING_LEAST);
	limit_files(40000);
	for (; !audit_trail_failure(t) && added < 10000; added++)
		assert_true(add(t, "/x") > 0);
	assert_true(audit_trail_failure(t) < 0);
	assert_true(audit_trail_flush(t, &e) < 0);
	assert_true(e.text[0]);
	assert_true(audit_trail_wait_ms(t) > 0);
	for (unsigned i = 0; i < 10 * SLOTS; i++, added++)
		assert_true(add(t, "/x") > 0);
	now_ms += 10000;
	assert_true(audit_trail_tick(t, &e) < 0);
	assert_true(audit_trail_lost(t) > 0);
	limit_files(RLIM_INFINITY);
	/* It works again, and says that something is missing: once. */
	assert_int_equal(audit_trail_flush(t, &e), -EOVERFLOW);
	assert_int_equal(audit_trail_failure(t), 0);
	assert_int_equal(audit_trail_flush(t, &e), 0);
	close_trail(t);
	visit(b, count_row, &tally);
	assert_true(tally.lost > 0);
	assert_int_equal(tally.n + tally.lost, added);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	bench_free(b);
}

static void closing_tells(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, 0);
	struct error e = { 0 };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	limit_files(1000);
	(void)add(t, "/x");
	assert_true(audit_trail_close(t, &e) < 0);
	assert_true(e.text[0]);
	limit_files(RLIM_INFINITY);
	bench_fine(b, 0);
	bench_free(b);
}

static void expect_nowhere(const char *path, const char *secret)
{
	auto_buffer b = { 0 };

	if (file_read(path, 1 << 30, &b) == 0)
		assert_null(memmem(buffer_text(&b), b.len, secret, strlen(secret)));
}

static const char canary[] = "kanarienvogel-4711";

static void *tell_secrets(void *context)
{
	struct audit_trail *t = context;

	for (unsigned i = 0; i < 200; i++) {
		char value[64];

		snprintf(value, sizeof(value), "value-%u-of-a-variable", i);
		if (audit_trail_secret(t, "SOME", value) < 0)
			return t;
	}
	return NULL;
}

/* While others learn of new secrets, a known one does not get through. */
static void secrets_stay_out(void **state)
{
	struct bench *b = bench_new();
	struct audit_trail *t = open_trail(b, 0);
	char target[128], path[128];
	pthread_t other;
	void *failed;

	(void)state;
	assert_int_equal(audit_trail_secret(t, "CANARY", canary), 0);
	assert_int_equal(audit_trail_secret(t, NULL, "another-canary"), 0);
	assert_int_equal(pthread_create(&other, NULL, tell_secrets, t), 0);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(target, sizeof(target), "/%u/%s/another-canary", i, canary);
		(void)add(t, target);
	}
	assert_int_equal(pthread_join(other, &failed), 0);
	assert_null(failed);
	(void)add(t, "https://user:4711-geheim@example.com/?token=sesam-offen");
	(void)add(t, "value-199-of-a-variable");
	assert_int_equal(audit_trail_flush(t, NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		static const char *const secrets[] = { canary, "another-canary", "4711-geheim",
			"sesam-offen", "value-199" };

		snprintf(path, sizeof(path), "%s%s", b->path, i ? "-wal" : "");
		for (size_t k = 0; k < ROWS(secrets); k++)
			expect_nowhere(path, secrets[k]);
	}
	close_trail(t);
	expect_nowhere(b->path, canary);
	bench_fine(b, 2002);
	bench_free(b);
}

/* What is added again and again takes no room from others. */
static void secrets_that_are_known(void **state)
{
	struct audit_trail *t = open_trail(NULL, 0);
	char value[32];

	(void)state;
	for (unsigned i = 0; i < 2 * REDACTOR_VALUES_MAX; i++)
		assert_int_equal(audit_trail_secret(t, "CANARY", canary), 0);
	for (unsigned i = 1; i < REDACTOR_VALUES_MAX; i++) {
		snprintf(value, sizeof(value), "value-%u", i);
		assert_int_equal(audit_trail_secret(t, "SOME", value), 0);
	}
	assert_int_equal(audit_trail_secret(t, "SOME", "one too many"), -E2BIG);
	assert_int_equal(audit_trail_secret(t, "SOME", value), 0);
	assert_int_equal(audit_trail_secret(t, "PATH", "/usr/bin"), 0);
	close_trail(t);
}

static void a_store_that_cannot_be(void **state)
{
	struct bench *b = bench_new();
	const struct audit_trail_options o = { .store = &b->options };
	struct audit_trail *t = NULL;
	struct error e = { 0 };

	(void)state;
	/* A folder is in its place. */
	assert_int_equal(mkdir(b->path, 0700), 0);
	assert_true(audit_trail_new(&t, &o, &e) < 0);
	assert_null(t);
	assert_true(e.text[0]);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_missing_is_filled_in, reset_time),
		cmocka_unit_test_setup(no_event, reset_time),
		cmocka_unit_test_setup(a_full_batch, reset_time),
		cmocka_unit_test_setup(time_ends_a_batch, reset_time),
		cmocka_unit_test_setup(threads_lose_nothing, reset_time),
		cmocka_unit_test_setup(a_thread_that_is_interrupted, reset_time),
		cmocka_unit_test_setup(others_have_the_log, reset_time),
		cmocka_unit_test_setup(others_have_the_log_at_the_end, reset_time),
		cmocka_unit_test_setup(others_have_the_log_for_long, reset_time),
		cmocka_unit_test_setup(others_have_the_log_while_it_closes, reset_time),
		cmocka_unit_test_setup(others_have_the_log_of_a_loop, reset_time),
		cmocka_unit_test_setup(long_events_are_stored_whole, reset_time),
		cmocka_unit_test_setup(a_full_disk, reset_time),
		cmocka_unit_test_setup(closing_tells, reset_time),
		cmocka_unit_test_setup(secrets_stay_out, reset_time),
		cmocka_unit_test_setup(secrets_that_are_known, reset_time),
		cmocka_unit_test_setup(a_store_that_cannot_be, reset_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
