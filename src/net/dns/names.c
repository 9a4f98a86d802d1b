/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a name may be connected to depends on the port, and a query has no port yet. So ports
 * are tried, and which ones is known beforehand. For one name and one transport, go up through the
 * ports: where the policy begins to allow, either a pattern that allows begins, or one that forbids
 * or asks has just ended, or it is port 1. So these are the *candidates*, kept with the host that
 * their pattern is about,
 *
 *     the lowest port of each pattern that allows
 *     the port after the highest one of each pattern that does not
 *
 * and a name is granted if one of the candidates of its own name, of *.parent for each of its
 * parents, and of `*` is allowed; what `*` has for everybody are the ports 443, 80 and 1 too, since
 * a layer may allow by default. The policy itself decides, so nothing is granted here that it would
 * not allow. At most TRIES_MAX are tried, nearest host first: what a policy with more of them for
 * one name would allow only at a later one does not exist.
 *
 * Candidates are sorted by host, and a hash table with a secret key leads from a host to its first.
 * It also has the ancestors of what is allowed, which have no candidates.
 */
#include "net/dns/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "policy/network/host.h"

enum {
	TRIES_MAX = 64,
	PORT_TRIES_MAX = 512,
	PORT_COMMON = 443,
	TARGET_BYTES = HOST_NAME_BYTES + 16
};

/* By what the patterns say: "NAME", "*.NAME", or "*", whose name is "". */
enum dns_place { PLACE_EXACT, PLACE_BELOW, PLACE_ANCESTOR, PLACE_ANY };

struct names_candidate {
	const char *name;
	enum dns_place place;
	bool forbids; /* of a pattern that does: tried after the others */
	enum transport transport;
	uint16_t port; /* 0 for ancestors */
	uint16_t last; /* of a pattern that allows: its highest port */
};

/* All about one host; empty if there is no name. */
struct names_slot {
	uint64_t hash;
	const char *name;
	uint32_t at[PLACE_ANY], n[PLACE_ANY];
};

struct dns_names {
	const struct policy *policy;
	bool asks; /* TCP that the policy asks about is as good as allowed */
	struct hash_key key;
	struct arena arena;
	struct names_candidate *candidates;
	size_t n, cap;
	size_t any; /* where those for every name begin; they are the last */
	struct names_slot *slots;
	size_t mask;
};

/* Collecting */

static int names_add(struct dns_names *n, struct names_candidate c)
{
	return ARENA_PUSH(&n->arena, n->candidates, n->n, n->cap, c);
}

static bool names_is_enough(const struct dns_names *n, enum transport transport, enum verdict v)
{
	return v == VERDICT_ALLOW || (v == VERDICT_ASK && n->asks && transport == TRANSPORT_TCP);
}

static int names_add_pattern(
	struct dns_names *n, const struct host_pattern *p, enum verdict verdict)
{
	const bool allows = names_is_enough(n, p->transport, verdict);
	struct names_candidate c = {
		.name = p->kind == HOST_ANY ? "" : p->name,
		.place = p->kind == HOST_NAME         ? PLACE_EXACT
			 : p->kind == HOST_SUBDOMAINS ? PLACE_BELOW
						      : PLACE_ANY,
		.forbids = !allows,
		.transport = p->transport,
	};
	const char *parent = NULL;
	int r = 0;

	if (p->kind != HOST_NAME && p->kind != HOST_SUBDOMAINS && p->kind != HOST_ANY)
		return 0;
	/* What a rule asks about, where no user can be asked: for the record. */
	if (!allows && verdict == VERDICT_ASK) {
		c.forbids = false;
		c.port = c.last = p->port_lo;
		r = names_add(n, c);
		c.forbids = true;
	}
	if (r == 0 && (allows || p->port_hi < UINT16_MAX)) {
		c.port = allows ? p->port_lo : (uint16_t)(p->port_hi + 1);
		c.last = allows ? p->port_hi : c.port;
		r = names_add(n, c);
	}
	/* A name's parents; a name below which all is allowed is a parent too. */
	if (allows && c.place != PLACE_ANY)
		parent = c.place == PLACE_BELOW ? c.name : strchr(c.name, '.');
	for (; r == 0 && parent; parent = strchr(parent + 1, '.'))
		r = names_add(n, (struct names_candidate){ .name = parent + (*parent == '.'),
					 .place = PLACE_ANCESTOR });
	return r;
}

/* A source that must match several patterns begins to match where one of them does. */
static int names_add_source(struct dns_names *n, const struct source *s, struct error *e)
{
	struct host_pattern p;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->grant->n; i++) {
		r = host_pattern_parse(&p, &n->arena, s->grant->all[i], &s->grant->where, e);
		if (r == 0)
			r = names_add_pattern(n, &p, s->in->verdict);
	}
	return r;
}

