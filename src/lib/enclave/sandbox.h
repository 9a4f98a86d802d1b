/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The sandboxes of an enclave: one for its commands, made at the first; and one more for each call
 * of a program that may not run in that (enclave/inside.h), for as long as the call takes. What
 * changes in the policy reaches them all before the change returns.
 */
#include "lib/enclave/internal.h"

struct enclave_sandbox {
	struct corral_enclave *enclave;
	struct corral_sandbox *sandbox;
	struct policy *policy; /* what may run in it */
	char *program;         /* that it was made for; NULL: for all */
	/* Guarded by the enclave's lock. */
	unsigned refs;
	struct enclave_sandbox *next;
};

/*
 * With the lock held, which must not be let go before the command was started: the one in which
 * argv[0], a path, may run; made if need be. Until enclave_sandbox_unref().
 */
int enclave_sandbox_get(struct corral_enclave *enclave, const char *const *argv,
	struct enclave_sandbox **ret, struct corral_error **e);
/* Without the lock. */
void enclave_sandbox_unref(struct enclave_sandbox *s);

/*
 * With the lock held: gives them what is granted now. *u becomes what corral_sandbox_update() says,
 * of all of them. One that cannot be changed is ended, and told of: the next command has a new one.
 */
void enclave_sandbox_update(struct corral_enclave *enclave, struct corral_update *u);
/* Ends what is left. Nobody uses them any more. */
void enclave_sandbox_drop(struct corral_enclave *enclave);
