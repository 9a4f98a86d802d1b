/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed part with the ports, then the paths of the sockets and the text, each with its NUL. */
#include "wire/change.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "wire/reader.h"

struct head {
	uint32_t flags, n_ports, n_doors, reserved;
	uint16_t ports[CHANGE_PORTS_MAX];
};
_Static_assert(sizeof(struct head) == 16 + 2 * CHANGE_PORTS_MAX, "no padding goes over the wire");

static bool change_is_valid_head(const struct head *h)
{
	if (h->flags & ~(uint32_t)CHANGE_FLAGS || h->reserved != 0 ||
		h->n_ports > CHANGE_PORTS_MAX || h->n_doors > CHANGE_DOORS_MAX)
		return false;
	for (uint32_t i = 0; i < CHANGE_PORTS_MAX; i++)
		if ((h->ports[i] != 0) != (i < h->n_ports))
			return false;
	return true;
}

static bool is_valid_door(const char *path)
{
	return path && path[0] == '/' && strlen(path) < PATH_BYTES;
}

int change_encode(const struct change *c, struct buffer *out)
{
	struct head h = { .flags = c->flags, .n_ports = c->n_ports, .n_doors = c->n_doors };

	if (c->n_ports > CHANGE_PORTS_MAX || !c->text || !c->text[0])
		return -EINVAL;
	memcpy(h.ports, c->ports, c->n_ports * sizeof(h.ports[0]));
	if (!change_is_valid_head(&h))
		return -EINVAL;
	for (uint32_t i = 0; i < c->n_doors; i++)
		if (!is_valid_door(c->doors[i]))
			return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < c->n_doors; i++)
		buffer_add(out, c->doors[i], strlen(c->doors[i]) + 1);
	buffer_add(out, c->text, strlen(c->text) + 1);
	return out->failed ? -ENOMEM : 0;
}

int change_decode(struct change *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct change c;
	struct head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || !change_is_valid_head(&h))
		return -EPROTO;
	c = (struct change){ .flags = h.flags, .n_ports = h.n_ports, .n_doors = h.n_doors };
	memcpy(c.ports, h.ports, sizeof(c.ports));
	for (uint32_t i = 0; i < h.n_doors; i++) {
		c.doors[i] = reader_string(&r);
		if (!is_valid_door(c.doors[i]))
			return -EPROTO;
	}
	c.text = reader_string(&r);
	if (!c.text || !c.text[0] || r.left > 0)
		return -EPROTO;
	*ret = c;
	return 0;
}
