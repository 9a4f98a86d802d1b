/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that hang hold up no other caller's, and nothing is lost. */
#include "test/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/array.h"
#include "broker/monitor/pool.h"

enum { THREADS = 4, TURNS_MAX = 2000 };

struct job {
	struct pool_job job;
	sem_t *waits; /* NULL: it does not */
	bool began, is_done;
};

static struct loop *loop;
static struct pool *pool;
static sem_t begun, gate;

static void work(struct pool_job *j)
{
	struct job *k = container_of(j, struct job, job);

	k->began = true;
	assert_int_equal(sem_post(&begun), 0);
	if (k->waits)
		assert_int_equal(sem_wait(k->waits), 0);
}

static void done(struct pool_job *j)
{
	container_of(j, struct job, job)->is_done = true;
}

static void add(struct job *k, uint32_t caller, sem_t *waits)
{
	*k = (struct job){ .job = { .work = work, .done = done, .caller = caller },
		.waits = waits };
	assert_int_equal(pool_add(pool, &k->job), 0);
}

static void wait_for(const bool *done_flag)
{
	for (int i = 0; i < TURNS_MAX && !*done_flag; i++)
		assert_int_equal(loop_turn(loop, 5), 0);
	assert_true(*done_flag);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(sem_init(&begun, 0, 0), 0);
	assert_int_equal(sem_init(&gate, 0, 0), 0);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pool_new(&pool, loop, THREADS), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pool_free(pool);
	loop_free(loop);
	(void)sem_destroy(&begun);
	(void)sem_destroy(&gate);
	return 0;
}

/* One caller hangs in every job that it has; the next is served all the same. */
static void test_one_caller_hangs(void **state)
{
	struct job hanging[8], other;

	(void)state;
	for (size_t i = 0; i < ROWS(hanging); i++)
		add(&hanging[i], 7, &gate);
	for (int i = 0; i < THREADS / 2; i++)
		assert_int_equal(sem_wait(&begun), 0);
	for (int round = 0; round < 10; round++) {
		add(&other, 8, NULL);
		wait_for(&other.is_done);
	}
	for (size_t i = THREADS / 2; i < ROWS(hanging); i++)
		assert_false(hanging[i].began);
	for (size_t i = 0; i < ROWS(hanging); i++)
		assert_int_equal(sem_post(&gate), 0);
	for (size_t i = 0; i < ROWS(hanging); i++)
		wait_for(&hanging[i].is_done);
}

static void test_remove(void **state)
{
	struct job first[THREADS], late, more;

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		add(&first[i], 0, &gate);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(sem_wait(&begun), 0);
	add(&late, 1, NULL);
	add(&more, 2, NULL);
	assert_false(pool_remove(pool, &first[0].job));
	assert_true(pool_remove(pool, &late.job));
	assert_false(pool_remove(pool, &late.job));
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(sem_post(&gate), 0);
	wait_for(&more.is_done);
	for (size_t i = 0; i < THREADS; i++)
		wait_for(&first[i].is_done);
	assert_false(late.began || late.is_done);
}

static void test_hold(void **state)
{
	struct job k;

	(void)state;
	pool_hold(pool, true);
	add(&k, 1, NULL);
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(loop, 1), 0);
	assert_false(k.began);
	pool_hold(pool, false);
	wait_for(&k.is_done);
}

/* What was added is done, also if the pool ends. */
static void test_end(void **state)
{
	static struct job jobs[50];

	(void)state;
	pool_hold(pool, true);
	for (size_t i = 0; i < ROWS(jobs); i++)
		add(&jobs[i], (uint32_t)i % 3, NULL);
	pool_free(pool);
	for (size_t i = 0; i < ROWS(jobs); i++)
		assert_true(jobs[i].began && jobs[i].is_done);
	assert_int_equal(pool_new(&pool, loop, THREADS), 0);
}

static struct job owed, another, queued;
static sem_t never;

/* Time for pool_settle() to begin to wait; if it is not enough, the test passes as well. */
static void *open_gate(void *context)
{
	(void)context;
	(void)usleep(20000);
	assert_int_equal(sem_post(&gate), 0);
	assert_int_equal(sem_post(&never), 0);
	return NULL;
}

/* What is owed is done before the process ends: one that waits, and those that run. What hangs is
 * not waited for any longer. */
static void test_settle(void **state)
{
	pthread_t opener;

	(void)state;
	assert_int_equal(sem_init(&never, 0, 0), 0);
	pool_settle(pool, 60000);
	add(&another, 1, &never);
	owed = (struct job){ .job = { .work = work, .done = done, .is_owed = true },
		.waits = &gate };
	assert_int_equal(pool_add(pool, &owed.job), 0);
	assert_int_equal(sem_wait(&begun), 0);
	assert_int_equal(sem_wait(&begun), 0);
	pool_hold(pool, true);
	queued = (struct job){ .job = { .work = work, .done = done, .is_owed = true } };
	assert_int_equal(pool_add(pool, &queued.job), 0);
	/* One that hangs all the same. */
	pool_settle(pool, 1);
	assert_true(queued.is_done && !another.is_done);
	assert_int_equal(pthread_create(&opener, NULL, open_gate, NULL), 0);
	pool_settle(pool, 60000);
	assert_int_equal(sem_trywait(&gate), -1);
	assert_int_equal(sem_trywait(&never), -1);
	assert_int_equal(pthread_join(opener, NULL), 0);
	pool_hold(pool, false);
	wait_for(&owed.is_done);
	wait_for(&another.is_done);
	assert_int_equal(sem_destroy(&never), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_caller_hangs),
		TEST(test_remove),
		TEST(test_hold),
		TEST(test_end),
		TEST(test_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
