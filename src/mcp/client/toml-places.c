/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML. The reader of codec says first whether the text is any, within its bounds and with each key
 * once; what is here only finds where its keys and values stand, and relies on that. It still ends
 * at the end of the text, whatever it finds.
 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/toml.h"
#include "mcp/client/internal.h"

static int tp_peek(const struct places_reader *r)
{
	return r->at < r->len ? (unsigned char)r->text[r->at] : -1;
}

static bool tp_takes(struct places_reader *r, const char *what)
{
	const size_t n = strlen(what);

	if (r->len - r->at < n || memcmp(r->text + r->at, what, n) != 0)
		return false;
	r->at += n;
	return true;
}

static void tp_blanks(struct places_reader *r)
{
	while (tp_peek(r) == ' ' || tp_peek(r) == '\t')
		r->at++;
}

/* Blanks, comments and, if lines, the ends of lines. */
static void tp_skip(struct places_reader *r, bool lines)
{
	for (;;) {
		tp_blanks(r);
		if (tp_peek(r) == '#')
			while (r->at < r->len && r->text[r->at] != '\n')
				r->at++;
		else if (lines && (tp_peek(r) == '\n' || tp_peek(r) == '\r'))
			r->at++;
		else
			return;
	}
}

/* The rest of a line, with its end. */
static void tp_end_line(struct places_reader *r)
{
	tp_skip(r, false);
	if (tp_peek(r) == '\r')
		r->at++;
	if (tp_peek(r) == '\n')
		r->at++;
}

/* Over a text of any of the four kinds. */
static void tp_skip_text(struct places_reader *r)
{
	const char quote = r->text[r->at];
	const char three[] = { quote, quote, quote, '\0' }, one[] = { quote, '\0' };
	const char *const end = tp_takes(r, three) ? three : one;

	r->at += end == one;
	while (r->at < r->len && !tp_takes(r, end))
		r->at += quote == '"' && r->text[r->at] == '\\' && r->at + 1 < r->len ? 2 : 1;
	/* Up to two quotes before the end belong to the text. */
	for (int i = 0; end == three && i < 2 && tp_peek(r) == quote; i++)
		r->at++;
}

/* What a text says, by the reader of codec. */
static int tp_decode(struct places_reader *r, size_t start, const char **ret)
{
	auto_document d = { 0 };
	auto_buffer text = { 0 };
	const char *s = r->text + start;
	size_t n = r->at - start;
	int res = 0;

	if (n >= 2 && (s[1] != s[0] || n == 2) && !memchr(s, '\\', n)) {
		*ret = arena_strndup(r->arena, s + 1, n - 2);
		return *ret ? 0 : error_no_memory(r->error);
	}
	buffer_adds(&text, "k=");
	buffer_add(&text, s, n);
	if (text.failed)
		return error_no_memory(r->error);
	res = toml_read(&d, r->file, text.data, text.len, r->error);
	if (res < 0)
		return res;
	*ret = arena_strdup(r->arena, node_get_text(d.root, "k"));
	return *ret ? 0 : error_no_memory(r->error);
}

static int tp_key(struct places_reader *r, const char **ret)
{
	const size_t start = r->at;

	if (tp_peek(r) == '"' || tp_peek(r) == '\'') {
		tp_skip_text(r);
		return tp_decode(r, start, ret);
	}
	while (r->at < r->len && !strchr(" \t\r\n.=]", r->text[r->at]))
		r->at++;
	*ret = arena_strndup(r->arena, r->text + start, r->at - start);
	return *ret ? 0 : error_no_memory(r->error);
}

/* The map under a key on the way to another one; of [[lists]] the last item. */
static int tp_step(struct places_reader *r, struct text_place **map, const char *key)
{
	struct text_place *p = place_get(*map, key);
	int res = 0;

	if (!p) {
		p = place_new(r, PLACE_MAP, &res);
		if (!p)
			return res;
		p->is_open = true;
		p->key = key;
		p->at = p->end = 0;
		place_append(*map, p);
	} else if (p->kind == PLACE_LIST && p->is_open && p->last) {
		p = p->last;
	}
	if (p->kind != PLACE_MAP)
		return place_expected(r, r->at, "a key of a table");
	*map = p;
	return 0;
}

/* All parts of a key but the last, which is left to the caller. */
static int tp_path(struct places_reader *r, struct text_place **map, const char **key)
{
	for (;;) {
		int res;

		tp_blanks(r);
		res = tp_key(r, key);
		if (res < 0)
			return res;
		tp_blanks(r);
		if (!tp_takes(r, "."))
			return 0;
		res = tp_step(r, map, *key);
		if (res < 0)
			return res;
	}
}

static int tp_value(struct places_reader *r, struct text_place **ret);

