/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Permissions as a result: in their canonical form, as YAML or JSON. */
#include <stdbool.h>

#include "cli/options.h"
#include "policy/permissions.h"

struct canonical {
	bool json;
};

/* Takes --format yaml|json; the target is a struct canonical. */
options_taker canonical_format;

#define CANONICAL_ROWS(target)                                                                 \
	{ "format", 'f', "FORMAT", "yaml (what is printed without this) or json",              \
		canonical_format, target, OPTIONS_OPTIONAL },                                  \
	{                                                                                      \
		"json", 0, NULL, "the same as --format json", options_flag, &(target)->json, 0 \
	}

int canonical_print(const struct canonical *how, struct call *c, const struct permissions *p);
