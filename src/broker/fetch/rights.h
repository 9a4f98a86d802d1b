/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What corral-fetch may do: of a policy what it says about hosts, and nothing else of it; to run
 * itself, and to read its own file and that of its certificates. Pure.
 *
 * A relay looks at hosts and ports. What the policy says about methods and paths of URLs, and what
 * a person has agreed to, is known to the monitor alone, which has each request judged. So a
 * sandbox for such a request gets one host and port more (`origin`); what is denied stays denied.
 */
#include "base/error.h"
#include "policy/permissions.h"

/* Names that stand for folders in the grants; the values are taken literally. */
#define RIGHTS_PROGRAM_FOLDER "SKILL_DIR"
#define RIGHTS_AUTHORITIES_FOLDER "SHARED_DIR"

struct rights_own {
	const char *program;     /* its name in RIGHTS_PROGRAM_FOLDER */
	const char *authorities; /* the same in RIGHTS_AUTHORITIES_FOLDER; NULL: the system's */
	const char *origin;      /* "host:port", or NULL */
};

/* One set of permissions, which may be of several layers; the caller owns *ret. -EINVAL, -ENOMEM …
 */
int rights_new(struct permissions **ret, const struct permissions *from,
	const struct rights_own *own, struct error *e);
