/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is granted if one layer grants nothing. The host's own network is given only if every
 * layer names every host and port, denies none, and the policy answers yes for a sample of all
 * kinds of addresses. What lies between is held by a relay (net/relay.h), which asks the policy
 * each time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "jail/plan/internal.h"

static bool plan_network_is_about_hosts(const struct rule *rule)
{
	return plan_is_about(rule, 1 << OPERATION_NET_CONNECT);
}

/* Layers that only watch, or allow what no entry denies. */
static bool plan_network_allows_by_default(const struct permissions *l)
{
	return l->mode != MODE_ENFORCE || l->fallback == VERDICT_ALLOW;
}

int plan_network_each(struct planner *p, const struct permissions *l, bool allowing,
	plan_network_grant *one, void *data)
{
	int r = 0;

	for (size_t k = 0; r == 0 && k < l->network_private.n; k++)
		r = one(p, &l->network_private.items[k], data);
	for (size_t i = 0; i <= l->n_rules; i++) {
		const struct rule *rule = i > 0 ? &l->rules[i - 1] : NULL;
		const struct grant_list *list = rule ? &rule->patterns : &l->network_allow;

		if (rule && (!plan_network_is_about_hosts(rule) ||
				    (allowing && rule->action != VERDICT_ALLOW)))
			continue;
		for (size_t k = 0; r == 0 && k < list->n; k++)
			r = one(p, &list->items[k], data);
	}
	return r;
}

static bool plan_network_one_grants_nothing(const struct planner *p)
{
	for (size_t i = 0; i < p->n_layers; i++) {
		const struct permissions *l = p->layers[i];
		bool grants = l->network_allow.n > 0 || l->network_private.n > 0 ||
			      plan_network_allows_by_default(l);

		for (size_t k = 0; !grants && k < l->n_rules; k++)
			grants = plan_network_is_about_hosts(&l->rules[k]) &&
				 l->rules[k].action == VERDICT_ALLOW;
		if (!grants)
			return true;
	}
	return false;
}

/* Every host and port over tcp and udp, and nothing taken away again. */
static int plan_network_is_open(struct planner *p, const struct permissions *l, bool *ret)
{
	const unsigned both = 1U << TRANSPORT_TCP | 1U << TRANSPORT_UDP;
	unsigned seen = plan_network_allows_by_default(l) ? both : 0;
	bool narrowed = l->network_deny.n > 0 || l->network.methods.n > 0 ||
			l->network.rate.count > 0 || l->network.max_bytes != LIMIT_NONE;

	for (size_t i = 0; i < l->n_rules; i++)
		narrowed = narrowed || plan_network_is_about_hosts(&l->rules[i]);
	for (size_t i = 0; i < l->network_allow.n; i++) {
		const struct grant *g = &l->network_allow.items[i];
		struct host_pattern h;
		int r;

		if (g->n != 1)
			continue;
		r = host_pattern_parse(&h, &p->arena, g->all[0], &g->where, p->error);
		if (r < 0)
			return r;
		if (h.kind == HOST_ANY && h.port_lo <= 1 && h.port_hi == UINT16_MAX &&
			h.n_url_paths == 0 && h.methods == 0)
			seen |= 1U << h.transport;
	}
	*ret = !narrowed && seen == both;
	return 0;
}

static const char *const public_hosts[] = { "corral.example.com", "example.org", "93.184.216.34",
	"[2606:2800:220:1::1]" };
static const char *const private_hosts[] = { "localhost", "127.0.0.1", "10.1.2.3", "172.16.0.1",
	"192.168.1.1", "100.64.0.1", "169.254.1.1", "224.0.0.251", "[::1]", "[fd00::1]",
	"[fe80::1]" };

static bool plan_network_all_allowed(const struct planner *p, const char *const *hosts, size_t n)
{
	static const struct {
		const char *scheme;
		unsigned port;
	} forms[] = { { "", 1 }, { "", 22 }, { "", 443 }, { "", 65535 }, { "udp://", 53 } };

	for (size_t i = 0; i < n * ROWS(forms); i++) {
		char target[128];
		struct request r = { .op = OPERATION_NET_CONNECT, .target = target };

		(void)snprintf(target, sizeof(target), "%s%s:%u", forms[i / n].scheme, hosts[i % n],
			forms[i / n].port);
		if (!policy_allows(p->policy, &r))
			return false;
	}
	return true;
}

/* Ports to publish: those that every layer lists. */

static int plan_network_add_port(struct planner *p, const struct grant *g)
{
	struct plan *plan = p->plan;
	struct listen_entry l;
	int r = listen_parse(g->all[0], &l, &g->where, p->error);

	if (r < 0)
		return r;
	for (size_t i = 0; i < plan->n_ports; i++) {
		const struct listen_entry *other = &plan->ports[i];

		if (listen_compare(other, &l) == 0)
			return 0;
		if (other->port == l.port && address_equal(&other->host, &l.host))
			return error_set(p->error, -EINVAL, &g->where,
				"listen: %s: port %u is already published for port %u of the "
				"sandbox",
				g->all[0], l.port, other->inner);
	}
	if (plan->n_ports == PLAN_PORTS_MAX)
		return error_set(p->error, -E2BIG, &g->where,
			"listen: at most %d ports can be published", PLAN_PORTS_MAX);
	plan->ports[plan->n_ports++] = l;
	return 0;
}

