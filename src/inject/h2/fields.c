/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/h2/fields.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "vault/secret.h"

enum { FIELD_OVERHEAD = 32 /* RFC 9113, 6.5.2 */ };

void h2_fields_deinit(struct h2_fields *f)
{
	if (f->text.data)
		secret_wipe(f->text.data, f->text.cap);
	buffer_deinit(&f->text);
	free(f->rows);
	*f = (struct h2_fields){ 0 };
}

static bool h2_fields_is_name(const char *name, size_t len)
{
	const size_t from = len > 0 && name[0] == ':';

	for (size_t i = from; i < len; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
			    (name[i] && strchr("!#$%&'*+-.^_`|~", name[i]))))
			return false;
	return len > from;
}

static bool h2_fields_is_value(const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (value[i] == 0x7f || (value[i] >= 0 && value[i] < ' ' && value[i] != '\t'))
			return false;
	return len == 0 || (!strchr(" \t", value[0]) && !strchr(" \t", value[len - 1]));
}

int h2_fields_add(struct h2_fields *f, const char *name, size_t name_len, const char *value,
	size_t value_len, size_t most)
{
	const struct h2_field row = { f->text.len, name_len, value_len };

	if (!h2_fields_is_name(name, name_len) || !h2_fields_is_value(value, value_len))
		return -EINVAL;
	if (f->n >= H2_FIELDS_MAX || name_len > most || value_len > most ||
		f->text.len + name_len + value_len + FIELD_OVERHEAD * (f->n + 1) > most)
		return -E2BIG;
	buffer_add(&f->text, name, name_len);
	buffer_adds(&f->text, ": ");
	buffer_add(&f->text, value, value_len);
	buffer_adds(&f->text, "\r\n");
	return f->text.failed ? -ENOMEM : ARRAY_PUSH(f->rows, f->n, f->cap, row);
}

static const char *h2_fields_name(const struct h2_fields *f, size_t i)
{
	return f->text.data + f->rows[i].at;
}

static const char *h2_fields_value(const struct h2_fields *f, size_t i)
{
	return f->text.data + f->rows[i].at + f->rows[i].name + 2;
}

static bool h2_fields_is(const struct h2_fields *f, size_t i, const char *name)
{
	return f->rows[i].name == strlen(name) &&
	       memcmp(h2_fields_name(f, i), name, strlen(name)) == 0;
}

int h2_fields_find(const struct h2_fields *f, const char *name, const char **ret, size_t *ret_len)
{
	int found = 0;

	for (size_t i = 0; i < f->n; i++) {
		if (!h2_fields_is(f, i, name))
			continue;
		*ret = h2_fields_value(f, i);
		*ret_len = f->rows[i].value;
		found++;
	}
	return found > 1 ? -EINVAL : found;
}

void h2_fields_mask(struct h2_fields *f, const struct masking *m, size_t *found)
{
	size_t from = 0;

	while (from < f->n && h2_fields_name(f, from)[0] == ':')
		from++;
	if (from < f->n)
		(void)masking_apply(m, f->text.data + f->rows[from].at,
			f->text.len - f->rows[from].at, true, found);
	/* One that lies in two fields took what stands between them. */
	for (size_t i = from; i < f->n; i++) {
		char *end = f->text.data + f->rows[i].at + f->rows[i].name;

		memcpy(end, ": ", 2);
		memcpy(end + 2 + f->rows[i].value, "\r\n", 2);
	}
}

/* Requests */

struct h2_target {
	const char *method, *scheme, *authority, *path, *host;
	size_t method_len, scheme_len, authority_len, path_len, host_len;
};

static bool h2_fields_is_text(const char *value, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(value, text, len) == 0;
}

/* As of RFC 3986, without spaces and what only some read. */
static bool h2_fields_is_path(const char *path, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (path[i] <= ' ' || path[i] >= 0x7f || path[i] == '#')
			return false;
	return len > 0 && (path[0] == '/' || (len == 1 && path[0] == '*'));
}

static int h2_fields_read_target(const struct h2_fields *f, struct h2_target *t)
{
	int has_authority, has_host;
	const char *ignored;
	size_t len;

	*t = (struct h2_target){ 0 };
	if (h2_fields_find(f, ":method", &t->method, &t->method_len) != 1 ||
		h2_fields_find(f, ":scheme", &t->scheme, &t->scheme_len) != 1 ||
		h2_fields_find(f, ":path", &t->path, &t->path_len) != 1 ||
		h2_fields_find(f, ":protocol", &ignored, &len) != 0)
		return -EINVAL;
	has_authority = h2_fields_find(f, ":authority", &t->authority, &t->authority_len);
	has_host = h2_fields_find(f, "host", &t->host, &t->host_len);
	if (has_authority < 0 || has_host < 0 || has_authority + has_host == 0)
		return -EINVAL;
	/* Of two names a server could take either. */
	if (has_authority + has_host == 2 &&
		(t->host_len != t->authority_len ||
			memcmp(t->host, t->authority, t->host_len) != 0))
		return -EINVAL;
	return h2_fields_is_text(t->scheme, t->scheme_len, "https") &&
			       !h2_fields_is_text(t->method, t->method_len, "CONNECT") &&
			       h2_fields_is_path(t->path, t->path_len)
		       ? 0
		       : -EINVAL;
}

