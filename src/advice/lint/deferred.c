/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is written inside the sandbox and runs elsewhere, or is written by what may only run
 * what it is given.
 *
 * A sandbox holds a program. It does not hold the git hook that the program leaves behind, which
 * the user's own git runs an hour later with all of the user's rights. The tables below name such
 * files; a grant to write is compared with them exactly, less what stronger entries take away, so
 * that the advice ends when the denials are complete.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "advice/lint/internal.h"

struct deferred {
	const char *pattern; /* what is run */
	const char *deny;    /* what to deny, so that nothing like it is left; NULL: the pattern */
	const char *sample;  /* one of them, below any folder */
	const char *who;     /* who runs it, and when */
};

#define HOOKS                                                                                     \
	"{applypatch-msg,pre-applypatch,post-applypatch,pre-commit,pre-merge-commit,"             \
	"prepare-commit-msg,commit-msg,post-commit,pre-rebase,post-checkout,post-merge,pre-push," \
	"pre-receive,update,post-receive,post-update,push-to-checkout,pre-auto-gc,post-rewrite,"  \
	"fsmonitor-watchman,post-index-change,reference-transaction}"

static const struct deferred files[] = {
	{ "/**/.git/hooks/" HOOKS, "/**/.git/hooks/**", "/.git/hooks/pre-commit",
		"git runs it at the next commit" },
	{ "/**/.git/config", NULL, "/.git/config", "git runs the commands in it" },
	{ "/**/.git/modules/**/config", "/**/.git/modules/**", "/.git/modules/x/config",
		"git runs the commands in it" },
	{ "/**/.husky/" HOOKS, "/**/.husky/**", "/.husky/pre-commit",
		"git runs it at the next commit" },
	{ "/**/.envrc", NULL, "/.envrc", "direnv runs it when the folder is entered" },
	{ "/**/.vscode/{tasks,settings,launch,extensions,mcp}.json", "/**/.vscode/**",
		"/.vscode/tasks.json", "the editor runs its tasks" },
	{ "/**/.idea/**/*.{xml,iml}", "/**/.idea/**", "/.idea/workspace.xml",
		"the editor runs its tasks" },
	{ "/**/*.code-workspace", NULL, "/a.code-workspace", "the editor runs its tasks" },
	{ "/**/.devcontainer{,/**}/devcontainer.json", "/**/.devcontainer/**",
		"/.devcontainer/devcontainer.json", "the editor runs its commands" },
	{ "/**/.{vim,nvim,ex}rc", NULL, "/.exrc", "the editor runs it" },
	{ "/**/.claude/{settings*.json,{hooks,commands,agents,skills}/**}", "/**/.claude/**",
		"/.claude/settings.json", "an agent runs its hooks" },
	{ "/**/.cursor/{mcp.json,hooks.json,rules/**}", "/**/.cursor/**", "/.cursor/mcp.json",
		"an agent starts its servers" },
	{ "/**/.mcp.json", NULL, "/.mcp.json", "an agent starts its servers" },
	{ "/**/.github/workflows/*.{yml,yaml}", "/**/.github/workflows/**",
		"/.github/workflows/ci.yml", "the forge runs it with its secrets" },
	{ "/**/.gitlab-ci.yml", NULL, "/.gitlab-ci.yml", "the forge runs it with its secrets" },
	{ "/**/.{bashrc,bash_profile,bash_login,bash_logout,profile,zshrc,zshenv,zprofile,zlogin}",
		NULL, "/.bashrc", "a shell runs it, if this is a home" },
};

enum { N_FILES = ROWS(files) };

static const char *deny_of(const struct deferred *d)
{
	return d->deny ? d->deny : d->pattern;
}

/* path: one that the pattern matches, to begin with; NULL: any in the folder that it names. */
static int reaches(
	struct lint *l, const struct lint_entry *e, const char *pattern, const char *path)
{
	auto_arena scratch = { 0 };
	struct glob target;
	char inside[PATH_BYTES];
	int r = glob_parse(&target, &scratch, pattern, NULL, NULL);

