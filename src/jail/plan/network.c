/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is granted if one layer grants nothing. The host's own network is given only if every
 * layer names every host and port, denies none, and the policy answers yes for a sample of all
 * kinds of addresses. What lies between is held by a relay (net/relay.h), which asks the policy
 * each time.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/plan/internal.h"
#include "policy/network/host.h"

bool plan_network_is_about_hosts(const struct rule *rule)
{
	return !rule->disabled && rule->operations >> OPERATION_NET_CONNECT & 1;
}

bool plan_network_allows_by_default(const struct permissions *l)
{
	return l->mode != MODE_ENFORCE || l->fallback == VERDICT_ALLOW;
}

static bool grants_nothing(const struct permissions *l)
{
	for (size_t i = 0; i < l->n_rules; i++) {
		if (plan_network_is_about_hosts(&l->rules[i]) &&
			l->rules[i].action == VERDICT_ALLOW)
			return false;
	}
	return l->network_allow.n == 0 && !plan_network_allows_by_default(l);
}

/* The pattern stands for any host on any port, over tcp or udp: sets a bit in *seen. */
static int plan_network_look_at_grant(struct planner *p, const struct grant *g, unsigned *seen)
{
	struct host_pattern h;
	int r;

	if (g->n != 1)
		return 0;
	r = host_pattern_parse(&h, &p->arena, g->all[0], &g->where, p->error);
	if (r == 0 && h.kind == HOST_ANY && h.port_lo <= 1 && h.port_hi == UINT16_MAX &&
		h.n_url_paths == 0 && h.methods == 0)
		*seen |= 1U << h.transport;
	return r;
}

/* Every host and port, and nothing taken away again. */
static int plan_network_is_open(struct planner *p, const struct permissions *l, bool *ret)
{
	const unsigned both = 1U << TRANSPORT_TCP | 1U << TRANSPORT_UDP;
	unsigned seen = plan_network_allows_by_default(l) ? both : 0;
	bool narrowed = l->network_deny.n > 0 || l->network.methods.n > 0 ||
			l->network.rate.count > 0 || l->network.max_bytes != LIMIT_NONE;
	int r = 0;

	for (size_t i = 0; i < l->n_rules; i++)
		narrowed = narrowed || plan_network_is_about_hosts(&l->rules[i]);
	for (size_t i = 0; r == 0 && i < l->network_allow.n; i++)
		r = plan_network_look_at_grant(p, &l->network_allow.items[i], &seen);
	*ret = !narrowed && seen == both;
	return r;
}

static const char *const public_hosts[] = { "corral.example.com", "example.org", "93.184.216.34",
	"[2606:2800:220:1::1]" };
static const char *const private_hosts[] = { "localhost", "127.0.0.1", "10.1.2.3", "172.16.0.1",
	"192.168.1.1", "100.64.0.1", "169.254.1.1", "224.0.0.251", "[::1]", "[fd00::1]",
	"[fe80::1]" };

static bool all_allowed(const struct planner *p, const char *const *hosts, size_t n)
{
	static const struct {
		const char *scheme;
		unsigned port;
	} forms[] = { { "", 1 }, { "", 22 }, { "", 443 }, { "", 65535 }, { "udp://", 53 } };

	for (size_t i = 0; i < n * ROWS(forms); i++) {
		char target[128];
		struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
		struct decision d;

		(void)snprintf(target, sizeof(target), "%s%s:%u", forms[i / n].scheme, hosts[i % n],
			forms[i / n].port);
		if (policy_decide(p->policy, &r, &d) < 0 || d.verdict != VERDICT_ALLOW)
			return false;
	}
	return true;
}

static int take_host_network(struct planner *p)
{
	p->plan->network = PLAN_NETWORK_HOST;
	return plan_add_note(p, NULL,
		"commands use the host's network as it is: private addresses and those of cloud "
		"metadata are not kept from them");
}

/* Ports to publish: those that every layer lists. */

static bool plan_network_has_port(const struct permissions *l, const char *port)
{
	for (size_t i = 0; i < l->listen.n; i++)
		if (strcmp(l->listen.items[i].all[0], port) == 0)
			return true;
	return false;
}

static bool plan_network_is_taken(const struct plan *plan, unsigned long port)
{
	for (size_t i = 0; i < plan->n_ports; i++)
		if (plan->ports[i] == port)
			return true;
	return false;
}

static int plan_network_add_port(struct planner *p, const struct grant *g)
{
	struct plan *plan = p->plan;
	char *end;
	unsigned long port = strtoul(g->all[0], &end, 10);

	if (!isdigit((unsigned char)g->all[0][0]) || *end != '\0' || port == 0 || port > UINT16_MAX)
		return error_set(p->error, -EINVAL, &g->where, "listen: %s is no port", g->all[0]);
	if (plan_network_is_taken(plan, port))
		return 0;
	if (plan->n_ports == PLAN_PORTS_MAX)
		return error_set(p->error, -E2BIG, &g->where,
			"listen: more than %d ports cannot be published", PLAN_PORTS_MAX);
	plan->ports[plan->n_ports++] = (uint16_t)port;
	return 0;
}

