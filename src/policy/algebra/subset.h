/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Does A grant anything that B does not? Grants as they are written are compared, without the
 * baseline. The answer is exact or "too complex", which counts as "yes, it may": nothing is ever
 * called a subset that is not one.
 */
#include "base/buffer.h"
#include "policy/policy.h"

enum subset_answer { SUBSET_TOO_COMPLEX, SUBSET_NO, SUBSET_YES };

struct subset {
	enum subset_answer answer;
	const char *what;      /* SUBSET_NO: "fs.read", "net.connect", "limits.memory" … */
	struct buffer witness; /* SUBSET_NO: something that A allows and B does not */
	struct buffer reason;  /* SUBSET_TOO_COMPLEX: what could not be compared */
};

/* options->variables must have a value for every variable that A and B use. */
int subset_compare(struct subset *ret, const struct permissions *a, const struct permissions *b,
	const struct policy_options *options, struct error *e);
void subset_deinit(struct subset *s);
#define auto_subset __attribute__((cleanup(subset_deinit))) struct subset

/* The parts of it, for operation_rows. */
operation_subset subset_files, subset_hosts, subset_commands, subset_names, subset_services,
	subset_secrets;
