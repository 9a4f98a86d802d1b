/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permissions of a sandbox, compiled. Nothing of a setup changes; an update makes another, and asks
 * here what differs, part by part (CORRAL_PART_…), and what of it a session can take as it stands.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "holder/live.h"
#include "host/resolver.h"
#include "host/system-links.h"
#include "jail/plan/plan.h"
#include "launch/command.h"
#include "lib/api/audit-handle.h"
#include "lib/sandbox/sandbox.h"
#include "lib/sandbox/skill.h"
#include "policy/format/permissions-text.h"
#include "wire/configure.h"

/* One out of several */

int sandbox_combine(
	struct permissions **ret, const struct permissions *const *all, size_t n, struct error *e)
{
	auto_permissions *p = n == 1 ? permissions_copy(all[0]) : permissions_new();
	int r = p ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && n > 1 && i < n; i++) {
		const struct permissions *layers[SANDBOX_LAYERS_MAX];
		int n_layers = permissions_layers(all[i], layers, SANDBOX_LAYERS_MAX);

		r = n_layers < 0 ? n_layers : 0;
		for (int k = 0; r == 0 && k < n_layers; k++)
			r = permissions_add_layer(p, layers[k]);
	}
	if (r == 0)
		r = system_links_grant(p);
	if (r < 0)
		return error_set(e, r, NULL, "%s",
			r == -ENOMEM ? "out of memory" : "the permissions have too many layers");
	*ret = p;
	p = NULL;
	return 0;
}

/* Life */

/* Fills `layers`, which belong to p, and returns how many; the policy is the caller's. */
static int setup_compile(const struct permissions *p, const struct variables *variables,
	const struct permissions *layers[SANDBOX_LAYERS_MAX], struct policy **ret, struct error *e)
{
	const struct policy_options o = { .variables = variables, .resolver = &resolver_system };
	int n = permissions_layers(p, layers, SANDBOX_LAYERS_MAX), r;

	if (n < 0)
		return error_set(e, n, NULL, "the permissions have too many layers");
	r = policy_new(ret, layers, (size_t)n, &o, e);
	return r < 0 ? r : n;
}

/* Too much for a command is reported by each that is started, and does not keep a session from
 * being.
 */
static int setup_grant_variables(struct sandbox_setup *s)
{
	const struct environment_options o = { .policy = s->policy,
		.host_env = s->base->environment };
	struct error e = { 0 };
	int r = s->base->backend->enforces ? environment_granted(&s->arena, &o, &s->granted, &e)
					   : 0;

	return r == -E2BIG ? 0 : r;
}

/* A module is compiled before there is a session for it. That it cannot be run is reported by those
 * who want to run it: other commands can have the skill's permissions. */
static void setup_prepare_wasm(struct sandbox_setup *s)
{
	const struct sandbox_skill *skill = s->base->skill;

	s->wasm_code = -ENOEXEC;
	if (s->base->backend->enforces && skill && launch_wasm_is(&skill->skill))
		s->wasm_code = launch_wasm_prepare(&s->wasm, &skill->skill, &s->limits,
			s->base->serves, &s->arena, &s->wasm_error);
}

int sandbox_setup_new(struct sandbox_setup **ret, const struct sandbox_base *base,
	struct permissions *permissions, struct error *e)
{
	struct sandbox_setup *s = calloc(1, sizeof(*s));
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	auto_buffer out = { 0 };
	int r = 0;

	if (!s) {
		permissions_free(permissions);
		return error_no_memory(e);
	}
	s->refs = 1;
	s->base = base;
	s->permissions = permissions;
	/* A log that commands could change is refused, unless it is known that they can change all.
	 */
	if (base->backend->enforces)
		r = lib_audit_check_sink(
			base->sink, base->context, permissions, &base->variables, e);
	if (r == 0)
		r = setup_compile(permissions, &base->variables, layers, &s->policy, e);
	if (r >= 0) {
		for (size_t i = 0; i < policy_layers(s->policy); i++)
			s->exec_listed |= !layer_exec_is_open(policy_layer(s->policy, i));
		s->is_offline = !holder_live_names_hosts(permissions);
		launch_limits(s->policy, &base->limits, &s->limits);
		setup_prepare_wasm(s);
		permissions_print_json(permissions, &out);
		s->json_len = out.len;
		s->json = out.failed ? NULL : buffer_take(&out);
		r = s->json ? setup_grant_variables(s) : -ENOMEM;
	}
	if (r < 0)
		sandbox_setup_unref(s);
	else
		*ret = s;
	return r;
}

