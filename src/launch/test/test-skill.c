/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "base/buffer.h"
#include "launch/skill.h"
#include "skill/test/test.h"

#define MANIFEST_HEAD "name: x\ndescription: y\nentry: run.sh\n"
#define MANIFEST MANIFEST_HEAD "permissions: {}\n"

static char state_folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(state_folder, "/tmp/corral-test-state.XXXXXX");
	if (!mkdtemp(state_folder))
		return -1;
	return setenv("XDG_STATE_HOME", state_folder, 1);
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(state_folder);
}

static struct folder *new_skill(const char *manifest)
{
	struct folder *f = folder_new();

	folder_add(f, "skill.yaml", manifest);
	folder_add_bytes(f, "run.sh", "#!/bin/sh\n", 10, 0755);
	return f;
}

/* Opens it and makes its words, or fails with that code and that text. */
static void expect(const struct folder *f, const char *entry, int code, const char *text)
{
	auto_arena a = { 0 };
	auto_launch_skill s = LAUNCH_SKILL_NONE;
	struct error e = { 0 };
	const char **words = NULL;
	size_t n = 0;
	int r = launch_skill_open(&s, f->path, LAUNCH_SKILL_RUN, &a, &e);

	if (r == 0)
		r = launch_skill_command(
			&s, entry, NULL, (const char *[]){ "one" }, 1, &a, &words, &n, &e);
	assert_int_equal(r, code);
	if (code < 0) {
		assert_non_null(strstr(e.text, text));
		return;
	}
	assert_true(n >= 2);
	assert_string_equal(words[n - 2] + strlen(s.path) + 1, text);
	assert_string_equal(words[n - 1], "one");
	assert_null(words[n]);
}

static void test_entries(void **state)
{
	static const struct {
		const char *entry;
		int code;
		const char *text;
	} cases[] = {
		{ NULL, 0, "run.sh" },
		{ "run.sh", 0, "run.sh" },
		{ "./sub/../run.sh", 0, "run.sh" },
		/* Where it really is. */
		{ "link", 0, "run.sh" },
		{ "sub/up", 0, "run.sh" },
		{ "absent", -ENOENT, "absent" },
		{ "sub", -ENOENT, "is not a regular file" },
		{ ".", -ENOENT, "is not a regular file" },
		{ "plain", -ENOEXEC, "is not executable" },
		{ "../run.sh", -EACCES, "is outside of the skill's folder" },
		{ "../../bin/sh", -EACCES, "is outside of the skill's folder" },
		{ "sub/../../x/../../bin/sh", -EACCES, "is outside of the skill's folder" },
	};
	struct folder *f = new_skill(MANIFEST);

	(void)state;
	folder_add(f, "plain", "echo\n");
	assert_int_equal(mkdirat(f->fd, "sub", 0755), 0);
	assert_int_equal(symlinkat("run.sh", f->fd, "link"), 0);
	assert_int_equal(symlinkat("../run.sh", f->fd, "sub/up"), 0);
	for (size_t i = 0; i < ROWS(cases); i++)
		expect(f, cases[i].entry, cases[i].code, cases[i].text);
	folder_free(f);
}

static void script_is(
	const struct launch_skill *s, const char *name, const char *program, const char *argument)
{
	static const char *const args[] = { "one", NULL };
	auto_arena a = { 0 };
	const char *const *words = NULL;
	const char *path = arena_printf(&a, "%s/%s", s->path, name);
	struct error e = { 0 };
	int r = launch_skill_script(s, path, args, &a, &words, &e);

	assert_int_equal(r, program ? 0 : -ENOENT);
	if (!program)
		return;
	assert_string_equal(words[0], program);
	if (argument)
		assert_string_equal(words[1], argument);
	words += argument ? 2 : 1;
	assert_string_equal(words[0], path);
	assert_string_equal(words[1], "one");
	assert_null(words[2]);
}

/* The folder above is swapped after the skill was read: no line of the other folder counts, though
 * the skill's own did not change. */