static bool plan_network_lists(const struct permissions *l, const char *port)
{
	for (size_t i = 0; i < l->listen.n; i++)
		if (strcmp(l->listen.items[i].all[0], port) == 0)
			return true;
	return false;
}

static int plan_network_take_ports(struct planner *p)
{
	const struct grant_list *first = &p->layers[0]->listen;
	int r = 0;

	for (size_t i = 0; r == 0 && i < first->n; i++) {
		size_t n = 0;

		while (n < p->n_layers && plan_network_lists(p->layers[n], first->items[i].all[0]))
			n++;
		r = n == p->n_layers ? plan_network_add_port(p, &first->items[i]) : 0;
	}
	return r;
}

/*
 * Ports of the host's loopback. Inside, 127.0.0.1 and ::1 are the sandbox's own; only where some
 * layer names them the relay is asked, which takes a server inside if there is one.
 */

static bool plan_network_is_loopback(const struct host_pattern *h)
{
	static const struct prefix loopback_4 = { .address = { .bits = 32, .bytes = { 127 } },
		.length = 8 };
	static const struct prefix loopback_6 = { .address = { .bits = 128, .bytes = { [15] = 1 } },
		.length = 128 };

	if (h->transport != TRANSPORT_TCP)
		return false;
	if (h->kind == HOST_NAME || h->kind == HOST_SUBDOMAINS) {
		const char *dot = strrchr(h->name, '.');

		return strcmp(dot ? dot + 1 : h->name, "localhost") == 0;
	}
	return h->kind == HOST_PREFIX && (prefix_contains(&loopback_4, &h->prefix) ||
						 prefix_contains(&loopback_6, &h->prefix));
}

static void plan_network_add_range(struct plan *plan, const struct host_pattern *h)
{
	const uint16_t both = PLAN_FAMILY_4 | PLAN_FAMILY_6;
	struct plan_range range = { h->port_lo ? h->port_lo : 1, h->port_hi, both };

	if (h->kind == HOST_PREFIX)
		range.families = h->prefix.address.bits == 32 ? PLAN_FAMILY_4 : PLAN_FAMILY_6;
	for (size_t i = 0; i < plan->n_loopback; i++) {
		const struct plan_range *other = &plan->loopback[i];

		if (other->lo <= range.lo && other->hi >= range.hi &&
			(other->families & range.families) == range.families)
			return;
	}
	/* More of them are taken for all: the policy is asked all the same. */
	if (plan->n_loopback == PLAN_RANGES_MAX) {
		plan->n_loopback = 0;
		range = (struct plan_range){ 1, UINT16_MAX, both };
	}
	plan->loopback[plan->n_loopback++] = range;
}

static int plan_network_take_range(struct planner *p, const struct grant *g, void *data)
{
	struct host_pattern h;
	int r = host_pattern_parse(&h, &p->arena, g->all[0], &g->where, p->error);

	(void)data;
	if (r == 0 && plan_network_is_loopback(&h))
		plan_network_add_range(p->plan, &h);
	return r;
}

/*
 * For kernels without nf_tables. There the relay can only listen at places that are known one by
 * one: at the ports of a name once its address was asked for, and at addresses that are granted
 * themselves. What the policy allows is no more than what each of its layers does, so it is enough
 * if one of them names nothing but such places.
 *
 * Whether the kernel is such a one is not known when a plan is made. So the plan has both: the
 * addresses, and the sentence to refuse it with if they are not all.
 */

enum { PORTS_MAX = 16 }; /* of one pattern */

/* What of a layer cannot be listened at. */
struct network_obstacle {
	const char *text; /* the pattern; NULL: what no entry denies */
	const char *why;
	const struct location *where;
};

/* NULL: single places. */
static const char *plan_network_find_reason(const struct host_pattern *h)
{
	if (h->transport == TRANSPORT_UNIX)
		return NULL;
	if (h->transport == TRANSPORT_UDP)
		return "datagrams cannot be captured";
	if (h->kind == HOST_ANY)
		return "only hosts that are listed by name can be captured";
	if (h->kind == HOST_PREFIX && h->prefix.length < h->prefix.address.bits)
		return "only single addresses can be captured";
	if (plan_network_is_loopback(h))
		return "the host's loopback cannot be reached";
	if (h->port_hi - h->port_lo >= PORTS_MAX)
		return "at most 16 ports of a host can be captured";
	return NULL;
}

