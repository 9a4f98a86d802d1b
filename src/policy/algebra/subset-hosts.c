/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts. A name is told from another only by the names that patterns and guards mention, so one
 * representative of each class is enough: every mentioned name, a fresh name below each, and one
 * that lies below none. Addresses change class only at the ends of the mentioned prefixes, ports
 * only at the ends of ranges. All combinations are tried, up to a bound.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/baseline.h"
#include "policy/network/host.h"
#include "policy/algebra/internal.h"

enum { TRIES_MAX = 400000, PORTS_MAX = 512, HOSTS_MAX = 8192 };

struct candidates {
	struct arena arena;
	const char *fresh;
	const char **hosts; /* as text, "[::1]" and so on */
	size_t n_hosts, cap_hosts;
	uint16_t ports[PORTS_MAX];
	size_t n_ports;
	const char **sockets;
	size_t n_sockets, cap_sockets;
	bool fine;
};

static int subset_hosts_add_host(struct candidates *c, const char *text)
{
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_hosts; i++) {
		if (strcmp(c->hosts[i], text) == 0)
			return 0;
	}
	if (c->n_hosts >= HOSTS_MAX)
		return -E2BIG;
	return ARENA_PUSH(&c->arena, c->hosts, c->n_hosts, c->cap_hosts, text);
}

static int subset_hosts_add_name(struct candidates *c, const char *name)
{
	int r = subset_hosts_add_host(c, arena_strdup(&c->arena, name));

	return r < 0 ? r
		     : subset_hosts_add_host(c, arena_printf(&c->arena, "%s.%s", c->fresh, name));
}

static int subset_hosts_add_address(struct candidates *c, const struct address *a)
{
	auto_buffer text = { 0 };

	if (a->bits == 128)
		buffer_addc(&text, '[');
	address_print(a, &text);
	if (a->bits == 128)
		buffer_addc(&text, ']');
	return text.failed ? -ENOMEM
			   : subset_hosts_add_host(c, arena_strdup(&c->arena, buffer_text(&text)));
}

/* The address before or behind; wraps around at the ends, which does no harm. */
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

static int subset_hosts_add_prefix(struct candidates *c, const struct prefix *p)
{
	struct address first = p->address, last = p->address, all[4];

	for (unsigned bit = p->length; bit < last.bits; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	all[0] = first;
	all[1] = last;
	all[2] = neighbour(first, -1);
	all[3] = neighbour(last, 1);
	for (size_t i = 0; i < 4; i++) {
		int r = subset_hosts_add_address(c, &all[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int subset_hosts_add_port(struct candidates *c, unsigned port)
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

static int subset_hosts_add_ports(struct candidates *c, const struct host_pattern *p)
{
	const unsigned ends[] = { p->port_lo, p->port_hi, p->port_lo - 1u, p->port_hi + 1u };

	for (size_t i = 0; i < 4; i++) {
		int r = subset_hosts_add_port(c, ends[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int subset_hosts_add_pattern(struct candidates *c, const struct host_pattern *p)
{
	int r = 0;

	c->fine |= p->n_url_paths > 0 || p->methods != 0;
	switch (p->kind) {
	case HOST_NAME:
	case HOST_SUBDOMAINS:
		r = subset_hosts_add_name(c, p->name);
		break;
	case HOST_PREFIX:
		r = subset_hosts_add_prefix(c, &p->prefix);
		break;
	case HOST_SOCKET:
		return ARENA_PUSH(&c->arena, c->sockets, c->n_sockets, c->cap_sockets, p->name);
	case HOST_ANY:
		break;
	}
	return r < 0 ? r : subset_hosts_add_ports(c, p);
}

static int subset_hosts_add_layer(struct candidates *c, const struct layer *l)
{
	const struct sources *s = &l->sources[OPERATION_NET_CONNECT];

	for (size_t i = 0; i < s->n; i++) {
		const struct grant *g = s->items[i].grant;

		c->fine |= s->items[i].methods && s->items[i].methods->n;
		for (size_t k = 0; k < g->n; k++) {
			struct host_pattern p;
			int r = host_pattern_parse(&p, &c->arena, g->all[k], NULL, NULL);

			if (r == 0)
				r = subset_hosts_add_pattern(c, &p);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* What is there whatever the patterns say. */
static int add_fixed(struct candidates *c)
{
	const struct address loopback = { .bits = 32, .bytes = { 127, 0, 0, 1 } };
	int r = subset_hosts_add_host(c, arena_printf(&c->arena, "%s.%s", c->fresh, c->fresh));

	if (r == 0)
		r = subset_hosts_add_host(c, "8.8.4.4");
	if (r == 0)
		r = subset_hosts_add_address(c, &loopback);
	if (r == 0)
		r = subset_hosts_add_port(c, 0);
	if (r == 0)
		r = subset_hosts_add_port(c, 65535);
	for (size_t i = 0; r == 0 && i < baseline_n_nets; i++)
		r = baseline_nets[i].name ? subset_hosts_add_name(c, baseline_nets[i].name)
					  : subset_hosts_add_prefix(c, &baseline_nets[i].prefix);
	return r;
}

static int subset_hosts_add_side(struct candidates *c, const struct subset_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		int r = subset_hosts_add_layer(c, policy_layer(side->policy, i));

		if (r < 0)
			return r;
	}
	return 0;
}

static int subset_hosts_try_one(struct subset_compare *c, const char *host, unsigned port, bool udp)
{
	char target[HOST_NAME_BYTES + 32];
	struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	int n = snprintf(target, sizeof(target), "%s%s", udp ? "udp://" : "", host);

	if (port && n > 0 && (size_t)n < sizeof(target))
		(void)snprintf(target + n, sizeof(target) - (size_t)n, ":%u", port);
	return subset_try(c, &r);
}

static int try_hosts(struct subset_compare *c, const struct candidates *all)
{
	if (all->n_hosts * all->n_ports * 2 > TRIES_MAX)
		return -E2BIG;
	for (size_t h = 0; h < all->n_hosts; h++) {
		for (size_t p = 0; p < all->n_ports; p++) {
			int r = subset_hosts_try_one(c, all->hosts[h], all->ports[p], false);

			if (r == 0)
				r = subset_hosts_try_one(c, all->hosts[h], all->ports[p], true);
			if (r)
				return r;
		}
	}
	return 0;
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
	struct candidates all = { .fresh = c->fresh };
	int r = add_fixed(&all);

	(void)op;
	if (r == 0)
		r = subset_hosts_add_side(&all, &c->a);
	if (r == 0)
		r = subset_hosts_add_side(&all, &c->b);
	if (r == 0)
		r = try_hosts(c, &all);
	if (r == 0)
		r = try_sockets(c, &all);
	/* Paths and methods of URLs have no finite set of classes to try. */
	if (r == -E2BIG || (r == 0 && all.fine))
		r = subset_too_complex(
			c, all.fine ? "network patterns with URL paths or methods" : "net.connect");
	arena_deinit(&all.arena);
	return r;
}
