/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing files through an enclave: what is written and deleted, and what must not be; and grants
 * whose names are links.
 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-open.h"

static const char *const usual[] = { "write @/in/**", "read @/look/**", NULL };

static int make_tree(void **state)
{
	if (test_tree_make(state) < 0)
		return -1;
	(void)umask(027);
	test_tree_folder("@/in");
	test_tree_folder("@/in/deep");
	test_tree_folder("@/look");
	test_tree_folder("@/out");
	test_tree_file("@/look/file", "look");
	test_tree_file("@/out/file", "SECRET");
	return 0;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(test_tree(path), &st), 0);
	return st.st_mode;
}

static int count(const char *path)
{
	DIR *dir = opendir(test_tree(path));
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n - 2;
}

static void test_write(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	assert_int_equal(test_files_write(enclave, "@/in/new", "first"), 0);
	assert_true(test_tree_says("@/in/new", "first"));
	assert_int_equal(mode_of("@/in/new"), S_IFREG | 0640);
	assert_int_equal(test_files_write(enclave, "@/in/new", "second"), 0);
	assert_true(test_tree_says("@/in/new", "second"));
	assert_int_equal(
		corral_enclave_fs_write(enclave, NULL, test_tree("@/in/new"), NULL, 0, NULL), 0);
	assert_true(test_tree_says("@/in/new", ""));
	assert_int_equal(count("@/in"), 2);
	assert_int_equal(test_files_delete(enclave, "@/in/new"), 0);
	assert_true(test_tree_says("@/in/new", NULL));
	corral_enclave_free(enclave);
}

/* Permission bits stay; what would let it run as somebody else does not. */
static void test_mode(void **state)
{
	static const unsigned modes[][2] = { { 0600, 0600 }, { 0755, 0755 }, { 0444, 0444 },
		{ 0666, 0666 }, { 04755, 0755 }, { 02755, 0755 }, { 01777, 0777 }, { 0, 0 } };
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	test_tree_file("@/in/mode", "");
	for (size_t i = 0; i < ROWS(modes); i++) {
		assert_int_equal(chmod(test_tree("@/in/mode"), modes[i][0]), 0);
		assert_int_equal(test_files_write(enclave, "@/in/mode", "x"), 0);
		assert_int_equal(mode_of("@/in/mode"), S_IFREG | modes[i][1]);
	}
	assert_int_equal(unlink(test_tree("@/in/mode")), 0);
	corral_enclave_free(enclave);
}

/* Root writes for others: their file stays theirs. */
static void test_owner(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	struct stat st;

	(void)state;
	test_tree_file("@/in/theirs", "");
	if (chown(test_tree("@/in/theirs"), 1234, 4321) < 0) {
		assert_int_equal(errno, EPERM);
	} else {
		assert_int_equal(test_files_write(enclave, "@/in/theirs", "x"), 0);
		assert_int_equal(stat(test_tree("@/in/theirs"), &st), 0);
		assert_int_equal(st.st_uid, 1234);
		assert_int_equal(st.st_gid, 4321);
	}
	assert_int_equal(unlink(test_tree("@/in/theirs")), 0);
	corral_enclave_free(enclave);
}

