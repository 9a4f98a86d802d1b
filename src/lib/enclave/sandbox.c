/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock is held while a sandbox is made or changed, so that no change of the policy passes one
 * by: each is made of what is granted at that moment, and is in the list when the next change
 * comes.
 *
 * When a change does not reach a sandbox (no memory, no session to be had, or a pattern that the
 * jail cannot hold), the safe side is that nothing runs on under the old one: its commands are
 * killed, and it leaves the list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/resolver.h"
#include "launch/inside.h"
#include "lib/api/handles.h"
#include "lib/enclave/internal.h"
#include "lib/sandbox/sandbox.h"

enum { GRANTED = 0, PARTS_MAX = ENCLAVE_CEILING_MAX + 1 };

/* What goes in: the grants, then the ceiling. */
struct parts {
	struct permissions *inside[PARTS_MAX]; /* owned */
	struct corral_permissions handles[PARTS_MAX];
	const struct corral_permissions *list[PARTS_MAX];
	size_t n;
};

static void parts_deinit(struct parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		permissions_free(p->inside[i]);
}
#define auto_parts __attribute__((cleanup(parts_deinit))) struct parts

static int parts_add(struct parts *p, const struct permissions *from, const char *program)
{
	struct permissions *inside = launch_inside(from, program);

	if (!inside)
		return -ENOMEM;
	p->inside[p->n] = p->handles[p->n].p = inside;
	p->list[p->n] = &p->handles[p->n];
	p->n++;
	return 0;
}

/* What may be written by grants as they are, or were. */
static int writable_policy(
	struct policy **ret, const struct corral_enclave *enclave, struct permissions *from)
{
	const struct policy_options o = { .variables = &enclave->variables,
		.real_home = enclave->real_home };

	return enclave_policy_new(ret, &from, 1, &o, NULL);
}

/* Grants that go through links which commands may have made are not for commands. How many. */
static int drop_links(
	struct parts *p, struct corral_enclave *enclave, struct permissions *contested)
{
	auto_policy *ever = NULL, *now = NULL;
	int r = writable_policy(&ever, enclave, enclave->writable), n = 0;

	if (r == 0)
		r = writable_policy(&now, enclave, enclave->granted);
	for (size_t i = 0; r >= 0 && i < p->n; i++) {
		const struct enclave_links l = { &enclave->variables, ever, now,
			enclave->writable };

		r = enclave_links_drop(&l, p->inside[i], contested);
		n += r > 0 ? r : 0;
	}
	return r < 0 ? r : n;
}

/* Rules that hold for the commands of calls, and not for what these start. */
static void parts_tell_unheld(struct corral_enclave *enclave)
{
	auto_buffer names = { 0 };
	bool found = launch_inside_unheld(enclave->granted, &names);

	for (size_t i = 0; i < enclave->n_ceiling; i++)
		found = launch_inside_unheld(enclave->ceiling[i], &names) || found;
	if (found)
		enclave_note(enclave, AUDIT_SESSION, AUDIT_NONE,
			"rules enforced for calls but not for child processes",
			buffer_text(&names));
}

static int parts_fill(struct parts *p, struct corral_enclave *enclave, const char *program)
{
	int r = parts_add(p, enclave->granted, program);

	for (size_t i = 0; r == 0 && i < enclave->n_ceiling; i++)
		r = parts_add(p, enclave->ceiling[i], program);
	if (r == 0) {
		auto_permissions *contested = permissions_new();

		r = contested ? drop_links(p, enclave, contested) : -ENOMEM;
	}
	if (r > 0)
		enclave_note(enclave, AUDIT_SESSION, AUDIT_NONE, "grants left out",
			"their paths use symbolic links that commands could have created");
	if (r >= 0)
		parts_tell_unheld(enclave);
	return r < 0 ? r : 0;
}

/* The policy that says whether a program may run in there. */
static int compile_parts(struct policy **ret, const struct corral_enclave *enclave,
	const struct parts *parts, struct error *e)
{
	const struct policy_options o = { .variables = &enclave->variables,
		.resolver = &resolver_system };

	return enclave_policy_new(ret, parts->inside, parts->n, &o, e);
}

/* Commands, and what they were denied, are reported by those who start them, who know for whom. */
static void hear_sandbox(void *context, const struct corral_event *event)
{
	struct corral_enclave *enclave = context;

	if (event->kind == CORRAL_EVENT_SESSION || event->kind == CORRAL_EVENT_LOST ||
		event->kind == CORRAL_EVENT_CONNECTION)
		enclave_record_sandbox(enclave, event);
}

/*
 * Values that commands get must not be in the log, in whatever text. -E2BIG: they are too many to
 * be kept out.
 */