/* -E2BIG: there are too many. */
static int plan_network_take_literals(struct planner *p, const struct host_pattern *h)
{
	struct plan *plan = p->plan;

	for (unsigned port = h->port_lo; port <= h->port_hi; port++) {
		const struct plan_literal l = { address_plain(&h->prefix.address), (uint16_t)port };
		size_t i = 0;

		while (i < plan->n_literals &&
			(plan->literals[i].port != l.port ||
				!address_equal(&plan->literals[i].address, &l.address)))
			i++;
		if (i < plan->n_literals)
			continue;
		if (plan->n_literals == PLAN_LITERALS_MAX)
			return -E2BIG;
		if (ARENA_PUSH(&plan->arena, plan->literals, plan->n_literals, plan->cap_literals,
			    l) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A grant of several patterns, which must all match, is as single as one of them. */
static int plan_network_take_grant(struct planner *p, const struct grant *g, void *data)
{
	struct network_obstacle *o = data;
	const char *why = NULL;

	if (o->why)
		return 0;
	for (size_t i = 0; i < g->n; i++) {
		struct host_pattern h;
		int r = host_pattern_parse(&h, &p->arena, g->all[i], &g->where, p->error);

		if (r < 0)
			return r;
		why = plan_network_find_reason(&h);
		if (why)
			continue;
		r = h.kind == HOST_PREFIX ? plan_network_take_literals(p, &h) : 0;
		/* Names by a pattern are as many as a command asks for. */
		if (h.kind == HOST_SUBDOMAINS)
			p->plan->n_listeners = PLAN_LISTENERS_MAX;
		if (h.kind == HOST_NAME)
			p->plan->n_listeners += (size_t)(h.port_hi - h.port_lo) + 1;
		if (p->plan->n_listeners > PLAN_LISTENERS_MAX)
			p->plan->n_listeners = PLAN_LISTENERS_MAX;
		if (r != -E2BIG)
			return r;
		why = "that makes more addresses than can be captured";
		break;
	}
	*o = (struct network_obstacle){ g->all[0], why, &g->where };
	return 0;
}

static int plan_network_collect_literals(struct planner *p)
{
	struct plan *plan = p->plan;
	struct network_obstacle o = { 0 };
	auto_buffer text = { 0 };
	struct error place = { 0 };
	const char *what;

	for (size_t i = 0; i < p->n_layers; i++) {
		int r;

		o = (struct network_obstacle){ 0 };
		plan->n_literals = plan->n_listeners = 0;
		r = plan_network_each(p, p->layers[i], true, plan_network_take_grant, &o);
		if (r == 0 && !o.why && plan_network_allows_by_default(p->layers[i]))
			o.why = "only hosts that are listed by name can be captured";
		if (r < 0 || !o.why)
			return r;
	}
	plan->n_literals = plan->n_listeners = 0;
	/* Printed by hand: an error's text is shortened where memory ends, and does not tell. */
	what = o.text ? o.text : "a layer that allows every host by default";
	(void)error_set(&place, 0, o.where, "%s", "");
	error_print(&place, &text);
	buffer_add_visible(&text, what, strlen(what));
	buffer_printf(&text, " cannot be enforced: this kernel lacks nf_tables, and without it %s",
		o.why);
	plan->unheld = text.failed ? NULL : arena_strdup(&plan->arena, buffer_text(&text));
	return plan->unheld ? 0 : -ENOMEM;
}

/* Nothing is granted yet: a relay that refuses until it gets other permissions. */
static int plan_network_await(struct planner *p)
{
	int r = 0;

	p->plan->network = PLAN_NETWORK_RELAY;
	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_network_each(p, p->layers[i], false, plan_network_take_range, NULL);
	return r;
}

int plan_network_decide(struct planner *p)
{
	bool open = true;
	int r = p->n_layers == 0 ? 0 : plan_network_take_ports(p);

	p->plan->ask_ms = p->options->asks_hosts ? p->options->ask_ms : 0;
	p->plan->reaches_nothing =
		!p->options->asks_hosts && (p->n_layers == 0 || plan_network_one_grants_nothing(p));
	if (r < 0 || p->n_layers == 0)
		return r;
	if (p->plan->n_ports > 0 || p->options->explain)
		p->plan->network = PLAN_NETWORK_RELAY;
	if (plan_network_one_grants_nothing(p))
		return p->options->asks_hosts ? plan_network_await(p) : 0;
	for (size_t i = 0; r == 0 && open && i < p->n_layers; i++)
		r = plan_network_is_open(p, p->layers[i], &open);
	if (r < 0)
		return r;
	/* The host's network as it is would be no more than what was granted. */
	open = open && plan_network_all_allowed(p, public_hosts, ROWS(public_hosts)) &&
	       (p->options->public_is_open ||
		       plan_network_all_allowed(p, private_hosts, ROWS(private_hosts)));
	/* Who listens on a granted socket is the relay. */
	if (open && p->n_doors == 0 && !p->options->lends) {
		p->plan->network = PLAN_NETWORK_HOST;
		return plan_add_note(p, NULL,
			"commands use the host's network directly: private addresses and cloud "
			"metadata are not blocked");
	}
	p->plan->network = PLAN_NETWORK_RELAY;
	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_network_each(p, p->layers[i], false, plan_network_take_range, NULL);
	return r < 0 ? r : plan_network_collect_literals(p);
}
