/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/plan/plan.h"
#include "wire/configure.h"
#include "wire/reader.h"

enum { ENTRIES_MAX = 65536 };

enum {
	IS_DIR = 1 << 0,
	IS_WRITABLE = 1 << 1,
	IS_EXEC = 1 << 2,
	IS_OVER = 1 << 3,
	HAS_TEXT = 1 << 4,
	IS_COPIED = 1 << 5,
	IS_PASSING = 1 << 6,
	IS_STAND_IN = 1 << 7,
	IS_LIVE = 1 << 8,
	IS_FOUND = 1 << 9,
	IS_BASE64 = 1 << 10,
	IS_MASKED = 1 << 11,
	ENTRY_FLAGS = 4095,
};

/* Of the plan. */
enum {
	HAS_SKILL = 1 << 0,
	HAS_BROKER = 1 << 1,
	HAS_CALLER = 1 << 2,
	HAS_HTTP = 1 << 3,
	HAS_WORKER = 1 << 4,
	IS_WATCHED = 1 << 5,
	PLAN_FLAGS = 63,
};

struct plan_head {
	uint32_t n_entries, n_programs, n_late, n_spared;
	uint32_t exec_listed, network, n_ports, n_loopback;
	uint32_t n_literals, n_appear;
	uint16_t n_listeners;
	uint8_t unheld, flags;
	struct plan_range loopback[PLAN_RANGES_MAX];
	struct limits limits;
};

struct entry_head {
	uint64_t dev, ino;
	uint32_t kind, flags;
};

/* What a string of plan.appear starts with. */
static const char plan_appear_starts[] = { '/', PLAN_APPEAR_LAYER, PLAN_APPEAR_ALLOW,
	PLAN_APPEAR_DENY, '\0' };

struct literal {
	uint16_t port, bits;
	uint8_t bytes[16];
};

static void plan_wire_add_string(const char *s, struct buffer *out)
{
	buffer_add(out, s, strlen(s) + 1);
}

static void plan_wire_add_entry(const struct plan_entry *e, struct buffer *out)
{
	const struct entry_head entry = {
		.dev = e->dev,
		.ino = e->ino,
		.kind = e->kind,
		.flags = (e->is_dir ? IS_DIR : 0) | (e->writable ? IS_WRITABLE : 0) |
			 (e->exec ? IS_EXEC : 0) | (e->over ? IS_OVER : 0) |
			 (e->text ? HAS_TEXT : 0) | (e->copied ? IS_COPIED : 0) |
			 (e->passing ? IS_PASSING : 0) | (e->stands_in ? IS_STAND_IN : 0) |
			 (e->live ? IS_LIVE : 0) | (e->is_found ? IS_FOUND : 0) |
			 (e->is_base64 ? IS_BASE64 : 0) | (e->is_masked ? IS_MASKED : 0),
	};

	buffer_add(out, &entry, sizeof(entry));
	plan_wire_add_string(e->path, out);
	if (e->text)
		plan_wire_add_string(e->text, out);
}

int plan_encode(const struct plan *p, struct buffer *out)
{
	struct plan_head head = { .n_entries = (uint32_t)p->n,
		.n_programs = (uint32_t)p->n_programs,
		.n_late = (uint32_t)p->n_late,
		.n_spared = (uint32_t)p->n_spared,
		.n_appear = (uint32_t)p->n_appear,
		.exec_listed = p->exec_listed,
		.network = p->network,
		.n_ports = (uint32_t)p->n_ports,
		.n_loopback = (uint32_t)p->n_loopback,
		.n_literals = (uint32_t)p->n_literals,
		.n_listeners = (uint16_t)p->n_listeners,
		.unheld = p->unheld != NULL,
		.flags = (p->skill ? HAS_SKILL : 0) | (p->has_broker ? HAS_BROKER : 0) |
			 (p->has_http ? HAS_HTTP : 0) | (p->caller.path ? HAS_CALLER : 0) |
			 (p->worker[0].path ? HAS_WORKER : 0) | (p->is_watched ? IS_WATCHED : 0),
		.limits = p->limits };

	if (p->n > ENTRIES_MAX || p->n_programs > ENTRIES_MAX || p->n_late > ENTRIES_MAX ||
		p->n_spared > ENTRIES_MAX || p->n_appear > ENTRIES_MAX ||
		p->n_literals > PLAN_LITERALS_MAX || p->n_listeners > PLAN_LISTENERS_MAX)
		return -E2BIG;
	memcpy(head.loopback, p->loopback, sizeof(head.loopback));
	buffer_add(out, &head, sizeof(head));
	for (size_t i = 0; i < p->n; i++)
		plan_wire_add_entry(&p->entries[i], out);
	for (size_t i = 0; i < p->n_programs; i++)
		plan_wire_add_string(p->programs[i], out);
	plan_wire_add_string(p->home_real ? p->home_real : "/", out);
	for (size_t i = 0; i < p->n_late; i++)
		plan_wire_add_string(p->late[i], out);
	for (size_t i = 0; i < p->n_spared; i++)
		plan_wire_add_string(p->spared[i], out);
	for (size_t i = 0; i < p->n_appear; i++)
		plan_wire_add_string(p->appear[i], out);
	for (size_t i = 0; i < p->n_literals; i++) {
		const struct plan_literal *l = &p->literals[i];
		struct literal literal = { .port = l->port, .bits = l->address.bits };

		memcpy(literal.bytes, l->address.bytes, sizeof(literal.bytes));
		buffer_add(out, &literal, sizeof(literal));
	}
	if (p->unheld)
		plan_wire_add_string(p->unheld, out);
	if (p->caller.path)
		plan_wire_add_entry(&p->caller, out);
	for (size_t i = 0; p->worker[0].path && i < PLAN_WORKER_FILES; i++)
		plan_wire_add_entry(&p->worker[i], out);
	return out->failed ? -ENOMEM : 0;
}

