/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A whole agent on the command line: --mode, --data-dir, --extra (policy/format/mode.h); and the
 * verb that prints its prompt. */
#include <stdbool.h>

#include "cli/options.h"
#include "policy/format/mode.h"

/* Ending with NULL. */
extern const char *const agent_mode_words[];

struct agent {
	bool is_given;
	enum agent_mode mode;
	const char *data_dir; /* absolute; NULL if it was not given, which only rwx allows */
	struct options_list extra;
};

options_taker agent_take_mode;  /* the target is a struct agent */
options_taker agent_take_dir;   /* const char *: made absolute */
options_taker agent_take_extra; /* struct options_list of absolute paths */

#define AGENT_ROWS(a)                                                                         \
	{ { "mode", SCHEMA_OTHER, .words = agent_mode_words,                                  \
		  .help = "sandbox, rx or rwx: permissions for a whole agent; with "          \
			  "--data-dir alone: sandbox.mode of daemon.json, or sandbox" },      \
		0, "MODE", .target = a, .take = agent_take_mode },                            \
		{ { "data-dir", SCHEMA_PATH, .help = "the agent's own folder" }, 0, "DIR",    \
			.target = &(a)->data_dir, .take = agent_take_dir },                   \
	{                                                                                     \
		{ "extra", SCHEMA_PATH,                                                       \
			.help = "another folder that it may write (with --data-dir); may be " \
				"repeated",                                                   \
			.many = true },                                                       \
			0, "DIR", .target = &(a)->extra, .take = agent_take_extra             \
	}

/* A data folder alone: the mode is `sandbox.mode` of the user's daemon.json, or else sandbox. */
int agent_configure(struct agent *a, struct call *c);
/* Complains if something is missing, or if there are folders but no mode. */
int agent_check(const struct agent *a, struct call *c);
/* The agent's permissions; checks first. The caller frees them. */
int agent_permissions(const struct agent *a, struct call *c, struct permissions **ret);

/* `corral prompt`: the text for the prompt of an agent in a mode. */
extern const struct verb verb_prompt;
