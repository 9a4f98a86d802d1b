/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the describe*.c files share. */
#include <stdbool.h>

#include "base/buffer.h"
#include "advice/lint/lint.h"
#include "advice/describe/describe.h"

/* One layer while it is described. Out of memory is remembered, and turns all calls into no-ops. */
struct describe {
	const struct permissions *p;
	const struct variables *vars;
	struct lint_findings found; /* of this layer */
	struct arena *arena;
	struct description *d;
	const char *suffix; /* of titles, to tell layers apart */
	bool failed;
};

/* Appends one line; foreign text in it is made visible. */
int describe_add(struct arena *a, struct description_lines *to, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* describe/words.c: what a grant covers, to stand behind "read", "connect to", "run" … */
void describe_grant(
	const struct describe *c, enum operation op, const struct grant *g, struct buffer *out);
/* A folder that a guest path names. */
void describe_folder(const struct describe *c, const char *pattern, struct buffer *out);

/* describe/risk.c */

/*
 * What a layer makes possible, as a set of facts; 0 is nothing worth a word. `among`: it is one of
 * several layers, and where not everything could be looked at all facts are taken for true.
 */
unsigned describe_facts(const struct describe *c, bool among);
/* Fills risk and reasons. */
int describe_judge(struct description *d, unsigned facts, struct arena *a);
