/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a folder holds that is a policy: AgenShield's rules, or a skill with its manifest. */
#include <stdbool.h>
#include <stddef.h>

#include "cli/verb.h"

struct folder {
	bool is_rules;
	/* Rules: default.json, then custom/….json by name. A skill: its manifest. Never empty. */
	const char **files;
	size_t n, cap;
};

/* Looks what the folder holds. Lives in the call's arena. */
int folder_open(struct folder *ret, struct call *c, const char *path);
