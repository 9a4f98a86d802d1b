/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the policy refused, or must have refused, in words for the host program. A denial is one
 * block of memory with its strings after it.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "corral/sandbox.h"
#include "policy/policy.h"

struct sandbox_setup;

/* From a decision, in words. NULL when out of memory. */
struct corral_denial *denial_new(const struct request *r, const struct decision *d, bool exact);
struct corral_denial *denial_copy(const struct corral_denial *d);
void denial_free(struct corral_denial *d);
/* Copies a text to *at, which moves after it; returns where it stands. */
const char *denial_put(char **at, const char *text);
static inline void denial_freep(struct corral_denial **d)
{
	denial_free(*d);
}
#define auto_denial __attribute__((cleanup(denial_freep))) struct corral_denial

/*
 * May a program run, and which file is it? Where a layer lists programs the answer is known before
 * anything is started, and with its reason; the jail holds the same line again. Where none does,
 * what can be read may run, and only the jail knows what can be read.
 *
 * *ret is argv[0], or the file that PATH of env led to (in the arena). -EACCES: the policy forbids
 * it, and *ret_denial, the caller's, says why; -ENOENT: the host has no such program.
 */
int denial_find_program(const struct sandbox_setup *setup, const char *const *argv,
	const char *const *env, const char *cwd, struct arena *a, const char **ret,
	struct corral_denial **ret_denial, struct error *e);
/*
 * For a program ("": none) or a folder to start in that the jail did not find: -EACCES and a denial
 * if the host has it and the policy forbids it, else 0.
 */
int denial_explain(const struct sandbox_setup *setup, const char *program, const char *cwd,
	struct corral_denial **ret_denial, struct error *e);
/*
 * Why a command line failed, as far as its text and the policy tell: adds to r the programs that it
 * names and that the policy does not let run. Nothing was seen to happen, so these are not exact;
 * but whatever else came to pass, such a program did not run. Says less when out of memory, or
 * about a line that is no shell.
 */
void denial_guess(const struct sandbox_setup *setup, const char *line, struct corral_result *r);
/*
 * The same, by what a command that failed printed to its standard error: a file that is granted by
 * itself is a mount, and a rename over it is EBUSY (decision 137). The text is the command's, so
 * the file is looked at, and the policy asked; nothing wider than the file's folder is suggested.
 */
void denial_guess_replaced(const struct sandbox_setup *setup, struct corral_result *r);
