/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants added to the text of a corral.yaml, by lines, so that comments and order stay. An entry
 * joins its list where that is written in block style; a list or a map that is missing is begun.
 * Whether the result says what is wanted is not left to this: it is read again, and must be what
 * was there with what was added, or it is refused.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/project/project.h"
#include "codec/yaml.h"
#include "policy/format/permissions-text.h"

static const struct append_key {
	enum permission_list list;
	const char *map, *key; /* map NULL: the list is at the top */
} append_keys[] = {
	{ LIST_FS_READ, "fs", "read" },
	{ LIST_FS_WRITE, "fs", "write" },
	{ LIST_NETWORK_ALLOW, "network", "allow" },
	{ LIST_NETWORK_PRIVATE, "network", "private" },
	{ LIST_LISTEN, "network", "listen" },
	{ LIST_EXEC, NULL, "exec" },
	{ LIST_ENV, NULL, "env" },
};

/* The offset behind a line, counted from 1. */
static size_t append_behind(const struct buffer *text, size_t line)
{
	size_t at = 0;

	while (line-- > 0 && at < text->len) {
		const char *end = memchr(text->data + at, '\n', text->len - at);

		at = end ? (size_t)(end - text->data) + 1 : text->len;
	}
	return at;
}

static int append_insert(struct buffer *text, size_t at, const struct buffer *what)
{
	auto_buffer all = { 0 };

	buffer_add(&all, text->data, at);
	if (at && text->data[at - 1] != '\n')
		buffer_addc(&all, '\n');
	buffer_add(&all, buffer_text(what), what->len);
	buffer_add(&all, text->data + at, text->len - at);
	if (all.failed || what->failed)
		return -ENOMEM;
	buffer_deinit(text);
	*text = all;
	all = (struct buffer){ 0 };
	return 0;
}

/* "- ", with what it needs in quotes, and a newline. */
static void append_print(struct buffer *out, size_t indent, const char *entry)
{
	auto_arena a = { 0 };
	struct node *list = node_new(&a, NODE_LIST);

	buffer_printf(out, "%*s", (int)indent, "");
	if (!node_append(list, node_new_text(&a, entry)))
		out->failed = true;
	else
		yaml_print(out, list);
}

static int append_entry(struct buffer *text, const struct append_key *k, const char *entry)
{
	auto_document d = { 0 };
	auto_buffer what = { 0 };
	const struct node *map, *list;
	size_t at = text->len;
	int r = yaml_read(&d, NULL, 1, buffer_text(text), text->len, NULL);

	if (r < 0)
		return r;
	map = k->map ? node_get(d.root, k->map) : d.root;
	list = node_get(map, k->key);
	if (list && list->last && list->last->line > list->key_line && list->last->column > 2) {
		at = append_behind(text, list->last->line);
		append_print(&what, list->last->column - 3, entry);
	} else if (list) {
		return -ENOTSUP;
	} else if (k->map && map && map->first && map->first->key_line > map->key_line) {
		at = append_behind(text, map->key_line);
		buffer_printf(&what, "%*s%s:\n", (int)map->first->key_column - 1, "", k->key);
		append_print(&what, map->first->key_column + 1, entry);
	} else if (k->map && map) {
		return -ENOTSUP;
	} else {
		if (k->map)
			buffer_printf(&what, "%s:\n", k->map);
		buffer_printf(&what, "%s%s:\n", k->map ? "  " : "", k->key);
		append_print(&what, k->map ? 4 : 2, entry);
	}
	return append_insert(text, at, &what);
}

static bool append_has(const struct grant_list *list, const char *entry)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].n == 1 && strcmp(list->items[i].all[0], entry) == 0)
			return true;
	}
	return false;
}

/* What the text is to say; and what is new of `more`, put into it. 1: nothing is. */
static int append_all(struct buffer *text, struct permissions *all, const struct permissions *more)
{
	int r = 0, added = 0;

	for (size_t i = 0; r == 0 && i < ROWS(append_keys); i++) {
		const struct append_key *k = &append_keys[i];
		const struct grant_list *from = permissions_list(more, k->list);
		struct grant_list *to = permissions_list(all, k->list);

		for (size_t n = 0; r == 0 && n < from->n; n++) {
			const char *entry = from->items[n].all[0];

			if (from->items[n].n != 1)
				return -ENOTSUP;
			if (append_has(to, entry))
				continue;
			r = permissions_add(all, to, entry, NULL);
			if (r == 0)
				r = append_entry(text, k, entry);
			added++;
			all->exec_listed |= k->list == LIST_EXEC;
		}
	}
	return r < 0 ? r : added == 0;
}

static bool append_same_words(const char *const *a, size_t n, const char *const *b, size_t m)
{
	bool same = n == m;

	for (size_t i = 0; same && i < n; i++)
		same = strcmp(a[i], b[i]) == 0;
	return same;
}

/* Everything of two files but what they grant. */
static bool append_same_rest(const struct project_file *a, const struct project_file *b)
{
	bool same = a->n_commands == b->n_commands && a->asks_denied == b->asks_denied &&
		    strcmp(a->preset ? a->preset : "", b->preset ? b->preset : "") == 0 &&
		    append_same_words(a->packs, a->n_packs, b->packs, b->n_packs);

	for (size_t i = 0; same && i < a->n_commands; i++) {
		const struct project_command *x = &a->commands[i], *y = &b->commands[i];

		same = strcmp(x->name, y->name) == 0 &&
		       append_same_words(x->words, x->n, y->words, y->n);
	}
	return same;
}

/* The result is read again: it says the same of everything else, and just this of the grants. */
static int append_check(
	const struct project *p, const struct buffer *text, const struct permissions *wanted)
{
	auto_project_file now = { 0 };
	auto_buffer is = { 0 }, should = { 0 };
	int r = project_file_read(&now, p->path, buffer_text(text), text->len, NULL);

	if (r < 0)
		return r;
	permissions_print_yaml(now.permissions, &is);
	permissions_print_yaml(wanted, &should);
	if (is.failed || should.failed)
		return -ENOMEM;
	return strcmp(buffer_text(&is), buffer_text(&should)) == 0 &&
			       append_same_rest(&now, &p->file)
		       ? 0
		       : -ENOTSUP;
}

int project_append(
	const struct project *p, struct call *c, const struct permissions *more, struct buffer *ret)
{
	auto_permissions *all = permissions_copy(p->file.permissions);
	auto_buffer text = { 0 };
	int r = all ? 0 : -ENOMEM;

	buffer_add(&text, p->text.data, p->text.len);
	if (r == 0)
		r = append_all(&text, all, more);
	if (r == 0)
		r = append_check(p, &text, all);
	if (r == -ENOMEM)
		return error_no_memory(c->error);
	if (r < 0) {
		(void)error_set(c->error, -ENOTSUP, NULL,
			"%s is not written so that lines can be added to it", p->path);
		error_hint(c->error, "write each list with one entry in a line, below its key");
		return -ENOTSUP;
	}
	if (r == 0) {
		*ret = text;
		text = (struct buffer){ 0 };
	}
	return r;
}
