/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/judge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "advice/shell/shell.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "base/words.h"
#include "cli/load.h"
#include "host/links.h"
#include "host/resolver.h"
#include "policy/explain.h"
#include "policy/match/command.h"
#include "policy/network/host.h"
#include "threat/threat.h"

int judge_add(const struct judge *j, struct judgement *to, const struct judged *item)
{
	return ARENA_PUSH(j->call->arena, to->items, to->n, to->cap, *item) < 0
		       ? error_no_memory(j->call->error)
		       : 0;
}

/* A target that the policy cannot read, in words. */
static int malformed(const struct judge *j, const struct request *r, int code)
{
	struct host_request host;
	struct error why = { 0 };

	(void)error_set(j->call->error, code, NULL,
		"invalid value for --target: `%s` is not valid for %s", r->target,
		operation_name(r->op));
	if (r->op == OPERATION_NET_CONNECT && host_request_parse(&host, r->target, &why) < 0)
		error_hint(j->call->error, "%s", why.text);
	else
		error_hint(j->call->error, "%s", operation_rows[r->op].expected);
	return code;
}

static int judge_decide(const struct judge *j, const struct request *r, struct judged *ret)
{
	int err = policy_decide(j->policy, r, &ret->decision);

	if (err < 0)
		return malformed(j, r, err);
	ret->request = *r;
	ret->verdict = ret->decision.verdict;
	return 0;
}

/*
 * The target itself, and where it leads if that is another path: the stricter answer counts.
 * `written` still has its . and .., which the policy's normal form has not: to the kernel `link/..`
 * is the parent of where the link leads.
 */
static int decide_both(
	const struct judge *j, const struct request *r, const char *written, struct judged *ret)
{
	char real[PATH_BYTES];
	struct judged there = { 0 };
	struct request other = *r;
	int err = links_follow(written, NULL, NULL, real);

	if (err < 0)
		return error_set(
			j->call->error, err, NULL, "--target: `%s`: %s", written, strerror(-err));
	err = judge_decide(j, r, ret);
	if (err < 0 || strcmp(real, r->target) == 0)
		return err;
	ret->real = other.target = arena_strdup(j->call->arena, real);
	if (!other.target)
		return error_no_memory(j->call->error);
	err = judge_decide(j, &other, &there);
	ret->real_verdict = there.verdict;
	if (err < 0 || there.verdict >= ret->verdict)
		return err;
	ret->by_real = true;
	ret->verdict = there.verdict;
	ret->request = there.request;
	ret->decision = there.decision;
	return 0;
}

/* Judges one path, and sets the text to what that is. */
static int judge_path(const struct judge *j, const struct request *r, struct judged *ret)
{
	struct request asked = *r;
	const char *path = r->target, *value = "", *rest = path, *written, *here = "";
	enum variable v = VARIABLE_HOME;
	int err = *path ? 0 : malformed(j, r, -EINVAL);

	/* What ~ or a variable at its start stands for. */
	if (path[0] == '$' || (path[0] == '~' && (path[1] == '/' || path[1] == '\0')))
		err = variable_split(path, &v, &rest, NULL, j->call->error);
	if (err == 1) {
		value = j->variables->values[v];
		err = value ? 0
			    : error_set(j->call->error, -ENOENT, NULL, "--target: $%s has no value",
				      variable_name(v));
	}
	if (err == 0 && value && !*value && rest[0] != '/')
		err = load_absolute(j->call, ".", &here);
	if (err < 0)
		return err;
	written = arena_printf(j->call->arena, "%s%s%s%s", here, *here ? "/" : "", value, rest);
	if (!written)
		return error_no_memory(j->call->error);
	err = load_absolute(j->call, written, &asked.target);
	ret->text = asked.target;
	return err < 0 ? err : decide_both(j, &asked, written, ret);
}

int judge_program(const struct judge *j, const struct request *r, struct judged *ret)
{
	struct request asked = *r;
	char file[PATH_BYTES];
	int err;

	if (strchr(r->target, '/'))
		return judge_path(j, r, ret);
	ret->name = r->target;
	err = resolver_find(r->target, file);
	if (err < 0) {
		ret->not_found = true;
		return judge_decide(j, r, ret);
	}
	ret->text = asked.target = arena_strdup(j->call->arena, file);
	return asked.target ? decide_both(j, &asked, asked.target, ret)
			    : error_no_memory(j->call->error);
}

/*
 * A command line, judged part by part: each program that it starts, and each file that the shell
 * itself opens for a redirection. This explains; it does not enforce. A program may do what its
 * arguments do not show, which is for the files and hosts it is granted to bound.
 */
