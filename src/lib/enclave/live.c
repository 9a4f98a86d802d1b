/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user grants an enclave at the daemon, below what its host declared: each layer, the
 * grants of the host and its ceiling, must allow it or ask about it (holder/live.h). What the host
 * declared stays as it is; the policy that judges is made of that and of all grants, each time.
 *
 *     the daemon's order -> noted, in any thread -> carried out by the next call, or while one
 * waits for a command: the policy is replaced, the sandboxes' relays get it -> settled
 *
 * A grant is for calls of the enclave. Its commands have the files, programs and variables that the
 * host declared; hosts they get by their relay, which takes them back at once and by itself when
 * their time is over.
 *
 * A grant is of the path itself: no link in it is followed (followed.c), so that it does not become
 * a grant of something above the ceiling. Other permissions of the host end all grants.
 */
#include <errno.h>

#include "lib/api/joined.h"
#include "lib/enclave/internal.h"

/* With the lock held: what is declared now; all grants are over. */
void enclave_live_declare(struct corral_enclave *enclave)
{
	auto_permissions *all = enclave->joined ? permissions_new() : NULL;
	struct joined_declared d = { .variables = &enclave->variables };
	int r = all ? permissions_add_layer(all, enclave->granted) : -ENOMEM;

	joined_change_deinit(&enclave->live);
	if (!enclave->joined)
		return;
	for (size_t i = 0; r == 0 && i < enclave->n_ceiling; i++)
		r = permissions_add_layer(all, enclave->ceiling[i]);
	d.permissions = r == 0 ? all : NULL;
	/* Without a ceiling nothing is granted, which is no reason to fail. */
	(void)joined_declare(enclave->joined, &d);
}

/* With the lock held. Takes over *c, if the policy was replaced. */
static int live_replace(struct corral_enclave *enclave, struct joined_change *c, struct error *e)
{
	struct permissions *writable = NULL;
	struct policy *policy = NULL;
	int r = enclave_compile(&policy, &writable, enclave, enclave->granted, c, e);

	if (r == 0 && policy_box_swap(enclave->box, policy) == 0) {
		policy_free(policy);
		permissions_free(writable);
		r = -ENOMEM;
	}
	if (r < 0)
		return e->text[0] ? r : error_no_memory(e);
	permissions_free(enclave->writable);
	enclave->writable = writable;
	joined_change_deinit(&enclave->live);
	enclave->live = *c;
	*c = (struct joined_change){ 0 };
	return enclave_sandbox_grant(enclave, e);
}

/* With the lock held: what was granted cannot be taken back. */
static void live_end(struct corral_enclave *enclave, const struct error *why)
{
	enclave->is_over = true;
	enclave_sandbox_end_all(enclave, why->text);
}

void enclave_live_held(struct corral_enclave *enclave)
{
	struct joined_change c = { 0 };
	struct error e = { 0 };

	if (!enclave->joined)
		return;
	(void)joined_turn(enclave->joined);
	while (joined_next_change(enclave->joined, &c)) {
		int r = live_replace(enclave, &c, &e);

		joined_settle(enclave->joined, r, r < 0 ? e.text : "");
		joined_change_deinit(&c);
		e = (struct error){ 0 };
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
