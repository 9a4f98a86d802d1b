/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/preset/internal.h"
#include "cli/preset/preset.h"
#include "policy/format/permissions-text.h"
#include "policy/match/glob.h"
#include "policy/network/listen.h"
#include "test/scratch.h"

static char template[] = "/tmp/test-preset.XXXXXX", folder[PATH_BYTES];

static int set_up(void **state)
{
	(void)state;
	return scratch_make(template, folder);
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

/* A secret is for a host of its preset, and its variables may say where else that is. */
static void test_secrets(void **state)
{
	auto_arena a = { 0 };
	const char *text, *other;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < (int)preset_data_count; i++) {
		for (size_t k = 0; (text = preset_text(i, PRESET_SECRET, k)); k++, n++) {
			const size_t name = strcspn(text, " ");
			const size_t host = strcspn(text + name + 1, " ");
			const char *entry = arena_printf(
				&a, "%.*s=%.*s", (int)name, text, (int)host, text + name + 1);
			bool is_host = false;
			struct error e = { 0 };

			if (permissions_canonical(OPERATION_SECRET, entry, &a, &entry, NULL, &e) <
				0)
				fail_msg("%s: %s", text, e.text);
			for (size_t h = 0; (other = preset_text(i, PRESET_HOST, h)); h++)
				is_host = is_host ||
					  (strlen(other) == host &&
						  strncmp(text + name + 1, other, host) == 0);
			if (!is_host)
				fail_msg("%s: its host is none of the preset's", text);
			for (const char *v = text + name + 1 + host; *v; v += strcspn(v, " ")) {
				bool is_env = false;

				v++;
				for (size_t j = 0; (other = preset_text(i, PRESET_ENV, j)); j++)
					is_env = is_env || strncmp(v, other, strlen(other)) == 0;
				if (!is_env)
					fail_msg("%s: a variable that is not passed on", text);
			}
		}
	}
	assert_true(n > 10);
}

/* Every text is one that its list takes. */
static void test_data(void **state)
{
	static const struct {
		enum preset_key key;
		enum permission_list list;
	} rows[] = {
		{ PRESET_READ, LIST_FS_READ },
		{ PRESET_HOST, LIST_NETWORK_ALLOW },
		{ PRESET_ENV, LIST_ENV },
		{ PRESET_OFFLINE, LIST_ENV },
	};
	auto_arena a = { 0 };
	const char *text, *canonical;
	struct listen_entry port;

	(void)state;
	for (int i = 0; i < (int)preset_data_count; i++) {
		for (size_t r = 0; r < ROWS(rows); r++) {
			for (size_t k = 0; (text = preset_text(i, rows[r].key, k)); k++) {
				struct error e = { 0 };

				if (permissions_list_canonical(
					    rows[r].list, text, &a, &canonical, NULL, &e) < 0)
					fail_msg("%s: %s: %s", preset_name(i), text, e.text);
			}
		}
		for (size_t k = 0; (text = preset_text(i, PRESET_LISTEN, k)); k++)
			assert_int_equal(listen_parse(text, &port, NULL, NULL), 0);
		for (size_t k = 0; (text = preset_text(i, PRESET_LOGIN, k)); k++)
			assert_int_equal(
				listen_parse(strrchr(text, ' ') + 1, &port, NULL, NULL), 0);
		for (size_t k = 0; (text = preset_text(i, PRESET_TURN, k)); k++)
			assert_true(preset_is_agent(i) && !strstr(text, "  "));
		for (size_t k = 0; (text = preset_text(i, PRESET_PROGRAM, k)); k++) {
			assert_int_equal(glob_check(text[0] == '~' ? text + 1 : text, NULL), 0);
			assert_non_null(strstr(text, preset_name(i)));
		}
		for (size_t k = 0; (text = preset_text(i, PRESET_SEED, k)); k++)
			assert_true(strncmp(text, "~/", 2) == 0 && strchr(text, ' '));
		for (size_t k = 0; (text = preset_text(i, PRESET_SHARED, k)); k++)
			assert_true(strncmp(text, "~/", 2) == 0);
		assert_int_equal(preset_find(preset_name(i)), i);
	}
}

