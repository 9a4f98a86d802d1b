/* SPDX-License-Identifier: Apache-2.0 */
/* A policy that comes from the environment: which source counts, and what is left of it inside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/sandbox/test/test-common.h"

/* What every policy here has; `more` is what it can be told by. */
#define POLICY(more)                                                               \
	"{\"fs\": {\"read\": [\"/usr/**\", \"/etc/alternatives/**\"], \"write\": " \
	"[\"$WORK_DIR/**\"]}, \"env\": [" more "]}"

static void set_variables(const char *fd, const char *file, const char *text)
{
	const struct {
		const char *name, *value;
	} rows[] = {
		{ "SANDBOX_POLICY_FD", fd },
		{ "SANDBOX_POLICY_FILE", file },
		{ "SANDBOX_POLICY", text },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(rows[i].value ? setenv(rows[i].name, rows[i].value, 1)
					       : unsetenv(rows[i].name),
			0);
}

static const char *descriptor_with(const char *text)
{
	static char number[16];
	int fd = memfd_create("policy", 0);

	assert_true(fd > 2);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)snprintf(number, sizeof(number), "%d", fd);
	return number;
}

static const char *descriptor_of(const char *path)
{
	static char number[16];
	int fd = open(path, O_RDONLY); /* handed over */

	assert_true(fd > 2);
	(void)snprintf(number, sizeof(number), "%d", fd);
	return number;
}

