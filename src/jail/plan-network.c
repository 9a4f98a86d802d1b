/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All or nothing, until hosts are held by a relay. Nothing is granted if one layer grants nothing.
 * The host's network is given only if every layer names every host and port, denies none, and the
 * policy answers yes for a sample of all kinds of addresses. What lies between is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jail/plan-part.h"
#include "policy/host.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static bool is_about_hosts(const struct rule *rule)
{
	return !rule->disabled && rule->operations >> OPERATION_NET_CONNECT & 1;
}

/* Layers that only watch, or allow what nobody denies. */
static bool allows_by_default(const struct permissions *l)
{
	return l->mode != MODE_ENFORCE || l->fallback == VERDICT_ALLOW;
}

static bool grants_nothing(const struct permissions *l)
{
	for (size_t i = 0; i < l->n_rules; i++) {
		if (is_about_hosts(&l->rules[i]) && l->rules[i].action == VERDICT_ALLOW)
			return false;
	}
	return l->network_allow.n == 0 && !allows_by_default(l);
}

/* The pattern stands for any host on any port, over tcp or udp: sets a bit in *seen. */
static int look_at_grant(struct planner *p, const struct grant *g, unsigned *seen)
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
static int is_open(struct planner *p, const struct permissions *l, bool *ret)
{
	const unsigned both = 1U << TRANSPORT_TCP | 1U << TRANSPORT_UDP;
	unsigned seen = allows_by_default(l) ? both : 0;
	bool narrowed = l->network_deny.n > 0 || l->network.methods.n > 0 ||
			l->network.rate.count > 0 || l->network.max_bytes != LIMIT_NONE;
	int r = 0;

	for (size_t i = 0; i < l->n_rules; i++)
		narrowed = narrowed || is_about_hosts(&l->rules[i]);
	for (size_t i = 0; r == 0 && i < l->network_allow.n; i++)
		r = look_at_grant(p, &l->network_allow.items[i], &seen);
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

	for (size_t i = 0; i < n * N(forms); i++) {
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

/* The first thing that a person can change. */
static const struct grant *first_grant(const struct permissions *l)
{
	for (size_t i = 0; i < l->n_rules; i++) {
		if (is_about_hosts(&l->rules[i]) && l->rules[i].patterns.n > 0)
			return &l->rules[i].patterns.items[0];
	}
	if (l->network_deny.n > 0)
		return &l->network_deny.items[0];
	return l->network_allow.n > 0 ? &l->network_allow.items[0] : NULL;
}

static int refuse(struct planner *p, const struct permissions *l, const char *why)
{
	const struct grant *g = l ? first_grant(l) : NULL;

	(void)error_set(p->error, -EOPNOTSUPP, g ? &g->where : NULL, "%s%s%s", g ? g->all[0] : "",
		g ? ": " : "", why);
	error_hint(p->error,
		"grant no host; or all of them, private ranges too, as the agent modes "
		"do (corral run --mode sandbox)");
	return -EOPNOTSUPP;
}

static int take_host_network(struct planner *p)
{
	p->plan->network = PLAN_NETWORK_HOST;
	return plan_add_note(p, NULL,
		"commands use the host's network as it is: private addresses and those of cloud "
		"metadata are not kept from them");
}

/* listen counts if every layer grants some. */
static int check_listen(struct planner *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_layers; i++)
		n += p->layers[i]->listen.n > 0;
	if (n == 0 || n < p->n_layers)
		return 0;
	(void)error_set(p->error, -EOPNOTSUPP, &p->layers[0]->listen.items[0].where,
		"listen: ports are not opened to the outside yet");
	error_hint(p->error, "leave it out: servers inside can be reached from inside");
	return -EOPNOTSUPP;
}

int plan_network_decide(struct planner *p)
{
	int r = check_listen(p);

	if (r < 0 || p->n_layers == 0)
		return r;
	for (size_t i = 0; i < p->n_layers; i++) {
		if (grants_nothing(p->layers[i]))
			return 0;
	}
	for (size_t i = 0; i < p->n_layers; i++) {
		bool open;

		r = is_open(p, p->layers[i], &open);
		if (r < 0)
			return r;
		if (!open)
			return refuse(p, p->layers[i], "single hosts are not held yet in a jail");
	}
	if (!all_allowed(p, public_hosts, N(public_hosts)))
		return refuse(p, p->layers[0], "single hosts are not held yet in a jail");
	if (!p->options->public_is_open && !all_allowed(p, private_hosts, N(private_hosts)))
		return refuse(p, p->layers[0],
			"private addresses cannot be kept from commands yet where public ones are "
			"granted");
	return take_host_network(p);
}
