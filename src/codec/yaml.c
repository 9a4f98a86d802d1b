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
 *
 * libyaml's complaints speak of tokens, contexts and block mappings. Each that an author can really
 * meet has a row here: what it means in a file, and what to do about it. The rest are rare enough
 * to pass on as they are, and so is one that a new version of libyaml words differently.
 */
#include "codec/yaml.h"

#include <errno.h>
#include <string.h>

#include <yaml.h>

#include "base/array.h"
#include "base/utf8.h"
#include "codec/internal.h"

#define KNOWN_TAGS "only !!str, !!int, !!float, !!bool, !!null, !!seq and !!map are read"

/* More than any document needs, and few enough to look through for each alias. */
enum { ANCHOR_MAX = 256 };

struct yaml_anchor {
	const char *name;
	const struct node *node;
};

struct yaml_cursor {
	size_t index;  /* characters passed */
	size_t offset; /* the same in bytes */
	size_t line_start;
	uint32_t line;
};

struct yaml_reader {
	struct builder b;
	const struct input *in;
	yaml_parser_t parser;
	struct yaml_cursor cursor;
	struct yaml_anchor anchors[ANCHOR_MAX];
	size_t anchor_count;
	bool seen_document, finished;
	bool is_ascii; /* all of the input */
};

/* What a tag that we know asks of the scalar or collection after it. */
struct yaml_tag {
	const char *name;
	enum node_type type;
	bool whole; /* of numbers: no fraction, no exponent */
};

static const struct yaml_tag tags[] = {
	{ YAML_STR_TAG, NODE_STRING, false },
	{ YAML_INT_TAG, NODE_NUMBER, true },
	{ YAML_FLOAT_TAG, NODE_NUMBER, false },
	{ YAML_BOOL_TAG, NODE_BOOL, false },
	{ YAML_NULL_TAG, NODE_NULL, false },
	{ YAML_SEQ_TAG, NODE_LIST, false },
	{ YAML_MAP_TAG, NODE_MAP, false },
};

static struct location yaml_locate(struct yaml_reader *r, const yaml_mark_t *mark)
{
	struct yaml_cursor *c = &r->cursor;
	const char *text = r->in->text;

	if (mark->index < c->index)
		*c = (struct yaml_cursor){ .line = r->in->first_line };
	for (; c->index < mark->index && c->offset < r->in->len; c->index++) {
		if (text[c->offset] == '\n') {
			c->line++;
			c->line_start = c->offset + 1;
		}
		do
			c->offset++;
		while (c->offset < r->in->len && ((unsigned char)text[c->offset] & 0xc0) == 0x80);
	}
	return (struct location){ r->in->file, c->line, (uint32_t)(c->offset - c->line_start) + 1 };
}

/* Of an event. In ASCII, with line ends as we let them pass, libyaml's own count is ours. */
static struct location yaml_locate_event(struct yaml_reader *r, const yaml_mark_t *mark)
{
	if (!r->is_ascii)
		return yaml_locate(r, mark);
	return (struct location){ r->in->file, r->in->first_line + (uint32_t)mark->line,
		(uint32_t)mark->column + 1 };
}

static int yaml_unknown_tag(struct yaml_reader *r, const struct location *at, const char *tag)
{
	(void)error_set(r->b.error, -EINVAL, at, "unknown tag \"%.*s\"",
		input_excerpt(tag, strlen(tag)), tag);
	error_hint(r->b.error, KNOWN_TAGS);
	return -EINVAL;
}

/* A tag that we know, on something that it cannot be. */
static int yaml_tag_misfit(
	struct yaml_reader *r, const struct location *at, const char *tag, const char *what)
{
	return error_set(r->b.error, -EINVAL, at, "the tag \"%.*s\" does not fit %s",
		input_excerpt(tag, strlen(tag)), tag, what);
}

static const struct yaml_tag *yaml_find_tag(const char *name)
{
	for (size_t i = 0; i < ROWS(tags); i++) {
		if (strcmp(tags[i].name, name) == 0)
			return &tags[i];
	}
	return NULL;
}

