/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing what is granted. A change is made to a copy, compiled, and put in place as a whole, or
 * not at all; it holds for the next call of every thread when it returns. Then it reaches the
 * sandboxes, for which the answer says what holds at once and what from the next command on.
 *
 * Every change is told, with what it added and removed; so is every attempt with a wrong token.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/enclave/grants.h"
#include "lib/enclave/internal.h"
#include "lib/enclave/sandbox.h"
#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/permissions-text.h"

int corral_enclave_get_policy(struct corral_enclave *enclave, char **ret)
{
	auto_buffer out = { 0 };
	char *text;

	(void)pthread_mutex_lock(&enclave->lock);
	permissions_print_json(enclave->granted, &out);
	(void)pthread_mutex_unlock(&enclave->lock);
	text = buffer_take(&out);
	if (!text)
		return -ENOMEM;
	*ret = text;
	return 0;
}

/* Telling */

static void enclave_policy_tell(struct corral_enclave *enclave, enum audit_decision decision,
	const char *target, const char *reason)
{
	struct enclave_call c;

	enclave_begin(&c, enclave, NULL, AUDIT_POLICY, target);
	enclave_tell(&c, decision, NULL, reason);
}

/* What the caller gets may be a shorter struct than ours, of an older version. */
static void give(struct corral_update *ret, const struct corral_update *u)
{
	size_t size;

	if (!ret)
		return;
	size = ret->size < sizeof(*u) ? ret->size : sizeof(*u);
	memcpy((char *)ret + sizeof(size), (const char *)u + sizeof(size),
		size > sizeof(size) ? size - sizeof(size) : 0);
}

/* Putting in place */

static uint64_t generation_of(struct corral_enclave *enclave)
{
	struct policy_pin pin;

	policy_box_pin(enclave->box, &pin);
	policy_box_unpin(enclave->box, &pin);
	return pin.generation;
}

/* With the lock held. Takes over next, if it succeeds. */
static int enclave_policy_put(struct corral_enclave *enclave, struct permissions *next,
	struct corral_update *u, struct error *e)
{
	struct permissions *writable = NULL;
	struct policy *policy = NULL;
	int r = enclave_compile(&policy, &writable, enclave, next, e);

	if (r < 0)
		return r;
	u->generation = policy_box_swap(enclave->box, policy);
	if (u->generation == 0) {
		policy_free(policy);
		permissions_free(writable);
		return -ENOMEM;
	}
	permissions_free(enclave->granted);
	permissions_free(enclave->writable);
	enclave->granted = next;
	enclave->writable = writable;
	enclave_sandbox_update(enclave, u);
	u->at_once = u->changed & ~u->next;
	return 0;
}

/* What is to be done to a copy of what is granted. */
struct policy_change {
	const char *token;
	const char *verb; /* for the audit */
	enum operation op;
	const char *pattern;
	const struct permissions *all; /* instead of what is there */
	/* 1: something is to be put in place; 0: it is so already. */
	int (*apply)(struct permissions *p, const struct policy_change *c, struct error *e);
	/* What the audit is told, before and after. */
	void (*describe)(const struct policy_change *c, const struct permissions *before,
		const struct permissions *after, struct buffer *out);
};

/* With the lock held. */
static int make_change(struct corral_enclave *enclave, const struct policy_change *c,
	struct corral_update *u, struct buffer *text, struct error *e)
{
	struct permissions *next = enclave_adopt(c->all ? c->all : enclave->granted);
	int r = next ? c->apply(next, c, e) : -ENOMEM;

	if (r == 1) {
		c->describe(c, enclave->granted, next, text);
		u->changed = enclave_grants_part(c->op);
		r = c->all ? sandbox_setup_compare(enclave->granted, next, &u->changed) : 0;
		if (r >= 0)
			r = enclave_policy_put(enclave, next, u, e);
		if (r == 0)
			return 0;
	} else {
		u->generation = generation_of(enclave);
		buffer_adds(text, "it was so already");
	}
	permissions_free(next);
	return r;
}

