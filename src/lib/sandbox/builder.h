/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The settings of a sandbox, which builder.c collects and builder-build.c makes it of. */
#include <stdbool.h>
#include <stddef.h>

#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "lib/sandbox/skill.h"

enum { BUILDER_LAYERS_MAX = 32, BUILDER_GUARDED_MAX = 48 };

struct corral_builder {
	enum backend_kind backend;
	struct permissions *granted;
	bool touched; /* something was granted or denied */
	struct permissions *restrictions[BUILDER_LAYERS_MAX];
	size_t n_restrictions;
	struct limits limits;
	char *variables[VARIABLE_COUNT];
	char *warden;
	bool broker, broker_http;
	char *services; /* sections of services.yaml; NULL: none */
	char *source; /* the file that the permissions came from, as it was named; NULL: none did */
	char *guarded[BUILDER_GUARDED_MAX]; /* beside it */
	size_t n_guarded;
	const int *ledger;               /* or NULL */
	const struct sandbox_lent *lent; /* or NULL */
	bool no_daemon;
	uint32_t ask_ms;
	struct joined *joined; /* of whoever has the sandbox; or NULL */
	void (*turn)(void *turns);
	void *turns;
	corral_audit_sink *sink;
	void *context;
	bool is_mode;                /* it was made from an agent mode that confines */
	bool is_skill;               /* it was made from a skill's manifest */
	struct sandbox_skill *skill; /* the skill that it was made from; NULL: none */
	bool unapproved;             /* a skill may run that the user did not approve */
	bool serves;                 /* by workers that answer calls */
	struct error refusal;        /* why this one may not; "": the user did */
	/* The first failure. */
	int code;
	struct error error;
};
