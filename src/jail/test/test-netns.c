/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "jail/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/userns.h"

enum { NO_NAMESPACES = 99 };

/* Returns what `run` returned in a process with a user namespace of its own. */
static int in_namespace(int (*run)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		uid_t uid = geteuid();
		gid_t gid = getegid();

		if (unshare(CLONE_NEWUSER) < 0)
			_exit(NO_NAMESPACES);
		_exit(userns_map(uid, gid) < 0 ? 1 : run());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static ino_t network(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) < 0 ? 0 : st.st_ino;
}

static bool loopback_is_up(void)
{
	struct ifreq r = { .ifr_name = "lo" };
	auto_fd s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s >= 0 && ioctl(s, SIOCGIFFLAGS, &r) == 0 && r.ifr_flags & IFF_UP;
}

static int lowest_free(void)
{
	auto_fd fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return fd;
}

static int enter(void)
{
	ino_t before = network();
	int free = lowest_free();
	struct netns n = { 0 };

	netns_begin(&n);
	if (n.beside.pid <= 0)
		return 10;
	/* However far the other process is, this one has not moved. */
	if (network() != before)
		return 11;
	if (netns_join(&n) < 0)
		return 12;
	if (network() == before || if_nametoindex("lo") != 1 || !loopback_is_up())
		return 13;
	/* It was waited for, no other child is there, and nothing was left open. */
	if (waitpid(-1, NULL, __WALL) != -1 || errno != ECHILD || lowest_free() != free)
		return 14;
	/* Only once. */
	return netns_join(&n) == 0 ? 0 : 15;
}

static void test_entered(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(enter), 0);
}

/* That there is no such namespace is not lost: the caller stays where it was, and knows it. */
static int refused(void)
{
	ino_t before = network();
	auto_fd fd = open("/proc/sys/user/max_net_namespaces", O_WRONLY | O_CLOEXEC);
	struct netns n = { 0 };

	if (fd < 0 || write(fd, "0", 1) != 1)
		return 20;
	netns_begin(&n);
	if (netns_join(&n) != -ENOSPC)
		return 22;
	return network() == before ? 0 : 23;
}

static void test_refused(void **state)
{
	(void)state;
	assert_int_equal(in_namespace(refused), 0);
}

static void test_none(void **state)
{
	struct netns n = { 0 };
	ino_t before = network();

	(void)state;
	assert_int_equal(netns_join(&n), 0);
	assert_true(network() == before);
}

static int nothing(void)
{
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_none),
	};

	if (in_namespace(nothing) == NO_NAMESPACES) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
