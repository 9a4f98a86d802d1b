/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a sandbox without a network: there is no such name, at once, and each is reported before
 * the end of the command that asked. */
#include <stdio.h>
#include <string.h>

#include "lib/sandbox/test/test-common.h"

/* Prints -2, EAI_NONAME: programs try again for a minute after -3, a failure for the time being. */
#define LOOK_UP(name)                                                                 \
	"python3 -c 'import socket\n"                                                 \
	"try:\n socket.getaddrinfo(\"" name "\", 80)\nexcept socket.gaierror as e:\n" \
	" print(e.errno)'"

struct seen {
	unsigned denied;
	uint64_t command;
	bool ended; /* before it was denied */
	char target[128], reason[256];
};

static void on_event(void *context, const struct corral_event *e)
{
	struct seen *seen = context;

	seen->ended = seen->ended || e->kind == CORRAL_EVENT_ENDED;
	if (e->kind != CORRAL_EVENT_DENIED || seen->ended)
		return;
	seen->denied++;
	seen->command = e->command;
	(void)snprintf(seen->target, sizeof(seen->target), "%s", e->denial->target);
	(void)snprintf(seen->reason, sizeof(seen->reason), "%s", e->denial->reason);
}

static struct corral_sandbox *open_sandbox(struct seen *seen)
{
	struct corral_builder *b = test_builder();

	*seen = (struct seen){ 0 };
	assert_int_equal(corral_builder_with_audit(b, on_event, seen), 0);
	return test_build(b);
}

static void test_a_name(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = test_run(s, LOOK_UP("a.example.com"), NULL);
	const struct corral_denial *d = corral_result_denial(r, 0);

	(void)state;
	assert_string_equal(corral_result_stdout(r, NULL), "-2\n");
	assert_int_equal(corral_result_denials(r), 1);
	assert_int_equal(d->op, CORRAL_NET_CONNECT);
	assert_string_equal(d->target, "a.example.com");
	assert_non_null(strstr(d->remedy, "a.example.com:443"));
	assert_true(d->reason[0]);
	/* Reported before the end, by whose command it was. */
	assert_int_equal(seen.denied, 1);
	assert_int_equal(seen.command, 1);
	assert_string_equal(seen.target, d->target);
	assert_string_equal(seen.reason, d->reason);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* Each command has its own, also of a name that one before it asked for. */
static void test_each_command(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct corral_result *r = test_run(s, "getent ahosts b.example.com", NULL);

		assert_int_equal(corral_result_exit_code(r), 2);
		assert_int_equal(corral_result_denials(r), 1);
		corral_result_free(r);
	}
	corral_sandbox_free(s);
}

/* What no name of others is, is no denial. */
static void test_own_names(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	struct corral_result *r = test_run(s, "getent ahosts localhost; hostname -f", NULL);

	(void)state;
	assert_int_equal(corral_result_exit_code(r), 0);
	assert_int_equal(corral_result_denials(r), 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* One of them has the lent init, the other goes by the warden; which is which, is not known. */
static void test_beside_another(void **state)
{
	struct seen seen;
	struct corral_sandbox *s = open_sandbox(&seen);
	const struct corral_call call = { .size = sizeof(call), .flags = CORRAL_CALL_INPUT };
	struct corral_process *first = NULL;
	struct corral_result *r;

	(void)state;
	assert_int_equal(corral_process_start_line(&first, s, "cat", &call, NULL), 0);
	r = test_run(s, "sh -c 'getent ahosts c.example.com; exit 4'", NULL);
	assert_int_equal(corral_result_exit_code(r), 4);
	assert_int_equal(corral_result_denials(r), 1);
	assert_string_equal(corral_result_denial(r, 0)->target, "c.example.com");
	corral_result_free(r);
	assert_int_equal(corral_process_kill(first), 0);
	assert_int_equal(corral_process_wait(first, -1, NULL, NULL), 0);
	corral_process_free(first);
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name),
		cmocka_unit_test(test_each_command),
		cmocka_unit_test(test_own_names),
		cmocka_unit_test(test_beside_another),
	};

	return cmocka_run_group_tests_name("offline", tests, test_make_folder, test_remove_folder);
}
