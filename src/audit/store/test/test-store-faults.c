/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that fails at every point it can: SQLite's own system calls are replaced by ones that
 * write half, write nothing, or do not sync, at the n-th call, for all n. Whatever fails, what was
 * acknowledged stays, the records that wait go in later, and the log verifies. The same with a
 * limit on the size of files, which the kernel enforces with short writes.
 */
#include "test/unit.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "audit/test/test-audit.h"
#include "audit/store/test/test-store-faults.h"
#include "base/array.h"

enum kind { SHORT_WRITE, NO_SPACE, WRITE_ERROR, NO_SYNC };

static struct {
	enum kind kind;
	unsigned countdown; /* 0: nothing fails */
	unsigned lasting;   /* how many calls fail then */
	unsigned hits;
} fault;

/* Is it this call's turn? */
static bool fails(bool sync)
{
	if (!fault.countdown || (fault.kind == NO_SYNC) != sync)
		return false;
	if (fault.countdown > 1) {
		fault.countdown--;
		return false;
	}
	fault.hits++;
	if (--fault.lasting == 0)
		fault.countdown = 0;
	return true;
}

static ssize_t faulty_pwrite(int fd, const void *data, size_t len, off_t at)
{
	if (!fails(false))
		return pwrite(fd, data, len, at);
	if (fault.kind == SHORT_WRITE)
		return pwrite(fd, data, len / 2 + 1, at);
	if (fault.kind == NO_SPACE) /* half of it went in before the disk was full */
		(void)!pwrite(fd, data, len / 2, at);
	errno = fault.kind == NO_SPACE ? ENOSPC : EIO;
	return -1;
}

__attribute__((visibility("default"))) int test_store_faults_sync(int fildes)
{
	if (!fails(true))
		return (int)syscall(SYS_fdatasync, fildes);
	errno = EIO;
	return -1;
}

static int setup(void **state)
{
	static const char *const names[] = { "pwrite64", "pwrite" };
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		(void)vfs->xSetSystemCall(vfs, names[i], (sqlite3_syscall_ptr)faulty_pwrite);
	return 0;
}

/* One commit after another with a fault somewhere; returns how many were acknowledged. */
static uint64_t write_through(struct audit_store *s, uint64_t commits, unsigned *ret_failed)
{
	uint64_t number = 1;

	for (uint64_t i = 0; i < commits; i++) {
		unsigned tries = 0;

		bench_add(s, number, 3);
		number += 3;
		while (audit_store_commit(s, NULL) < 0) {
			++*ret_failed;
			assert_true(++tries < 10);
		}
		assert_int_equal(audit_store_committed(s), number - 1);
	}
	return number - 1;
}

static unsigned run_fault(enum kind kind, unsigned at, unsigned lasting)
{
	struct bench *b = bench_new();
	struct audit_store *s;
	unsigned failed = 0, hits;
	uint64_t acknowledged;

	b->options.sign_records = 9;
	b->options.keep_records = 20;
	b->options.sync = AUDIT_SYNC_FULL;
	s = bench_open(b);
	fault = (typeof(fault)){ .kind = kind, .countdown = at, .lasting = lasting };
	acknowledged = write_through(s, 15, &failed);
	hits = fault.hits;
	fault.countdown = 0;
	bench_close(s);
	assert_int_equal(bench_verify(b).last, acknowledged);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	/* A writer finds it in order, too. */
	bench_fill(b, acknowledged + 1, 5);
	assert_int_equal(bench_verify(b).fault, AUDIT_FINE);
	/* A write that was only cut short is continued, all others are reported. */
	if (kind != SHORT_WRITE)
		assert_true(failed > 0 || hits == 0);
	bench_free(b);
	return hits;
}

static void every_call(enum kind kind)
{
	unsigned rounds = 0;

	for (unsigned at = 1; run_fault(kind, at, 1 + at % 3) > 0; at++)
		rounds++;
	/* Else the calls did not come here. */
	assert_true(rounds > 10);
}

static void short_writes(void **state)
{
	(void)state;
	every_call(SHORT_WRITE);
}

static void full_disks(void **state)
{
	(void)state;
	every_call(NO_SPACE);
}

static void write_errors(void **state)
{
	(void)state;
	every_call(WRITE_ERROR);
}

static void syncs_that_fail(void **state)
{
	(void)state;
	every_call(NO_SYNC);
}

/* While the disk is full, a batch fills up, and then nothing more is taken; nothing is lost. */
static void a_disk_that_stays_full(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s;
	char target[64];
	struct audit_event v;

	(void)state;
	b->options.batch = 5;
	s = bench_open(b);
	bench_add(s, 1, 7);
	fault = (typeof(fault)){ .kind = NO_SPACE, .countdown = 1, .lasting = UINT32_MAX };
	bench_add(s, 8, 2);
	for (int i = 0; i < 20; i++) {
		v = bench_event(10, target);
		assert_int_equal(audit_store_add(s, &v), -ENOSPC);
	}
	assert_int_equal(audit_store_committed(s), 5);
	fault.countdown = 0;
	bench_add(s, 10, 1);
	assert_int_equal(audit_store_committed(s), 10);
	bench_close(s);
	bench_fine(b, 10);
	bench_free(b);
}

/* Closing with a full disk says so; what was acknowledged is there afterwards. */
static void closing_fails(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s = bench_open(b);

	(void)state;
	bench_add(s, 1, 4);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	bench_add(s, 5, 4);
	fault = (typeof(fault)){ .kind = NO_SPACE, .countdown = 1, .lasting = UINT32_MAX };
	assert_int_equal(audit_store_close(s, NULL), -ENOSPC);
	fault.countdown = 0;
	bench_fine(b, 4);
	bench_fill(b, 5, 4);
	bench_fine(b, 8);
	bench_free(b);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The kernel's own limit: it cuts a write short at some odd byte, then refuses. */
static void a_limit_of_the_kernel(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t limit = 20000; limit < 90000; limit += 3333) {
		struct bench *b = bench_new();
		struct audit_store *s;
		uint64_t last = 0;

		b->options.batch = 8;
		s = bench_open(b);
		limit_files(limit);
		for (;;) {
			char target[64];
			struct audit_event v = bench_event(last + 1, target);

			if (audit_store_add(s, &v) < 0)
				break;
			last++;
			assert_true(last < 10000);
		}
		limit_files(RLIM_INFINITY);
		bench_add(s, last + 1, 20);
		bench_close(s);
		bench_fine(b, last + 20);
		bench_free(b);
	}
}

/* The second file cannot be written: records are acknowledged all the same, signing says so. */
static void no_second_file(void **state)
{
	struct bench *b = bench_new();
	struct audit_store *s;
	char folder[128], head[160];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/heads", b->folder);
	snprintf(head, sizeof(head), "%s/head", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	b->options.head_path = head;
	b->options.sign_records = 5;
	s = bench_open(b);
	assert_int_equal(unlink(head), 0);
	assert_int_equal(rmdir(folder), 0);
	bench_add(s, 1, 6);
	assert_int_equal(audit_store_commit(s, NULL), 0);
	assert_int_equal(audit_store_sign(s, NULL), -ENOENT);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(audit_store_sign(s, NULL), 0);
	assert_int_equal(access(head, F_OK), 0);
	bench_close(s);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_writes),
		cmocka_unit_test(full_disks),
		cmocka_unit_test(write_errors),
		cmocka_unit_test(syncs_that_fail),
		cmocka_unit_test(a_disk_that_stays_full),
		cmocka_unit_test(closing_fails),
		cmocka_unit_test(a_limit_of_the_kernel),
		cmocka_unit_test(no_second_file),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