/* Building */

static int names_compare(const void *x, const void *y)
{
	const struct names_candidate *a = x, *b = y;
	const int orders[] = {
		(a->place == PLACE_ANY) - (b->place == PLACE_ANY),
		strcmp(a->name, b->name),
		(int)a->place - (int)b->place,
		a->forbids - b->forbids,
		(int)a->transport - (int)b->transport,
		/* HTTPS is likelier than others to be the one that is meant. */
		(b->port == PORT_COMMON) - (a->port == PORT_COMMON),
		a->port - b->port,
		a->last - b->last,
	};
	size_t i = 0;

	while (i < ROWS(orders) - 1 && orders[i] == 0)
		i++;
	return orders[i];
}

/* The slot of a name, or the empty one where it belongs. */
static struct names_slot *names_find(const struct dns_names *n, uint64_t hash, const char *name)
{
	size_t i = hash & n->mask;

	while (n->slots[i].name &&
		(n->slots[i].hash != hash || strcmp(n->slots[i].name, name) != 0))
		i = (i + 1) & n->mask;
	return &n->slots[i];
}

static int names_fill_slots(struct dns_names *n)
{
	size_t size = 4;

	/* At most half full, so a search soon finds a gap. */
	while (size < 2 * n->any)
		size *= 2;
	n->slots = arena_calloc(&n->arena, size, sizeof(*n->slots));
	if (!n->slots)
		return -ENOMEM;
	n->mask = size - 1;
	for (size_t i = 0; i < n->any; i++) {
		const struct names_candidate *c = &n->candidates[i];
		uint64_t hash = host_name_hash(&n->key, c->name);
		struct names_slot *s = names_find(n, hash, c->name);

		s->hash = hash;
		s->name = c->name;
		if (s->n[c->place]++ == 0)
			s->at[c->place] = (uint32_t)i;
	}
	return 0;
}

static int names_build(struct dns_names *n, struct error *e)
{
	static const uint16_t common[] = { PORT_COMMON, 80, 1 };
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * ROWS(common); i++)
		r = names_add(n, (struct names_candidate){ .name = "",
					 .place = PLACE_ANY,
					 .transport = i % 2 ? TRANSPORT_UDP : TRANSPORT_TCP,
					 .port = common[i / 2],
					 .last = common[i / 2] });
	for (size_t i = 0; r == 0 && i < policy_layers(n->policy); i++) {
		const struct layer *l = policy_layer(n->policy, i);
		const struct sources *all = &l->sources[OPERATION_NET_CONNECT];

		for (size_t j = 0; r == 0 && j < all->n; j++)
			r = names_add_source(n, &all->items[j], e);
	}
	if (r < 0)
		return r == -ENOMEM ? error_no_memory(e) : r;
	qsort(n->candidates, n->n, sizeof(*n->candidates), names_compare);
	for (size_t i = 0; i < n->n; i++)
		if (kept == 0 || names_compare(&n->candidates[kept - 1], &n->candidates[i]) != 0)
			n->candidates[kept++] = n->candidates[i];
	n->n = kept;
	while (n->any < kept && n->candidates[n->any].place != PLACE_ANY)
		n->any++;
	if (n->n >= UINT32_MAX)
		return -E2BIG;
	return names_fill_slots(n) < 0 ? error_no_memory(e) : 0;
}