static void test_programs(void **state)
{
	static const struct {
		const char *real, *agent;
	} rows[] = {
		{ "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude" },
		{ "/usr/local/lib/node_modules/@openai/codex/bin/codex.js", "codex" },
		{ "/h/.local/share/claude/versions/2.1.0", "claude" },
		{ "/h/.nvm/versions/node/v24/lib/node_modules/@google/gemini-cli/bundle/gemini.js",
			"gemini" },
		{ "/h/.npm-global/lib/node_modules/opencode-ai/bin/opencode", "opencode" },
		{ "/h/.opencode/bin/opencode", "opencode" },
		{ "/usr/bin/claude", "claude" },
		/* A project's own, a word, and places that look similar. */
		{ "/h/project/node_modules/@anthropic-ai/claude-code/cli.js", NULL },
		{ "/tmp/.x/node_modules/@anthropic-ai/claude-code/cli.js", NULL },
		{ "/h/bin/claude", NULL },
		{ "/h/.local/bin/claude", NULL },
		{ "/usr/lib/node_modules/@anthropic-ai/claude-code-evil/cli.js", NULL },
		{ "/usr/bin/env", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		int found = preset_of_program(rows[i].real, "/h");

		if (rows[i].agent)
			assert_string_equal(preset_name(found), rows[i].agent);
		else
			assert_int_equal(found, -ENOENT);
	}
	assert_int_equal(preset_of_program("/h/.opencode/bin/opencode", NULL), -ENOENT);
	assert_true(preset_of_program("/h[1]/.opencode/bin/opencode", "/h[1]") >= 0);
}

static void test_hosts(void **state)
{
	static const struct {
		const char *url, *host;
	} rows[] = {
		{ "https://api.example.com", "api.example.com:443" },
		{ "http://api.example.com/v1?x", "api.example.com:80" },
		{ "http://127.0.0.1:8080/v1", "127.0.0.1:8080" },
		{ "https://[::1]:8443/", "[::1]:8443" },
		{ "https://[::1]", "[::1]:443" },
		{ "https://a:b@evil.example/", NULL },
		{ "https://good.example@evil.example", NULL },
		{ "https://x:123456/", NULL },
		{ "https://x:12a/", NULL },
		{ "https://x:/", NULL },
		{ "https://", NULL },
		{ "ftp://x", NULL },
		{ "", NULL },
	};
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *host = preset_host_of(&a, rows[i].url);

		if (rows[i].host)
			assert_string_equal(host, rows[i].host);
		else
			assert_null(host);
	}
}

/* A folder for each project, and none behind a link. */
static void test_keep(void **state)
{
	const int npm = preset_find("npm"), claude = preset_find("claude");
	char home[PATH_BYTES], one[PATH_BYTES], two[PATH_BYTES], again[PATH_BYTES];
	struct error e = { 0 };
	bool is_new = false;

	(void)state;
	assert_true(snprintf(home, sizeof(home), "%s/home", folder) < PATH_BYTES);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(preset_keep(npm, home, "/src/a/app", one, &is_new, &e), 0);
	assert_true(is_new);
	assert_int_equal(preset_keep(npm, home, "/src/b/app", two, &is_new, &e), 0);
	assert_string_not_equal(one, two);
	assert_int_equal(preset_keep(npm, home, "/src/a/app", again, &is_new, &e), 0);
	assert_false(is_new);
	assert_string_equal(one, again);
	assert_int_equal(preset_keep(claude, home, NULL, one, &is_new, &e), 0);
	assert_int_equal(preset_keep(claude, NULL, NULL, two, &is_new, &e), -ENOENT);
	/* Something else is in its place. */
	assert_int_equal(rmdir(one), 0);
	assert_int_equal(symlink("/etc", one), 0);
	assert_int_equal(preset_keep(claude, home, NULL, two, &is_new, &e), -EPERM);
	assert_int_equal(unlink(one), 0);
	assert_int_equal(file_replace(one, "x", 1, 0600), 0);
	assert_int_equal(preset_keep(claude, home, NULL, two, &is_new, &e), -EPERM);
}

