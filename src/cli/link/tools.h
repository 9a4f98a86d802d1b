/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The tools of a server that the user has logged in to. It is reached as a server of a gateway is
 * (mcp/gateway/process.h): by corral-mcp-remote in a sandbox with this one host, in which the token
 * is a placeholder. No process here has the token.
 */
#include "cli/verb.h"
#include "mcp/gateway/process.h"

struct link_tools {
	struct call *call;
	struct loop *loop;
	struct gateway_config config;
	struct gateway_process process;
	bool is_listed, has_answered;
	char why[GATEWAY_PROCESS_WORDS]; /* it ended; "": it did not */
	struct buffer *answer;           /* of a call: its text, or JSON of all of it */
	bool is_json, is_error;
};

/* Until its tools are there. The names of the server's secret and host are those of the login. */
int link_tools_open(struct link_tools *t, struct call *c, const char *name);
/* Definitions, as the server has them. */
const struct node *link_tools_all(const struct link_tools *t);
/* NULL: there is none. */
const struct node *link_tools_find(const struct link_tools *t, const char *tool);
/* Until it has answered; out: its text, or JSON. Returns 1 if the tool says that it failed. */
int link_tools_run(struct link_tools *t, const char *tool, const struct node *arguments, bool json,
	struct buffer *out);
void link_tools_close(struct link_tools *t);
#define auto_link_tools __attribute__((cleanup(link_tools_close))) struct link_tools