/* Whatever is refused leaves all as it was. */
static void test_refused(void **state)
{
	static const struct {
		const char *path;
		int write, delete;
	} cases[] = {
		{ "@/out/file", -EACCES, -EACCES },
		{ "@/out/new", -EACCES, -EACCES },
		{ "@/look/file", -EACCES, -EACCES },
		{ "@/look/new", -EACCES, -EACCES },
		{ "@/in/../out/file", -EINVAL, -EINVAL },
		{ "in/file", -EINVAL, -EINVAL },
		{ "@/in/none/file", -ENOENT, -ENOENT },
		{ "@/in/plain/file", -ENOTDIR, -ENOTDIR },
		{ "@/in/out-folder/file", -EACCES, -EACCES },
		{ "@/in/out-folder/new", -EACCES, -EACCES },
		{ "@/in/to-look", -EACCES, 0 },
		{ "@/in/to-out", -EACCES, 0 },
		{ "@/in/to-missing", -EACCES, 0 },
		{ "@/in/circle/x", -ELOOP, -ELOOP },
		{ "@/in/circle", -ELOOP, 0 },
		{ "@/in/full", -EISDIR, -ENOTEMPTY },
		{ "@/in", -EISDIR, -ENOTEMPTY },
		{ "/", -EACCES, -EACCES },
	};
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	test_tree_file("@/in/plain", "plain");
	test_tree_folder("@/in/full");
	test_tree_file("@/in/full/file", "");
	test_tree_link("@/in/out-folder", "@/out");
	test_tree_link("@/in/to-look", "../look/file");
	test_tree_link("@/in/to-out", "@/out/file");
	test_tree_link("@/in/to-missing", "@/out/new");
	test_tree_link("@/in/circle", "circle");
	for (size_t i = 0; i < ROWS(cases); i++) {
		int w = test_files_write(enclave, cases[i].path, "MINE");
		int d = test_files_delete(enclave, cases[i].path);

		if (w != cases[i].write)
			fail_msg("write %s: %d, not %d", cases[i].path, w, cases[i].write);
		if (d != cases[i].delete &&!(strstr(cases[i].path, "circle/x") && d == -ENOENT))
			fail_msg("delete %s: %d, not %d", cases[i].path, d, cases[i].delete);
	}
	assert_true(test_tree_says("@/out/file", "SECRET"));
	assert_true(test_tree_says("@/look/file", "look"));
	assert_int_equal(count("@/out"), 1);
	assert_int_equal(count("@/look"), 1);
	corral_enclave_free(enclave);
}

/* The root is a folder, even for those who may write everywhere. */
static void test_root(void **state)
{
	static const char *const all[] = { "write /**", NULL };
	struct corral_enclave *enclave = test_files_enclave(all);

	(void)state;
	assert_int_equal(test_files_write(enclave, "/", "x"), -EISDIR);
	assert_int_equal(test_files_delete(enclave, "/"), -EISDIR);
	corral_enclave_free(enclave);
}

/* What a link names is written in its own folder, and the link stays one. */
static void test_write_by_link(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	test_tree_file("@/in/deep/target", "old");
	test_tree_link("@/in/link", "deep/target");
	test_tree_link("@/in/dangling", "deep/made");
	test_tree_link("@/in/folder", "deep");
	assert_int_equal(test_files_write(enclave, "@/in/link", "new"), 0);
	assert_true(test_tree_says("@/in/deep/target", "new"));
	assert_int_equal(mode_of("@/in/link") & S_IFMT, S_IFLNK);
	assert_int_equal(test_files_write(enclave, "@/in/dangling", "made"), 0);
	assert_true(test_tree_says("@/in/deep/made", "made"));
	assert_int_equal(test_files_write(enclave, "@/in/folder/made", "again"), 0);
	assert_true(test_tree_says("@/in/deep/made", "again"));
	/* Deleting takes the link, not what it names. */
	assert_int_equal(test_files_delete(enclave, "@/in/link"), 0);
	assert_true(test_tree_says("@/in/deep/target", "new"));
	assert_int_equal(test_files_delete(enclave, "@/in/folder/made"), 0);
	assert_true(test_tree_says("@/in/deep/made", NULL));
	assert_int_equal(test_files_delete(enclave, "@/in/dangling"), 0);
	assert_int_equal(test_files_delete(enclave, "@/in/folder"), 0);
	assert_int_equal(mode_of("@/in/deep") & S_IFMT, S_IFDIR);
	assert_int_equal(test_files_delete(enclave, "@/in/deep/target"), 0);
	assert_int_equal(test_files_delete(enclave, "@/in/deep"), 0);
	assert_int_equal(access(test_tree("@/in/deep"), F_OK), -1);
	corral_enclave_free(enclave);
}

/* The other name of a file keeps what it had. */
static void test_hard_link(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	test_tree_hard_link("@/in/second", "@/out/file");
	assert_int_equal(test_files_write(enclave, "@/in/second", "MINE"), 0);
	assert_true(test_tree_says("@/in/second", "MINE"));
	assert_true(test_tree_says("@/out/file", "SECRET"));
	test_tree_hard_link("@/in/third", "@/out/file");
	assert_int_equal(test_files_delete(enclave, "@/in/third"), 0);
	assert_true(test_tree_says("@/out/file", "SECRET"));
	corral_enclave_free(enclave);
}

