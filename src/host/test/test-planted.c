/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "host/planted.h"

static char folder[] = "/tmp/test-planted.XXXXXX";

static const char *at(const char *name)
{
	static char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s%s%s", folder, name[0] ? "/" : "", name);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder) < 0 || mkdir("home", 0700) < 0 ||
			       mkdir("home/deep", 0700) < 0 || symlink("/etc", "home/link") < 0 ||
			       symlink("/etc", "home/deep/link") < 0 ||
			       symlink("home/deep/link", "chain") < 0 ||
			       symlink("home", "alias") < 0
		       ? -1
		       : 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "alias", "chain", "home/deep/link", "home/link" };

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		(void)unlink(names[i]);
	return rmdir("home/deep") < 0 || rmdir("home") < 0 || chdir("/") < 0 || rmdir(folder) < 0
		       ? -1
		       : 0;
}

/* In the home itself nothing new is made by a command; deeper, a grant may have been. */
static void test_home(void **state)
{
	char home[PATH_BYTES];

	(void)state;
	memcpy(home, at("home"), strlen(at("home")) + 1);
	assert_false(planted_is_possible(at("home/link"), home));
	assert_true(planted_is_possible(at("home/link"), NULL));
	assert_true(planted_is_possible(at("home/link"), "/nowhere"));
	assert_true(planted_is_possible(at("home/deep/link"), home));
	assert_true(planted_is_possible(at("chain"), home));
	/* What is not there is not known to be harmless. */
	assert_true(planted_is_possible(at("home/none"), home));
	assert_true(planted_is_possible("relative", home));
	/* Another user's is not the user's own. */
	if (geteuid() == 0) {
		assert_int_equal(lchown("home/link", 12345, 12345), 0);
		assert_true(planted_is_possible(at("home/link"), home));
		assert_int_equal(lchown("home/link", 0, 0), 0);
	}
}

/* The system's own links, whoever asks. */
static void test_system(void **state)
{
	static const char *const names[] = { "/bin", "/sbin", "/lib", "/lib64", "/var/run",
		"/var/lock", "/etc/mtab", "/usr/bin/awk" };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		struct stat st;

		if (lstat(names[i], &st) < 0 || !S_ISLNK(st.st_mode))
			continue;
		n++;
		if (planted_is_possible(names[i], NULL))
			fail_msg("%s", names[i]);
	}
	assert_true(n > 0);
}

static void test_find(void **state)
{
	struct planted p;
	char home[PATH_BYTES], link[PATH_BYTES];

	(void)state;
	memcpy(home, at("alias"), strlen(at("alias")) + 1); /* may be a link itself */
	assert_int_equal(planted_find(at("home"), home, &p), 0);
	assert_string_equal(p.real, at("home"));
	assert_string_equal(p.link, "");
	assert_int_equal(planted_find(at("home/link/x"), home, &p), 0);
	assert_string_equal(p.real, "/etc/x");
	memcpy(link, at("chain"), strlen(at("chain")) + 1);
	assert_int_equal(planted_find(link, home, &p), 1);
	assert_string_equal(p.real, "/etc");
	assert_string_equal(p.link, link);
	memcpy(link, at("home/deep/link"), strlen(at("home/deep/link")) + 1);
	assert_int_equal(planted_find(link, home, &p), 1);
	assert_string_equal(p.link, link);
	assert_int_equal(planted_find("relative", home, &p), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_home),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