static int plan_wire_read_entry(struct reader *r, struct plan_entry *e)
{
	struct entry_head head;

	if (!reader_bytes(r, &head, sizeof(head)) || head.kind > PLAN_SOCKET ||
		head.flags & ~(uint32_t)ENTRY_FLAGS)
		return -EPROTO;
	*e = (struct plan_entry){ .kind = head.kind,
		.dev = head.dev,
		.ino = head.ino,
		.is_dir = head.flags & IS_DIR,
		.writable = head.flags & IS_WRITABLE,
		.exec = head.flags & IS_EXEC,
		.over = head.flags & IS_OVER,
		.copied = head.flags & IS_COPIED,
		.passing = head.flags & IS_PASSING,
		.stands_in = head.flags & IS_STAND_IN,
		.live = head.flags & IS_LIVE,
		.is_found = head.flags & IS_FOUND,
		.is_base64 = head.flags & IS_BASE64,
		.is_masked = head.flags & IS_MASKED };
	e->path = reader_string(r);
	e->text = head.flags & HAS_TEXT ? reader_string(r) : NULL;
	if (e->stands_in && (e->kind != PLAN_BIND || e->is_dir || e->copied || !e->writable))
		return -EPROTO;
	if (e->is_base64 && e->kind != PLAN_FILE)
		return -EPROTO;
	if (e->live && (e->kind != PLAN_BIND || e->writable || e->copied || e->over))
		return -EPROTO;
	if (e->is_masked && e->kind != PLAN_FILE)
		return -EPROTO;
	if (!e->path || e->path[0] != '/' || (head.flags & HAS_TEXT && !e->text))
		return -EPROTO;
	/* Those two are nothing without. */
	return (e->kind == PLAN_LINK || e->kind == PLAN_FILE) && !e->text ? -EPROTO : 0;
}

