/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/places.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/encoding.h"
#include "event/loop.h"

enum {
	PLACES_HANDLES_MAX = 16, /* of one principal */
	PLACES_IDLE_MS = 30 * 60 * 1000,
	PLACE_HANDLE = 64, /* digits */
};

enum mcp_place_kind {
	PLACE_ONCE,      /* of one server: it ends with it */
	PLACE_PRINCIPAL, /* of all that stands alone */
	PLACE_NAMED,
};

struct mcp_place {
	struct link link;
	struct mcp_places *places;
	enum mcp_place_kind kind;
	size_t principal;
	size_t users; /* servers */
	struct corral_enclave *enclave;
	struct mcp_tools *tools;
	struct mcp_backend backend;
	struct mcp_handles handles;
	char handle[PLACE_HANDLE + 1]; /* "": none, or it is over */
	uint64_t used_ms;
};

#define places_for_each(x, p)                                                              \
	for (struct mcp_place *x = container_of((p)->all.next, struct mcp_place, link),    \
			      *next_ = container_of(x->link.next, struct mcp_place, link); \
		&x->link != &(p)->all;                                                     \
		x = next_, next_ = container_of(x->link.next, struct mcp_place, link))

void mcp_places_init(struct mcp_places *p)
{
	link_init(&p->all);
}

static void place_free(struct mcp_place *x)
{
	link_remove(&x->link);
	mcp_tools_free(x->tools);
	corral_enclave_free(x->enclave);
	sodium_memzero(x->handle, sizeof(x->handle));
	free(x);
}

static int place_create(void *context, struct buffer *ret);
static int place_end(void *context, const char *handle);

static int place_new(struct mcp_places *p, enum mcp_place_kind kind, size_t principal, bool handles,
	struct mcp_place **ret, struct error *e)
{
	struct mcp_backend_options o = p->options;
	struct mcp_place *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	*x = (struct mcp_place){ .places = p, .kind = kind, .principal = principal };
	x->handles = (struct mcp_handles){ place_create, place_end, x };
	link_init(&x->link);
	r = p->enclose(p->context, &x->enclave, e);
	o.enclave = x->enclave;
	o.rate = &p->rates[principal];
	o.handles = handles ? &x->handles : NULL;
	if (r == 0)
		r = mcp_tools_new(&x->tools, &o, &x->backend);
	if (r < 0) {
		place_free(x);
		return r;
	}
	link_append(&p->all, &x->link);
	*ret = x;
	return 0;
}

/* Handles */

static int place_create(void *context, struct buffer *ret)
{
	const struct mcp_place *by = context;
	struct mcp_places *p = by->places;
	unsigned char bytes[PLACE_HANDLE / 2];
	struct mcp_place *x = NULL;
	struct error e = { 0 };
	size_t n = 0;
	int r;

	places_for_each(at, p)
	{
		n += at->kind == PLACE_NAMED && at->principal == by->principal;
	}
	if (n >= PLACES_HANDLES_MAX)
		return -EBUSY;
	r = place_new(p, PLACE_NAMED, by->principal, true, &x, &e);
	if (r < 0)
		return r;
	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), x->handle);
	x->used_ms = clock_ms(CLOCK_BOOTTIME);
	buffer_adds(ret, x->handle);
	return 0;
}

static struct mcp_place *place_find(struct mcp_places *p, size_t principal, const char *handle)
{
	struct mcp_place *found = NULL;

	if (strlen(handle) != PLACE_HANDLE)
		return NULL;
	places_for_each(x, p)
	{
		if (x->handle[0] && x->principal == principal &&
			sodium_memcmp(x->handle, handle, PLACE_HANDLE) == 0)
			found = x;
	}
	return found;
}

static int place_end(void *context, const char *handle)
{
	const struct mcp_place *by = context;
	struct mcp_place *x = place_find(by->places, by->principal, handle);

	if (!x)
		return -ENOENT;
	x->handle[0] = '\0';
	if (x->users == 0)
		place_free(x);
	return 0;
}

/* Servers */

static struct mcp_place *place_of_principal(struct mcp_places *p, size_t principal)
{
	places_for_each(x, p)
	{
		if (x->kind == PLACE_PRINCIPAL && x->principal == principal)
			return x;
	}
	return NULL;
}

/* For a message that stands alone. *ret NULL: a new one of *ret_kind. -ENOENT. */
static int place_choose(struct mcp_places *p, size_t principal, const struct mcp_message *m,
	struct mcp_place **ret, enum mcp_place_kind *ret_kind)
{
	const struct node *arguments = node_get(m->params, "arguments");
	const struct node *handle = node_get(arguments, MCP_TOOL_SANDBOX);
	const bool runs =
		strcmp(m->method, "tools/call") == 0 &&
		strcmp(node_get_text(m->params, "name"), mcp_tools[MCP_EXECUTE_COMMAND].name) == 0;

	*ret_kind = runs ? PLACE_ONCE : PLACE_PRINCIPAL;
	*ret = NULL;
	if (runs && handle && handle->type == NODE_STRING) {
		*ret = place_find(p, principal, handle->text);
		return *ret ? 0 : -ENOENT;
	}
	if (!runs)
		*ret = place_of_principal(p, principal);
	return 0;
}

int mcp_places_open(struct mcp_places *p, struct mcp_server *s, size_t principal,
	const struct mcp_message *m, struct buffer *why)
{
	const bool is_session = strcmp(m->method, "initialize") == 0;
	enum mcp_place_kind kind = PLACE_ONCE;
	struct mcp_place *x = NULL;
	struct error e = { 0 };
	int r = is_session ? 0 : place_choose(p, principal, m, &x, &kind);

	if (r == -ENOENT)
		buffer_adds(why, MCP_NO_SANDBOX);
	if (r == 0 && !x)
		r = place_new(p, kind, principal, !is_session, &x, &e);
	if (r < 0) {
		if (e.text[0])
			buffer_adds(why, e.text);
		return r;
	}
	x->users++;
	x->used_ms = clock_ms(CLOCK_BOOTTIME);
	s->backend = x->backend;
	return 0;
}

void mcp_places_close(struct mcp_places *p, struct mcp_server *s)
{
	places_for_each(x, p)
	{
		if (x->backend.context != s->backend.context)
			continue;
		x->used_ms = clock_ms(CLOCK_BOOTTIME);
		x->users--;
		if (x->users == 0 &&
			(x->kind == PLACE_ONCE || (x->kind == PLACE_NAMED && !x->handle[0])))
			place_free(x);
		return;
	}
}

void mcp_places_turn(struct mcp_places *p)
{
	const uint64_t now = clock_ms(CLOCK_BOOTTIME);

	places_for_each(x, p)
	{
		if (x->kind == PLACE_NAMED && x->users == 0 && now - x->used_ms >= PLACES_IDLE_MS)
			place_free(x);
	}
}

void mcp_places_deinit(struct mcp_places *p)
{
	if (!p->all.next)
		return;
	places_for_each(x, p)
	{
		place_free(x);
	}
}
