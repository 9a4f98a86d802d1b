/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor may do: the enclave, with the session's permissions; and what it records, for
 * the holder's log.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "broker/monitor/internal.h"
#include "host/resolver.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"
#include "lib/enclave/share.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/image.h"
#include "policy/permissions.h"

#define LAYER_NAME "policy"

enum { RING_BYTES = 64 << 10 };

/* The audit */

/*
 * The log is the holder's: it hears of each event. Here they are in memory alone, and few, because
 * the enclave needs an audit. The enclave refuses what would let a call reach the log.
 */
static int powers_open_audit(struct monitor *m, struct corral_error **e)
{
	const struct broker_setup *s = m->o.setup;
	const struct audit_trail_options o = { .ring_bytes = RING_BYTES,
		.session = s->session,
		.sandbox = s->sandbox,
		.tell = m->o.tell,
		.context = m->o.tell_context };
	struct error error = { 0 };
	int r = sodium_init() < 0 ? -EIO : lib_audit_new_told(&m->audit, &o, &error);

	if (r < 0)
		return handles_error(e, &error, r);
	if (s->log[0]) {
		m->audit->log = realpath(s->log, NULL);
		if (!m->audit->log) {
			r = error_set(&error, -errno, NULL,
				"the broker cannot find the log %s, which no call may reach: %s",
				s->log, strerror(errno));
			return handles_error(e, &error, r);
		}
	}
	/* Values of variables outside: env.get gives them, and no text of the log has them. */
	for (size_t i = 0; r == 0 && i < s->n_environment; i++) {
		const char *equals = strchr(s->environment[i], '=');
		const char *name = arena_strndup(
			&m->arena, s->environment[i], (size_t)(equals - s->environment[i]));

		r = name ? corral_audit_secret(m->audit, name, equals + 1) : -ENOMEM;
	}
	return r;
}

/* The permissions */

/* An image (policy/format/image.h), or text in any format. */
static int powers_read_layer(
	struct corral_permissions **ret, const char *text, struct corral_error **e)
{
	struct error error = { 0 };
	int r;

	if (!image_is_text(text))
		return corral_permissions_parse(ret, LAYER_NAME, text, strlen(text), e);
	r = corral_permissions_new(ret);
	if (r == 0)
		r = image_read_text((*ret)->p, text);
	if (r < 0)
		(void)error_set(&error, r, NULL, "the permissions cannot be read");
	return r < 0 ? handles_error(e, &error, r) : 0;
}

/* All of them, as layers: each keeps its limits and its rate, which an intersection would not. */
static int powers_read_layers(
	struct monitor *m, struct corral_permissions **ret, struct corral_error **e)
{
	const struct broker_setup *s = m->o.setup;
	struct corral_permissions *layers[BROKER_LAYERS_MAX] = { 0 };
	const struct permissions *all[BROKER_LAYERS_MAX];
	struct permissions *one = NULL;
	struct error error = { 0 };
	int r = corral_permissions_new(ret);

	for (size_t i = 0; r == 0 && i < s->n_layers; i++) {
		r = powers_read_layer(&layers[i], s->layers[i], e);
		if (r == 0)
			all[i] = layers[i]->p;
	}
	if (r == 0) {
		r = sandbox_combine(&one, all, s->n_layers, &error);
		if (r < 0)
			(void)handles_error(e, &error, r);
	}
	for (size_t i = 0; i < s->n_layers; i++)
		corral_permissions_free(layers[i]);
	if (r == 0) {
		permissions_free((*ret)->p);
		(*ret)->p = one;
	}
	return r;
}

/* What the session's commands are held to holds for those of exec.run. In each layer: where there
 * are several, nothing stands beside them. */
static void powers_limit(struct permissions *p, const struct limits *limits)
{
	for (size_t i = 0; p->n_all_of == 0 && i < LIMIT_COUNT; i++)
		if (limits->values[i] && limits->values[i] < p->limits.values[i])
			p->limits.values[i] = limits->values[i];
	for (size_t i = 0; i < p->n_all_of; i++)
		powers_limit(p->all_of[i], limits);
}

/* The least of all layers; LIMIT_NONE: there is none. */
static uint64_t powers_least(const struct permissions *p, enum limit limit)
{
	uint64_t least = p->limits.values[limit];

	for (size_t i = 0; i < p->n_all_of; i++) {
		const uint64_t other = powers_least(p->all_of[i], limit);

		least = other < least ? other : least;
	}
	return least;
}

/* A limit is one limit, of the command and of all that it has done by the broker. */
static int powers_share(struct monitor *m, const struct permissions *p)
{
	const uint64_t memory = powers_least(p, LIMIT_MEMORY), tasks = powers_least(p, LIMIT_PIDS);
	const struct ledger_use most = { .memory = memory == LIMIT_NONE ? 0 : memory,
		.tasks = tasks == LIMIT_NONE ? 0 : tasks };
	int r = m->o.ledger ? ledger_open(&m->ledger, *m->o.ledger) : 0;

	if (m->ledger)
		ledger_limit(m->ledger, &most);
	return r;
}

int powers_compile(struct monitor *m, const struct corral_permissions *all, struct policy **ret,
	struct error *e)
{
	const struct permissions *layers[BROKER_LAYERS_MAX];
	const struct policy_options o = { .variables = &m->o.setup->variables,
		.resolver = &resolver_system };
	int n = permissions_layers(all->p, layers, ROWS(layers));

	return n < 0 ? error_set(e, n, NULL, "there are too many layers of permissions")
		     : policy_new(ret, layers, (size_t)n, &o, e);
}

static int powers_compile_words(
	struct monitor *m, const struct corral_permissions *all, struct corral_error **e)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	int r = powers_compile(m, all, &policy, &error);

	if (r < 0)
		return handles_error(e, &error, r);
	m->policy = policy;
	return 0;
}

int powers_make(struct monitor *m, struct corral_error **e)
{
	const struct broker_setup *s = m->o.setup;
	int r = powers_open_audit(m, e);

	if (r == 0)
		r = powers_read_layers(m, &m->base, e);
	if (r == 0) {
		powers_limit(m->base->p, &s->limits);
		r = powers_share(m, m->base->p);
	}
	if (r == 0)
		r = powers_compile_words(m, m->base, e);
	if (r == 0)
		m->n_variables = handles_name_variables(&s->variables, m->base, m->variables);
	return r;
}

int powers_enter(struct monitor *m, struct corral_error **e)
{
	const struct broker_setup *s = m->o.setup;
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	int r;

	o.granted = m->base;
	o.variables = m->variables;
	o.n_variables = m->n_variables;
	o.audit = m->audit;
	/* Whoever holds the session has joined. */
	o.no_daemon = 1;
	o.max_file_bytes = METHOD_DATA_MAX;
	o.root_fd = m->root < 0 ? NULL : &m->root;
	o.private_places = s->private_places;
	o.n_private_places = s->n_private;
	o.exec_readable = 1;
	o.guarded = s->guarded;
	o.n_guarded = s->n_guarded;
	o.warden = s->warden[0] ? s->warden : NULL;
	r = corral_enclave_new(&m->enclave, &o, m->token, e);
	if (r == 0) {
		enclave_share(m->enclave, m->o.ledger);
		enclave_look_outside(m->enclave);
	}
	return r;
}

void powers_end(struct monitor *m)
{
	corral_enclave_free(m->enclave);
	granting_deinit(m);
	policy_free(m->policy);
	corral_permissions_free(m->base);
	ledger_free(m->ledger);
	if (m->audit)
		(void)corral_audit_free(m->audit, NULL);
	arena_deinit(&m->arena);
}