struct sandbox_setup *sandbox_setup_ref(struct sandbox_setup *s)
{
	(void)atomic_fetch_add(&s->refs, 1);
	return s;
}

/* Parts. Permissions with another text for a part may mean the same there, and count as changed. */

enum {
	FILES = 1 << OPERATION_FS_READ | 1 << OPERATION_FS_WRITE,
	FILE_LISTS = 1 << LIST_FS_READ | 1 << LIST_FS_WRITE | 1 << LIST_FS_DENY,
	NETWORK_LISTS = 1 << LIST_NETWORK_ALLOW | 1 << LIST_NETWORK_PRIVATE |
			1 << LIST_NETWORK_DENY | 1 << LIST_LISTEN | 1 << LIST_METHODS,
};

struct setup_part {
	unsigned bit, operations, lists; /* sets of 1 << operation, 1 << list */
};

static const struct setup_part parts[] = {
	{ CORRAL_PART_FILES, FILES, FILE_LISTS },
	/* Without a list, a program runs if its file can be read. */
	{ CORRAL_PART_PROGRAMS, 1 << OPERATION_EXEC | FILES, 1 << LIST_EXEC },
	{ CORRAL_PART_NETWORK, 1 << OPERATION_NET_CONNECT, NETWORK_LISTS },
	{ CORRAL_PART_VARIABLES, 1 << OPERATION_ENV, 1 << LIST_ENV },
	{ CORRAL_PART_LIMITS, 0, 0 },
};
enum { NETWORK = 2 }; /* its row */

/* Defaults, and exceptions from the baseline, are about everything but limits. */
static int part_take_layer(
	struct permissions *to, const struct permissions *from, const struct setup_part *part)
{
	unsigned lists = part->lists;
	int r = 0;

	if (part->bit == CORRAL_PART_LIMITS) {
		to->limits = from->limits;
		return 0;
	}
	if (part->bit == CORRAL_PART_PROGRAMS) {
		to->exec_listed = from->exec_listed;
		lists = from->exec_listed ? lists : FILE_LISTS;
	}
	if (part->bit == CORRAL_PART_NETWORK) {
		to->network.rate = from->network.rate;
		to->network.max_bytes = from->network.max_bytes;
		to->network.max_request_size = from->network.max_request_size;
	}
	to->fallback = from->fallback;
	to->mode = from->mode;
	for (size_t i = 0; r == 0 && lists & FILE_LISTS && i < from->n_guest_paths; i++)
		r = permissions_add_guest_path(to, &from->guest_paths[i]);
	lists |= 1 << LIST_DANGEROUSLY_ALLOW;
	for (int i = 0; r == 0 && i < LIST_COUNT; i++)
		if (lists & 1U << i)
			r = permissions_add_list(to, permissions_list(to, (enum permission_list)i),
				permissions_list(from, (enum permission_list)i));
	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		struct rule rule = from->rules[i];

		rule.operations &= part->operations;
		if (rule.operations != 0)
			r = permissions_add_rule(to, &rule);
	}
	return r;
}

/* What p says about one part, and nothing else; the caller's. NULL when out of memory. */
static struct permissions *part_take(const struct permissions *p, const struct setup_part *part)
{
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	auto_permissions *taken = permissions_new();
	struct permissions *ret;
	int n = permissions_layers(p, layers, SANDBOX_LAYERS_MAX),
	    r = n < 0 || !taken ? -ENOMEM : 0;

	for (int i = 0; r == 0 && i < n; i++) {
		auto_permissions *layer = permissions_new();

		r = layer ? part_take_layer(layer, layers[i], part) : -ENOMEM;
		if (r == 0)
			r = permissions_add_layer(taken, layer);
	}
	if (r < 0)
		return NULL;
	ret = taken;
	taken = NULL;
	return ret;
}

int sandbox_setup_compare(
	const struct permissions *a, const struct permissions *b, unsigned *ret_changed)
{
	unsigned changed = 0;

	for (size_t i = 0; i < ROWS(parts); i++) {
		auto_permissions *of_a = part_take(a, &parts[i]), *of_b = part_take(b, &parts[i]);
		auto_buffer one = { 0 }, other = { 0 };

		if (!of_a || !of_b)
			return -ENOMEM;
		permissions_print_json(of_a, &one);
		permissions_print_json(of_b, &other);
		if (one.failed || other.failed)
			return -ENOMEM;
		if (strcmp(buffer_text(&one), buffer_text(&other)) != 0)
			changed |= parts[i].bit;
	}
	*ret_changed = changed;
	return 0;
}

