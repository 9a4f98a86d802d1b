/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that any reader takes and any terminal can show: control characters and those that would
 * make text lie on a screen (utf8.h) are escaped, everything else stays as it is. What comes out
 * depends on the tree alone, so equal trees print equal bytes.
 *
 * Recursion follows the tree; see node.c on its depth.
 */
#include "codec/json.h"

#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/scalar.h"

enum { REPLACEMENT = 0xfffd };

/* As UTF-16, which is what JSON escapes are made of. */
static void json_print_escape(struct buffer *out, uint32_t c)
{
	if (c >= 0x10000) {
		c -= 0x10000;
		buffer_printf(out, "\\u%04x", (unsigned)(0xd800 + (c >> 10)));
		c = 0xdc00 + (c & 0x3ff);
	}
	buffer_printf(out, "\\u%04x", (unsigned)c);
}

static void print_character(struct buffer *out, uint32_t c)
{
	static const char meanings[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *special = c && c < 0x80 ? strchr(meanings, (int)c) : NULL;
	char bytes[4];

	if (special) {
		buffer_addc(out, '\\');
		buffer_addc(out, letters[special - meanings]);
	} else if (c < 0x20 || c == 0x7f || utf8_is_deceptive(c)) {
		json_print_escape(out, c);
	} else {
		buffer_add(out, bytes, utf8_encode(c, bytes));
	}
}

void json_print_string(struct buffer *out, const char *s, size_t len)
{
	size_t i = 0;

	buffer_addc(out, '"');
	while (i < len) {
		uint32_t c = REPLACEMENT;
		size_t n = utf8_decode(s + i, len - i, &c);

		print_character(out, c);
		i += n ? n : 1;
	}
	buffer_addc(out, '"');
}

static void print_scalar(struct buffer *out, const struct node *n)
{
	if (n->type == NODE_NULL)
		buffer_adds(out, "null");
	else if (n->type == NODE_BOOL || (n->type == NODE_NUMBER && scalar_is_json_number(n->text)))
		buffer_adds(out, n->text);
	else
		json_print_string(out, n->text, strlen(n->text));
}

static void new_line(struct buffer *out, enum json_style style, unsigned level)
{
	if (style == JSON_PRETTY)
		buffer_printf(out, "\n%*s", (int)(2 * level), "");
}

static void print_node(
	struct buffer *out, const struct node *n, enum json_style style, unsigned level)
{
	if (n->type != NODE_LIST && n->type != NODE_MAP) {
		print_scalar(out, n);
		return;
	}
	buffer_addc(out, n->type == NODE_MAP ? '{' : '[');
	node_for_each(child, n) {
		if (child != n->first)
			buffer_addc(out, ',');
		new_line(out, style, level + 1);
		if (n->type == NODE_MAP) {
			json_print_string(out, child->key, strlen(child->key));
			buffer_adds(out, style == JSON_PRETTY ? ": " : ":");
		}
		print_node(out, child, style, level + 1);
	}
	if (n->first)
		new_line(out, style, level);
	buffer_addc(out, n->type == NODE_MAP ? '}' : ']');
}

void json_print(struct buffer *out, const struct node *n, enum json_style style)
{
	print_node(out, n, style, 0);
}
