/* SPDX-License-Identifier: Apache-2.0 */
/* Each row of data/layouts.conf, made in a home; and what links that were planted there grant. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/profile/internal.h"
#include "cli/profile/layouts.h"

static char home[] = "/tmp/corral-layouts-XXXXXX";

/* FORMAT below the home. */
static const char *at(const char *below)
{
	static char paths[4][PATH_BYTES];
	static size_t n;
	char *path = paths[n++ % ROWS(paths)];

	(void)snprintf(path, PATH_BYTES, "%s/%s", home, below);
	return path;
}

static void make_folders(const char *below)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s", at(below));
	for (char *p = path + strlen(home) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0700) < 0)
			assert_int_equal(errno, EEXIST);
		*p = '/';
	}
}

static void make_program(const char *below, const char *text)
{
	int fd;

	make_folders(below);
	fd = open(at(below), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static void make_link(const char *target, const char *below)
{
	make_folders(below);
	assert_int_equal(symlink(target, at(below)), 0);
}

/* What a folder of PATH adds to fs.read, without the home before it, one a line. */
static const char *grants_of(const char *entry, const char *write)
{
	static struct buffer out;
	const char *const writes[] = { write };
	auto_permissions *p = permissions_new();
	char path[PATH_BYTES];

	assert_non_null(p);
	(void)snprintf(path, sizeof(path), "/usr/bin:%s", at(entry));
	assert_int_equal(profile_path_grant(p, &(struct profile_path){ .path = path,
						       .home = home,
						       .writes = writes,
						       .n_writes = write ? 1 : 0 }),
		0);
	buffer_deinit(&out);
	for (size_t i = 0; i < p->fs_read.n; i++) {
		const char *pattern = p->fs_read.items[i].all[0];

		assert_true(strncmp(pattern, home, strlen(home)) == 0);
		buffer_printf(&out, "%s\n", pattern + strlen(home) + 1);
	}
	return buffer_text(&out);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(home, sizeof(home), "/tmp/corral-layouts-XXXXXX");
	return mkdtemp(home) && mkdir(at("secret"), 0700) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	auto_buffer command = { 0 };

	(void)state;
	buffer_printf(&command, "rm -rf '%s'", home);
	return system(buffer_text(&command)) == 0 ? 0 : -1; /* NOLINT(cert-env33-c): our own path */
}

/* A pattern of the table as a name that it matches. */
static void concrete(const char *pattern, char out[128])
{
	size_t n = 0;

	for (; *pattern; pattern++) {
		if (*pattern == '[') {
			pattern = strchr(pattern, ']');
			out[n++] = 'p';
		} else {
			out[n++] = *pattern == '*' ? 'x' : *pattern;
		}
	}
	out[n] = '\0';
}

static void test_package_rows(void **state)
{
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < layouts_n; i++) {
		const char *pattern = layouts_texts + layouts[i].folder;
		char folder[128], program[192], target[256], wanted[256];

		if (layouts[i].other)
			continue;
		concrete(pattern, folder);
		(void)snprintf(program, sizeof(program), "%s/deep/bin/tool", folder);
		(void)snprintf(target, sizeof(target), "../../%s", program);
		(void)snprintf(wanted, sizeof(wanted), ".local/bin/**\n%s/**\n", folder);
		make_program(program, "");
		make_link(target, ".local/bin/tool");
		assert_string_equal(grants_of(".local/bin", NULL), wanted);
		assert_int_equal(unlink(at(".local/bin/tool")), 0);
		tried++;
	}
	assert_true(tried > 10);
}

/* Links to names in their own folder: what these lead to counts, and the folder where it is a
 * package itself. An entry that PATH has twice is one. */
static void test_near_links(void **state)
{
	const char package[] = ".local/share/pipx/venvs/x";
	char twice[PATH_BYTES];

	(void)state;
	make_program(".local/share/pipx/venvs/x/bin/tool", "");
	make_link("tool", ".local/share/pipx/venvs/x/bin/alias");
	make_link("../share/pipx/venvs/x/bin/tool", ".local/bin/tool");
	make_link("tool", ".local/bin/alias");
	make_link("alias", ".local/bin/other");
	(void)snprintf(twice, sizeof(twice), ".local/bin/**\n%s/**\n", package);
	assert_string_equal(grants_of(".local/bin", NULL), twice);
	(void)snprintf(twice, sizeof(twice), ".local/bin:%s/.local/bin", home);
	assert_non_null(strstr(grants_of(twice, NULL), package));
	assert_int_equal(unlink(at(".local/bin/tool")), 0);
	assert_string_equal(grants_of(".local/bin", NULL), ".local/bin/**\n");
	assert_non_null(strstr(grants_of(".local/share/pipx/venvs/x/bin", NULL), package));
}

static void test_beside_rows(void **state)
{
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < layouts_n; i++) {
		const struct layout *row = &layouts[i];
		const char *folder = layouts_texts + row->folder;
		const char *other = layouts_texts + row->other;
		char path[PATH_BYTES], wanted[PATH_BYTES];

		if (!row->other)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder,
			row->program ? layouts_texts + row->program : "tool");
		make_program(path, "");
		(void)snprintf(path, sizeof(path), "%s/inside", other);
		make_program(path, "");
		(void)snprintf(wanted, sizeof(wanted), "%s/**\n", other);
		assert_non_null(strstr(grants_of(folder, NULL), wanted));
		tried++;
	}
	assert_true(tried > 5);
}

