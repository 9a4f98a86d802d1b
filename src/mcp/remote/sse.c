/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/remote/sse.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"

static size_t sse_max(const struct sse *s)
{
	return s->max ? s->max : SSE_EVENT_MAX;
}

static bool sse_is(const char *line, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(line, name, len) == 0;
}

static void sse_take_data(struct sse *s, const char *value, size_t len)
{
	if (s->is_long)
		return;
	if (len + s->has_data > sse_max(s) - s->data.len) {
		s->is_long = true;
		buffer_deinit(&s->data);
		return;
	}
	if (s->has_data)
		buffer_addc(&s->data, '\n');
	s->has_data = true;
	buffer_add(&s->data, value, len);
}

/* It is sent back in a header. */
static void sse_take_id(struct sse *s, const char *value, size_t len)
{
	if (len > SSE_ID_MAX)
		len = 0;
	for (size_t i = 0; i < len; i++)
		if (ascii_is_control(value[i]))
			return;
	memcpy(s->next_id, value, len);
	s->next_id[len] = '\0';
}

static void sse_take_retry(struct sse *s, const char *value, size_t len)
{
	uint64_t ms = 0;

	if (len == 0)
		return;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_digit(value[i]))
			return;
		if (ms < SSE_RETRY_MAX_MS)
			ms = 10 * ms + (uint64_t)(value[i] - '0');
	}
	s->retry_ms = ms < SSE_RETRY_MAX_MS ? ms : SSE_RETRY_MAX_MS;
	s->has_retry = true;
}

static void sse_forget_event(struct sse *s)
{
	buffer_clear(&s->data);
	s->has_data = s->is_other = s->is_long = false;
}

static int sse_dispatch(struct sse *s, sse_visit *visit, void *context)
{
	int r = 0;

	s->is_ahead |= strcmp(s->id, s->next_id) != 0;
	memcpy(s->id, s->next_id, sizeof(s->id));
	if (s->data.failed)
		return -ENOMEM;
	if (s->is_long)
		r = visit(context, NULL, 0);
	else if (s->data.len > 0 && !s->is_other)
		r = visit(context, s->data.data, s->data.len);
	sse_forget_event(s);
	return r;
}

static int sse_take_line(
	struct sse *s, const char *line, size_t len, sse_visit *visit, void *context)
{
	const char *colon = memchr(line, ':', len);
	const size_t name = colon ? (size_t)(colon - line) : len;
	const char *value = colon ? colon + 1 : line + len;
	size_t left = len - (size_t)(value - line);

	if (len == 0)
		return sse_dispatch(s, visit, context);
	if (left > 0 && *value == ' ') {
		value++;
		left--;
	}
	if (sse_is(line, name, "data"))
		sse_take_data(s, value, left);
	else if (sse_is(line, name, "event"))
		s->is_other = left > 0 && !sse_is(value, left, "message");
	else if (sse_is(line, name, "id"))
		sse_take_id(s, value, left);
	else if (sse_is(line, name, "retry"))
		sse_take_retry(s, value, left);
	return 0;
}

static int sse_end_line(struct sse *s, sse_visit *visit, void *context)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *line = buffer_text(&s->line);
	size_t len = s->line.len;
	int r = 0;

	if (!s->is_begun && len >= 3 && memcmp(line, mark, 3) == 0) {
		line += 3;
		len -= 3;
	}
	s->is_begun = true;
	if (s->line.failed)
		return -ENOMEM;
	if (!s->skips_line)
		r = sse_take_line(s, line, len, visit, context);
	s->skips_line = false;
	buffer_clear(&s->line);
	return r;
}

/* A piece of a line. What is too long is not kept, and neither is its event. */
static void sse_add(struct sse *s, const char *data, size_t len)
{
	/* The name of the field, and what stands around it. */
	const size_t room = sse_max(s) + sizeof("\xef\xbb\xbf"
						"data: ");

	if (s->skips_line)
		return;
	if (len > room - s->line.len) {
		s->skips_line = s->is_long = true;
		buffer_deinit(&s->line);
		buffer_deinit(&s->data);
		return;
	}
	buffer_add(&s->line, data, len);
}

int sse_feed(struct sse *s, const char *data, size_t len, sse_visit *visit, void *context)
{
	size_t at = 0;
	int r = 0;

	while (at < len && r == 0) {
		size_t n = 0;

		if (s->is_after_cr && data[at] == '\n')
			at++;
		s->is_after_cr = false;
		while (at + n < len && data[at + n] != '\n' && data[at + n] != '\r')
			n++;
		sse_add(s, data + at, n);
		at += n;
		if (at == len)
			break;
		s->is_after_cr = data[at++] == '\r';
		r = sse_end_line(s, visit, context);
	}
	return r == 0 && (s->line.failed || s->data.failed) ? -ENOMEM : r;
}

void sse_restart(struct sse *s)
{
	buffer_deinit(&s->line);
	buffer_deinit(&s->data);
	sse_forget_event(s);
	memcpy(s->next_id, s->id, sizeof(s->id));
	s->is_begun = s->is_after_cr = s->skips_line = false;
}

size_t sse_held(const struct sse *s)
{
	return s->line.len + s->data.len;
}

void sse_deinit(struct sse *s)
{
	buffer_deinit(&s->line);
	buffer_deinit(&s->data);
}
