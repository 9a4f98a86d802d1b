/* SPDX-License-Identifier: Apache-2.0 */
/* Opening by itself: what is opened, what is not, and what each link makes of a path. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/followed.h"
#include "lib/enclave/test/test-tree.h"
#include "policy/permissions.h"
#include "policy/policy.h"

static int make_tree(void **state)
{
	static const struct {
		const char *name, *target;
	} links[] = {
		{ "@/file", "real/file" },
		{ "@/folder", "real" },
		{ "@/absolute", "@/real" },
		{ "@/real/up", "../other" },
		{ "@/real/far", "../../../../../../../../../../../../etc/passwd" },
		{ "@/late", "real/../other" },
		{ "@/later", "./../real/deep/.." },
		{ "@/dangling", "nowhere/new" },
		{ "@/first", "second" },
		{ "@/second", "./third//" },
		{ "@/third", "@/real" },
		{ "@/self", "self" },
		{ "@/out", "/etc/passwd" },
		{ "@/root", "/" },
		{ "@/magic", "/proc/self/root" },
	};

	if (test_tree_make(state) < 0)
		return -1;
	test_tree_folder("@/real");
	test_tree_folder("@/real/deep");
	test_tree_folder("@/other");
	test_tree_file("@/real/file", "content");
	test_tree_file("@/real/x (deleted)", "odd");
	for (size_t i = 0; i < ROWS(links); i++)
		test_tree_link(links[i].name, links[i].target);
	return 0;
}

static int try_open(const char *path)
{
	int fd = -1, r = beneath_open(BENEATH_HOST, test_tree(path), &fd);

	assert_true((r == 0) == (fd >= 0));
	if (fd >= 0)
		(void)close(fd);
	return r;
}

static void test_open(void **state)
{
	static const struct {
		const char *path;
		int code;
	} cases[] = {
		{ "/", 0 },
		{ "@", 0 },
		{ "@/real/file", 0 },
		{ "@/real/x (deleted)", 0 },
		{ "@/real/x", -ENOENT },
		{ "@/real/file/x", -ENOTDIR },
		{ "@/file", 0 }, /* the link itself */
		{ "@/folder/file", -ELOOP },
		{ "@/absolute/file", -ELOOP },
		{ "@/self/x", -ELOOP },
		{ "@/magic/etc", -ELOOP },
		{ "/proc/self/root", -ELOOP },
		{ "/proc/self/root/etc/passwd", -ELOOP },
		{ "/proc/1/cwd/etc", -ELOOP },
		{ "/dev/fd/0", -ELOOP },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		int r = try_open(cases[i].path);

		if (r != cases[i].code)
			fail_msg("%s: %d, not %d", cases[i].path, r, cases[i].code);
	}
}

/* `next` NULL: the code is what counts. */
static void test_next(void **state)
{
	static const struct {
		const char *path, *link, *next;
		int code;
	} cases[] = {
		{ "/", NULL, NULL, 0 },
		{ "@/real/file", NULL, NULL, 0 },
		{ "@/nothing/file", NULL, NULL, -ENOENT },
		{ "@/file", "@/file", "@/real/file", 1 },
		{ "@/folder/file", "@/folder", "@/real/file", 1 },
		{ "@/folder/nothing/x", "@/folder", "@/real/nothing/x", 1 },
		{ "@/absolute/file", "@/absolute", "@/real/file", 1 },
		{ "@/real/up", "@/real/up", "@/other", 1 },
		{ "@/real/up/x", "@/real/up", "@/other/x", 1 },
		{ "@/folder/up/x", "@/folder", "@/real/up/x", 1 },
		{ "@/real/far", "@/real/far", "/etc/passwd", 1 },
		{ "@/late", NULL, NULL, -EXDEV },
		{ "@/late/x", NULL, NULL, -EXDEV },
		{ "@/later", NULL, NULL, -EXDEV },
		{ "@/dangling", "@/dangling", "@/nowhere/new", 1 },
		{ "@/first/file", "@/first", "@/second/file", 1 },
		{ "@/second/file", "@/second", "@/third/file", 1 },
		{ "@/third/file", "@/third", "@/real/file", 1 },
		{ "@/self/x", "@/self", "@/self/x", 1 },
		{ "@/out", "@/out", "/etc/passwd", 1 },
		{ "@/root", "@/root", "/", 1 },
		{ "@/root/etc", "@/root", "/etc", 1 },
		{ "@/magic/etc", "@/magic", "/proc/self/root/etc", 1 },
		{ "/proc/self/root/etc", NULL, NULL, -ELOOP },
		{ "/proc/self", NULL, NULL, -ELOOP },
		{ "/proc/1/root", NULL, NULL, -ELOOP },
		{ "/proc/1/cwd/x", NULL, NULL, -ELOOP },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		char next[PATH_BYTES] = "untouched", link[PATH_BYTES] = "untouched";
		int r = beneath_next(BENEATH_HOST, test_tree(cases[i].path), next, link);

		if (r != cases[i].code)
			fail_msg("%s: %d, not %d", cases[i].path, r, cases[i].code);
		assert_string_equal(link, r == 1 ? test_tree(cases[i].link) : "untouched");
		if (r == 1)
			assert_string_equal(next, test_tree(cases[i].next));
	}
}

