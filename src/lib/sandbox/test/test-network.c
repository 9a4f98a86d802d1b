/* SPDX-License-Identifier: Apache-2.0 */
/* Denials of hosts, from a program inside to the host's audit sink. All that is asked for is
 * denied. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lib/sandbox/test/test-common.h"

/* A connection that is denied is there for a moment, so its end is waited for. */
#define KNOCK "bash -c 'exec 3<>/dev/tcp/192.0.2.7/443 && cat <&3' 2>/dev/null"

struct seen {
	pthread_mutex_t lock;
	unsigned denied;
	uint64_t command;
	bool ended; /* before it was denied */
	char target[128], reason[256];
};

static void on_event(void *context, const struct corral_event *e)
{
	struct seen *seen = context;

	(void)pthread_mutex_lock(&seen->lock);
	seen->ended = seen->ended || e->kind == CORRAL_EVENT_ENDED;
	if (e->kind == CORRAL_EVENT_DENIED && !seen->ended) {
		seen->denied++;
		seen->command = e->command;
		(void)snprintf(seen->target, sizeof(seen->target), "%s", e->denial->target);
		(void)snprintf(seen->reason, sizeof(seen->reason), "%s", e->denial->reason);
	}
	(void)pthread_mutex_unlock(&seen->lock);
}

static struct corral_sandbox *open_sandbox(struct seen *seen)
{
	struct corral_builder *b = test_builder();

	*seen = (struct seen){ .lock = PTHREAD_MUTEX_INITIALIZER };
	assert_int_equal(corral_builder_allow_network(b, "api.example.com:443"), 0);
	assert_int_equal(corral_builder_with_audit(b, on_event, seen), 0);
	return test_build(b);
}

static void test_an_address(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = test_run(s, KNOCK "; exit 3", NULL);
	const struct corral_denial *d = corral_result_denial(r, 0);

	(void)state;
	assert_int_equal(corral_result_exit_code(r), 3);
	assert_int_equal(corral_result_denials(r), 1);
	assert_int_equal(d->op, CORRAL_NET_CONNECT);
	assert_string_equal(d->target, "192.0.2.7:443");
	assert_int_equal(d->exact, 1);
	assert_non_null(strstr(d->remedy, "192.0.2.7:443"));
	/* Told before the end, by whose command it was. */
	assert_int_equal(seen.denied, 1);
	assert_int_equal(seen.command, 1);
	assert_string_equal(seen.target, d->target);
	assert_string_equal(seen.reason, d->reason);
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_a_name(void **state)
{
	struct corral_destination list[2];
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = test_run(s, "getent ahosts evil.example.com", NULL);

	(void)state;
	assert_int_equal(corral_result_exit_code(r), 2);
	assert_int_equal(corral_result_denials(r), 1);
	assert_string_equal(corral_result_denial(r, 0)->target, "evil.example.com");
	assert_true(seen.denied >= 1);
	assert_int_equal(corral_sandbox_destinations(s, list, 2, sizeof(list[0])), 1);
	assert_string_equal(list[0].target, "evil.example.com");
	assert_true(list[0].denied >= 1);
	assert_int_equal(list[0].connections, 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_nothing_was_denied(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = test_run(s, "getent ahosts api.example.com >/dev/null", NULL);

	(void)state;
	assert_int_equal(corral_result_exit_code(r), 0);
	assert_int_equal(corral_result_denials(r), 0);
	assert_int_equal(seen.denied, 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* Each command's own, every time: another address each, since the same is told once a second. */
static void test_always_before_the_end(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);

	(void)state;
	for (int i = 1; i <= 50; i++) {
		char line[128], target[64];
		struct corral_result *r;

		(void)snprintf(line, sizeof(line),
			"bash -c 'exec 3<>/dev/tcp/198.51.100.%d/80 && cat <&3' 2>/dev/null", i);
		(void)snprintf(target, sizeof(target), "198.51.100.%d:80", i);
		r = test_run(s, line, NULL);
		assert_int_equal(corral_result_denials(r), 1);
		assert_string_equal(corral_result_denial(r, 0)->target, target);
		corral_result_free(r);
	}
	corral_sandbox_free(s);
}

static bool is_supported(void)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *s = NULL;
	int r = corral_builder_new(&b);

	if (r == 0)
		r = corral_builder_allow_network(b, "api.example.com:443");
	if (r == 0)
		r = corral_builder_build(b, &s, NULL);
	corral_sandbox_free(s);
	corral_builder_free(b);
	return r != -EOPNOTSUPP;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_address),
		cmocka_unit_test(test_a_name),
		cmocka_unit_test(test_nothing_was_denied),
		cmocka_unit_test(test_always_before_the_end),
	};

	if (!is_supported()) {
		(void)puts("1..0 # SKIP kernel: no nf_tables");
		return 0;
	}
	return cmocka_run_group_tests_name("network", tests, test_make_folder, test_remove_folder);
}