int names_new(struct dns_names **ret, const struct policy *p, bool asks, struct error *e)
{
	struct dns_names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return error_no_memory(e);
	n->policy = p;
	n->asks = asks;
	n->key = hash_key_make();
	r = names_build(n, e);
	if (r < 0) {
		names_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void names_free(struct dns_names *n)
{
	if (!n)
		return;
	arena_deinit(&n->arena);
	free(n);
}

/* Asking */

struct names_range {
	size_t at, n;
};

/*
 * The candidates of a name, the nearest last, since hashes come from the right: those for every
 * name, of *.parent, of its own. A name has at most 127 labels.
 */
struct names_path {
	struct names_range ranges[129];
	size_t n;
	const struct names_slot *own;
};

struct names_asking {
	const struct dns_names *names;
	const char *name;
	unsigned tries;
	bool decided;             /* `decision` is one that denies, for the record */
	struct decision decision; /* by TCP */
	uint16_t port;
};

/* is_meant: a pattern names this port, and not the one before it, which it forbids. */
static bool names_is_allowed(
	struct names_asking *a, enum transport transport, uint16_t port, bool is_meant)
{
	struct request r = { .op = OPERATION_NET_CONNECT };
	char target[TARGET_BYTES];
	struct decision d;

	(void)snprintf(target, sizeof(target), "%s%s:%u",
		transport == TRANSPORT_UDP ? "udp://" : "", a->name, port);
	r.target = target;
	a->tries++;
	if (policy_decide(a->names->policy, &r, &d) == 0 &&
		names_is_enough(a->names, transport, d.verdict))
		return true;
	if (!a->decided && is_meant && transport == TRANSPORT_TCP) {
		a->decided = true;
		a->decision = d;
		a->port = port;
	}
	return false;
}

static void names_find_path(const struct dns_names *n, const char *name, struct names_path *ret)
{
	size_t end = strlen(name);
	uint64_t hash = 0;

	*ret = (struct names_path){ .ranges[0] = { n->any, n->n - n->any }, .n = 1 };
	for (const char *dot = name; dot && ret->n < ROWS(ret->ranges);) {
		size_t start;
		enum dns_place place;

		dot = memrchr(name, '.', end);
		start = dot ? (size_t)(dot - name) + 1 : 0;
		place = dot ? PLACE_BELOW : PLACE_EXACT;
		hash = hash_keyed(&n->key, hash, name + start, end - start);
		ret->own = names_find(n, hash, name + start);
		ret->ranges[ret->n++] =
			(struct names_range){ ret->own->at[place], ret->own->n[place] };
		end = dot ? start - 1 : 0;
	}
}

/* A name, and in the form that names have here: 1.2.3.4 is none, whatever the policy says of it. */
static bool names_is_normal(const char *name)
{
	struct host_request r;

	return strnlen(name, HOST_NAME_BYTES) < HOST_NAME_BYTES &&
	       host_request_parse(&r, name, NULL) == 0 && r.transport != TRANSPORT_UNIX &&
	       !r.is_address && strcmp(r.name, name) == 0;
}

enum names_answer names_ask(const struct dns_names *n, const char *name,
	struct decision *ret_decision, uint16_t *ret_port)
{
	struct names_asking a = { .names = n,
		.name = name,
		.decision = { .why = DECISION_BAD_TARGET },
		.port = PORT_COMMON };
	bool ancestor = false;

	if (names_is_normal(name)) {
		struct names_path path;

		names_find_path(n, name, &path);
		for (size_t i = path.n; i-- > 0;) {
			const struct names_range *range = &path.ranges[i];

			for (size_t k = 0; k < range->n && a.tries < TRIES_MAX; k++) {
				const struct names_candidate *c = &n->candidates[range->at + k];

				if (names_is_allowed(&a, c->transport, c->port, !c->forbids))
					return NAMES_GRANTED;
			}
		}
		/* There were only others: this one is for the record. */
		if (!a.decided && names_is_allowed(&a, TRANSPORT_TCP, PORT_COMMON, true))
			return NAMES_GRANTED;
		ancestor = path.own->n[PLACE_ANCESTOR] > 0;
	}
	*ret_decision = a.decision;
	*ret_port = a.port;
	return ancestor ? NAMES_ANCESTOR : NAMES_NONE;
}

struct names_listing {
	struct names_asking asking;
	uint16_t *ports;
	int n; /* negative: too many */
};

static void names_list_port(struct names_listing *l, uint16_t port)
{
	for (int i = 0; i < l->n; i++)
		if (l->ports[i] == port)
			return;
	if (l->asking.tries == PORT_TRIES_MAX)
		l->n = -E2BIG;
	else if (names_is_allowed(&l->asking, TRANSPORT_TCP, port, true)) {
		if (l->n == NAMES_PORTS_MAX)
			l->n = -E2BIG;
		else
			l->ports[l->n++] = port;
	}
}

int names_ports(const struct dns_names *n, const char *name, uint16_t ret[NAMES_PORTS_MAX])
{
	struct names_listing l = { .asking = { .names = n, .name = name }, .ports = ret };
	struct names_path path;

	if (!names_is_normal(name))
		return 0;
	names_find_path(n, name, &path);
	for (size_t i = path.n; i-- > 0;) {
		const struct names_candidate *c = &n->candidates[path.ranges[i].at];

		for (const struct names_candidate *end = c + path.ranges[i].n; c < end; c++) {
			if (c->transport != TRANSPORT_TCP || c->last - c->port >= NAMES_RANGE_MAX)
				continue;
			for (unsigned port = c->port; l.n >= 0 && port <= c->last; port++)
				names_list_port(&l, (uint16_t)port);
		}
	}
	return l.n;
}
