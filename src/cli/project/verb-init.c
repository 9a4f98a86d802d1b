/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral init: proposes a corral.yaml, shows it, asks, approves just these bytes, and proves them
 * by running the project's own commands in the sandbox. Nothing of the project runs outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/diff.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/project/internal.h"
#include "process/starting.h"

struct project_init {
	bool yes, force, print, no_run, json;
	const char *folder, *home;
	struct buffer text;
	struct project_proposal has;
	/* Of the commands that were run; negative: it was not. */
	int install, test, build;
};

static void init_deinit(struct project_init *i)
{
	buffer_deinit(&i->text);
}

static int init_find_folder(struct project_init *i, struct call *c)
{
	char real[PATH_BYTES];
	int r = project_named_folder(c, c->n ? c->words[0] : ".", real, &i->home);

	if (r < 0)
		return r;
	i->folder = arena_strdup(c->arena, real);
	if (!i->folder)
		return error_no_memory(c->error);
	if (!i->folder[1] || (i->home && strcmp(i->folder, i->home) == 0))
		return error_set(c->error, -EINVAL, NULL,
			"%s is no project: its " PROJECT_NAME " would not be looked at", i->folder);
	return 0;
}

/* Is there one already? With --force its text is compared with the new one. */
static int init_check_old(struct project_init *i, struct call *c, struct project *old)
{
	auto_fd fd = -1;
	int r = project_find(old, c, i->folder, i->home, &fd);

	if (r == 0 && old->path && strcmp(old->folder, i->folder) != 0) {
		*old = (struct project){ 0 };
		return 0;
	}
	if (r == 0 && !old->path)
		return 0;
	if (!i->force) {
		*c->error = (struct error){ 0 };
		r = error_set(
			c->error, -EEXIST, NULL, "%s/" PROJECT_NAME " is there already", i->folder);
		error_hint(c->error, "look at it (corral project show), or add --force to "
				     "replace it");
		return r;
	}
	return r < 0 ? r : file_read_fd(fd, PROJECT_BYTES_MAX, &old->text);
}

static int init_show(const struct project_init *i, struct call *c, const struct project *old)
{
	auto_output o = output_for(i->json ? STDERR_FILENO : STDOUT_FILENO);

	output_styled(&o, OUTPUT_BOLD, i->folder);
	buffer_adds(&o.text, "/" PROJECT_NAME "\n\n");
	if (old->text.len)
		diff_print(&o, "  ", old->text.data, old->text.len, i->text.data, i->text.len);
	else
		project_show_text(&o, i->text.data, i->text.len);
	buffer_addc(&o.text, '\n');
	return output_write(&o, i->json ? STDERR_FILENO : STDOUT_FILENO, c->error);
}

/* corral run --explain NAME in the folder, as the user would. Returns its status. */
static int init_prove(const struct project_init *i, struct call *c, const char *name, int *ret)
{
	const char *argv[] = { "corral", "run", "--explain", name, NULL };
	const int fds[] = { STDIN_FILENO, i->json ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO };
	const struct starting s = { .program = "/proc/self/exe",
		.argv = argv,
		.env = (const char *const *)environ,
		.fds = fds,
		.n = 3,
		.folder = i->folder };
	int status;
	pid_t pid;
	int r = starting_program(&s, &pid);

	if (r < 0)
		return error_set(
			c->error, r, NULL, "corral run %s did not start: %s", name, strerror(-r));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(
				c->error, -errno, NULL, "corral run %s: %s", name, strerror(errno));
	*ret = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

static int init_run_commands(struct project_init *i, struct call *c)
{
	int r = 0;

	if (i->no_run)
		return 0;
	if (i->has.has_install)
		r = init_prove(i, c, "install", &i->install);
	if (r == 0 && i->has.has_test && i->install <= 0)
		r = init_prove(i, c, "test", &i->test);
	else if (r == 0 && i->has.has_build && i->install <= 0)
		r = init_prove(i, c, "build", &i->build);
	return r;
}

static bool init_failed(const struct project_init *i)
{
	return i->install > 0 || i->test > 0 || i->build > 0;
}

static int init_answer_json(const struct project_init *i, struct call *c)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *ran;

	tree_put_text(&t, root, "path", arena_printf(c->arena, "%s/" PROJECT_NAME, i->folder));
	tree_put_text(&t, root, "text", buffer_text(&i->text));
	tree_put_flag(&t, root, "written", !i->print);
	ran = tree_put_map(&t, root, "ran");
	if (i->install >= 0)
		tree_put_number(&t, ran, "install", i->install);
	if (i->test >= 0)
		tree_put_number(&t, ran, "test", i->test);
	if (i->build >= 0)
		tree_put_number(&t, ran, "build", i->build);
	tree_put_flag(&t, root, "proved", i->test == 0);
	return tree_print(&t, root, c->error);
}

