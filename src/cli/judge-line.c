/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line, judged part by part: each program that it starts, and each file that the shell
 * itself opens for a redirection. This explains; it does not enforce. A program may do what its
 * arguments do not show, which is for the files and hosts it is granted to bound.
 */
#include "cli/judge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/shell.h"

struct line {
	const struct judge *judge;
	struct judgement *to;
	const struct shell_command *command; /* the current one */
	bool moved; /* a cd came before: where a relative path leads is only known at run time */
};

static int no_memory(const struct line *l)
{
	return error_set(l->judge->call->error, -ENOMEM, NULL, "out of memory");
}

/* A word as a person would type it. */
static void print_word(const struct shell_word *w, struct buffer *out)
{
	bool bare = *w->text && (w->dynamic || !strpbrk(w->text, " \t\n|&;<>()'\"`\\"));

	buffer_printf(out, bare ? "%s" : "'%s'", w->text);
}

static int keep(struct line *l, struct judged *item, const struct buffer *text)
{
	item->text = text->failed ? NULL : arena_strdup(l->judge->call->arena, buffer_text(text));
	item->depth = l->command->depth;
	return item->text ? judge_add(l->judge, l->to, item) : no_memory(l);
}

/* Relative paths are marked as such, lest `~` or `$` in a quoted name mean something. */
static int plain_path(struct line *l, const char *text, const char **ret)
{
	*ret = text;
	if (text[0] != '/' && strchr(text, '/'))
		*ret = arena_printf(l->judge->call->arena, "./%s", text);
	return *ret ? 0 : no_memory(l);
}

/* Programs */

static int arguments(struct line *l, struct request *r, struct judged *item)
{
	const struct shell_command *c = l->command;
	const char **args = arena_calloc(l->judge->call->arena, c->n_words, sizeof(*args));

	if (!args)
		return no_memory(l);
	for (size_t i = 1; i < c->n_words; i++) {
		args[i - 1] = c->words[i].text;
		item->is_dynamic |= c->words[i].dynamic;
	}
	r->args = args;
	r->n_args = c->n_words - 1;
	return 0;
}

/* What is not known about a word before it runs; NULL if all is. */
static const char *unknown_part(
	const struct line *l, const struct shell_word *w, bool is_path, const char *what)
{
	if (w->dynamic)
		return what;
	return l->moved && is_path && w->text[0] != '/' ? "where it leads after cd" : NULL;
}

static int judge_words(struct line *l, struct judged *item)
{
	const struct shell_word *name = &l->command->words[0];
	struct request r = { .op = OPERATION_EXEC };
	int err;

	if (l->command->is_builtin) {
		item->kind = JUDGED_BUILTIN;
		item->verdict = VERDICT_ALLOW;
		return 0;
	}
	item->unknown = unknown_part(l, name, strchr(name->text, '/'), "the program");
	if (item->unknown) {
		item->kind = JUDGED_UNKNOWN;
		return 0;
	}
	err = plain_path(l, name->text, &r.target);
	if (err == 0)
		err = arguments(l, &r, item);
	return err < 0 ? err : judge_program(l->judge, &r, item);
}

static int add_command(struct line *l)
{
	const struct shell_command *c = l->command;
	struct judged item = { 0 };
	auto_buffer text = { 0 };
	int r;

	if (c->n_words == 0)
		return 0;
	for (size_t i = 0; i < c->n_words; i++) {
		buffer_adds(&text, i ? " " : "");
		print_word(&c->words[i], &text);
	}
	r = judge_words(l, &item);
	return r < 0 ? r : keep(l, &item, &text);
}

/* Files that the shell opens */

/* bash takes /dev/tcp/HOST/PORT for a connection; 1 if path is one, and *r then asks for that. */
static int as_connection(struct line *l, const char *path, struct request *r)
{
	bool udp = strncmp(path, "/dev/udp/", 9) == 0;
	const char *host = path + 9, *slash = strchr(host, '/');

	if (!udp && strncmp(path, "/dev/tcp/", 9) != 0)
		return 0;
	if (!slash)
		return 0;
	r->op = OPERATION_NET_CONNECT;
	r->target = arena_printf(l->judge->call->arena, "%s%.*s:%s", udp ? "udp://" : "",
		(int)(slash - host), host, slash + 1);
	return r->target ? 1 : no_memory(l);
}

static int judge_file(struct line *l, const struct shell_redirect *file, struct judged *item)
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
	return err < 0 ? err : r.target ? judge_path(l->judge, &r, item) : no_memory(l);
}

static bool opens_file(const struct shell_redirect *r)
{
	return (r->is_write || strcmp(r->op, "<") == 0) && strcmp(r->target.text, "/dev/null") != 0;
}

static int add_files(struct line *l)
{
	for (size_t i = 0; i < l->command->n_redirects; i++) {
		const struct shell_redirect *file = &l->command->redirects[i];
		struct judged item = { 0 };
		auto_buffer text = { 0 };
		int r;

		if (!opens_file(file))
			continue;
		buffer_printf(&text, "%s%s ", file->fd, file->op);
		print_word(&file->target, &text);
		r = judge_file(l, file, &item);
		if (r == 0)
			r = keep(l, &item, &text);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool changes_folder(const struct shell_command *c)
{
	static const char *const names[] = { "cd", "pushd", "popd" };

	for (size_t i = 0; c->n_words && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(c->words[0].text, names[i]) == 0)
			return true;
	}
	return false;
}

static int parse(const struct judge *j, const char *text, struct shell_script *ret)
{
	struct error *e = j->call->error;
	int r = shell_parse(ret, j->call->arena, text, strlen(text), e);

	if (r < 0)
		(void)snprintf(e->file, sizeof(e->file), "--target");
	else if (ret->n_commands == 0)
		r = error_set(e, -EINVAL, NULL, "--target: there is no command in `%s`", text);
	return r;
}

int judge_line(const struct judge *j, const struct request *r, struct judgement *ret)
{
	struct line l = { .judge = j, .to = ret };
	struct shell_script script;
	int err = parse(j, r->target, &script);

	for (size_t i = 0; err == 0 && i < script.n_commands; i++) {
		l.command = &script.commands[i];
		err = add_command(&l);
		if (err == 0)
			err = add_files(&l);
		l.moved |= changes_folder(l.command);
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