static int take_ports(struct planner *p)
{
	const struct grant_list *first = &p->layers[0]->listen;
	int r = 0;

	for (size_t i = 0; r == 0 && i < first->n; i++) {
		size_t n = 0;

		while (n < p->n_layers &&
			plan_network_has_port(p->layers[n], first->items[i].all[0]))
			n++;
		r = n == p->n_layers ? plan_network_add_port(p, &first->items[i]) : 0;
	}
	return r;
}

/*
 * Ports of the host's loopback. Inside, 127.0.0.1 and ::1 are the sandbox's own; only where some
 * layer names them the relay is asked, which takes a server inside if there is one.
 */

static const struct prefix loopback_4 = { .address = { .bits = 32, .bytes = { 127 } },
	.length = 8 };
static const struct prefix loopback_6 = { .address = { .bits = 128, .bytes = { [15] = 1 } },
	.length = 128 };

static bool is_local_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return strcmp(dot ? dot + 1 : name, "localhost") == 0;
}

bool plan_network_is_loopback(const struct host_pattern *h)
{
	if (h->transport != TRANSPORT_TCP)
		return false;
	if (h->kind == HOST_NAME || h->kind == HOST_SUBDOMAINS)
		return is_local_name(h->name);
	return h->kind == HOST_PREFIX && (prefix_contains(&loopback_4, &h->prefix) ||
						 prefix_contains(&loopback_6, &h->prefix));
}

static uint16_t families_of(const struct host_pattern *h)
{
	if (h->kind != HOST_PREFIX)
		return PLAN_FAMILY_4 | PLAN_FAMILY_6;
	return h->prefix.address.bits == 32 ? PLAN_FAMILY_4 : PLAN_FAMILY_6;
}

static bool plan_network_contains(const struct plan_range *a, const struct plan_range *b)
{
	return a->lo <= b->lo && a->hi >= b->hi && (a->families & b->families) == b->families;
}

static void add_range(struct plan *plan, const struct host_pattern *h)
{
	struct plan_range range = { h->port_lo ? h->port_lo : 1, h->port_hi, families_of(h) };

	for (size_t i = 0; i < plan->n_loopback; i++)
		if (plan_network_contains(&plan->loopback[i], &range))
			return;
	/* More of them are taken for all: the policy is asked all the same. */
	if (plan->n_loopback == PLAN_RANGES_MAX) {
		plan->n_loopback = 0;
		range = (struct plan_range){ 1, UINT16_MAX, PLAN_FAMILY_4 | PLAN_FAMILY_6 };
	}
	plan->loopback[plan->n_loopback++] = range;
}

static int take_ranges_of(struct planner *p, const struct grant_list *grants)
{
	for (size_t i = 0; i < grants->n; i++) {
		const struct grant *g = &grants->items[i];
		struct host_pattern h;
		int r = host_pattern_parse(&h, &p->arena, g->all[0], &g->where, p->error);

		if (r < 0)
			return r;
		if (plan_network_is_loopback(&h))
			add_range(p->plan, &h);
	}
	return 0;
}

static int take_ranges(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_layers; i++) {
		const struct permissions *l = p->layers[i];

		r = take_ranges_of(p, &l->network_allow);
		for (size_t k = 0; r == 0 && k < l->n_rules; k++)
			if (plan_network_is_about_hosts(&l->rules[k]))
				r = take_ranges_of(p, &l->rules[k].patterns);
	}
	return r;
}

/* *ret: the host's network as it is would be no more than what was granted. */
static int judge_openness(struct planner *p, bool *ret)
{
	*ret = false;
	for (size_t i = 0; i < p->n_layers; i++) {
		bool open;
		int r = plan_network_is_open(p, p->layers[i], &open);

		if (r < 0 || !open)
			return r;
	}
	*ret = all_allowed(p, public_hosts, ROWS(public_hosts)) &&
	       (p->options->public_is_open || all_allowed(p, private_hosts, ROWS(private_hosts)));
	return 0;
}

static bool one_grants_nothing(const struct planner *p)
{
	for (size_t i = 0; i < p->n_layers; i++)
		if (grants_nothing(p->layers[i]))
			return true;
	return false;
}

int plan_network_decide(struct planner *p)
{
	bool open = false;
	int r = p->n_layers == 0 ? 0 : take_ports(p);

	if (r < 0 || p->n_layers == 0)
		return r;
	if (p->plan->n_ports > 0 || p->options->explain)
		p->plan->network = PLAN_NETWORK_RELAY;
	if (one_grants_nothing(p))
		return 0;
	r = judge_openness(p, &open);
	if (r < 0)
		return r;
	p->plan->network = PLAN_NETWORK_RELAY;
	/* Who listens on a granted socket is the relay. */
	if (open && p->n_doors == 0)
		return take_host_network(p);
	r = take_ranges(p);
	return r < 0 ? r : plan_literals_collect(p);
}
