/* SPDX-License-Identifier: Apache-2.0 */
/* The builder: what it refuses and with which words, and what a sandbox has become of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/sandbox/test/test-common.h"

static struct corral_permissions *parse(const char *text)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;

	if (corral_permissions_parse(&p, "test.yaml", text, strlen(text), &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return p;
}

/* Fails to build with that code, and says that. */
static void refuses(struct corral_builder *b, int code, const char *text)
{
	struct corral_sandbox *s = NULL;
	struct corral_error *e = NULL;

	assert_int_equal(corral_builder_build(b, &s, &e), code);
	assert_null(s);
	test_says(e, text);
	corral_builder_free(b);
}

static struct corral_builder *empty(void)
{
	struct corral_builder *b = NULL;

	assert_int_equal(corral_builder_new(&b), 0);
	return b;
}

/* The first failure is kept, whatever comes later. */
static void test_bad_grants(void **state)
{
	static char long_variable[4101] = "BIG=";
	static const struct {
		int (*call)(struct corral_builder *b, const char *text);
		const char *argument, *says;
		int code;
	} cases[] = {
		{ corral_builder_allow_fs_read, "a/../b", "a/../b", -EINVAL },
		{ corral_builder_allow_fs_read, NULL, "no pattern", -EINVAL },
		{ corral_builder_allow_fs_write, "$WRK_DIR/x", "WORK_DIR", -EINVAL },
		{ corral_builder_deny_fs, "", "", -EINVAL },
		{ corral_builder_allow_network, "host:99999", "99999", -EINVAL },
		{ corral_builder_allow_env, long_variable, "BIG has 4100 bytes", -E2BIG },
		{ corral_builder_allow_env, "A B", "A B", -EINVAL },
		{ corral_builder_work_dir, "relative", "absolute", -EINVAL },
		{ corral_builder_work_dir, NULL, "absolute", -EINVAL },
		{ corral_builder_data_dir, "/a/../b", "absolute", -EINVAL },
		{ corral_builder_warden, "corral-warden", "absolute", -EINVAL },
	};

	(void)state;
	memset(long_variable + 4, 'x', sizeof(long_variable) - 5);
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct corral_builder *b = empty();

		assert_int_equal(cases[i].call(b, cases[i].argument), cases[i].code);
		assert_int_equal(corral_builder_allow_fs_read(b, "/usr/**"), 0);
		assert_true(corral_builder_allow_fs_read(b, "later/../mistake") < 0);
		refuses(b, cases[i].code, cases[i].says);
	}
}

/* What would not be lent is not promised; a layer that narrows may name secrets. */
static void test_secrets(void **state)
{
	static const char text[] = "fs: {read: [/usr/**]}\n"
				   "secrets: {GITHUB_TOKEN: {hosts: [\"api.github.com:443\"]}}\n";
	const char *file = test_file("secrets.yaml", text, 0600);
	struct corral_permissions *p = NULL;
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(corral_builder_from_manifest(&b, file, &e), 0);
	refuses(b, -EOPNOTSUPP, "GITHUB_TOKEN would be lent to commands, and only `corral run`");
	assert_int_equal(
		corral_permissions_parse(&p, "secrets.yaml", text, sizeof(text) - 1, &e), 0);
	b = empty();
	assert_int_equal(corral_builder_restrict(b, p), 0);
	corral_sandbox_free(test_build(b));
	corral_permissions_free(p);
}

static void test_bad_folders(void **state)
{
	struct corral_builder *b = empty();

	(void)state;
	assert_int_equal(corral_builder_work_dir(b, "/no/such/folder"), 0);
	refuses(b, -ENOENT, "/no/such/folder");
	b = empty();
	assert_int_equal(corral_builder_work_dir(b, "/etc/passwd"), 0);
	refuses(b, -ENOTDIR, "is not a folder");
	b = empty();
	assert_int_equal(corral_builder_data_dir(b, "/proc/x/y"), 0);
	refuses(b, -ENOENT, "cannot create the folder");
	b = empty();
	assert_int_equal(corral_builder_variable(b, "NO_DIR", "/x"), -EINVAL);
	refuses(b, -EINVAL, "NO_DIR");
	b = empty();
	assert_int_equal(corral_builder_allow_fs_read(b, "$SHARED_DIR/**"), 0);
	refuses(b, -ENOENT, "SHARED_DIR");
}

