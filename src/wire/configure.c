/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed part with one bit for each variable that has a value, then those values in the order of
 * the bits, each with its NUL, the guarded paths, the programs that the flags say, and
 * the files of a worker, each behind its device and inode. Of a change:
 * a fixed part with the ports, then the paths of the sockets and the text, each with its NUL.
 */
#include "wire/configure.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "wire/question.h"
#include "wire/reader.h"

struct configure_head {
	uint32_t flags;
	uint32_t host;
	uint32_t known; /* 1 << enum variable */
	uint32_t n_guarded;
	uint32_t ask_ms;
};
_Static_assert(sizeof(struct configure_head) == 20, "no padding goes over the wire");

static bool configure_is_valid_head(const struct configure_head *h)
{
	return !(h->flags & ~(uint32_t)CONFIGURE_FLAGS) && h->host <= INT32_MAX &&
	       h->known < UINT32_C(1) << VARIABLE_COUNT && h->n_guarded <= CONFIGURE_GUARDED_MAX &&
	       h->ask_ms <= QUESTION_WAIT_MAX_MS;
}

static bool configure_is_path(const char *path)
{
	return path && path[0] == '/' && strlen(path) < PATH_BYTES;
}

int configure_encode(const struct configure *c, struct buffer *out)
{
	struct configure_head h = {
		.flags = c->flags, .host = c->host, .n_guarded = c->n_guarded, .ask_ms = c->ask_ms
	};

	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		const char *value = c->variables.values[i];

		if (value && !configure_is_path(value))
			return -EINVAL;
		h.known |= value ? UINT32_C(1) << i : 0;
	}
	if (!configure_is_valid_head(&h))
		return -EINVAL;
	for (uint32_t i = 0; i < c->n_guarded; i++)
		if (!configure_is_path(c->guarded[i]))
			return -EINVAL;
	if ((c->flags & CONFIGURE_BROKER && !configure_is_path(c->broker)) ||
		(c->flags & CONFIGURE_CALLER && !configure_is_path(c->caller)))
		return -EINVAL;
	for (size_t i = 0; c->flags & CONFIGURE_WORKER && i < CONFIGURE_WORKER_FILES; i++)
		if (!configure_is_path(c->worker[i].path))
			return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		const char *value = c->variables.values[i];

		if (value)
			buffer_add(out, value, strlen(value) + 1);
	}
	for (uint32_t i = 0; i < c->n_guarded; i++)
		buffer_add(out, c->guarded[i], strlen(c->guarded[i]) + 1);
	if (c->flags & CONFIGURE_BROKER)
		buffer_add(out, c->broker, strlen(c->broker) + 1);
	if (c->flags & CONFIGURE_CALLER)
		buffer_add(out, c->caller, strlen(c->caller) + 1);
	for (size_t i = 0; c->flags & CONFIGURE_WORKER && i < CONFIGURE_WORKER_FILES; i++) {
		const struct configure_file *f = &c->worker[i];

		buffer_add(out, (const uint64_t[]){ f->dev, f->ino }, 2 * sizeof(uint64_t));
		buffer_add(out, f->path, strlen(f->path) + 1);
	}
	return out->failed ? -ENOMEM : 0;
}

static bool configure_read_worker(
	struct reader *r, struct configure_file worker[CONFIGURE_WORKER_FILES])
{
	for (size_t i = 0; i < CONFIGURE_WORKER_FILES; i++) {
		uint64_t which[2];

		if (!reader_bytes(r, which, sizeof(which)))
			return false;
		worker[i] = (struct configure_file){ reader_string(r), which[0], which[1] };
		if (!configure_is_path(worker[i].path))
			return false;
	}
	return true;
}

