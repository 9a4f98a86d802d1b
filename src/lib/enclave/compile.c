/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From grants and ceiling to the policy that judges: links that lie in a grant's name are followed
 * now, once (beneath.h), but for those that somebody could have made whom the policy holds.
 *
 * Whoever may write somewhere may leave a link there and lose the right to write afterwards. So the
 * places that were ever granted for writing are kept for the life of the enclave. A place that was
 * granted by a name with links is one of them under its other name, too: that is why grants are
 * resolved twice, the first time only to learn those names.
 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "host/resolver.h"
#include "lib/api/audit-handle.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"

enum { LAYERS_MAX = 64, WRITABLE_MAX = 4096 };

#define EVERYWHERE "/**"

/* Where one may write */

/* Past the bound everything counts as such a place: then no link is followed any more. */
static int compile_add(struct permissions *to, const char *pattern)
{
	if (to->fs_write.n >= WRITABLE_MAX)
		pattern = EVERYWHERE;
	for (size_t i = 0; i < to->fs_write.n; i++) {
		if (strcmp(to->fs_write.items[i].all[0], pattern) == 0)
			return 0;
	}
	return permissions_add(to, &to->fs_write, pattern, NULL);
}

static int compile_add_list(struct permissions *to, const struct grant_list *from)
{
	int r = 0;

	/* Of an entry that must match several patterns the first is enough: it is wider. */
	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = compile_add(to, from->items[i].all[0]);
	return r;
}

static int compile_add_guest_path(struct permissions *to, const struct guest_path *g)
{
	auto_buffer below = { 0 };
	int r = g->writable ? compile_add(to, g->host) : 0;

	if (r < 0 || !g->writable)
		return r;
	buffer_printf(&below, "%s" EVERYWHERE, g->host);
	return below.failed ? -ENOMEM : compile_add(to, buffer_text(&below));
}

/* A little too much does no harm: a link that lies there is not followed, and that is all. */
static int add_writable(struct permissions *to, const struct permissions *from)
{
	int r = compile_add_list(to, &from->fs_write);

	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		const struct rule *rule = &from->rules[i];

		if (rule->operations & 1u << OPERATION_FS_WRITE && rule->action != VERDICT_DENY)
			r = compile_add_list(to, &rule->patterns);
	}
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++)
		r = compile_add_guest_path(to, &from->guest_paths[i]);
	if (r == 0 && from->n_all_of == 0 &&
		(from->fallback != VERDICT_DENY || from->mode != MODE_ENFORCE))
		r = compile_add(to, EVERYWHERE);
	for (size_t i = 0; r == 0 && i < from->n_all_of; i++)
		r = add_writable(to, from->all_of[i]);
	return r;
}

/* Compiling */

struct compiling {
	const struct corral_enclave *enclave;
	struct permissions *writable;                          /* owned, until it is given away */
	struct permissions *resolved[ENCLAVE_CEILING_MAX + 1]; /* owned: the grants, the ceiling */
	size_t n;
	struct error *error;
};

static void drop_resolved(struct compiling *c)
{
	for (size_t i = 0; i < c->n; i++)
		permissions_free(c->resolved[i]);
	c->n = 0;
}

static void compiling_deinit(struct compiling *c)
{
	drop_resolved(c);
	permissions_free(c->writable);
}
#define auto_compiling __attribute__((cleanup(compiling_deinit))) struct compiling

static int policy_of(
	struct compiling *c, struct permissions *const *from, size_t n, struct policy **ret)
{
	const struct policy_options o = { .variables = &c->enclave->variables,
		.resolver = &resolver_system,
		.real_home = c->enclave->real_home };
	const struct permissions *layers[LAYERS_MAX];
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		int r = permissions_layers(from[i], layers + found, LAYERS_MAX - found);

		if (r < 0)
			return error_set(c->error, r, NULL, "more than %d layers", LAYERS_MAX);
		found += (size_t)r;
	}
	return policy_new(ret, layers, found, &o, c->error);
}

static int resolve_one(
	struct compiling *c, const struct permissions *from, const struct policy *writable)
{
	struct permissions *copy = permissions_copy(from);

	if (!copy)
		return -ENOMEM;
	c->resolved[c->n++] = copy;
	return beneath_resolve_grants(copy, &c->enclave->variables, writable, c->error);
}

/* The grants, and then the ceiling, with their links. */
static int compile_resolve(struct compiling *c, const struct permissions *granted)
{
	struct policy *writable = NULL;
	int r = policy_of(c, &c->writable, 1, &writable);

	drop_resolved(c);
	if (r == 0)
		r = resolve_one(c, granted, writable);
	for (size_t i = 0; r == 0 && i < c->enclave->n_ceiling; i++)
		r = resolve_one(c, c->enclave->ceiling[i], writable);
	policy_free(writable);
	return r;
}

int enclave_compile(struct policy **ret, struct permissions **ret_writable,
	const struct corral_enclave *enclave, const struct permissions *granted, struct error *e)
{
	auto_compiling c = { .enclave = enclave, .error = e };
	auto_policy *policy = NULL;
	int r;

	c.writable = enclave->writable ? permissions_copy(enclave->writable) : permissions_new();
	r = c.writable ? add_writable(c.writable, granted) : -ENOMEM;
	if (r == 0)
		r = compile_resolve(&c, granted);
	if (r == 0)
		r = add_writable(c.writable, c.resolved[0]);
	if (r == 0)
		r = compile_resolve(&c, granted);
	if (r == 0)
		r = policy_of(&c, c.resolved, c.n, &policy);
	if (r == 0)
		r = lib_audit_check(enclave->audit, policy, e);
	if (r < 0)
		return r;
	*ret = policy;
	policy = NULL;
	*ret_writable = c.writable;
	c.writable = NULL;
	return 0;
}
