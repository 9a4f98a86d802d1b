/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * --http of a server: clients by HTTP in place of the one on standard input and output
 * (mcp/web/web.h), until a signal comes. Their tokens are in the file of --token-file; without that
 * option there is one random token, in a file of Corral's runtime folder, which no command in a
 * sandbox sees and which is removed at the end.
 */
#include <stdbool.h>

#include "cli/mcp/answering.h"
#include "event/loop.h"
#include "mcp/web/web.h"

#define MCP_WEB_ROWS(address, file)                                                               \
	{ { "http", SCHEMA_TEXT,                                                                  \
		  .help = "serve clients by HTTP, on this port of this machine (0: a free one), " \
			  "in\n"                                                                  \
			  "place of one on standard input and output" },                          \
		0, "[ADDRESS:]PORT", .target = address },                                         \
	{                                                                                         \
		{ "token-file", SCHEMA_PATH,                                                      \
			.help = "with --http: a file of tokens, one a line, that clients show; "  \
				"it is\n"                                                         \
				"made, with one, if it is not there (default: one for each "      \
				"start)" },                                                       \
			0, "FILE", .target = file, .take = options_text                           \
	}

struct mcp_web {
	const char *address, *token_file; /* of the options */
	struct loop *loop;
	struct web_host host;
	bool answers; /* --client-answers */
	uint64_t ask_ms;
	/* As in cli/mcp/stdio.h. */
	int (*turn)(void *context);
	void *context;
	/* Private. */
	struct web_tokens tokens;
	struct web *web;
	struct mcp_answering *answering; /* one for each token; NULL: no user is asked */
	struct buffer made;              /* the file that is removed at the end */
	struct watcher signals;
	bool is_over;
};
#define MCP_WEB_NONE ((struct mcp_web){ .signals.fd = -1 })

/* Reads the tokens, and begins with the questions: before the first server. It must not move. */
int mcp_web_begin(struct mcp_web *w, struct error *e);
/* The file that the tokens are in. */
const char *mcp_web_token_file(const struct mcp_web *w);
/* What a server of this principal asks its client by; NULL: nothing. */
struct mcp_asking *mcp_web_asking(struct mcp_web *w, size_t principal);
/* Until a signal came, or turn() failed. */
int mcp_web_run(struct mcp_web *w, struct error *e);
/* Ends all servers; before the loop is freed. */
void mcp_web_deinit(struct mcp_web *w);
