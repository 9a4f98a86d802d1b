/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml finds the structure; this gives it meaning. Each event has a handler that hands the
 * builder what it stands for. The builder owns the bounds, the stack and the comparison of keys.
 *
 * Less is accepted than YAML allows, on purpose: a policy must mean one thing, to every reader and
 * to the person who approves it. Merge keys are not in the core schema, yet many readers honour
 * them; a `<<` that we took for a plain key would drop a list of denials without a word, so it is
 * refused. U+2028 ends a comment for libyaml but not for an editor, so that is refused too.
 *
 * libyaml counts characters from the start of the text. A cursor that only moves forward turns them
 * into bytes, lines and columns, so that places cost one walk over the text in all.
 */
#include "codec/yaml.h"

#include <errno.h>
#include <string.h>

#include <yaml.h>

#include "base/array.h"
#include "base/utf8.h"
#include "codec/builder.h"
#include "codec/scalar.h"
#include "codec/yaml-error.h"

/* More than any document needs, and few enough to look through for each alias. */
enum { ANCHOR_MAX = 256 };

struct anchor {
	const char *name;
	const struct node *node;
};

struct cursor {
	size_t index;  /* characters passed */
	size_t offset; /* the same in bytes */
	size_t line_start;
	uint32_t line;
};

struct reader {
	struct builder b;
	const struct input *in;
	yaml_parser_t parser;
	struct cursor cursor;
	struct anchor anchors[ANCHOR_MAX];
	size_t anchor_count;
	bool seen_document, finished;
};

/* What a tag that we know asks of the scalar or collection behind it. */
struct tag {
	const char *name;
	enum node_type type;
	bool whole; /* of numbers: no fraction, no exponent */
};

static const struct tag tags[] = {
	{ YAML_STR_TAG, NODE_STRING, false },
	{ YAML_INT_TAG, NODE_NUMBER, true },
	{ YAML_FLOAT_TAG, NODE_NUMBER, false },
	{ YAML_BOOL_TAG, NODE_BOOL, false },
	{ YAML_NULL_TAG, NODE_NULL, false },
	{ YAML_SEQ_TAG, NODE_LIST, false },
	{ YAML_MAP_TAG, NODE_MAP, false },
};

static void cursor_step(struct cursor *c, const struct input *in)
{
	if (in->text[c->offset] == '\n') {
		c->line++;
		c->line_start = c->offset + 1;
	}
	do
		c->offset++;
	while (c->offset < in->len && ((unsigned char)in->text[c->offset] & 0xc0) == 0x80);
	c->index++;
}

static struct location yaml_read_locate(struct reader *r, const yaml_mark_t *mark)
{
	struct cursor *c = &r->cursor;

	if (mark->index < c->index)
		*c = (struct cursor){ .line = r->in->first_line };
	while (c->index < mark->index && c->offset < r->in->len)
		cursor_step(c, r->in);
	return (struct location){
		.file = r->in->file,
		.line = c->line,
		.column = (uint32_t)(c->offset - c->line_start) + 1,
	};
}

static int unknown_tag(struct reader *r, const struct location *at, const char *tag)
{
	(void)error_set(r->b.error, -EINVAL, at, "unknown tag \"%.*s\"",
		input_excerpt(tag, strlen(tag)), tag);
	error_hint(
		r->b.error, "only !!str, !!int, !!float, !!bool, !!null, !!seq and !!map are read");
	return -EINVAL;
}

/* A tag that we know, on something that it cannot be. */
static int tag_misfit(
	struct reader *r, const struct location *at, const char *tag, const char *what)
{
	return error_set(r->b.error, -EINVAL, at, "the tag \"%.*s\" does not fit %s",
		input_excerpt(tag, strlen(tag)), tag, what);
}

static const struct tag *find_tag(const char *name)
{
	for (size_t i = 0; i < ROWS(tags); i++) {
		if (strcmp(tags[i].name, name) == 0)
			return &tags[i];
	}
	return NULL;
}

static int resolve_scalar(
	struct reader *r, const yaml_event_t *ev, const struct location *at, enum node_type *ret)
{
	const char *text = (const char *)ev->data.scalar.value;
	const char *name = (const char *)ev->data.scalar.tag;
	const struct tag *tag;
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	enum node_type type;

	if (!name) {
		*ret = plain ? scalar_type(text) : NODE_STRING;
		return 0;
	}
	tag = find_tag(name);
	if (!tag)
		return unknown_tag(r, at, name);
	/* Quoted text may hold a NUL, and then is more than the word that it starts with. */
	type = strlen(text) == ev->data.scalar.length ? scalar_type(text) : NODE_STRING;
	if (tag->type != NODE_STRING &&
		(type != tag->type || (tag->whole && !scalar_is_integer(text))))
		return error_set(r->b.error, -EINVAL, at, "\"%.*s\" is not what its tag says",
			input_excerpt(text, strlen(text)), text);
	*ret = tag->type;
	return 0;
}

