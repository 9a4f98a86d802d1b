/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing what is granted. A change is made to a copy, compiled, and put in place as a whole, or
 * not at all; it holds for the next call of every thread when it returns. Then it reaches the
 * sandboxes, for which the answer says what holds at once and what from the next command on.
 *
 * Every change is reported, with what it added and removed; so is every attempt with a wrong token.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/resolver.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"
#include "lib/enclave/followed.h"
#include "lib/enclave/internal.h"
#include "lib/sandbox/sandbox.h"
#include "policy/algebra/ceiling.h"
#include "policy/format/permissions-text.h"

enum { LAYERS_MAX = 64, WRITABLE_MAX = 4096 };

#define EVERYWHERE "/**"

/*
 * From grants and ceiling to the policy that judges: links that lie in a grant's name are followed
 * now, once (followed.h), but for those that somebody could have made whom the policy holds.
 *
 * Whoever may write somewhere may leave a link there and lose the right to write afterwards. So the
 * places that were ever granted for writing are kept for the life of the enclave. A place that was
 * granted by a name with links is one of them under its other name, too: that is why grants are
 * resolved twice, the first time only to learn those names.
 */

/* Past the bound everything counts as such a place: then no link is followed any more. */
static int compile_add(struct permissions *to, const char *pattern)
{
	if (to->fs_write.n >= WRITABLE_MAX)
		pattern = EVERYWHERE;
	if (grants_has(&to->fs_write, pattern))
		return 0;
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

/* A little too much does no harm: a link that lies there is not followed, and that is all. */
static int add_writable(struct permissions *to, const struct permissions *from)
{
	int r = compile_add_list(to, &from->fs_write);

	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		const struct rule *rule = &from->rules[i];

		if (rule->operations & 1u << OPERATION_FS_WRITE && rule->action != VERDICT_DENY)
			r = compile_add_list(to, &rule->patterns);
	}
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++) {
		const struct guest_path *g = &from->guest_paths[i];
		auto_buffer below = { 0 };

		if (!g->writable)
			continue;
		buffer_printf(&below, "%s" EVERYWHERE, g->host);
		r = below.failed ? -ENOMEM : compile_add(to, g->host);
		if (r == 0)
			r = compile_add(to, buffer_text(&below));
	}
	if (r == 0 && from->n_all_of == 0 &&
		(from->fallback != VERDICT_DENY || from->mode != MODE_ENFORCE))
		r = compile_add(to, EVERYWHERE);
	for (size_t i = 0; r == 0 && i < from->n_all_of; i++)
		r = add_writable(to, from->all_of[i]);
	return r;
}

struct compiling {
	const struct corral_enclave *enclave;
	const struct joined_change *live; /* or NULL */
	struct policy_options options;
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

int enclave_policy_new(struct policy **ret, struct permissions *const *from, size_t n,
	const struct policy_options *o, struct error *e)
{
	const struct permissions *layers[LAYERS_MAX];
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		int r = permissions_layers(from[i], layers + found, LAYERS_MAX - found);

		if (r < 0)
			return error_set(e, r, NULL, "more than %d layers", LAYERS_MAX);
		found += (size_t)r;
	}
	return policy_new(ret, layers, found, o, e);
}

/* What the user granted, in each layer: it answers what that asks, and no more than that. */
static int compile_add_live(struct compiling *c, struct permissions *p)
{
	int r = 0;

	for (size_t i = 0; c->live && r == 0 && i < c->live->n; i++) {
		const struct live_grant *from = &c->live->grants[i];
		struct ceiling_grant g;

		r = ceiling_grant_read(&g, (enum operation)from->op, from->pattern, p->arena);
		if (r == 0)
			r = ceiling_add(p, &g, &c->options, c->error);
	}
	return r;
}

