/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A judgement, printed: in one line, at length, or as JSON. */
#include "cli/policy/ask.h"
#include "cli/output.h"
#include "cli/tree.h"

/* How an answer is printed for people. */
typedef void report_printer(struct output *o, const struct ask *a, struct arena *arena);

/* All of check and explain, which differ only in this. Returns as a verb does. */
int report_run(struct call *c, report_printer *print);

/* "allow  fs.read /srv/x  (policy.yaml:3: /srv/**)" and a newline. */
report_printer report_line;
/* All that led to it. */
report_printer report_explain;
/* The same as an object; man corral-policy has its keys. */
struct node *report_tree(struct json_tree *t, const struct ask *a);

/* What is worth knowing beside the verdict, a sentence each; in the arena. */
int report_notes(const struct ask *a, struct arena *arena, struct options_list *ret);