/* A node that an alias may name from now on. A name may be given again: the latest holds. */
static int name_latest(struct reader *r, const struct location *at, const yaml_char_t *anchor)
{
	const char *name = (const char *)anchor;
	size_t i = 0;

	if (!name)
		return 0;
	while (i < r->anchor_count && strcmp(r->anchors[i].name, name) != 0)
		i++;
	if (i == ANCHOR_MAX)
		return error_set(
			r->b.error, -E2BIG, at, "more than %d anchors in one document", ANCHOR_MAX);
	if (i == r->anchor_count) {
		r->anchors[i].name = arena_strdup(&r->b.scratch, name);
		if (!r->anchors[i].name)
			return builder_no_memory(&r->b);
		r->anchor_count++;
	}
	r->anchors[i].node = r->b.added;
	return 0;
}

static int read_key(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	const char *text = (const char *)ev->data.scalar.value;
	const char *tag = (const char *)ev->data.scalar.tag;
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (ev->data.scalar.anchor)
		return error_set(r->b.error, -EINVAL, at, "an anchor cannot name a key");
	if (tag && strcmp(tag, YAML_STR_TAG) != 0)
		return tag_misfit(r, at, tag, "a key");
	if (plain && !tag && strcmp(text, "<<") == 0) {
		(void)error_set(r->b.error, -EINVAL, at, "merge keys (<<) are not supported");
		error_hint(r->b.error, "write the entries out, or quote the key: \"<<\"");
		return -EINVAL;
	}
	return builder_key(&r->b, at, text, ev->data.scalar.length);
}

static int on_scalar(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t len = ev->data.scalar.length;
	enum node_type type = NODE_NULL;
	int res;

	if (builder_wants_key(&r->b))
		return read_key(r, ev, at);
	res = resolve_scalar(r, ev, at, &type);
	if (res < 0)
		return res;
	if (type == NODE_BOOL) {
		text = *text == 't' || *text == 'T' ? "true" : "false";
		len = strlen(text);
	}
	res = builder_scalar(&r->b, at, type, text, len);
	return res < 0 ? res : name_latest(r, at, ev->data.scalar.anchor);
}

static int open_collection(struct reader *r, const struct location *at, enum node_type type,
	const yaml_char_t *tag_name, const yaml_char_t *anchor)
{
	const char *name = (const char *)tag_name;
	const struct tag *tag = name ? find_tag(name) : NULL;
	int res;

	if (builder_wants_key(&r->b))
		return error_set(r->b.error, -EINVAL, at, "expected text as a key, found %s",
			node_type_name(type));
	if (name && !tag)
		return unknown_tag(r, at, name);
	if (tag && tag->type != type)
		return tag_misfit(r, at, name, node_type_name(type));
	res = builder_open(&r->b, at, type);
	return res < 0 ? res : name_latest(r, at, anchor);
}

static int on_list(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	return open_collection(
		r, at, NODE_LIST, ev->data.sequence_start.tag, ev->data.sequence_start.anchor);
}

static int on_map(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	return open_collection(
		r, at, NODE_MAP, ev->data.mapping_start.tag, ev->data.mapping_start.anchor);
}

static int on_end(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	(void)ev;
	(void)at;
	return builder_close(&r->b);
}

static int on_alias(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	const char *name = (const char *)ev->data.alias.anchor;
	int shown = input_excerpt(name, strlen(name));
	size_t i = 0;

	if (builder_wants_key(&r->b))
		return error_set(r->b.error, -EINVAL, at, "expected text as a key, found *%.*s",
			shown, name);
	while (i < r->anchor_count && strcmp(r->anchors[i].name, name) != 0)
		i++;
	if (i == r->anchor_count) {
		(void)error_set(r->b.error, -EINVAL, at, "no anchor &%.*s stands before this alias",
			shown, name);
		error_hint(r->b.error, "text that starts with * needs quotes");
		return -EINVAL;
	}
	if (builder_is_open(&r->b, r->anchors[i].node))
		return error_set(
			r->b.error, -EINVAL, at, "*%.*s stands inside what it names", shown, name);
	return builder_copy(&r->b, at, r->anchors[i].node);
}

static int on_document(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	(void)ev;
	if (r->seen_document) {
		(void)error_set(r->b.error, -EINVAL, at,
			"expected the end of the text, found a second document");
		error_hint(r->b.error, "one file holds one document: remove this \"---\"");
		return -EINVAL;
	}
	r->seen_document = true;
	return 0;
}