static void test_bad_wardens(void **state)
{
	struct corral_builder *b = empty();

	(void)state;
	assert_int_equal(corral_builder_warden(b, "/no/such/warden"), 0);
	refuses(b, -ENOENT, "corral-warden");
	b = empty();
	assert_int_equal(corral_builder_warden(b, "/usr/bin/true"), 0);
	refuses(b, -ECONNRESET, "died");
	b = empty();
	assert_int_equal(corral_builder_with_broker(b, "/run/broker.sock"), -EOPNOTSUPP);
	refuses(b, -EOPNOTSUPP, "broker");
	assert_int_equal(test_count_children(NULL, NULL), 0);
}

static void test_manifests(void **state)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(corral_builder_from_manifest(&b, "/no/such/file", &e), -ENOENT);
	test_says(e, "/no/such/file");
	assert_int_equal(corral_builder_from_manifest(&b, "/usr/bin", &e), -ENOENT);
	test_says(e, "no manifest");
	assert_true(corral_builder_from_manifest(
			    &b, test_file("bad.yaml", "fs: {reed: [/x]}\n", 0600), &e) < 0);
	assert_int_equal(corral_error_line(e), 1);
	test_says(e, "fs.read");
	assert_null(b);
	assert_int_equal(
		corral_builder_from_manifest(&b,
			test_file("good.yaml", "fs: {read: [/usr/**, $SKILL_DIR/**]}\n", 0600), &e),
		0);
	s = test_build(b);
	(void)test_file("seen", "yes\n", 0644);
	assert_int_equal(setenv("SEEN", test_folder, 1), 0);
	corral_sandbox_free(s);
}