int configure_decode(struct configure *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct configure c;
	struct configure_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || !configure_is_valid_head(&h))
		return -EPROTO;
	c = (struct configure){
		.flags = h.flags, .host = h.host, .ask_ms = h.ask_ms, .n_guarded = h.n_guarded
	};
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		if (!(h.known & UINT32_C(1) << i))
			continue;
		c.variables.values[i] = reader_string(&r);
		if (!configure_is_path(c.variables.values[i]))
			return -EPROTO;
	}
	for (uint32_t i = 0; i < h.n_guarded; i++) {
		c.guarded[i] = reader_string(&r);
		if (!configure_is_path(c.guarded[i]))
			return -EPROTO;
	}
	c.broker = h.flags & CONFIGURE_BROKER ? reader_string(&r) : NULL;
	c.caller = h.flags & CONFIGURE_CALLER ? reader_string(&r) : NULL;
	if ((h.flags & CONFIGURE_BROKER && !configure_is_path(c.broker)) ||
		(h.flags & CONFIGURE_CALLER && !configure_is_path(c.caller)))
		return -EPROTO;
	if (h.flags & CONFIGURE_WORKER && !configure_read_worker(&r, c.worker))
		return -EPROTO;
	if (r.left > 0)
		return -EPROTO;
	*ret = c;
	return 0;
}

/* Changes */

struct change_head {
	uint32_t flags, n_ports, n_doors, reserved;
	struct listen_entry ports[CHANGE_PORTS_MAX];
};
_Static_assert(
	sizeof(struct change_head) == 16 + 22 * CHANGE_PORTS_MAX, "no padding goes over the wire");

static bool change_is_valid_head(const struct change_head *h)
{
	static const struct listen_entry none;

	if (h->flags & ~(uint32_t)CHANGE_FLAGS || h->reserved != 0 ||
		h->n_ports > CHANGE_PORTS_MAX || h->n_doors > CHANGE_DOORS_MAX)
		return false;
	for (uint32_t i = 0; i < CHANGE_PORTS_MAX; i++)
		if (i < h->n_ports ? !listen_is_valid(&h->ports[i])
				   : memcmp(&h->ports[i], &none, sizeof(none)) != 0)
			return false;
	return true;
}

void change_add_grants(struct change *c, const struct live_grant *grants, size_t n)
{
	for (size_t i = 0; i < n && c->n_grants < QUESTION_GRANTS_MAX; i++)
		if (grants[i].op == OPERATION_NET_CONNECT)
			c->grants[c->n_grants++] = grants[i];
}

static bool change_is_valid_grants(const struct change *c)
{
	for (uint32_t i = 0; i < c->n_grants; i++)
		if (c->grants[i].op != OPERATION_NET_CONNECT)
			return false;
	return true;
}

int change_encode(const struct change *c, struct buffer *out)
{
	struct change_head h = { .flags = c->flags, .n_ports = c->n_ports, .n_doors = c->n_doors };
	int r;

	if (c->n_ports > CHANGE_PORTS_MAX || c->n_grants > QUESTION_GRANTS_MAX ||
		!change_is_valid_grants(c) || !c->text || !c->text[0])
		return -EINVAL;
	memcpy(h.ports, c->ports, c->n_ports * sizeof(h.ports[0]));
	if (!change_is_valid_head(&h))
		return -EINVAL;
	for (uint32_t i = 0; i < c->n_doors; i++)
		if (!configure_is_path(c->doors[i]))
			return -EINVAL;
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < c->n_doors; i++)
		buffer_add(out, c->doors[i], strlen(c->doors[i]) + 1);
	buffer_add(out, c->text, strlen(c->text) + 1);
	r = live_grants_encode(c->grants, c->n_grants, out);
	return out->failed ? -ENOMEM : r;
}

int change_decode(struct change *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct change_head h;
	struct change c;
	int n;

	if (!reader_bytes(&r, &h, sizeof(h)) || !change_is_valid_head(&h))
		return -EPROTO;
	c = (struct change){ .flags = h.flags, .n_ports = h.n_ports, .n_doors = h.n_doors };
	memcpy(c.ports, h.ports, sizeof(c.ports));
	for (uint32_t i = 0; i < h.n_doors; i++) {
		c.doors[i] = reader_string(&r);
		if (!configure_is_path(c.doors[i]))
			return -EPROTO;
	}
	c.text = reader_string(&r);
	if (!c.text || !c.text[0])
		return -EPROTO;
	n = live_grants_decode(c.grants, r.data, r.left);
	c.n_grants = n < 0 ? 0 : (uint32_t)n;
	if (n < 0 || !change_is_valid_grants(&c))
		return -EPROTO;
	*ret = c;
	return 0;
}
