/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A growable string of bytes, always NUL-terminated once something was added. A failed allocation
 * is remembered (`failed`) and turns later calls into no-ops, so that a long piece of printing is
 * checked once, at its end.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct buffer {
	char *data;
	size_t len, cap;
	bool failed;
};

void buffer_add(struct buffer *b, const void *data, size_t len);
/* Room for so many bytes behind the text; whoever fills it calls buffer_filled() with how many they
 * are. NULL: there is no memory. */
char *buffer_room(struct buffer *b, size_t len);
void buffer_filled(struct buffer *b, size_t len);
void buffer_adds(struct buffer *b, const char *s);
void buffer_addc(struct buffer *b, char c);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Adds text of foreign origin for a terminal: control bytes, bad UTF-8 and what cannot be seen
 * (utf8_is_unseen()) become \xNN. */
void buffer_add_visible(struct buffer *b, const char *s, size_t len);
/* The same for a name that a person decides by: spaces at an end, and behind a space, become \x20,
 * and \ becomes \\, so that no two names look alike. */
void buffer_add_name(struct buffer *b, const char *s, size_t len);
void buffer_clear(struct buffer *b);

/* The text so far; "" when nothing was added. */
static inline const char *buffer_text(const struct buffer *b)
{
	return b->data ? b->data : "";
}
/* Gives the text away (malloc'ed, never NULL unless out of memory) and empties the buffer. */
char *buffer_take(struct buffer *b);

static inline void buffer_deinit(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}
#define auto_buffer __attribute__((cleanup(buffer_deinit))) struct buffer
