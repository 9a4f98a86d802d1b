/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Word of changes: of the lists of tools, prompts and resources, and of one resource.
 *
 *     modern      `subscriptions/listen`, a request that stays open: it names what it wants, and
 *                 all that it gets has its id
 *     handshake   changes of lists go to all; of a resource to who called `resources/subscribe`
 */
#include <stdbool.h>
#include <stddef.h>

struct mcp_message;
struct mcp_server;
struct node;

enum mcp_change { MCP_TOOLS_CHANGED, MCP_PROMPTS_CHANGED, MCP_RESOURCES_CHANGED, MCP_CHANGES };

/* For the back end; each for one server. */
void mcp_listen_changed(struct mcp_server *s, enum mcp_change what);
void mcp_listen_updated(struct mcp_server *s, const char *uri);

/* For the server. */

/* Whether lists change, of this kind. */
bool mcp_listen_has(const struct mcp_server *s, enum mcp_change what);
void mcp_listen_begin(struct mcp_server *s, struct mcp_message *m);
/* resources/subscribe, resources/unsubscribe. */
void mcp_listen_subscribe(struct mcp_server *s, struct mcp_message *m);
void mcp_listen_unsubscribe(struct mcp_server *s, struct mcp_message *m);
/* The request with this id is cancelled: true if it was one of these. */
bool mcp_listen_cancel(struct mcp_server *s, const struct node *id);
void mcp_listen_end(struct mcp_server *s);
