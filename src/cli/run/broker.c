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

#include "audit/event.h"
#include "cli/output.h"
#include "cli/run/secrets.h"
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

static int run_broker_deny(struct run *r, struct grant_list *to, const char *path)
{
	const char **all = path ? arena_calloc(r->call->arena, 1, sizeof(*all)) : NULL;

	if (!all)
		return -ENOMEM;
	all[0] = path;
	to->items[to->n++] =
		(struct grant){ .all = all, .n = 1, .where = { .file = run_secrets_who(r) } };
	return 0;
}

/*
 * A file that the command sees masked is denied to the broker, whatever lifts the baseline: the
 * sandboxes of exec.run would show the host's. One layer that denies is enough.
 */
static const struct permissions *run_broker_deny_masked(struct run *r, const struct permissions *p)
{
	struct arena *a = r->call->arena;
	const size_t most = p->fs_deny.n + 2 * r->secrets.n_files;
	struct permissions *copy = arena_alloc(a, sizeof(*copy));
	struct permissions **layers =
		arena_calloc(a, p->n_all_of + 1, sizeof(struct permissions *));
	struct grant_list denied = { .items = arena_calloc(a, most + 1, sizeof(struct grant)) };

	if (!copy || !layers || !denied.items)
		return NULL;
	*copy = *p;
	for (size_t i = 0; i < p->n_all_of; i++)
		layers[i] = p->all_of[i];
	if (p->n_all_of > 0) {
		layers[0] = (void *)run_broker_deny_masked(r, p->all_of[0]);
		copy->all_of = layers;
		return layers[0] ? copy : NULL;
	}
	for (size_t i = 0; i < p->fs_deny.n; i++)
		denied.items[denied.n++] = p->fs_deny.items[i];
	for (size_t i = 0; i < r->secrets.n_files; i++)
		if (run_broker_deny(r, &denied, r->secrets.files[i].path) < 0 ||
			run_broker_deny(r, &denied, run_secrets_file(r, i)) < 0)
			return NULL;
	copy->fs_deny = denied;
	return copy;
}

static int run_broker_print_layers(struct run *r, struct broker_setup *setup)
{
	const char **layers = arena_calloc(r->call->arena, r->n_layers + 1, sizeof(*layers));

	for (size_t i = 0; layers && i < r->n_layers; i++) {
		const struct permissions *p = i == 0 && r->secrets.n_files > 0
						      ? run_broker_deny_masked(r, r->layers[i])
						      : r->layers[i];
		auto_buffer text = { 0 };

		if (!p)
			return -ENOMEM;
		if (image_write_text(p, &text) < 0)
			return -E2BIG;
		layers[i] = text.failed ? NULL : arena_strdup(r->call->arena, buffer_text(&text));
		if (!layers[i])
			return -ENOMEM;
	}
	setup->layers = layers;
	setup->n_layers = r->n_layers;
	return layers ? 0 : -ENOMEM;
}

/* Of variables whose secret is lent the broker has what the command has: a placeholder. */
static int run_broker_hide_secrets(struct run *r, struct broker_setup *setup)
{
	const char **list = arena_calloc(r->call->arena, setup->n_environment + 1, sizeof(*list));

	for (size_t i = 0; list && i < setup->n_environment; i++) {
		const char *ours = run_secrets_variable(r, setup->environment[i]);

		list[i] = ours ? ours : setup->environment[i];
	}
	setup->environment = list;
	return list ? 0 : -ENOMEM;
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
		ret = run_broker_hide_secrets(r, setup);
	if (ret == 0)
		ret = launch_broker_environment(r->call->arena, (const char *const *)environ,
			&setup->user_environment, &setup->n_user_environment);
	return ret;
}

/* Who lends secrets to programs that it starts. */
static int run_broker_list_secrets(struct run *r, struct broker_setup *setup)
{
	char self[PATH_BYTES];
	ssize_t len;
	int ret;

	if (r->secrets.calls.n == 0)
		return 0;
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return -errno;
	self[len] = '\0';
	setup->lender = arena_strdup(r->call->arena, self);
	setup->principal = r->secrets.principal;
	setup->secrets = r->secrets.calls.items;
	setup->n_secrets = r->secrets.calls.n;
	ret = launch_lender_environment(r->call->arena, (const char *const *)environ,
		&setup->lender_environment, &setup->n_lender_environment);
	return ret == 0 && !setup->lender ? -ENOMEM : ret;
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
	if (r->audit.trail || r->presets.n_pages)
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
	if (ret == 0)
		ret = run_broker_list_secrets(r, &setup);
	launch_limits_broker(&r->limits, &setup.limits);
	if (ret == 0)
		ret = session_broker_configure(r->session, &setup, r->call->error);
	return ret == -ENOMEM ? error_no_memory(r->call->error) : ret;
}

/*
 * What was opened for it in the user's browser, as often as it may be. What it only asked for is
 * not shown: an address in a line of ours would look as if it could be trusted. On a screen that a
 * program has drawn, it is said when that has ended.
 */
void run_broker_tell_page(struct run *r, const struct run_stdio *s, const void *event, size_t len)
{
	static const char prefix[] = "browser.login:";
	auto_output o = output_for(STDERR_FILENO);
	struct run_presets *all = &r->presets;
	struct audit_event e;

	if (all->n_opened >= RUN_PAGES_MAX || !all->n_pages || len == 0 ||
		audit_event_decode(&e, event, len) < 0 || e.decision != AUDIT_ALLOWED ||
		!e.target || strncmp(e.target, prefix, sizeof(prefix) - 1) != 0 || !e.reason ||
		strncmp(e.reason, "https://", 8) != 0)
		return;
	output_note(&o);
	buffer_adds(&o.text, "opened the page of a login in your browser: ");
	output_foreign(&o, e.reason);
	buffer_addc(&o.text, '\n');
	all->opened[all->n_opened++] =
		run_stdio_is_drawn(s) ? arena_strdup(r->call->arena, buffer_text(&o.text)) : NULL;
	if (!run_stdio_is_drawn(s))
		run_stdio_say(s, buffer_text(&o.text));
}

void run_broker_tell_rest(const struct run *r, struct output *o)
{
	for (size_t i = 0; i < r->presets.n_opened; i++)
		buffer_adds(&o->text, r->presets.opened[i] ? r->presets.opened[i] : "");
}
