/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A skill's folder, looked at without running anything of it: what it asks for, what looks risky in
 * it, its digest, and whether just this was approved. The digest is taken before and after the rest
 * is read, so that what is shown is what was hashed.
 */
#include "cli/load.h"
#include "cli/output.h"
#include "cli/tree.h"
#include "skill/approval.h"
#include "advice/describe/describe.h"
#include "advice/scan/scan.h"

struct inspection {
	const char *path; /* real */
	int fd;           /* of the folder; -1 before it was opened */
	struct load load;
	const struct manifest *manifest;
	struct skill_digest digest;
	struct approval approval;
	int outcome; /* enum approval_outcome */
	struct description description;
	struct skill_findings findings;
};

/* Who it is and whether that was approved; the rest stays empty. */
int inspection_identify(struct inspection *i, struct call *c, const char *folder);
/* All of it. */
int inspection_open(struct inspection *i, struct call *c, const char *folder);
void inspection_deinit(struct inspection *i);
#define auto_inspection __attribute__((cleanup(inspection_deinit))) struct inspection

/* Where approvals are kept. */
int inspection_store(struct call *c, const char **ret);
/* True if something was found in its files that is not minor. */
bool inspection_is_risky(const struct inspection *i);
/* "it was never approved", "its files have changed since it was approved" … */
const char *inspection_outcome_text(int outcome);

/* For people, and for programs. */
void inspection_print(const struct inspection *i, struct output *o);
struct node *inspection_tree(const struct inspection *i, struct tree *t);
