/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods whose back end is not there yet. The policy is asked first, so that a caller hears of
 * what it may not do before it hears of what is missing.
 */
#include <errno.h>
#include <stdlib.h>

#include "broker/monitor/handlers.h"

struct services_call {
	int code;
	struct corral_error *error;
	const char *target;
};

static void services_free(struct monitor_call *c)
{
	struct services_call *x = c->state;

	c->state = NULL;
	corral_error_free(x->error);
	free(x);
}

static void services_work(struct monitor_call *c)
{
	struct services_call *x = c->state;

	x->code = corral_enclave_check(
		monitor_enclave(c->monitor), &c->by, CORRAL_SERVICE, x->target, &x->error);
}

static void services_done(struct monitor_call *c)
{
	static const struct rpc_refusal absent = { .class = RPC_SERVICE,
		.message = "no browser is configured for this broker",
		.hint = "print the URL, so that a person can open it" };
	struct services_call *x = c->state;
	struct corral_error *e = x->error;
	const int code = x->code;

	x->error = NULL;
	services_free(c);
	if (code < 0)
		monitor_fail(c, RPC_PARAMS, code, e);
	else
		monitor_refuse(c, &absent);
}

void services_open_url(struct monitor_call *c)
{
	const char *target = arena_printf(&c->arena, "browser.open:%s", c->call.params.v[0].text);
	struct services_call *x = target ? calloc(1, sizeof(*x)) : NULL;
	int r = x ? 0 : -ENOMEM;

	if (r == 0) {
		x->target = target;
		c->state = x;
		c->cancel = services_free;
		r = monitor_work(c, services_work, services_done);
		if (r < 0)
			services_free(c);
	}
	if (r < 0)
		monitor_fail(c, RPC_INTERNAL, r, NULL);
}

void services_secret_inject(struct monitor_call *c)
{
	static const struct rpc_refusal absent = { .class = RPC_SERVICE,
		.message = "there is no vault: this broker has no secrets to give",
		.hint = "grant the variable by env, and read it with env.get" };

	monitor_refuse(c, &absent);
}
