/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/format/mode.h"
#include "policy/format/permissions-text.h"

static const char confined[] = "fs:\n"
			       "  read:\n"
			       "    - /**\n"
			       "  write:\n"
			       "    - $HOME/.claude/**\n"
			       "    - $TEMP/**\n"
			       "    - /home/a/.omega/**\n"
			       "network:\n"
			       "  allow:\n"
			       "    - \"*:*\"\n"
			       "    - udp://*:*\n"
			       "env:\n"
			       "  - \"*\"\n";

static const char open_to_all[] = "fs:\n"
				  "  read:\n"
				  "    - /**\n"
				  "  write:\n"
				  "    - /**\n"
				  "network:\n"
				  "  allow:\n"
				  "    - \"*:*\"\n"
				  "    - udp://*:*\n"
				  "env:\n"
				  "  - \"*\"\n";

static void test_words(void **state)
{
	enum agent_mode mode = AGENT_MODE_RWX;

	(void)state;
	for (int m = AGENT_MODE_SANDBOX; m <= AGENT_MODE_RWX; m++) {
		assert_int_equal(agent_mode_parse(agent_mode_name((enum agent_mode)m), &mode), 0);
		assert_int_equal(mode, m);
	}
	assert_int_equal(agent_mode_parse("RX", &mode), -EINVAL);
	assert_int_equal(agent_mode_parse("", &mode), -EINVAL);
}

static void test_permissions(void **state)
{
	static const struct {
		enum agent_mode mode;
		const char *data_dir, *expected, *origin;
	} rows[] = {
		{ AGENT_MODE_SANDBOX, "/home/a/.omega", confined, "mode sandbox" },
		{ AGENT_MODE_RX, "/home/a/./.omega/", confined, "mode rx" },
		{ AGENT_MODE_RWX, "/home/a/.omega", open_to_all, "mode rwx" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = permissions_new();
		auto_buffer out = { 0 };

		assert_int_equal(
			agent_mode_permissions(rows[i].mode, rows[i].data_dir, NULL, 0, p, NULL),
			0);
		permissions_print_yaml(p, &out);
		assert_string_equal(buffer_text(&out), rows[i].expected);
		assert_string_equal(p->origin, rows[i].origin);
		assert_false(p->exec_listed);
	}
}

static bool grants_write(const struct permissions *p, const char *pattern)
{
	for (size_t i = 0; i < p->fs_write.n; i++) {
		if (strcmp(p->fs_write.items[i].all[0], pattern) == 0)
			return true;
	}
	return false;
}

/* A folder's name is a name, whatever it would mean as a pattern. */
static void test_extra_folders(void **state)
{
	static const char *const extra[] = { "/srv/a", "/srv/[b]*{c}", "/srv/$HOME" };
	auto_permissions *p = permissions_new();

	(void)state;
	assert_int_equal(
		agent_mode_permissions(AGENT_MODE_RX, "/data", extra, ROWS(extra), p, NULL), 0);
	assert_true(grants_write(p, "/data/**"));
	assert_true(grants_write(p, "/srv/a/**"));
	assert_true(grants_write(p, "/srv/\\[b\\]\\*\\{c\\}/**"));
	assert_true(grants_write(p, "/srv/\\$HOME/**"));
}

static void test_refusals(void **state)
{
	static const struct {
		const char *data_dir, *extra, *says;
	} rows[] = {
		{ "omega", "/srv", "`omega` is not an absolute path" },
		{ "", "/srv", "`` is not an absolute path" },
		{ "/", "/srv", "/ cannot be the writable folder: nothing would be confined" },
		{ "/a/..", "/srv", "/ cannot be the writable folder: nothing would be confined" },
		{ "/a", "srv", "`srv` is not an absolute path" },
		{ "/a", "//", "/ cannot be the writable folder: nothing would be confined" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = permissions_new();
		struct error e = { 0 };

		assert_int_equal(agent_mode_permissions(AGENT_MODE_SANDBOX, rows[i].data_dir,
					 &rows[i].extra, 1, p, &e),
			-EINVAL);
		assert_non_null(strstr(e.text, rows[i].says));
	}
}

static void test_prompts(void **state)
{
	auto_arena a = { 0 };
	const char *sandbox = agent_mode_prompt(AGENT_MODE_SANDBOX, "/home/a/.omega", &a);
	const char *rx = agent_mode_prompt(AGENT_MODE_RX, "/home/a/.omega", &a);

	(void)state;
	assert_non_null(strstr(sandbox, "/home/a/.omega"));
	assert_non_null(strstr(sandbox, "nowhere else"));
	assert_non_null(strstr(rx, "read files and run programs everywhere"));
	assert_non_null(strstr(rx, "/home/a/.omega"));
	assert_null(agent_mode_prompt(AGENT_MODE_RWX, "/home/a/.omega", &a));
}

static void test_out_of_memory(void **state)
{
	size_t budget = 0;
	int r = -ENOMEM;

	(void)state;
	while (r == -ENOMEM) {
		auto_permissions *p = permissions_new();
		struct error e = { 0 };

		p->arena->budget = p->arena->used + budget++;
		r = agent_mode_permissions(AGENT_MODE_SANDBOX, "/data", NULL, 0, p, &e);
		assert_true(r == 0 || strcmp(e.text, "out of memory") == 0);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_extra_folders),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_prompts),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("mode", tests, NULL, NULL);
}
