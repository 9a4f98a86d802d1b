/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a server may have beside tools: resources, templates of them, prompts, completion, messages
 * for the client's log, and word of changes. A back end has a row of functions; what is NULL or
 * false is not there, and is not announced. prompts/get is a call, as one of a tool is
 * (mcp/server.h): it may take its time, and ask for inputs. So are resources/read and
 * completion/complete of a back end that says so.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "codec/json-writer.h"

struct mcp_call;
struct mcp_message;
struct mcp_server;

/* Of messages for the log, the least important first. */
enum mcp_level {
	MCP_DEBUG,
	MCP_INFO,
	MCP_NOTICE,
	MCP_WARNING,
	MCP_ERROR_LEVEL,
	MCP_CRITICAL,
	MCP_ALERT,
	MCP_EMERGENCY,
	MCP_LEVELS,
};

/* Each prints a list under that key. */
typedef void mcp_list(void *context, struct json_writer *w, const char *key);

struct mcp_features {
	mcp_list *resources, *templates, *prompts;
	/* Appends the contents of a resource, a list as JSON. -ENOENT: there is no such. */
	int (*read)(void *context, const char *uri, struct buffer *out);
	bool (*has_prompt)(void *context, const char *name);
	/* Appends values for an argument of a prompt or template: a list as JSON; negative errno.
	 */
	int (*complete)(void *context, const struct node *params, struct buffer *out);
	/* In place of `read` and `complete`: they are calls. false: there is no such. name: what
	 * is completed. */
	bool (*has_resource)(void *context, const char *uri);
	bool (*has_completion)(void *context, const char *name, bool is_prompt);
	bool logs;       /* it sends messages for the log (mcp_feature_log()) */
	bool subscribes; /* clients may ask to hear of one resource (mcp_listen_updated()) */
	bool changes;    /* its lists change (mcp_listen_changed()) */
};

/* Sends a message to the log of the client, if it wants those. */
void mcp_feature_log(struct mcp_call *c, enum mcp_level level, const char *text);

/* For the server. */

/* What is announced. */
void mcp_feature_put(const struct mcp_server *s, struct json_writer *w);
/* Whether there is such a method, in this era; and its answer. false: it is a call, whose kind and
 * name are in *ret. */
bool mcp_feature_knows(const struct mcp_server *s, const char *method);
bool mcp_feature_run(struct mcp_server *s, struct mcp_message *m, struct mcp_call *ret);
