/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"

/* Prints into out, with what came from outside made harmless for a terminal. */
__attribute__((format(printf, 3, 0))) static void print_visible(
	char *out, size_t size, const char *format, va_list args)
{
	auto_buffer visible = { 0 };
	char raw[1024];
	size_t end;

	(void)vsnprintf(raw, sizeof(raw), format, args);
	buffer_add_visible(&visible, raw, strlen(raw));
	(void)snprintf(out, size, "%s", buffer_text(&visible));
	/* A character that was cut in two is none. */
	if (!utf8_valid(out, strlen(out), &end))
		out[end] = '\0';
}

int error_set(struct error *e, int code, const struct location *loc, const char *format, ...)
{
	va_list args;

	if (!e)
		return code;
	*e = (struct error){ 0 };
	if (loc && loc->file)
		(void)snprintf(e->file, sizeof(e->file), "%s", loc->file);
	if (loc) {
		e->line = loc->line;
		e->column = loc->column;
	}
	va_start(args, format);
	print_visible(e->text, sizeof(e->text), format, args);
	va_end(args);
	return code;
}

int error_no_memory(struct error *e)
{
	return error_set(e, -ENOMEM, NULL, "out of memory");
}

void error_hint(struct error *e, const char *format, ...)
{
	va_list args;

	if (!e)
		return;
	va_start(args, format);
	print_visible(e->hint, sizeof(e->hint), format, args);
	va_end(args);
}

void error_print(const struct error *e, struct buffer *out)
{
	if (e->file[0]) {
		buffer_add_visible(out, e->file, strlen(e->file));
		if (e->line)
			buffer_printf(out, ":%u", e->line);
		if (e->line && e->column)
			buffer_printf(out, ":%u", e->column);
		buffer_adds(out, ": ");
	}
	buffer_adds(out, e->text);
	if (e->hint[0])
		buffer_printf(out, "\n  %s", e->hint);
}
