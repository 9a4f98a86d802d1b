/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The workers of one sandbox: those that are free wait for the next call, others are started as
 * calls need them, up to a number; then calls wait for each other.
 */
#include <pthread.h>

#include "lib/skill/worker.h"

struct skill_pool {
	struct corral_sandbox *sandbox; /* the pool's */
	char *layer;                    /* of the calls that it is for, as text; NULL: of none */
	unsigned most;                  /* workers */

	/* Guarded by whoever keeps the pools (version.c). */
	struct skill_pool *next;
	unsigned users; /* calls that have it */
	bool is_listed; /* others will find it */

	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	struct skill_worker *free;
	unsigned n; /* workers that exist or are being started */
};

/* Builds the sandbox and starts the first worker. layer, which may be NULL, is copied. */
int skill_pool_new(struct skill_pool **ret, struct corral_builder *b,
	const struct permissions *permissions, const char *layer, unsigned most,
	struct corral_error **e);
/* Ends the session. No call has it. Accepts NULL. */
void skill_pool_free(struct skill_pool *p);

/* Calls the skill as corral_skill_call() does; the request was checked. */
int skill_pool_call(struct skill_pool *p, const struct corral_skill_request *request,
	struct corral_result **ret, struct corral_error **e);
