/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/client/edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codec/json.h"

static bool edit_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool edit_is_space(char c)
{
	return edit_is_blank(c) || c == '\n' || c == '\r';
}

/* How far white space reaches. */
static size_t edit_spaces(const struct client_edit *x, size_t at)
{
	while (at < x->old.len && edit_is_space(x->old.text[at]))
		at++;
	return at;
}

/* Where the blanks before an offset begin, or the end of the line before them: a comment in that
 * line may have blanks of its own. */
static size_t edit_line_before(const struct client_edit *x, size_t at)
{
	const char *s = x->old.text;

	while (at > 0 && edit_is_blank(s[at - 1]))
		at--;
	if (at > 0 && s[at - 1] == '\n')
		at -= at > 1 && s[at - 2] == '\r' && x->line[0] == '\r' ? 2 : 1;
	return at;
}

/* The blanks before an offset, if they begin a line. NULL: something else is before it. */
static const char *edit_line_blanks(struct client_edit *x, size_t at)
{
	size_t start = at;

	while (start > 0 && edit_is_blank(x->old.text[start - 1]))
		start--;
	if (start > 0 && x->old.text[start - 1] != '\n')
		return NULL;
	return arena_strndup(x->arena, x->old.text + start, at - start);
}

/* The blanks that the line of an offset begins with. */
static const char *edit_line_indent(struct client_edit *x, size_t at)
{
	size_t end;

	while (at > 0 && x->old.text[at - 1] != '\n')
		at--;
	end = at;
	while (end < x->old.len && edit_is_blank(x->old.text[end]))
		end++;
	return arena_strndup(x->arena, x->old.text + at, end - at);
}

/* Ends of lines and indentation are those that the text has. */
static void edit_learn(struct client_edit *x)
{
	const char *newline = memchr(x->old.text, '\n', x->old.len), *blanks = NULL;

	x->line = newline && newline > x->old.text && newline[-1] == '\r' ? "\r\n" : "\n";
	if (x->root && x->root->first && x->client->dialect != PLACES_TOML)
		blanks = edit_line_blanks(x, x->root->first->key_at);
	if (!blanks || !blanks[0] || strlen(blanks) > EDIT_UNIT_MAX)
		blanks = "  ";
	(void)snprintf(x->unit, sizeof(x->unit), "%s", blanks);
}

