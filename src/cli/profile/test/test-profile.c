/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "cli/profile/internal.h"
#include "cli/profile/profile.h"
#include "cli/profile/runs-later.h"
#include "policy/format/permissions-text.h"

static const char *profiles; /* the folder with their files */
static char folder[] = "/tmp/test-profile.XXXXXX";

/* With the scratch folder in place of '@'. */
static char *expand(const char *text)
{
	struct buffer out = { 0 };

	for (; *text; text++) {
		if (*text == '@')
			buffer_adds(&out, folder);
		else
			buffer_addc(&out, *text);
	}
	return buffer_take(&out);
}

static const char *const folders[] = { "@/home", "@/home/bin", "@/home/lib", "@/home/.local",
	"@/home/.local/bin", "@/home/.local/lib", "@/home/.nvm", "@/home/.nvm/v20",
	"@/home/.nvm/v20/bin", "@/home/.nvm/v20/lib", "@/home/.pyenv", "@/home/.pyenv/shims",
	"@/home/.pyenv/libexec", "@/home/.cargo", "@/home/.cargo/bin", "@/store", "@/store/x",
	"@/store/x/bin", "@/home/odd[a]", "@/home/odd[a]/bin", "@/work", "@/work/.git",
	"@/work/.git/hooks", "@/work/real", "@/home/project", "@/home/.config",
	"@/home/.config/corral" };

/* Shares of the machine, and of nothing else. */
static void test_limits(void **state)
{
	struct sysinfo machine;
	struct limits l;
	uint64_t memory;

	(void)state;
	profile_limits(&l);
	assert_int_equal(sysinfo(&machine), 0);
	memory = (uint64_t)machine.totalram * machine.mem_unit;
	assert_true(l.values[LIMIT_MEMORY] <= memory / 4 * 3);
	assert_true(l.values[LIMIT_MEMORY] > memory / 2);
	assert_true(l.values[LIMIT_PIDS] > 0 && l.values[LIMIT_PIDS] <= memory >> 18);
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (i != LIMIT_MEMORY && i != LIMIT_PIDS)
			assert_true(l.values[i] == LIMIT_NONE);
	}
}

static int set_up(void **state)
{
	char *link, *config;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < ROWS(folders); i++) {
		char *path = expand(folders[i]);
		int r = mkdir(path, 0700);

		free(path);
		if (r < 0)
			return -1;
	}
	link = expand("@/home/.nix");
	config = expand("@/store/x");
	if (symlink(config, link) < 0)
		return -1;
	free(link);
	free(config);
	return 0;
}

static int remove_tree(const char *path)
{
	auto_buffer command = { 0 };

	buffer_printf(&command, "rm -rf '%s'", path);
	return system(buffer_text(&command)) == 0 ? 0 : -1; /* NOLINT(cert-env33-c): our own path */
}

static int tear_down(void **state)
{
	(void)state;
	return remove_tree(folder);
}

/* The tables in the program say what the files say. */
static void test_same_as_files(void **state)
{
	(void)state;
	assert_int_equal(profile_data_count, 3);
	for (size_t i = 0; i < profile_data_count; i++) {
		auto_buffer path = { 0 }, text = { 0 }, wanted = { 0 }, got = { 0 };
		auto_permissions *p = profile_builtin(profile_data[i].name);
		auto_manifest m = { 0 };
		struct error e = { 0 };

		buffer_printf(&path, "%s/%s.yaml", profiles, profile_data[i].name);
		assert_int_equal(file_read(buffer_text(&path), 1 << 20, &text), 0);
		assert_int_equal(manifest_read(&m, MANIFEST_PERMISSIONS, NULL, buffer_text(&text),
					 text.len, &e),
			0);
		assert_non_null(p);
		permissions_print_yaml(m.permissions, &wanted);
		permissions_print_yaml(p, &got);
		assert_string_equal(buffer_text(&got), buffer_text(&wanted));
	}
	assert_null(profile_builtin("nothing"));
}