static int init_answer(const struct project_init *i, struct call *c)
{
	const char *failed = i->install > 0 ? "install" : i->test > 0 ? "test" : "build";
	auto_output o = output_for(STDOUT_FILENO);

	if (i->json)
		return init_answer_json(i, c);
	buffer_printf(&o.text, "%s/" PROJECT_NAME " is written and approved\n", i->folder);
	if (init_failed(i))
		buffer_printf(&o.text,
			"`corral run %s` failed with status %d. If a list `denied, and what would "
			"allow it` is above, add its lines to " PROJECT_NAME
			", then: corral project approve. If there is none, nothing was denied: see "
			"the output of the command\n",
			failed,
			i->install > 0 ? i->install
			: i->test > 0  ? i->test
				       : i->build);
	else if (i->test == 0)
		buffer_adds(&o.text, "proved: `corral run test` passes in the sandbox\n");
	else if (i->build == 0)
		buffer_adds(&o.text, "proved: `corral run build` passes in the sandbox\n");
	if (!i->has.has_test && !init_failed(i))
		buffer_adds(&o.text, "no test was found: name one under `commands`, as `test`\n");
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* A file that would have been looked at, and cannot be understood. */
static void init_note_fault(const struct project_init *i, const struct facts *f)
{
	auto_output o = output_for(STDERR_FILENO);

	if (!f->package_fault)
		return;
	output_note(&o);
	output_name(&o, i->folder);
	buffer_adds(&o.text, "/package.json");
	if (f->package_line)
		buffer_printf(&o.text, ":%u", (unsigned)f->package_line);
	buffer_printf(&o.text, " %s, and is ignored\n", f->package_fault);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

static int init_propose(struct project_init *i, struct call *c)
{
	auto_fd folder = -1;
	struct facts f;
	int r = project_open_folder(c, i->folder, &folder);

	if (r < 0)
		return r;
	r = facts_find(folder, &f);
	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", i->folder, strerror(-r));
	init_note_fault(i, &f);
	project_propose(&f, &i->text, &i->has);
	return i->text.failed ? error_no_memory(c->error) : 0;
}

static int init_decide(struct project_init *i, struct call *c)
{
	auto_project old = { 0 };
	int r = init_check_old(i, c, &old);

	if (r == 0 && !i->yes && !isatty(STDIN_FILENO)) {
		r = error_set(c->error, -ENOTTY, NULL,
			"cannot ask for confirmation without a terminal; nothing was written");
		error_hint(c->error, "look at it with --print, then add --yes");
	}
	if (r == 0)
		r = init_show(i, c, &old);
	if (r == 0 && !i->yes &&
		!project_ask("Write it, approve exactly this content, and run its commands?"))
		return 1;
	if (r == 0)
		r = project_write(c, i->folder, i->home, &i->text);
	return r == 0 ? init_run_commands(i, c) : r;
}

static int init_print(const struct project_init *i, struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);

	if (i->json)
		return init_answer_json(i, c);
	buffer_add(&o.text, i->text.data, i->text.len);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_init_run(struct call *c)
{
	__attribute__((cleanup(
		init_deinit))) struct project_init i = { .install = -1, .test = -1, .build = -1 };
	const struct options_row rows[] = {
		{ { "yes", SCHEMA_FLAG, .help = "write and approve without asking" }, 'y',
			.target = &i.yes },
		{ { "force", SCHEMA_FLAG, .help = "replace a corral.yaml that is there" },
			.target = &i.force },
		{ { "print", SCHEMA_FLAG, .help = "only print the proposal" }, .target = &i.print },
		{ { "no-run", SCHEMA_FLAG, .help = "do not run its commands" },
			.target = &i.no_run },
		OPTIONS_JSON(&i.json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = init_find_folder(&i, c);
	if (r == 0)
		r = init_propose(&i, c);
	if (r == 0 && i.print) {
		r = init_print(&i, c);
		return r < 0 ? r : STATUS_YES;
	}
	if (r == 0)
		r = init_decide(&i, c);
	if (r != 0)
		return r < 0 ? r : STATUS_NO;
	r = init_answer(&i, c);
	return r < 0 ? r : init_failed(&i) ? STATUS_NO : STATUS_YES;
}

const struct verb verb_init = {
	.name = "init",
	.synopsis = "[OPTION]... [DIR]",
	.summary = "propose a corral.yaml for a project, and prove it",
	.description =
		"Looks at package.json, pyproject.toml, requirements.txt, Cargo.toml, go.mod, "
		"Makefile, CMakeLists.txt, meson.build and the remotes of git in DIR (the current "
		"folder), and proposes the smallest corral.yaml: packs, and the commands `install` "
		"and `test` (or `build`, of a Makefile without tests). Shows it, asks, writes and "
		"approves it, and runs these commands in "
		"the sandbox; one that fails says what it lacked.\n"
		"Exit status: 0 written (and its commands pass), 1 the answer was no or a command "
		"failed, 2 an error.",
	.examples = "corral init\n"
		    "corral init --yes && corral run test\n"
		    "corral init --print >corral.yaml\n",
	.operand = "DIR",
	.max = 1,
	.run = verb_init_run,
};
