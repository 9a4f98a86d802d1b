/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One tree has one text: block style, two spaces a level, one entry a line. Text is plain where it
 * reads back as the same text, else in double quotes on one line; there is no third style.
 * libyaml's emitter is not used because its choices of style and line width differ between
 * versions, and what is printed here is compared and hashed.
 *
 * Every container is printed by yaml_print_block() at a column where the cursor stands already,
 * which is what makes "- - a" and "- key: value" come out without special cases.
 *
 * Recursion follows the tree; see node.c on its depth.
 */
#include "codec/yaml.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/internal.h"

enum { INDENT = 2, REPLACEMENT = 0xfffd };

/*
 * YAML wants the ':' within 1024 characters of the start of a key, or a '?' before it. An escape
 * has at most four characters for each byte.
 */
enum { KEY_MAX = 250 };

/* Characters that may stand in the output as they are; quoted or not. */
static bool yaml_print_is_visible(uint32_t c)
{
	return c >= 0x20 && c != 0x7f && !utf8_is_deceptive(c) && (c & ~1u) != 0xfffe;
}

static bool is_all_visible(const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c;

		n = utf8_decode(s + i, len - i, &c);
		if (!n || !yaml_print_is_visible(c))
			return false;
	}
	return true;
}

/* Means something else than its letters: to the core schema, or to the many readers of YAML 1.1. */
static bool is_loaded_word(const char *s)
{
	static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "<<", "=" };

	for (size_t i = 0; i < ROWS(words); i++) {
		if (strcasecmp(s, words[i]) == 0)
			return true;
	}
	return scalar_type(s) != NODE_STRING;
}

static bool can_be_plain(const char *s)
{
	size_t len = strlen(s);
	bool dash = s[0] == '-' && (s[1] == ' ' || s[1] == '\0' || strncmp(s, "---", 3) == 0);

	if (len == 0 || dash || strchr(" ?:,[]{}#&*!|>'\"%@`", s[0]) || strncmp(s, "...", 3) == 0 ||
		is_loaded_word(s))
		return false;
	if (s[len - 1] == ' ' || s[len - 1] == ':')
		return false;
	return !strstr(s, ": ") && !strstr(s, " #") && is_all_visible(s, len);
}

static void yaml_print_escape(struct buffer *out, uint32_t c)
{
	static const char meanings[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
	const char *special = c < 0x80 ? strchr(meanings, (int)c) : NULL;

	if (special)
		buffer_printf(out, "\\%c", letters[special - meanings]);
	else if (c < 0x100)
		buffer_printf(out, "\\x%02x", (unsigned)c);
	else
		buffer_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

static void yaml_print_quoted(struct buffer *out, const char *s)
{
	size_t i = 0, len = strlen(s);

	buffer_addc(out, '"');
	while (i < len) {
		uint32_t c = REPLACEMENT;
		size_t n = utf8_decode(s + i, len - i, &c);
		char bytes[4];

		if (c == '"' || c == '\\' || !yaml_print_is_visible(c))
			yaml_print_escape(out, c);
		else
			buffer_add(out, bytes, utf8_encode(c, bytes));
		i += n ? n : 1;
	}
	buffer_addc(out, '"');
}

static void yaml_print_text(struct buffer *out, const char *s)
{
	if (can_be_plain(s))
		buffer_adds(out, s);
	else
		yaml_print_quoted(out, s);
}

/* Everything that fits on the line where it starts: scalars, [] and {}. */
static void yaml_print_flat(struct buffer *out, const struct node *n)
{
	static const char *const texts[] = {
		[NODE_NULL] = "null", [NODE_LIST] = "[]", [NODE_MAP] = "{}"
	};

	if (n->type == NODE_STRING)
		yaml_print_text(out, n->text);
	else
		buffer_adds(out, n->text ? n->text : texts[n->type]);
	buffer_addc(out, '\n');
}

static void yaml_print_key(struct buffer *out, const char *key, int column)
{
	bool is_long = strlen(key) > KEY_MAX;

	buffer_adds(out, is_long ? "? " : "");
	yaml_print_text(out, key);
	if (is_long)
		buffer_printf(out, "\n%*s", column, "");
	buffer_addc(out, ':');
}

/* The entries of a list or map that has some; the cursor stands at column. */
static void yaml_print_block(struct buffer *out, const struct node *n, int column)
{
	node_for_each(child, n) {
		if (child != n->first)
			buffer_printf(out, "%*s", column, "");
		if (child->key)
			yaml_print_key(out, child->key, column);
		else
			buffer_addc(out, '-');
		if (child->key && child->first)
			buffer_printf(out, "\n%*s", column + INDENT, "");
		else
			buffer_addc(out, ' ');
		if (child->first)
			yaml_print_block(out, child, column + INDENT);
		else
			yaml_print_flat(out, child);
	}
}

void yaml_print(struct buffer *out, const struct node *n)
{
	if (n->first)
		yaml_print_block(out, n, 0);
	else
		yaml_print_flat(out, n);
}