static int enclave_policy_change(struct corral_enclave *enclave, const struct policy_change *c,
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
		enclave_policy_tell(enclave, AUDIT_ALLOWED, target, buffer_text(&text));
	}
	(void)pthread_mutex_unlock(&enclave->lock);
	if (r < 0) {
		enclave_policy_tell(enclave, AUDIT_FAILED, target,
			error.text[0] ? error.text : "out of memory");
		return handles_error(e, &error, r);
	}
	give(ret, &u);
	return 0;
}

/* A single grant */

static int apply_grant(struct permissions *p, const struct policy_change *c, struct error *e)
{
	return enclave_grants_add(p, c->op, c->pattern, e);
}

static int apply_revoke(struct permissions *p, const struct policy_change *c, struct error *e)
{
	int r = enclave_grants_remove(p, c->op, c->pattern, e);

	return r < 0 ? r : 1;
}

static void enclave_policy_describe_grant(const struct policy_change *c,
	const struct permissions *before, const struct permissions *after, struct buffer *out)
{
	(void)c;
	(void)before;
	(void)after;
	buffer_adds(out, "granted");
}

static void describe_revoke(const struct policy_change *c, const struct permissions *before,
	const struct permissions *after, struct buffer *out)
{
	(void)before;
	buffer_adds(out, "revoked");
	if (enclave_grants_rest(after, c->op, c->pattern, out) < 0)
		buffer_adds(out, ", others may still grant it");
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
	r = enclave_grants_spell(c->op, pattern, &scratch, &c->pattern, &error);
	if (r < 0) {
		enclave_policy_tell(enclave, AUDIT_FAILED, c->verb, error.text);
		return handles_error(e, &error, r);
	}
	buffer_printf(&target, "%s ", operation_name(c->op));
	enclave_grants_print(c->op, c->pattern, &target);
	return enclave_policy_change(enclave, c, buffer_text(&target), ret, e);
}

int corral_enclave_grant(struct corral_enclave *enclave, const char *token,
	enum corral_operation op, const char *pattern, struct corral_update *ret,
	struct corral_error **e)
{
	struct policy_change c = { .token = token,
		.verb = "grant",
		.op = (enum operation)op,
		.apply = apply_grant,
		.describe = enclave_policy_describe_grant };

	return change_one(enclave, &c, pattern, ret, e);
}

int corral_enclave_revoke(struct corral_enclave *enclave, const char *token,
	enum corral_operation op, const char *pattern, struct corral_update *ret,
	struct corral_error **e)
{
	struct policy_change c = { .token = token,
		.verb = "revoke",
		.op = (enum operation)op,
		.apply = apply_revoke,
		.describe = describe_revoke };

	return change_one(enclave, &c, pattern, ret, e);
}

/* All of them */

static int apply_all(struct permissions *p, const struct policy_change *c, struct error *e)
{
	(void)p;
	(void)c;
	(void)e;
	return 1;
}

static void describe_all(const struct policy_change *c, const struct permissions *before,
	const struct permissions *after, struct buffer *out)
{
	(void)c;
	enclave_grants_diff(before, after, out);
	if (out->len == 0)
		buffer_adds(out, "replaced");
}

int corral_enclave_set_policy(struct corral_enclave *enclave, const char *token,
	const struct corral_permissions *granted, struct corral_update *ret,
	struct corral_error **e)
{
	struct policy_change c = {
		.token = token, .verb = "set_policy", .apply = apply_all, .describe = describe_all
	};
	struct error error = { 0 };
	int r = enclave_check_token(enclave, token, c.verb, e);

	if (r < 0)
		return r;
	if (!granted) {
		(void)error_set(&error, -EINVAL, NULL, "there are no permissions");
		return handles_error(e, &error, -EINVAL);
	}
	c.all = granted->p;
	return enclave_policy_change(enclave, &c, c.verb, ret, e);
}