/* The grants, and then the ceiling, with their links. */
static int compile_resolve(struct compiling *c, const struct permissions *granted)
{
	const struct corral_enclave *enclave = c->enclave;
	auto_policy *writable = NULL;
	int r = enclave_policy_new(&writable, &c->writable, 1, &c->options, c->error);

	drop_resolved(c);
	for (size_t i = 0; r == 0 && i <= enclave->n_ceiling; i++) {
		struct permissions *copy = permissions_copy(i ? enclave->ceiling[i - 1] : granted);

		if (!copy)
			return -ENOMEM;
		c->resolved[c->n++] = copy;
		r = compile_add_live(c, copy);
		if (r == 0)
			r = followed_grants(
				copy, &enclave->variables, writable, enclave->root, c->error);
	}
	return r;
}

int enclave_compile(struct policy **ret, struct permissions **ret_writable,
	const struct corral_enclave *enclave, const struct permissions *granted,
	const struct joined_change *live, struct error *e)
{
	auto_compiling c = { .enclave = enclave,
		.live = live,
		.options = { &enclave->variables, &resolver_system, enclave->real_home },
		.error = e };
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
		r = enclave_policy_new(&policy, c.resolved, c.n, &c.options, e);
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

/* Changing */

int corral_enclave_get_policy(struct corral_enclave *enclave, char **ret)
{
	auto_buffer out = { 0 };

	(void)pthread_mutex_lock(&enclave->lock);
	permissions_print_json(enclave->granted, &out);
	(void)pthread_mutex_unlock(&enclave->lock);
	return handles_text(&out, ret);
}

/* With the lock held. Takes over next, if it succeeds. */
static int put_policy(struct corral_enclave *enclave, struct permissions *next,
	struct corral_update *u, struct error *e)
{
	struct permissions *writable = NULL;
	struct policy *policy = NULL;
	int r = enclave_compile(&policy, &writable, enclave, next, NULL, e);

	if (r < 0)
		return r;
	/* What was granted below the ceiling of before is over, and nothing is granted until there
	 * is another one. */
	enclave_live_pause(enclave);
	u->generation = policy_box_swap(enclave->box, policy);
	if (u->generation == 0) {
		policy_free(policy);
		permissions_free(writable);
		enclave_live_declare(enclave);
		return -ENOMEM;
	}
	joined_change_deinit(&enclave->live);
	enclave->live_ends_ms = UINT64_MAX;
	permissions_free(enclave->granted);
	permissions_free(enclave->writable);
	enclave->granted = next;
	enclave->writable = writable;
	enclave_live_declare(enclave);
	enclave_sandbox_update(enclave, u);
	u->at_once = u->changed & ~u->next;
	return 0;
}

/* What is to be done to a copy of what is granted. */
struct policy_change {
	const char *token;
	const char *verb; /* for the audit */
	enum operation op;
	const char *pattern; /* granted, or taken back */
	bool revoke;
	const struct permissions *all; /* instead of what is there */
};

/* 1: something is to be put in place; 0: it is so already. */
static int change_apply(const struct policy_change *c, struct permissions *p, struct error *e)
{
	int r;

	if (c->all)
		return 1;
	if (!c->revoke)
		return grants_add(p, c->op, c->pattern, e);
	r = grants_remove(p, c->op, c->pattern, e);
	return r < 0 ? r : 1;
}

/* What the audit records. */
static void change_describe(const struct policy_change *c, const struct permissions *before,
	const struct permissions *after, struct buffer *out)
{
	if (c->all) {
		grants_diff(before, after, out);
		if (out->len == 0)
			buffer_adds(out, "replaced");
		return;
	}
	buffer_adds(out, c->revoke ? "revoked" : "granted");
	if (c->revoke && grants_rest(after, c->op, c->pattern, out) < 0)
		buffer_adds(out, ", others may still grant it");
}

/* With the lock held. */
static int make_change(struct corral_enclave *enclave, const struct policy_change *c,
	struct corral_update *u, struct buffer *text, struct error *e)
{
	/* What the grants of an operation are part of; 0: of nothing that a sandbox has. */
	static const unsigned parts[OPERATION_COUNT] = {
		[OPERATION_FS_READ] = CORRAL_PART_FILES,
		[OPERATION_FS_WRITE] = CORRAL_PART_FILES,
		[OPERATION_NET_CONNECT] = CORRAL_PART_NETWORK,
		[OPERATION_EXEC] = CORRAL_PART_PROGRAMS,
		[OPERATION_ENV] = CORRAL_PART_VARIABLES,
	};
	struct policy_pin pin;
	struct permissions *next = enclave_adopt(enclave, c->all ? c->all : enclave->granted);
	int r = next ? change_apply(c, next, e) : -ENOMEM;

	if (r == 1) {
		change_describe(c, enclave->granted, next, text);
		u->changed = parts[c->op];
		r = c->all ? sandbox_setup_compare(enclave->granted, next, &u->changed) : 0;
		if (r >= 0)
			r = put_policy(enclave, next, u, e);
		if (r == 0)
			return 0;
	} else {
		policy_box_pin(enclave->box, &pin);
		policy_box_unpin(enclave->box, &pin);
		u->generation = pin.generation;
		buffer_adds(text, "no change");
	}
	permissions_free(next);
	return r;
}

static int put_change(struct corral_enclave *enclave, const struct policy_change *c,
	const char *target, struct corral_update *ret, struct corral_error **e)
{
	struct corral_update u = { .size = sizeof(u) };
	struct error error = { 0 };
	auto_buffer text = { 0 };
	int r;

	(void)pthread_mutex_lock(&enclave->lock);
	r = make_change(enclave, c, &u, &text, &error);
	if (r == 0) {
		buffer_printf(&text, "; generation %llu", (unsigned long long)u.generation);
		enclave_note(enclave, AUDIT_POLICY, AUDIT_ALLOWED, target, buffer_text(&text));
	}
	(void)pthread_mutex_unlock(&enclave->lock);
	if (r < 0) {
		enclave_note(enclave, AUDIT_POLICY, AUDIT_FAILED, target,
			error.text[0] ? error.text : "out of memory");
		return handles_error(e, &error, r);
	}
	/* What the caller has may be a shorter struct than ours, of an older version. */
	if (ret) {
		u.size = ret->size;
		memcpy(ret, &u, u.size < sizeof(u) ? u.size : sizeof(u));
	}
	return 0;
}

static int change_one(struct corral_enclave *enclave, struct policy_change *c, const char *pattern,
	struct corral_update *ret, struct corral_error **e)
{
	struct error error = { 0 };
	auto_arena scratch = { 0 };
	auto_buffer target = { 0 };
	int r = enclave_check_token(enclave, c->token, c->verb, e);

	if (r < 0)
		return r;
	r = grants_spell(c->op, pattern, &scratch, &c->pattern, &error);
	if (r < 0) {
		enclave_note(enclave, AUDIT_POLICY, AUDIT_FAILED, c->verb, error.text);
		return handles_error(e, &error, r);
	}
	buffer_printf(&target, "%s ", operation_name(c->op));
	grants_print(c->op, c->pattern, &target);
	return put_change(enclave, c, buffer_text(&target), ret, e);
}

int corral_enclave_grant(struct corral_enclave *enclave, const char *token,
	enum corral_operation op, const char *pattern, struct corral_update *ret,
	struct corral_error **e)
{
	struct policy_change c = { .token = token, .verb = "grant", .op = (enum operation)op };

	return change_one(enclave, &c, pattern, ret, e);
}

int corral_enclave_revoke(struct corral_enclave *enclave, const char *token,
	enum corral_operation op, const char *pattern, struct corral_update *ret,
	struct corral_error **e)
{
	struct policy_change c = {
		.token = token, .verb = "revoke", .op = (enum operation)op, .revoke = true
	};

	return change_one(enclave, &c, pattern, ret, e);
}

int corral_enclave_set_policy(struct corral_enclave *enclave, const char *token,
	const struct corral_permissions *granted, struct corral_update *ret,
	struct corral_error **e)
{
	struct policy_change c = { .token = token, .verb = "set_policy" };
	struct error error = { 0 };
	int r = enclave_check_token(enclave, token, c.verb, e);

	if (r < 0)
		return r;
	if (!granted)
		return handles_error(
			e, &error, error_set(&error, -EINVAL, NULL, "no permissions were given"));
	c.all = granted->p;
	r = put_change(enclave, &c, c.verb, ret, e);
	if (r == 0)
		enclave_set_session(enclave, granted);
	return r;
}