static int keep_values_secret(const struct enclave_sandbox *s, const struct policy *policy)
{
	const char *const *env = s->sandbox->base.environment;
	int r = 0;

	for (size_t i = 0; r == 0 && env[i]; i++) {
		auto_arena scratch = { 0 };
		size_t len = strcspn(env[i], "=");
		const char *name = arena_strndup(&scratch, env[i], len);
		const struct request asked = { .op = OPERATION_ENV, .target = name };

		if (!name)
			return -ENOMEM;
		if (env[i][len] && policy_allows(policy, &asked))
			r = audit_trail_secret(s->enclave->trail, name, env[i] + len + 1);
	}
	return r;
}

/* Making */

static int build_sandbox(struct enclave_sandbox *s, const struct parts *parts,
	const struct sandbox_lent *lent, struct corral_error **e)
{
	struct corral_enclave *enclave = s->enclave;
	struct corral_builder *b = NULL;
	struct error error = { 0 };
	int r = compile_parts(&s->policy, enclave, parts, &error);

	if (r == 0)
		r = corral_builder_from_permissions(&b, parts->list[GRANTED]);
	if (r < 0)
		return handles_error(e, &error, r);
	/* Whatever fails here, building fails with its words. */
	for (size_t i = GRANTED + 1; i < parts->n; i++)
		(void)corral_builder_restrict(b, parts->list[i]);
	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++) {
		if (enclave->variables.values[v])
			r = corral_builder_variable(
				b, variable_name((enum variable)v), enclave->variables.values[v]);
	}
	for (size_t i = 0; i < enclave->n_guarded; i++)
		(void)sandbox_builder_guard(b, enclave->guarded[i]);
	if (enclave->warden)
		(void)corral_builder_warden(b, enclave->warden);
	sandbox_builder_share(b, enclave->ledger);
	sandbox_builder_lend(b, lent);
	sandbox_builder_joined(b, enclave->joined, enclave_live_try, enclave);
	(void)corral_builder_with_audit(b, hear_sandbox, enclave);
	r = sandbox_builder_build(b, NULL, &s->sandbox, e);
	corral_builder_free(b);
	if (r < 0)
		return r;
	r = keep_values_secret(s, s->policy);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

static void destroy_sandbox(struct enclave_sandbox *s)
{
	if (!s)
		return;
	corral_sandbox_free(s->sandbox);
	policy_free(s->policy);
	free(s->program);
	free(s);
}

/* With the lock held. program: as in the struct. */
static int make_sandbox(struct corral_enclave *enclave, const char *program,
	const struct sandbox_lent *lent, struct enclave_sandbox **ret, struct corral_error **e)
{
	struct enclave_sandbox *s = calloc(1, sizeof(*s));
	struct error error = { 0 };
	auto_parts parts = { 0 };
	int r = s ? parts_fill(&parts, enclave, program) : -ENOMEM;

	if (r == 0 && program) {
		s->program = strdup(program);
		r = s->program ? 0 : -ENOMEM;
	}
	if (r < 0) {
		(void)handles_error(e, &error, r);
	} else {
		s->enclave = enclave;
		s->is_lent = lent;
		r = build_sandbox(s, &parts, lent, e);
	}
	if (r < 0) {
		destroy_sandbox(s);
		return r;
	}
	s->next = enclave->sandboxes;
	enclave->sandboxes = s;
	*ret = s;
	return 0;
}

/* The one for all programs. */
static bool sandbox_is_shared(const struct enclave_sandbox *s)
{
	return !s->program && !s->is_lent;
}

static int sandbox_get_shared(
	struct corral_enclave *enclave, struct enclave_sandbox **ret, struct corral_error **e)
{
	struct enclave_sandbox *s = enclave->sandboxes;
	int r = 0;

	while (s && !sandbox_is_shared(s))
		s = s->next;
	if (!s) {
		r = make_sandbox(enclave, NULL, NULL, &s, e);
		if (r < 0)
			return r;
		s->refs++; /* the list's own */
	}
	*ret = s;
	return r;
}

int enclave_sandbox_get(struct corral_enclave *enclave, const char *const *argv,
	const struct sandbox_lent *lent, struct enclave_sandbox **ret, struct corral_error **e)
{
	struct request run = { .op = OPERATION_EXEC, .target = argv[0], .args = argv + 1 };
	struct enclave_sandbox *s = NULL;
	bool may_run;
	int r = sandbox_get_shared(enclave, &s, e);

	if (r < 0)
		return r;
	while (run.args[run.n_args])
		run.n_args++;
	may_run = policy_allows(s->policy, &run);
	if (!may_run || lent)
		r = make_sandbox(enclave, may_run ? NULL : argv[0], lent, &s, e);
	if (r < 0)
		return r;
	s->refs++;
	*ret = s;
	return 0;
}

