/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed part with one bit for each variable that has a value, those values, and the text. */
#include "wire/hold.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "wire/reader.h"

struct hold_declare_head {
	uint32_t flags;
	uint32_t known; /* 1 << enum variable */
	uint64_t limits[LIMIT_COUNT];
};

static bool hold_is_path(const char *path)
{
	return path && path[0] == '/' && strlen(path) < PATH_BYTES;
}

int hold_declare_encode(const struct hold_declare *d, struct buffer *out)
{
	struct hold_declare_head h = { .flags = d->flags };

	if (d->flags & ~(uint32_t)HOLD_FLAGS || !d->text || strlen(d->text) > HOLD_TEXT_MAX)
		return -EINVAL;
	memcpy(h.limits, d->limits.values, sizeof(h.limits));
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		if (d->variables.values[i] && !hold_is_path(d->variables.values[i]))
			return -EINVAL;
		h.known |= d->variables.values[i] ? UINT32_C(1) << i : 0;
	}
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++)
		if (d->variables.values[i])
			buffer_add(out, d->variables.values[i], strlen(d->variables.values[i]) + 1);
	buffer_add(out, d->text, strlen(d->text) + 1);
	return out->failed ? -ENOMEM : 0;
}

int hold_declare_decode(struct hold_declare *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct hold_declare d = { 0 };
	struct hold_declare_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.flags & ~(uint32_t)HOLD_FLAGS ||
		h.known >= UINT32_C(1) << VARIABLE_COUNT)
		return -EPROTO;
	d.flags = h.flags;
	memcpy(d.limits.values, h.limits, sizeof(h.limits));
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		if (!(h.known & UINT32_C(1) << i))
			continue;
		d.variables.values[i] = reader_string(&r);
		if (!hold_is_path(d.variables.values[i]))
			return -EPROTO;
	}
	d.text = reader_string(&r);
	if (!d.text || r.left || strlen(d.text) > HOLD_TEXT_MAX)
		return -EPROTO;
	*ret = d;
	return 0;
}

int hold_over_decode(struct hold_over *ret, const void *body, size_t len)
{
	struct hold_over o;

	if (len != sizeof(o))
		return -EPROTO;
	memcpy(&o, body, sizeof(o));
	if (o.how >= QUESTION_END_COUNT || o.reserved)
		return -EPROTO;
	*ret = o;
	return 0;
}

int hold_lost_decode(struct hold_lost *ret, const void *body, size_t len)
{
	struct hold_lost l;

	if (len != sizeof(l))
		return -EPROTO;
	memcpy(&l, body, sizeof(l));
	if (l.protocol > UINT16_MAX || l.reserved || !memchr(l.build, '\0', sizeof(l.build)))
		return -EPROTO;
	*ret = l;
	return 0;
}
