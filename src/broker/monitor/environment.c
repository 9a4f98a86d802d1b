/* SPDX-License-Identifier: Apache-2.0 */
/* env.get: a variable of the caller outside, if the policy lets it in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/monitor/handlers.h"

struct environment_call {
	int code;
	struct corral_error *error;
};

static void environment_free(struct monitor_call *c)
{
	struct environment_call *x = c->state;

	c->state = NULL;
	corral_error_free(x->error);
	free(x);
}

static void environment_work(struct monitor_call *c)
{
	struct environment_call *x = c->state;

	x->code = corral_enclave_check(monitor_enclave(c->monitor), &c->by, CORRAL_ENV,
		c->call.params.v[0].text, &x->error);
}

static const char *environment_find(const struct broker_setup *s, const char *name, size_t len)
{
	for (size_t i = 0; i < s->n_environment; i++)
		if (strncmp(s->environment[i], name, len) == 0 && s->environment[i][len] == '=')
			return s->environment[i] + len + 1;
	return NULL;
}

static void environment_done(struct monitor_call *c)
{
	enum { VALUE, SET };
	struct environment_call *x = c->state;
	const struct value *name = &c->call.params.v[0];
	struct corral_error *e = x->error;
	const int code = x->code;
	struct values v = { 0 };
	const char *value;

	x->error = NULL;
	environment_free(c);
	if (code < 0) {
		monitor_fail(c, RPC_PERMISSION, code, e);
		return;
	}
	value = environment_find(monitor_setup(c->monitor), name->text, name->len);
	if (value)
		v.v[VALUE] = value_text(value, strlen(value));
	v.v[SET] = value_number(SCHEMA_FLAG, value != NULL);
	monitor_answer(c, &v);
}

void environment_get(struct monitor_call *c)
{
	static const struct rpc_refusal no_name = { .class = RPC_PARAMS,
		.message = "name must be the name of a variable, without =" };
	const struct value *name = &c->call.params.v[0];
	struct environment_call *x;
	int r;

	/* NAME=value would ask whether it may be set. */
	if (name->len == 0 || strchr(name->text, '=')) {
		monitor_refuse(c, &no_name);
		return;
	}
	x = calloc(1, sizeof(*x));
	if (!x) {
		monitor_fail(c, RPC_INTERNAL, -ENOMEM, NULL);
		return;
	}
	c->state = x;
	c->cancel = environment_free;
	r = monitor_work(c, environment_work, environment_done);
	if (r < 0) {
		environment_free(c);
		monitor_fail(c, RPC_INTERNAL, r, NULL);
	}
}