static int yaml_resolve_scalar(struct yaml_reader *r, const yaml_event_t *ev,
	const struct location *at, enum node_type *ret)
{
	const char *text = (const char *)ev->data.scalar.value;
	const char *name = (const char *)ev->data.scalar.tag;
	const struct yaml_tag *tag;
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	enum node_type type;

	if (!name) {
		*ret = plain ? scalar_type(text) : NODE_STRING;
		return 0;
	}
	tag = yaml_find_tag(name);
	if (!tag)
		return yaml_unknown_tag(r, at, name);
	/* Quoted text may hold a NUL, and then is more than the word that it starts with. */
	type = strlen(text) == ev->data.scalar.length ? scalar_type(text) : NODE_STRING;
	if (tag->type != NODE_STRING &&
		(type != tag->type || (tag->whole && !scalar_is_integer(text))))
		return error_set(r->b.error, -EINVAL, at, "\"%.*s\" is not what its tag says",
			input_excerpt(text, strlen(text)), text);
	*ret = tag->type;
	return 0;
}

/* The place of an anchor, or how many there are. */
static size_t yaml_find_anchor(const struct yaml_reader *r, const char *name)
{
	size_t i = 0;

	while (i < r->anchor_count && strcmp(r->anchors[i].name, name) != 0)
		i++;
	return i;
}

/* A node that an alias may name from now on. A name may be given again: the latest holds. */
static int yaml_name_latest(
	struct yaml_reader *r, const struct location *at, const yaml_char_t *anchor)
{
	const char *name = (const char *)anchor;
	size_t i = name ? yaml_find_anchor(r, name) : 0;

