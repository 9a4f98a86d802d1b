/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a name may be connected to depends on the port, and nobody has said a port yet. So ports
 * are tried, and which ones is known beforehand. For one name and one transport, go up through the
 * ports: where the policy begins to allow, either a pattern that allows begins, or one that forbids
 * or asks has just ended, or it is port 1. So these are the *candidates*, kept with the host that
 * their pattern is about,
 *
 *     the lowest port of each pattern that allows
 *     the port behind the highest one of each pattern that does not
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
#include "policy/network/host.h"
#include "policy/network/hostset-names.h"

enum {
	TRIES_MAX = 64,
	PORT_TRIES_MAX = 512,
	PORT_COMMON = 443,
	TARGET_BYTES = HOST_NAME_BYTES + 16
};

/* By what the patterns say: "NAME", "*.NAME", or "*", whose name is "". */
enum place { PLACE_EXACT, PLACE_BELOW, PLACE_ANCESTOR, PLACE_ANY };

struct candidate {
	const char *name;
	enum place place;
	bool forbids; /* of a pattern that does: tried after the others */
	enum transport transport;
	uint16_t port; /* 0 for ancestors */
	uint16_t last; /* of a pattern that allows: its highest port */
};

/* All about one host; empty if there is no name. */
struct slot {
	uint64_t hash;
	const char *name;
	uint32_t at[PLACE_ANY], n[PLACE_ANY];
};

struct names {
	const struct policy *policy;
	struct hostset_key key;
	struct arena arena;
	struct candidate *candidates;
	size_t n, cap;
	size_t any; /* where those for every name begin; they are the last */
	struct slot *slots;
	size_t mask;
};

/* Collecting */

static int names_add(struct names *n, struct candidate c)
{
	return ARENA_PUSH(&n->arena, n->candidates, n->n, n->cap, c);
}

/* A name's parents; a name below which all is allowed is a parent too. */
static int names_add_ancestors(struct names *n, const char *name, bool itself)
{
	const char *parent = itself ? name : strchr(name, '.');

	while (parent) {
		struct candidate c = { .name = parent + (*parent == '.'), .place = PLACE_ANCESTOR };
		int r = names_add(n, c);

		if (r < 0)
			return r;
		parent = strchr(c.name, '.');
	}
	return 0;
}

static bool names_place_of(const struct host_pattern *p, struct candidate *ret)
{
	ret->transport = p->transport;
	ret->name = p->kind == HOST_ANY ? "" : p->name;
	ret->place = p->kind == HOST_NAME         ? PLACE_EXACT
		     : p->kind == HOST_SUBDOMAINS ? PLACE_BELOW
						  : PLACE_ANY;
	return p->kind == HOST_NAME || p->kind == HOST_SUBDOMAINS || p->kind == HOST_ANY;
}

static int names_add_pattern(struct names *n, const struct host_pattern *p, bool allows)
{
	struct candidate c = { .forbids = !allows };
	int r = 0;

	if (!names_place_of(p, &c))
		return 0;
	if (allows || p->port_hi < UINT16_MAX) {
		c.port = allows ? p->port_lo : (uint16_t)(p->port_hi + 1);
		c.last = allows ? p->port_hi : c.port;
		r = names_add(n, c);
	}
	if (r == 0 && allows && c.place != PLACE_ANY)
		r = names_add_ancestors(n, c.name, c.place == PLACE_BELOW);
	return r;
}

/* A source that must match several patterns begins to match where one of them does. */
static int names_add_source(struct names *n, const struct source *s, struct error *e)
{
	for (size_t i = 0; i < s->grant->n; i++) {
		struct host_pattern p;
		int r = host_pattern_parse(&p, &n->arena, s->grant->all[i], &s->where, e);

		if (r == 0)
			r = names_add_pattern(n, &p, s->verdict == VERDICT_ALLOW);
		if (r < 0)
			return r;
	}
	return 0;
}

