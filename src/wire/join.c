/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/join.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "wire/reader.h"

enum { JOIN_ID_LEAST = 8 };

const char *const join_kinds[JOIN_KIND_COUNT] = { "run", "session", "enclave" };

static bool join_is_id(const char *id)
{
	const size_t len = strlen(id);

	return len >= JOIN_ID_LEAST && len <= JOIN_ID_MAX && strspn(id, "0123456789abcdef") == len;
}

/* As much of it as fits, and no part of a character. What is no UTF-8 is left out. */
static void join_add(struct buffer *out, const char *text)
{
	size_t len = text ? strnlen(text, JOIN_TEXT_MAX) : 0, bad = len;

	if (len > 0 && !utf8_valid(text, len, &bad))
		len = bad;
	buffer_add(out, text, len);
	buffer_addc(out, '\0');
}

int join_encode(const struct join *j, struct buffer *out)
{
	if (!j->id || !join_is_id(j->id) || j->kind >= JOIN_KIND_COUNT)
		return -EINVAL;
	buffer_add(out, &j->started_ms, sizeof(j->started_ms));
	buffer_add(out, &j->kind, sizeof(j->kind));
	join_add(out, j->id);
	join_add(out, j->name);
	join_add(out, j->command);
	join_add(out, j->folder);
	join_add(out, j->policy);
	return out->failed ? -ENOMEM : 0;
}

int join_decode(struct join *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct join j = { 0 };
	const char **const texts[] = { &j.name, &j.command, &j.folder, &j.policy };

	if (!reader_bytes(&r, &j.started_ms, sizeof(j.started_ms)) ||
		!reader_bytes(&r, &j.kind, sizeof(j.kind)) || j.kind >= JOIN_KIND_COUNT)
		return -EPROTO;
	j.id = reader_string(&r);
	if (!j.id || !join_is_id(j.id))
		return -EPROTO;
	for (size_t i = 0; i < ROWS(texts); i++) {
		const char *text = reader_string(&r);

		if (!text || strlen(text) > JOIN_TEXT_MAX || !utf8_valid(text, strlen(text), NULL))
			return -EPROTO;
		*texts[i] = text;
	}
	if (r.left > 0)
		return -EPROTO;
	*ret = j;
	return 0;
}

struct join_details_head {
	uint64_t limits[LIMIT_COUNT];
	uint32_t n_permissions, n_ceiling;
};

static bool join_read_lines(struct reader *r, const char **lines, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		lines[i] = reader_string(r);
		if (!lines[i] || strlen(lines[i]) > JOIN_TEXT_MAX ||
			!utf8_valid(lines[i], strlen(lines[i]), NULL))
			return false;
	}
	return true;
}

int join_details_encode(const struct join_details *d, struct buffer *out)
{
	struct join_details_head h = { .n_permissions = d->n_permissions,
		.n_ceiling = d->n_ceiling };

	if (d->n_permissions > JOIN_LINES_MAX || d->n_ceiling > JOIN_LINES_MAX)
		return -EINVAL;
	memcpy(h.limits, d->limits, sizeof(h.limits));
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < d->n_permissions; i++)
		join_add(out, d->permissions[i]);
	for (uint32_t i = 0; i < d->n_ceiling; i++)
		join_add(out, d->ceiling[i]);
	return out->failed ? -ENOMEM : 0;
}

int join_details_decode(struct join_details *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct join_details_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.n_permissions > JOIN_LINES_MAX ||
		h.n_ceiling > JOIN_LINES_MAX)
		return -EPROTO;
	memcpy(ret->limits, h.limits, sizeof(h.limits));
	ret->n_permissions = h.n_permissions;
	ret->n_ceiling = h.n_ceiling;
	if (!join_read_lines(&r, ret->permissions, h.n_permissions) ||
		!join_read_lines(&r, ret->ceiling, h.n_ceiling) || r.left > 0)
		return -EPROTO;
	return 0;
}
