/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "jail/keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LIVE = 250,    /* processes at once; kernel.keys.maxkeys is 200 */
	OTHER = 62000, /* and 1,000 more: other tests use up the keys of the usual ones */
	TOO_LATE = 99,
	/* Other sandboxes of this user may begin or end at the same time. */
	CHANGES_MAX = 10,
};

static int become_other(void)
{
	const id_t id = OTHER + (id_t)getppid() % 1000;

	return setgid(id) < 0 || setuid(id) < 0 ? -1 : 0;
}

static long session_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0UL);
}

static long add_key(const char *name, long keyring)
{
	return syscall(SYS_add_key, "user", name, "x", 1UL, keyring);
}

static bool finds_key(const char *name)
{
	return syscall(SYS_request_key, "user", name, NULL, 0UL) > 0;
}

static bool has_keys(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1UL) >= 0 ||
	       (errno != ENOSYS && errno != EPERM);
}

/* What `run` returned in a process of its own: 0, or the number of what failed. */
static int in_child(int (*run)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int leave_and_look(void)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
		add_key("corral-test-left", KEY_SPEC_SESSION_KEYRING) < 0 ||
		!finds_key("corral-test-left"))
		return 1;
	if (keyring_leave() < 0)
		return 2;
	if (finds_key("corral-test-left"))
		return 3;
	/* Others of the user have it, too: no process puts a key there, or lets others do so. */
	if (add_key("corral-test-new", KEY_SPEC_SESSION_KEYRING) >= 0)
		return 4;
	if (syscall(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING, 0x3f3f0000UL) >= 0)
		return 5;
	if (syscall(SYS_keyctl, KEYCTL_REVOKE, KEY_SPEC_SESSION_KEYRING) >= 0)
		return 6;
	return 0;
}

static void test_leaves_keys_behind(void **state)
{
	(void)state;
	assert_int_equal(in_child(leave_and_look), 0);
}

/* In a child that lives until `held` is closed: tells its keyring, or an error. */
static _Noreturn void live(int held, int told)
{
	long r = keyring_leave();
	char byte;

	r = r < 0 ? r : session_keyring();
	if (write(told, &r, sizeof(r)) != (ssize_t)sizeof(r))
		_exit(1);
	(void)!read(held, &byte, 1);
	_exit(0);
}

/* As an ordinary user, who may have fewer keys than there are processes here. */
static int live_many(void)
{
	int held[2], told[2];
	long last = 0, keyring = 0;
	int result = 0, n_changes = 0;

	if (pipe(held) < 0 || pipe(told) < 0)
		return 1;
	if (getuid() == 0 && become_other() < 0)
		return 2;
	for (int i = 0; result == 0 && i < LIVE; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)close(held[1]);
			live(held[0], told[1]);
		}
		if (pid < 0 || read(told[0], &keyring, sizeof(keyring)) != (ssize_t)sizeof(keyring))
			result = 3;
		else if (keyring < 0)
			result = 4;
		else if (i > 0 && keyring != last && ++n_changes > CHANGES_MAX)
			result = 5;
		last = keyring;
	}
	(void)close(held[1]);
	while (wait(NULL) > 0)
		;
	return result;
}

static void test_is_shared(void **state)
{
	(void)state;
	assert_int_equal(in_child(live_many), 0);
}

/*
 * Another user's keyring of that name, with a key in it, that everybody may use. That user cannot
 * know the name; here it is passed on.
 */
static _Noreturn void plant(const char *name, int held, int told)
{
	char byte = 0;

	if (become_other() < 0 || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name) < 0 ||
		add_key("corral-test-planted", KEY_SPEC_SESSION_KEYRING) < 0 ||
		syscall(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING, 0x3f3f3f3fUL) < 0 ||
		write(told, &byte, 1) != 1)
		_exit(1);
	(void)!read(held, &byte, 1);
	_exit(0);
}

static int leave_beside_planted(void)
{
	const long own = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1UL);
	int held[2], told[2];
	char name[32], byte;
	bool is_found;

	(void)snprintf(name, sizeof(name), "corral-%lx", own);
	if (pipe(held) < 0 || pipe(told) < 0)
		return 1;
	if (fork() == 0) {
		(void)close(held[1]);
		(void)close(told[0]);
		plant(name, held[0], told[1]);
	}
	(void)close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		return 2;
	/* It can be joined: the plant is what an attack needs. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name) < 0)
		return 3;
	if (!finds_key("corral-test-planted"))
		return TOO_LATE;
	if (keyring_leave() < 0)
		return 4;
	is_found = finds_key("corral-test-planted");
	(void)close(held[1]);
	(void)wait(NULL);
	return is_found ? 5 : 0;
}

static void test_is_not_anothers(void **state)
{
	int r;

	(void)state;
	/* It takes two users. */
	if (getuid() != 0)
		return;
	r = in_child(leave_beside_planted);
	/* A sandbox of root's that lives may have the name already. */
	assert_true(r == 0 || r == TOO_LATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves_keys_behind),
		cmocka_unit_test(test_is_shared),
		cmocka_unit_test(test_is_not_anothers),
	};

	if (!has_keys()) {
		(void)puts("1..0 # SKIP kernel: no keys");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