/* A row with a program counts only where that is. */
static void test_beside_program(void **state)
{
	(void)state;
	make_program(".cargo/bin/cargo", "");
	make_program(".rustup/toolchains/stable/bin/cargo", "");
	assert_string_equal(grants_of(".cargo/bin", NULL), ".cargo/bin/**\n");
	make_program(".cargo/bin/rustup", "");
	make_program(".rustup/settings.toml", "");
	assert_string_equal(grants_of(".cargo/bin", NULL),
		".cargo/bin/**\n.rustup/toolchains/**\n.rustup/settings.toml\n");
}

/* A file, as Claude's installer has it. */
static void test_file(void **state)
{
	(void)state;
	make_program(".local/share/claude/versions/2.1.0", "");
	make_program(".local/share/claude/versions/2.0.0", "");
	make_link("../share/claude/versions/2.1.0", ".local/bin/claude");
	assert_string_equal(grants_of(".local/bin", NULL),
		".local/bin/**\n.local/share/claude/versions/2.1.0\n");
}

/* A tool of uv whose interpreter is uv's, behind two links. */
static void test_interpreter(void **state)
{
	auto_buffer line = { 0 };

	(void)state;
	buffer_printf(&line, "#!%s\n", at(".local/share/uv/tools/t/bin/python"));
	make_program(".local/share/uv/tools/t/bin/t", buffer_text(&line));
	make_program(".local/share/uv/python/cpython-3.12.5/bin/python3.12", "");
	make_link("cpython-3.12.5", ".local/share/uv/python/cpython-3.12");
	make_link("../../../python/cpython-3.12/bin/python3.12",
		".local/share/uv/tools/t/bin/python");
	make_link("../share/uv/tools/t/bin/t", ".local/bin/t");
	assert_string_equal(grants_of(".local/bin", NULL),
		".local/bin/**\n"
		".local/share/uv/tools/t/**\n"
		".local/share/uv/python/cpython-3.12.5/**\n"
		".local/share/uv/python/cpython-3.12/bin/python3.12\n"
		".local/share/uv/python/cpython-3.12.5/bin/python3.12\n");
}

