/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What falls into finitely many classes is compared by trying one representative of each.
 *
 * Hosts: a name is told from another only by the names that patterns and guards mention, so every
 * mentioned name, a fresh name below each, and one that lies below none are enough. Addresses
 * change class only at the ends of the mentioned prefixes, ports only at the ends of ranges. All
 * combinations are tried, up to a bound.
 *
 * Services: for every service that one side names, each way of access, without a value, with every
 * value that one side names, and with a fresh one. Wildcards in values have no finite set of
 * classes; they are compared as the words they are, and anything more is too complex.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/baseline.h"
#include "policy/match/service.h"
#include "policy/network/host.h"
#include "policy/algebra/internal.h"
#include "policy/algebra/meet.h"

/* A try of a service goes through all rules. */
enum { TRIES_MAX = 400000, PORTS_MAX = 512, HOSTS_MAX = 8192, TRIES_TIMES_RULES_MAX = 1 << 21 };

int subset_words_add(struct subset_words *set, struct arena *a, const char *word)
{
	if (!word)
		return -ENOMEM;
	for (size_t i = 0; i < set->n; i++) {
		if (strcmp(set->items[i], word) == 0)
			return 0;
	}
	return ARENA_PUSH(a, set->items, set->n, set->cap, word);
}

/* Hosts */

struct candidates {
	struct arena arena;
	const char *fresh;
	struct subset_words hosts; /* as text, "[::1]" and so on */
	uint16_t ports[PORTS_MAX];
	size_t n_ports;
	const char **sockets;
	size_t n_sockets, cap_sockets;
	bool fine;
};

static int add_host(struct candidates *c, const char *text)
{
	int r = subset_words_add(&c->hosts, &c->arena, text);

	return r == 0 && c->hosts.n > HOSTS_MAX ? -E2BIG : r;
}

static int add_name(struct candidates *c, const char *name)
{
	int r = add_host(c, arena_strdup(&c->arena, name));

	return r < 0 ? r : add_host(c, arena_printf(&c->arena, "%s.%s", c->fresh, name));
}

static int add_address(struct candidates *c, const struct address *a)
{
	auto_buffer text = { 0 };

	if (a->bits == 128)
		buffer_addc(&text, '[');
	address_print(a, &text);
	if (a->bits == 128)
		buffer_addc(&text, ']');
	return text.failed ? -ENOMEM : add_host(c, arena_strdup(&c->arena, buffer_text(&text)));
}

/* The address before or after; wraps around at the ends, which does no harm. */
static struct address neighbour(struct address a, int step)
{
	for (size_t i = a.bits / 8; i-- > 0;) {
		int sum = a.bytes[i] + step;

		a.bytes[i] = (uint8_t)sum;
		if (sum >= 0 && sum <= 255)
			break;
	}
	return a;
}