/* A descriptor's number is in no link's text: only following would tell. */
static void test_next_of_descriptors(void **state)
{
	char path[64], next[PATH_BYTES];
	auto_fd fd = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d/passwd", (int)getpid(), fd);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(try_open(path), -ELOOP);
	assert_int_equal(beneath_next(BENEATH_HOST, path, next, NULL), -ELOOP);
}

/* As long as a path can be, through a link that makes it longer than that. */
static void test_long(void **state)
{
	char path[PATH_BYTES], target[3000], next[PATH_BYTES];
	size_t n;

	(void)state;
	memset(target, 'a', sizeof(target) - 1);
	for (size_t i = 200; i < sizeof(target) - 1; i += 200)
		target[i] = '/';
	target[sizeof(target) - 1] = '\0';
	test_tree_link("@/long", target);
	n = (size_t)snprintf(path, sizeof(path), "%s", test_tree("@/long"));
	while (n < 1500)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/b");
	assert_int_equal(beneath_next(BENEATH_HOST, path, next, NULL), -ENAMETOOLONG);
	n = (size_t)snprintf(path, sizeof(path), "%s/", test_tree("@"));
	memset(path + n, 'c', 300);
	path[n + 300] = '\0';
	assert_int_equal(try_open(path), -ENAMETOOLONG);
	/* Two thousand names, one of them a link. */
	n = (size_t)snprintf(path, sizeof(path), "%s", test_tree("@/folder"));
	while (n + 3 < sizeof(path))
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
	assert_int_equal(beneath_next(BENEATH_HOST, path, next, NULL), 1);
}

static void read_back(int fd, const char *text)
{
	char found[64] = "";
	auto_fd opened = -1;

	assert_int_equal(beneath_reopen(fd, O_RDONLY, &opened), 0);
	assert_true(read(opened, found, sizeof(found) - 1) >= 0);
	assert_string_equal(found, text);
	assert_true(fcntl(opened, F_GETFD) & FD_CLOEXEC);
}

/* What was opened stays that, whatever becomes of its name. */
static void test_reopen(void **state)
{
	auto_fd fd = -1;

	(void)state;
	test_tree_file("@/moving", "first");
	assert_int_equal(beneath_open(BENEATH_HOST, test_tree("@/moving"), &fd), 0);
	read_back(fd, "first");
	assert_int_equal(rename(test_tree("@/moving"), test_tree("@/moved")), 0);
	test_tree_link("@/moving", "/etc/passwd");
	read_back(fd, "first");
	assert_int_equal(unlink(test_tree("@/moved")), 0);
	read_back(fd, "first");
}

/*
 * A folder can be moved while the kernel is on its way through it, and what is found then never lay
 * where the path says. That happens too seldom to wait for: the answer of /proc is changed here
 * instead.
 */
static unsigned moves;

ssize_t __real_readlink(const char *path, char *out, size_t size);
ssize_t __wrap_readlink(const char *path, char *out, size_t size);

ssize_t __wrap_readlink(const char *path, char *out, size_t size)
{
	ssize_t n = __real_readlink(path, out, size);

	if (moves == 0 || n < 0 || (size_t)n + 10 > size)
		return n;
	moves--;
	memcpy(out + n, " (deleted)", 10);
	return n + 10;
}

static void test_moved(void **state)
{
	(void)state;
	moves = 3;
	assert_int_equal(try_open("@/real/file"), 0);
	assert_int_equal(moves, 0);
	moves = 1000000;
	assert_int_equal(try_open("@/real/file"), -EBUSY);
	assert_true(moves > 0);
	moves = 0;
}

/* A FIFO without anybody at its other end: a plain open() would wait for ever. */
static void test_fifo(void **state)
{
	auto_fd fd = -1, opened = -1;

	(void)state;
	assert_int_equal(mkfifo(test_tree("@/fifo"), 0600), 0);
	assert_int_equal(beneath_open(BENEATH_HOST, test_tree("@/fifo"), &fd), 0);
	assert_int_equal(beneath_reopen(fd, O_RDONLY, &opened), 0);
}

