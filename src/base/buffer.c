/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Room for len more bytes and the NUL. */
static bool buffer_reserve(struct buffer *b, size_t len)
{
	size_t need, cap = b->cap ? b->cap : 64;
	char *moved;

	if (b->failed || __builtin_add_overflow(b->len, len, &need) || need > SIZE_MAX / 4) {
		b->failed = true;
		return false;
	}
	while (cap <= need)
		cap *= 2;
	if (cap == b->cap)
		return true;
	moved = realloc(b->data, cap);
	if (!moved) {
		b->failed = true;
		return false;
	}
	b->data = moved;
	b->cap = cap;
	return true;
}

void buffer_add(struct buffer *b, const void *data, size_t len)
{
	if (!buffer_reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

char *buffer_room(struct buffer *b, size_t len)
{
	return buffer_reserve(b, len) ? b->data + b->len : NULL;
}

void buffer_filled(struct buffer *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}

void buffer_adds(struct buffer *b, const char *s)
{
	buffer_add(b, s, strlen(s));
}

void buffer_addc(struct buffer *b, char c)
{
	buffer_add(b, &c, 1);
}

void buffer_vprintf(struct buffer *b, const char *format, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0 || !buffer_reserve(b, (size_t)n)) {
		b->failed = true;
		return;
	}
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, format, args);
	b->len += (size_t)n;
}

void buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buffer_vprintf(b, format, args);
	va_end(args);
}

void buffer_add_visible(struct buffer *b, const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		uint32_t c;
		size_t n = utf8_decode(s + i, len - i, &c);

		if (n && c >= 0x20 && c != 0x7f && !utf8_is_unseen(c)) {
			buffer_add(b, s + i, n);
			i += n;
		} else {
			buffer_printf(b, "\\x%02x", (unsigned char)s[i++]);
		}
	}
}

void buffer_add_name(struct buffer *b, const char *s, size_t len)
{
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		const bool is_space = s[i] == ' ' && (i == 0 || i + 1 == len || s[i - 1] == ' ');

		if (!is_space && s[i] != '\\')
			continue;
		buffer_add_visible(b, s + from, i - from);
		buffer_adds(b, is_space ? "\\x20" : "\\\\");
		from = i + 1;
	}
	buffer_add_visible(b, s + from, len - from);
}

void buffer_clear(struct buffer *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

char *buffer_take(struct buffer *b)
{
	char *data;

	buffer_add(b, "", 0);
	if (b->failed) {
		buffer_deinit(b);
		return NULL;
	}
	data = b->data;
	*b = (struct buffer){ 0 };
	return data;
}
