/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the verbs of a gateway share: its file, and a look at what its servers have now. */
#include "base/path.h"
#include "cli/verb.h"
#include "mcp/gateway/gateway.h"

struct output;

struct mcp_survey {
	struct gateway_config config;
	char path[PATH_BYTES]; /* of the file, absolute and without links */
	struct buffer command; /* "corral mcp approve FILE" */
	struct loop *loop;
	struct gateway *gateway; /* NULL: the caller's to make */
};

/* Reads the file. Negative errno with the call's error. */
int mcp_survey_load(struct mcp_survey *s, struct call *c, const char *file);
/* Starts its servers, and waits until each has listed its tools or has failed. may_start: as in
 * struct gateway_options. */
int mcp_survey_look(struct mcp_survey *s, struct call *c,
	bool (*may_start)(void *context, const struct gateway_member *m), void *context);
/* What looks wrong in the texts of a tool's definition; in the arena. -ENOMEM. */
int mcp_survey_signs(struct skill_scanner *scanner, struct arena *a, const struct node *tool,
	struct skill_findings *ret);
/* A line for each, behind the label. */
void mcp_survey_print_signs(struct call *c, struct output *o, const struct gateway_member *m,
	const struct node *tool, const char *label);
void mcp_survey_deinit(struct mcp_survey *s);
