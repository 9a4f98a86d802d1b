/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers decide while writers replace the policy. Policy number n allows /n alone, so a decision
 * shows which policy made it; generations are handed out in the order of the swaps.
 */
#include "policy/test/test-policy.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/array.h"
#include "consent/policy-box.h"
#include "test/failing.h"

enum { READERS = 3, SWAPS = 2000, SLOTS = 64 };

static struct policy *policy_number(uint64_t n)
{
	struct permissions *p = permissions_new();
	const struct permissions *layer = p;
	struct policy *policy = NULL;
	char path[32];

	assert_non_null(p);
	(void)snprintf(path, sizeof(path), "/%llu", (unsigned long long)n);
	assert_int_equal(permissions_add(p, &p->fs_read, path, NULL), 0);
	assert_int_equal(policy_new(&policy, &layer, 1, NULL, NULL), 0);
	permissions_free(p);
	return policy;
}

static bool allows(const struct policy *p, uint64_t n)
{
	char path[32];
	const struct request r = { .op = OPERATION_FS_READ, .target = path };
	struct decision d;

	(void)snprintf(path, sizeof(path), "/%llu", (unsigned long long)n);
	return policy_decide(p, &r, &d) == 0 && d.verdict == VERDICT_ALLOW;
}

struct shared {
	struct policy_box *box;
	atomic_bool done;
	atomic_uint wrong;
	atomic_size_t decisions;
};

static void *read_policies(void *data)
{
	struct shared *s = data;
	uint64_t last = 0;
	size_t n = 0;

	while (!atomic_load(&s->done)) {
		struct policy_pin pin;

		policy_box_pin(s->box, &pin);
		/* It never goes back, and is what it says it is for as long as it is held. */
		if (pin.generation < last || !allows(pin.policy, pin.generation) ||
			allows(pin.policy, pin.generation + 1) ||
			!allows(pin.policy, pin.generation))
			atomic_fetch_add(&s->wrong, 1);
		last = pin.generation;
		policy_box_unpin(s->box, &pin);
		/* With fewer processors than threads, writers want their turn. */
		if (++n % 16 == 0)
			(void)sched_yield();
	}
	atomic_fetch_add(&s->decisions, n);
	return NULL;
}

static void test_one_writer(void **state)
{
	struct shared s = { .box = policy_box_new(policy_number(1)) };
	pthread_t readers[READERS];
	struct policy_pin pin;

	(void)state;
	assert_non_null(s.box);
	for (size_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_policies, &s), 0);
	for (uint64_t n = 2; n <= SWAPS; n++)
		assert_int_equal(policy_box_swap(s.box, policy_number(n)), n);
	atomic_store(&s.done, true);
	for (size_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(atomic_load(&s.wrong), 0);
	policy_box_pin(s.box, &pin);
	assert_int_equal(pin.generation, SWAPS);
	policy_box_unpin(s.box, &pin);
	policy_box_free(s.box);
	print_message(
		"# %zu pins while %d policies were swapped\n", atomic_load(&s.decisions), SWAPS);
}

struct writer {
	struct policy_box *box;
	uint64_t generations[200];
};

static void *write_policies(void *data)
{
	struct writer *w = data;

	for (size_t i = 0; i < ROWS(w->generations); i++)
		w->generations[i] = policy_box_swap(w->box, policy_number(0));
	return NULL;
}

/* Every swap has a generation of its own, and a writer's own ones grow. */
static void test_many_writers(void **state)
{
	struct policy_box *box = policy_box_new(policy_number(1));
	struct writer writers[3] = { { .box = box }, { .box = box }, { .box = box } };
	bool seen[ROWS(writers) * ROWS(writers[0].generations) + 2] = { false };
	pthread_t threads[ROWS(writers)];

	(void)state;
	for (size_t i = 0; i < ROWS(writers); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_policies, &writers[i]), 0);
	for (size_t i = 0; i < ROWS(writers); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (size_t i = 0; i < ROWS(writers); i++) {
		for (size_t k = 0; k < ROWS(writers[i].generations); k++) {
			uint64_t g = writers[i].generations[k];

			assert_in_range(g, 2, ROWS(seen) - 1);
			assert_false(seen[g]);
			seen[g] = true;
			assert_true(k == 0 || g > writers[i].generations[k - 1]);
		}
	}
	policy_box_free(box);
}

static void *swap_once(void *data)
{
	struct writer *w = data;

	w->generations[0] = policy_box_swap(w->box, policy_number(2));
	return NULL;
}

/* A swap waits for those who still hold the old policy, and they keep it. */
static void test_swap_waits(void **state)
{
	struct policy_box *box = policy_box_new(policy_number(1));
	struct writer w = { .box = box };
	struct policy_pin old, now;
	pthread_t thread;

	(void)state;
	policy_box_pin(box, &old);
	assert_int_equal(pthread_create(&thread, NULL, swap_once, &w), 0);
	do {
		policy_box_pin(box, &now);
		policy_box_unpin(box, &now);
	} while (now.generation == 1);
	assert_int_equal(now.generation, 2);
	assert_int_equal(old.generation, 1);
	assert_true(allows(old.policy, 1));
	policy_box_unpin(box, &old);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(w.generations[0], 2);
	policy_box_free(box);
}

static void *pin_and_unpin(void *data)
{
	struct shared *s = data;
	struct policy_pin pin;

	policy_box_pin(s->box, &pin);
	atomic_store(&s->done, true);
	policy_box_unpin(s->box, &pin);
	return NULL;
}

/* More readers than there are slots: the surplus one waits for a slot, not for ever. */
static void test_all_slots(void **state)
{
	struct shared s = { .box = policy_box_new(policy_number(1)) };
	struct policy_pin pins[SLOTS];
	pthread_t thread;

	(void)state;
	for (size_t i = 0; i < SLOTS; i++)
		policy_box_pin(s.box, &pins[i]);
	assert_int_equal(pthread_create(&thread, NULL, pin_and_unpin, &s), 0);
	for (int i = 0; i < 1000; i++) {
		(void)sched_yield();
		assert_false(atomic_load(&s.done));
	}
	policy_box_unpin(s.box, &pins[17]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&s.done));
	for (size_t i = 0; i < SLOTS; i++) {
		if (i != 17)
			policy_box_unpin(s.box, &pins[i]);
	}
	policy_box_free(s.box);
	policy_box_free(NULL);
}

FAILING_CALLOC
FAILING_MALLOC
FAILING_ALIGNED_ALLOC

/* A box without memory leaves the policies with those who had them. */
static void test_memory(void **state)
{
	struct policy_box *box = NULL;
	int failures = 0;

	(void)state;
	for (long n = 0; !box; n++, failures++) {
		struct policy *first = policy_number(1), *second = policy_number(2);

		failing_start(n);
		box = policy_box_new(first);
		if (!box)
			policy_free(first);
		if (!box || policy_box_swap(box, second) == 0) {
			policy_free(second);
			policy_box_free(box);
			box = NULL;
		}
		failing_stop();
	}
	assert_true(failures > 1);
	policy_box_free(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_writer),
		cmocka_unit_test(test_many_writers),
		cmocka_unit_test(test_swap_waits),
		cmocka_unit_test(test_all_slots),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("policy-box", tests, NULL, NULL);
}