/* What a sandbox may do, by what happens in it. */
static void test_meaning(void **state)
{
	struct corral_permissions *wide = parse("fs: {read: [/usr/**, /etc/hostname, /etc/issue]}");
	struct corral_permissions *narrow =
		parse("fs: {read: [/usr/**, /etc/hostname, /etc/hosts]}");
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;

	(void)state;
	assert_int_equal(corral_builder_from_permissions(&b, wide), 0);
	assert_int_equal(corral_builder_restrict(b, narrow), 0);
	/* Granted after the restriction, and still under it. */
	assert_int_equal(corral_builder_allow_fs_read(b, "/etc/debian_version"), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/etc/hosts"), 0);
	s = test_build(b);
	test_prints(s,
		"for f in hostname issue debian_version; do cat /etc/$f >/dev/null 2>&1 && echo "
		"$f; done; "
		":",
		"hostname\n", 0);
	corral_sandbox_free(s);

	b = empty();
	assert_int_equal(corral_builder_merge_permissions(b, wide), 0);
	assert_int_equal(corral_builder_deny_fs(b, "/etc/issue"), 0);
	s = test_build(b);
	test_prints(s,
		"for f in hostname issue; do cat /etc/$f >/dev/null 2>&1 && echo $f; done; :",
		"hostname\n", 0);
	corral_sandbox_free(s);
	corral_permissions_free(wide);
	corral_permissions_free(narrow);
}

/* A folder that may be read does not get onto the list of programs. */
static void test_grants_beside_a_list(void **state)
{
	struct corral_permissions *p =
		parse("{fs: {read: [/usr/lib/**, /usr/bin/id]}, exec: [id]}");
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;

	(void)state;
	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/usr/bin/**"), 0);
	s = test_build(b);
	assert_int_equal(
		corral_sandbox_execute_argv(s, (const char *[]){ "id", NULL }, NULL, NULL, NULL),
		0);
	assert_int_equal(
		corral_sandbox_execute_argv(s, (const char *[]){ "ls", NULL }, NULL, NULL, NULL),
		-EACCES);
	corral_sandbox_free(s);

	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	assert_int_equal(corral_builder_allow_exec(b, "ls"), 0);
	s = test_build(b);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "ls", "/usr", NULL }, NULL, NULL, NULL),
		0);
	corral_sandbox_free(s);

	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	assert_int_equal(corral_builder_restrict(b, p), 0);
	assert_int_equal(corral_builder_restrict_exec(b), 0);
	s = test_build(b);
	assert_int_equal(
		corral_sandbox_execute_argv(s, (const char *[]){ "id", NULL }, NULL, NULL, NULL),
		0);
	corral_sandbox_free(s);
	corral_permissions_free(p);

	b = test_builder();
	assert_int_equal(corral_builder_restrict_exec(b), 0);
	s = test_build(b);
	assert_int_equal(
		corral_sandbox_execute_argv(s, (const char *[]){ "id", NULL }, NULL, NULL, NULL),
		-EACCES);
	corral_sandbox_free(s);
}

static void test_environment(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;

	(void)state;
	assert_int_equal(setenv("TEST_SECRET", "secret", 1), 0);
	assert_int_equal(setenv("TEST_GRANTED", "granted", 1), 0);
	assert_int_equal(corral_builder_allow_env(b, "TEST_GRANTED"), 0);
	assert_int_equal(corral_builder_allow_env(b, "TEST_FIXED=value"), 0);
	s = test_build(b);
	/* Read when the sandbox was built. */
	assert_int_equal(setenv("TEST_GRANTED", "later", 1), 0);
	test_prints(s, "echo \"$TEST_SECRET,$TEST_GRANTED,$TEST_FIXED\"", ",granted,value\n", 0);
	corral_sandbox_free(s);
}

static void test_data_dir(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s;
	struct stat st;
	char folder[128], line[256];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/a/data", test_folder);
	assert_int_equal(corral_builder_data_dir(b, folder), 0);
	assert_int_equal(corral_builder_allow_fs_write(b, "$DATA_DIR/**"), 0);
	s = test_build(b);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	(void)snprintf(line, sizeof(line), "echo kept >%s/file", folder);
	test_prints(s, line, "", 0);
	corral_sandbox_free(s);
	(void)strcat(folder, "/file");
	assert_int_equal(access(folder, R_OK), 0);
}

/* Links that an earlier command could have left: folders, and grants. */
static void test_planted_links(void **state)
{
	struct corral_builder *b = empty();
	struct corral_sandbox *s = NULL;
	char link[128], says[400], pattern[140];

	(void)state;
	(void)snprintf(link, sizeof(link), "%s/planted", test_folder);
	assert_int_equal(symlink("/etc", link), 0);
	(void)snprintf(says, sizeof(says), "%s: it resolves to /etc through the symbolic link %s",
		link, link);
	assert_int_equal(corral_builder_work_dir(b, link), 0);
	refuses(b, -EPERM, says);
	b = empty();
	assert_int_equal(corral_builder_variable(b, "SHARED_DIR", link), 0);
	refuses(b, -EPERM, says);
	/* Nothing is made after one either. */
	b = empty();
	(void)snprintf(pattern, sizeof(pattern), "%s/no/such", link);
	assert_int_equal(corral_builder_data_dir(b, pattern), 0);
	refuses(b, -EPERM, "resolves to /etc/no/such");
	assert_int_equal(access("/etc/no", F_OK), -1);
	b = empty();
	(void)snprintf(pattern, sizeof(pattern), "%s/**", link);
	(void)snprintf(
		says, sizeof(says), "%s resolves to /etc through the symbolic link %s", link, link);
	assert_int_equal(corral_builder_allow_fs_read(b, pattern), 0);
	refuses(b, -EACCES, says);
	/* With its end granted by name it is no more than that. */
	b = test_builder();
	assert_int_equal(corral_builder_allow_fs_read(b, pattern), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/etc/**"), 0);
	assert_int_equal(corral_builder_build(b, &s, NULL), 0);
	corral_builder_free(b);
	corral_sandbox_free(s);
	assert_int_equal(unlink(link), 0);
}

/* A builder can be used again, and a work folder may be named by a link of the user's own. */
static void test_again(void **state)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s[2] = { NULL, NULL };
	char home[128], link[140], work[128], out[140];

	(void)state;
	(void)snprintf(home, sizeof(home), "%s/home", test_folder);
	(void)snprintf(link, sizeof(link), "%s/link", home);
	(void)snprintf(work, sizeof(work), "%s/work", test_folder);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(mkdir(work, 0700), 0);
	assert_int_equal(symlink(work, link), 0);
	assert_int_equal(corral_builder_variable(b, "HOME", home), 0);
	assert_int_equal(corral_builder_work_dir(b, link), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(corral_builder_build(b, &s[i], NULL), 0);
	assert_int_equal(unlink(link), 0);
	corral_builder_free(b);
	(void)snprintf(out, sizeof(out), "%s\n", work);
	for (int i = 0; i < 2; i++) {
		test_prints(s[i], "pwd", out, 0);
		corral_sandbox_free(s[i]);
	}
}

/* The example of a host: no work folder is given, and no skill is there. */
static void test_private_folder(void **state)
{
	struct corral_builder *b = empty();
	struct corral_sandbox *s = NULL;
	struct corral_result *r;
	char place[4096] = "";

	(void)state;
	assert_int_equal(corral_builder_allow_fs_read(b, "$SKILL_DIR/**"), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/usr/**"), 0);
	assert_int_equal(corral_builder_allow_fs_write(b, "$WORK_DIR/**"), 0);
	s = test_build(b);
	r = test_run(s,
		"pwd; ls -a ../skill | wc -l; mkdir -m 0 closed; ln -s /usr link; echo x >file",
		NULL);
	assert_int_equal(sscanf(corral_result_stdout(r, NULL), "%4095s\n2\n", place), 1);
	corral_result_free(r);
	assert_non_null(strstr(place, "/corral-work-"));
	test_prints(s, "cat file", "x\n", 0);
	assert_int_equal(access(place, F_OK), 0);
	corral_sandbox_free(s);
	*strrchr(place, '/') = '\0';
	assert_int_equal(access(place, F_OK), -1);
	assert_int_equal(access("/usr/bin", F_OK), 0);
}

/* Permissions of a skill's text: its folder is where its absolute name says. */
static void test_parsed_skill(void **state)
{
	static const char text[] = "---\nname: x\npermissions:\n  fs: {read: [$SKILL_DIR/**, "
				   "/usr/**], write: [$WORK_DIR/**]}\n---\n";
	struct corral_permissions *p = NULL, *copy = NULL;
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;
	char file[4200];

	(void)state;
	(void)test_file("words.txt", "hello\n", 0644);
	(void)snprintf(file, sizeof(file), "%s/SKILL.md", test_folder);
	assert_int_equal(corral_permissions_parse(&p, file, text, strlen(text), NULL), 0);
	assert_int_equal(corral_permissions_copy(&copy, p), 0);
	assert_int_equal(corral_builder_from_permissions(&b, copy), 0);
	s = test_build(b);
	(void)snprintf(file, sizeof(file), "cat %s/words.txt", test_folder);
	test_prints(s, file, "hello\n", 0);
	corral_sandbox_free(s);
	corral_permissions_free(copy);
	corral_permissions_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_grants),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_bad_folders),
		cmocka_unit_test(test_bad_wardens),
		cmocka_unit_test(test_manifests),
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_grants_beside_a_list),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_data_dir),
		cmocka_unit_test(test_planted_links),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_private_folder),
		cmocka_unit_test(test_parsed_skill),
	};

	return cmocka_run_group_tests_name("builder", tests, test_make_folder, test_remove_folder);
}
