/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The environment of a command: what was granted, what every program expects, and nothing else of
 * the host's.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/permissions.h"
#include "policy/policy.h"

struct environment_options {
	const struct policy *policy;
	const char *const *host_env; /* ends with NULL; may be NULL */
	/* Of this call alone, NAME=value; each must be allowed. Ends with NULL; may be NULL. */
	const char *const *call_env;
	/* Of Corral's own, NAME=value, stronger than all others: no policy is asked. Ends with
	 * NULL; may be NULL. */
	const char *const *own_env;
	const char *home, *cwd; /* inside; NULL: the variable is not set */
	const char *path;       /* NULL: the system's usual folders */
	const char *tmp;        /* NULL: /tmp */
	const char *user;       /* NULL: "user" */
	/* What environment_granted() gave for this policy and host_env; NULL: it is asked now. */
	const char *const *granted;
	const char *socket; /* of a broker, for SANDBOX_SOCKET; NULL: there is none */
	/* The same for SANDBOX_HTTP_URL and SANDBOX_TOKEN, where it serves HTTP. */
	const char *http_url, *http_token;
	const char *tools; /* a folder that PATH ends with; NULL: none */
	bool tty;
	bool offline; /* there is no network: programs that try again for a minute are told not to
		       */
};

/* Variables that bring a policy; the first that is set is the source. */
#define ENVIRONMENT_POLICY_FD "SANDBOX_POLICY_FD"
#define ENVIRONMENT_POLICY_FILE "SANDBOX_POLICY_FILE"
#define ENVIRONMENT_POLICY "SANDBOX_POLICY"
extern const char *const environment_policies[]; /* in that order; ends with NULL */

/* Whether NAME or NAME=value is one of these. */
bool environment_is_policy(const char *item);

/*
 * Builds it in the arena, copies all but `granted`; *ret ends with NULL, *ret_n does not count
 * that. Where several set a name, the first of these counts: the call, a grant of NAME=value, the
 * host's value if a grant allows NAME, the usual value. Nothing comes in because a default allows
 * it or a layer only watches.
 *
 * Some names count only where a grant spells them out, as a pattern does not mean them: those that
 * make programs load code or look elsewhere (env-name.h), and those that have a value of their own
 * inside (HOME, PWD, TMPDIR). Where there is a broker, SANDBOX_SOCKET is its socket, whatever else
 * sets it. Names that start with CORRAL_ never pass, nor does SANDBOX_POLICY with its two
 * relatives.
 *
 * -EACCES: a variable of the call is not allowed; the sentence names it, the hint says what to add.
 * -EINVAL: it is no NAME=value. -E2BIG: more than a command can be given.
 */
int environment_build(struct arena *a, const struct environment_options *o, const char *const **ret,
	size_t *ret_n, struct error *e);
/*
 * The part that is the same for all calls: values that grants set, and what grants let in of the
 * host. A list in the arena that ends with NULL, for `granted` of as many calls as one likes: to
 * ask the policy about each of the host's variables takes longer than all the rest. -E2BIG as
 * above.
 */
int environment_granted(struct arena *a, const struct environment_options *o,
	const char *const **ret, struct error *e);