/* Whatever a link says, and wherever it lies: only packages of the table, by their real paths. */
static void test_planted(void **state)
{
	(void)state;
	make_program("secret/bin/tool", "");
	make_program("secret/index.js", "");
	make_program(".local/lib/node_modules/good/cli.js", "");
	/* Elsewhere. */
	make_link("../../secret/bin/tool", ".local/bin/a");
	/* By a package that is a link, and by one whose folders are. */
	make_link("../../../secret", ".local/lib/node_modules/evil");
	make_link("../lib/node_modules/evil/index.js", ".local/bin/b");
	make_link("../../../../secret", ".local/share/uv/tools");
	make_link("../share/uv/tools/bin/tool", ".local/bin/c");
	/* Out of a package again. */
	make_link("../lib/node_modules/good/../../../../secret/index.js", ".local/bin/d");
	/* The folder of all packages, one that is hidden, a scope, a folder, nothing, itself. */
	make_program(".local/lib/node_modules/.bin/e", "");
	make_program(".local/lib/node_modules/@scope/e", "");
	make_link("../lib/node_modules", ".local/bin/e");
	make_link("../lib/node_modules/.bin/e", ".local/bin/f");
	make_link("../lib/node_modules/good", ".local/bin/h");
	make_link("../lib/node_modules/none/x", ".local/bin/i");
	make_link("j", ".local/bin/j");
	assert_string_equal(grants_of(".local/bin", NULL), ".local/bin/**\n");
	/* What is no program. */
	make_link("../lib/node_modules/good/cli.js", ".local/bin/k");
	assert_int_equal(chmod(at(".local/lib/node_modules/good/cli.js"), 0600), 0);
	assert_string_equal(grants_of(".local/bin", NULL), ".local/bin/**\n");
	assert_int_equal(chmod(at(".local/lib/node_modules/good/cli.js"), 0700), 0);
	assert_string_equal(
		grants_of(".local/bin", NULL), ".local/bin/**\n.local/lib/node_modules/good/**\n");
}

/* What is beside a folder of PATH, but for a link. */
static void test_planted_beside(void **state)
{
	(void)state;
	make_program(".cargo/bin/rustup", "");
	make_program("secret/toolchains/x", "");
	make_link("secret", ".rustup");
	assert_string_equal(grants_of(".cargo/bin", NULL), ".cargo/bin/**\n");
	assert_int_equal(unlink(at(".rustup")), 0);
	make_link("../secret", ".rustup/toolchains");
	assert_string_equal(grants_of(".cargo/bin", NULL), ".cargo/bin/**\n");
}

/* A folder of PATH that may be written: its links may be this command's own. */
static void test_writable(void **state)
{
	static const struct {
		const char *write;
		bool counts;
	} cases[] = {
		{ "/.local/bin", true },
		{ "/.local/bin/**", true },
		{ "/.local/**", true },
		{ "/.lo*/bin/**", true },
		{ "/**", true },
		{ "/.local/bin/x", true },
		{ "/.local/bingo/**", false },
		{ "/project/**", false },
	};

	(void)state;
	make_program(".local/lib/node_modules/good/cli.js", "");
	make_link("../lib/node_modules/good/cli.js", ".local/bin/good");
	for (size_t i = 0; i < ROWS(cases); i++) {
		char write[PATH_BYTES];

		(void)snprintf(write, sizeof(write), "%s%s", home, cases[i].write);
		assert_string_equal(grants_of(".local/bin", write),
			cases[i].counts ? ".local/bin/**\n"
					: ".local/bin/**\n.local/lib/node_modules/good/**\n");
	}
	assert_string_equal(grants_of(".local/bin", "$UNKNOWN/x"), ".local/bin/**\n");
}

/* As many links as somebody likes: no more are looked at than the bound says. */
static void test_many(void **state)
{
	(void)state;
	make_program(".local/lib/node_modules/good/cli.js", "");
	for (int i = 0; i < LAYOUTS_LINKS_MAX + 10; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), ".local/bin/%d", i);
		make_link("nothing", name);
	}
	assert_non_null(strstr(grants_of(".local/bin", NULL), ".local/bin/**\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_package_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_near_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_beside_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_beside_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interpreter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_planted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_planted_beside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_writable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
