/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vault that misbehaves: the client ends its call at once, and does not wait for the end of its
 * time. The vault is this program, started by its client under another name.
 */
#include "test/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "process/child.h"
#include "test/scratch.h"
#include "vault/client.h"

enum { SERVICE = CHILD_FDS + 1 };

static char scratch[PATH_MAX];

/* The vault */

/* It gets a call, and does what its name says; then it stays until its client is gone. */
static int vault_main(void)
{
	static struct frame f;
	struct vault_message m;

	if (frame_send(CHILD_SOCKET, FRAME_READY, 0, NULL, 0, NULL, 0) < 0 ||
		frame_receive(CHILD_SOCKET, &f) != 1 ||
		vault_message_decode(&m, f.body, f.len) < 0 || strcmp(m.name, "ends") == 0)
		return 1;
	if (strcmp(m.name, "closes") == 0)
		(void)close(SERVICE);
	else if (strcmp(m.name, "shuts") == 0)
		(void)shutdown(SERVICE, SHUT_RDWR);
	else
		(void)frame_send(SERVICE, FRAME_KILL, 0, NULL, 0, NULL, 0);
	while (frame_receive(CHILD_SOCKET, &f) == 1)
		;
	return 0;
}

/* Its client */

static void test_calls(void **state)
{
	static const struct {
		const char *name;
		int result;
	} rows[] = {
		{ "ends", -EPIPE },
		{ "closes", -EPIPE },
		{ "shuts", -EPIPE },
		{ "sends another frame", -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct vault_message m = { .op = VAULT_LIST, .name = rows[i].name };
		struct vault_message answer;
		struct vault_client *c = NULL;
		struct error e = { 0 };

		assert_int_equal(vault_client_start(&c, &e), 0);
		assert_int_equal(vault_client_call(c, &m, &answer, &e), rows[i].result);
		assert_non_null(strstr(e.text, "corral-vault: "));
		vault_client_end(c);
	}
}

static int setup(void **state)
{
	char template[] = "/tmp/vault-client-XXXXXX";

	(void)state;
	return scratch_make(template, scratch) == 0 && setenv("XDG_STATE_HOME", scratch, 1) == 0 &&
			       setenv("CORRAL_VAULT", "/proc/self/exe", 1) == 0
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	(void)state;
	return scratch_remove(scratch);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
	};

	if (argc > 0 && strcmp(argv[0], "corral-vault") == 0)
		return vault_main();
	return cmocka_run_group_tests(tests, setup, teardown);
}
