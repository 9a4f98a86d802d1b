/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads use an enclave while one changes it. What must hold: a call that begins when a
 * change has returned is judged by what that change made. The writer counts its steps; a call that
 * saw the same count before and after itself, at rest, has one right outcome.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/enclave/test/test-common.h"
#include "lib/sandbox/test/test-common.h"

enum { THREADS = 8, CHANGES = 1000, SHELL_CHANGES = 40 };

/* The count: 4n: granted and at rest; 4n + 1: is being revoked; 4n + 2: revoked; 4n + 3. */
struct shared {
	struct corral_enclave *enclave;
	atomic_uint step;
	atomic_bool done;
	atomic_uint wrong, allowed, denied, certain;
	char path[256], pattern[256];
	int (*call)(struct shared *s);
};

static void count(struct shared *s, unsigned before, unsigned after, int code)
{
	bool granted = before % 4 == 0;

	atomic_fetch_add(code == 0 ? &s->allowed : &s->denied, 1);
	if (before != after || before % 2 != 0)
		return;
	atomic_fetch_add(&s->certain, 1);
	if (granted ? code != 0 : code != -EACCES)
		atomic_fetch_add(&s->wrong, 1);
}

static void *use(void *data)
{
	struct shared *s = data;

	while (!atomic_load(&s->done)) {
		unsigned before = atomic_load(&s->step);
		int code = s->call(s);

		count(s, before, atomic_load(&s->step), code);
		/* Eight threads that never rest leave the writer nothing of two processors. */
		(void)nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	return NULL;
}

/* Each state is kept until some call has seen it, so that both are really tested. */
static void rest(struct shared *s)
{
	unsigned seen = atomic_load(&s->certain);

	while (atomic_load(&s->certain) == seen)
		(void)sched_yield();
}

static void change(struct shared *s, enum corral_operation op, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		atomic_fetch_add(&s->step, 1);
		test_enclave_revoke(s->enclave, op, s->pattern);
		atomic_fetch_add(&s->step, 1);
		if (i % 8 == 0)
			rest(s);
		atomic_fetch_add(&s->step, 1);
		test_enclave_grant(s->enclave, op, s->pattern);
		atomic_fetch_add(&s->step, 1);
		if (i % 8 == 4)
			rest(s);
	}
}

static void race(struct shared *s, enum corral_operation op, unsigned threads, unsigned n)
{
	pthread_t ids[THREADS];

	test_enclave_grant(s->enclave, op, s->pattern);
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, use, s), 0);
	change(s, op, n);
	atomic_store(&s->done, true);
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(pthread_join(ids[i], NULL), 0);
	if (atomic_load(&s->wrong))
		fail_msg("%u of %u calls went by a policy of before", s->wrong, s->certain);
	assert_true(s->allowed > 0 && s->denied > 0 && s->certain > 0);
}

/* Files */

static int read_file(struct shared *s)
{
	char *data = NULL;
	size_t len;
	int r = corral_enclave_fs_read(s->enclave, NULL, s->path, &data, &len, NULL);

	if (r == 0 && strcmp(data, "content") != 0)
		atomic_fetch_add(&s->wrong, 1);
	corral_free(data);
	return r;
}

static void test_files(void **state)
{
	struct shared s = { .enclave = test_enclave(NULL, NULL), .call = read_file };

	(void)state;
	(void)snprintf(s.path, sizeof(s.path), "%s", test_file("file", "content", 0644));
	(void)snprintf(s.pattern, sizeof(s.pattern), "%s/**", test_folder);
	race(&s, CORRAL_FS_READ, THREADS, CHANGES);
	corral_enclave_free(s.enclave);
}

/* Requests */

static int request(struct shared *s)
{
	return corral_enclave_http_request(s->enclave, NULL, "GET", URL, NULL);
}

static void test_requests(void **state)
{
	struct shared s = { .enclave = test_enclave(NULL, NULL), .call = request, .pattern = HOST };

	(void)state;
	race(&s, CORRAL_NET_CONNECT, THREADS, CHANGES);
	corral_enclave_free(s.enclave);
}

/* Commands */

static int command(struct shared *s)
{
	const char *const argv[] = { "echo", "x", NULL };

	return corral_enclave_shell_exec(s->enclave, NULL, argv, NULL, NULL, NULL);
}

static void test_commands(void **state)
{
	struct shared s = {
		.enclave = test_enclave(NULL, NULL), .call = command, .pattern = "echo"
	};

	(void)state;
	race(&s, CORRAL_EXEC, 3, SHELL_CHANGES);
	corral_enclave_free(s.enclave);
}

/* Approvals */

struct buyers {
	struct corral_enclave *enclave;
	atomic_uint asked, used;
};

enum { USES = 50, ATTEMPTS = 100 };

static void *buy(void *data)
{
	struct buyers *b = data;

	for (int i = 0; i < ATTEMPTS; i++) {
		if (test_enclave_get(b->enclave, "agent", URL, NULL) == 0)
			atomic_fetch_add(&b->used, 1);
	}
	return NULL;
}

/* Eight threads, 800 calls; somebody agreed to 50. */
static void test_approvals(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct buyers b = { 0 };
	pthread_t ids[THREADS];
	uint64_t question = 0;

	(void)state;
	o.ask_count = USES;
	b.enclave = test_enclave("permissions:\n  rules:\n    - {id: a, action: ask, operations: "
				 "[net.connect], patterns: [\"" HOST "\"]}\n",
		&o);
	assert_int_equal(test_enclave_get(b.enclave, "agent", URL, &question), -EINPROGRESS);
	assert_int_equal(corral_enclave_answer(b.enclave, test_enclave_token, question,
				 CORRAL_ALLOW, NULL, NULL, NULL),
		0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, buy, &b), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(ids[i], NULL), 0);
	assert_int_equal(b.used, USES);
	corral_enclave_free(b.enclave);
}

/* Whoever is asked agrees to one use each time: each call that asks gets its own. */
static enum corral_verdict agree(
	void *context, const struct corral_question *q, struct corral_scope *answer)
{
	struct buyers *b = context;

	(void)q;
	(void)answer;
	atomic_fetch_add(&b->asked, 1);
	return CORRAL_ALLOW;
}

static void test_callbacks(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct buyers b = { 0 };
	pthread_t ids[THREADS];

	(void)state;
	o.ask = agree;
	o.context = &b;
	b.enclave = test_enclave("permissions:\n  rules:\n    - {id: a, action: ask, operations: "
				 "[net.connect], patterns: [\"" HOST "\"]}\n",
		&o);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, buy, &b), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(ids[i], NULL), 0);
	assert_int_equal(b.used, THREADS * ATTEMPTS);
	assert_int_equal(b.asked, THREADS * ATTEMPTS);
	corral_enclave_free(b.enclave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_approvals),
		cmocka_unit_test(test_callbacks),
	};

	return cmocka_run_group_tests_name(
		"enclave-threads", tests, test_make_folder, test_remove_folder);
}
