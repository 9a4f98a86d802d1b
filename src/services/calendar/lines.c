/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/lines.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* Where reading is. */
struct lines_reader {
	struct lines *l;
	size_t at;
	uint32_t open[LINES_DEPTH_MAX]; /* the components that are not closed */
	size_t depth;
};

/* No NUL and no other control characters. UTF-8 is looked at later: a fold may cut a character. */
static bool lines_is_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (ascii_is_control(text[i]) && text[i] != '\r' && text[i] != '\n' &&
			text[i] != '\t')
			return false;
		/* A CR that no LF follows would end a line for some readers. */
		if (text[i] == '\r' && (i + 1 == len || text[i + 1] != '\n'))
			return false;
	}
	return true;
}

/* The end of the physical line at `at`, behind its break. */
static size_t lines_physical(const struct lines *l, size_t at)
{
	const char *end = memchr(l->source + at, '\n', l->len - at);

	return end ? (size_t)(end - l->source) + 1 : l->len;
}

/* Appends a physical line without its break. */
static size_t lines_append(char *out, size_t n, const char *from, size_t len)
{
	while (len > 0 && (from[len - 1] == '\n' || from[len - 1] == '\r'))
		len--;
	memcpy(out + n, from, len);
	return n + len;
}

/* One logical line from r->at on: its text, unfolded. NULL: no memory. */
static char *lines_unfold(struct lines_reader *r, size_t *ret_len)
{
	const struct lines *l = r->l;
	size_t end = lines_physical(l, r->at), n;
	size_t stop = end;
	char *out;

	while (stop < l->len && (l->source[stop] == ' ' || l->source[stop] == '\t'))
		stop = lines_physical(l, stop);
	out = arena_alloc(&r->l->arena, stop - r->at + 1);
	if (!out)
		return NULL;
	n = lines_append(out, 0, l->source + r->at, end - r->at);
	while (end < stop) {
		const size_t next = lines_physical(l, end);

		n = lines_append(out, n, l->source + end + 1, next - end - 1);
		end = next;
	}
	out[n] = '\0';
	r->at = stop;
	*ret_len = n;
	return out;
}

/* Where the value begins: the first colon that is not in quotes. */
static char *lines_colon(char *text)
{
	bool quoted = false;

	for (char *c = text; *c; c++) {
		if (*c == '"')
			quoted = !quoted;
		else if (*c == ':' && !quoted)
			return c;
	}
	return NULL;
}

/* Name in upper case, parameters and value of an unfolded line, which is taken apart. */
static int lines_split(struct lines *l, char *text, struct line *ret)
{
	char *colon = lines_colon(text);
	size_t len = strcspn(text, ";:");
	char *name;

	if (!colon || len == 0 || len > LINES_NAME_MAX)
		return -EINVAL;
	name = arena_strndup(&l->arena, text, len);
	if (!name)
		return -ENOMEM;
	for (char *c = name; *c; c++) {
		if (!ascii_is_alnum(*c) && *c != '-')
			return -EINVAL;
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 0x20);
	}
	*colon = '\0';
	ret->name = name;
	ret->params = text + len;
	ret->value = colon + 1;
	return 0;
}

static int lines_open(struct lines_reader *r, const struct line *line)
{
	struct lines *l = r->l;
	struct part p = { .parent = r->depth > 0 ? r->open[r->depth - 1] : LINES_NO_PART,
		.first = l->n };
	const size_t len = strlen(line->value);
	char *name;

	if (r->depth == LINES_DEPTH_MAX || l->n_parts == LINES_PARTS_MAX)
		return -EFBIG;
	/* One object, and nothing beside it. */
	if (r->depth == 0 && (l->n_parts > 0 || strcasecmp(line->value, "VCALENDAR") != 0))
		return -EINVAL;
	if (len == 0 || len > LINES_NAME_MAX)
		return -EINVAL;
	name = arena_strdup(&l->arena, line->value);
	if (!name)
		return -ENOMEM;
	for (char *c = name; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 0x20);
	p.name = name;
	r->open[r->depth++] = (uint32_t)l->n_parts;
	return ARENA_PUSH(&l->arena, l->parts, l->n_parts, l->cap_parts, p);
}

static int lines_add(struct lines_reader *r, struct line *line)
{
	struct lines *l = r->l;
	int code = 0;

	if (l->n == LINES_MAX)
		return -EFBIG;
	if (strcmp(line->name, "BEGIN") == 0)
		code = lines_open(r, line);
	else if (r->depth == 0)
		code = -EINVAL;
	if (code < 0)
		return code;
	line->part = r->open[r->depth - 1];
	if (strcmp(line->name, "END") == 0) {
		struct part *p = &l->parts[line->part];

		if (strcasecmp(line->value, p->name) != 0)
			return -EINVAL;
		p->last = l->n;
		r->depth--;
	}
	return ARENA_PUSH(&l->arena, l->items, l->n, l->cap, *line);
}

static int lines_read(struct lines_reader *r)
{
	while (r->at < r->l->len) {
		struct line line = { .at = r->at };
		size_t len = 0;
		char *text = lines_unfold(r, &len);
		int code = text ? 0 : -ENOMEM;

		/* Empty lines mean nothing, and many programs leave some at the end. */
		if (code == 0 && len == 0)
			continue;
		line.len = r->at - line.at;
		if (code == 0 && !utf8_valid(text, len, NULL))
			code = -EINVAL;
		if (code == 0)
			code = lines_split(r->l, text, &line);
		if (code == 0)
			code = lines_add(r, &line);
		if (code < 0)
			return code;
	}
	return r->depth == 0 && r->l->n_parts > 0 ? 0 : -EINVAL;
}

int lines_parse(struct lines *ret, const char *text, size_t len)
{
	struct lines_reader r = { .l = ret };
	int code;

	*ret = (struct lines){ 0 };
	if (len > LINES_BYTES_MAX)
		return -EFBIG;
	if (!lines_is_text(text, len))
		return -EINVAL;
	ret->source = arena_strndup(&ret->arena, text, len);
	ret->len = len;
	code = ret->source ? lines_read(&r) : -ENOMEM;
	if (code < 0)
		lines_deinit(ret);
	return code;
}

void lines_deinit(struct lines *l)
{
	arena_deinit(&l->arena);
	*l = (struct lines){ 0 };
}

const struct line *lines_find(
	const struct lines *l, uint32_t part, const char *name, const struct line *after)
{
	const struct part *p = &l->parts[part];
	size_t i = after ? (size_t)(after - l->items) + 1 : p->first + 1;

	for (; i < p->last; i++) {
		if (l->items[i].part == part && strcmp(l->items[i].name, name) == 0)
			return &l->items[i];
	}
	return NULL;
}

const char *lines_param(const struct line *line, const char *name, struct arena *a)
{
	const size_t len = strlen(name);

	for (const char *at = line->params; *at == ';';) {
		const char *value, *end = at + 1;
		bool quoted = false;

		while (*end && (quoted || *end != ';')) {
			quoted = quoted != (*end == '"');
			end++;
		}
		value = memchr(at, '=', (size_t)(end - at));
		if (value && (size_t)(value - at) == len + 1 &&
			strncasecmp(at + 1, name, len) == 0) {
			value++;
			if (end - value >= 2 && value[0] == '"' && end[-1] == '"') {
				value++;
				end--;
			}
			return arena_strndup(a, value, (size_t)(end - value));
		}
		at = end;
	}
	return NULL;
}
