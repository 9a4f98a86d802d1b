/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A broker for the run (warden/session/broker-process.h): with --broker, or because a policy grants
 * services, which a command gets by no other way. In the latter case a Corral without a broker runs
 * the command all the same, as it did before there was one, and says so.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/run/internal.h"
#include "codec/encoding.h"
#include "host/environment.h"
#include "launch/command.h"
#include "policy/format/image.h"
#include "wire/broker.h"
#include "wire/question.h"

static bool run_broker_is_wanted(const struct run *r)
{
	bool wanted = r->options.broker || r->options.broker_http;

	/* A module has no sockets: what it may reach, it reaches by calls. */
	if (!r->options.no_broker && r->options.skill && !r->options.is_command && r->policy &&
		launch_wasm_is(&r->skill))
		wanted = wanted || launch_wasm_needs_broker(&r->skill);
	for (size_t i = 0; !wanted && !r->options.no_broker && i < r->n_layers; i++)
		wanted = launch_broker_is_granted(r->layers[i]);
	return wanted;
}

static void run_broker_note(const struct run *r, const struct error *why)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	buffer_printf(
		&o.text, "the policy grants services, but %s: calls of them fail\n", why->text);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

static void run_broker_make_token(struct run *r)
{
	unsigned char bytes[sizeof(r->http_token) / 2];

	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), r->http_token);
}

/* Once before there are layers, and once after that: the sooner it starts, the better. */
int run_broker_begin(struct run *r)
{
	struct error why = { 0 };
	int ret;

	if (r->broker.program || !run_broker_is_wanted(r))
		return 0;
	ret = launch_broker_find(&r->broker, &why);
	if (ret == 0 && r->options.broker_http)
		run_broker_make_token(r);
	if (ret == 0)
		return session_broker_start(r->session, r->broker.program, r->call->error);
	if (r->options.broker || r->options.broker_http) {
		*r->call->error = why;
		return ret;
	}
	run_broker_note(r, &why);
	return 0;
}

static int run_broker_print_layers(struct run *r, struct broker_setup *setup)
{
	const char **layers = arena_calloc(r->call->arena, r->n_layers + 1, sizeof(*layers));

	for (size_t i = 0; layers && i < r->n_layers; i++) {
		auto_buffer text = { 0 };

		if (image_write_text(r->layers[i], &text) < 0)
			return -E2BIG;
		layers[i] = text.failed ? NULL : arena_strdup(r->call->arena, buffer_text(&text));
		if (!layers[i])
			return -ENOMEM;
	}
	setup->layers = layers;
	setup->n_layers = r->n_layers;
	return layers ? 0 : -ENOMEM;
}

/* What the command could be given of the host's, and what back ends of services need. */
static int run_broker_list_variables(struct run *r, struct broker_setup *setup)
{
	const struct environment_options o = { .policy = r->policy,
		.host_env = (const char *const *)environ };
	int ret = environment_granted(r->call->arena, &o, &setup->environment, r->call->error);

	while (ret == 0 && setup->environment[setup->n_environment])
		setup->n_environment++;
	if (ret == 0)
		ret = launch_broker_environment(r->call->arena, (const char *const *)environ,
			&setup->user_environment, &setup->n_user_environment);
	return ret;
}

/* As for the command: what decides about the next run, and the skill that runs. */
static int run_broker_list_guarded(struct run *r, struct broker_setup *setup)
{
	const char **list = arena_calloc(r->call->arena, r->n_guarded + 2, sizeof(*list));

	for (size_t i = 0; list && i < r->n_guarded; i++)
		list[setup->n_guarded++] = r->guarded[i];
	if (list && r->copy.map)
		list[setup->n_guarded++] = r->skill.path;
	setup->guarded = list;
	return list ? 0 : -ENOMEM;
}

/* The log is open. */
int run_broker_configure(struct run *r)
{
	struct broker_setup setup = { .variables = r->load.variables,
		.warden = r->broker.warden,
		.log = r->audit.path,
		.session = r->audit.session,
		.sandbox = run_audit_sandbox(r),
		.folder = r->cwd };
	int ret;

	if (!r->broker.program)
		return 0;
	/* Only a daemon takes questions. */
	if (r->live.is_on)
		setup.ask_ms = run_live_ask_ms(r);
	setup.flags = launch_wasm_has_sockets(&r->skill) ? BROKER_SOCKETS : 0;
	if (r->audit.trail)
		setup.flags |= BROKER_TELLS;
	if (r->plan->has_http) {
		setup.flags |= BROKER_HTTP;
		setup.token = r->http_token;
	}
	ret = run_broker_print_layers(r, &setup);
	if (ret == 0)
		ret = run_broker_list_variables(r, &setup);
	if (ret == 0)
		ret = run_broker_list_guarded(r, &setup);
	launch_limits_broker(&r->limits, &setup.limits);
	if (ret == 0)
		ret = session_broker_configure(r->session, &setup, r->call->error);
	return ret == -ENOMEM ? error_no_memory(r->call->error) : ret;
}
