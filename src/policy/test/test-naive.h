/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The meaning of permissions once more, written for the tests alone: slow, plain, from the headers,
 * and without a line of the engine. Patterns stay text and are tried one by one by going back and
 * forth over short strings; nothing is compiled. What the engine says must be what this says.
 *
 * Only the forms that test-property-random.c makes are understood; anything else fails an
 * assertion.
 */
#include <stdbool.h>
#include <stddef.h>

#include "policy/permissions.h"
#include "policy/policy.h"
#include "policy/variable.h"

enum { NAIVE_MALFORMED = -1, NAIVE_FILES_MAX = 4 };

/* A program of the world: the files that its name (or path) leads to. */
struct naive_program {
	const char *name;
	const char *files[NAIVE_FILES_MAX];
};

struct naive_world {
	const struct variables *variables;
	const struct naive_program *programs;
	size_t n_programs;
};

/* A verdict, or NAIVE_MALFORMED. The first is with the baseline, the second without. */
int naive_decide(const struct naive_world *w, const struct permissions *const *layers, size_t n,
	const struct request *r);
int naive_decide_layers(const struct naive_world *w, const struct permissions *const *layers,
	size_t n, const struct request *r);
/* A pattern without variables against a normal path. */
bool naive_glob(const char *pattern, const char *path);
/* A network pattern against a target; with the guards, unless the pattern is wide (it forbids, or
 * asks). */
bool naive_host(const char *pattern, const char *target, bool wide);
/* Only a grant that names the target reaches it. */
bool naive_host_guarded(const char *target);
/* The baseline forbids the target for good. */
bool naive_host_never(const char *target);
