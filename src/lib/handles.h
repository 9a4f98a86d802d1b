/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What stands behind the opaque types of include/corral/policy.h. */
#include "base/error.h"
#include "corral/policy.h"
#include "policy/permissions.h"
#include "policy/policy-box.h"
#include "policy/variable.h"

struct corral_error {
	struct error e;
	char *message; /* printed once, when it is made */
};

struct corral_permissions {
	struct permissions *p;
};

struct corral_policy {
	struct policy_box *box;
};

/* Gives the caller of the library a copy of e, if it wants one; returns code unchanged. */
int handles_error(struct corral_error **ret, const struct error *e, int code);
/* Unknown names and values that are no absolute paths are errors. */
int handles_variables(
	struct variables *ret, const struct corral_variable *from, size_t n, struct error *e);
