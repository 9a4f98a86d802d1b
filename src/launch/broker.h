/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The programs of a broker on this machine: corral-broker, which serves a session, and
 * sandbox-call, by which commands call it. Unless the environment names others (CORRAL_BROKER,
 * CORRAL_SANDBOX_CALL; not in set-uid programs), those that were installed with Corral.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/permissions.h"

struct launch_broker {
	const char *program;
	const char *caller; /* NULL: there is none */
	const char *warden; /* that CORRAL_WARDEN names; NULL: it does not */
};

/*
 * -EOPNOTSUPP: this Corral was built without it. -ENOENT …: it is not installed. The sentence says
 * what to do.
 */
int launch_broker_find(struct launch_broker *ret, struct error *e);
/* Whether the permissions, or a layer of them, grant some service: by a list, or by a rule that
 * allows one or has the user asked. */
bool launch_broker_is_granted(const struct permissions *p);
/*
 * What back ends of services may need of the user's environment: where the desktop is, where
 * configuration is, which programs. In the arena; it ends with NULL. -ENOMEM.
 */
int launch_broker_environment(
	struct arena *a, const char *const *env, const char *const **ret, size_t *ret_n);
/* The same for the process that lends secrets to programs of the broker. */
int launch_lender_environment(
	struct arena *a, const char *const *env, const char *const **ret, size_t *ret_n);