int edit_open(struct client_edit *x, struct arena *a, const struct mcp_client *client,
	const struct client_text *old, struct error *e)
{
	size_t at = old->len >= 3 && memcmp(old->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	int r = 0;

	*x = (struct client_edit){ .arena = a, .client = client, .old = *old };
	/* A TOML without a word is one; a JSON is none. */
	if (client->dialect == PLACES_TOML || edit_spaces(x, at) < old->len)
		r = places_read(&x->root, a, client->dialect, old->file, old->text, old->len, e);
	if (r == 0 && x->root && x->root->kind != PLACE_MAP) {
		const struct location where =
			place_location(old->file, old->text, old->len, x->root->at);

		r = error_set(e, -EINVAL, &where, "expected a map in {}");
	}
	if (r == 0)
		edit_learn(x);
	return r;
}

void edit_cut(struct client_edit *x, size_t at, size_t length, const char *text)
{
	const struct edit_cut cut = { at, length, text, x->n };

	if (!text || ARENA_PUSH(x->arena, x->cuts, x->n, x->cap, cut) < 0)
		x->failed = true;
}

void edit_note(struct client_edit *x, struct client_changes *ret, const struct client_change *c)
{
	if (ARENA_PUSH(x->arena, ret->items, ret->n, ret->cap, *c) < 0)
		x->failed = true;
}

static int edit_compare(const void *a, const void *b)
{
	const struct edit_cut *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int edit_apply(struct client_edit *x, struct buffer *out, struct error *e)
{
	size_t at = 0;

	if (x->n)
		qsort(x->cuts, x->n, sizeof(*x->cuts), edit_compare);
	for (size_t i = 0; i < x->n; i++) {
		const struct edit_cut *c = &x->cuts[i];

		if (c->at > at)
			buffer_add(out, x->old.text + at, c->at - at);
		buffer_adds(out, c->text);
		if (c->at + c->length > at)
			at = c->at + c->length;
	}
	buffer_add(out, x->old.text + at, x->old.len - at);
	return x->failed || out->failed ? error_no_memory(e) : 0;
}

/* A server may have that name, too: it has one of these keys, and its value is no map. */
static struct text_place *edit_deeper(const struct client_edit *x, struct text_place *map)
{
	static const char *const keys[] = { "type", "command", "url", "enabled" };
	struct text_place *deeper = x->client->deeper ? place_get(map, x->client->deeper) : NULL;

	if (!deeper || deeper->kind != PLACE_MAP)
		return map;
	for (size_t i = 0; i < ROWS(keys); i++) {
		const struct text_place *p = place_get(deeper, keys[i]);

		if (p && p->kind != PLACE_MAP)
			return map;
	}
	return deeper;
}

int edit_servers(struct client_edit *x, struct text_place **ret, size_t *missing, struct error *e)
{
	struct text_place *map = x->root;
	size_t i = 0;

	for (; map && x->client->path[i]; i++) {
		struct text_place *next = place_get(map, x->client->path[i]);

		if (next && next->kind != PLACE_MAP) {
			const struct location where =
				place_location(x->old.file, x->old.text, x->old.len, next->at);

			return error_set(e, -EINVAL, &where,
				"`%s` is no map of servers, so that %s would not read it",
				x->client->path[i], x->client->title);
		}
		if (!next)
			break;
		map = next;
	}
	*missing = i;
	*ret = map && !x->client->path[i] ? edit_deeper(x, map) : NULL;
	return 0;
}

const char **edit_words(struct client_edit *x, const struct text_place *server)
{
	const bool is_list = x->client->shape == CLIENT_COMMAND_LIST;
	const struct text_place *command = place_get(server, "command");
	const struct text_place *list = is_list ? command : place_get(server, "args");
	const char **words;
	size_t n = 0;

	if (!command || (!is_list && command->kind != PLACE_TEXT) ||
		(list && !place_is_texts(list)) || (is_list && !command->count))
		return NULL;
	words = arena_calloc(x->arena, (list ? list->count : 0) + 2, sizeof(*words));
	if (!words) {
		x->failed = true;
		return NULL;
	}
	if (!is_list)
		words[n++] = command->text;
	if (list)
		place_for_each(p, list) words[n++] = p->text;
	return words;
}

bool edit_is_ours(const char *const *words, const char *verb)
{
	const char *slash = words && words[0] ? strrchr(words[0], '/') : NULL;

	return words && words[0] && strcmp(slash ? slash + 1 : words[0], "corral") == 0 &&
	       words[1] && strcmp(words[1], "mcp") == 0 && words[2] && strcmp(words[2], verb) == 0;
}

const char **edit_command(struct client_edit *x, const char *program, const char *verb,
	const char *const *options, const char *const *more, bool has_dashes)
{
	size_t n = 0, n_options = 0, n_more = 0;
	const char **words;

	while (options && options[n_options])
		n_options++;
	while (more && more[n_more])
		n_more++;
	words = arena_calloc(x->arena, n_options + n_more + 5, sizeof(*words));
	if (!words) {
		x->failed = true;
		return NULL;
	}
	words[n++] = program;
	words[n++] = "mcp";
	words[n++] = verb;
	for (size_t i = 0; i < n_options; i++)
		words[n++] = options[i];
	for (size_t i = 0; i < n_more; i++)
		words[n++] = more[i];
	if (has_dashes)
		words[n++] = "--";
	return words;
}

void edit_put_text(struct buffer *out, const char *text)
{
	json_print_string(out, text, strlen(text));
}

void edit_put_words(struct buffer *out, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (i)
			buffer_adds(out, ", ");
		edit_put_text(out, words[i]);
	}
}

const char *edit_keep(struct client_edit *x, struct buffer *text)
{
	const char *kept =
		text->failed ? NULL : arena_strndup(x->arena, buffer_text(text), text->len);

	if (!kept)
		x->failed = true;
	buffer_clear(text);
	return kept ? kept : "";
}

/* Entries of maps */

const char *edit_member_indent(struct client_edit *x, const struct text_place *map, bool *is_flat)
{
	const char *blanks = NULL;

	*is_flat = false;
	if (map->first) {
		blanks = edit_line_blanks(x, map->first->key_at);
		*is_flat = !blanks;
	} else if (map != x->root) {
		*is_flat = !memchr(x->old.text, '\n', map->at);
	}
	if (!blanks && !*is_flat) {
		const char *indent = edit_line_indent(x, map->at);

		blanks = indent ? arena_printf(x->arena, "%s%s", indent, x->unit) : NULL;
	}
	if (!blanks && !*is_flat)
		x->failed = true;
	return blanks ? blanks : "";
}

/* Behind an entry, its comma, and a comment in the rest of its line. */
static size_t edit_behind(const struct client_edit *x, const struct text_place *last)
{
	const size_t start = last->comma ? last->comma + 1 : last->end;
	const char *s = x->old.text;
	size_t at = start;

	while (at < x->old.len && edit_is_blank(s[at]))
		at++;
	if (x->client->dialect == PLACES_JSON || x->old.len - at < 2 || s[at] != '/' ||
		s[at + 1] != '/')
		return start;
	while (at < x->old.len && s[at] != '\n')
		at++;
	return at > start && s[at - 1] == '\r' ? at - 1 : at;
}

void edit_add_member(struct client_edit *x, const struct text_place *map, const char *text)
{
	bool is_flat;
	const char *indent = edit_member_indent(x, map, &is_flat);
	auto_buffer put = { 0 };

	if (!map->first) {
		const char *inside = x->old.text + map->at + 1;
		const size_t n = map->end - map->at - 2;

		buffer_printf(&put, "%s%s%s", is_flat ? "" : x->line, indent, text);
		/* A comment stays behind it. */
		if (!is_flat && !memchr(inside, '\n', n) &&
			edit_spaces(x, map->at + 1) == map->end - 1) {
			buffer_adds(&put, x->line);
			buffer_adds(&put, edit_line_indent(x, map->at));
		}
		edit_cut(x, map->at + 1, 0, edit_keep(x, &put));
		return;
	}
	if (!map->last->comma)
		edit_cut(x, map->last->end, 0, is_flat ? ", " : ",");
	buffer_printf(&put, "%s%s%s%s", is_flat ? "" : x->line, indent, text,
		map->last->comma ? "," : "");
	edit_cut(x, is_flat && !map->last->comma ? map->last->end : edit_behind(x, map->last), 0,
		edit_keep(x, &put));
}

void edit_remove_member(struct client_edit *x, const struct text_place *map,
	const struct text_place *member, const char *inside)
{
	const size_t start = edit_line_before(x, member->key_at);
	const struct text_place *before = NULL;
	size_t end = member->comma ? member->comma + 1 : member->end;

	if (map->first == member && map->last == member && x->old.text[start - 1] == '{') {
		const size_t close = edit_spaces(x, end);
		const bool is_blank = x->old.text[close] == '}';

		edit_cut(x, start, (is_blank ? close : end) - start, is_blank ? inside : "");
		return;
	}
	place_for_each(p, map)
	{
		if (p == member)
			break;
		before = p;
	}
	if (!member->next && before && before->comma && !member->comma)
		edit_cut(x, before->comma, 1, "");
	edit_cut(x, start, end - start, "");
}

/* The first items of lists */

void edit_add_front(struct client_edit *x, const struct text_place *list, const char *items)
{
	const size_t from = list->at + 1;
	const size_t to = edit_spaces(x, from);
	auto_buffer put = { 0 };

	if (list->first && to == list->first->at) {
		buffer_add(&put, x->old.text + from, to - from);
		buffer_printf(&put, "%s%s", items, to > from ? "," : ", ");
	} else {
		buffer_printf(&put, "%s%s", items, list->first ? "," : "");
	}
	edit_cut(x, from, 0, edit_keep(x, &put));
}

void edit_remove_front(struct client_edit *x, const struct text_place *list, size_t n)
{
	const size_t from = list->at + 1;
	const struct text_place *last = list->first;
	size_t end;

	for (size_t i = 1; i < n && last->next; i++)
		last = last->next;
	end = last->comma ? last->comma + 1 : last->end;
	if (from == list->first->at && last->next && edit_spaces(x, end) == last->next->at)
		end = last->next->at;
	edit_cut(x, from, end - from, "");
}
