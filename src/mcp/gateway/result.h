/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The result of a call as the client gets it: the contents, and the structured content, of the
 * server's answer, the messages of a prompt or the contents of a resource, and nothing else of it;
 * cut where it is too long; and, before them, what in its texts looks like orders to a model.
 */
#include "advice/scan/scan.h"
#include "mcp/gateway/config.h"
#include "mcp/server.h"

struct gateway_result {
	enum gateway_kind kind;
	const char *server, *name; /* of a resource the URI that was read */
	/* Whether another URI is the server's own; NULL: none is. What a server says is of another
	 * one's URI is shown as of what was read. */
	bool (*is_own)(const void *context, const char *uri);
	const void *context;
	uint64_t max;      /* bytes of it as JSON */
	bool has_schema;   /* the tool has an outputSchema */
	uint64_t received; /* bytes of what the server answered */
	bool is_cut, has_signs;
};

/* m: MCP_RESULT or MCP_ERROR. scanner: NULL: nothing is looked for. */
void gateway_result_make(struct gateway_result *r, const struct mcp_message *m,
	struct skill_scanner *scanner, struct mcp_result *ret);
/* The same for completion/complete. Its values are for a person to choose from: with signs, there
 * are none. */
void gateway_completion_make(struct gateway_result *r, const struct mcp_message *m,
	struct skill_scanner *scanner, struct mcp_result *ret);
/* A sign that a person, or a model, should know of. */
bool gateway_is_sign(const struct skill_finding *f);