	if (r < 0)
		return r;
	(void)snprintf(inside, sizeof(inside), "%s/" LINT_ANY, target.alternatives[0].literal);
	return lint_reaches(l, e, &target, path ? path : inside);
}

/* Somebody has followed the advice, word for word: no need to work it out. */
static bool lint_deferred_is_denied(
	const struct lint *l, const struct lint_entry *e, const struct deferred *d)
{
	const struct lint_entries *all = &l->entries[e->op];

	for (size_t i = 0; i < all->n_shields && &all->items[all->shields[i]] < e; i++) {
		if (strcmp(all->items[all->shields[i]].text, deny_of(d)) == 0)
			return true;
	}
	return false;
}

static int reaches_file(struct lint *l, const struct lint_entry *e, const struct deferred *d)
{
	const struct glob_alternative *alt = &e->globs.items[0].alternatives[0];
	char path[PATH_BYTES] = "";

	if (lint_deferred_is_denied(l, e, d))
		return 0;
	if (alt->kind == GLOB_SUBTREE)
		(void)snprintf(path, sizeof(path), "%s%s", alt->literal, d->sample);
	return reaches(l, e, d->pattern, *path ? path : NULL);
}

/* Each grant is compared with all that takes something away from it. */
static bool has_too_many_shields(struct lint *l, const struct lint_entry *e)
{
	return l->entries[e->op].n_shields && lint_is_too_long(l, &l->entries[e->op]);
}

/* Nobody keeps a repository or a home in a skill's own data and temporary files. */
static bool lint_deferred_is_private(const struct lint_entry *e)
{
	enum variable v;
	const char *rest;

	return variable_split(e->parts[0].text, &v, &rest, NULL, NULL) == 1 &&
	       (v == VARIABLE_DATA_DIR || v == VARIABLE_TEMP);
}

/* The rule that would help, as it can be pasted; or that it is the same as before. */
static const char *advise(struct lint *l, const struct lint_entry *e, const char *patterns)
{
	const char *rule = lint_say(l,
		"write `rules: [{id: run-later, action: deny, operations: [fs.write], "
		"patterns: [%s]}]`; what need not be read either can stand in "
		"fs.deny instead",
		patterns);

	if (!rule || !l->rule || strcmp(rule, l->rule) != 0) {
		l->rule = rule;
		l->rule_for = e->text;
		return rule;
	}
	return lint_say(l, "the same rule as for %s", l->rule_for);
}

int lint_deferred_execution(struct lint *l, const struct lint_entry *e)
{
	const struct deferred *first = NULL;
	auto_buffer deny = { 0 };

	if (lint_deferred_is_private(e) || has_too_many_shields(l, e))
		return 0;
	for (size_t i = 0; e->width == LINT_NARROW && i < N_FILES; i++) {
		int r = reaches_file(l, e, &files[i]);

		if (r < 0)
			return r;
		if (!r)
			continue;
		buffer_printf(&deny, "%s'%s'", first ? ", " : "", deny_of(&files[i]));
		first = first ? first : &files[i];
	}
	if (!first)
		return 0;
	return lint_report(l, e,
		lint_say(l, "this takes in %s (%s)%s; such files run outside of the sandbox",
			deny_of(first), first->who,
			strchr(buffer_text(&deny), ' ') ? " and others like it" : ""),
		deny.failed ? NULL : advise(l, e, buffer_text(&deny)));
}

/* Folders of programs */