static int add_prefix(struct candidates *c, const struct prefix *p)
{
	struct address first = p->address, last = p->address, all[4];
	int r = 0;

	for (unsigned bit = p->length; bit < last.bits; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	all[0] = first;
	all[1] = last;
	all[2] = neighbour(first, -1);
	all[3] = neighbour(last, 1);
	for (size_t i = 0; r == 0 && i < 4; i++)
		r = add_address(c, &all[i]);
	return r;
}

static int add_port(struct candidates *c, unsigned port)
{
	if (port > 65535)
		return 0;
	for (size_t i = 0; i < c->n_ports; i++) {
		if (c->ports[i] == port)
			return 0;
	}
	if (c->n_ports == PORTS_MAX)
		return -E2BIG;
	c->ports[c->n_ports++] = (uint16_t)port;
	return 0;
}

static int add_pattern(struct candidates *c, const struct host_pattern *p)
{
	const unsigned ends[] = { p->port_lo, p->port_hi, p->port_lo - 1u, p->port_hi + 1u };
	int r = 0;

	c->fine |= p->n_url_paths > 0 || p->methods != 0;
	switch (p->kind) {
	case HOST_NAME:
	case HOST_SUBDOMAINS:
		r = add_name(c, p->name);
		break;
	case HOST_PREFIX:
		r = add_prefix(c, &p->prefix);
		break;
	case HOST_SOCKET:
		return ARENA_PUSH(&c->arena, c->sockets, c->n_sockets, c->cap_sockets, p->name);
	case HOST_ANY:
		break;
	case HOST_GLOB: /* as with URL paths: no finite set of names stands for it */
		c->fine = true;
		return 0;
	}
	for (size_t i = 0; r == 0 && i < 4; i++)
		r = add_port(c, ends[i]);
	return r;
}

static int add_host_source(void *data, const struct source *s)
{
	struct candidates *c = data;

	c->fine |= s->in->methods && s->in->methods->n;
	for (size_t i = 0; i < s->grant->n; i++) {
		struct host_pattern p;
		int r = host_pattern_parse(&p, &c->arena, s->grant->all[i], NULL, NULL);

		if (r == 0)
			r = add_pattern(c, &p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What is there whatever the patterns say. */
static int add_fixed(struct candidates *c)
{
	int r = add_host(c, arena_printf(&c->arena, "%s.%s", c->fresh, c->fresh));

	if (r == 0)
		r = add_host(c, "8.8.4.4");
	if (r == 0)
		r = add_host(c, "127.0.0.1");
	for (size_t i = 0; r == 0 && i < baseline_n_nets; i++)
		r = baseline_nets[i].is_name ? add_name(c, baseline_net_text(&baseline_nets[i]))
					     : add_prefix(c, &baseline_nets[i].prefix);
	return r;
}

static bool private_is_granted(const struct subset_side *side)
{
	size_t n = 0;

	for (size_t i = 0; i < side->n; i++)
		n += side->layers[i]->network_private.n;
	return n > 0;
}

/*
 * A name may lead to a private address if each layer lists it in network.private or grants the
 * address. The tries below take the former for the only way, which is right unless one layer does
 * it this way and another that.
 */
static bool private_is_mixed(const struct subset_side *side)
{
	bool addresses = false;

	if (side->n < 2 || !private_is_granted(side))
		return false;
	for (size_t i = 0; i < side->n; i++)
		addresses = addresses || meet_has_addresses(side->layers[i]);
	return addresses;
}

static int try_hosts(struct subset_compare *c, const struct candidates *all)
{
	bool has_private = private_is_granted(&c->a);
	int r = all->hosts.n * all->n_ports * (has_private ? 4 : 2) > TRIES_MAX ? -E2BIG : 0;

	for (size_t h = 0; h < all->hosts.n; h++) {
		for (size_t i = 0; r == 0 && i < 2 * all->n_ports; i++) {
			char target[HOST_NAME_BYTES + 32];
			struct request request = { .op = OPERATION_NET_CONNECT, .target = target };
			int n = snprintf(target, sizeof(target), "%s%s", i % 2 ? "udp://" : "",
				all->hosts.items[h]);

			if (all->ports[i / 2] && n > 0 && (size_t)n < sizeof(target))
				(void)snprintf(target + n, sizeof(target) - (size_t)n, ":%u",
					all->ports[i / 2]);
			r = subset_try(c, &request);
			request.to_private = true;
			if (r == 0 && has_private)
				r = subset_try(c, &request);
		}
	}
	return r;
}

static int try_sockets(struct subset_compare *c, struct candidates *all)
{
	const char *other = arena_printf(&all->arena, "/%s", c->fresh);
	int r = other ? ARENA_PUSH(
				&all->arena, all->sockets, all->n_sockets, all->cap_sockets, other)
		      : -ENOMEM;

	for (size_t i = 0; r == 0 && i < all->n_sockets; i++) {
		const char *target = arena_printf(&all->arena, "unix:%s", all->sockets[i]);
		struct request request = { .op = OPERATION_NET_CONNECT, .target = target };

		r = target ? subset_try(c, &request) : -ENOMEM;
	}
	return r;
}

int subset_hosts(struct subset_compare *c, enum operation op)
{
	struct candidates all = { .fresh = c->fresh, .ports = { 0, UINT16_MAX }, .n_ports = 2 };
	int r = add_fixed(&all);

	if (r == 0)
		r = subset_each_source(c, op, add_host_source, &all);
	if (r == 0)
		r = try_hosts(c, &all);
	if (r == 0)
		r = try_sockets(c, &all);
	if (r == 0 && private_is_mixed(&c->a))
		r = subset_too_complex(c, "network.private beside grants of addresses");
	/* Paths and methods of URLs have no finite set of classes to try. */
	if (r == -E2BIG || (r == 0 && all.fine))
		r = subset_too_complex(c, all.fine ? "network patterns with URL paths or methods"
						   : operation_name(op));
	arena_deinit(&all.arena);
	return r;
}

/* Services */

struct service_words {
	struct arena arena;
	struct subset_words names, values;
	size_t n_rules;
	bool wild, several;
};

static int add_value(struct service_words *w, const char *value)
{
	w->wild |= strpbrk(value, "*?") != NULL;
	return subset_words_add(&w->values, &w->arena, value);
}

static int add_service(struct service_words *w, const struct service *s)
{
	int r = subset_words_add(&w->names, &w->arena, s->name);

	w->several |= s->n_scopes > 1;
	for (size_t i = 0; r == 0 && i < s->n_scopes; i++) {
		const struct grant_list *values = &s->scopes[i].values;

		for (size_t k = 0; r == 0 && k < values->n; k++) {
			w->several |= values->items[k].n > 1;
			r = add_value(w, values->items[k].all[0]);
		}
	}
	return r;
}

static int add_services(struct service_words *w, const struct subset_side *side)
{
	int r = 0;

	for (size_t l = 0; r == 0 && l < side->n; l++) {
		const struct layer *layer = policy_layer(side->policy, l);

		w->n_rules += layer->n_services;
		for (size_t i = 0; r == 0 && i < layer->n_services; i++)
			r = add_service(w, &layer->services[i]);
	}
	return r;
}

/* A rule's pattern: its service, and its value if it has one. */
static int add_service_rule(void *data, const struct source *s)
{
	struct service_words *w = data;
	int r = 0;

	w->n_rules++;
	for (size_t i = 0; r == 0 && i < s->grant->n; i++) {
		struct service_request p;

		/* "*" is every service, and none is called so. */
		if (strcmp(s->grant->all[i], "*") == 0 ||
			service_request_parse(&p, s->grant->all[i]) < 0)
			continue;
		r = subset_words_add(
			&w->names, &w->arena, arena_strndup(&w->arena, p.name, p.name_len));
		if (r == 0 && p.value)
			r = add_value(w, p.value);
	}
	return r;
}

/* Each access of a service, without a value and with each. */
static int try_service(struct subset_compare *c, struct service_words *w, const char *name)
{
	int r = 0;

	for (unsigned left = SERVICE_ALL; left; left &= left - 1) {
		for (size_t v = 0; r == 0 && v <= w->values.n; v++) {
			const char *target = arena_printf(&w->arena, "%s.%s%s%s", name,
				service_access_name(left & -left), v ? ":" : "",
				v ? w->values.items[v - 1] : "");
			struct request request = { .op = OPERATION_SERVICE, .target = target };

			r = target ? subset_try(c, &request) : -ENOMEM;
		}
	}
	return r;
}

int subset_services(struct subset_compare *c, enum operation op)
{
	struct service_words w = { 0 };
	int r = add_services(&w, &c->a);

	if (r == 0)
		r = add_services(&w, &c->b);
	if (r == 0)
		r = subset_each_source(c, op, add_service_rule, &w);
	if (r == 0)
		r = subset_words_add(&w.names, &w.arena, c->fresh);
	if (r == 0)
		r = subset_words_add(&w.values, &w.arena, c->fresh);
	if (r == 0 && w.names.n * w.values.n > TRIES_TIMES_RULES_MAX / (w.n_rules + 1))
		r = -E2BIG;
	for (size_t i = 0; r == 0 && i < w.names.n; i++)
		r = try_service(c, &w, w.names.items[i]);
	if (r == -E2BIG || (r == 0 && (w.wild || w.several)))
		r = subset_too_complex(c, "services with wildcards or several scopes");
	arena_deinit(&w.arena);
	return r;
}
