/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "host/lookup.h"
#include "policy/permissions.h"
#include "policy/policy.h"
#include "test/scratch.h"

enum { ORDINARY = 12345 };

static char template[] = "/tmp/test-lookup.XXXXXX", folder[PATH_MAX];

static const char *at(const char *name)
{
	static char path[2 * PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void plant(const char *name)
{
	FILE *file = fopen(at(name), "we");

	assert_non_null(file);
	assert_true(fputs("#!/bin/sh\nexit 0\n", file) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(at(name), 0755), 0);
}

/* As an activated environment: venv/bin with programs, and links of all kinds that lead there. */
static int set_up(void **state)
{
	(void)state;
	if (scratch_make(template, folder) < 0 || chmod(folder, 0777) < 0 || chdir(folder) < 0 ||
		mkdir("venv", 0777) < 0 || mkdir("venv/bin", 0777) < 0 ||
		symlink("venv/bin", "link") < 0 || symlink("/usr/bin", "out") < 0 ||
		symlink("/nonexistent", "dangling") < 0 || symlink("loop", "loop") < 0)
		return -1;
	plant("venv/bin/sh");
	plant("venv/bin/planted");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") < 0 || scratch_remove(folder) < 0 ? -1 : 0;
}

static const char *filtered(const char *list)
{
	static char text[PATH_MAX];
	auto_buffer out = { 0 };

	lookup_filter(list, &out);
	assert_false(out.failed);
	assert_true(out.len < sizeof(text));
	memcpy(text, buffer_text(&out), out.len + 1);
	return text;
}

/* @ is the folder that commands write. */
static const char *expand(const char *text)
{
	static char out[1024];
	size_t n = 0;

	out[0] = '\0';
	for (; *text; text++) {
		const bool is_mark = *text == '@';

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s",
			is_mark ? (int)strlen(folder) : 1, is_mark ? folder : text);
	}
	return out;
}

static const struct {
	const char *list, *left;
} filter_rows[] = {
	{ "", "" },
	{ "/usr/bin", "/usr/bin" },
	{ "@/venv/bin:/usr/bin", "/usr/bin" },
	{ "/usr/bin:@/venv/bin", "/usr/bin" },
	{ "@/venv/bin", "" },
	{ "@/venv/bin/", "" },
	{ "@/venv/./bin//", "" },
	{ "@/venv/../venv/bin", "" },
	{ "/usr/bin/../..@/venv/bin", "" },
	{ "@:@/venv", "" },
	/* Links into it, and out of it: another one may stand there tomorrow. */
	{ "@/link", "" },
	{ "@/out", "" },
	{ "@/out/", "" },
	{ "@/loop", "" },
	{ "@/dangling", "" },
	/* ".." behind what may become a link. */
	{ "@/venv/../../../usr/bin", "" },
	{ "@/out/../bin", "" },
	/* The same without a way through it. */
	{ "/usr/share/../bin", "/usr/bin" },
	{ "/usr/./bin", "/usr/bin" },
	{ "//usr//bin//", "/usr/bin" },
	{ "/usr/bin:/usr/bin/:/usr/./bin", "/usr/bin" },
	/* Not there, or not absolute: "" and "." mean the current folder. */
	{ "/nonexistent:/usr/bin/no/such", "" },
	{ ":", "" },
	{ "::/usr/bin::", "/usr/bin" },
	{ "bin:./bin:../bin:.:..:~/bin", "" },
	{ "venv/bin:/usr/bin:venv/bin", "/usr/bin" },
	{ "/tmp", "" },
	{ "/proc/self/cwd/venv/bin", "" },
	{ "/proc/self/root/usr/bin/../..@/venv/bin", "" },
};

static void test_filter(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(filter_rows); i++) {
		char list[1024];

		(void)snprintf(list, sizeof(list), "%s", expand(filter_rows[i].list));
		if (strcmp(filtered(list), filter_rows[i].left) != 0)
			fail_msg("`%s` gives `%s`", list, filtered(list));
	}
}

/* Many entries end, those before the bound count, and one that is too long is none. */
static void test_bounds(void **state)
{
	auto_buffer list = { 0 };

	(void)state;
	buffer_adds(&list, "/usr/bin");
	for (int i = 0; i < 4096; i++)
		buffer_printf(&list, ":%s/venv/bin/%d", folder, i);
	buffer_adds(&list, ":/usr/share");
	assert_string_equal(filtered(buffer_text(&list)), "/usr/bin");
	buffer_clear(&list);
	buffer_addc(&list, '/');
	for (int i = 0; i < 2 * PATH_BYTES; i++)
		buffer_addc(&list, 'x');
	buffer_adds(&list, ":/usr/bin");
	assert_string_equal(filtered(buffer_text(&list)), "/usr/bin");
}

static void test_find(void **state)
{
	char path[PATH_BYTES], list[1024];

	(void)state;
	(void)snprintf(
		list, sizeof(list), "%s", expand("@/venv/bin:@/link:venv/bin:/usr/bin:/bin"));
	assert_int_equal(lookup_find(list, "sh", path), 0);
	assert_true(strcmp(path, "/usr/bin/sh") == 0 || strcmp(path, "/bin/sh") == 0);
	assert_int_equal(lookup_find(list, "planted", path), -ENOENT);
	assert_int_equal(lookup_find(list, "", path), -ENOENT);
	assert_int_equal(lookup_find(list, "../bin/sh", path), -ENOENT);
	assert_int_equal(lookup_find(NULL, "sh", path), 0);
	assert_int_equal(lookup_find("", "sh", path), 0);
	assert_int_equal(lookup_find("/nonexistent", "sh", path), -ENOENT);
	assert_int_equal(lookup_find("/usr", "bin", path), -ENOENT);
}

