/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Many servers as one: the back end of a connection (mcp/server.h) whose tools are those of the
 * servers of a file, as SERVER__TOOL.
 *
 * What a client sees of a tool is the definition that the user approved (mcp/gateway/pins.h), from
 * the first moment on and whatever the server says. A call goes out only when the server, in this
 * connection, has listed exactly that definition. So a server that is slow, absent or hostile keeps
 * neither the list nor the calls of others waiting, and nothing that it changes afterwards reaches
 * a model.
 *
 * A server that was never approved, or with another command or other options, is not started.
 */
#include "advice/scan/scan.h"
#include "audit/event.h"
#include "mcp/gateway/process.h"
#include "mcp/gateway/pins.h"
#include "mcp/server.h"

enum { GATEWAY_TOOL_BYTES = 65, GATEWAY_WHY_BYTES = 768 };
/* The gateway's own tool, which says how its servers are. */
#define GATEWAY_STATUS "corral__status"

struct gateway;

struct gateway_member {
	struct gateway *gateway;
	const struct gateway_server *config;
	struct pins pins;
	struct gateway_process process;
	bool is_listed; /* its process has listed its tools, and runs */
	bool has_ended; /* the process did, once */
	char why[GATEWAY_WHY_BYTES];
	uint64_t seen; /* of what clients see */
};

struct gateway_options {
	const struct gateway_config *config;
	const char *path;    /* of its file: absolute, without links */
	const char *command; /* "corral mcp approve FILE", as a shell reads it */
	const char *version;
	struct loop *loop;
	bool is_survey; /* servers are started whatever was approved, once, and nothing is called */
	/* May be NULL: a line for the user, without its newline; an event for the log. */
	void (*note)(void *context, const char *line);
	void (*record)(void *context, const struct audit_event *event);
	/* What clients see has changed, where there are many of them; NULL: there is the one that
	 * was attached. */
	void (*changed)(void *context);
	void *context;
};

struct gateway {
	struct gateway_options o;
	struct mcp_server *server; /* NULL in a survey */
	struct gateway_member *members;
	size_t n;
	struct skill_scanner *scanner;
	struct gateway_call *calls;
	/* Of the client's user: after many no's in a row nothing is asked for a while. */
	unsigned refusals;
	uint64_t quiet_until_ms; /* of the loop's clock */
};

/* Reads what was approved. -ENOMEM, -ENOTSUP. What the options point to must outlive it, and must
 * not move.
 */
int gateway_new(struct gateway **ret, const struct gateway_options *o, struct error *e);
/* Starts the servers; each by itself. */
void gateway_start(struct gateway *g);
/* Ends them all. Accepts NULL. */
void gateway_free(struct gateway *g);
/* For a connection; server: whose backend it becomes. */
void gateway_attach(struct gateway *g, struct mcp_server *server);

/* members.c */

/* Whether what was approved is of this command with these options. */
static inline bool gateway_is_approved(const struct gateway_member *m)
{
	return m->pins.exists && !m->pins.is_other;
}
/* SERVER__TOOL; where the tool's name does not fit, with a digest of it. */
void gateway_name(const char *server, const char *tool, char ret[GATEWAY_TOOL_BYTES]);
/* The tool that a process has now; NULL: none of that name. */
const struct node *gateway_listed_tool(const struct gateway_member *m, const char *tool);
/* How a tool that was approved is now; PIN_APPROVED while nothing else is known. */
enum pin_state gateway_state(const struct gateway_member *m, const struct node *pinned);
/* What a server is, what of it is quarantined, and what to do: for people. */
void gateway_describe_member(const struct gateway_member *m, struct buffer *out);
/* What clients see of it, as a number. */
uint64_t gateway_look(const struct gateway_member *m);
/* The member and the definition behind a name; NULL: none of that name was approved. false: there
 * is no such server. */
bool gateway_find(struct gateway *g, const char *name, struct gateway_member **ret,
	const struct node **ret_pinned);
/* Of struct mcp_toolset. */
bool gateway_has(void *context, const char *name);
void gateway_print(void *context, struct json_writer *w, const char *key);

/* calls.c */
void gateway_call(void *context, struct mcp_call *c);
void gateway_cancel(void *context, struct mcp_call *c);
/* The member has listed its tools, or has ended: why; NULL: it lists. */
void gateway_calls_go(struct gateway_member *m);
void gateway_calls_end(struct gateway_member *m, const char *why);
void gateway_answered(void *context, void *owner, const struct mcp_message *m);
void gateway_progressed(void *context, void *owner, const struct node *params);
