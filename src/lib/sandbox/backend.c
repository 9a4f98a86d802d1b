/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "jail/plan/plan.h"
#include "launch/command.h"
#include "holder/join.h"
#include "launch/program.h"
#include "lib/api/audit-handle.h"
#include "lib/process/denial.h"
#include "lib/process/process.h"
#include "lib/sandbox/lent.h"
#include "lib/sandbox/skill.h"
#include "policy/format/image.h"
#include "wire/broker.h"

enum { READY_MS = 30000 };

static int backend_probe(const struct sandbox_base *base, struct error *e)
{
	int r = faccessat(AT_FDCWD, base->warden, X_OK, AT_EACCESS) < 0 ? -errno : 0;

	if (r < 0)
		(void)error_set(e, r, NULL, "cannot start %s: %s", base->warden, strerror(-r));
	if (r == -ENOENT)
		error_hint(e, "install corral-warden, or set its path with "
			      "corral_builder_warden() or CORRAL_WARDEN");
	return r;
}

/*
 * What the broker does is told to us, for the log of the sandbox and for a daemon (records.c). A
 * sink of the host's own hears nothing of it.
 */
static void backend_share_log(const struct sandbox_base *base, struct broker_setup *broker)
{
	const struct corral_audit *audit =
		base->sink == corral_audit_sandbox ? base->context : NULL;

	if (audit || !base->no_daemon)
		broker->flags |= BROKER_TELLS;
	if (!audit)
		return;
	broker->log = audit->log;
	broker->session = audit_trail_session(audit->trail);
	broker->sandbox = audit_trail_sandbox(audit->trail);
}

static int backend_configure_broker(
	const struct sandbox_setup *setup, struct configure *c, struct buffer *out, struct error *e)
{
	const struct launch_broker *programs = &setup->base->broker;
	auto_buffer image = { 0 };
	auto_arena a = { 0 };
	const char *layers[] = { setup->json, NULL };
	const char *guarded[CONFIGURE_GUARDED_MAX + 1];
	struct broker_setup broker = { .variables = setup->base->variables,
		.warden = setup->base->warden,
		.environment = setup->granted,
		.layers = layers,
		.n_layers = 1,
		.guarded = guarded };
	int r;

	for (size_t i = 0; i < setup->base->n_guarded; i++)
		guarded[broker.n_guarded++] = setup->base->guarded[i];
	if (setup->base->is_skill && setup->base->variables.values[VARIABLE_SKILL_DIR])
		guarded[broker.n_guarded++] = setup->base->variables.values[VARIABLE_SKILL_DIR];
	if (setup->base->skill && setup->base->skill->skill.manifest.name)
		broker.sandbox = setup->base->skill->skill.manifest.name;
	else
		broker.sandbox = setup->permissions->origin;
	broker.services = setup->base->services;
	launch_limits_broker(&setup->limits, &broker.limits);
	if (launch_wasm_has_sockets(setup->base->skill ? &setup->base->skill->skill : NULL))
		broker.flags = BROKER_SOCKETS;
	if (setup->base->http_token[0]) {
		broker.flags |= BROKER_HTTP;
		broker.token = setup->base->http_token;
		c->flags |= CONFIGURE_HTTP;
	}
	broker.ask_ms = c->ask_ms;
	backend_share_log(setup->base, &broker);
	/* With the places of its rules, which answers name. */
	if (image_write_text(setup->permissions, &image) == 0 && !image.failed)
		layers[0] = buffer_text(&image);
	while (broker.environment && broker.environment[broker.n_environment])
		broker.n_environment++;
	r = launch_broker_environment(
		&a, setup->base->environment, &broker.user_environment, &broker.n_user_environment);
	if (r == 0)
		r = broker_setup_encode(&broker, out);
	if (r < 0)
		return error_set(e, r, NULL, "cannot configure the broker: %s", strerror(-r));
	c->flags |= CONFIGURE_BROKER | (programs->caller ? CONFIGURE_CALLER : 0);
	c->broker = programs->program;
	c->caller = programs->caller;
	return 0;
}

/* Whether some layer asks about one of these operations. */
static bool backend_asks(const struct permissions *p, unsigned operations)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].action == VERDICT_ASK && !p->rules[i].disabled &&
			p->rules[i].operations & operations)
			return true;
	for (size_t i = 0; i < p->n_all_of; i++)
		if (backend_asks(p->all_of[i], operations))
			return true;
	return p->fallback == VERDICT_ASK;
}

/* Where a daemon may answer, what the policy asks about waits. Without one it is refused at once.
 */
static void backend_configure_questions(const struct sandbox_setup *setup, struct configure *c)
{
	const struct sandbox_base *base = setup->base;
	const unsigned hosts = 1U << OPERATION_NET_CONNECT;
	const unsigned all = base->broker.program ? (1U << OPERATION_COUNT) - 1 : hosts;

	if (c->flags & CONFIGURE_NONE || (base->no_daemon && !base->of_others) ||
		!backend_asks(setup->permissions, all) || !holder_join_is_possible())
		return;
	/* An enclave takes grants for its commands, and asks about its own calls alone. */
	c->ask_ms = base->of_others ? 0 : base->ask_ms;
	if (backend_asks(setup->permissions, hosts))
		c->flags |= CONFIGURE_HOSTS;
}