static const char *const path_folders[] = {
	"~/bin/**",
	"~/.local/bin/**",
	"~/.cargo/bin/**",
	"~/go/bin/**",
	"~/.npm-global/bin/**",
	"~/.bun/bin/**",
	"~/.deno/bin/**",
	"~/.dotnet/tools/**",
	"~/.nvm/versions/**",
	"~/.pyenv/{bin,shims}/**",
	"~/.rbenv/{bin,shims}/**",
	"~/.asdf/{bin,shims}/**",
	"~/.local/share/mise/shims/**",
	"~/.nix-profile/**",
	"~/.local/lib/python*/site-packages/**",
	"/opt/{bin,**/bin}/**",
	"/snap/bin/**",
	"/home/linuxbrew/.linuxbrew/bin/**",
};

enum { N_PATH_FOLDERS = ROWS(path_folders) };

static int report_path(struct lint *l, const struct lint_entry *e, const char *folder)
{
	return lint_report(l, e,
		lint_say(l,
			"programs are looked for in %s: what is written there runs outside of "
			"the sandbox, under the name of another program",
			folder),
		lint_say(l, "grant another folder, or deny fs.write to %s by a rule", folder));
}

/* The first folder of "PATH=…" in the policy that e may write to. */
static int find_in_path(
	struct lint *l, const struct lint_entry *e, const char *list, const char **ret)
{
	for (const char *at = list; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		auto_buffer pattern = { 0 };
		int r;

		if (at[0] != '/')
			continue;
		glob_print_literal(at, strcspn(at, ":"), &pattern);
		buffer_adds(&pattern, "/**");
		r = pattern.failed ? -ENOMEM : reaches(l, e, buffer_text(&pattern), NULL);
		if (r == 1)
			*ret = lint_say(l, "%s", buffer_text(&pattern));
		/* What is no path in the list is no folder of programs either. */
		if (r != 0 && r != -EINVAL)
			return r == 1 && !*ret ? -ENOMEM : r;
	}
	return 0;
}

static int find_in_env(struct lint *l, const struct lint_entry *e, const char **ret)
{
	const struct lint_entries *env = &l->entries[OPERATION_ENV];
	int r = 0;

	if (lint_is_too_long(l, env))
		return 0;
	for (size_t i = 0; r == 0 && i < env->n; i++) {
		const struct lint_part *part = &env->items[i].parts[0];

		if (part->value && strncmp(part->text, "PATH=", 5) == 0)
			r = find_in_path(l, e, part->value, ret);
	}
	return r;
}

int lint_write_path(struct lint *l, const struct lint_entry *e)
{
	const char *found = NULL;
	int r = 0;

	if (has_too_many_shields(l, e))
		return 0;
	for (size_t i = 0; r == 0 && e->width == LINT_NARROW && i < N_PATH_FOLDERS; i++) {
		auto_arena scratch = { 0 };
		const char *pattern;

		r = variable_expand(l->vars, path_folders[i], &scratch, &pattern, NULL, NULL);
		if (r == 0)
			r = reaches(l, e, pattern, NULL);
		if (r == 1)
			found = path_folders[i];
	}
	if (r == 0)
		r = find_in_env(l, e, &found);
	return r <= 0 ? r : report_path(l, e, found);
}

/* Programs that may be written */

int lint_write_then_exec(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *writes = &l->entries[OPERATION_FS_WRITE];

	if (e->globs.n != 1 || e->n != 1 || e->width == LINT_EVERYTHING ||
		lint_is_too_long(l, writes) || lint_is_too_long(l, &l->entries[OPERATION_EXEC]))
		return 0;
	for (size_t i = 0; i < writes->n; i++) {
		const struct lint_entry *w = &writes->items[i];
		int r = w->verdict == VERDICT_ALLOW && !w->nothing
				? lint_reaches(l, w, &e->globs.items[0], NULL)
				: 0;

		if (r < 0)
			return r;
		if (r == 1)
			return lint_report(l, e,
				lint_say(l,
					"%s lets %s be written, so any code can be put there and "
					"run",
					lint_source(l, w), w->text),
				lint_say(l, "keep programs where nothing may be written"));
	}
	return 0;
}