static int tp_pair(struct places_reader *r, struct text_place *map)
{
	const size_t start = r->at;
	const char *key = NULL;
	struct text_place *child = NULL;
	int res = tp_path(r, &map, &key);

	if (res == 0 && !tp_takes(r, "="))
		res = place_expected(r, r->at, "'=' after the key");
	if (res < 0)
		return res;
	tp_blanks(r);
	res = tp_value(r, &child);
	if (res < 0 || !child)
		return res;
	child->key = key;
	child->key_at = start;
	place_append(map, child);
	return 0;
}

static int tp_entries(struct places_reader *r, struct text_place *parent)
{
	const char close = parent->kind == PLACE_MAP ? '}' : ']';

	for (r->at++, tp_skip(r, true); r->at < r->len && tp_peek(r) != close; tp_skip(r, true)) {
		struct text_place *child = NULL;
		int res = parent->kind == PLACE_MAP ? tp_pair(r, parent) : tp_value(r, &child);

		if (res < 0)
			return res;
		if (child)
			place_append(parent, child);
		tp_skip(r, true);
		if (tp_peek(r) == ',') {
			if (parent->last)
				parent->last->comma = r->at;
			r->at++;
		} else if (tp_peek(r) != close) {
			return place_expected(r, r->at, "',' or the end of the list or table");
		}
	}
	r->at += r->at < r->len;
	return 0;
}

static int tp_value(struct places_reader *r, struct text_place **ret)
{
	const int c = tp_peek(r);
	const enum place_kind kind = c == '{'                ? PLACE_MAP
				     : c == '['              ? PLACE_LIST
				     : c == '"' || c == '\'' ? PLACE_TEXT
							     : PLACE_OTHER;
	int res = 0;
	struct text_place *p = place_new(r, kind, &res);

	if (!p)
		return res;
	if (kind == PLACE_TEXT) {
		tp_skip_text(r);
		res = tp_decode(r, p->at, &p->text);
	} else if (kind == PLACE_OTHER) {
		while (r->at < r->len && !strchr(",]}#\r\n", r->text[r->at]))
			r->at++;
		while (r->at > p->at && strchr(" \t", r->text[r->at - 1]))
			r->at--;
	} else if (++r->depth > PLACES_DEPTH_MAX) {
		res = place_expected(r, p->at, "fewer lists and tables in each other");
	} else {
		res = tp_entries(r, p);
		r->depth--;
	}
	p->end = r->at;
	*ret = p;
	return res;
}

/* [[a.list]]: one more item of it. */
static int tp_item(
	struct places_reader *r, struct text_place *map, const char *key, struct text_place **ret)
{
	struct text_place *list = place_get(map, key), *item;
	int res = 0;

	if (!list) {
		list = place_new(r, PLACE_LIST, &res);
		if (!list)
			return res;
		list->is_open = true;
		list->key = key;
		place_append(map, list);
	}
	item = place_new(r, PLACE_MAP, &res);
	if (!item)
		return res;
	item->is_open = true;
	place_append(list, item);
	*ret = item;
	return 0;
}

static int tp_header(struct places_reader *r, struct text_place *root, struct text_place **ret)
{
	size_t start = r->at;
	struct text_place *map = root;
	const char *key = NULL;
	bool is_list;
	int res;

	while (start > 0 && strchr(" \t", r->text[start - 1]))
		start--;
	r->at++;
	is_list = tp_takes(r, "[");
	res = tp_path(r, &map, &key);
	if (res == 0)
		res = is_list ? tp_item(r, map, key, &map) : tp_step(r, &map, key);
	if (res == 0 && !tp_takes(r, is_list ? "]]" : "]"))
		res = place_expected(r, r->at, "']' at the end of the header");
	if (res < 0)
		return res;
	tp_end_line(r);
	map->key_at = map->at = start;
	map->end = r->at;
	*ret = map;
	return 0;
}

static int tp_statements(struct places_reader *r, struct text_place *root)
{
	struct text_place *table = root;
	int res = 0;

	for (tp_skip(r, true); res == 0 && r->at < r->len; tp_skip(r, true)) {
		if (tp_peek(r) == '[') {
			res = tp_header(r, root, &table);
			continue;
		}
		res = tp_pair(r, table);
		if (res < 0)
			break;
		tp_end_line(r);
		table->end = r->at;
	}
	return res;
}

int places_read_toml(struct places_reader *r, struct text_place **ret)
{
	auto_document d = { 0 };
	int res = toml_read(&d, r->file, r->text + r->at, r->len - r->at, r->error);
	struct text_place *root = res < 0 ? NULL : place_new(r, PLACE_MAP, &res);

	if (!root)
		return res;
	root->is_open = true;
	res = tp_statements(r, root);
	if (res == 0)
		*ret = root;
	return res;
}
