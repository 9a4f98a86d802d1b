/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy as text. Lines are only ever inserted, into lists of one entry a line, so what a
 * person wrote stays as it is, with its comments; the result is read again, and has to say what the
 * first text said, and the lines. A file that is written otherwise (`read: [a, b]`) is refused with
 * the lines to add by hand.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "cli/learn/internal.h"
#include "codec/json.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"
#include "policy/match/glob.h"
#include "policy/network/listen.h"

enum { POLICY_BYTES_MAX = 1 << 20, INDENT = 2 };

/* Where a kind of grant stands in a file. */
struct text_section {
	const char *top, *sub; /* sub: NULL, the list is the value of top */
	enum permission_list list;
};

static const struct text_section sections[] = {
	[DENIAL_READ] = { "fs", "read", LIST_FS_READ },
	[DENIAL_WRITE] = { "fs", "write", LIST_FS_WRITE },
	[DENIAL_EXEC] = { "exec", NULL, LIST_EXEC },
	[DENIAL_CONNECT] = { "network", "allow", LIST_NETWORK_ALLOW },
};

/* Patterns */

/* A scalar that YAML reads as the same text without quotes. */
static bool text_is_plain(const char *s)
{
	if (*s != '/' && *s != '~')
		return false;
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("/._*+@-~", *p))
			return false;
	return true;
}

/* A JSON text is YAML, too. What would deceive a reader, or is not seen, is spelled out. */
static void text_quote(const char *s, struct buffer *out)
{
	auto_buffer json = { 0 };
	uint32_t c;
	size_t n;

	if (text_is_plain(s)) {
		buffer_adds(out, s);
		return;
	}
	json_print_string(&json, s, strlen(s));
	for (size_t i = 0; i < json.len; i += n) {
		n = utf8_decode(json.data + i, json.len - i, &c);
		if (n == 0)
			n = 1;
		if (n > 1 && (utf8_is_deceptive(c) || utf8_is_unseen(c)))
			buffer_printf(out, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
		else
			buffer_add(out, json.data + i, n);
	}
	out->failed |= json.failed;
}

/* Below the project or the home by its variable, so that it is of use to others, too. */
static void text_path(const struct learn *l, const struct denial *d, struct buffer *out)
{
	const struct {
		const char *folder, *name;
	} rows[] = { { l->place.work, "$WORK_DIR" }, { l->place.home, "~" } };
	const char *rest = d->path;

	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *folder = rows[i].folder;

		if (!folder || !folder[1] || !path_is_below(d->path, folder) ||
			!d->path[strlen(folder)])
			continue;
		buffer_adds(out, rows[i].name);
		rest = d->path + strlen(folder);
		break;
	}
	glob_print_literal(rest, strlen(rest), out);
	buffer_adds(out, d->is_folder ? "/**" : "");
}

static void text_pattern(const struct learn *l, const struct denial *d, struct buffer *out)
{
	if (d->kind == DENIAL_CONNECT)
		buffer_adds(out, d->path);
	else if (d->kind == DENIAL_EXEC)
		glob_print_literal(d->path, strlen(d->path), out);
	else
		text_path(l, d, out);
}

void learn_text_pattern(const struct learn *l, const struct denial *d, struct buffer *out)
{
	auto_buffer pattern = { 0 };

	text_pattern(l, d, &pattern);
	text_quote(buffer_text(&pattern), out);
	out->failed |= pattern.failed;
}

/* Inserting */

struct text_line {
	size_t at, len, indent; /* len without the end of the line */
	bool is_empty;          /* or a comment */
};

static bool text_next(const struct buffer *t, size_t at, struct text_line *ret)
{
	const char *line = buffer_text(t) + at, *end;
	size_t indent;

	if (at >= t->len)
		return false;
	end = memchr(line, '\n', t->len - at);
	indent = strspn(line, " ");
	*ret = (struct text_line){ .at = at,
		.len = end ? (size_t)(end - line) : t->len - at,
		.indent = indent,
		.is_empty = line[indent] == '\n' || line[indent] == '#' || !line[indent] };
	return true;
}

static size_t text_after(const struct text_line *line)
{
	return line->at + line->len + 1;
}

/* "key:" with nothing behind it but a comment. -EINVAL: there is a value. */
static int text_is_key(const struct buffer *t, const struct text_line *line, const char *key)
{
	const char *p = buffer_text(t) + line->at + line->indent;
	const size_t len = strlen(key);

	if (line->is_empty || strncmp(p, key, len) != 0 || p[len] != ':')
		return 0;
	p += len + 1;
	p += strspn(p, " ");
	return *p == '\n' || *p == '#' || !*p ? 1 : -EINVAL;
}

/*
 * Looks for a key among the children of what begins at `from`, all deeper than `outer` (-1: the
 * top). 1: *ret is its line. 0: there is none, and *ret_child is the children's indentation.
 */
static int text_find(const struct buffer *t, size_t from, int outer, const char *key,
	struct text_line *ret, size_t *ret_child)
{
	struct text_line line;
	bool any = false;

