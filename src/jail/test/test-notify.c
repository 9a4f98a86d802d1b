/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter that watches: which calls it stops, on both architectures, and that nobody but us can
 * install one. That it changes no answer is shown where it runs:
 * warden/session/test/test-witness.c, and all of the escape suite once more with it.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/notify.h"
#include "jail/seccomp/seccomp.h"

static const struct seccomp_arch *const arches[] = { &seccomp_x86_64, &seccomp_aarch64 };

/* Calls that take a path and are not watched, each for a reason. */
static const char *const unwatched[] = {
	"openat2", /* refused by another filter */
	"statfs",  /* asks about a file system */
	"getcwd",  /* names nothing */
	"umask",   /* likewise */
};

static bool is_watched(const struct seccomp_arch *arch, const char *name)
{
	const struct notify_call *calls[SECCOMP_NUMBERS];

	notify_calls(calls, arch);
	for (size_t i = 0; i < SECCOMP_NUMBERS; i++)
		if (calls[i] && strcmp(calls[i]->name, name) == 0)
			return true;
	return false;
}

static bool is_excused(const char *name)
{
	for (size_t i = 0; i < ROWS(unwatched); i++)
		if (strcmp(unwatched[i], name) == 0)
			return true;
	return false;
}

/* The part of the list "Files by name", from open to umask, is watched as a whole. */
static void watches_all_names(void **state)
{
	(void)state;
	for (size_t a = 0; a < ROWS(arches); a++) {
		bool inside = false;
		size_t n = 0;

		for (size_t i = 0; i < seccomp_n_calls; i++) {
			const struct seccomp_call *c = &seccomp_calls[i];

			inside = inside || strcmp(c->name, "open") == 0;
			if (inside && c->numbers[arches[a]->column] != SECCOMP_NONE &&
				!is_excused(c->name)) {
				if (!is_watched(arches[a], c->name))
					print_error("%s\n", c->name);
				assert_true(is_watched(arches[a], c->name));
				n++;
			}
			inside = inside && strcmp(c->name, "umask") != 0;
		}
		assert_true(n > 15);
		assert_true(is_watched(arches[a], "execve"));
		assert_true(is_watched(arches[a], "execveat"));
		assert_true(is_watched(arches[a], "connect"));
		assert_false(is_watched(arches[a], "read"));
		assert_false(is_watched(arches[a], "seccomp"));
		assert_false(is_watched(arches[a], "sendmsg"));
	}
}

static void stops_nothing_else(void **state)
{
	(void)state;
	for (size_t a = 0; a < ROWS(arches); a++) {
		const struct notify_call *calls[SECCOMP_NUMBERS];
		struct seccomp_table t;

		notify_table(&t, arches[a]);
		notify_calls(calls, arches[a]);
		assert_int_equal(t.rest, RULE_ALLOW);
		for (size_t i = 0; i < SECCOMP_NUMBERS; i++) {
			uint32_t verdict = seccomp_rule_text(t.rules[i])->otherwise;

			assert_int_equal(
				verdict, calls[i] ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		}
	}
}

/* What a row says of arguments has to fit a call of six. */
static void rows_make_sense(void **state)
{
	const struct notify_call *calls[SECCOMP_NUMBERS];

	(void)state;
	for (size_t a = 0; a < ROWS(arches); a++) {
		notify_calls(calls, arches[a]);
		for (size_t i = 0; i < SECCOMP_NUMBERS; i++) {
			const struct notify_call *c = calls[i];

			if (!c)
				continue;
			assert_int_not_equal(c->paths[0].kind, NOTIFY_NONE);
			assert_true(c->extra < 6 || c->extra == NOTIFY_ABSENT);
			for (size_t k = 0; k < NOTIFY_PATHS; k++) {
				assert_true(c->paths[k].path < 6 ||
					    c->paths[k].kind == NOTIFY_NAMESPACE);
				assert_true(c->paths[k].folder < 6 ||
					    c->paths[k].folder == NOTIFY_ABSENT);
			}
			if (c->paths[0].kind == NOTIFY_OPEN || c->paths[0].kind == NOTIFY_ACCESS ||
				c->paths[0].kind == NOTIFY_CONNECT)
				assert_true(c->extra < 6);
		}
	}
}

/* Runs it in a child, since filters stay; its result is a small number. */
static int in_child(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? 99 : run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int under_plain_base(void)
{
	if (seccomp_base(&(struct seccomp_options){ 0 }) < 0)
		return 98;
	return -notify_install();
}

/* The order of a command that is watched. */
static int under_open_base(void)
{
	int listener;

	if (seccomp_base(&(struct seccomp_options){ .listener = true }) < 0)
		return 98;
	listener = notify_install();
	if (listener < 0 || !(fcntl(listener, F_GETFD) & FD_CLOEXEC))
		return 97;
	if (seccomp_close(false) < 0)
		return 96;
	return -notify_install();
}

/* Nobody listens: then there is only the filter that could refuse. */
static int closed_without(void)
{
	if (seccomp_base(&(struct seccomp_options){ .listener = true }) < 0 ||
		seccomp_close(false) < 0)
		return 98;
	return -notify_install();
}

static void only_once_and_only_before(void **state)
{
	(void)state;
	assert_int_equal(in_child(under_plain_base), EINVAL);
	assert_int_equal(in_child(under_open_base), EINVAL);
	assert_int_equal(in_child(closed_without), EINVAL);
}

/* Namespaces: whoever is watched asks the listener; without one, as in an init, the kernel says
 * ENOSYS. Both ways, with and without the last filter, there are none. */
static int unshared(int flags)
{
	errno = 0;
	return unshare(flags) == 0 ? 0 : errno;
}

static int without_listener(void)
{
	if (seccomp_base(&(struct seccomp_options){ .listener = true }) < 0)
		return 98;
	return unshared(CLONE_NEWUSER);
}

static int closed_as_watched(void)
{
	if (seccomp_base(&(struct seccomp_options){ .listener = true }) < 0 ||
		seccomp_close(true) < 0)
		return 98;
	return unshared(CLONE_NEWUSER);
}

/* The listener is gone: the calls that wait fail, and so do those that come. */
static int listener_is_gone(void)
{
	int listener;

	if (seccomp_base(&(struct seccomp_options){ .listener = true }) < 0)
		return 98;
	listener = notify_install();
	if (listener < 0 || seccomp_close(true) < 0)
		return 97;
	(void)syscall(SYS_close, listener);
	if (unshared(CLONE_NEWNS) != ENOSYS)
		return 96;
	return syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL) <
			       0
		       ? errno
		       : 0;
}

static void no_namespaces_without_an_answer(void **state)
{
	(void)state;
	assert_int_equal(in_child(without_listener), ENOSYS);
	assert_int_equal(in_child(closed_as_watched), ENOSYS);
	assert_int_equal(in_child(listener_is_gone), ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watches_all_names),
		cmocka_unit_test(stops_nothing_else),
		cmocka_unit_test(rows_make_sense),
		cmocka_unit_test(only_once_and_only_before),
		cmocka_unit_test(no_namespaces_without_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