/* A file without a document, or with comments only, is null, as an empty document is. */
static int on_stream_end(struct reader *r, const yaml_event_t *ev, const struct location *at)
{
	struct location start = { .line = r->in->first_line, .column = 1 };

	(void)ev;
	(void)at;
	r->finished = true;
	return r->seen_document ? 0 : builder_scalar(&r->b, &start, NODE_NULL, NULL, 0);
}

typedef int handler(struct reader *r, const yaml_event_t *ev, const struct location *at);

static handler *const handlers[] = {
	[YAML_DOCUMENT_START_EVENT] = on_document,
	[YAML_SCALAR_EVENT] = on_scalar,
	[YAML_ALIAS_EVENT] = on_alias,
	[YAML_SEQUENCE_START_EVENT] = on_list,
	[YAML_SEQUENCE_END_EVENT] = on_end,
	[YAML_MAPPING_START_EVENT] = on_map,
	[YAML_MAPPING_END_EVENT] = on_end,
	[YAML_STREAM_END_EVENT] = on_stream_end,
};

static int yaml_read_complain(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	struct location since = yaml_read_locate(r, &p->context_mark),
			at = yaml_read_locate(r, &p->problem_mark);
	size_t line = r->cursor.line_start;

	return yaml_error_explain(
		r->b.error, p, &at, &since, r->in->text + line, r->in->len - line);
}

static int yaml_read_events(struct reader *r)
{
	while (!r->finished) {
		struct location at;
		yaml_event_t ev;
		int res = 0;

		if (!yaml_parser_parse(&r->parser, &ev))
			return yaml_read_complain(r);
		at = yaml_read_locate(r, &ev.start_mark);
		if (handlers[ev.type])
			res = handlers[ev.type](r, &ev, &at);
		yaml_event_delete(&ev);
		if (res < 0)
			return res;
	}
	return 0;
}

static int refuse_character(struct reader *r, size_t offset, uint32_t c)
{
	struct location at = input_location(r->in, offset);
	struct error *e = r->b.error;

	if (c == '\r') {
		(void)error_set(e, -EINVAL, &at, "a carriage return without a line feed");
		error_hint(e, "save the file with LF or CRLF line ends");
	} else if (c == 0x85 || c == 0x2028 || c == 0x2029) {
		(void)error_set(e, -EINVAL, &at,
			"U+%04X is a line break to some readers of YAML and not to others",
			(unsigned)c);
		error_hint(e, "write it as \"\\u%04x\", in double quotes", (unsigned)c);
	} else {
		(void)error_set(
			e, -EINVAL, &at, "U+%04X cannot stand in YAML as it is", (unsigned)c);
		error_hint(e, "write it as \"\\u%04x\", in double quotes", (unsigned)c);
	}
	return -EINVAL;
}

/* What YAML calls printable, less the line breaks of YAML 1.1. A CR stands before an LF only. */
static bool may_stand(uint32_t c, uint32_t next)
{
	if (c == '\r')
		return next == '\n';
	if (c < 0x20)
		return c == '\t' || c == '\n';
	if (c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff)
		return false;
	return c < 0x7f || c >= 0xa0;
}

static int check_characters(struct reader *r)
{
	const struct input *in = r->in;
	size_t i = 0;

	while (i < in->len) {
		uint32_t c = 0;
		size_t n = utf8_decode(in->text + i, in->len - i, &c);

		if (!may_stand(c, i + 1 < in->len ? (unsigned char)in->text[i + 1] : 0))
			return refuse_character(r, i, c);
		i += n;
	}
	return 0;
}

static int read_stream(struct reader *r)
{
	int res = check_characters(r);

	if (res < 0)
		return res;
	if (!yaml_parser_initialize(&r->parser))
		return builder_no_memory(&r->b);
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->in->text, r->in->len);
	res = yaml_read_events(r);
	yaml_parser_delete(&r->parser);
	return res;
}

int yaml_read(struct document *d, const char *file, unsigned first_line, const char *text,
	size_t len, struct error *e)
{
	/* The mark belongs to a file, not to a piece from the middle of one. */
	size_t bom = first_line == 1 ? input_bom(text, len) : 0;
	const struct input in = {
		.file = file,
		.text = len ? text + bom : "",
		.len = len - bom,
		.first_line = first_line,
	};
	struct reader r = { .in = &in, .cursor.line = first_line };
	int res = builder_begin(&r.b, d, &in, e);

	if (res == 0)
		res = read_stream(&r);
	return builder_end(&r.b, res);
}
