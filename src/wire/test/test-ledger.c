/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/ledger.h"

enum { NOW = 1000 * 1000 };

/* Two mappings of one, as two processes have them. */
struct both {
	struct ledger *a, *b;
	int fd;
};

static void set_up(struct both *l)
{
	assert_int_equal(ledger_new(&l->a, &l->fd), 0);
	assert_int_equal(ledger_open(&l->b, l->fd), 0);
	assert_ptr_not_equal(l->a, l->b);
}

static void tear_down(struct both *l)
{
	ledger_free(l->a);
	ledger_free(l->b);
	fd_close(&l->fd);
}

static void test_commands(void **state)
{
	const struct ledger_use mine = { .memory = 100, .tasks = 3 },
				theirs = { .memory = UINT64_MAX, .tasks = 4 };
	struct ledger_use use;
	struct both l;
	int one, other;

	(void)state;
	set_up(&l);
	one = ledger_join(l.a, NOW);
	other = ledger_join(l.b, NOW);
	assert_true(one >= 0 && other >= 0 && one != other);
	ledger_write(l.a, one, &mine, NOW);
	use = ledger_others(l.b, other, NOW);
	assert_true(use.memory == 100 && use.tasks == 3);
	use = ledger_others(l.b, one, NOW);
	assert_true(use.memory == 0 && use.tasks == 0);
	/* Who came first gives way to none. */
	assert_true(ledger_before(l.b, other, NOW).memory == 100);
	assert_true(ledger_before(l.b, -1, NOW).memory == 100);
	/* A sum never starts anew. */
	ledger_write(l.b, other, &theirs, NOW);
	assert_true(ledger_before(l.a, one, NOW).memory == 0);
	use = ledger_others(l.a, -1, NOW);
	assert_true(use.memory == UINT64_MAX && use.tasks == 7);
	ledger_leave(l.b, other);
	use = ledger_others(l.a, -1, NOW);
	assert_true(use.memory == 100);
	tear_down(&l);
}

/* Who was killed does not count for ever, and its place is another's. */
static void test_stale(void **state)
{
	const struct ledger_use much = { .memory = 1 << 30, .tasks = 100 };
	struct both l;
	int place;

	(void)state;
	set_up(&l);
	for (int i = 0; i < LEDGER_COMMANDS_MAX; i++)
		ledger_write(l.a, ledger_join(l.a, NOW), &much, NOW);
	assert_int_equal(ledger_join(l.b, NOW + LEDGER_STALE_MS), -ENOSPC);
	assert_true(
		ledger_others(l.b, -1, NOW + LEDGER_STALE_MS).tasks == 100 * LEDGER_COMMANDS_MAX);
	assert_true(ledger_others(l.b, -1, NOW + LEDGER_STALE_MS + 1).tasks == 0);
	place = ledger_join(l.b, NOW + LEDGER_STALE_MS + 1);
	assert_true(place >= 0);
	/* What was written there before is not the next one's. */
	assert_true(ledger_others(l.a, -1, NOW + LEDGER_STALE_MS + 1).memory == 0);
	tear_down(&l);
}

static void test_limits(void **state)
{
	const struct ledger_use most = { .memory = 5, .tasks = 6 };
	struct both l;

	(void)state;
	set_up(&l);
	assert_true(ledger_limits(l.b).memory == 0 && ledger_limits(l.b).tasks == 0);
	ledger_limit(l.a, &most);
	assert_true(ledger_limits(l.b).memory == 5 && ledger_limits(l.b).tasks == 6);
	tear_down(&l);
}

static void test_windows(void **state)
{
	struct ledger_window *first;
	struct both l;

	(void)state;
	set_up(&l);
	first = ledger_window(l.a, 61);
	assert_non_null(first);
	atomic_store(&first->cells[7], 9);
	assert_true(atomic_load(&ledger_window(l.b, 61)->cells[7]) == 9);
	for (uint64_t i = 1; i < LEDGER_WINDOWS_MAX; i++)
		assert_non_null(ledger_window(l.b, 61 + i));
	assert_null(ledger_window(l.a, 1));
	assert_ptr_equal(ledger_window(l.a, 61), first);
	tear_down(&l);
}

static void test_destinations(void **state)
{
	char target[32];
	struct both l;

	(void)state;
	set_up(&l);
	for (uint64_t i = 0; i < LEDGER_DESTINATIONS_MAX; i++) {
		(void)snprintf(target, sizeof(target), "n%" PRIu64 ":1", i);
		atomic_store(ledger_bytes(l.a, target), i);
	}
	assert_null(ledger_bytes(l.b, "more:1"));
	for (uint64_t i = 0; i < LEDGER_DESTINATIONS_MAX; i++) {
		(void)snprintf(target, sizeof(target), "n%" PRIu64 ":1", i);
		assert_true(atomic_load(ledger_bytes(l.b, target)) == i);
	}
	tear_down(&l);
}

/* Several processes at once: nothing is lost, and no destination is there twice. */
static void test_processes(void **state)
{
	enum { CHILDREN = 4, TIMES = 20000, TARGETS = 16 };
	uint64_t sum = 0;
	char target[32];
	struct both l;

	(void)state;
	set_up(&l);
	for (int c = 0; c < CHILDREN; c++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		for (int i = 0; pid == 0 && i < TIMES; i++) {
			(void)snprintf(target, sizeof(target), "n%d:1", i % TARGETS);
			(void)atomic_fetch_add(ledger_bytes(l.b, target), 1);
		}
		if (pid == 0)
			_exit(0);
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < TARGETS; i++) {
		(void)snprintf(target, sizeof(target), "n%d:1", i);
		sum += atomic_load(ledger_bytes(l.a, target));
	}
	assert_true(sum == CHILDREN * TIMES);
	tear_down(&l);
}

/* Only what cannot shrink under whoever maps it. */
static void test_foreign(void **state)
{
	struct ledger *l = NULL;
	auto_fd open = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	auto_fd null = open < 0 ? -1 : openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_true(open >= 0 && null >= 0);
	assert_int_equal(ftruncate(open, 64 << 20), 0);
	assert_int_equal(ledger_open(&l, open), -EPROTO);
	assert_int_equal(fcntl(open, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	assert_int_equal(ledger_open(&l, open), -EPROTO);
	assert_int_equal(ledger_open(&l, null), -EPROTO);
	assert_int_equal(ledger_open(&l, -1), -EPROTO);
	ledger_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
