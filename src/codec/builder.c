/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of all input, whatever language it is in: it is not too large, it is UTF-8, it has
 * no NUL. Checked once and before a parser sees the first byte, so that the parsers need no opinion
 * on encodings, and so that all of them refuse the same bytes with the same words.
 *
 * Bounds are checked before anything is allocated for what would exceed them. The arena's budget is
 * a second fence after them: no document within the bounds needs as much.
 *
 * Copies (YAML aliases) are charged as if their text had been written out, so nine lines of aliases
 * to aliases cost their author what they would cost us.
 *
 * Keys are compared when their map is closed, by sorting: n log n whatever the keys are. A hash
 * table would need a secret seed to be as safe against keys chosen to collide.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "codec/internal.h"

enum { MEMORY_MAX = 64 << 20, EXCERPT = 40 };

/* The input */

size_t input_bom(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

struct location input_location(const struct input *in, size_t offset)
{
	struct location at = { .file = in->file, .line = in->first_line };
	size_t line_start = 0;

	for (size_t i = 0; i < offset; i++) {
		if (in->text[i] == '\n') {
			at.line++;
			line_start = i + 1;
		}
	}
	at.column = (uint32_t)(offset - line_start) + 1;
	return at;
}

static int input_refuse(const struct input *in, size_t offset, struct error *e)
{
	struct location at = input_location(in, offset);
	unsigned char c = (unsigned char)in->text[offset];
	const char *t = in->text;
	/* With a mark or without one: one of the first two bytes of anything we read is 0 then. */
	bool utf16 =
		in->len >= 2 && (memcmp(t, "\xff\xfe", 2) == 0 || memcmp(t, "\xfe\xff", 2) == 0 ||
					(t[0] == '\0') != (t[1] == '\0'));

	if (c == '\0')
		(void)error_set(e, -EINVAL, &at, "the text holds a NUL byte");
	else
		(void)error_set(e, -EINVAL, &at, "byte 0x%02x is not UTF-8", c);
	error_hint(e, "%s",
		utf16 ? "this looks like UTF-16: save it as UTF-8" : "only UTF-8 text can be read");
	return -EINVAL;
}

int input_excerpt(const char *s, size_t len)
{
	size_t n = len < EXCERPT ? len : EXCERPT;

	/* A byte 10xxxxxx after the cut continues a character: leave all of that one out. */
	while (n > 0 && n < len && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

/* The document */

int builder_no_memory(struct builder *b)
{
	struct location at = { .file = b->doc->file };

	return error_set(b->error, -ENOMEM, &at, "out of memory");
}

int builder_begin(struct builder *b, struct document *d, const struct input *in, struct error *e)
{
	const char *nul = in->len ? memchr(in->text, '\0', in->len) : NULL;
	struct location start = { .file = in->file };
	size_t bad;

	*d = (struct document){ 0 };
	*b = (struct builder){ .doc = d, .error = e, .bounds = in->bounds, .bytes = in->len };
	arena_init(&d->arena, MEMORY_MAX);
	if (in->len > in->bounds.bytes)
		return error_set(e, -E2BIG, &start, "too large: %zu bytes, at most %zu are read",
			in->len, in->bounds.bytes);
	if (!utf8_valid(in->text, in->len, &bad))
		return input_refuse(in, bad, e);
	if (nul)
		return input_refuse(in, (size_t)(nul - in->text), e);
	if (!in->file)
		return 0;
	d->file = arena_strdup(&d->arena, in->file);
	return d->file ? 0 : builder_no_memory(b);
}

int builder_end(struct builder *b, int result)
{
	arena_deinit(&b->scratch);
	if (result < 0)
		document_deinit(b->doc);
	return result;
}

static struct node *innermost(const struct builder *b)
{
	return b->depth ? b->open[b->depth - 1] : NULL;
}

bool builder_wants_key(const struct builder *b)
{
	const struct node *parent = innermost(b);

	return parent && parent->type == NODE_MAP && !b->key;
}

bool builder_is_open(const struct builder *b, const struct node *n)
{
	for (size_t i = 0; i < b->depth; i++) {
		if (b->open[i] == n)
			return true;
	}
	return false;
}

static int builder_too_many(struct builder *b, const struct location *at)
{
	return error_set(
		b->error, -E2BIG, at, "more than %d values in one document", NODE_COUNT_MAX);
}

static int too_deep(struct builder *b, const struct location *at)
{
	return error_set(b->error, -E2BIG, at, "nested more than %d levels deep", NODE_DEPTH_MAX);
}

/* Copies text into the document if it may stand there. */
static int keep_text(struct builder *b, const struct location *at, const char *text, size_t len,
	const char **ret)
{
	if (len > b->bounds.scalar)
		return error_set(b->error, -E2BIG, at, "text of %zu bytes, at most %zu are read",
			len, b->bounds.scalar);
	if (memchr(text, '\0', len))
		return error_set(b->error, -EINVAL, at, "text holds a NUL character");
	*ret = arena_strndup(&b->doc->arena, text, len);
	return *ret ? 0 : builder_no_memory(b);
}

/* Hangs n where the document goes on: under the waiting key, in the open list, or as the root. */
static void builder_attach(struct builder *b, const struct location *at, struct node *n)
{
	n->line = at->line;
	n->column = at->column;
	n->key = b->key;
	n->key_line = b->key_at.line;
	n->key_column = b->key_at.column;
	b->key = NULL;
	b->key_at = (struct location){ 0 };
	b->added = n;
	if (b->depth)
		(void)node_append(innermost(b), n);
	else
		b->doc->root = n;
}

static int builder_add_node(
	struct builder *b, const struct location *at, enum node_type type, const char *text)
{
	struct node *n;

	if (b->count == NODE_COUNT_MAX)
		return builder_too_many(b, at);
	n = node_new(&b->doc->arena, type);
	if (!n)
		return builder_no_memory(b);
	b->count++;
	n->text = text;
	builder_attach(b, at, n);
	return 0;
}

int builder_key(struct builder *b, const struct location *at, const char *text, size_t len)
{
	b->key_at = *at;
	return keep_text(b, at, text, len, &b->key);
}

int builder_scalar(struct builder *b, const struct location *at, enum node_type type,
	const char *text, size_t len)
{
	const char *kept = NULL;
	int r = type == NODE_NULL ? 0 : keep_text(b, at, text, len, &kept);

	return r < 0 ? r : builder_add_node(b, at, type, kept);
}

int builder_open(struct builder *b, const struct location *at, enum node_type type)
{
	int r;

	if (b->depth == NODE_DEPTH_MAX)
		return too_deep(b, at);
	r = builder_add_node(b, at, type, NULL);
	if (r < 0)
		return r;
	b->open[b->depth++] = b->added;
	return 0;
}

static bool is_before(const struct node *a, const struct node *b)
{
	if (a->key_line != b->key_line)
		return a->key_line < b->key_line;
	return a->key_column < b->key_column;
}

/* By name, and by place where the names are equal. */
static int builder_compare_names(const void *pa, const void *pb)
{
	const struct node *a = *(struct node *const *)pa;
	const struct node *b = *(struct node *const *)pb;
	int r = strcmp(a->key, b->key);

	return r ? r : is_before(a, b) ? -1 : 1;
}

/* Of all keys that repeat an earlier one, the complaint is about the first. */
static int check_unique(struct builder *b, const struct node *map)
{
	const struct node *first = NULL, *again = NULL;
	size_t n = 0, room = map->count < 2 * b->room ? 2 * b->room : map->count;
	struct node **names;
	struct location at;

	if (map->count < 2)
		return 0;
	if (map->count > b->room) {
		b->names = arena_calloc(&b->scratch, room, sizeof(struct node *));
		b->room = b->names ? room : 0;
	}
	names = b->names;
	if (!names)
		return builder_no_memory(b);
	node_for_each(child, map)
		names[n++] = child;
	qsort(names, n, sizeof(struct node *), builder_compare_names);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(names[i - 1]->key, names[i]->key) == 0 &&
			(!again || is_before(names[i], again))) {
			first = names[i - 1];
			again = names[i];
		}
	}
	if (!again)
		return 0;
	at = node_key_location(b->doc, again);
	return error_set(b->error, -EINVAL, &at,
		"duplicate key \"%.*s\", which stands at line %u, column %u already",
		input_excerpt(again->key, strlen(again->key)), again->key, first->key_line,
		first->key_column);
}

int builder_close(struct builder *b)
{
	struct node *n = b->open[--b->depth];

	return n->type == NODE_MAP ? check_unique(b, n) : 0;
}

struct extent {
	size_t nodes, bytes, height;
};

static void builder_measure(const struct node *n, size_t depth, struct extent *sum)
{
	sum->nodes++;
	sum->bytes += n->text ? strlen(n->text) : 0;
	if ((n->type == NODE_LIST || n->type == NODE_MAP) && depth >= sum->height)
		sum->height = depth + 1;
	node_for_each(child, n) {
		sum->bytes += child->key ? strlen(child->key) : 0;
		builder_measure(child, depth + 1, sum);
	}
}

int builder_copy(struct builder *b, const struct location *at, const struct node *n)
{
	struct extent cost = { 0 };
	struct node *copy;

	builder_measure(n, 0, &cost);
	if (cost.nodes > NODE_COUNT_MAX - b->count)
		return builder_too_many(b, at);
	if (cost.bytes > b->bounds.bytes - b->bytes)
		return error_set(b->error, -E2BIG, at,
			"more than %zu bytes with what the aliases repeat", b->bounds.bytes);
	if (cost.height > NODE_DEPTH_MAX - b->depth)
		return too_deep(b, at);
	copy = node_copy(&b->doc->arena, n);
	if (!copy)
		return builder_no_memory(b);
	b->count += cost.nodes;
	b->bytes += cost.bytes;
	builder_attach(b, at, copy);
	return 0;
}