	for (size_t at = from; text_next(t, at, &line); at = text_after(&line)) {
		int r;

		if (line.is_empty)
			continue;
		if ((int)line.indent <= outer)
			break;
		if (!any)
			*ret_child = line.indent;
		any = true;
		if (line.indent != *ret_child)
			continue;
		r = text_is_key(t, &line, key);
		if (r != 0) {
			*ret = line;
			return r;
		}
	}
	return 0;
}

/* Behind the last entry of the list below a key; and the entries' indentation. */
static int text_list_end(
	const struct buffer *t, const struct text_line *key, size_t *ret, size_t *ret_indent)
{
	struct text_line line;
	bool any = false;

	for (size_t at = text_after(key); text_next(t, at, &line); at = text_after(&line)) {
		const bool is_entry =
			!line.is_empty && buffer_text(t)[line.at + line.indent] == '-';

		if (line.is_empty)
			continue;
		if (is_entry ? line.indent < key->indent : line.indent <= key->indent)
			break;
		if (is_entry && !any)
			*ret_indent = line.indent;
		any = any || is_entry;
		*ret = text_after(&line);
	}
	return any ? 0 : -EINVAL;
}

static void text_put(struct buffer *t, size_t at, const char *what)
{
	auto_buffer rest = { 0 };

	if (at > t->len) {
		buffer_addc(t, '\n');
		at = t->len;
	}
	buffer_add(&rest, buffer_text(t) + at, t->len - at);
	t->len = at;
	buffer_adds(t, what);
	buffer_add(t, buffer_text(&rest), rest.len);
	t->failed |= rest.failed;
}

/* One more entry, which is YAML already, with its comment. */
static int text_insert(struct buffer *t, const struct text_section *s, const char *entry)
{
	struct text_line top = { 0 }, sub = { 0 };
	size_t child = 0, at = 0, indent = 0;
	auto_buffer lines = { 0 };
	int r = text_find(t, 0, -1, s->top, &top, &child);

	if (r == 0) {
		if (s->sub)
			buffer_printf(&lines, "%s:\n  %s:\n    - %s\n", s->top, s->sub, entry);
		else
			buffer_printf(&lines, "%s:\n  - %s\n", s->top, entry);
		if (t->len && t->data[t->len - 1] != '\n')
			buffer_addc(t, '\n');
		text_put(t, t->len, buffer_text(&lines));
		return 0;
	}
	if (r > 0 && s->sub) {
		child = INDENT;
		r = text_find(t, text_after(&top), (int)top.indent, s->sub, &sub, &child);
		if (r == 0) {
			buffer_printf(&lines, "%*s%s:\n%*s- %s\n", (int)child, "", s->sub,
				(int)child + INDENT, "", entry);
			text_put(t, text_after(&top), buffer_text(&lines));
			return 0;
		}
		top = sub;
	}
	if (r > 0)
		r = text_list_end(t, &top, &at, &indent);
	if (r < 0)
		return r;
	buffer_printf(&lines, "%*s- %s\n", (int)indent, "", entry);
	text_put(t, at, buffer_text(&lines));
	return 0;
}

/* Checking */

static int text_read(struct learn *l, const struct buffer *t, struct manifest *ret)
{
	return manifest_read(
		ret, MANIFEST_PERMISSIONS, learn_name(l), buffer_text(t), t->len, l->call->error);
}

static int text_canonical(
	struct learn *l, enum permission_list which, const char *text, const char **ret)
{
	const struct location where = { .file = learn_name(l) };
	struct listen_entry port;
	auto_buffer out = { 0 };
	const char *copy;
	int r;

	if (which != LIST_LISTEN)
		return permissions_list_canonical(
			which, text, l->call->arena, ret, &where, l->call->error);
	r = listen_parse(text, &port, &where, l->call->error);
	if (r < 0)
		return r;
	listen_print(&port, &out);
	copy = out.failed ? NULL : arena_strdup(l->call->arena, buffer_text(&out));
	if (!copy)
		return error_no_memory(l->call->error);
	*ret = copy;
	return 0;
}

/* One more grant of what a text is to say. 1: it says that already. */
static int text_want(
	struct learn *l, struct permissions *p, enum permission_list which, const char *pattern)
{
	struct grant_list *list = permissions_list(p, which);
	const char *canonical = "";
	int r = text_canonical(l, which, pattern, &canonical);

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = list->items[i].n == 1 && strcmp(list->items[i].all[0], canonical) == 0;
	if (r != 0)
		return r;
	p->exec_listed |= which == LIST_EXEC;
	return permissions_add(p, list, canonical, NULL) < 0 ? error_no_memory(l->call->error) : 0;
}

/* The text is read again: it says just what it should. */
static int text_check(struct learn *l, const struct buffer *t, const struct permissions *should)
{
	auto_manifest now = { 0 };
	auto_buffer wanted = { 0 }, is = { 0 };
	int r = text_read(l, t, &now);

	if (r < 0)
		return r;
	permissions_print_yaml(should, &wanted);
	permissions_print_yaml(now.permissions, &is);
	if (wanted.failed || is.failed)
		return error_no_memory(l->call->error);
	if (strcmp(buffer_text(&wanted), buffer_text(&is)) != 0)
		return error_set(l->call->error, -EINVAL, NULL,
			"%s: adding a line would change something else; nothing was written",
			learn_name(l));
	return 0;
}