/* A thread with descriptors of its own: the same number means another file in its process. */
static void *open_apart(void *data)
{
	int *r = data, fd = -1;
	struct stat opened, named;

	*r = -1;
	if (unshare(CLONE_FILES) < 0)
		return NULL;
	*r = beneath_open(BENEATH_HOST, test_tree("@/real/file"), &fd);
	if (*r == 0)
		*r = beneath_reopen(fd, O_RDONLY, &fd);
	if (*r == 0 && (fstat(fd, &opened) < 0 || stat(test_tree("@/real/file"), &named) < 0 ||
			       opened.st_ino != named.st_ino))
		*r = -1;
	return NULL;
}

static void test_thread(void **state)
{
	pthread_t thread;
	int r = -1;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, open_apart, &r), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(r, 0);
}

/* A kernel before 5.6, as far as one can see. */
static int open_without_openat2(void)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ROWS(code), .filter = (void *)code };
	char next[PATH_BYTES];
	int fd = -1;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 1;
	if (beneath_open(BENEATH_HOST, test_tree("@/real/file"), &fd) != -ENOSYS || fd != -1)
		return 2;
	return beneath_next(BENEATH_HOST, test_tree("@/file"), next, NULL) == -ENOSYS ? 0 : 3;
}

static void test_no_openat2(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(open_without_openat2());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Grants */

/* What the owner wrote: "read PATTERN", "write PATTERN", "deny PATTERN", "danger PATTERN". */
static struct permissions *granted(const char *const *lines)
{
	struct permissions *p = permissions_new();

	assert_non_null(p);
	for (; *lines; lines++) {
		char word[16];
		const char *pattern = strchr(*lines, ' ') + 1;
		struct grant_list *list;

		(void)snprintf(word, sizeof(word), "%.*s", (int)(pattern - *lines - 1), *lines);
		list = strcmp(word, "read") == 0    ? &p->fs_read
		       : strcmp(word, "write") == 0 ? &p->fs_write
		       : strcmp(word, "deny") == 0  ? &p->fs_deny
						    : &p->dangerously_allow;
		assert_int_equal(permissions_add(p, list, test_tree(pattern), NULL), 0);
	}
	return p;
}

/* The folder of the test is the home: links in it, and nowhere else, are the owner's. */
static struct variables variables;
static const struct policy_options options = { .variables = &variables };

/* As it is resolved if agents may write what is granted here. */
static struct policy *compile(struct permissions *p)
{
	const struct permissions *layers[] = { p };
	struct policy *writable = NULL, *policy = NULL;
	struct error e = { 0 };
	char home[PATH_BYTES];

	(void)snprintf(home, sizeof(home), "%s", test_tree("@"));
	variables.values[VARIABLE_HOME] = home;
	if (policy_new(&writable, layers, 1, &options, &e) < 0 ||
		followed_grants(p, &variables, writable, BENEATH_HOST, &e) < 0 ||
		policy_new(&policy, layers, 1, &options, &e) < 0)
		fail_msg("%s", e.text);
	variables.values[VARIABLE_HOME] = "/home/nobody-here";
	policy_free(writable);
	permissions_free(p);
	return policy;
}

static bool allows(const struct policy *policy, enum operation op, const char *path)
{
	const struct request r = { .op = op, .target = test_tree(path) };
	struct decision d;

	assert_int_equal(policy_decide(policy, &r, &d), 0);
	return d.verdict == VERDICT_ALLOW;
}

static void test_grants(void **state)
{
	static const struct {
		const char *lines[5], *path;
		bool read, write;
	} cases[] = {
		/* The owner's links lead where they lead, each name on the way too. */
		{ { "read @/folder/**" }, "@/folder/file", true, false },
		{ { "read @/folder/**" }, "@/real/file", true, false },
		{ { "read @/folder/**" }, "@/other/file", false, false },
		{ { "write @/absolute/**" }, "@/real/new", true, true },
		{ { "read @/first/*.txt" }, "@/second/a.txt", true, false },
		{ { "write @/real/*.txt" }, "@/real/a.txt", true, true },
		{ { "write @/real/*.txt" }, "@/real/a.c", false, false },
		{ { "read @/first/*.txt" }, "@/third/a.txt", true, false },
		{ { "read @/first/*.txt" }, "@/real/a.txt", true, false },
		{ { "read @/first/*.txt" }, "@/real/a.c", false, false },
		{ { "read @/first/**/x" }, "@/real/a/b/x", true, false },
		{ { "read @/{first,other}/x" }, "@/real/x", true, false },
		{ { "read @/file" }, "@/real/file", true, false },
		{ { "read @/dangling" }, "@/nowhere/new", true, false },
		{ { "read @/root/etc/**" }, "/etc/hostname", true, false },
		{ { "read @/fold*/file" }, "@/real/file", false, false },
		{ { "read @/late/**" }, "@/other/x", false, false },
		{ { "read @/self/**" }, "@/other/x", false, false },
		{ { "read /proc/self/**" }, "/proc/1/status", false, false },
		/* Deeper in it a link may be a command's of earlier. */
		{ { "read @/real/up/**" }, "@/other/file", false, false },
		/* One that an agent can replace grants nothing but its own name. */
		{ { "read @/folder/**", "write @/**" }, "/etc/hostname", false, false },
		{ { "read @/out", "write @/**" }, "/etc/passwd", false, false },
		{ { "read @/out" }, "/etc/passwd", true, false },
		{ { "read @/out", "write @/out" }, "/etc/passwd", true, false },
		{ { "read @/out", "write @/out/**" }, "/etc/passwd", true, false },
		{ { "read @/root/etc/**", "write @/root/tmp/x" }, "/etc/hostname", true, false },
		{ { "read @/real/up/**", "write @/**" }, "/etc/hostname", false, false },
		{ { "read @/out", "write @" }, "/etc/passwd", false, false },
		{ { "read @/out", "write @/o*" }, "/etc/passwd", false, false },
		{ { "read @/out", "write @/other/**" }, "/etc/passwd", true, false },
		/* A trusted link to one that is not. */
		{ { "read @/jump/**", "write @/real/**" }, "@/real/hop/x", true, true },
		{ { "read @/jump/**", "write @/real/**" }, "/etc/hostname", false, false },
		/* A denial holds wherever. */
		{ { "write @/**", "deny @/file" }, "@/real/file", false, false },
		{ { "write @/**", "deny @/folder/**" }, "@/real/file", false, false },
		{ { "write @/**", "deny @/folder/*.key" }, "@/real/a.key", false, false },
		{ { "write @/**", "deny @/folder/*.key" }, "@/real/a.txt", true, true },
	};

	(void)state;
	test_tree_link("@/real/hop", "/etc");
	test_tree_link("@/jump", "real/hop");
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct policy *policy = compile(granted(cases[i].lines));

		if (allows(policy, OPERATION_FS_READ, cases[i].path) != cases[i].read ||
			allows(policy, OPERATION_FS_WRITE, cases[i].path) != cases[i].write)
			fail_msg("%s: %s", cases[i].lines[0], cases[i].path);
		policy_free(policy);
	}
}

