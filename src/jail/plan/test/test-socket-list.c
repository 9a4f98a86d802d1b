/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the host's sockets, as the kernel lists them in two ways. */
#include "test/unit.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/plan/internal.h"

/* More than the lines after which the kernel is asked; none of them has a name. */
enum { PAIRS = 200 };

static struct {
	char folder[64];
	int pairs[PAIRS][2];
	bool refuses; /* netlink, as a kernel without it */
	unsigned asked;
} scene;

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_SOCK_DIAG) {
		scene.asked++;
		if (scene.refuses) {
			errno = EPROTONOSUPPORT;
			return -1;
		}
	}
	return __real_socket(domain, type, protocol);
}

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	(void)snprintf(scene.folder, sizeof(scene.folder), "/tmp/test-list.XXXXXX");
	assert_non_null(mkdtemp(scene.folder));
	for (size_t i = 0; i < PAIRS; i++)
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scene.pairs[i]), 0);
	return 0;
}

static void close_pairs(void)
{
	for (size_t i = 0; i < PAIRS; i++) {
		fd_close(&scene.pairs[i][0]);
		fd_close(&scene.pairs[i][1]);
	}
}

static int tear_down(void **state)
{
	(void)state;
	close_pairs();
	return rmdir(scene.folder);
}

static struct sockaddr_un address(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", scene.folder, name);
	return a;
}

static int bind_to(const char *name, int type)
{
	const struct sockaddr_un a = address(name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* The names in this test's folder that were listed: "a|b|". */
struct listed {
	char names[512];
	int ends; /* what the function returns at the first of them */
};

static int note(void *data, const char *name)
{
	struct listed *t = data;
	const size_t len = strlen(scene.folder);
	char one[128];

	if (strncmp(name, scene.folder, len) != 0)
		return 0;
	(void)snprintf(one, sizeof(one), "%s|", name + len + 1);
	if (!strstr(t->names, one))
		(void)snprintf(t->names + strlen(t->names), sizeof(t->names) - strlen(t->names),
			"%s", one);
	return t->ends;
}

static bool has(const struct listed *t, const char *name)
{
	char one[128];

	(void)snprintf(one, sizeof(one), "%s|", name);
	return strstr(t->names, one) != NULL;
}

/* All of them, whichever way the kernel lists them. */
static void lists_names(void **state)
{
	static const char *const names[] = { "stream", "packets", "datagrams", "later", "a\nb c" };
	int fds[ROWS(names)];

	(void)state;
	fds[0] = bind_to("stream", SOCK_STREAM);
	assert_int_equal(listen(fds[0], 8), 0);
	fds[1] = bind_to("packets", SOCK_SEQPACKET);
	assert_int_equal(listen(fds[1], 8), 0);
	fds[2] = bind_to("datagrams", SOCK_DGRAM);
	fds[3] = bind_to("later", SOCK_STREAM); /* it does not listen yet */
	fds[4] = bind_to("a\nb c", SOCK_DGRAM);
	for (int refuses = 0; refuses < 2; refuses++) {
		struct listed t = { 0 };
		struct error e = { 0 };

		scene.refuses = refuses;
		scene.asked = 0;
		assert_int_equal(plan_socket_list_each(note, &t, &e), 0);
		assert_int_equal(scene.asked, 1);
		assert_true(has(&t, "stream") && has(&t, "packets") && has(&t, "datagrams"));
		assert_true(has(&t, "later"));
		/* In the text, what is behind the end of the line is not seen. */
		assert_int_equal(has(&t, "a\nb c"), !refuses);
	}
	for (size_t i = 0; i < ROWS(fds); i++) {
		const struct sockaddr_un a = address(names[i]);

		fd_close(&fds[i]);
		assert_int_equal(unlink(a.sun_path), 0);
	}
}

/* One that receives datagrams of many counts as connected as soon as one of them connects to it;
 * others can still send to it. So many that not all of them are in the text's first lines. */
static void lists_receivers(void **state)
{
	enum { RECEIVERS = 24 };
	struct listed t = { 0 };
	struct error e = { 0 };
	int fds[RECEIVERS], clients[RECEIVERS];
	auto_fd other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	for (int i = 0; i < RECEIVERS; i++) {
		struct sockaddr_un a;
		char name[32];

		(void)snprintf(name, sizeof(name), "receiver-%d", i);
		a = address(name);
		fds[i] = bind_to(name, SOCK_DGRAM);
		clients[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(clients[i], (const struct sockaddr *)&a, sizeof(a)), 0);
		assert_int_equal(
			sendto(other, "x", 1, 0, (const struct sockaddr *)&a, sizeof(a)), 1);
	}
	assert_int_equal(plan_socket_list_each(note, &t, &e), 0);
	assert_int_equal(scene.asked, 1);
	for (int i = 0; i < RECEIVERS; i++) {
		struct sockaddr_un a;
		char name[32];

		(void)snprintf(name, sizeof(name), "receiver-%d", i);
		a = address(name);
		assert_true(has(&t, name));
		fd_close(&fds[i]);
		fd_close(&clients[i]);
		assert_int_equal(unlink(a.sun_path), 0);
	}
}

/* What the function returns is returned, from both lists. */
static void passes_errors_on(void **state)
{
	const struct sockaddr_un a = address("one");
	int fd = bind_to("one", SOCK_DGRAM);

	(void)state;
	for (int refuses = 0; refuses < 2; refuses++) {
		struct listed t = { .ends = -E2BIG };
		struct error e = { 0 };

		scene.refuses = refuses;
		assert_int_equal(plan_socket_list_each(note, &t, &e), -E2BIG);
	}
	fd_close(&fd);
	assert_int_equal(unlink(a.sun_path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lists_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_receivers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(passes_errors_on, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("socket-list", tests, NULL, NULL);
}