/* The second of two waits for the first; what is in the state cannot lock it. */
static void test_lock(void **state)
{
	char agents[PATH_BYTES], keep[PATH_BYTES];
	struct error e = { 0 };
	auto_fd inside = -1, other = -1;
	pid_t first;
	int status, ready[2];
	char byte;

	(void)state;
	assert_true(snprintf(agents, sizeof(agents), "%s/agents", folder) < PATH_BYTES);
	assert_true(snprintf(keep, sizeof(keep), "%s/agents/one", folder) < PATH_BYTES);
	assert_int_equal(preset_lock_states(keep, &e), -ENOENT);
	assert_int_equal(mkdir(agents, 0700), 0);
	assert_int_equal(mkdir(keep, 0700), 0);
	inside = open(keep, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(inside, LOCK_EX), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	first = fork();
	assert_true(first >= 0);
	if (first == 0) {
		const bool is_locked = preset_lock_states(keep, &e) == 0 &&
				       write(ready[1], "x", 1) == 1 && pause() < 0;

		_exit(!is_locked);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	other = open(agents, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(flock(other, LOCK_UN), 0);
	assert_int_equal(preset_lock_states(keep, &e), 0);
	assert_int_equal(close(ready[0]), 0);
	assert_int_equal(close(ready[1]), 0);
}

static void test_seed(void **state)
{
	char from[PATH_BYTES], link[PATH_BYTES], twin[PATH_BYTES], to[PATH_BYTES];
	char away[PATH_BYTES];
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	assert_true(snprintf(from, sizeof(from), "%s/from", folder) < PATH_BYTES);
	assert_true(snprintf(link, sizeof(link), "%s/link", folder) < PATH_BYTES);
	assert_true(snprintf(twin, sizeof(twin), "%s/twin", folder) < PATH_BYTES);
	assert_true(snprintf(to, sizeof(to), "%s/a/b/to", folder) < PATH_BYTES);
	assert_int_equal(file_replace(from, "mine", 4, 0644), 0);
	assert_int_equal(symlink(from, link), 0);
	assert_int_equal(preset_seed(folder, link, "a/b/to", &e), 0);
	assert_int_equal(preset_seed(folder, "/dev/null", "a/b/to", &e), 0);
	assert_int_equal(preset_seed(folder, "/nowhere", "a/b/to", &e), 0);
	assert_int_equal(preset_seed(folder, from, "a/b/to", &e), 1);
	assert_int_equal(preset_seed(folder, from, "a/b/to", &e), 0);
	assert_int_equal(file_read(to, 16, &text), 0);
	assert_string_equal(buffer_text(&text), "mine");
	assert_int_equal(preset_seed(folder, from, "a/b/to/c", &e), -ENOTDIR);
	/* Links that a run of the agent has left, in place of a folder or of the file. */
	assert_true(snprintf(away, sizeof(away), "%s/away", folder) < PATH_BYTES);
	assert_true(snprintf(to, sizeof(to), "%s/c", folder) < PATH_BYTES);
	assert_int_equal(mkdir(away, 0700), 0);
	assert_int_equal(symlink(away, to), 0);
	assert_int_equal(preset_seed(folder, from, "c/to", &e), -ELOOP);
	assert_int_equal(preset_seed(folder, from, "c/d/to", &e), -ELOOP);
	assert_int_equal(preset_seed(to, from, "to", &e), -ELOOP);
	assert_true(snprintf(to, sizeof(to), "%s/last", folder) < PATH_BYTES);
	assert_int_equal(symlink("away/last", to), 0);
	assert_int_equal(preset_seed(folder, from, "last", &e), 0);
	assert_int_equal(rmdir(away), 0);
	/* A second name: it may be another file that a command put there. */
	assert_int_equal(linkat(AT_FDCWD, from, AT_FDCWD, twin, 0), 0);
	assert_int_equal(preset_seed(folder, twin, "other", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_seed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
