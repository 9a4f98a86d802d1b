/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "cli/run/run.h"
#include "codec/yaml.h"
#include "policy/format/permissions-text.h"
#include "test/scratch.h"

static char template[] = "/tmp/test-grants.XXXXXX", folder[PATH_MAX];

static int set_up(void **state)
{
	int fd;

	(void)state;
	if (scratch_make(template, folder) < 0 || chdir(folder) < 0 || mkdir("data", 0700) < 0 ||
		mkdir("od[d]", 0700) < 0)
		return -1;
	fd = open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || close(fd) < 0)
		return -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : scratch_remove(folder);
}

struct fixture {
	struct arena arena;
	struct error error;
	struct verb verb;
	struct call call;
	struct run run;
};

static struct permissions *read_layer(const char *text, struct error *e)
{
	struct permissions *p = permissions_new();
	auto_document d = { 0 };

	assert_non_null(p);
	assert_int_equal(yaml_read(&d, "layer.yaml", 1, text, strlen(text), e), 0);
	assert_int_equal(permissions_read_node(p, &d, d.root, e), 0);
	return p;
}

/* A run whose base are these layers. Notes go to standard error, so --json keeps them back. */
static void fixture_init(struct fixture *f, const char *const *layers)
{
	*f = (struct fixture){ .verb = { .name = "run" } };
	f->call = (struct call){
		.verb = &f->verb, .name = "corral run", .arena = &f->arena, .error = &f->error
	};
	f->run.call = &f->call;
	f->run.options.json = true;
	f->run.load.variables.values[VARIABLE_HOME] = "/home/u";
	f->run.load.variables.values[VARIABLE_WORK_DIR] = folder;
	for (; layers[f->run.n_base]; f->run.n_base++) {
		const char *text = layers[f->run.n_base];

		f->run.base[f->run.n_base] = read_layer(text, &f->error);
	}
}

static void fixture_deinit(struct fixture *f)
{
	for (size_t i = 0; i < f->run.n_base; i++)
		permissions_free(f->run.base[i]);
	arena_deinit(&f->arena);
}
#define auto_fixture __attribute__((cleanup(fixture_deinit))) struct fixture

/* An option by its name, as the table of run/options.c has it. */
static int grant(struct fixture *f, const char *option, const char *value)
{
	struct run_options *o = &f->run.options;
	const struct {
		const char *option;
		struct options_list *list;
	} rows[] = {
		{ "--read", &o->read },
		{ "--write", &o->write },
		{ "--deny", &o->deny },
		{ "--net", &o->net },
		{ "--net-private", &o->net_private },
		{ "--env", &o->env },
		{ "--exec", &o->exec },
		{ "--dangerously-allow", &o->dangerous },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (strcmp(rows[i].option, option) != 0)
			continue;
		*rows[i].list = (struct options_list){ .items = &value, .n = 1 };
		return run_grants(&f->run);
	}
	return -ENOENT;
}

/* What is printed has this line, with the scratch folder in place of '@'. */
static bool layer_has(const struct permissions *p, const char *list, const char *pattern)
{
	auto_buffer text = { 0 }, want = { 0 };

	buffer_adds(&want, "- ");
	for (; *pattern; pattern++) {
		if (*pattern == '@')
			buffer_adds(&want, folder);
		else
			buffer_addc(&want, *pattern);
	}
	buffer_addc(&want, '\n');
	permissions_print_yaml(p, &text);
	return strstr(buffer_text(&text), list) && strstr(buffer_text(&text), buffer_text(&want));
}

