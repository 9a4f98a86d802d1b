/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the head of a request says of the message in its body (streamable HTTP). Pure. A proxy
 * decides by the head, a server by the body: where the two differ, nothing is done.
 *
 *     MCP-Protocol-Version   the version in _meta; in a session the one that was agreed on
 *     Mcp-Method             the method                    from 2026-07-28 on
 *     Mcp-Name               params.name, or params.uri    the same; =?base64?TEXT?= is decoded
 *     Mcp-Session-Id         of a handshake
 *     Accept                 both application/json and text/event-stream
 */
#include <stdbool.h>
#include <stddef.h>

#include "mcp/error-code.h"
#include "mcp/message.h"
#include "serve/request.h"

enum web_field {
	WEB_ACCEPT,
	WEB_VERSION,
	WEB_METHOD,
	WEB_NAME,
	WEB_SESSION,
	WEB_FIELDS,
};

/* Their names, with no values. */
void web_head_fields(struct serve_header ret[WEB_FIELDS]);

/* Whether an answer of this type is accepted; without the header any is. */
bool web_head_accepts(const struct serve_header *head, const char *type);
/* Whether the message is of 2026-07-28, or of a later version: it stands alone. */
bool web_head_is_modern(const struct serve_header *head, const struct mcp_message *m);
/* Of such a message: 0, or MCP_HEADER_MISMATCH with *ret, a sentence. */
int web_head_check(const struct serve_header *head, const struct mcp_message *m, const char **ret);
