/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * May a program run, and which file is it? Where a layer lists programs the answer is known before
 * anything is started, and with its reason; the jail holds the same line again. Where none does,
 * what can be read may run, and only the jail knows what can be read.
 */
#include "base/arena.h"
#include "base/error.h"
#include "lib/sandbox/sandbox.h"

/*
 * *ret is argv[0], or the file that PATH of env led to (in the arena). -EACCES: the policy forbids
 * it, and *ret_denial, the caller's, says why; -ENOENT: the host has no such program.
 */
int program_find(const struct sandbox_setup *setup, const char *const *argv, const char *const *env,
	const char *cwd, struct arena *a, const char **ret, struct corral_denial **ret_denial,
	struct error *e);
/*
 * For a program ("": none) or a folder to start in that the jail did not find: -EACCES and a denial
 * if the host has it and the policy forbids it, else 0.
 */
int program_explain(const struct sandbox_setup *setup, const char *program, const char *cwd,
	struct corral_denial **ret_denial, struct error *e);