static void text_entry(const struct learn *l, const struct denial *d, struct buffer *out)
{
	static const char *const folds[] = { [FOLD_NONE] = "",
		[FOLD_LOADED] = "; its folder, as it is loaded with others beside it",
		[FOLD_OWN] = "; a program's own folder, of which it asked for two or more",
		[FOLD_FILES] = "; three or more files of this folder",
		[FOLD_FOLDERS] = "; four or more folders of this one" };

	learn_text_pattern(l, d, out);
	buffer_adds(out, " # ");
	if (*d->program)
		buffer_printf(out, "%s, ", d->program);
	buffer_printf(out, "%llu time%s%s", (unsigned long long)d->count, d->count == 1 ? "" : "s",
		folds[d->fold]);
}

static int text_refuse(struct learn *l, const struct denial *d, const char *entry, int r)
{
	(void)error_set(l->call->error, r, NULL,
		"%s: cannot add a line to it, as its lists are not written with one entry in each "
		"line",
		learn_name(l));
	error_hint(l->call->error, "add it by hand, below %s: %s", sections[d->kind].top, entry);
	return r;
}

/* Puts a line into l->text, and what it says into p. */
static int text_add(struct learn *l, const struct denial *d, struct permissions *p)
{
	auto_buffer entry = { 0 }, pattern = { 0 };
	int r;

	text_entry(l, d, &entry);
	text_pattern(l, d, &pattern);
	if (entry.failed || pattern.failed)
		return error_no_memory(l->call->error);
	r = text_want(l, p, sections[d->kind].list, buffer_text(&pattern));
	if (r < 0)
		return r;
	r = text_insert(&l->text, &sections[d->kind], buffer_text(&entry));
	return r < 0 ? text_refuse(l, d, buffer_text(&entry), r) : 0;
}

int learn_text_make(struct learn *l)
{
	auto_manifest m = { 0 };
	int r = text_read(l, &l->base, &m);

	buffer_clear(&l->text);
	buffer_add(&l->text, buffer_text(&l->base), l->base.len);
	for (size_t i = 0; r == 0 && i < l->lines.n; i++)
		r = text_add(l, &l->lines.items[i], m.permissions);
	if (r == 0 && l->text.failed)
		r = error_no_memory(l->call->error);
	return r < 0 ? r : text_check(l, &l->text, m.permissions);
}

/* The first policy */

static void text_head(struct learn *l)
{
	buffer_adds(&l->base, "# Learnt by: corral learn --");
	for (size_t i = 0; i < l->call->n; i++) {
		auto_buffer word = { 0 };

		output_shell_word(&word, l->call->words[i]);
		buffer_addc(&l->base, ' ');
		buffer_add_visible(&l->base, buffer_text(&word), word.len);
	}
	buffer_printf(&l->base,
		"\n# The command passes under this policy. Behind each line: which program "
		"asked for it, how often,\n# and by which rule a folder stands for what is in "
		"it.\n"
		"extends: %s\n",
		l->profile);
}

/* What options put into the first policy, unless it is there. */
static int text_given(struct learn *l, const struct text_section *s,
	const struct options_list *texts, struct permissions *p)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < texts->n; i++) {
		auto_buffer entry = { 0 };

		text_quote(texts->items[i], &entry);
		buffer_adds(&entry, " # given");
		l->base.failed |= entry.failed;
		r = text_want(l, p, s->list, texts->items[i]);
		if (r != 0)
			continue;
		r = text_insert(&l->base, s, buffer_text(&entry));
		if (r < 0)
			(void)error_set(l->call->error, r, NULL, "%s: cannot add %s to it",
				learn_name(l), s->sub ? s->sub : s->top);
	}
	return r < 0 ? r : 0;
}

int learn_text_give(struct learn *l)
{
	static const struct text_section listen = { "network", "listen", LIST_LISTEN };
	static const struct text_section env = { "env", NULL, LIST_ENV };
	auto_manifest m = { 0 };
	int r = text_read(l, &l->base, &m);

	if (r == 0)
		r = text_given(l, &env, &l->env, m.permissions);
	if (r == 0)
		r = text_given(l, &listen, &l->listen, m.permissions);
	if (r == 0 && l->base.failed)
		r = error_no_memory(l->call->error);
	if (r == 0)
		r = text_check(l, &l->base, m.permissions);
	if (r == 0)
		l->base_has_hosts =
			m.permissions->network_allow.n || m.permissions->network_private.n;
	return r;
}

int learn_text_begin(struct learn *l)
{
	int r = l->output ? file_read_regular(l->output, POLICY_BYTES_MAX, &l->base) : -ENOENT;

	if (r < 0 && r != -ENOENT)
		return error_set(l->call->error, r, NULL, "%s: %s", l->output, file_words(r));
	l->is_new = r == -ENOENT;
	if (l->is_new)
		text_head(l);
	r = learn_text_give(l);
	return r < 0 ? r : learn_text_make(l);
}
