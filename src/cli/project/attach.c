/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project of a run. An approved file is as a policy that extends its profile: its grants join
 * that layer, options add to it, and the user's and the system's stored policies limit it as they
 * limit every run.
 *
 * Where the user names the base (--policy, --skill, --mode), that is what holds, and the file is
 * not read. --profile takes the place of the file's preset, so that `--profile offline` is one run
 * without a network; the file's hosts are left out then. In every case the file is guarded: no
 * command changes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/project/project.h"
#include "cli/run/run.h"
#include "launch/program.h"

static void project_note(const struct run *r, const char *path, const char *why)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	output_name(&o, path);
	buffer_printf(&o.text, " is ignored: its folder %s\n", why);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* Shows it, and asks who sits at the terminal. */
static int project_settle(struct run *r, struct project *p)
{
	auto_output o = output_for(STDERR_FILENO);
	struct call *c = r->call;
	int ret;

	if (p->outcome == APPROVAL_CURRENT)
		return 0;
	if (!r->options.json && isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
		ret = project_show(p, c, &o);
		if (ret == 0)
			ret = output_write(&o, STDERR_FILENO, c->error);
		if (ret < 0)
			return ret;
		if (project_ask("Approve exactly this content for this project?"))
			return project_approve(p, c);
	}
	(void)error_set(
		c->error, -EACCES, NULL, "%s is not approved: %s", p->path, project_outcome(p));
	error_hint(c->error,
		"review and approve it: corral project approve %s; or run without it: "
		"--no-project",
		p->folder);
	return RUN_FORBIDDEN;
}

/* Words */

/*
 * Names that people give commands of a project. `test` alone is a program as well, which says
 * nothing and fails; of the others there may be one of the user's own.
 */
static bool project_is_usual(const struct run *r)
{
	static const char *const names[] = { "test", "build", "lint", "start", "dev" };
	const struct call *c = r->call;
	char path[PATH_BYTES];

	if (r->is_shell || r->options.skill || c->n != 1 || c->is_behind_dashes)
		return false;
	for (size_t i = 0; i < ROWS(names); i++)
		if (strcmp(c->words[0], names[i]) == 0)
			return i == 0 || !launch_program_in(getenv("PATH"), names[i], path);
	return false;
}

/* p: the project that does not have the command; its path is NULL if there is no project. */
static int project_refuse_command(struct run *r, const struct project *p)
{
	const char *name = r->call->words[0], *from = r->load.variables.values[VARIABLE_WORK_DIR];
	const bool is_project = p->path && !p->ignored;
	struct error *e = r->call->error;

	if (is_project)
		(void)error_set(e, -ENOENT, NULL, "%s has no command `%s`", p->path, name);
	else
		(void)error_set(e, -ENOENT, NULL,
			"there is no " PROJECT_NAME " in %s or above it, so `%s` is no command of "
			"a project",
			from, name);
	error_hint(e, "%s%s", is_project ? "add it below `commands`" : "`corral init` proposes one",
		strcmp(name, "test") == 0 ? "; the program is: corral run -- test" : "");
	return RUN_NOT_FOUND;
}

/* The user named another base, so the file is not read and nothing of it is known. */
static int project_refuse_unread(struct run *r, const struct project *p)
{
	const char *option = r->options.policies.n ? "--policy" : "--mode";
	struct error *e = r->call->error;

	(void)error_set(e, -ENOENT, NULL,
		"%s is not used with %s, so `%s` is no command of a project", p->path, option,
		r->call->words[0]);
	error_hint(e, "leave out %s, or write -- before the name of a program", option);
	return RUN_NOT_FOUND;
}

/* NAME [--] [ARG]...: the command of that name, unless -- stood before it. */
static int project_name_command(struct run *r, const struct project *p)
{
	struct call *c = r->call;
	const struct project_command *found = NULL;
	auto_output o = output_for(STDERR_FILENO);
	size_t skip;
	char **words;

	if (!r->is_shell && c->n && !c->is_behind_dashes)
		found = project_file_find(&p->file, c->words[0]);
	if (!found)
		return project_is_usual(r) ? project_refuse_command(r, p) : 0;
	skip = 1 + (c->n > 1 && strcmp(c->words[1], "--") == 0);
	words = arena_calloc(c->arena, found->n + c->n - skip + 1, sizeof(*words));
	if (!words)
		return error_no_memory(c->error);
	for (size_t i = 0; i < found->n; i++) {
		words[i] = arena_strdup(c->arena, found->words[i]);
		if (!words[i])
			return error_no_memory(c->error);
	}
	memcpy(words + found->n, c->words + skip, (c->n - skip) * sizeof(*words));
	c->words = words;
	c->n += found->n - skip;
	if (!r->options.cwd)
		r->options.cwd = p->folder;
	if (r->options.json)
		return 0;
	output_note(&o);
	buffer_printf(&o.text, "%s:", found->name);
	for (size_t i = 0; i < c->n; i++) {
		auto_buffer word = { 0 };

		output_shell_word(&word, c->words[i]);
		buffer_addc(&o.text, ' ');
		buffer_add_visible(&o.text, buffer_text(&word), word.len);
	}
	buffer_addc(&o.text, '\n');
	(void)output_write(&o, STDERR_FILENO, NULL);
	return 0;
}

