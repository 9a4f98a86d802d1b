/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A skill as it was when it was loaded, or loaded again: its files, which are a copy, and the pools
 * of its workers; one for calls without a layer of their own, and one for each layer that calls had
 * lately. Lives while it is the current one, or a call has it.
 */
#include <stdatomic.h>

#include "lib/skill/pool.h"
#include "skill/digest.h"

struct skill_version {
	atomic_uint refs;
	uint64_t number;
	unsigned workers;
	struct corral_builder *builder; /* for one thread at a time: `making` */
	struct skill_digest digest;
	struct skill_pool *plain; /* for calls without a layer */

	pthread_mutex_t making;   /* one session at a time; taken before `lock` */
	pthread_mutex_t lock;     /* guards the rest, for moments only */
	struct skill_pool *pools; /* the one that was used last comes first */
};

struct skill_settings {
	const char *dir;
	corral_skill_configure *configure;
	void *context;
	unsigned workers;
};

/*
 * Reads the folder. 0: it has just the content of `before` (which may be NULL), and *ret is
 * untouched; 1: *ret is ready for calls.
 */
int skill_version_new(struct skill_version **ret, const struct skill_settings *settings,
	const struct skill_version *before, struct corral_error **e);
struct skill_version *skill_version_ref(struct skill_version *v);
/* Ends its sessions with the last reference. Accepts NULL. */
void skill_version_unref(struct skill_version *v);
int skill_version_call(struct skill_version *v, const struct corral_skill_request *request,
	struct corral_result **ret, struct corral_error **e);
