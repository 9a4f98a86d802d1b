/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed part with one bit for each variable that has a value, then those values in the order of
 * the bits, each with its NUL.
 */
#include "wire/configure.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "wire/reader.h"

struct head {
	uint32_t flags;
	uint32_t host;
	uint32_t known; /* 1 << enum variable */
};
_Static_assert(sizeof(struct head) == 12, "no padding goes over the wire");

static bool configure_is_valid_head(const struct head *h)
{
	return !(h->flags & ~(uint32_t)CONFIGURE_FLAGS) && h->host <= INT32_MAX &&
	       h->known < UINT32_C(1) << VARIABLE_COUNT;
}

static bool is_valid_value(const char *value)
{
	return value[0] == '/' && strlen(value) < PATH_BYTES;
}

int configure_encode(const struct configure *c, struct buffer *out)
{
	struct head h = { .flags = c->flags, .host = c->host };

	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		const char *value = c->variables.values[i];

		if (value && !is_valid_value(value))
			return -EINVAL;
		h.known |= value ? UINT32_C(1) << i : 0;
	}
	if (!configure_is_valid_head(&h))
		return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		const char *value = c->variables.values[i];

		if (value)
			buffer_add(out, value, strlen(value) + 1);
	}
	return out->failed ? -ENOMEM : 0;
}

int configure_decode(struct configure *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct configure c;
	struct head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || !configure_is_valid_head(&h))
		return -EPROTO;
	c = (struct configure){ .flags = h.flags, .host = h.host };
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		if (!(h.known & UINT32_C(1) << i))
			continue;
		c.variables.values[i] = reader_string(&r);
		if (!c.variables.values[i] || !is_valid_value(c.variables.values[i]))
			return -EPROTO;
	}
	if (r.left > 0)
		return -EPROTO;
	*ret = c;
	return 0;
}