/* Packs and the profile; their names were checked when the file was opened. */

static int project_add_packs(struct run *r, const struct project_file *f)
{
	struct options_list *with = &r->options.with;

	for (size_t i = 0; i < f->n_packs; i++) {
		const char *name = preset_name(preset_find(f->packs[i]));

		if (ARENA_PUSH(r->call->arena, with->items, with->n, with->cap, name) < 0)
			return error_no_memory(r->call->error);
	}
	return 0;
}

static int project_choose_profile(struct run *r, const struct project_file *f)
{
	/* An agent's preset attaches to its program, on top of the default profile. */
	if (!f->preset || preset_find(f->preset) >= 0 || r->options.profile)
		return 0;
	r->options.profile = arena_strdup(r->call->arena, f->preset);
	return r->options.profile ? 0 : error_no_memory(r->call->error);
}

static int project_add_grants(struct run *r, struct project *p)
{
	struct load *l = &r->load;
	struct project_file *f = &p->file;
	struct manifest m = { .kind = MANIFEST_PERMISSIONS, .permissions = f->permissions };
	const char *profile = r->options.profile ? r->options.profile : RUN_PROFILE_DEFAULT;
	int ret;

	if (strcmp(profile, "offline") == 0)
		project_file_cut_network(f);
	m.permissions->extends = profile;
	m.permissions->extends_where =
		f->preset ? f->preset_where : (struct location){ .file = p->path };
	ret = r->call->extend ? r->call->extend(l, r->call, &m) : 0;
	/* They are the layer's now, or gone; so are the texts that lived with them. */
	*f = (struct project_file){ 0 };
	if (ret == 0 && ARENA_PUSH(r->call->arena, l->files, l->n, l->cap, m) < 0)
		ret = error_no_memory(r->call->error);
	if (ret < 0)
		manifest_deinit(&m);
	return ret;
}

/* What is done with one that is approved. */
static int project_use(struct run *r, struct project *p)
{
	int ret;

	r->has_project = true;
	if (!r->options.work_dir && !r->load.is_set[VARIABLE_WORK_DIR])
		r->load.variables.values[VARIABLE_WORK_DIR] = p->folder;
	r->always = (struct ask_project){ project_always, r };
	if (p->file.asks_denied && r->options.ask_ms)
		r->options.ask_denied = true;
	run_watch_for_ask(r);
	ret = project_name_command(r, p);
	if (ret == 0)
		ret = project_add_packs(r, &p->file);
	if (ret == 0)
		ret = project_choose_profile(r, &p->file);
	return ret == 0 ? project_add_grants(r, p) : ret;
}

int project_attach(struct run *r)
{
	const struct run_options *o = &r->options;
	const char *from = r->load.variables.values[VARIABLE_WORK_DIR];
	const char *home = r->load.variables.values[VARIABLE_HOME];
	struct project *p = &r->project;
	auto_fd fd = -1;
	int ret;

	if (o->no_project || o->policies.n || o->skill || o->agent.is_given) {
		struct error none = { 0 }, *said = r->call->error;

		/* One that is not trusted is not used, and is guarded all the same. */
		r->call->error = &none;
		(void)project_find(p, r->call, from, home, &fd);
		r->call->error = said;
		ret = run_guard(r, p->path);
		/* Who says --no-project means the program. */
		if (ret < 0 || o->no_project || !p->path || !project_is_usual(r))
			return ret;
		return project_refuse_unread(r, p);
	}
	ret = project_open(p, r->call, from, home);
	if (ret < 0)
		return ret;
	if (p->path)
		ret = run_guard(r, p->path);
	if (ret == 0 && p->ignored)
		project_note(r, p->path, p->ignored);
	if (ret == 0 && (!p->path || p->ignored))
		return project_is_usual(r) ? project_refuse_command(r, p) : 0;
	if (ret == 0 && p->passed)
		project_note(r, p->passed, p->passed_why);
	if (ret == 0)
		ret = project_settle(r, p);
	return ret == 0 ? project_use(r, p) : ret;
}
