/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a sandbox is to be, collected call by call:
 *
 *     (what it started from ∪ merged permissions ∪ single grants − denies) ∩ each restriction
 *
 * Restrictions stand apart until the end, so that no later grant reaches beyond one. A grant goes
 * into every layer of what is there, which is the same as a union with it, but leaves lists of
 * programs as they are: a folder that may be read does not become one whose files may run.
 */
#include <stdbool.h>

#include "base/error.h"
#include "corral/sandbox.h"
#include "lib/sandbox/backend.h"
#include "policy/permissions.h"
#include "policy/variable.h"

enum { BUILDER_LAYERS_MAX = 32 };

struct corral_builder {
	enum backend_kind backend;
	struct permissions *granted;
	bool touched; /* something was granted or denied */
	struct permissions *restrictions[BUILDER_LAYERS_MAX];
	size_t n_restrictions;
	struct limits limits;
	char *variables[VARIABLE_COUNT];
	char *warden;
	char *broker;
	corral_audit_sink *sink;
	void *context;
	bool is_skill;        /* it was made from a skill's manifest */
	bool unapproved;      /* a skill may run that nobody approved */
	struct error refusal; /* why this one may not; "": somebody did */
	/* The first failure. */
	int code;
	struct error error;
};