/*
 * Reach: what a session must have for the network of some permissions, a relay or not, and sockets
 * that can only be made when it is built. Known by a plan of that part alone, which costs little.
 */

_Static_assert((int)CHANGE_PORTS_MAX >= PLAN_PORTS_MAX && (int)CHANGE_DOORS_MAX >= PLAN_SOCKETS_MAX,
	"what a plan has fits into a frame");

struct sandbox_reach {
	struct permissions *permissions;
	struct policy *policy;
	struct plan *plan;
	char *text;
};

static void reach_free(struct sandbox_reach *r)
{
	if (!r)
		return;
	plan_free(r->plan);
	policy_free(r->policy);
	permissions_free(r->permissions);
	free(r->text);
	free(r);
}

static int reach_plan(struct sandbox_reach *r, const struct variables *variables, struct error *e)
{
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	struct plan_options options = {
		.layers = layers, .variables = variables, .resolver = &resolver_system
	};
	int n = setup_compile(r->permissions, variables, layers, &r->policy, e);

	if (n < 0)
		return n;
	options.policy = r->policy;
	options.n_layers = (size_t)n;
	return plan_new(&r->plan, &options, e);
}

/*
 * The text is for the relay, which has no values for variables. Only paths have some, and what is
 * left of those here, the exceptions from the baseline, is the plan's matter: a connection is no
 * path.
 */
int sandbox_setup_reach(struct sandbox_setup *s, struct error *e)
{
	auto_permissions *p = NULL;
	auto_buffer out = { 0 };
	struct sandbox_reach *r;
	int result;

	if (s->reach)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->permissions = part_take(s->permissions, &parts[NETWORK]);
	result = r->permissions ? reach_plan(r, &s->base->variables, e) : -ENOMEM;
	if (result == 0)
		p = permissions_copy(r->permissions);
	if (p) {
		for (size_t i = 0; i < p->n_all_of; i++)
			p->all_of[i]->dangerously_allow.n = 0;
		permissions_print_json(p, &out);
		r->text = out.failed ? NULL : buffer_take(&out);
	}
	if (result == 0 && !r->text)
		result = -ENOMEM;
	if (result < 0)
		reach_free(r);
	else
		s->reach = r;
	return result;
}

void sandbox_setup_describe(const struct sandbox_setup *s, struct change *ret)
{
	plan_describe_network(s->reach->plan, ret);
	ret->text = s->reach->text;
}

static bool range_holds(const struct plan_range *a, const struct plan_range *b)
{
	return a->lo <= b->lo && a->hi >= b->hi && (a->families & b->families) == b->families;
}

bool sandbox_setup_fits(const struct sandbox_setup *built, const struct sandbox_setup *now,
	const struct sandbox_setup *next)
{
	const struct plan *p = next->reach->plan, *has = built->reach->plan;
	const struct plan *old = now->reach->plan;
	size_t k;

	/* Commands without a network, or with the host's, are not to be reached by a relay. */
	if (has->network != PLAN_NETWORK_RELAY || p->network == PLAN_NETWORK_HOST)
		return false;
	/* A port that was given up is another program's by now. */
	for (size_t i = 0; i < p->n_ports; i++) {
		for (k = 0; k < old->n_ports && listen_compare(&old->ports[k], &p->ports[i]) != 0;)
			k++;
		if (k == old->n_ports)
			return false;
	}
	for (size_t i = 0; i < p->n_loopback; i++) {
		for (k = 0;
			k < has->n_loopback && !range_holds(&has->loopback[k], &p->loopback[i]);)
			k++;
		if (k == has->n_loopback)
			return false;
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_entry *its, *e = &p->entries[i];

		if (e->kind != PLAN_SOCKET)
			continue;
		its = plan_find(has, e->path);
		if (!its || its->kind != PLAN_SOCKET || strcmp(its->path, e->path) != 0)
			return false;
	}
	return true;
}

void sandbox_setup_unref(struct sandbox_setup *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	reach_free(s->reach);
	policy_free(s->policy);
	permissions_free(s->permissions);
	arena_deinit(&s->arena);
	free(s->json);
	free(s);
}