/* What a PATH adds to fs.read, one pattern a line. */
static char *grants_of(const char *path, const char *home, const char *work_dir)
{
	auto_permissions *p = permissions_new();
	char *full = expand(path), *where = expand(home), *work = expand(work_dir);
	struct buffer out = { 0 };

	assert_non_null(p);
	assert_int_equal(
		profile_path_grant(
			p, &(struct profile_path){ .path = full, .home = where, .work_dir = work }),
		0);
	for (size_t i = 0; i < p->fs_read.n; i++)
		buffer_printf(&out, "%s\n", p->fs_read.items[i].all[0]);
	free(full);
	free(where);
	free(work);
	return out.data ? buffer_take(&out) : strdup("");
}

static void test_path(void **state)
{
	static const struct {
		const char *path, *home, *grants;
	} cases[] = {
		{ "/usr/bin:/bin", "@/home", "" },
		{ "", "@/home", "" },
		{ "bin:.:./x::", "@/home", "" },
		{ "@/home/nothing", "@/home", "" },
		{ "@/home", "@/home", "" },
		{ "@/home/.cargo/bin", "@/home", "@/home/.cargo/bin/**\n" },
		{ "/usr/bin:@/home/.cargo//bin/:/bin", "@/home", "@/home/.cargo/bin/**\n" },
		/* Beside lib: an installation. */
		{ "@/home/.nvm/v20/bin", "@/home", "@/home/.nvm/v20/**\n" },
		{ "@/home/.pyenv/shims", "@/home", "@/home/.pyenv/**\n" },
		/* Never these, though they have a lib. */
		{ "@/home/bin", "@/home", "@/home/bin/**\n" },
		{ "@/home/.local/bin", "@/home", "@/home/.local/bin/**\n" },
		{ "@/home/../home/.local/bin", "@/home", "@/home/.local/bin/**\n" },
		/* By a link: both names. */
		{ "@/home/.nix/bin", "@/home",
			"@/store/x/bin\n@/home/.nix/bin/**\n@/store/x/bin/**\n" },
		/* Names are taken literally. */
		{ "@/home/odd[a]/bin", "@/home", "@/home/odd\\[a\\]/bin/**\n" },
		/* Elsewhere, and what may be written anyway. */
		{ "@/store/x/bin", "@/home", "" },
		{ "@/work/real", "@", "" },
		{ "@/home/bin", "/", "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		char *got = grants_of(cases[i].path, cases[i].home, "@/work");
		char *wanted = expand(cases[i].grants);

		assert_string_equal(got, wanted);
		free(got);
		free(wanted);
	}
}

static int check_place(const char *work_dir, const char *home)
{
	auto_arena arena = { 0 };
	struct error e = { 0 };
	struct call c = { .arena = &arena, .error = &e };
	char *dir = expand(work_dir), *where = expand(home);
	struct load l = { 0 };
	int r;

	l.variables.values[VARIABLE_WORK_DIR] = dir;
	l.variables.values[VARIABLE_HOME] = where;
	(void)setenv("HOME", where, 1);
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)unsetenv("XDG_STATE_HOME");
	r = profile_place_check(&c, "workspace", &l);
	assert_true(r == 0 || e.hint[0]);
	free(dir);
	free(where);
	return r;
}

static void test_place(void **state)
{
	(void)state;
	assert_int_equal(check_place("@/work", "@/home"), 0);
	assert_int_equal(check_place("@/home/project", "@/home"), 0);
	assert_int_equal(check_place("/", "@/home"), -EPERM);
	assert_int_equal(check_place("@/home", "@/home"), -EPERM);
	assert_int_equal(check_place("@", "@/home"), -EPERM);
	assert_int_equal(check_place("@/home/.config", "@/home"), -EPERM);
	assert_int_equal(check_place("@/home/.config/corral", "@/home"), -EPERM);
	assert_int_equal(check_place("@/home/.config/corral/profiles", "@/home"), -EPERM);
	/* By another name. */
	assert_int_equal(check_place("@/store/x", "@/home/.nix"), -EPERM);
	assert_int_equal(check_place("@/home/.nix", "@/store/x"), -EPERM);
}

