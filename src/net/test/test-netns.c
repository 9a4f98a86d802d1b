/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "net/test/test-netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "jail/privilege.h"
#include "jail/userns.h"
#include "net/test/test-without-nft.h"

enum { PATIENCE_MS = 60000 };

struct capture_options netns_options;
int netns_relay[CAPTURE_COUNT];
int netns_inner[2];
bool netns_without_rules;

static int enter_as_user(void)
{
	uid_t uid = getuid() ? getuid() : 65534;
	gid_t gid = getuid() ? getgid() : 65534;

	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -errno;
	return userns_map(uid, gid);
}

static int capture_lazily(struct error *e)
{
	int r = without_nft();

	if (r < 0)
		return error_set(e, r, NULL, "no filter of system calls");
	r = capture_open(&netns_options, netns_relay, e);
	if (r != -EOPNOTSUPP)
		return error_set(e, -EINVAL, NULL, "%d without nf_tables", r);
	return capture_open_lazy(netns_relay, e);
}

bool netns_enter(void)
{
	struct error e = { 0 };
	int r = enter_as_user();

	if (r < 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return false;
	}
	r = netns_without_rules ? capture_lazily(&e)
				: capture_open(&netns_options, netns_relay, &e);
	if (r == -EOPNOTSUPP) {
		(void)printf("1..0 # SKIP kernel: %s\n", e.text);
		return false;
	}
	netns_inner[0] = capture_inner(AF_INET);
	netns_inner[1] = capture_inner(AF_INET6);
	if (r == 0)
		r = privilege_drop();
	if (r < 0)
		(void)printf("Bail out! %s\n", e.text);
	return r == 0;
}

socklen_t netns_name(const char *text, uint16_t port, union netns_name *ret)
{
	*ret = (union netns_name){ 0 };
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons(port);
		return sizeof(ret->v4);
	}
	assert_int_equal(inet_pton(AF_INET6, text, &ret->v6.sin6_addr), 1);
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons(port);
	return sizeof(ret->v6);
}

struct address netns_address(const char *text)
{
	struct address a;

	assert_int_equal(address_parse(text, strlen(text), &a), 0);
	return a;
}

int netns_connect(int type, const char *text, uint16_t port)
{
	union netns_name name;
	socklen_t len = netns_name(text, port, &name);
	int fd = socket(name.any.sa_family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, &name.any, len) < 0)
		fail_msg("connect to %s port %u: %s", text, port, strerror(errno));
	return fd;
}

int netns_serve(int type, const char *text, uint16_t port, uint16_t *ret_port)
{
	union netns_name name;
	socklen_t len = netns_name(text, port, &name);
	int fd = socket(name.any.sa_family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	/* Of the server before there may still be connections that have ended. */
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
	if (bind(fd, &name.any, len) < 0)
		fail_msg("bind to %s port %u: %s", text, port, strerror(errno));
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, &name.any, &len), 0);
	/* At the same place in both. */
	*ret_port = ntohs(name.v4.sin_port);
	return fd;
}

void netns_wait(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

int netns_accept(int listener)
{
	int fd;

	netns_wait(listener);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}
