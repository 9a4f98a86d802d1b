/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every value begins in json_begin(), which is the only place that writes what stands between
 * values. A level remembers whether it is a map and whether it has a value yet; that is all that
 * commas, keys and brackets depend on.
 *
 * What is printed any reader takes and any terminal can show: control characters and those that
 * would make text lie on a screen (utf8.h) are escaped, everything else stays as it is.
 */
#include "codec/json-writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/internal.h"

enum { REPLACEMENT = 0xfffd };

static bool json_fail(struct json_writer *w, int error)
{
	w->error = error;
	w->out->failed = true;
	return false;
}

static void json_indent(struct json_writer *w)
{
	buffer_printf(w->out, "\n%*s", 2 * w->depth, "");
}

/* What stands before a value. False: nothing may be written. */
static bool json_begin(struct json_writer *w, const char *key)
{
	const bool is_filled = w->levels[w->depth].is_filled;
	const enum json_style style = w->levels[w->depth].style;

	if (w->error)
		return false;
	if (w->levels[w->depth].is_map != (key != NULL) || (w->depth == 0 && is_filled))
		return json_fail(w, -EINVAL);
	w->levels[w->depth].is_filled = true;
	if (is_filled)
		buffer_adds(w->out, style == JSON_SPACED ? ", " : ",");
	if (w->is_line_next)
		buffer_addc(w->out, '\n');
	else if (w->depth > 0 && style == JSON_PRETTY)
		json_indent(w);
	w->is_line_next = false;
	if (key) {
		json_print_string(w->out, key, strlen(key));
		buffer_adds(w->out, style == JSON_COMPACT ? ":" : ": ");
	}
	return true;
}

static void json_open(struct json_writer *w, const char *key, bool is_map)
{
	if (!json_begin(w, key))
		return;
	if (w->depth == JSON_WRITER_DEPTH_MAX) {
		(void)json_fail(w, -E2BIG);
		return;
	}
	w->depth++;
	w->levels[w->depth].style = (uint8_t)w->style & 3;
	w->levels[w->depth].is_map = is_map;
	w->levels[w->depth].is_filled = false;
	buffer_addc(w->out, is_map ? '{' : '[');
}

void json_open_map(struct json_writer *w, const char *key)
{
	json_open(w, key, true);
}

void json_open_list(struct json_writer *w, const char *key)
{
	json_open(w, key, false);
}

void json_close(struct json_writer *w)
{
	bool is_map = w->levels[w->depth].is_map, is_filled = w->levels[w->depth].is_filled;
	bool has_breaks = w->levels[w->depth].style == JSON_PRETTY;

	if (w->error)
		return;
	if (w->depth == 0) {
		(void)json_fail(w, -EINVAL);
		return;
	}
	w->depth--;
	if (w->is_line_next)
		buffer_addc(w->out, '\n');
	else if (is_filled && has_breaks)
		json_indent(w);
	w->is_line_next = false;
	buffer_addc(w->out, is_map ? '}' : ']');
}

void json_line(struct json_writer *w)
{
	w->is_line_next = true;
}

int json_end(struct json_writer *w)
{
	while (!w->error && w->depth > 0)
		json_close(w);
	if (!w->error && !w->levels[0].is_filled)
		(void)json_fail(w, -EINVAL);
	if (w->error)
		return w->error;
	return w->out->failed ? -ENOMEM : 0;
}

void json_end_line(struct json_writer *w)
{
	(void)json_end(w);
	buffer_addc(w->out, '\n');
}

/* Text */

/* It stands in a string as it is, whatever is around it. */
static bool json_is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void json_print_character(struct buffer *out, uint32_t c)
{
	static const char meanings[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *special = c && c < 0x80 ? strchr(meanings, (int)c) : NULL;
	char bytes[4];

	if (special) {
		buffer_addc(out, '\\');
		buffer_addc(out, letters[special - meanings]);
	} else if (c < 0x20 || c == 0x7f || utf8_is_deceptive(c)) {
		/* As UTF-16, which is what JSON escapes are made of. */
		if (c >= 0x10000)
			buffer_printf(out, "\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)));
		buffer_printf(out, "\\u%04x", (unsigned)(c < 0x10000 ? c : 0xdc00 + (c & 0x3ff)));
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

		json_print_character(out, c);
		i += n ? n : 1;
	}
	buffer_addc(out, '"');
}

void json_put_bytes(struct json_writer *w, const char *key, const char *text, size_t len)
{
	if (json_begin(w, key))
		json_print_string(w->out, text, len);
}

void json_put_text(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		json_put_bytes(w, key, text, strlen(text));
	else
		json_put_null(w, key);
}

void json_put_buffer(struct json_writer *w, const char *key, const struct buffer *text)
{
	json_put_bytes(w, key, buffer_text(text), text->len);
	w->out->failed = w->out->failed || text->failed;
}

void json_put_format(struct json_writer *w, const char *key, const char *format, ...)
{
	struct buffer *out = w->out;
	size_t start, at;
	va_list args;

	if (!json_begin(w, key))
		return;
	start = at = out->len;
	buffer_addc(out, '"');
	va_start(args, format);
	buffer_vprintf(out, format, args);
	va_end(args);
	while (!out->failed && ++at < out->len && json_is_plain(out->data[at]))
		;
	if (!out->failed && at < out->len) {
		auto_buffer text = { 0 };

		buffer_add(&text, out->data + start + 1, out->len - start - 1);
		out->len = start;
		json_print_string(out, buffer_text(&text), text.len);
		out->failed = out->failed || text.failed;
	} else {
		buffer_addc(out, '"');
	}
}

void json_put_encoded(struct json_writer *w, const char *key, enum encoding encoding,
	const void *data, size_t len)
{
	if (encoding == ENCODING_UTF_8 || encoding == ENCODING_UTF8) {
		json_put_bytes(w, key, data, len);
		return;
	}
	if (!json_begin(w, key))
		return;
	buffer_addc(w->out, '"');
	encoding_print(encoding, data, len, w->out);
	buffer_addc(w->out, '"');
}

/* Other values */

void json_put_raw(struct json_writer *w, const char *key, const char *json)
{
	if (json_begin(w, key))
		buffer_adds(w->out, json ? json : "null");
}

void json_put_null(struct json_writer *w, const char *key)
{
	json_put_raw(w, key, NULL);
}

void json_put_flag(struct json_writer *w, const char *key, bool value)
{
	json_put_raw(w, key, value ? "true" : "false");
}

void json_put_number(struct json_writer *w, const char *key, int64_t value)
{
	if (json_begin(w, key))
		buffer_printf(w->out, "%" PRId64, value);
}

void json_put_count(struct json_writer *w, const char *key, uint64_t value)
{
	if (json_begin(w, key))
		buffer_printf(w->out, "%" PRIu64, value);
}

/* Recursion follows the tree, as deep as a writer goes. */
void json_put_node(struct json_writer *w, const char *key, const struct node *n)
{
	const bool is_map = n->type == NODE_MAP;

	if (is_map || n->type == NODE_LIST) {
		json_open(w, key, is_map);
		for (const struct node *child = n->first; child && !w->error; child = child->next)
			json_put_node(w, is_map ? child->key : NULL, child);
		json_close(w);
	} else if (n->type == NODE_STRING ||
		   (n->type == NODE_NUMBER && !scalar_is_json_number(n->text))) {
		json_put_text(w, key, n->text);
	} else {
		json_put_raw(w, key, n->text);
	}
}

void json_print(struct buffer *out, const struct node *n, enum json_style style)
{
	struct json_writer w = { .out = out, .style = style };

	json_put_node(&w, NULL, n);
}