/* Absolute paths; or strings that start with one of `starts`. */
static int plan_wire_read_strings(struct plan *p, struct reader *r, size_t n, const char *starts,
	const char ***ret, size_t *ret_n)
{
	*ret = arena_calloc(&p->arena, n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	while (*ret_n < n) {
		const char *path = reader_string(r);

		if (!path || !path[0] || !strchr(starts, path[0]))
			return -EPROTO;
		(*ret)[(*ret_n)++] = path;
	}
	return 0;
}

static int plan_wire_read_paths(
	struct plan *p, struct reader *r, size_t n, const char ***ret, size_t *ret_n)
{
	return plan_wire_read_strings(p, r, n, "/", ret, ret_n);
}

static int plan_wire_read_lists(struct plan *p, struct reader *r, const struct plan_head *head)
{
	int ret = 0;

	p->entries = arena_calloc(&p->arena, head->n_entries + 1, sizeof(*p->entries));
	p->literals = arena_calloc(&p->arena, head->n_literals + 1, sizeof(*p->literals));
	if (!p->entries || !p->literals)
		return -ENOMEM;
	for (; ret == 0 && p->n < head->n_entries; p->n++) {
		ret = plan_wire_read_entry(r, &p->entries[p->n]);
		if (ret == 0 && p->entries[p->n].copied && !p->has_skill)
			ret = -EPROTO;
	}
	if (ret == 0)
		ret = plan_wire_read_paths(p, r, head->n_programs, &p->programs, &p->n_programs);
	p->home_real = ret == 0 ? reader_string(r) : NULL;
	if (ret == 0 && (!p->home_real || p->home_real[0] != '/'))
		ret = -EPROTO;
	if (ret == 0)
		ret = plan_wire_read_paths(p, r, head->n_late, &p->late, &p->n_late);
	if (ret == 0)
		ret = plan_wire_read_paths(p, r, head->n_spared, &p->spared, &p->n_spared);
	if (ret == 0)
		ret = plan_wire_read_strings(
			p, r, head->n_appear, plan_appear_starts, &p->appear, &p->n_appear);
	while (ret == 0 && p->n_literals < head->n_literals) {
		struct plan_literal *to = &p->literals[p->n_literals++];
		struct literal l;

		if (!reader_bytes(r, &l, sizeof(l)) || l.port == 0 ||
			(l.bits != 32 && l.bits != 128))
			return -EPROTO;
		*to = (struct plan_literal){ { .bits = (uint8_t)l.bits }, l.port };
		memcpy(to->address.bytes, l.bytes, l.bits / 8);
	}
	if (ret == 0 && head->unheld)
		p->unheld = reader_string(r);
	if (ret == 0 && head->flags & HAS_CALLER) {
		ret = plan_wire_read_entry(r, &p->caller);
		if (ret == 0 && (!p->has_broker || p->caller.kind != PLAN_BIND || p->caller.copied))
			ret = -EPROTO;
	}
	for (size_t i = 0; ret == 0 && head->flags & HAS_WORKER && i < PLAN_WORKER_FILES; i++) {
		ret = plan_wire_read_entry(r, &p->worker[i]);
		if (ret == 0 && (p->worker[i].kind != PLAN_BIND || p->worker[i].copied))
			ret = -EPROTO;
	}
	return ret == 0 && (r->left > 0 || (head->unheld && !p->unheld)) ? -EPROTO : ret;
}

static int plan_wire_read_plan(struct plan *p, struct reader *r)
{
	struct plan_head head;

	if (!reader_bytes(r, &head, sizeof(head)) || head.n_entries > ENTRIES_MAX ||
		head.n_programs > ENTRIES_MAX || head.n_late > ENTRIES_MAX ||
		head.n_spared > ENTRIES_MAX || head.n_appear > ENTRIES_MAX ||
		head.exec_listed > 1 || head.network > PLAN_NETWORK_HOST ||
		head.n_ports > PLAN_PORTS_MAX || head.n_loopback > PLAN_RANGES_MAX ||
		head.n_literals > PLAN_LITERALS_MAX || head.n_listeners > PLAN_LISTENERS_MAX ||
		head.unheld > 1 || head.flags & ~(unsigned)PLAN_FLAGS ||
		(head.flags & HAS_HTTP && !(head.flags & HAS_BROKER)))
		return -EPROTO;
	p->exec_listed = head.exec_listed;
	p->has_skill = head.flags & HAS_SKILL;
	p->has_broker = head.flags & HAS_BROKER;
	p->has_http = head.flags & HAS_HTTP;
	p->is_watched = head.flags & IS_WATCHED;
	p->network = head.network;
	/* Which ports they are is the relay's business. */
	p->n_ports = head.n_ports;
	p->n_loopback = head.n_loopback;
	memcpy(p->loopback, head.loopback, sizeof(p->loopback));
	p->n_listeners = head.n_listeners;
	p->limits = head.limits;
	return plan_wire_read_lists(p, r, &head);
}

int plan_decode(struct plan **ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct plan *p = calloc(1, sizeof(*p));
	int e = p ? plan_wire_read_plan(p, &r) : -ENOMEM;

	if (e < 0)
		plan_free(p);
	else
		*ret = p;
	return e < 0 ? e : 0;
}

void plan_describe_network(const struct plan *p, struct change *ret)
{
	*ret = (struct change){ .n_ports = (uint32_t)p->n_ports };
	memcpy(ret->ports, p->ports, p->n_ports * sizeof(p->ports[0]));
	for (size_t i = 0; i < p->n && ret->n_doors < CHANGE_DOORS_MAX; i++)
		if (p->entries[i].kind == PLAN_SOCKET)
			ret->doors[ret->n_doors++] = p->entries[i].path;
}
