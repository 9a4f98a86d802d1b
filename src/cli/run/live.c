/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions and grants of a run that is registered at a daemon (holder/live.h). What is granted
 * reaches the relay, which has the network of the command, and the broker, which does for it what
 * it is asked. The command itself sees the files and programs that it was started with: Landlock
 * and a mount namespace are not widened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/run/internal.h"
#include "holder/details.h"
#include "wire/configure.h"

enum { RUN_LIVE_COMMAND = 1, RUN_LIVE_PORTS_MAX = 16 };

static struct run *run_live_of(void *context)
{
	return context;
}

static void run_live_answer(void *context, uint64_t asker, const struct answer *a)
{
	(void)session_answer(run_live_of(context)->session, asker, a);
}

static void run_live_fail(void *context, const char *why)
{
	struct run *r = run_live_of(context);

	run_audit_own(r, (struct audit_event){ .action = AUDIT_POLICY,
				 .target = "revoke",
				 .decision = AUDIT_FAILED,
				 .reason = why });
	if (r->session)
		(void)session_kill(r->session, RUN_LIVE_COMMAND);
}

static void run_live_note(void *context, const struct audit_event *event)
{
	run_audit_own(run_live_of(context), *event);
}

static void run_live_over(void *context, uint64_t question, enum question_end how)
{
	ask_prompt_over(run_live_of(context), question, how);
}

static void run_live_refused(void *context, uint64_t question, const char *why)
{
	ask_prompt_refused(run_live_of(context), question, why);
}

/* Putting grants in force */

static int run_live_refuse(const struct run *r, enum operation op, struct error *e)
{
	if (op == OPERATION_NET_CONNECT)
		return error_set(e, -EOPNOTSUPP, NULL,
			"this sandbox was started without a network; name the hosts that it may "
			"ask "
			"for in its policy, or in a --ceiling");
	return error_set(e, -EOPNOTSUPP, NULL,
		"a command that runs keeps the files and programs that it started with; with a "
		"broker, `corral run --broker`, it gets others by sandbox-call%s",
		r->options.no_broker ? ", and --no-broker was given" : "");
}

/* Some grant that nothing here could enforce. */
static int run_live_check(
	const struct run *r, const struct live_grant *grants, size_t n, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		const bool is_net = grants[i].op == OPERATION_NET_CONNECT;

		if (!r->broker.program && !(is_net && r->plan->network == PLAN_NETWORK_RELAY))
			return run_live_refuse(r, (enum operation)grants[i].op, e);
	}
	return 0;
}

static int run_live_put_network(struct run *r, const struct live_grant *grants, size_t n)
{
	struct change c;
	auto_buffer text = { 0 };
	struct error e = { 0 };
	int ret = holder_live_network(r->layers, r->n_layers, &text, &e);

	if (ret == 0) {
		plan_describe_network(r->plan, &c);
		c.flags = CHANGE_WHOLE;
		c.text = buffer_text(&text);
		ret = session_putting_network(&r->live.putting, r->session, &c, grants, n);
	}
	if (ret < 0 && !e.text[0])
		(void)error_set(&e, ret, NULL, "the network cannot be changed: %s", strerror(-ret));
	if (ret < 0)
		session_putting_refuse(&r->live.putting, ret, e.text);
	return ret;
}

static int run_live_put(void *context, const struct live_grant *grants, size_t n, struct error *e)
{
	struct run *r = run_live_of(context);
	struct session_putting *p = &r->live.putting;
	int ret = r->session ? run_live_check(r, grants, n, e) : -ESHUTDOWN;

	if (ret < 0)
		return e->text[0] ? ret : error_set(e, ret, NULL, "the command has ended");
	session_putting_begin(p, p->id + 1);
	/* First the broker, which may be gone: then nothing was changed that must be undone. */
	if (r->broker.program)
		ret = session_putting_grants(p, r->session, grants, n);
	if (ret < 0)
		return error_set(e, ret, NULL, "the broker does not answer");
	if (r->plan->network == PLAN_NETWORK_RELAY)
		ret = run_live_put_network(r, grants, n);
	/* If the broker has the change, it fails, and is undone, when the broker has answered. */
	if (ret < 0 && !session_putting_waits(p)) {
		*e = p->why;
		return ret;
	}
	/* Without a relay and without a broker there is nothing to change. */
	if (!session_putting_waits(p))
		holder_live_settled(&r->live.live, 0, "");
	return 0;
}

