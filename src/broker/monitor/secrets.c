/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value never comes here (lending.h). The policy is asked for "vault.read:NAME"; and `secrets` of
 * the policies must name the hosts that it may go to, which the setup has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/words.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"
#include "broker/service/grants.h"
#include "broker/monitor/waiting.h"
#include "host/authorities.h"
#include "policy/match/env-name.h"
#include "policy/match/secret.h"

/* Parameters, by the table. */
enum { NAME, VARIABLE };

struct secrets_call {
	const char *name, *variable, *target;
	int code;
	struct corral_error *error;
	struct service_bounds bounds;
};

/* The call */

static void secrets_free(struct monitor_call *c)
{
	struct secrets_call *x = c->state;

	c->state = NULL;
	corral_error_free(x->error);
	free(x);
}

static void secrets_check(struct monitor_call *c)
{
	struct secrets_call *x = c->state;

	x->code = corral_enclave_check(
		monitor_enclave(c->monitor), &c->by, CORRAL_SERVICE, x->target, &x->error);
	if (x->code == 0)
		grants_bounds(c->monitor->policy, x->target, &x->bounds);
}

static bool secrets_is_named(const struct broker_setup *s, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < s->n_secrets; i++)
		if (strncmp(s->secrets[i], name, len) == 0 && s->secrets[i][len] == '=')
			return true;
	return false;
}

/* What the policy allows, and cannot be done. NULL: it can. */
static const struct rpc_refusal *secrets_find_reason(struct monitor_call *c)
{
	static const struct rpc_refusal absent = { .class = RPC_SERVICE,
		.message = "no secret is lent to programs of this sandbox",
		.hint = "`secrets` of the policy names the hosts of each, and `corral run` lends "
			"them" },
					unnamed = { .class = RPC_PERMISSION,
						.message = "the policy does not say where this "
							   "secret may go",
						.hint = "add secrets: {NAME: {hosts: "
							"[\"HOST:PORT\"]}} to it" },
					large = { .class = RPC_SCOPE,
						.message = "it is larger than the policy allows",
						.hint = "max_size of the service in the policy "
							"sets the limit" },
					often = { .class = RPC_RATE,
						.message = "secrets were injected too often",
						.hint = "rate_limit of the service in the policy "
							"sets the limit; wait" };
	struct secrets_call *x = c->state;
	struct monitor *m = c->monitor;

	if (monitor_setup(m)->n_secrets == 0)
		return &absent;
	if (!secrets_is_named(monitor_setup(m), x->name))
		return &unnamed;
	if (x->bounds.max_size && strlen(x->name) + strlen(x->variable) > x->bounds.max_size)
		return &large;
	if (x->bounds.rate.count &&
		!service_rates_admit(&m->secrets.rates, &x->bounds.rate, 1, loop_now(m->o.loop)))
		return &often;
	return NULL;
}

static void secrets_checked(struct monitor_call *c)
{
	static const struct rpc_refusal full = { .class = RPC_RATE,
		.message = "too many secrets wait for an exec.run",
		.hint = "call exec.run by this connection first" };
	struct secrets_call *x = c->state;
	struct corral_error *e = x->error;
	const struct rpc_refusal *why;
	struct values v = { 0 };
	int r = x->code;

	x->error = NULL;
	why = r == 0 ? secrets_find_reason(c) : NULL;
	if (r == 0 && !why)
		r = waiting_add(&c->monitor->secrets, c->call.connection,
			&(struct lending_secret){ x->name, x->variable });
	why = r == -EBUSY ? &full : why;
	secrets_free(c);
	if (why) {
		monitor_refuse(c, why);
	} else if (r < 0) {
		monitor_fail(c, RPC_INTERNAL, r, e);
	} else {
		v.v[0] = value_number(SCHEMA_FLAG, 1);
		monitor_answer(c, &v);
	}
}

/* A variable that decides what programs run, or whom they trust, is no place for a secret. */
static bool secrets_is_variable(const char *name)
{
	static const char *const others[] = { "HOME", "OLDPWD", "PATH", "PGSSLROOTCERT", "PWD",
		"TMPDIR", NULL };
	const size_t len = strlen(name);

	if (len == 0 || len > WAITING_VARIABLE_MAX || ascii_is_digit(name[0]) ||
		env_name_is_unsafe(name, len) || strncmp(name, "CORRAL_", 7) == 0 ||
		strncmp(name, "SANDBOX_", 8) == 0 || words_find(others, name, len) >= 0)
		return false;
	for (size_t i = 0; i < authorities_n_variables; i++)
		if (strcmp(name, authorities_variables[i]) == 0)
			return false;
	for (size_t i = 0; i < len; i++)
		if (!ascii_is_alnum(name[i]) && name[i] != '_')
			return false;
	return true;
}

void secrets_inject(struct monitor_call *c)
{
	static const struct rpc_refusal no_name = { .class = RPC_PARAMS,
		.message = "name must be the name of one secret: letters, digits, `_ . -`" },
					no_variable = { .class = RPC_PARAMS,
						.message =
							"this cannot be the name of the variable",
						.hint = "targetEnv names another one" };
	const struct value *v = c->call.params.v;
	struct secrets_call *x;
	int r = -ENOMEM;

	if (!secret_name_is_valid(v[NAME].text, v[NAME].len)) {
		monitor_refuse(c, &no_name);
		return;
	}
	if (!secrets_is_variable(
		    v[VARIABLE].type == SCHEMA_NONE ? v[NAME].text : v[VARIABLE].text)) {
		monitor_refuse(c, &no_variable);
		return;
	}
	x = calloc(1, sizeof(*x));
	if (x) {
		x->name = v[NAME].text;
		x->variable = v[VARIABLE].type == SCHEMA_NONE ? x->name : v[VARIABLE].text;
		x->target = arena_printf(&c->arena, "vault.read:%s", x->name);
		c->state = x;
		c->cancel = secrets_free;
		r = x->target ? monitor_work(c, secrets_check, secrets_checked) : -ENOMEM;
		if (r < 0)
			secrets_free(c);
	}
	if (r < 0)
		monitor_fail(c, RPC_INTERNAL, r, NULL);
}
