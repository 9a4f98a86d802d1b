/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A call of a skill's function: JSON in, SkillOutput out (docs/wasm-abi.md). */
#include "wasm/instance.h"

/*
 * Calls the export with an input that is known to be JSON; *answer gets what it returns, with a
 * line's end. 0, FAILURE_REPORTED, or another status with *e filled.
 */
int skill_call_export(
	struct loaded *l, const void *input, size_t len, struct buffer *answer, struct error *e);
