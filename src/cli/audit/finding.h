/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What verifying a log came to, in words: for a person also what it means and what to do. */
#include "audit/store/verify.h"
#include "cli/verb.h"

/* `path` is the log's; head_path "": there was no second file. */
int audit_finding_print(
	struct call *c, const char *path, const char *head_path, const struct audit_verdict *v);
int audit_finding_print_tree(struct call *c, const char *path, const struct audit_verdict *v);
