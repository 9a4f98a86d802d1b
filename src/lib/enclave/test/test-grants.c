/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants whose names go through links. What the owner of the machine linked is meant where it
 * leads; what somebody linked whom the policy holds, now or before, is not followed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-common.h"
#include "lib/sandbox/test/test-common.h"

/* "@" stands for the test's folder. Four of them live at the same time. */
static const char *at(const char *text)
{
	static char paths[4][300];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s%s", text[0] == '@' ? test_folder : "",
		text + (text[0] == '@'));
	return path;
}

static int make_tree(void **state)
{
	static const char *const folders[] = { "real", "secret", "w" };

	if (test_make_folder(state) < 0)
		return -1;
	for (size_t i = 0; i < ROWS(folders); i++) {
		char path[300];

		(void)snprintf(path, sizeof(path), "%s/%s", test_folder, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	(void)test_file("real/file", "real", 0644);
	(void)test_file("secret/file", "secret", 0644);
	assert_int_equal(symlink("real", at("@/alias")), 0);
	return 0;
}

/* What a command reads there, or NULL. */
static const char *command_reads(struct corral_enclave *enclave, const char *path)
{
	static char text[64];
	const char *const argv[] = { "cat", at(path), NULL };
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;

	if (corral_enclave_shell_exec(enclave, NULL, argv, NULL, &result, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	(void)snprintf(text, sizeof(text), "%s", corral_result_stdout(result, NULL));
	corral_result_free(result);
	return text[0] ? text : NULL;
}

static int read_file(struct corral_enclave *enclave, const char *path)
{
	char *data = NULL;
	size_t len = 0;
	int r = corral_enclave_fs_read(enclave, NULL, at(path), &data, &len, NULL);

	corral_free(data);
	return r;
}

static void grant(struct corral_enclave *enclave, enum corral_operation op, const char *pattern)
{
	test_enclave_grant(enclave, op, at(pattern));
}

static void take_back(struct corral_enclave *enclave, enum corral_operation op, const char *pattern)
{
	test_enclave_revoke(enclave, op, at(pattern));
}

/* An enclave for a user whose home is the folder of the test. */
static struct corral_enclave *enclave_at_home(const char *policy)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_variable home = { "HOME", test_folder };

	o.variables = &home;
	o.n_variables = 1;
	return test_enclave(policy, &o);
}

/* In the home itself no command makes a link. Anywhere else one of earlier may have. */
static void test_a_link_of_earlier(void **state)
{
	struct corral_enclave *enclave = test_enclave("permissions: {exec: [cat]}", NULL);

	(void)state;
	grant(enclave, CORRAL_FS_READ, "@/alias/**");
	assert_int_equal(read_file(enclave, "@/alias/file"), -EACCES);
	assert_null(command_reads(enclave, "@/alias/file"));
	assert_int_equal(test_enclave_told(enclave, "session", NULL, "grants left out", NULL), 1);
	grant(enclave, CORRAL_FS_READ, "@/real/**");
	assert_int_equal(read_file(enclave, "@/alias/file"), 0);
	corral_enclave_free(enclave);
}

static void test_a_link_of_the_owner(void **state)
{
	struct corral_enclave *enclave = enclave_at_home(NULL);

	(void)state;
	grant(enclave, CORRAL_FS_READ, "@/alias/**");
	assert_int_equal(read_file(enclave, "@/alias/file"), 0);
	assert_int_equal(read_file(enclave, "@/real/file"), 0);
	assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
	test_enclave_grant(enclave, CORRAL_EXEC, "cat");
	assert_string_equal(command_reads(enclave, "@/alias/file"), "real");
	/* What is shown is what was granted, and so it is taken back as a whole. */
	take_back(enclave, CORRAL_FS_READ, "@/alias/**");
	assert_int_equal(read_file(enclave, "@/alias/file"), -EACCES);
	assert_int_equal(read_file(enclave, "@/real/file"), -EACCES);
	corral_enclave_free(enclave);
}

/* The agent may write in @/w, and wants a grant of @/w/sub to be one of @/secret. */
static void test_a_link_of_the_agent(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);

	(void)state;
	grant(enclave, CORRAL_FS_WRITE, "@/w/**");
	assert_int_equal(symlink("../secret", at("@/w/sub")), 0);
	grant(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_int_equal(read_file(enclave, "@/w/sub/file"), -EACCES);
	assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
	test_enclave_grant(enclave, CORRAL_EXEC, "cat");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	assert_null(command_reads(enclave, "@/secret/file"));
	/* Not after the right to write is gone, either: the link is still the agent's. */
	take_back(enclave, CORRAL_FS_READ, "@/w/sub/**");
	take_back(enclave, CORRAL_FS_WRITE, "@/w/**");
	grant(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_int_equal(read_file(enclave, "@/w/sub/file"), -EACCES);
	assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
	assert_null(command_reads(enclave, "@/w/sub/file"));
	assert_null(command_reads(enclave, "@/secret/file"));
	assert_int_equal(unlink(at("@/w/sub")), 0);
	/* Nor by a text that takes a detour. */
	take_back(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_int_equal(symlink("../real/../secret", at("@/w/sub")), 0);
	grant(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	assert_null(command_reads(enclave, "@/secret/file"));
	/* A glob that matches it. */
	take_back(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_int_equal(unlink(at("@/w/sub")), 0);
	assert_int_equal(symlink("../secret", at("@/w/sub")), 0);
	grant(enclave, CORRAL_FS_READ, "@/w/s*/**");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	/* A plain folder there is one, of course. */
	take_back(enclave, CORRAL_FS_READ, "@/w/s*/**");
	assert_int_equal(unlink(at("@/w/sub")), 0);
	assert_int_equal(mkdir(at("@/w/sub"), 0755), 0);
	(void)test_file("w/sub/file", "plain", 0644);
	grant(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_string_equal(command_reads(enclave, "@/w/sub/file"), "plain");
	assert_int_equal(unlink(at("@/w/sub/file")), 0);
	assert_int_equal(rmdir(at("@/w/sub")), 0);
	assert_int_equal(symlink("../secret", at("@/w/sub")), 0);
	corral_enclave_free(enclave);
	/* Nor without that history: it may have been another enclave's. */
	enclave = test_enclave(NULL, NULL);
	grant(enclave, CORRAL_FS_READ, "@/w/sub/**");
	assert_int_equal(read_file(enclave, "@/w/sub/file"), -EACCES);
	corral_enclave_free(enclave);
	assert_int_equal(unlink(at("@/w/sub")), 0);
}

/* The folder that a glob matches is one that the agent could write in, the glob's beginning not. */
static void test_a_link_in_the_middle_of_a_glob(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "cat");
	grant(enclave, CORRAL_FS_WRITE, "@/w/**");
	assert_int_equal(symlink("../secret", at("@/w/sub")), 0);
	take_back(enclave, CORRAL_FS_WRITE, "@/w/**");
	grant(enclave, CORRAL_FS_READ, "@/*/sub/**");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	grant(enclave, CORRAL_FS_WRITE, "@/w/**");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	take_back(enclave, CORRAL_FS_READ, "@/*/sub/**");
	grant(enclave, CORRAL_FS_READ, "@/*/sub/f*");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	take_back(enclave, CORRAL_FS_READ, "@/*/sub/f*");
	/* Where nobody could write, a glob means what it says. */
	grant(enclave, CORRAL_FS_READ, "@/r*/f*");
	assert_string_equal(command_reads(enclave, "@/real/file"), "real");
	corral_enclave_free(enclave);
	/* Without that history it may be a command's of earlier. */
	enclave = test_enclave("permissions: {exec: [cat]}", NULL);
	grant(enclave, CORRAL_FS_READ, "@/*/sub/**");
	grant(enclave, CORRAL_FS_WRITE, "@/real/other/**");
	assert_null(command_reads(enclave, "@/w/sub/file"));
	corral_enclave_free(enclave);
	assert_int_equal(unlink(at("@/w/sub")), 0);
}

/* A program's name is granted, and the agent left a link of that name. */
static void test_a_link_for_a_program(void **state)
{
	struct corral_enclave *enclave = test_enclave("permissions: {exec: [cat]}", NULL);

	(void)state;
	assert_int_equal(chmod(at("@/secret/file"), 0755), 0);
	grant(enclave, CORRAL_FS_WRITE, "@/w/**");
	assert_int_equal(symlink("../secret/file", at("@/w/tool")), 0);
	take_back(enclave, CORRAL_FS_WRITE, "@/w/**");
	grant(enclave, CORRAL_EXEC, "@/w/tool");
	assert_null(command_reads(enclave, "@/w/tool"));
	assert_null(command_reads(enclave, "@/secret/file"));
	take_back(enclave, CORRAL_EXEC, "@/w/tool");
	grant(enclave, CORRAL_EXEC, "@/*/tool");
	assert_null(command_reads(enclave, "@/w/tool"));
	assert_null(command_reads(enclave, "@/secret/file"));
	/* When it is called itself, it does not run, and others do. */
	test_enclave_grant(enclave, CORRAL_EXEC, at("@/w/tool"));
	assert_int_equal(corral_enclave_shell_exec(enclave, NULL,
				 (const char *const[]){ at("@/w/tool"), NULL }, NULL, NULL, NULL),
		-EACCES);
	assert_null(command_reads(enclave, "@/w/tool"));
	corral_enclave_free(enclave);
	assert_int_equal(unlink(at("@/w/tool")), 0);
}

/* A socket's folder is one that the agent could have made a link. */
static void test_a_link_for_a_socket(void **state)
{
	struct corral_enclave *enclave = test_enclave("permissions: {exec: [cat]}", NULL);
	char pattern[320];

	(void)state;
	grant(enclave, CORRAL_FS_WRITE, "@/w/**");
	assert_int_equal(symlink("../secret", at("@/w/sub")), 0);
	take_back(enclave, CORRAL_FS_WRITE, "@/w/**");
	assert_null(command_reads(enclave, "/dev/null"));
	assert_int_equal(test_enclave_told(enclave, "session", NULL, "grants left out", NULL), 0);
	(void)snprintf(pattern, sizeof(pattern), "unix:%s", at("@/w/sub/x.sock"));
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, pattern);
	assert_int_equal(test_enclave_told(enclave, "session", NULL, "grants left out", NULL), 1);
	test_enclave_revoke(enclave, CORRAL_NET_CONNECT, pattern);
	/* A plain name there is one. */
	(void)snprintf(pattern, sizeof(pattern), "unix:%s", at("@/w/x.sock"));
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, pattern);
	assert_int_equal(test_enclave_told(enclave, "session", NULL, "grants left out", NULL), 1);
	corral_enclave_free(enclave);
	assert_int_equal(unlink(at("@/w/sub")), 0);
}

/* The right to write came by a name with a link, the grant comes by the other name. */
static void test_a_link_by_the_other_name(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);

	(void)state;
	grant(enclave, CORRAL_FS_WRITE, "@/alias/**");
	assert_int_equal(symlink("../secret", at("@/alias/sub")), 0);
	take_back(enclave, CORRAL_FS_WRITE, "@/alias/**");
	grant(enclave, CORRAL_FS_READ, "@/real/sub/**");
	assert_int_equal(read_file(enclave, "@/real/sub/file"), -EACCES);
	assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
	corral_enclave_free(enclave);
	/* Both in one policy. */
	enclave = test_enclave(NULL, NULL);
	{
		struct corral_permissions *p = NULL;

		assert_int_equal(corral_permissions_new(&p), 0);
		assert_int_equal(
			corral_permissions_allow(p, CORRAL_FS_WRITE, at("@/alias/**"), NULL), 0);
		assert_int_equal(
			corral_permissions_allow(p, CORRAL_FS_READ, at("@/real/sub/**"), NULL), 0);
		assert_int_equal(
			corral_enclave_set_policy(enclave, test_enclave_token, p, NULL, NULL), 0);
		corral_permissions_free(p);
	}
	assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
	assert_int_equal(read_file(enclave, "@/real/sub/file"), -EACCES);
	corral_enclave_free(enclave);
	assert_int_equal(unlink(at("@/alias/sub")), 0);
}

static void test_a_link_in_the_ceiling(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_permissions *roof = NULL;
	const struct corral_permissions *layers[1];
	struct corral_enclave *enclave;

	(void)state;
	assert_int_equal(corral_permissions_new(&roof), 0);
	assert_int_equal(corral_permissions_allow(roof, CORRAL_FS_READ, at("@/alias/**"), NULL), 0);
	layers[0] = roof;
	o.ceiling = layers;
	o.n_ceiling = 1;
	o.variables = &(struct corral_variable){ "HOME", test_folder };
	o.n_variables = 1;
	enclave = test_enclave(NULL, &o);
	grant(enclave, CORRAL_FS_READ, "@/**");
	assert_int_equal(read_file(enclave, "@/alias/file"), 0);
	assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
	corral_permissions_free(roof);
	corral_enclave_free(enclave);
}

/* The baseline protects what is in a home by each of its names. */
static void test_a_home_behind_a_link(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_variable home = { "HOME", NULL };
	struct corral_enclave *enclave;
	char path[300];

	(void)state;
	assert_int_equal(mkdir(at("@/real/.ssh"), 0700), 0);
	(void)test_file("real/.ssh/id_rsa", "key", 0600);
	(void)snprintf(path, sizeof(path), "%s", at("@/alias"));
	home.value = path;
	o.variables = &home;
	o.n_variables = 1;
	enclave = test_enclave(NULL, &o);
	grant(enclave, CORRAL_FS_READ, "@/**");
	assert_int_equal(read_file(enclave, "@/alias/file"), 0);
	assert_int_equal(read_file(enclave, "@/alias/.ssh/id_rsa"), -EACCES);
	assert_int_equal(read_file(enclave, "@/real/.ssh/id_rsa"), -EACCES);
	corral_enclave_free(enclave);
}

/* The id that grants have while a sandbox runs means nothing in a file. */
static void test_the_id_of_grants_in_a_file(void **state)
{
	static const char *const ids[] = { "any", "granted-while-it-runs" };

	(void)state;
	for (size_t i = 0; i < ROWS(ids); i++) {
		struct corral_enclave *enclave;
		char yaml[256];

		(void)snprintf(yaml, sizeof(yaml),
			"permissions:\n  rules:\n    - {id: %s, action: allow, operations: "
			"[fs.read], patterns: [$HOME/alias/**]}\n",
			ids[i]);
		enclave = enclave_at_home(yaml);
		assert_int_equal(read_file(enclave, "@/alias/file"), 0);
		assert_int_equal(read_file(enclave, "@/secret/file"), -EACCES);
		corral_enclave_free(enclave);
	}
}

/*
 * Somebody agreed to a harmless name, three times. Then it became a link: to something denied, and
 * to something that is asked about as well.
 */
static void test_an_approval_does_not_follow(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave;
	struct corral_error *e = NULL;
	char yaml[512], *data = NULL;
	size_t len;

	(void)state;
	(void)snprintf(yaml, sizeof(yaml),
		"permissions:\n  rules:\n    - {id: a, action: ask, operations: [fs.read, "
		"fs.write], "
		"patterns: [%s/w/**]}\n",
		test_folder);
	o.ask_count = 3;
	enclave = test_enclave(yaml, &o);
	(void)test_file("w/harmless", "harmless", 0644);
	(void)test_file("w/other", "other", 0644);
	assert_int_equal(corral_enclave_fs_read(enclave, NULL, at("@/w/harmless"), &data, &len, &e),
		-EINPROGRESS);
	assert_int_equal(corral_enclave_answer(enclave, test_enclave_token,
				 corral_error_question(e), CORRAL_ALLOW, NULL, NULL, NULL),
		0);
	corral_error_free(e);
	assert_int_equal(read_file(enclave, "@/w/harmless"), 0);
	assert_int_equal(unlink(at("@/w/harmless")), 0);
	assert_int_equal(symlink("../secret/file", at("@/w/harmless")), 0);
	assert_true(read_file(enclave, "@/w/harmless") < 0);
	assert_int_equal(unlink(at("@/w/harmless")), 0);
	assert_int_equal(symlink("other", at("@/w/harmless")), 0);
	assert_true(read_file(enclave, "@/w/harmless") < 0);
	/* Nor is to read it to write it, or to read what is beside it. */
	assert_int_equal(unlink(at("@/w/harmless")), 0);
	(void)test_file("w/harmless", "harmless", 0644);
	assert_int_equal(corral_enclave_fs_write(enclave, NULL, at("@/w/harmless"), "x", 1, NULL),
		-EINPROGRESS);
	assert_int_equal(read_file(enclave, "@/w/other"), -EINPROGRESS);
	corral_enclave_free(enclave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_link_of_earlier),
		cmocka_unit_test(test_a_link_of_the_owner),
		cmocka_unit_test(test_a_link_of_the_agent),
		cmocka_unit_test(test_a_link_in_the_middle_of_a_glob),
		cmocka_unit_test(test_a_link_for_a_program),
		cmocka_unit_test(test_a_link_for_a_socket),
		cmocka_unit_test(test_a_link_by_the_other_name),
		cmocka_unit_test(test_a_link_in_the_ceiling),
		cmocka_unit_test(test_a_home_behind_a_link),
		cmocka_unit_test(test_the_id_of_grants_in_a_file),
		cmocka_unit_test(test_an_approval_does_not_follow),
	};

	return cmocka_run_group_tests_name("enclave-grants", tests, make_tree, test_remove_folder);
}
