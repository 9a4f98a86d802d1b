/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml speaks of tokens, contexts and block mappings. Each complaint that an author can really
 * meet has a row here: what it means in a file, and what to do about it. The rest are rare enough
 * to pass on as they are, and so is one that a new version of libyaml words differently.
 */
#include "base/array.h"
#include "codec/yaml-error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Where a person should look: where it went wrong, there and at the start of it, or at the start.
 */
enum place { HERE, SPAN, START };

struct complaint {
	const char *problem; /* libyaml's words */
	enum place place;
	const char *text; /* ours; for a SPAN "that starts at …" follows */
	const char *hint;
};

#define ALIGN "check the indentation here and in the lines above"
#define ESCAPE "write \\\\ for a backslash, or use single quotes"

static const struct complaint complaints[] = {
	{ "could not find expected ':'", START, "expected ':' behind this key",
		"an entry of a map is written \"key: value\"" },
	{ "found unexpected end of stream", START, "the text that starts here is never closed",
		"add the closing quote" },
	{ "did not find expected alphabetic or numeric character", START,
		"expected a name behind & or *", "text that starts with * or & needs quotes" },
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
	{ "found undefined tag handle", HERE, "unknown tag",
		"only !!str, !!int, !!float, !!bool, !!null, !!seq and !!map are read" },
	{ "found a tab character that violates indentation", HERE, "a tab cannot indent YAML",
		NULL },
	{ "found a tab character where an indentation space is expected", HERE,
		"a tab cannot indent YAML", NULL },
	{ "found incompatible YAML document", HERE,
		"expected a %YAML directive of version 1.1 or 1.2", NULL },
};

static const struct complaint *yaml_error_find(const yaml_parser_t *p)
{
	for (size_t i = 0; p->problem && i < ROWS(complaints); i++) {
		if (strcmp(complaints[i].problem, p->problem) == 0)
			return &complaints[i];
	}
	return NULL;
}

static bool is_indented_by_tab(const char *line, size_t len)
{
	for (size_t i = 0; i < len && (line[i] == ' ' || line[i] == '\t'); i++) {
		if (line[i] == '\t')
			return true;
	}
	return false;
}

static void yaml_error_set_text(struct error *e, const yaml_parser_t *p, const struct complaint *c,
	const struct location *at, const struct location *since)
{
	if (!c)
		(void)error_set(e, -EINVAL, at, "not YAML: %s %s",
			p->problem ? p->problem : "unknown problem", p->context ? p->context : "");
	else if (c->place == SPAN)
		(void)error_set(e, -EINVAL, at, "%s that starts at line %u, column %u", c->text,
			since->line, since->column);
	else
		(void)error_set(e, -EINVAL, c->place == START ? since : at, "%s", c->text);
}

int yaml_error_explain(struct error *e, const yaml_parser_t *p, const struct location *at,
	const struct location *since, const char *line, size_t len)
{
	const struct complaint *c = yaml_error_find(p);

	if (p->error == YAML_MEMORY_ERROR)
		return error_set(e, -ENOMEM, at, "out of memory");
	yaml_error_set_text(e, p, c, at, since);
	/* A tab looks like the spaces around it, so no other hint is of use before it is gone. */
	if (is_indented_by_tab(line, len))
		error_hint(e, "this line is indented with a tab: use spaces");
	else if (c && c->hint)
		error_hint(e, "%s", c->hint);
	return -EINVAL;
}