/* Letting go */

void enclave_sandbox_unref(struct enclave_sandbox *s)
{
	struct corral_enclave *enclave = s->enclave;
	struct enclave_sandbox **at = &enclave->sandboxes;
	bool last;

	(void)pthread_mutex_lock(&enclave->lock);
	last = --s->refs == 0;
	/* It may have left the list already. */
	while (last && *at && *at != s)
		at = &(*at)->next;
	if (last && *at)
		*at = s->next;
	(void)pthread_mutex_unlock(&enclave->lock);
	if (last)
		destroy_sandbox(s);
}

void enclave_sandbox_drop(struct corral_enclave *enclave)
{
	while (enclave->sandboxes) {
		struct enclave_sandbox *s = enclave->sandboxes;

		enclave->sandboxes = s->next;
		destroy_sandbox(s);
	}
}

/* Changing */

static int change_sandbox(
	struct enclave_sandbox *s, struct corral_update *u, struct corral_error **e)
{
	struct policy *next = NULL;
	struct error error = { 0 };
	auto_parts parts = { 0 };
	int r = parts_fill(&parts, s->enclave, s->program);

	if (r == 0)
		r = compile_parts(&next, s->enclave, &parts, &error);
	if (r < 0) {
		policy_free(next);
		return handles_error(e, &error, r);
	}
	r = keep_values_secret(s, next);
	if (r < 0)
		(void)handles_error(e, &error, r);
	else
		r = corral_sandbox_update(s->sandbox, parts.list, parts.n, u, e);
	if (r < 0) {
		policy_free(next);
		return r;
	}
	policy_free(s->policy);
	s->policy = next;
	return 0;
}

/*
 * Takes it out of the list, at that place, and waits until all that ran in it is gone. Who had a
 * command there learns of it, and frees it.
 */
static void end_sandbox(struct enclave_sandbox **at, const char *why)
{
	struct enclave_sandbox *s = *at;
	struct corral_stats stats;
	auto_buffer reason = { 0 };

	corral_sandbox_stats(s->sandbox, &stats, sizeof(stats));
	buffer_printf(
		&reason, "%llu commands were killed: %s", (unsigned long long)stats.running, why);
	corral_sandbox_free(s->sandbox);
	s->sandbox = NULL;
	enclave_note(s->enclave, AUDIT_SESSION, AUDIT_FAILED, "ended", buffer_text(&reason));
	*at = s->next;
	/* The last reference may be the list's. */
	if (sandbox_is_shared(s) && --s->refs == 0)
		destroy_sandbox(s);
}

/* Contested grants */

/* 1: there is one that was none before the change. */
static int look_for_contested(struct corral_enclave *enclave)
{
	struct permissions *contested = permissions_new();
	auto_parts parts = { 0 };
	int r = contested ? parts_add(&parts, enclave->granted, NULL) : -ENOMEM;

	if (r == 0)
		r = drop_links(&parts, enclave, contested);
	r = r > 0 ? 0 : r;
	for (size_t i = 0; r == 0 && i < contested->fs_read.n; i++)
		r = !enclave->contested ||
		    !grants_has(&enclave->contested->fs_read, contested->fs_read.items[i].all[0]);
	if (r < 0) {
		permissions_free(contested);
		return r;
	}
	permissions_free(enclave->contested);
	enclave->contested = contested;
	return r;
}

/*
 * A grant now lies where commands that run on could write when they began, and no more: they could
 * make a link of its name between our look and the jail's. So they are ended first.
 */
static void end_contesting(struct corral_enclave *enclave)
{
	struct enclave_sandbox **at = &enclave->sandboxes;

	if (look_for_contested(enclave) == 0)
		return;
	while (*at) {
		struct corral_stats stats;

		corral_sandbox_stats((*at)->sandbox, &stats, sizeof(stats));
		if (stats.running)
			end_sandbox(at, "a grant is in a folder that they could write before");
		else
			at = &(*at)->next;
	}
}

void enclave_sandbox_update(struct corral_enclave *enclave, struct corral_update *u)
{
	struct enclave_sandbox **at = &enclave->sandboxes;

	end_contesting(enclave);
	while (*at) {
		struct corral_update one = { .size = sizeof(one) };
		struct corral_error *e = NULL;

		if (change_sandbox(*at, &one, &e) < 0)
			end_sandbox(at, corral_error_message(e));
		else
			at = &(*at)->next;
		corral_error_free(e);
		u->changed |= one.changed;
		u->next |= one.next;
		u->running += one.running;
	}
}

void enclave_sandbox_end_all(struct corral_enclave *enclave, const char *why)
{
	while (enclave->sandboxes)
		end_sandbox(&enclave->sandboxes, why);
}