/* 0, or why the user is not asked. */
static int run_live_ask(struct run *r, const struct session_event *e)
{
	const uint64_t before = r->live.live.next_id;
	const int why =
		r->live.is_on ? holder_live_ask(&r->live.live, e->id, e->question) : -ENOTCONN;

	/* One that is asked once more was shown already. */
	if (why == 0 && r->live.live.next_id != before)
		ask_notify(r, e->question->op, e->question->target, false);
	return why;
}

void run_live_event(struct run *r, const struct session_event *e)
{
	int why = 0;

	/* There is no daemon, or no room for it: this one is refused, and not the next. */
	if (e->kind == SESSION_QUESTION)
		why = run_live_ask(r, e);
	if (why != 0)
		(void)session_answer(r->session, e->id,
			&(struct answer){ .ttl_ms = 1,
				.why = why > 0 ? (uint32_t)why : ANSWER_BY_USER,
				.pattern = "" });
	if (!r->live.is_on)
		return;
	if (e->kind == SESSION_QUESTION_OVER) {
		r->live.n_expired += e->end == QUESTION_EXPIRED;
		holder_live_question_over(&r->live.live, e->id, e->end);
	}
	/* Calls that waited there were refused. */
	if (e->kind == SESSION_BROKER)
		holder_live_question_over(&r->live.live, 0, QUESTION_GIVEN_UP);
	if (session_putting_heard(&r->live.putting, e))
		holder_live_settled(&r->live.live, r->live.putting.code, r->live.putting.why.text);
}

/* What the daemon shows */

static void run_live_tell_details(void *context)
{
	static struct join_details d;
	struct run *r = run_live_of(context);
	auto_buffer body = { 0 };
	auto_arena a = { 0 };

	d.n_permissions = d.n_ceiling = 0;
	memcpy(d.limits, r->limits.values, sizeof(d.limits));
	for (size_t i = 0; i < r->n_layers; i++)
		holder_details_add(
			r->layers[i], &r->load.variables, &a, d.permissions, &d.n_permissions);
	for (size_t i = 0; i < r->declared.n; i++)
		holder_details_add(r->declared.files[i].permissions, &r->load.variables, &a,
			d.ceiling, &d.n_ceiling);
	for (size_t i = r->n_base; r->declared.n && i < r->n_layers; i++)
		holder_details_add(r->layers[i], &r->load.variables, &a, d.ceiling, &d.n_ceiling);
	/* None is declared: it is what the layers themselves allow. */
	for (uint32_t i = 0; r->declared.n == 0 && i < d.n_permissions; i++)
		d.ceiling[d.n_ceiling++] = d.permissions[i];
	if (join_details_encode(&d, &body) == 0)
		holder_join_send(&r->audit.join, FRAME_JOIN_DETAILS, 0, &body);
}

/* Beginning and end */

int run_live_read_ceiling(struct run *r)
{
	const struct options_list *files = &r->options.ceilings;
	int ret;

	r->declared.variables = r->load.variables;
	r->declared.uses_cache = !r->options.no_cache;
	ret = load_add_all(&r->declared, r->call, files->items, files->n, MANIFEST_UNKNOWN);
	for (size_t i = 0; ret == 0 && i < r->declared.n; i++) {
		if (i == RUN_LAYERS_MAX)
			return error_set(r->call->error, -E2BIG, NULL, "too many ceilings");
		r->declared_layers[i] = r->declared.files[i].permissions;
	}
	for (size_t i = 0; ret == 0 && i < r->declared.n_sources; i++)
		ret = run_guard(r, r->declared.sources[i]);
	return ret;
}

bool run_live_may_reach_hosts(const struct run *r)
{
	bool may = r->declared.n > 0;

	for (size_t i = 0; may && i < r->declared.n; i++)
		may = holder_live_names_hosts(r->declared.files[i].permissions);
	for (size_t i = 0; r->declared.n == 0 && i < r->n_layers; i++) {
		may = holder_live_names_hosts(r->layers[i]);
		if (!may)
			break;
	}
	return may && (ask_has_terminal(r) || holder_join_is_possible());
}

/* Without a daemon */

/* A layer that asks about hosts, and the ports of its rules: a name that is looked up has none. */
struct run_live_asking {
	const char *origin; /* NULL: no layer does */
	unsigned ports[RUN_LIVE_PORTS_MAX];
	size_t n_ports;
};