int h2_fields_print_request(const struct h2_fields *f, struct buffer *out)
{
	struct h2_target t;
	int r = h2_fields_read_target(f, &t);

	if (r < 0)
		return r;
	buffer_add(out, t.method, t.method_len);
	buffer_addc(out, ' ');
	buffer_add(out, t.path, t.path_len);
	buffer_adds(out, " HTTP/1.1\r\n");
	if (!t.host) {
		buffer_adds(out, "host: ");
		buffer_add(out, t.authority, t.authority_len);
		buffer_adds(out, "\r\n");
	}
	for (size_t i = 0; i < f->n; i++)
		if (h2_fields_name(f, i)[0] != ':')
			buffer_add(
				out, h2_fields_name(f, i), f->rows[i].name + f->rows[i].value + 4);
	buffer_adds(out, "\r\n");
	return out->failed ? -ENOMEM : 0;
}

/* "METHOD path HTTP/1.1": a path has no space, with values or without. */
static int h2_fields_add_first(
	struct h2_fields *f, const char *line, size_t len, const struct h2_target *t)
{
	const char *path = memchr(line, ' ', len);
	const char *end = path ? memrchr(line, ' ', len) : NULL;
	int r;

	if (!path || end <= path)
		return -EINVAL;
	path++;
	r = h2_fields_add(f, ":method", 7, line, (size_t)(path - 1 - line), H2_FIELDS_GROWN_BYTES);
	if (r == 0)
		r = h2_fields_add(f, ":scheme", 7, "https", 5, H2_FIELDS_GROWN_BYTES);
	if (r == 0 && t->authority)
		r = h2_fields_add(
			f, ":authority", 10, t->authority, t->authority_len, H2_FIELDS_GROWN_BYTES);
	return r < 0 ? r
		     : h2_fields_add(
			       f, ":path", 5, path, (size_t)(end - path), H2_FIELDS_GROWN_BYTES);
}

static int h2_fields_add_line(
	struct h2_fields *f, const char *line, size_t len, const struct h2_target *t)
{
	const char *colon = memchr(line, ':', len);
	size_t name_len = colon ? (size_t)(colon - line) : 0;
	size_t at = name_len + 1;
	char name[256];

	if (name_len == 0 || name_len > sizeof(name))
		return -EINVAL;
	for (size_t i = 0; i < name_len; i++)
		name[i] = ascii_lower(line[i]);
	if (!t->host && h2_fields_is_text(name, name_len, "host"))
		return 0;
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	while (len > at && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	return h2_fields_add(f, name, name_len, line + at, len - at, H2_FIELDS_GROWN_BYTES);
}

int h2_fields_parse_request(
	struct h2_fields *ret, const char *head, size_t len, const struct h2_fields *came)
{
	struct h2_target t;
	int r = h2_fields_read_target(came, &t);
	bool is_first = true;

	while (r == 0 && len > 0) {
		const char *lf = memchr(head, '\n', len);
		const size_t n = lf && lf > head ? (size_t)(lf - head) - 1 : 0;

		if (!lf || n == 0)
			break;
		r = is_first ? h2_fields_add_first(ret, head, n, &t)
			     : h2_fields_add_line(ret, head, n, &t);
		is_first = false;
		len -= n + 2;
		head = lf + 1;
	}
	return r;
}

/*
 * Values are never indexed: neither here nor by who passes them on. Of pseudo-fields only the path
 * may have one.
 */
size_t h2_fields_list(const struct h2_fields *f, bool is_secret, nghttp2_nv ret[H2_FIELDS_MAX + 4])
{
	for (size_t i = 0; i < f->n; i++) {
		const char *name = h2_fields_name(f, i);
		const bool is_plain = name[0] == ':' && !h2_fields_is(f, i, ":path");

		ret[i] = (nghttp2_nv){ (uint8_t *)name, (uint8_t *)h2_fields_value(f, i),
			f->rows[i].name, f->rows[i].value,
			is_secret && !is_plain ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE };
	}
	return f->n;
}
