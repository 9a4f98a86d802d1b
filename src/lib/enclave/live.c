/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user grants an enclave at the daemon, below what its host declared: each layer, the
 * grants of the host and its ceiling, must allow it or ask about it (holder/live.h); or its ceiling
 * alone, if the host said so. What the host
 * declared stays as it is; the policy that judges is made of that and of all grants, each time.
 *
 *     the daemon's order -> the holder (lib/api/joined.h): the relays of all sandboxes have it ->
 *     there is news in the enclave's socket -> the daemon hears that it is in force
 *
 * Before each call the enclave pulls what is new, and replaces the policy. So a call that is made
 * after the daemon heard of a revocation is judged without what was revoked, whatever the enclave
 * did meanwhile.
 *
 * A grant is for calls of the enclave. Its commands have the files, programs and variables that the
 * host declared; hosts they get by their relay, which takes them back at once and by itself when
 * their time is over.
 *
 * A grant is of the path itself: no link in it is followed (followed.c), so that it does not become
 * a grant of something above the ceiling. Other permissions of the host end all grants.
 */
#include <errno.h>

#include "base/clock.h"
#include "lib/api/joined.h"
#include "lib/enclave/internal.h"
#include "wire/hold.h"

/* With the lock held: what is declared now; all grants are over. */
void enclave_live_declare(struct corral_enclave *enclave)
{
	auto_permissions *all = enclave->joined ? permissions_new() : NULL;
	struct joined_declared d = { .variables = &enclave->variables,
		.flags = HOLD_ENFORCES | HOLD_JUDGES |
			 (enclave->ceiling_grants ? HOLD_CEILING : 0) };
	int r = all ? permissions_add_layer(all, enclave->granted) : -ENOMEM;

	if (!enclave->joined)
		return;
	for (size_t i = 0; r == 0 && i < enclave->n_ceiling; i++)
		r = permissions_add_layer(all, enclave->ceiling[i]);
	d.permissions = r == 0 ? all : NULL;
	/* Without a ceiling nothing is granted, which is no reason to fail. */
	(void)joined_declare(enclave->joined, &d);
}

void enclave_live_pause(struct corral_enclave *enclave)
{
	if (enclave->joined)
		(void)joined_declare(enclave->joined,
			&(struct joined_declared){ .variables = &enclave->variables,
				.flags = HOLD_ENFORCES | HOLD_JUDGES });
}

/* With the lock held: without those whose time is over. Takes over *c. */
static int live_replace(struct corral_enclave *enclave, struct joined_change *c, struct error *e)
{
	const uint64_t now = clock_ms(CLOCK_BOOTTIME);
	struct permissions *writable = NULL;
	struct policy *policy = NULL;
	struct joined_change some = { .grants = c->grants };
	int r;

	for (size_t i = 0; i < c->n; i++) {
		struct live_grant g = c->grants[i];

		if (live_grant_is_over(&g, now))
			continue;
		/* Those that are over are behind, and are freed with the rest. */
		c->grants[i] = c->grants[some.n];
		c->grants[some.n++] = g;
	}
	r = enclave_compile(&policy, &writable, enclave, enclave->granted, &some, e);
	if (r == 0 && policy_box_swap(enclave->box, policy) == 0) {
		policy_free(policy);
		permissions_free(writable);
		r = -ENOMEM;
	}
	if (r < 0)
		return e->text[0] ? r : error_no_memory(e);
	permissions_free(enclave->writable);
	enclave->writable = writable;
	enclave->live_ends_ms = live_grants_next_end(some.grants, some.n, now);
	joined_change_deinit(&enclave->live);
	enclave->live = *c;
	*c = (struct joined_change){ 0 };
	return 0;
}

bool enclave_live_is_due(const struct corral_enclave *enclave)
{
	return enclave->live_ends_ms != UINT64_MAX &&
	       enclave->live_ends_ms <= clock_ms(CLOCK_BOOTTIME);
}

/* With the lock held: what was granted cannot be taken back. */
static void live_end(struct corral_enclave *enclave, const struct error *why)
{
	enclave->is_over = true;
	enclave_sandbox_end_all(enclave, why->text);
}

/* What cannot be made of them is not granted; and what cannot be taken back ends the enclave. */
static void live_apply(struct corral_enclave *enclave, struct joined_change *c)
{
	auto_joined_change none = { 0 };
	struct error e = { 0 };

	if (live_replace(enclave, c, &e) == 0)
		return;
	enclave_note(enclave, AUDIT_POLICY, AUDIT_FAILED, "grants", e.text);
	e = (struct error){ 0 };
	if (live_replace(enclave, &none, &e) < 0)
		live_end(enclave, &e);
}

void enclave_live_held(struct corral_enclave *enclave)
{
	auto_joined_change c = { 0 };
	struct error e = { 0 };

	if (!enclave->joined)
		return;
	(void)joined_turn(enclave->joined);
	while (joined_next_change(enclave->joined, &c)) {
		live_apply(enclave, &c);
		joined_applied(enclave->joined);
		joined_change_deinit(&c);
	}
	if (enclave_live_is_due(enclave)) {
		c = enclave->live;
		enclave->live = (struct joined_change){ 0 };
		live_apply(enclave, &c);
	}
	if (joined_must_end(enclave->joined, &e))
		live_end(enclave, &e);
}

void enclave_live_turn(struct corral_enclave *enclave)
{
	(void)pthread_mutex_lock(&enclave->lock);
	enclave_live_held(enclave);
	(void)pthread_mutex_unlock(&enclave->lock);
	enclave_hear_answers(enclave);
}

void enclave_live_try(void *context)
{
	struct corral_enclave *enclave = context;

	/* A command is being started, or the host changes the policy. */
	if (pthread_mutex_trylock(&enclave->lock) != 0)
		return;
	enclave_live_held(enclave);
	(void)pthread_mutex_unlock(&enclave->lock);
	enclave_hear_answers(enclave);
}
