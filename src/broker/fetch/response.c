/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/response.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "broker/fetch/request.h"

/* As text: bytes that are no UTF-8 are Latin-1, which HTTP once had; controls become spaces. */
static const char *response_text(struct response *r, const char *bytes, size_t len)
{
	const bool is_utf8 = utf8_valid(bytes, len, NULL);
	auto_buffer out = { 0 };

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (ascii_is_control(bytes[i]))
			buffer_addc(&out, ' ');
		else if (c < 0x80 || is_utf8)
			buffer_addc(&out, bytes[i]);
		else {
			char wide[4];

			buffer_add(&out, wide, utf8_encode(c, wide));
		}
	}
	return out.failed ? NULL : arena_strndup(&r->arena, buffer_text(&out), out.len);
}

static void response_trim(const char **text, size_t *len)
{
	while (*len > 0 && ((*text)[0] == ' ' || (*text)[0] == '\t')) {
		++*text;
		--*len;
	}
	while (*len > 0 && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
		--*len;
}

/* "HTTP/1.1 404 Not Found", "HTTP/2 200". */
static int response_begin(struct response *r, const char *line, size_t len)
{
	const char *at = memchr(line, ' ', len);
	size_t left;

	response_deinit(r);
	r->status = 0;
	r->n = r->bytes = 0;
	if (!at)
		return -EINVAL;
	left = len - (size_t)(at - line);
	response_trim(&at, &left);
	while (left > 0 && ascii_is_digit(*at) && r->status < 1000) {
		r->status = r->status * 10 + (uint64_t)(*at - '0');
		at++;
		left--;
	}
	response_trim(&at, &left);
	r->status_text = response_text(r, at, left < 256 ? left : 256);
	if (!r->status_text)
		return -ENOMEM;
	return r->status >= 100 && r->status < 1000 ? 0 : -EINVAL;
}

static int response_join(struct response *r, struct value_item *f, const char *value)
{
	/* Of two lengths one reader takes the first, another the last. */
	if (strcmp(f->key, "content-length") == 0)
		return strcmp(f->text, value) == 0 ? 0 : -EINVAL;
	f->text = arena_printf(&r->arena, "%s, %s", f->text, value);
	return f->text ? 0 : -ENOMEM;
}

static int response_add_field(struct response *r, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len), *value = colon ? colon + 1 : NULL;
	size_t value_len = value ? len - (size_t)(value - line) : 0;
	const char *text;
	char *name;

	/* A folded line, or none at all: the library has dealt with it. */
	if (!colon || colon == line || line[0] == ' ' || line[0] == '\t')
		return 0;
	name = arena_strndup(&r->arena, line, (size_t)(colon - line));
	if (!name)
		return -ENOMEM;
	for (char *c = name; *c; c++) {
		*c = ascii_lower(*c);
		if (ascii_is_control(*c) || *c == ' ' || (unsigned char)*c > 0x7e)
			return 0;
	}
	response_trim(&value, &value_len);
	r->bytes += len + 2;
	if (r->bytes > FETCH_HEADERS_MAX / 2)
		return -E2BIG;
	text = response_text(r, value, value_len);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		if (strcmp(r->fields[i].key, name) == 0)
			return response_join(r, &r->fields[i], text);
	}
	if (r->n == RESPONSE_FIELDS_MAX)
		return -E2BIG;
	r->fields[r->n++] = (struct value_item){ name, text };
	return 0;
}

int response_add_line(struct response *r, const char *line, size_t len)
{
	while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	if (len == 0)
		return 1;
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
		return response_begin(r, line, len);
	return response_add_field(r, line, len);
}

const char *response_field(const struct response *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++) {
		if (strcmp(r->fields[i].key, name) == 0)
			return r->fields[i].text;
	}
	return NULL;
}

bool response_is_redirect(uint64_t status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

void response_deinit(struct response *r)
{
	arena_deinit(&r->arena);
}