	if (!name)
		return 0;
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

static int yaml_read_key(struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
{
	const char *text = (const char *)ev->data.scalar.value;
	const char *tag = (const char *)ev->data.scalar.tag;
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (ev->data.scalar.anchor)
		return error_set(r->b.error, -EINVAL, at, "an anchor cannot name a key");
	if (tag && strcmp(tag, YAML_STR_TAG) != 0)
		return yaml_tag_misfit(r, at, tag, "a key");
	if (plain && !tag && strcmp(text, "<<") == 0) {
		(void)error_set(r->b.error, -EINVAL, at, "merge keys (<<) are not supported");
		error_hint(r->b.error, "write the entries out, or quote the key: \"<<\"");
		return -EINVAL;
	}
	return builder_key(&r->b, at, text, ev->data.scalar.length);
}

static int yaml_on_scalar(struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t len = ev->data.scalar.length;
	enum node_type type = NODE_NULL;
	int res;

	if (builder_wants_key(&r->b))
		return yaml_read_key(r, ev, at);
	res = yaml_resolve_scalar(r, ev, at, &type);
	if (res < 0)
		return res;
	if (type == NODE_BOOL) {
		text = *text == 't' || *text == 'T' ? "true" : "false";
		len = strlen(text);
	}
	res = builder_scalar(&r->b, at, type, text, len);
	return res < 0 ? res : yaml_name_latest(r, at, ev->data.scalar.anchor);
}

/* A list or a map. */
static int yaml_on_start(struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
{
	const bool list = ev->type == YAML_SEQUENCE_START_EVENT;
	const enum node_type type = list ? NODE_LIST : NODE_MAP;
	const char *name =
		(const char *)(list ? ev->data.sequence_start.tag : ev->data.mapping_start.tag);
	const struct yaml_tag *tag = name ? yaml_find_tag(name) : NULL;
	int res;

	if (builder_wants_key(&r->b))
		return error_set(r->b.error, -EINVAL, at, "expected text as a key, found %s",
			node_type_name(type));
	if (name && !tag)
		return yaml_unknown_tag(r, at, name);
	if (tag && tag->type != type)
		return yaml_tag_misfit(r, at, name, node_type_name(type));
	res = builder_open(&r->b, at, type);
	return res < 0 ? res
		       : yaml_name_latest(r, at,
				 list ? ev->data.sequence_start.anchor
				      : ev->data.mapping_start.anchor);
}

static int yaml_on_end(struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
{
	(void)ev;
	(void)at;
	return builder_close(&r->b);
}

static int yaml_on_alias(struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
{
	const char *name = (const char *)ev->data.alias.anchor;
	int shown = input_excerpt(name, strlen(name));
	size_t i = yaml_find_anchor(r, name);

	if (builder_wants_key(&r->b))
		return error_set(r->b.error, -EINVAL, at, "expected text as a key, found *%.*s",
			shown, name);
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

static int yaml_on_document(
	struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
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
static int yaml_on_stream_end(
	struct yaml_reader *r, const yaml_event_t *ev, const struct location *at)
{
	struct location start = { .line = r->in->first_line, .column = 1 };

	(void)ev;
	(void)at;
	r->finished = true;
	return r->seen_document ? 0 : builder_scalar(&r->b, &start, NODE_NULL, NULL, 0);
}

typedef int yaml_handler(struct yaml_reader *r, const yaml_event_t *ev, const struct location *at);

static yaml_handler *const handlers[] = {
	[YAML_DOCUMENT_START_EVENT] = yaml_on_document,
	[YAML_SCALAR_EVENT] = yaml_on_scalar,
	[YAML_ALIAS_EVENT] = yaml_on_alias,
	[YAML_SEQUENCE_START_EVENT] = yaml_on_start,
	[YAML_SEQUENCE_END_EVENT] = yaml_on_end,
	[YAML_MAPPING_START_EVENT] = yaml_on_start,
	[YAML_MAPPING_END_EVENT] = yaml_on_end,
	[YAML_STREAM_END_EVENT] = yaml_on_stream_end,
};

/* Complaints */

/* Where a person should look: where it went wrong, there and at the start of it, or at the start.
 */
enum yaml_place { HERE, SPAN, START };

struct yaml_complaint {
	const char *problem; /* libyaml's words */
	enum yaml_place place;
	const char *text; /* ours; for a SPAN "that starts at …" follows */
	const char *hint;
};

#define ALIGN "check the indentation here and in the lines above"
#define ESCAPE "write \\\\ for a backslash, or use single quotes"

static const struct yaml_complaint complaints[] = {
	{ "could not find expected ':'", START, "expected ':' after this key",
		"an entry of a map is written \"key: value\"" },
	{ "found unexpected end of stream", START, "the text that starts here is never closed",
		"add the closing quote" },
	{ "did not find expected alphabetic or numeric character", START,
		"expected a name after & or *", "text that starts with * or & needs quotes" },
	{ "did not find expected key", SPAN, "expected another key, or the end of the map", ALIGN },
	{ "did not find expected '-' indicator", SPAN, "expected '- ', or the end of the list",
		ALIGN },
	{ "did not find expected ',' or ']'", SPAN, "expected ',' or ']' in the list",
		"a list in brackets needs its closing ]" },
	{ "did not find expected ',' or '}'", SPAN, "expected ',' or '}' in the map",
		"a map in braces needs its closing }" },
	{ "found unexpected document indicator", SPAN,
		"a line of --- or ... inside the quoted text",
		"indent the line, or close the quote above it" },
	{ "found character that cannot start any token", HERE, "expected a key or a value",
		"text that starts with @, ` or % needs quotes" },
	{ "mapping values are not allowed in this context", HERE, "a ':' cannot stand here",
		"check the indentation, and put text that holds \": \" in quotes" },
	{ "mapping keys are not allowed in this context", HERE, "a key cannot stand here", ALIGN },
	{ "block sequence entries are not allowed in this context", HERE, "a '-' cannot stand here",
		"a list starts on its own line, below its key" },
	{ "did not find expected node content", HERE, "expected a value", NULL },
	{ "did not find expected <document start>", HERE, "expected the end of the text",
		"one file holds one document, indented alike from top to bottom" },
	{ "found unknown escape character", HERE, "unknown escape in double quotes", ESCAPE },
	{ "did not find expected hexdecimal number", HERE,
		"expected hexadecimal digits in this escape", ESCAPE },
	{ "found invalid Unicode character escape code", HERE,
		"this escape stands for no character",
		"YAML takes \\UXXXXXXXX beyond U+FFFF, not surrogate pairs" },
	{ "found undefined tag handle", HERE, "unknown tag", KNOWN_TAGS },
	{ "found a tab character that violates indentation", HERE, "a tab cannot indent YAML",
		NULL },
	{ "found a tab character where an indentation space is expected", HERE,
		"a tab cannot indent YAML", NULL },
	{ "found incompatible YAML document", HERE,
		"expected a %YAML directive of version 1.1 or 1.2", NULL },
};

/* What libyaml's parser failed of. */
static int yaml_complain(struct yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	struct location since = yaml_locate(r, &p->context_mark),
			at = yaml_locate(r, &p->problem_mark);
	size_t line = r->cursor.line_start;
	const struct yaml_complaint *c = NULL;
	struct error *e = r->b.error;

	if (p->error == YAML_MEMORY_ERROR)
		return error_set(e, -ENOMEM, &at, "out of memory");
	for (size_t i = 0; p->problem && !c && i < ROWS(complaints); i++) {
		if (strcmp(complaints[i].problem, p->problem) == 0)
			c = &complaints[i];
	}
	if (!c)
		(void)error_set(e, -EINVAL, &at, "not YAML: %s %s",
			p->problem ? p->problem : "unknown problem", p->context ? p->context : "");
	else if (c->place == SPAN)
		(void)error_set(e, -EINVAL, &at, "%s that starts at line %u, column %u", c->text,
			since.line, since.column);
	else
		(void)error_set(e, -EINVAL, c->place == START ? &since : &at, "%s", c->text);
	/* A tab looks like the spaces around it, so no other hint is of use before it is gone. */
	while (line < r->in->len && r->in->text[line] == ' ')
		line++;
	if (line < r->in->len && r->in->text[line] == '\t')
		error_hint(e, "this line is indented with a tab: use spaces");
	else if (c && c->hint)
		error_hint(e, "%s", c->hint);
	return -EINVAL;
}

/* All together */

static int refuse_character(struct yaml_reader *r, size_t offset, uint32_t c)
{
	struct location at = input_location(r->in, offset);
	struct error *e = r->b.error;

	if (c == '\r') {
		(void)error_set(e, -EINVAL, &at, "a carriage return without a line feed");
		error_hint(e, "save the file with LF or CRLF line ends");
		return -EINVAL;
	}
	(void)error_set(e, -EINVAL, &at,
		c == 0x85 || c == 0x2028 || c == 0x2029
			? "U+%04X is a line break to some readers of YAML and not to others"
			: "U+%04X cannot stand in YAML as it is",
		(unsigned)c);
	error_hint(e, "write it as \"\\u%04x\", in double quotes", (unsigned)c);
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

/* The length of what every line may hold: bytes from space to tilde, and line feeds. */
static size_t yaml_plain_length(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len &&
		(((unsigned char)s[n] >= 0x20 && (unsigned char)s[n] < 0x7f) || s[n] == '\n'))
		n++;
	return n;
}

/* Nothing that cannot stand in YAML, before libyaml sees it. */
static int yaml_check_text(struct yaml_reader *r)
{
	const struct input *in = r->in;
	size_t i = yaml_plain_length(in->text, in->len), n;

	r->is_ascii = true;
	for (; i < in->len; i += n + yaml_plain_length(in->text + i + n, in->len - i - n)) {
		uint32_t c = 0;

		n = utf8_decode(in->text + i, in->len - i, &c);
		r->is_ascii = r->is_ascii && n == 1;
		if (!may_stand(c, i + 1 < in->len ? (unsigned char)in->text[i + 1] : 0))
			return refuse_character(r, i, c);
	}
	return 0;
}

int yaml_read(struct document *d, const char *file, unsigned first_line, const char *text,
	size_t len, struct error *e)
{
	/* The mark belongs to a file, not to a piece from the middle of one. */
	size_t bom = first_line == 1 ? input_bom(text, len) : 0;
	const struct input in = { file, len ? text + bom : "", len - bom, first_line, NODE_BOUNDS };
	struct yaml_reader r = { .in = &in, .cursor.line = first_line };
	int res = builder_begin(&r.b, d, &in, e);

	if (res == 0)
		res = yaml_check_text(&r);
	if (res < 0)
		return builder_end(&r.b, res);
	if (!yaml_parser_initialize(&r.parser))
		return builder_end(&r.b, builder_no_memory(&r.b));
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)in.text, in.len);
	while (res == 0 && !r.finished) {
		struct location at;
		yaml_event_t ev;

		if (!yaml_parser_parse(&r.parser, &ev)) {
			res = yaml_complain(&r);
			break;
		}
		at = yaml_locate_event(&r, &ev.start_mark);
		if (handlers[ev.type])
			res = handlers[ev.type](&r, &ev, &at);
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&r.parser);
	return builder_end(&r.b, res);
}
