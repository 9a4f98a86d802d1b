/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* --client-answers of a server (mcp/asking.h). */
#include "mcp/server.h"

struct mcp_answering {
	struct mcp_asking asking;
	char principal[48];
};

/* -EPERM in a sandbox, whose commands would answer their own questions. a must not move. */
int mcp_answering_begin(
	struct mcp_answering *a, struct mcp_server *s, uint64_t patience_ms, struct error *e);
/* For the servers of one of several clients, by the place of its token. */
int mcp_answering_begin_for(
	struct mcp_answering *a, size_t token, uint64_t patience_ms, struct error *e);
/* Of one that never began, too. */
void mcp_answering_deinit(struct mcp_answering *a);