static void write_file(const char *name, const char *text)
{
	char *path = expand(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static bool denies(const struct permissions *p, const char *path)
{
	char *wanted = expand(path);
	bool found = false;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		assert_int_equal(rule->operations, 1U << OPERATION_FS_WRITE);
		for (size_t j = 0; j < rule->patterns.n && rule->action == VERDICT_DENY; j++)
			found = found || strcmp(rule->patterns.items[j].all[0], wanted) == 0;
	}
	free(wanted);
	return found;
}

static void test_runs_later(void **state)
{
	auto_permissions *p = permissions_new();
	struct runs_later d;
	const struct runs_later_news *news;
	char *work = expand("@/work"), *pattern = expand("@/work/.git/hooks/x");
	char *link = expand("@/work/.exrc"), *other = expand("@/work/src/**");

	(void)state;
	write_file("@/work/.git/config", "x");
	write_file("@/work/real/rc", "x");
	assert_int_equal(symlink("real/rc", link), 0);
	assert_non_null(p);
	assert_int_equal(permissions_add(p, &p->fs_write, "$WORK_DIR/**", NULL), 0);
	assert_int_equal(runs_later_open(&d, work), 0);
	assert_int_equal(runs_later_deny(&d, p), 0);
	assert_true(denies(p, "@/work/.git/hooks/**"));
	assert_true(denies(p, "@/work/.git/config"));
	assert_true(denies(p, "@/work/real/rc")); /* where a link leads */
	assert_false(denies(p, "@/work/.exrc"));
	assert_false(denies(p, "@/work/.envrc")); /* is not there */
	/* By name, or not. */
	assert_int_equal(runs_later_allow(&d, p, other), 0);
	assert_int_equal(p->n_rules, 1);
	assert_int_equal(runs_later_allow(&d, p, pattern), 0);
	assert_int_equal(p->n_rules, 2);
	assert_int_equal(p->rules[1].action, VERDICT_ALLOW);
	assert_true(p->rules[1].priority > p->rules[0].priority);
	/* Nothing happened; then something did. */
	assert_int_equal(runs_later_check(&d, &news), 0);
	write_file("@/work/.envrc", "x");
	write_file("@/work/.git/config", "more");
	assert_int_equal(runs_later_check(&d, &news), 2);
	assert_string_equal(news[0].path, ".envrc");
	assert_true(news[0].is_new);
	assert_string_equal(news[1].path, ".git/config");
	assert_false(news[1].is_new);
	runs_later_close(&d);
	free(work);
	free(pattern);
	free(link);
	free(other);
}

static int note_shell(void *data, const char *path, const char *who, enum profile_shell_kind kind)
{
	assert_non_null(who);
	assert_int_equal(kind, PROFILE_SHELL_PROGRAMS);
	buffer_printf(data, "%s\n", path);
	return 0;
}

static void expect_shell(const char *work, const char *path, const char *expected)
{
	auto_buffer found = { 0 };

	assert_int_equal(profile_shell_path(work, path, note_shell, &found), 0);
	assert_string_equal(buffer_text(&found), expected);
}

/* Folders of the system are those, and not all that begins like them. */
static void test_shell_path(void **state)
{
	(void)state;
	expect_shell("/binw/p", "/usr/bin:/binw/p/bin:/bin", "bin\n");
	expect_shell("/usr/src/no-app", "/usr/local/bin:/usr/src/no-app/bin", "bin\n");
	expect_shell("/usr/no-local", "/usr/no-local:/usr/no-locals", "\n");
	expect_shell("/no/where", "/usr/bin:/bin", "");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shell_path),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_same_as_files),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_runs_later),
	};

	if (argc != 2)
		return 2;
	profiles = argv[1];
	return cmocka_run_group_tests_name("profile", tests, set_up, tear_down);
}
