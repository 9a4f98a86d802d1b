/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for what did not work: the class by the code, the rule that decided, what is allowed
 * instead, and what to do.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "broker/monitor/internal.h"
#include "policy/explain.h"
#include "policy/match/service.h"

enum { MESSAGE_MAX = 2048, REFUSAL_ALLOWED_BYTES = 4096 };

/* What is allowed instead */

static bool refusal_has(const struct value_item *items, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(items[i].text, text) == 0)
			return true;
	return false;
}

/* The values of all scopes with which a service has this access: domains, lists … */
static size_t refusal_scopes(const struct layer *l, const struct service_request *r,
	struct value_item *items, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_services; i++) {
		const struct service *s = &l->services[i];

		if (strlen(s->name) != r->name_len || strncmp(s->name, r->name, r->name_len) != 0 ||
			!(s->access & r->access))
			continue;
		for (size_t k = 0; k < s->n_scopes; k++)
			for (size_t j = 0; j < s->scopes[k].values.n && n < max; j++)
				items[n++].text = s->scopes[k].values.items[j].all[0];
	}
	return n;
}

const struct value_item *refusal_scopes_of(
	const struct monitor *m, const char *target, struct arena *a, size_t *ret_n)
{
	struct value_item *items = arena_calloc(a, REFUSAL_ALLOWED_MAX, sizeof(*items));
	struct service_request request;
	size_t n = 0;

	if (items && service_request_parse(&request, target) == 0)
		for (size_t i = 0; n == 0 && i < policy_layers(m->policy); i++)
			n = refusal_scopes(
				policy_layer(m->policy, i), &request, items, REFUSAL_ALLOWED_MAX);
	*ret_n = n;
	return items;
}

/*
 * Of the layer that is the first to grant something: each of the others narrows it. Patterns stand
 * there as they were written.
 */
const struct value_item *refusal_allowed(
	const struct monitor *m, enum operation op, struct arena *a, size_t *ret_n)
{
	struct value_item *items = arena_calloc(a, REFUSAL_ALLOWED_MAX, sizeof(*items));
	size_t n = 0, bytes = 0;

	for (size_t i = 0; items && n == 0 && i < policy_layers(m->policy); i++) {
		const struct sources *s = &policy_layer(m->policy, i)->sources[op];

		for (size_t k = 0; k < s->n && n < REFUSAL_ALLOWED_MAX; k++) {
			const char *text = s->items[k].grant->all[0];

			bytes += strlen(text);
			if (bytes > REFUSAL_ALLOWED_BYTES)
				break;
			if (s->items[k].in->verdict == VERDICT_ALLOW &&
				!refusal_has(items, n, text))
				items[n++].text = text;
		}
	}
	*ret_n = items ? n : 0;
	return items;
}

/* What went wrong */

static const struct {
	int code;
	enum rpc_class class;
} refusal_classes[] = {
	{ -EINVAL, RPC_PARAMS },
	{ -E2BIG, RPC_PARAMS },
	{ -ETIMEDOUT, RPC_TIMEOUT },
	{ -EOPNOTSUPP, RPC_SERVICE },
	/* A part of ours ended, broke its protocol, or cannot have what it needs. */
	{ -ECHILD, RPC_INTERNAL },
	{ -ECONNRESET, RPC_INTERNAL },
	{ -EPIPE, RPC_INTERNAL },
	{ -EPROTO, RPC_INTERNAL },
	{ -ENOMEM, RPC_INTERNAL },
	{ -EMFILE, RPC_INTERNAL },
	{ -ENFILE, RPC_INTERNAL },
	{ -EAGAIN, RPC_INTERNAL },
};

static enum rpc_class refusal_class(int code, enum rpc_class otherwise)
{
	for (size_t i = 0; i < ROWS(refusal_classes); i++)
		if (refusal_classes[i].code == code)
			return refusal_classes[i].class;
	return otherwise;
}

static const char *refusal_text(struct arena *a, const char *text)
{
	return text && text[0] ? arena_strndup(a, text, strnlen(text, MESSAGE_MAX)) : NULL;
}

/* What would allow it, for a model that reads it: it can ask for that, and for nothing else. */
static const char *refusal_remedy(struct arena *a, const char *remedy)
{
	static const char ask[] = "ask the user for this grant; nothing inside the sandbox, and no "
				  "option of a command, turns it off";
	const char *text = refusal_text(a, remedy), *rest, *option = NULL;
	auto_buffer value = { 0 };

	if (text)
		option = explain_option(text, &value, &rest);
	/* A profile is no file that a line could be added to. */
	if (option && !value.failed)
		text = strchr(buffer_text(&value), ' ')
			       ? arena_printf(a, "the option %s '%s' of corral run allows it%s",
					 option, buffer_text(&value), rest)
			       : arena_printf(a, "the option %s %s of corral run allows it%s",
					 option, buffer_text(&value), rest);
	return text ? arena_printf(a, "%s; %s", text, ask) : NULL;
}

/* By a rule of the policy, or because none allows it. */
static void refusal_by_policy(struct monitor_call *c, const struct corral_denial *d)
{
	struct arena *a = &c->arena;
	struct rpc_refusal why = { .class = RPC_PERMISSION,
		.message = arena_printf(a, "permission denied: %s %.512s: %.512s",
			operation_name((enum operation)d->op), d->target, d->reason),
		.hint = refusal_remedy(a, d->remedy),
		.rule = refusal_text(a, d->rule) };

	if (!why.message)
		why.message = "permission denied";
	if (d->op != CORRAL_SERVICE)
		why.allowed = refusal_allowed(c->monitor, (enum operation)d->op, a, &why.n_allowed);
	else
		why.allowed = refusal_scopes_of(c->monitor, d->target, a, &why.n_allowed);
	/* A granted service does not have this in its scope. */
	if (d->op == CORRAL_SERVICE && why.n_allowed > 0)
		why.class = RPC_SCOPE;
	monitor_refuse(c, &why);
}

void monitor_fail(struct monitor_call *c, enum rpc_class class, int code, struct corral_error *e)
{
	const struct corral_denial *d = corral_error_denial(e);
	struct rpc_refusal why = { .class = refusal_class(code, class) };

	if (code == -EINPROGRESS) {
		monitor_ask(c, e);
		return;
	}
	if (d && code == -EACCES) {
		refusal_by_policy(c, d);
		corral_error_free(e);
		return;
	}
	why.message = refusal_text(&c->arena, corral_error_message(e));
	if (!why.message)
		why.message = strerror(-code);
	corral_error_free(e);
	monitor_refuse(c, &why);
}