static void test_limit(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave;

	(void)state;
	o.max_file_bytes = 4;
	enclave = test_files_enclave_of(usual, &o);
	test_tree_file("@/in/limited", "old");
	assert_int_equal(test_files_write(enclave, "@/in/limited", "12345"), -EFBIG);
	assert_true(test_tree_says("@/in/limited", "old"));
	assert_int_equal(test_files_write(enclave, "@/in/limited", "1234"), 0);
	assert_true(test_tree_says("@/in/limited", "1234"));
	corral_enclave_free(enclave);
}

/* What fails in the middle leaves the old file, and no other beside it. */
static int stop_in_the_middle(struct corral_enclave *enclave, const char *text, int before)
{
	const struct rlimit limit = { 2, 2 };

	(void)signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 1;
	if (test_files_write(enclave, "@/in/limited", "12345") != -EFBIG || test_files_denied)
		return 2;
	if (test_files_write(enclave, "@/in/another", "12345") != -EFBIG)
		return 3;
	return test_tree_says("@/in/limited", text) && count("@/in") == before ? 0 : 4;
}

static int fail_in_the_middle(struct corral_enclave *enclave, int before)
{
	return stop_in_the_middle(enclave, "1234", before);
}

/* A file system that has no files without a name. */
static int write_without_tmpfile(struct corral_enclave *enclave, int before)
{
	const unsigned flags = offsetof(struct seccomp_data, args[2]) +
			       (__BYTE_ORDER == __BIG_ENDIAN ? sizeof(uint32_t) : 0);
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ROWS(code), .filter = (void *)code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ||
		open(test_tree("@/in"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) != -1)
		return 1;
	if (test_files_write(enclave, "@/in/limited", "5678") < 0 ||
		!test_tree_says("@/in/limited", "5678") || mode_of("@/in/limited") != 0100640)
		return 2;
	if (test_files_write(enclave, "@/in/another", "new") < 0 ||
		!test_tree_says("@/in/another", "new") || mode_of("@/in/another") != 0100640)
		return 3;
	if (test_files_delete(enclave, "@/in/another") < 0 || count("@/in") != before)
		return 4;
	return stop_in_the_middle(enclave, "5678", before);
}

/* In a process of its own, so that limits end with it. */
static void run_apart(int (*child)(struct corral_enclave *enclave, int before))
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	int before = count("@/in"), status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child(enclave, before));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(count("@/in"), before);
	corral_enclave_free(enclave);
}

static void test_failing(void **state)
{
	(void)state;
	run_apart(fail_in_the_middle);
}

static void test_without_tmpfile(void **state)
{
	(void)state;
	run_apart(write_without_tmpfile);
}

/* Grants through links */

static void expect_read(struct corral_enclave *enclave, const char *path, int code)
{
	int r = test_files_read(enclave, path, NULL);

	if (r != code)
		fail_msg("%s: %d, not %d: %s", path, r, code, test_files_message);
}

/* The owner's links: by the name that was granted, and by the one that is real. */
static void test_granted_link(void **state)
{
	static const char *const lines[] = { "read @/home/run/x/**", "write @/home/work/**", NULL };
	struct corral_enclave *enclave;
	const char *home = getenv("HOME");
	char before[4096];

	(void)state;
	(void)snprintf(before, sizeof(before), "%s", home ? home : "/");
	assert_int_equal(setenv("HOME", test_tree("@/home"), 1), 0);
	test_tree_folder("@/real");
	test_tree_folder("@/real/x");
	test_tree_folder("@/disk");
	test_tree_folder("@/disk/work");
	test_tree_folder("@/home");
	test_tree_file("@/real/x/file", "fine");
	test_tree_file("@/real/other", "SECRET");
	test_tree_link("@/home/run", "../real");
	test_tree_link("@/home/work", "@/disk/work");
	enclave = test_files_enclave(lines);
	expect_read(enclave, "@/home/run/x/file", 0);
	expect_read(enclave, "@/real/x/file", 0);
	expect_read(enclave, "@/home/run/other", -EACCES);
	expect_read(enclave, "@/real/other", -EACCES);
	assert_int_equal(test_files_write(enclave, "@/home/work/new", "mine"), 0);
	assert_true(test_tree_says("@/disk/work/new", "mine"));
	assert_int_equal(test_files_write(enclave, "@/home/run/x/file", "mine"), -EACCES);
	corral_enclave_free(enclave);
	assert_int_equal(setenv("HOME", before, 1), 0);
}