static int names_add_layer(struct names *n, const struct layer *l, struct error *e)
{
	const struct sources *sources = &l->sources[OPERATION_NET_CONNECT];

	for (size_t i = 0; i < sources->n; i++) {
		int r = names_add_source(n, &sources->items[i], e);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_common(struct names *n)
{
	static const uint16_t ports[] = { PORT_COMMON, 80, 1 };

	for (size_t i = 0; i < 2 * ROWS(ports); i++) {
		struct candidate c = {
			.name = "",
			.place = PLACE_ANY,
			.transport = i % 2 ? TRANSPORT_UDP : TRANSPORT_TCP,
			.port = ports[i / 2],
			.last = ports[i / 2],
		};
		int r = names_add(n, c);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Building */

static int names_compare(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;
	int order = (a->place == PLACE_ANY) - (b->place == PLACE_ANY);

	if (order == 0)
		order = strcmp(a->name, b->name);
	if (order == 0)
		order = (int)a->place - (int)b->place;
	if (order == 0)
		order = a->forbids - b->forbids;
	if (order == 0)
		order = (int)a->transport - (int)b->transport;
	/* HTTPS is likelier than others to be the one that is meant. */
	if (order == 0)
		order = (b->port == PORT_COMMON) - (a->port == PORT_COMMON);
	if (order == 0)
		order = (int)a->port - (int)b->port;
	return order ? order : (int)a->last - (int)b->last;
}

static void names_sort(struct names *n)
{
	size_t kept = 0;

	qsort(n->candidates, n->n, sizeof(*n->candidates), names_compare);
	for (size_t i = 0; i < n->n; i++)
		if (kept == 0 || names_compare(&n->candidates[kept - 1], &n->candidates[i]) != 0)
			n->candidates[kept++] = n->candidates[i];
	n->n = kept;
	n->any = 0;
	while (n->any < kept && n->candidates[n->any].place != PLACE_ANY)
		n->any++;
}

/* The slot of a name, or the empty one where it belongs. */
static struct slot *names_find(const struct names *n, uint64_t hash, const char *name)
{
	size_t i = hash & n->mask;

	while (n->slots[i].name &&
		(n->slots[i].hash != hash || strcmp(n->slots[i].name, name) != 0))
		i = (i + 1) & n->mask;
	return &n->slots[i];
}

static int names_fill_slots(struct names *n)
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
		const struct candidate *c = &n->candidates[i];
		uint64_t hash = hostset_hash_name(&n->key, c->name);
		struct slot *s = names_find(n, hash, c->name);

		s->hash = hash;
		s->name = c->name;
		if (s->n[c->place]++ == 0)
			s->at[c->place] = (uint32_t)i;
	}
	return 0;
}

static int names_build(struct names *n, struct error *e)
{
	int r = add_common(n);

	for (size_t i = 0; r == 0 && i < policy_layers(n->policy); i++)
		r = names_add_layer(n, policy_layer(n->policy, i), e);
	if (r == 0)
		names_sort(n);
	if (r == 0)
		r = n->n < UINT32_MAX ? names_fill_slots(n) : -E2BIG;
	if (r == -ENOMEM)
		error_no_memory(e);
	return r;
}

int names_new(struct names **ret, const struct policy *p, struct error *e)
{
	struct names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return error_no_memory(e);
	n->policy = p;
	n->key = hostset_key_make();
	r = names_build(n, e);
	if (r < 0) {
		names_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	arena_deinit(&n->arena);
	free(n);
}

/* Asking */

struct asking {
	const struct names *names;
	const char *name;
	unsigned tries;
	bool decided;             /* `decision` is one that denies, for the record */
	struct decision decision; /* by TCP */
	uint16_t port;
};

static bool names_is_allowed(struct asking *a, enum transport transport, uint16_t port)
{
	struct request r = { .op = OPERATION_NET_CONNECT };
	char target[TARGET_BYTES];
	struct decision d;

	(void)snprintf(target, sizeof(target), "%s%s:%u",
		transport == TRANSPORT_UDP ? "udp://" : "", a->name, port);
	r.target = target;
	a->tries++;
	if (policy_decide(a->names->policy, &r, &d) == 0 && d.verdict == VERDICT_ALLOW)
		return true;
	if (!a->decided && transport == TRANSPORT_TCP) {
		a->decided = true;
		a->decision = d;
		a->port = port;
	}
	return false;
}

static bool try_range(struct asking *a, size_t at, size_t n)
{
	for (size_t i = 0; i < n && a->tries < TRIES_MAX; i++) {
		const struct candidate *c = &a->names->candidates[at + i];

		if (names_is_allowed(a, c->transport, c->port))
			return true;
	}
	return false;
}

/* The nearest first, but hashes come from the right; a name has at most 127 labels. */
struct path {
	const struct slot *slots[128];
	size_t n;
};

static void names_find_path(const struct names *n, const char *name, struct path *ret)
{
	size_t end = strlen(name);
	uint64_t hash = 0;

	ret->n = 0;
	for (const char *dot = name; dot && ret->n < 128;) {
		size_t start;

		dot = memrchr(name, '.', end);
		start = dot ? (size_t)(dot - name) + 1 : 0;
		hash = hostset_hash(&n->key, hash, name + start, end - start);
		ret->slots[ret->n++] = names_find(n, hash, name + start);
		end = dot ? start - 1 : 0;
	}
}

static bool names_is_granted(struct asking *a, const struct path *path)
{
	const struct names *n = a->names;
	const struct slot *own = path->slots[path->n - 1];

	if (try_range(a, own->at[PLACE_EXACT], own->n[PLACE_EXACT]))
		return true;
	for (size_t i = path->n - 1; i-- > 0;) {
		const struct slot *s = path->slots[i];

		if (try_range(a, s->at[PLACE_BELOW], s->n[PLACE_BELOW]))
			return true;
	}
	if (try_range(a, n->any, n->n - n->any))
		return true;
	/* There were only others: this one is for the record. */
	return !a->decided && names_is_allowed(a, TRANSPORT_TCP, PORT_COMMON);
}

/* A name, and in the form that names have here: 1.2.3.4 is none, whatever the policy says of it. */
static bool is_normal(const char *name)
{
	struct host_request r;

	return strnlen(name, HOST_NAME_BYTES) < HOST_NAME_BYTES &&
	       host_request_parse(&r, name, NULL) == 0 && r.transport != TRANSPORT_UNIX &&
	       !r.is_address && strcmp(r.name, name) == 0;
}

enum names_answer names_ask(
	const struct names *n, const char *name, struct decision *ret_decision, uint16_t *ret_port)
{
	struct asking a = { .names = n,
		.name = name,
		.decision = { .why = DECISION_BAD_TARGET },
		.port = PORT_COMMON };
	bool ancestor = false;

	if (is_normal(name)) {
		struct path path;

		names_find_path(n, name, &path);
		if (names_is_granted(&a, &path))
			return NAMES_GRANTED;
		ancestor = path.slots[path.n - 1]->n[PLACE_ANCESTOR] > 0;
	}
	*ret_decision = a.decision;
	*ret_port = a.port;
	return ancestor ? NAMES_ANCESTOR : NAMES_NONE;
}

/* Listing ports */

struct listing {
	struct asking asking;
	uint16_t *ports;
	int n; /* negative: too many */
};

static bool names_is_listed(const struct listing *l, uint16_t port)
{
	for (int i = 0; i < l->n; i++)
		if (l->ports[i] == port)
			return true;
	return false;
}

static void list_port(struct listing *l, uint16_t port)
{
	if (l->n < 0 || names_is_listed(l, port))
		return;
	if (l->asking.tries == PORT_TRIES_MAX)
		l->n = -E2BIG;
	else if (names_is_allowed(&l->asking, TRANSPORT_TCP, port)) {
		if (l->n == NAMES_PORTS_MAX)
			l->n = -E2BIG;
		else
			l->ports[l->n++] = port;
	}
}

static void list_range(struct listing *l, size_t at, size_t n)
{
	for (size_t i = 0; i < n && l->n >= 0; i++) {
		const struct candidate *c = &l->asking.names->candidates[at + i];

		if (c->transport != TRANSPORT_TCP || c->last - c->port >= NAMES_RANGE_MAX)
			continue;
		for (unsigned port = c->port; port <= c->last; port++)
			list_port(l, (uint16_t)port);
	}
}

int names_ports(const struct names *n, const char *name, uint16_t ret[NAMES_PORTS_MAX])
{
	struct listing l = { .asking = { .names = n, .name = name }, .ports = ret };
	struct path path;
	const struct slot *own;

	if (!is_normal(name))
		return 0;
	names_find_path(n, name, &path);
	own = path.slots[path.n - 1];
	list_range(&l, own->at[PLACE_EXACT], own->n[PLACE_EXACT]);
	for (size_t i = path.n - 1; i-- > 0;)
		list_range(&l, path.slots[i]->at[PLACE_BELOW], path.slots[i]->n[PLACE_BELOW]);
	list_range(&l, n->any, n->n - n->any);
	return l.n;
}