static void test_paths_become_patterns(void **state)
{
	static const struct {
		const char *option, *value, *list, *want;
	} rows[] = {
		/* A folder includes all that is in it; a file is itself. */
		{ "--read", "/usr", "read:", "/usr/**" },
		{ "--read", "/", "read:", "/**" },
		{ "--read", "data", "read:", "@/data/**" },
		{ "--write", "./data/", "write:", "@/data/**" },
		{ "--read", "file", "read:", "@/file" },
		{ "--deny", "data/../file", "deny:", "@/file" },
		{ "--dangerously-allow", "file", "dangerously_allow:", "@/file" },
		/* Wildcards stay, from the current folder. */
		{ "--read", "*.c", "read:", "@/*.c" },
		{ "--read", "/srv/**", "read:", "/srv/**" },
		/* What the shell left to us. */
		{ "--read", "~/datasets", "read:", "/home/u/datasets" },
		{ "--read", "$HOME/x", "read:", "/home/u/x" },
		/* The rest is in the grammar of the policy. */
		{ "--net", "api.example.com:443", "allow:", "api.example.com:443" },
		{ "--net-private", "db.example.com:5432", "private:", "db.example.com:5432" },
		{ "--env", "LC_*", "env:", "LC_*" },
		{ "--env", "A=1", "env:", "A=1" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fixture f = { 0 };

		fixture_init(&f, (const char *const[]){ "fs: {read: [/nothing]}", NULL });
		assert_int_equal(grant(&f, rows[i].option, rows[i].value), 0);
		if (!layer_has(f.run.base[0], rows[i].list, rows[i].want))
			fail_msg("%s %s: no %s", rows[i].option, rows[i].value, rows[i].want);
	}
}

/* A folder is meant as it is written: its name is no pattern. */
static void test_names_with_wildcards_are_escaped(void **state)
{
	auto_fixture f = { 0 };

	(void)state;
	fixture_init(&f, (const char *const[]){ "{}", NULL });
	assert_int_equal(chdir("od[d]"), 0);
	assert_int_equal(grant(&f, "--read", "*.c"), 0);
	assert_int_equal(chdir(folder), 0);
	assert_true(layer_has(f.run.base[0], "read:", "@/od\\[d\\]/*.c") ||
		    layer_has(f.run.base[0], "read:", "@/od\\[d]/*.c"));
}

/* (A ∩ B) ∪ G is (A ∪ G) ∩ (B ∪ G): every layer has it, also one inside another. */
static void test_every_layer_of_the_base_gets_a_grant(void **state)
{
	auto_fixture f = { 0 };

	(void)state;
	fixture_init(&f, (const char *const[]){ "fs: {read: [/a]}", "fs: {read: [/b]}",
				 "all_of: [{fs: {read: [/c]}}, {fs: {read: [/d]}}]", NULL });
	assert_int_equal(grant(&f, "--net", "a.com:443"), 0);
	for (size_t i = 0; i < f.run.n_base; i++)
		assert_true(layer_has(f.run.base[i], "allow:", "a.com:443"));
	assert_int_equal(f.run.base[2]->network_allow.n, 0);
}

static void test_programs_join_the_list(void **state)
{
	auto_fixture f = { 0 };

	(void)state;
	fixture_init(&f, (const char *const[]){ "exec: [cat]", NULL });
	assert_int_equal(grant(&f, "--exec", "ls"), 0);
	assert_true(layer_has(f.run.base[0], "exec:", "cat"));
	assert_true(layer_has(f.run.base[0], "exec:", "ls"));
}

static void test_what_is_no_grant_is_refused(void **state)
{
	static const struct {
		const char *option, *value, *says;
	} rows[] = {
		{ "--read", "", "--read: the path is empty" },
		{ "--write", "", "--write: the path is empty" },
		{ "--read", "$WROK_DIR/x", "unknown variable $WROK_DIR" },
		{ "--read", "$SKILL_DIR/x", "SKILL_DIR has no value" },
		{ "--read", "/srv/[a", "never closed" },
		{ "--net", "http://", "host" },
		{ "--net", "a.com:99999", "a port is a number from 1 to 65535" },
		{ "--net-private", "10.0.0.1:80", "is an address; grant it in network.allow" },
		{ "--net-private", "*:443", "would open every private address to every name" },
		{ "--env", "1A", "`1A` is not a valid variable name" },
		{ "--exec", "", "a command pattern needs a program" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fixture f = { 0 };

		fixture_init(&f, (const char *const[]){ "exec: [cat]", NULL });
		assert_true(grant(&f, rows[i].option, rows[i].value) < 0);
		if (!strstr(f.error.text, rows[i].says))
			fail_msg("%s %s: %s", rows[i].option, rows[i].value, f.error.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_become_patterns),
		cmocka_unit_test(test_names_with_wildcards_are_escaped),
		cmocka_unit_test(test_every_layer_of_the_base_gets_a_grant),
		cmocka_unit_test(test_programs_join_the_list),
		cmocka_unit_test(test_what_is_no_grant_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