static void change(
	struct corral_enclave *enclave, bool grant, enum corral_operation op, const char *pattern)
{
	const char *text = test_tree(pattern);
	int r = grant ? corral_enclave_grant(enclave, test_files_token, op, text, NULL, NULL)
		      : corral_enclave_revoke(enclave, test_files_token, op, text, NULL, NULL);

	assert_int_equal(r, 0);
}

/*
 * A granted folder that lies where somebody may write becomes a link. Neither the next change of
 * the policy nor taking back the right to write makes that link count.
 */
static void test_replaced_grant(void **state)
{
	static const char *const lines[] = { "write @/w/**", "read @/w/sub/**", NULL };
	struct corral_enclave *enclave;

	(void)state;
	test_tree_folder("@/w");
	test_tree_folder("@/w/sub");
	test_tree_file("@/w/sub/file", "fine");
	enclave = test_files_enclave(lines);
	expect_read(enclave, "@/w/sub/file", 0);
	assert_int_equal(rename(test_tree("@/w/sub"), test_tree("@/w/away")), 0);
	test_tree_link("@/w/sub", "@/out");
	expect_read(enclave, "@/w/sub/file", -EACCES);
	change(enclave, true, CORRAL_FS_READ, "@/look/**");
	expect_read(enclave, "@/w/sub/file", -EACCES);
	expect_read(enclave, "@/out/file", -EACCES);
	change(enclave, false, CORRAL_FS_WRITE, "@/w/**");
	expect_read(enclave, "@/w/sub/file", -EACCES);
	change(enclave, true, CORRAL_FS_READ, "@/w/other");
	expect_read(enclave, "@/w/sub/file", -EACCES);
	expect_read(enclave, "@/out/file", -EACCES);
	corral_enclave_free(enclave);
}

/* The same where the place that could be written was named by a link. */
static void test_replaced_behind_link(void **state)
{
	static const char *const lines[] = { "write @/home/work/**", "read @/disk/work/sub/**",
		NULL };
	struct corral_enclave *enclave;

	(void)state;
	test_tree_link("@/disk/work/sub", "@/out");
	enclave = test_files_enclave(lines);
	expect_read(enclave, "@/disk/work/sub/file", -EACCES);
	change(enclave, false, CORRAL_FS_WRITE, "@/home/work/**");
	expect_read(enclave, "@/disk/work/sub/file", -EACCES);
	expect_read(enclave, "@/out/file", -EACCES);
	corral_enclave_free(enclave);
}

/* What is denied by a name with links is denied where it is. */
static void test_denied_link(void **state)
{
	static const char *const lines[] = { "write @/**", "deny @/home/run/x/**", NULL };
	struct corral_enclave *enclave = test_files_enclave(lines);

	(void)state;
	expect_read(enclave, "@/home/run/x/file", -EACCES);
	expect_read(enclave, "@/real/x/file", -EACCES);
	expect_read(enclave, "@/real/other", 0);
	assert_int_equal(test_files_write(enclave, "@/real/x/file", "MINE"), -EACCES);
	assert_int_equal(test_files_delete(enclave, "@/real/x/file"), -EACCES);
	assert_true(test_tree_says("@/real/x/file", "fine"));
	corral_enclave_free(enclave);
}

/* The bits that a new file gets; those of an old one stay. */
static void test_mode_of_a_new_file(void **state)
{
	static const char path[] = "@/in/with-mode";
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	assert_int_equal(
		corral_enclave_fs_write_file(enclave, NULL, test_tree(path), 06711, "a", 1, NULL),
		0);
	assert_int_equal(mode_of(path), S_IFREG | 0710);
	assert_int_equal(
		corral_enclave_fs_write_file(enclave, NULL, test_tree(path), 0600, "b", 1, NULL),
		0);
	assert_int_equal(mode_of(path), S_IFREG | 0710);
	assert_true(test_tree_says(path, "b"));
	assert_int_equal(test_files_delete(enclave, path), 0);
	corral_enclave_free(enclave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode_of_a_new_file),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_write_by_link),
		cmocka_unit_test(test_hard_link),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_without_tmpfile),
		cmocka_unit_test(test_granted_link),
		cmocka_unit_test(test_replaced_grant),
		cmocka_unit_test(test_replaced_behind_link),
		cmocka_unit_test(test_denied_link),
	};

	return cmocka_run_group_tests(tests, make_tree, test_tree_remove);
}
