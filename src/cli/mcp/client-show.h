/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An install or uninstall under way, and how its user sees it. */
#include "cli/mcp/client-file.h"
#include "cli/options.h"

struct mcp_clients {
	struct call *call;
	const char *name, *file;
	struct options_list wrap_options;
	bool is_project, wraps, prints, json, is_install;
	/* What is found. */
	struct client_place place;
	struct client_record record;
	bool has_record;
	/* What is made. */
	struct buffer text;
	struct client_changes changes;
	bool removes; /* the file goes, as it came with the install */
	const char *note;
};

/* Prints what changes, as text or JSON. Returns a status, or a negative errno. */
int client_show(struct mcp_clients *m, bool is_written);