static void test_scripts(void **state)
{
	static const char evil[] = "#!/usr/bin/perl -eprint\"EVIL\";exit\n";
	static const char *const folders[] = { "skills", "skills/sk", "skills/sk/sub",
		"skills/sk/data", "evil", "evil/sk", "evil/sk/sub", "evil/sk/data" };
	static const char *const others[] = { "evil/sk/sub/a.pl", "evil/sk/new",
		"evil/sk/data/own" };
	struct folder *f = folder_new();
	auto_arena a = { 0 };
	auto_launch_skill s = LAUNCH_SKILL_NONE;
	const char *path = arena_printf(&a, "%s/skills/sk", f->path);

	(void)state;
	for (size_t i = 0; i < ROWS(folders); i++)
		assert_int_equal(mkdirat(f->fd, folders[i], 0755), 0);
	for (size_t i = 0; i < ROWS(others); i++)
		folder_add_bytes(f, others[i], evil, sizeof(evil) - 1, 0755);
	folder_add_bytes(f, "skills/sk/run.sh", "#!/bin/sh\n", 10, 0755);
	folder_add_bytes(f, "skills/sk/sub/a.pl", "#!/usr/bin/perl -w\n", 19, 0755);
	folder_add_bytes(f, "skills/sk/data/own", "#!/bin/sh\n", 10, 0755);
	assert_int_equal(symlinkat("sub", f->fd, "skills/sk/by"), 0);
	folder_add(f, "skills/sk/skill.yaml",
		MANIFEST_HEAD "permissions: {fs: {write: [\"$SKILL_DIR/data/**\"]}}\n");
	assert_int_equal(launch_skill_open(&s, path, LAUNCH_SKILL_RUN, &a, NULL), 0);
	assert_int_equal(launch_skill_unchanged(&s, NULL), 0);
	assert_int_equal(renameat2(f->fd, "skills", f->fd, "evil", RENAME_EXCHANGE), 0);

	script_is(&s, "sub/a.pl", "/usr/bin/perl", "-w");
	script_is(&s, "by/a.pl", "/usr/bin/perl", "-w");
	script_is(&s, "data/own", "/bin/sh", NULL);
	script_is(&s, "new", NULL, NULL);
	/* And a plan that looks at the other folder is noticed. */
	assert_int_equal(launch_skill_unchanged(&s, NULL), -ESTALE);
	assert_int_equal(renameat2(f->fd, "skills", f->fd, "evil", RENAME_EXCHANGE), 0);
	assert_int_equal(launch_skill_unchanged(&s, NULL), 0);
	folder_free(f);
}

static void test_manifests(void **state)
{
	struct folder *f = folder_new();

	(void)state;
	expect(f, NULL, -ENOENT, "no manifest");
	folder_add(f, "skill.yaml", "name: x\ndescription: y\npermissions: {}\n");
	expect(f, NULL, -ENOENT, "has no entry");
	/* It describes, with or without frontmatter, and must not seem to grant. */
	folder_add(f, "SKILL.md", "---\nname: x\ndescription: y\n---\n");
	expect(f, NULL, -ENOENT, "has no entry");
	folder_add(f, "SKILL.md", "Text.\n");
	expect(f, NULL, -ENOENT, "has no entry");
	folder_add(f, "SKILL.md", "---\nname: x\npermissions: {}\n---\n");
	expect(f, NULL, -EINVAL, "has permissions, but");
	folder_add(f, "SKILL.md", "---\nname: [\n---\n");
	expect(f, NULL, -EINVAL, "");
	folder_add(f, "SKILL.md", "Text.\n");
	folder_add(f, "manifest.yaml", "name: x\nwasm: {file: x.wasm}\n");
	expect(f, NULL, -EINVAL, "more than one manifest");
	folder_add(f, "default.json", "{}");
	expect(f, NULL, -EINVAL, "rules, not a skill");
	folder_free(f);
}

/* Who looks at a skill sees it, and what is wrong with it. */
static void test_faults(void **state)
{
	static const struct {
		const char *file, *text, *fault;
	} cases[] = {
		{ "SKILL.md", "---\nname: x\npermissions: {exec: [ls]}\n---\n",
			"has permissions, but" },
		{ "manifest.yaml", "name: x\nwasm: {file: x.wasm}\n", "more than one manifest" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct folder *f = new_skill(MANIFEST);
		auto_arena a = { 0 };
		auto_launch_skill s = LAUNCH_SKILL_NONE;
		struct error e = { 0 };

		folder_add(f, cases[i].file, cases[i].text);
		assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_LOOK, &a, &e), 0);
		assert_non_null(strstr(s.fault.text, cases[i].fault));
		assert_false(s.manifest.permissions->exec_listed);
		folder_free(f);
	}
}

