/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/enclave/test/test-jail.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: what fails ends it, and the number says where. */

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (!written)
		_exit(2);
	(void)close(fd);
}

static bool map_user(uid_t uid, gid_t gid)
{
	char text[64];
	int fd;

	(void)snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	put_text("/proc/self/setgroups", "deny");
	put_text("/proc/self/uid_map", text);
	(void)snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	put_text("/proc/self/gid_map", text);
	fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	(void)close(fd);
	return fd >= 0;
}

static bool put_memory(const char *path, const char *options)
{
	return mkdir(path, 0755) == 0 && mount("tmpfs", path, "tmpfs", 0, options) == 0;
}

static bool put_bind(const char *from, const char *path)
{
	return mkdir(path, 0755) == 0 && mount(from, path, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* The current folder is the new root. */
static bool fill_tree(const char *host, const char *secret)
{
	if (mkdir("etc", 0755) < 0 || symlink("/etc/passwd", "abs") < 0 ||
		symlink("../../../../etc/passwd", "up") < 0 ||
		symlink("/proc/self/root/etc/passwd", "magic") < 0 || symlink("etc", "alias") < 0 ||
		symlink("/tmp/plain", "to-private") < 0)
		return false;
	put_text("etc/passwd", "inside");
	put_text("etc/hidden", "hidden");
	if (!put_bind(host, "w") || !put_bind(host, "ro") || !put_bind("/proc", "proc") ||
		!put_memory("tmp", "mode=0700") || !put_memory("home", "mode=0700") ||
		!put_bind(secret, "tmp/bound") || mkdir("tmp/masked", 0755) < 0)
		return false;
	put_text("tmp/masked/below", "below");
	put_text("tmp/plain", "plain");
	return mount("tmpfs", "tmp/masked", "tmpfs", MS_RDONLY, "mode=0755") == 0 &&
	       mount(NULL, "ro", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0 &&
	       mount(NULL, ".", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

static void make_tree(const char *at, const char *host, const char *secret)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(77);
	if (!map_user(uid, gid) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", at, "tmpfs", 0, "mode=0755") < 0 || chdir(at) < 0)
		_exit(77);
	if (!fill_tree(host, secret))
		_exit(3);
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		_exit(4);
	/* The parent opens its root by /proc. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0) < 0)
		_exit(5);
}

/* Each order is a path, and the answer one byte. */
static void serve(int orders)
{
	char path[PATH_MAX];
	ssize_t n;

	if (write(orders, "+", 1) != 1)
		_exit(6);
	while ((n = read(orders, path, sizeof(path) - 1)) > 0) {
		path[n] = '\0';
		if (mount("tmpfs", path, "tmpfs", MS_RDONLY, "mode=0755") < 0 ||
			write(orders, "+", 1) != 1)
			_exit(7);
	}
	_exit(0);
}

int test_jail_make(struct test_jail *ret)
{
	char at[PATH_MAX], host[PATH_MAX], secret[PATH_MAX], name[64], answer;
	int pair[2], status = 0;

	test_tree_folder("@/root");
	(void)snprintf(at, sizeof(at), "%s", test_tree("@/root"));
	(void)snprintf(host, sizeof(host), "%s", test_tree("@/host"));
	(void)snprintf(secret, sizeof(secret), "%s", test_tree("@/out"));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ret->pid = fork();
	assert_true(ret->pid >= 0);
	if (ret->pid == 0) {
		(void)close(pair[0]);
		make_tree(at, host, secret);
		serve(pair[1]);
	}
	(void)close(pair[1]);
	ret->orders = pair[0];
	ret->root = -1;
	if (read(pair[0], &answer, 1) != 1) {
		assert_int_equal(waitpid(ret->pid, &status, 0), ret->pid);
		ret->pid = -1;
		test_jail_remove(ret);
		if (WEXITSTATUS(status) != 77)
			fail_msg("the tree cannot be made: %d", WEXITSTATUS(status));
		(void)fprintf(stderr, "# this kernel allows no user and mount namespaces\n");
		return -1;
	}
	(void)snprintf(name, sizeof(name), "/proc/%d/root", ret->pid);
	ret->root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(ret->root >= 0);
	return 0;
}

void test_jail_remove(struct test_jail *jail)
{
	(void)close(jail->orders);
	if (jail->root >= 0)
		(void)close(jail->root);
	if (jail->pid > 0)
		(void)waitpid(jail->pid, NULL, 0);
	assert_int_equal(rmdir(test_tree("@/root")), 0);
}

void test_jail_mask(struct test_jail *jail, const char *path)
{
	char answer;

	assert_int_equal(write(jail->orders, path, strlen(path)), strlen(path));
	assert_int_equal(read(jail->orders, &answer, 1), 1);
}