/* An entry that must match several patterns: each by any of its names. */
static void test_meets(void **state)
{
	const char *both[] = { test_tree("@/folder/**"), test_tree("@/absolute/f*") };
	struct permissions *p = permissions_new();
	struct policy *policy;

	(void)state;
	assert_int_equal(permissions_add_all(p, &p->fs_read, both, 2, NULL), 0);
	policy = compile(p);
	assert_true(allows(policy, OPERATION_FS_READ, "@/real/file"));
	assert_false(allows(policy, OPERATION_FS_READ, "@/real/x"));
	assert_false(allows(policy, OPERATION_FS_READ, "@/folder/file"));
	policy_free(policy);
}

static void add_rule(struct permissions *p, enum verdict action, const char *pattern)
{
	struct rule rule = { .id = "r", .action = action, .operations = 1U << OPERATION_FS_READ };

	assert_int_equal(permissions_add(p, &rule.patterns, pattern, NULL), 0);
	assert_int_equal(permissions_add_rule(p, &rule), 0);
}

/* Rules, and layers inside of permissions. */
static void test_rules(void **state)
{
	struct permissions *p = permissions_new(), *layer = permissions_new();
	struct policy *policy;

	(void)state;
	add_rule(layer, VERDICT_ALLOW, test_tree("@/folder/**"));
	add_rule(layer, VERDICT_ASK, test_tree("@/absolute/*.key"));
	assert_int_equal(permissions_add_layer(p, layer), 0);
	policy = compile(p);
	assert_true(allows(policy, OPERATION_FS_READ, "@/real/file"));
	assert_false(allows(policy, OPERATION_FS_READ, "@/real/a.key"));
	assert_false(allows(policy, OPERATION_FS_READ, "@/other/x"));
	policy_free(policy);
	permissions_free(layer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_next_of_descriptors),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_reopen),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_no_openat2),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_meets),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, make_tree, test_tree_remove);
}
