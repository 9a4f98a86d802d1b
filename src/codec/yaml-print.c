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

static bool can_be_plain(const char *s)
{
	/* To the many readers of YAML 1.1 these mean something else than their letters. */
	static const char *const words[] = { "y", "n", "yes", "no", "on", "off", "<<", "=" };
	size_t len = strlen(s), n;
	uint32_t c;
	bool dash = s[0] == '-' && (s[1] == ' ' || s[1] == '\0' || strncmp(s, "---", 3) == 0);

	if (len == 0 || dash || strchr(" ?:,[]{}#&*!|>'\"%@`", s[0]) || strncmp(s, "...", 3) == 0 ||
		s[len - 1] == ' ' || s[len - 1] == ':' || strstr(s, ": ") || strstr(s, " #"))
		return false;
	for (size_t i = 0; i < ROWS(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return false;
	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(s + i, len - i, &c);
		if (!n || !yaml_print_is_visible(c))
			return false;
	}
	return scalar_type(s) == NODE_STRING;
}

static void yaml_print_quoted(struct buffer *out, const char *s)
{
	static const char meanings[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
	size_t i = 0, len = strlen(s);

	buffer_addc(out, '"');
	while (i < len) {
		uint32_t c = REPLACEMENT;
		size_t n = utf8_decode(s + i, len - i, &c);
		const char *special = c < 0x80 ? strchr(meanings, (int)c) : NULL;
		char bytes[4];

		if (special)
			buffer_printf(out, "\\%c", letters[special - meanings]);
		else if (yaml_print_is_visible(c))
			buffer_add(out, bytes, utf8_encode(c, bytes));
		else if (c < 0x100)
			buffer_printf(out, "\\x%02x", (unsigned)c);
		else
			buffer_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
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

/* The entries of a list or map that has some; the cursor stands at column. */
static void yaml_print_block(struct buffer *out, const struct node *n, int column)
{
	node_for_each(child, n) {
		bool is_long = child->key && strlen(child->key) > KEY_MAX;

		if (child != n->first)
			buffer_printf(out, "%*s", column, "");
		buffer_adds(out, is_long ? "? " : "");
		if (child->key)
			yaml_print_text(out, child->key);
		if (is_long)
			buffer_printf(out, "\n%*s", column, "");
		buffer_addc(out, child->key ? ':' : '-');
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