/* A grant to write in the folder does not reach what describes the skill. */
static void test_description_stays(void **state)
{
	struct folder *f =
		new_skill(MANIFEST_HEAD "permissions: {fs: {write: [$SKILL_DIR/SKILL.md]}}\n");

	(void)state;
	expect(f, NULL, -EINVAL, "its description");
	folder_add(f, "SKILL.md", "Text.\n");
	expect(f, NULL, -EINVAL, "its description");
	folder_free(f);
}

static void test_runtime(void **state)
{
	struct folder *f = new_skill(MANIFEST "runtime: bash\n");
	auto_arena a = { 0 };
	auto_launch_skill s = LAUNCH_SKILL_NONE;
	const char **words;
	size_t n;

	(void)state;
	assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_RUN, &a, NULL), 0);
	assert_int_equal(launch_skill_command(&s, NULL, NULL, NULL, 0, &a, &words, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(words[0], "bash");
	/* By its name it is the same; another runtime may be asked for. */
	assert_int_equal(
		launch_skill_command(&s, "run.sh", NULL, NULL, 0, &a, &words, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(words[0], "bash");
	assert_int_equal(
		launch_skill_command(&s, "run.sh", "sh", NULL, 0, &a, &words, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(words[0], "sh");
	folder_free(f);
}

/* What is live, by the manifest. */
static void test_lives(void **state)
{
	static const struct {
		const char *permissions, *lives, *fault;
	} cases[] = {
		{ "{}", "", "" },
		{ "{fs: {write: ['$SKILL_DIR/data/**', '$SKILL_DIR/state', /tmp/**, "
		  "'$WORK_DIR/**', "
		  "~/**]}}",
			"data/ state ", "" },
		{ "{fs: {write: ['$SKILL_DIR/{a,b/c}/**', '${SKILL_DIR}/a/**', '$SKILL_DIR/a']}}",
			"a/ b/c/ a ", "" },
		{ "{fs: {write: ['$SKILL_DIR/*.log']}}", "", "" },
		{ "{fs: {write: ['$SKILL_DIR/data/**'], deny: ['$SKILL_DIR/data/x']}}", "data/ ",
			"" },
		{ "{guest_paths: [{guest: /d, host: $SKILL_DIR/data, mode: rw}, {guest: /e, host: "
		  "$SKILL_DIR/more, mode: ro}]}",
			"data/ ", "" },
		{ "{rules: [{id: a, action: allow, operations: [fs.write], patterns: "
		  "['$SKILL_DIR/data/**']}, {id: b, action: deny, operations: [fs.write], "
		  "patterns: "
		  "['$SKILL_DIR/b/**']}]}",
			"data/ ", "" },
		{ "{all_of: [{fs: {write: ['$SKILL_DIR/data/**']}}, {fs: {write: [/**]}}]}",
			"data/ ", "" },
		{ "{fs: {write: ['$SKILL_DIR/**', '$SKILL_DIR/data/**']}}", "data/ ",
			"includes its manifest" },
		{ "{fs: {write: ['$SKILL_DIR']}}", "", "" },
		{ "{fs: {write: ['$SKILL_DIR/*.sh']}}", "",
			"includes its entry `run.sh` (line 3)" },
		{ "{fs: {write: ['$SKILL_DIR/skill.*']}}", "",
			"includes its manifest (skill.yaml)" },
		{ "{rules: [{id: a, action: allow, operations: [fs.write], patterns: "
		  "['$SKILL_DIR/run.sh']}]}",
			"", "includes its entry" },
		{ "{all_of: [{fs: {write: ['$SKILL_DIR/**']}}, {}]}", "", "includes its manifest" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		char manifest[512], found[128] = "";
		auto_arena a = { 0 };
		auto_launch_skill s = LAUNCH_SKILL_NONE, run = LAUNCH_SKILL_NONE;
		struct folder *f;

		(void)snprintf(manifest, sizeof(manifest),
			"name: x\ndescription: y\nentry: run.sh\npermissions: %s\n",
			cases[i].permissions);
		f = new_skill(manifest);
		assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_LOOK, &a, NULL), 0);
		for (size_t k = 0; k < s.lives.n; k++)
			(void)snprintf(found + strlen(found), sizeof(found) - strlen(found),
				"%s%s ", s.lives.items[k].path,
				s.lives.items[k].subtree ? "/" : "");
		assert_string_equal(found, cases[i].lives);
		assert_true(cases[i].fault[0] ? strstr(s.fault.text, cases[i].fault) != NULL
					      : s.fault.text[0] == '\0');
		assert_int_equal(launch_skill_open(&run, f->path, LAUNCH_SKILL_RUN, &a, NULL),
			cases[i].fault[0] ? -EINVAL : 0);
		folder_free(f);
	}
}

static void test_too_many_lives(void **state)
{
	auto_arena a = { 0 };
	auto_launch_skill s = LAUNCH_SKILL_NONE;
	auto_buffer manifest = { 0 };
	struct error e = { 0 };
	struct folder *f;

	(void)state;
	buffer_adds(&manifest, MANIFEST_HEAD "permissions: {fs: {write: [");
	for (int i = 0; i < 257; i++)
		buffer_printf(&manifest, "$SKILL_DIR/d%d/**, ", i);
	buffer_adds(&manifest, "]}}\n");
	f = new_skill(buffer_text(&manifest));
	assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_LOOK, &a, &e), -E2BIG);
	assert_non_null(strstr(e.text, "more than 256 grants to write"));
	folder_free(f);
}

static void test_approval(void **state)
{
	struct folder *f = new_skill(MANIFEST);
	auto_arena a = { 0 };
	struct launch_skill s;
	struct error e = { 0 };
	const char **words;
	size_t n;

	(void)state;
	assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_RUN, &a, NULL), 0);
	assert_int_equal(s.outcome, APPROVAL_NONE);
	assert_int_equal(launch_skill_check(&s, "x", "say --yes", &e), -EACCES);
	assert_non_null(strstr(e.text, "never approved"));
	assert_non_null(strstr(e.hint, "corral approve x"));
	assert_int_equal(approval_store(&s.approval, NULL), 0);
	launch_skill_deinit(&s);
	assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_RUN, &a, NULL), 0);
	assert_int_equal(launch_skill_check(&s, "x", "say --yes", &e), 0);
	assert_int_equal(launch_skill_unchanged(&s, &e), 0);
	/* It changes after it was opened, and is another one when it is opened again. What was
	 * opened stays what it was. */
	folder_add(f, "more", "x");
	assert_int_equal(launch_skill_unchanged(&s, &e), -ESTALE);
	assert_int_equal(
		launch_skill_command(&s, "more", NULL, NULL, 0, &a, &words, &n, &e), -ENOENT);
	assert_int_equal(launch_skill_command(&s, NULL, NULL, NULL, 0, &a, &words, &n, &e), 0);
	launch_skill_deinit(&s);
	assert_int_equal(launch_skill_open(&s, f->path, LAUNCH_SKILL_RUN, &a, NULL), 0);
	assert_int_equal(s.outcome, APPROVAL_CONTENT_CHANGED);
	launch_skill_deinit(&s);
	folder_free(f);
}

static void test_files(void **state)
{
	static const struct {
		const char *name, *text;
		int outcome;
		bool is_skill;
	} cases[] = {
		{ "policy.yaml", "fs: {read: [/usr/**]}\n", APPROVAL_CURRENT, false },
		{ "other.yaml", MANIFEST, APPROVAL_NONE, true },
		{ "skill.yaml", MANIFEST, APPROVAL_NONE, true },
	};
	struct folder *f = folder_new();
	char path[128];

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_arena a = { 0 };
		auto_launch_skill s = LAUNCH_SKILL_NONE;

		folder_add(f, cases[i].name, cases[i].text);
		(void)snprintf(path, sizeof(path), "%s/%s", f->path, cases[i].name);
		assert_int_equal(launch_skill_read(&s, path, &a, NULL), 0);
		assert_int_equal(s.outcome, cases[i].outcome);
		assert_int_equal(s.is_skill, cases[i].is_skill);
		assert_string_equal(s.path, f->path);
	}
	folder_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_manifests),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_description_stays),
		cmocka_unit_test(test_runtime),
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_too_many_lives),
		cmocka_unit_test(test_approval),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