struct judged_line {
	const struct judge *judge;
	struct judgement *to;
	const struct shell_command *command; /* the current one */
	bool is_alone; /* the line is that one program with its arguments, as `corral run` takes it
			*/
	bool moved;    /* a cd came before: where a relative path leads is only known at run time */
};

/* A word as a person would type it. */
static void judge_line_print_word(const struct shell_word *w, struct buffer *out)
{
	bool bare = *w->text && (w->dynamic || !strpbrk(w->text, " \t\n|&;<>()'\"`\\"));

	buffer_printf(out, bare ? "%s" : "'%s'", w->text);
}

static int judge_line_keep(struct judged_line *l, struct judged *item, const struct buffer *text)
{
	item->text = text->failed ? NULL : arena_strdup(l->judge->call->arena, buffer_text(text));
	item->depth = l->command->depth;
	return item->text ? judge_add(l->judge, l->to, item)
			  : error_no_memory(l->judge->call->error);
}

/* Programs */

/* Variables that change which program runs, or what it does first. */
static bool changes_programs(const char *assignment)
{
	static const char *const names[] = { "BASHOPTS", "BASH_ENV", "EDITOR", "ENV", "IFS",
		"NODE_OPTIONS", "PAGER", "PATH", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "VISUAL",
		NULL };
	static const char *const prefixes[] = { "BASH_FUNC_", "DYLD_", "GIT_", "LD_", "PERL5",
		"PYTHON", "RUBY" };
	size_t len = strcspn(assignment, "+=[");

	if (assignment[len] == '\0')
		return false;
	if (words_find(names, assignment, len) >= 0)
		return true;
	for (size_t i = 0; i < ROWS(prefixes); i++) {
		if (strncmp(prefixes[i], assignment, strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* What a builtin does that its words do not show; NULL if nothing. */
static const char *unknown_builtin(const struct shell_command *c)
{
	/* Their words are commands again; those were found too, unless they are not known. */
	static const char *const running[] = { "eval", "trap", "exec", "command", "builtin", NULL };
	/* They run nothing but what their words show, and touch no file. */
	static const char *const harmless[] = { ":", "[", "bg", "break", "caller", "cd", "continue",
		"declare", "dirs", "disown", "echo", "exit", "export", "false", "fg", "getopts",
		"help", "jobs", "kill", "local", "logout", "popd", "printf", "pushd", "pwd", "read",
		"readonly", "return", "set", "shift", "shopt", "suspend", "test", "time", "times",
		"true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait", NULL };
	const char *name = c->words[0].text;
	bool runs = words_has(running, name);

	if (!runs && !words_has(harmless, name))
		return "what it runs or reads";
	for (size_t i = 1; i < c->n_words; i++) {
		const char *word = c->words[i].text;

		if (runs && c->words[i].dynamic)
			return "what it runs";
		if (changes_programs(word))
			return "what programs do with that variable";
		/* Subscripts are expanded once more, also in quotes: test -v 'a[$(rm x)]'. */
		if (strchr(word, '[') && (strstr(word, "$(") || strchr(word, '`')))
			return "what its subscript runs";
	}
	return NULL;
}

static const char *unknown_assignment(const struct shell_command *c)
{
	for (size_t i = 0; i < c->n_assignments; i++) {
		if (changes_programs(c->assignments[i].text))
			return "what programs do with that variable";
	}
	return NULL;
}

/* Whether a pattern can be about this builtin. */
static bool names_builtin(const struct command_pattern *p, const char *builtin)
{
	const char *slash = p->program ? strrchr(p->program, '/') : NULL;
	const char *name = slash ? slash + 1 : p->program;

	return !name || p->line || strpbrk(name, "*?[{\\") || strcmp(name, builtin) == 0;
}

/* Some rule that does not allow speaks of arguments, of this builtin if one is given: a word that
 * is not known could be what it means. */
static bool arguments_matter(const struct judged_line *l, const char *builtin)
{
	for (size_t i = 0; i < policy_layers(l->judge->policy); i++) {
		const struct sources *s =
			&policy_layer(l->judge->policy, i)->sources[OPERATION_EXEC];

		for (size_t k = 0; k < s->n; k++) {
			struct command_pattern p = { .more = true };

			if (s->items[k].in->verdict != VERDICT_ALLOW &&
				(command_pattern_parse(&p, l->judge->call->arena,
					 s->items[k].grant->all[0], NULL, NULL) < 0 ||
					(command_pattern_is_fine(&p) &&
						(!builtin || names_builtin(&p, builtin)))))
				return true;
		}
	}
	return false;
}

/* What is not known about a word before it runs; NULL if all is. */
static const char *unknown_part(
	const struct judged_line *l, const struct shell_word *w, bool is_path, const char *what)
{
	if (w->dynamic)
		return what;
	return l->moved && is_path && w->text[0] != '/' ? "where it leads after cd" : NULL;
}

/*
 * `corral run` takes the name of a builtin for a program. So that both say the same: what a rule
 * denies or asks about is so as a builtin, too, and a line of nothing else is judged as that
 * program. In a longer one the shell does it by itself, which no list of programs keeps it from.
 */
static int judge_builtin(struct judged_line *l, const struct request *r, struct judged *item)
{
	struct judged program = *item;
	int err = judge_program(l->judge, r, &program);

	if (err < 0)
		return err;
	if ((l->is_alone && !program.not_found) ||
		(program.decision.why == DECISION_RULE && program.verdict != VERDICT_ALLOW)) {
		*item = program;
		return 0;
	}
	item->kind = JUDGED_BUILTIN;
	item->verdict = VERDICT_ALLOW;
	return 0;
}

static int judge_words(struct judged_line *l, struct judged *item)
{
	const struct shell_command *c = l->command;
	const struct shell_word *name = &c->words[0];
	struct arena *arena = l->judge->call->arena;
	struct request r = { .op = OPERATION_EXEC, .target = name->text, .n_args = c->n_words - 1 };
	const char **args = arena_calloc(arena, c->n_words, sizeof(*args));

	item->unknown = unknown_assignment(c);
	if (!item->unknown && c->is_builtin)
		item->unknown = unknown_builtin(c);
	else if (!item->unknown)
		item->unknown = unknown_part(l, name, strchr(name->text, '/'), "the program");
	if (item->unknown) {
		item->kind = JUDGED_UNKNOWN;
		return 0;
	}
	/* Relative paths are marked as such, lest `~` or `$` in a quoted name mean something. */
	if (name->text[0] != '/' && strchr(name->text, '/'))
		r.target = arena_printf(arena, "./%s", name->text);
	if (!r.target || !args)
		return error_no_memory(l->judge->call->error);
	for (size_t i = 1; i < c->n_words; i++) {
		args[i - 1] = c->words[i].text;
		item->is_dynamic |= c->words[i].dynamic;
	}
	r.args = args;
	if (item->is_dynamic && arguments_matter(l, c->is_builtin ? name->text : NULL)) {
		item->unknown = "the arguments";
		item->kind = JUDGED_UNKNOWN;
		return 0;
	}
	return c->is_builtin ? judge_builtin(l, &r, item) : judge_program(l->judge, &r, item);
}

static int judge_line_add_command(struct judged_line *l)
{
	const struct shell_command *c = l->command;
	struct judged item = { 0 };
	auto_buffer text = { 0 };
	int r;

	if (c->n_words == 0 && !unknown_assignment(c))
		return 0;
	for (size_t i = 0; i < c->n_assignments; i++)
		buffer_printf(&text, "%s ", c->assignments[i].text);
	for (size_t i = 0; i < c->n_words; i++) {
		buffer_adds(&text, i ? " " : "");
		judge_line_print_word(&c->words[i], &text);
	}
	if (c->n_words == 0) {
		item.unknown = unknown_assignment(c);
		item.kind = JUDGED_UNKNOWN;
		return judge_line_keep(l, &item, &text);
	}
	r = judge_words(l, &item);
	return r < 0 ? r : judge_line_keep(l, &item, &text);
}

/* Files that the shell opens */

/* bash takes /dev/tcp/HOST/PORT for a connection; 1 if path is one, and *r then asks for that. */
static int as_connection(struct judged_line *l, const char *path, struct request *r)
{
	bool udp = strncmp(path, "/dev/udp/", 9) == 0;
	bool tcp = strncmp(path, "/dev/tcp/", 9) == 0;
	const char *host = udp || tcp ? path + 9 : "", *slash = strchr(host, '/');

	if (!slash)
		return 0;
	r->op = OPERATION_NET_CONNECT;
	r->target = arena_printf(l->judge->call->arena, "%s%.*s:%s", udp ? "udp://" : "",
		(int)(slash - host), host, slash + 1);
	return r->target ? 1 : error_no_memory(l->judge->call->error);
}

static int judge_file(struct judged_line *l, const struct shell_redirect *file, struct judged *item)
{
	const char *path = file->target.text;
	struct request r = { .op = file->is_write ? OPERATION_FS_WRITE : OPERATION_FS_READ };
	struct judgement connection = { 0 };
	int err;

	item->unknown = unknown_part(l, &file->target, true, "the file");
	if (item->unknown) {
		item->kind = JUDGED_UNKNOWN;
		return 0;
	}
	err = strlen(path) > 9 ? as_connection(l, path, &r) : 0;
	if (err == 1) {
		err = judge_request(l->judge, &r, &connection);
		if (err == 0)
			*item = connection.items[0];
		return err;
	}
	r.target = arena_printf(l->judge->call->arena, "%s%s", path[0] == '/' ? "" : "./", path);
	return err < 0    ? err
	       : r.target ? judge_path(l->judge, &r, item)
			  : error_no_memory(l->judge->call->error);
}

static int judge_line_add_files(struct judged_line *l)
{
	for (size_t i = 0; i < l->command->n_redirects; i++) {
		const struct shell_redirect *file = &l->command->redirects[i];
		struct judged item = { 0 };
		auto_buffer text = { 0 };
		int r;

		/* Those that open no file, or one that keeps nothing. */
		if ((!file->is_write && strcmp(file->op, "<") != 0) ||
			strcmp(file->target.text, "/dev/null") == 0)
			continue;
		buffer_printf(&text, "%s%s ", file->fd, file->op);
		judge_line_print_word(&file->target, &text);
		r = judge_file(l, file, &item);
		if (r == 0)
			r = judge_line_keep(l, &item, &text);
		if (r < 0)
			return r;
	}
	return 0;
}

static int judge_line(const struct judge *j, const struct request *r, struct judgement *ret)
{
	static const char *const moving[] = { "cd", "pushd", "popd", NULL };
	struct judged_line l = { .judge = j, .to = ret };
	struct shell_script script;
	struct error *e = j->call->error;
	int err = shell_parse(&script, j->call->arena, r->target, strlen(r->target), e);

	if (err < 0)
		(void)snprintf(e->file, sizeof(e->file), "--target");
	else if (script.n_commands == 0)
		err = error_set(e, -EINVAL, NULL, "--target: `%s` contains no command", r->target);
	for (size_t i = 0; err == 0 && i < script.n_commands; i++) {
		l.command = &script.commands[i];
		l.is_alone = script.n_commands == 1 && l.command->n_assignments == 0 &&
			     l.command->n_redirects == 0;
		err = judge_line_add_command(&l);
		if (err == 0)
			err = judge_line_add_files(&l);
		l.moved |= l.command->n_words && words_has(moving, l.command->words[0].text);
	}
	/* Only assignments: nothing runs. */
	if (err == 0 && ret->n == 0) {
		struct judged nothing = {
			.kind = JUDGED_BUILTIN, .text = r->target, .verdict = VERDICT_ALLOW
		};

		err = judge_add(j, ret, &nothing);
	}
	return err;
}

int judge_request(const struct judge *j, const struct request *r, struct judgement *ret)
{
	struct judged item = { .text = r->target };
	int err;

	/* With arguments of its own the target is one program, whatever characters its name has. */
	*ret = (struct judgement){ .is_line = r->op == OPERATION_EXEC && r->n_args == 0 &&
					      strpbrk(r->target, " \t\n|&;<>()`'\"\\") };
	if (ret->is_line)
		err = judge_line(j, r, ret);
	else if (r->op == OPERATION_FS_READ || r->op == OPERATION_FS_WRITE)
		err = judge_path(j, r, &item);
	else if (r->op == OPERATION_EXEC)
		err = judge_program(j, r, &item);
	else
		err = judge_decide(j, r, &item);
	if (err == 0 && !ret->is_line)
		err = judge_add(j, ret, &item);
	if (err < 0)
		return err;
	ret->deciding = &ret->items[0];
	for (size_t i = 1; i < ret->n; i++) {
		if (ret->items[i].verdict < ret->deciding->verdict)
			ret->deciding = &ret->items[i];
	}
	return 0;
}

/* In words */

void judge_reason(const struct judged *j, struct buffer *out)
{
	switch (j->kind) {
	case JUDGED_REQUEST:
		explain_reason(&j->request, &j->decision, out);
		break;
	case JUDGED_BUILTIN:
		buffer_adds(out, "shell builtin");
		break;
	case JUDGED_UNKNOWN:
		buffer_printf(out, "%s is only known at run time", j->unknown);
		break;
	}
}

struct request judge_remedy_request(const struct judged *j)
{
	struct request r = j->request;

	if (j->name && !j->by_real)
		r.target = j->name;
	return r;
}

bool judge_is_interpreter(const struct judged *j)
{
	if (j->kind != JUDGED_REQUEST || j->request.op != OPERATION_EXEC ||
		j->verdict != VERDICT_ALLOW)
		return false;
	return threat_program(j->request.target, THREAT_INTERPRETER) ||
	       (j->real && threat_program(j->real, THREAT_INTERPRETER));
}