static const struct {
	const char *name, *value, *left; /* NULL: it is not set */
} value_rows[] = {
	{ "PATH", "@/venv/bin:/usr/bin", "/usr/bin" },
	{ "PATH", "@/venv/bin", "/nonexistent" },
	{ "PATH", ".", "/nonexistent" },
	{ "XDG_DATA_DIRS", "@/venv:/usr/share", "/usr/share" },
	{ "XDG_DATA_DIRS", "@/venv", NULL },
	{ "XDG_DATA_DIRS", "", NULL },
	{ "XDG_DATA_DIRS", NULL, NULL },
	{ "XDG_CONFIG_DIRS", "@:/etc/xdg-that-is-not-there:/etc", "/etc" },
	{ "BROWSER", "firefox", "firefox" },
	{ "BROWSER", "firefox --new-tab %s:lynx", "firefox --new-tab %s:lynx" },
	{ "BROWSER", "/usr/bin/env", "/usr/bin/env" },
	{ "BROWSER", "@/venv/bin/planted", NULL },
	{ "BROWSER", "@/venv/bin/planted:w3m", "w3m" },
	{ "BROWSER", "@/link/planted %s", NULL },
	{ "BROWSER", "env @/venv/bin/planted %s:w3m", "w3m" },
	{ "BROWSER", "sh -c=@/venv/bin/planted", NULL },
	{ "BROWSER", "venv/bin/planted:./planted:../x", NULL },
	{ "BROWSER", "@/venv/../../../usr/bin/env", NULL },
	{ "BROWSER", "", NULL },
	{ "HOME", "@", "@" },
	{ "LANG", "", "" },
	{ "LANG", NULL, NULL },
};

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(value_rows); i++) {
		auto_arena a = { 0 };
		const char *value = value_rows[i].value, *left = NULL;
		const char *given = value ? arena_strdup(&a, expand(value)) : NULL;

		assert_int_equal(lookup_value(&a, value_rows[i].name, given, &left), 0);
		value = value_rows[i].left ? expand(value_rows[i].left) : NULL;
		if (!value != !left || (value && strcmp(value, left) != 0))
			fail_msg("%s=%s gives %s", value_rows[i].name, given ? given : "(none)",
				left ? left : "(none)");
	}
}

/* PATH that is not set is the usual one, of which root has less. */
static void test_usual(void **state)
{
	auto_arena a = { 0 };
	const char *left = NULL;

	(void)state;
	assert_int_equal(lookup_value(&a, "PATH", NULL, &left), 0);
	assert_non_null(strstr(left, "/usr/bin"));
}

/* What root keeps, the baseline guards: no policy grants it, unless it says that this is dangerous.
 */
static void test_baseline(void **state)
{
	static const char *const kept[] = { "/bin", "/etc", "/lib", "/sbin", "/usr/bin", "/usr/lib",
		"/usr/sbin", "/usr/share" };
	auto_permissions *p = permissions_new();
	const struct location where = { 0 };
	auto_policy *policy = NULL;
	struct error e = { 0 };

	(void)state;
	assert_non_null(p);
	assert_int_equal(permissions_add(p, &p->fs_write, "/**", &where), 0);
	assert_int_equal(policy_new(&policy, (const struct permissions *const[]){ p }, 1,
				 &(struct policy_options){ 0 }, &e),
		0);
	for (size_t i = 0; i < ROWS(kept); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "%s/program", kept[i]);
		if (filtered(kept[i])[0] &&
			policy_allows(policy,
				&(struct request){ .op = OPERATION_FS_WRITE, .target = path }))
			fail_msg("%s may be written", path);
	}
	assert_true(policy_allows(
		policy, &(struct request){ .op = OPERATION_FS_WRITE, .target = "/srv/program" }));
}

static void test_environment(void **state)
{
	auto_arena a = { 0 };
	char path[PATH_MAX + 32];
	const char *const env[] = { "HOME=/home/user", "LD_PRELOAD=/x.so", "PYTHONPATH=/x", path,
		"NODE_OPTIONS=--require=/x", "no equals sign", "PERL5LIB=/x",
		"LANG=", "GCONV_PATH=/x", "ENV=/x", "BASH_ENV=/x", "XDG_DATA_DIRS=/srv/share",
		"BROWSER=./x", NULL };
	const char *const *left = NULL;

	(void)state;
	(void)snprintf(path, sizeof(path), "PATH=%s/venv/bin:/usr/bin", folder);
	assert_int_equal(lookup_environment(&a, env, &left), 0);
	assert_string_equal(left[0], "HOME=/home/user");
	assert_string_equal(left[1], "PATH=/usr/bin");
	assert_string_equal(left[2], "LANG=");
	assert_string_equal(left[3], "XDG_DATA_DIRS=/srv/share");
	assert_null(left[4]);
	assert_int_equal(lookup_environment(&a, NULL, &left), 0);
	assert_null(left[0]);
}

/* All of it once more as an ordinary user, for whom the owner of a folder decides. */
static void test_ordinary(void **state)
{
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		return;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgid(ORDINARY) < 0 || setuid(ORDINARY) < 0 || chdir(folder) < 0)
			_exit(2);
		test_filter(state);
		test_bounds(state);
		test_find(state);
		test_values(state);
		test_usual(state);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_ordinary),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