static int backend_start_warden(const struct sandbox_setup *setup, unsigned flags,
	struct warden_link **ret, struct error *e)
{
	auto_buffer broker = { 0 };
	struct configure configure = { .flags = flags |
						(setup->base->ledger ? CONFIGURE_LEDGER : 0) |
						(setup->base->lent ? CONFIGURE_LENT : 0),
		.variables = setup->base->variables,
		.n_guarded = setup->base->n_guarded };
	const struct sandbox_skill *skill = setup->base->skill;
	const struct warden_link_options o = {
		.program = setup->base->warden,
		.policy = setup->json,
		.policy_len = setup->json_len,
		.configure = &configure,
		.broker = &broker,
		.lent = setup->base->lent,
		.skill = flags & CONFIGURE_SKILL && skill ? skill->skill.copy : -1,
		.ledger = setup->base->ledger ? *setup->base->ledger : -1,
		.timeout_ms = READY_MS,
	};
	int r;

	for (size_t i = 0; setup->wasm_code == 0 && i < PLAN_WORKER_FILES; i++) {
		const struct plan_worker_source *f = &setup->wasm.files[i];

		configure.flags |= CONFIGURE_WORKER;
		configure.worker[i] = (struct configure_file){ f->path, f->dev, f->ino };
	}
	backend_configure_questions(setup, &configure);
	r = setup->base->broker.program ? backend_configure_broker(setup, &configure, &broker, e)
					: 0;
	if (r < 0)
		return r;
	memcpy(configure.guarded, setup->base->guarded, sizeof(configure.guarded));
	r = warden_link_new(ret, &o, e);
	/* The plan was made by looking at the skill's folder: it must have seen what was copied. */
	if (r == 0 && o.skill >= 0) {
		r = launch_skill_unchanged(&skill->skill, e);
		if (r < 0) {
			error_hint(e, "build another sandbox for the skill as it is now");
			warden_link_unref(*ret);
		}
	}
	return r;
}

/* namespaces */

static int namespaces_set_up(
	const struct sandbox_setup *setup, struct warden_link **ret, struct error *e)
{
	const unsigned skill = setup->base->is_skill ? CONFIGURE_SKILL : 0;

	return backend_start_warden(setup, CONFIGURE_SHELL | skill, ret, e);
}

/* The words on the first variable of the call that the policy does not grant. */
static struct corral_denial *namespaces_env_denial(
	const struct policy *policy, const char *const *env)
{
	for (size_t i = 0; env && env[i]; i++) {
		const struct request r = { .op = OPERATION_ENV, .target = env[i] };
		struct decision d;

		if (policy_decide(policy, &r, &d) == 0 && d.verdict != VERDICT_ALLOW)
			return denial_new(&r, &d, true);
	}
	return NULL;
}

static int namespaces_command(const struct sandbox_setup *setup, const struct process_command *c,
	const struct corral_call *call, struct arena *a, struct start *s,
	struct corral_denial **ret_denial, struct error *e)
{
	const struct sandbox_base *base = setup->base;
	const struct environment_options o = {
		.policy = setup->policy,
		.host_env = base->environment,
		.call_env = call->env,
		.own_env = base->lent ? base->lent->env : NULL,
		.cwd = s->cwd,
		.user = base->user,
		.granted = setup->granted,
		.tty = call->flags & CORRAL_CALL_TTY,
		.offline = setup->is_offline,
		.socket = base->broker.program ? PLAN_BROKER_FOLDER "/" PLAN_BROKER_SOCKET : NULL,
		.tools = base->broker.caller ? PLAN_BROKER_FOLDER : NULL,
		.http_url = base->http_token[0] ? PLAN_BROKER_URL : NULL,
		.http_token = base->http_token[0] ? base->http_token : NULL,
	};
	int r = launch_environment(o, &base->variables, a, &s->env, &s->n_env, e);

	if (r == -EACCES)
		*ret_denial = namespaces_env_denial(setup->policy, call->env);
	if (r < 0)
		return r;
	s->program = s->argv[0];
	return c->implied || c->worker ? 0
				       : denial_find_program(setup, s->argv, s->env, s->cwd, a,
						 &s->program, ret_denial, e);
}

/* none */

static int none_set_up(const struct sandbox_setup *setup, struct warden_link **ret, struct error *e)
{
	return backend_start_warden(setup, CONFIGURE_NONE, ret, e);
}

static bool none_is_set(const char *const *env, const char *variable)
{
	const size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; env && env[i]; i++)
		if (strncmp(env[i], variable, len) == 0)
			return true;
	return false;
}

/* The environment of the host, but for a policy that it brought, after what the call sets. */
static int none_command(const struct sandbox_setup *setup, const struct process_command *c,
	const struct corral_call *call, struct arena *a, struct start *s,
	struct corral_denial **ret_denial, struct error *e)
{
	const char *const *host = setup->base->environment;
	const char **env;
	size_t n = 0;

	(void)c;
	(void)ret_denial;
	while (call->env && call->env[n])
		n++;
	for (size_t i = 0; host[i]; i++)
		n++;
	env = arena_calloc(a, n + 1, sizeof(*env));
	if (!env)
		return error_no_memory(e);
	for (size_t i = 0; call->env && call->env[i]; i++)
		env[s->n_env++] = call->env[i];
	for (size_t i = 0; host[i]; i++)
		if (strchr(host[i], '=') && !environment_is_policy(host[i]) &&
			!none_is_set(call->env, host[i]))
			env[s->n_env++] = host[i];
	s->env = env;
	s->program = s->argv[0];
	return 0;
}

const struct sandbox_backend backends[BACKEND_COUNT] = {
	[BACKEND_NAMESPACES] = { "namespaces", true, backend_probe, namespaces_set_up,
		namespaces_command, launch_script, warden_link_end },
	[BACKEND_NONE] = { "none", false, backend_probe, none_set_up, none_command, launch_script,
		warden_link_end },
};
