/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions of a sandbox, compiled. Nothing of a setup changes; an update makes another. */
#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "host/resolver.h"
#include "lib/api/audit-handle.h"
#include "lib/sandbox/reach.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/permissions-text.h"

static int add_layers(struct permissions *to, const struct permissions *from)
{
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	int n = permissions_layers(from, layers, SANDBOX_LAYERS_MAX), r = n < 0 ? n : 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = permissions_add_layer(to, layers[i]);
	return r;
}

int sandbox_combine(
	struct permissions **ret, const struct permissions *const *all, size_t n, struct error *e)
{
	auto_permissions *p = n == 1 ? permissions_copy(all[0]) : permissions_new();
	int r = p ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && n > 1 && i < n; i++)
		r = add_layers(p, all[i]);
	if (r < 0)
		return error_set(e, r, NULL, "%s",
			r == -ENOMEM ? "out of memory" : "the permissions have too many layers");
	*ret = p;
	p = NULL;
	return 0;
}

static void set_limits(struct sandbox_setup *s)
{
	policy_limits(s->policy, &s->limits);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		if (s->base->limits.values[i] < s->limits.values[i])
			s->limits.values[i] = s->base->limits.values[i];
	}
}

static int sandbox_setup_compile(struct sandbox_setup *s, struct error *e)
{
	const struct policy_options o = { .variables = &s->base->variables,
		.resolver = &resolver_system };
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	int n = permissions_layers(s->permissions, layers, SANDBOX_LAYERS_MAX), r;

	if (n < 0)
		return error_set(e, n, NULL, "the permissions have too many layers");
	r = policy_new(&s->policy, layers, (size_t)n, &o, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < policy_layers(s->policy); i++)
		s->exec_listed = s->exec_listed || !layer_exec_is_open(policy_layer(s->policy, i));
	set_limits(s);
	return 0;
}

static int sandbox_setup_print(struct sandbox_setup *s)
{
	auto_buffer out = { 0 };

	permissions_print_json(s->permissions, &out);
	s->json_len = out.len;
	s->json = out.failed ? NULL : buffer_take(&out);
	return s->json ? 0 : -ENOMEM;
}

int sandbox_setup_new(struct sandbox_setup **ret, const struct sandbox_base *base,
	struct permissions *permissions, struct error *e)
{
	struct sandbox_setup *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		permissions_free(permissions);
		return error_no_memory(e);
	}
	s->refs = 1;
	s->base = base;
	s->permissions = permissions;
	/* A log that commands could change is refused, unless it is known that they can change all.
	 */
	r = base->backend->enforces ? lib_audit_check_sink(base->sink, base->context, permissions,
					      &base->variables, e)
				    : 0;
	if (r == 0)
		r = sandbox_setup_compile(s, e);
	if (r == 0)
		r = sandbox_setup_print(s);
	if (r < 0)
		sandbox_setup_unref(s);
	else
		*ret = s;
	return r;
}

struct sandbox_setup *sandbox_setup_ref(struct sandbox_setup *s)
{
	(void)atomic_fetch_add(&s->refs, 1);
	return s;
}

void sandbox_setup_unref(struct sandbox_setup *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	sandbox_reach_free(s->reach);
	policy_free(s->policy);
	permissions_free(s->permissions);
	free(s->json);
	free(s);
}

int sandbox_setup_reach(struct sandbox_setup *s, struct error *e)
{
	return s->reach ? 0 : sandbox_reach_new(&s->reach, s->permissions, &s->base->variables, e);
}
