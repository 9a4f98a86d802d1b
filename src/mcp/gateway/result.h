/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The result of a call as the client gets it: the contents, and the structured content, of the
 * server's answer, and nothing else of it; cut where it is too long; and, before them, what in its
 * texts looks like orders to a model.
 */
#include "advice/scan/scan.h"
#include "mcp/server.h"

struct gateway_result {
	const char *server, *tool;
	uint64_t max;      /* bytes of it as JSON */
	bool has_schema;   /* the tool has an outputSchema */
	uint64_t received; /* bytes of what the server answered */
	bool is_cut, has_signs;
};

/* m: MCP_RESULT or MCP_ERROR. scanner: NULL: nothing is looked for. */
void gateway_result_make(struct gateway_result *r, const struct mcp_message *m,
	struct skill_scanner *scanner, struct mcp_result *ret);
/* A sign that a person, or a model, should know of. */
bool gateway_is_sign(const struct skill_finding *f);