static struct corral_builder *from_environment(void)
{
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	if (corral_builder_from_environment(&b, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return b;
}

static void refuses(int code, const char *says)
{
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	assert_int_equal(corral_builder_from_environment(&b, &e), code);
	assert_null(b);
	test_says(e, says);
}

/* What $WHO is inside. */
static void tells(const char *who)
{
	struct corral_builder *b = from_environment();
	char out[32];

	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	(void)snprintf(out, sizeof(out), "%s\n", who);
	{
		struct corral_sandbox *s = test_build(b);

		test_prints(s, "echo $WHO", out, 0);
		corral_sandbox_free(s);
	}
}

static void test_order(void **state)
{
	const char *file = test_file("policy.json", POLICY("\"WHO=file\""), 0600);
	char path[300];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", file);
	set_variables(descriptor_with(POLICY("\"WHO=fd\"")), path, POLICY("\"WHO=text\""));
	tells("fd");
	set_variables(NULL, path, POLICY("\"WHO=text\""));
	tells("file");
	set_variables(NULL, NULL, POLICY("\"WHO=text\""));
	tells("text");
}

static void test_none(void **state)
{
	struct corral_builder *b;
	struct corral_sandbox *s;
	struct corral_result *r;

	(void)state;
	set_variables(NULL, NULL, NULL);
	b = from_environment();
	s = test_build(b);
	r = test_run(s, "cat /etc/hostname /usr/bin/env", NULL);
	assert_int_not_equal(corral_result_exit_code(r), 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* A source that is of no use is never the next one's turn. */
static void test_bad_sources(void **state)
{
	char number[16];
	int own = memfd_create("own", MFD_CLOEXEC);

	(void)state;
	(void)snprintf(number, sizeof(number), "%d", own);
	set_variables("", "/etc/passwd", POLICY(""));
	refuses(-EINVAL, "SANDBOX_POLICY_FD");
	set_variables("x", NULL, POLICY(""));
	refuses(-EINVAL, "SANDBOX_POLICY_FD: `x` is not a valid descriptor");
	set_variables("999999", NULL, POLICY(""));
	refuses(-EBADF, "is not open");
	set_variables(number, NULL, POLICY(""));
	refuses(-EBADF, "was not passed to this program");
	set_variables(descriptor_with("fs: ["), NULL, POLICY(""));
	refuses(-EINVAL, "SANDBOX_POLICY_FD");
	set_variables(descriptor_with(""), NULL, POLICY(""));
	refuses(-EINVAL, "SANDBOX_POLICY_FD");
	set_variables(NULL, "", POLICY(""));
	refuses(-EINVAL, "is not an absolute path");
	set_variables(NULL, "relative", POLICY(""));
	refuses(-EINVAL, "is not an absolute path");
	set_variables(NULL, "/no/such/file", POLICY(""));
	refuses(-ENOENT, "/no/such/file");
	set_variables(NULL, NULL, "");
	refuses(-EINVAL, "SANDBOX_POLICY");
	set_variables(NULL, NULL, "no: policy");
	refuses(-EINVAL, "SANDBOX_POLICY:1");
	/* Once read, it is closed. */
	set_variables(descriptor_with(POLICY("")), NULL, NULL);
	corral_builder_free(from_environment());
	refuses(-EBADF, "is not open");
	(void)close(own);
}

/* Nothing of it is there for a command, whatever the policy says. */
static void test_unseen(void **state)
{
	static const char look[] = "env; for p in /proc/[0-9]*; do tr '\\\\0' '\\\\n' <$p/environ; "
				   "for f in $p/fd/*; do readlink $f; done; done 2>/dev/null; "
				   "echo $SANDBOX_POLICY$SANDBOX_POLICY_FD$SANDBOX_POLICY_FILE";
	const char *policy = POLICY("\"*\", \"SANDBOX_POLICY\", \"SANDBOX_POLICY_FD\", "
				    "\"SANDBOX_POLICY_FILE\", \"SANDBOX_POLICY=canary-set\"");
	struct corral_builder *b;
	struct corral_sandbox *s;
	struct corral_result *r;
	const char *out;

	(void)state;
	set_variables(descriptor_with(policy), "/canary-file", "canary-text");
	b = from_environment();
	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	s = test_build(b);
	r = test_run(s, look, NULL);
	out = corral_result_stdout(r, NULL);
	assert_non_null(strstr(out, "PATH="));
	if (strstr(out, "canary") || strstr(out, "SANDBOX_POLICY") || strstr(out, "memfd"))
		fail_msg("%s", out);
	corral_result_free(r);
	corral_sandbox_free(s);
	/* It is the host's still. */
	assert_string_equal(getenv("SANDBOX_POLICY"), "canary-text");
	/* Where nothing is confined, too. */
	assert_int_equal(corral_builder_from_mode(&b, CORRAL_MODE_RWX, NULL, NULL, NULL), 0);
	s = test_build(b);
	test_prints(s, "env | grep -c SANDBOX_POLICY", "0\n", 1);
	corral_sandbox_free(s);
}

/* The file, and the way to it, stay as they are; whichever call read it. */
static void test_guarded(void **state)
{
	static const char change[] =
		"echo '{}' >policy.json; mv policy.json x; rm -f policy.json; true";
	char path[300], link[300];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", test_file("policy.json", POLICY(""), 0600));
	for (int i = 0; i < 3; i++) {
		struct corral_builder *b = NULL;
		struct corral_sandbox *s;
		struct stat before, after;

		set_variables(i == 2 ? descriptor_of(path) : NULL, path, NULL);
		if (i != 1)
			b = from_environment();
		else
			assert_int_equal(corral_builder_from_manifest(&b, path, NULL), 0);
		assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
		assert_int_equal(stat(path, &before), 0);
		s = test_build(b);
		test_prints(s, change, "", 0);
		corral_sandbox_free(s);
		assert_int_equal(stat(path, &after), 0);
		assert_int_equal(after.st_ino, before.st_ino);
		assert_int_equal(after.st_size, before.st_size);
	}
	/* By a link that commands could change it is refused. */
	(void)snprintf(link, sizeof(link), "%s/link", test_folder);
	assert_int_equal(symlink("policy.json", link), 0);
	set_variables(NULL, link, NULL);
	{
		struct corral_builder *b = from_environment();
		struct corral_sandbox *s = NULL;
		struct corral_error *e = NULL;

		assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
		assert_int_equal(corral_builder_build(b, &s, &e), -EPERM);
		test_says(e, "is reached through the symbolic link");
		corral_builder_free(b);
	}
	assert_int_equal(unlink(link), 0);
	set_variables(NULL, NULL, NULL);
}

/* Approvals and profiles, where the user keeps them elsewhere than the baseline expects. */
static void test_own_folders(void **state)
{
	struct corral_sandbox *s;
	char folder[300];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/state", test_folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
	(void)strcat(folder, "/corral");
	assert_int_equal(mkdir(folder, 0700), 0);
	s = test_sandbox();
	test_prints(s, "echo x >state/corral/approval", "", 2);
	test_prints(s, "mv state elsewhere 2>/dev/null; ls -d state/corral", "state/corral\n", 0);
	corral_sandbox_free(s);
	(void)strcat(folder, "/approval");
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
	/* Nor is a command the first to make the folder of services.yaml. */
	(void)snprintf(folder, sizeof(folder), "%s/config", test_folder);
	assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
	s = test_sandbox();
	test_prints(s, "mkdir -p config/corral; echo x >config/corral/services.yaml", "", 2);
	test_prints(
		s, "mv config elsewhere 2>/dev/null; ls -d config/corral", "config/corral\n", 0);
	corral_sandbox_free(s);
	(void)strcat(folder, "/corral/services.yaml");
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_bad_sources),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_guarded),
		cmocka_unit_test(test_own_folders),
	};

	return cmocka_run_group_tests_name(
		"from-environment", tests, test_make_folder, test_remove_folder);
}