static void run_live_add_port(struct run_live_asking *a, const char *pattern)
{
	const char *colon = strrchr(pattern, ':');
	const unsigned port = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;

	for (size_t i = 0; i < a->n_ports; i++)
		if (a->ports[i] == port)
			return;
	if (port && a->n_ports < RUN_LIVE_PORTS_MAX)
		a->ports[a->n_ports++] = port;
}

static void run_live_find_asking(const struct permissions *p, struct run_live_asking *ret)
{
	bool asks = p->fallback == VERDICT_ASK;

	for (size_t i = 0; i < p->n_all_of; i++)
		run_live_find_asking(p->all_of[i], ret);
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (rule->action != VERDICT_ASK || rule->disabled ||
			!(rule->operations & 1u << OPERATION_NET_CONNECT))
			continue;
		asks = true;
		for (size_t k = 0; k < rule->patterns.n; k++)
			run_live_add_port(ret, rule->patterns.items[k].all[0]);
	}
	if (asks && !ret->origin)
		ret->origin = p->origin ? p->origin : "the policy";
}

static bool run_live_asks_about(const struct run *r, const char *target)
{
	const struct request request = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision d;

	return policy_decide(r->policy, &request, &d) == 0 && d.verdict == VERDICT_ASK;
}

static bool run_live_would_ask(
	const struct run *r, const struct run_live_asking *a, const struct record *denied)
{
	bool asks = run_live_asks_about(r, denied->target);
	char target[512];

	for (size_t i = 0; denied->dns && !asks && i < a->n_ports; i++)
		asks = snprintf(target, sizeof(target), "%s:%u", denied->target, a->ports[i]) <
			       (int)sizeof(target) &&
		       run_live_asks_about(r, target);
	return asks;
}

const char *run_live_unasked(const struct run *r, bool is_unheard)
{
	struct run_live_asking a = { 0 };
	bool is_missed = is_unheard;

	if (r->live.is_on || r->options.ask_ms == 0)
		return NULL;
	for (size_t i = 0; i < r->n_layers; i++)
		run_live_find_asking(r->layers[i], &a);
	for (size_t i = 0; a.origin && !is_missed && i < r->network.n && i < RUN_NETWORK_SHOWN; i++)
		is_missed = r->network.items[i].kind == RECORD_DENIED &&
			    run_live_would_ask(r, &a, &r->network.items[i]);
	return is_missed ? a.origin : NULL;
}

uint32_t run_live_ask_ms(const struct run *r)
{
	return (uint32_t)(r->options.ask_ms < QUESTION_WAIT_MAX_MS ? r->options.ask_ms
								   : QUESTION_WAIT_MAX_MS);
}

void run_live_begin(struct run *r)
{
	const struct holder_live_hooks hooks = { .answer = run_live_answer,
		.put = run_live_put,
		.fail = run_live_fail,
		.describe = run_live_tell_details,
		.note = run_live_note,
		.over = run_live_over,
		.refused = run_live_refused,
		.context = r };
	const struct holder_live_ceiling ceiling = { .layers = r->layers,
		.n_layers = r->n_layers,
		.declared = r->declared_layers,
		.n_declared = r->declared.n,
		.n_replaced = r->n_base,
		.options = load_options(&r->load) };

	/* A daemon that comes later sees what it may do; nothing here waits for it. */
	r->live.is_on = (r->audit.join.is_on && r->audit.join.was_there) || ask_has_terminal(r);
	if (r->live.is_on) {
		holder_live_init(&r->live.live, &r->audit.join, &hooks, &ceiling);
		r->live.live.asking.is_few = r->options.ask_denied;
	} else if (r->audit.join.is_on) {
		r->audit.join.handler =
			(struct holder_join_handler){ .joined = run_live_tell_details,
				.context = r };
	}
}

void run_live_tick(struct run *r)
{
	if (r->live.is_on && r->session)
		holder_live_tick(&r->live.live);
}

int run_live_wait_ms(const struct run *r, int otherwise)
{
	return r->live.is_on && r->session ? holder_live_wait_ms(&r->live.live, otherwise)
					   : otherwise;
}

void run_live_end(struct run *r)
{
	if (r->live.is_on)
		holder_live_deinit(&r->live.live);
	r->audit.join.handler = (struct holder_join_handler){ 0 };
	r->live.is_on = false;
}
