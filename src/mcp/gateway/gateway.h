/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Many servers as one: the back end of a connection (mcp/server.h) whose tools are those of the
 * servers of a file, as SERVER__TOOL; and, where the file says so, prompts, as SERVER__PROMPT, and
 * resources, by their URIs (resources.c).
 *
 * What a client sees of a tool or prompt is the definition that the user approved (pins.h), from
 * the first moment on and whatever the server says. A call goes out only when the server, in this
 * connection, has listed exactly that definition. So a server that is slow, absent or hostile keeps
 * neither the list nor the calls of others waiting, and nothing that it changes afterwards reaches
 * a model.
 *
 * A server that was never approved, or with another command or other options, is not started.
 */
#include "advice/scan/scan.h"
#include "audit/event.h"
#include "mcp/gateway/pins.h"
#include "mcp/gateway/process.h"
#include "mcp/listen.h"
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
	bool is_listed; /* its process has listed what it has, and runs */
	bool has_ended; /* the process did, once */
	bool is_held;   /* in a survey: it was not started */
	bool has_signs; /* of prompt injection, in what it says of its resources */
	size_t taken;   /* of its resources, by other servers */
	char why[GATEWAY_WHY_BYTES];
	uint64_t seen[MCP_CHANGES]; /* of what clients see */
};

struct gateway_resource {
	const char *uri;
	const struct node *item; /* as it was listed */
	struct gateway_member *member;
};

struct gateway_options {
	const struct gateway_config *config;
	const char *path;    /* of its file: absolute, without links; hidden from its servers */
	const char *command; /* "corral mcp approve FILE", as a shell reads it */
	const char *version;
	struct loop *loop;
	bool is_survey; /* servers are started once, and nothing is called */
	/* In a survey: whether to start it; NULL: if it is approved. */
	bool (*may_start)(void *context, const struct gateway_member *m);
	/* May be NULL: a line for the user, without its newline; an event for the log. */
	void (*note)(void *context, const char *line);
	void (*record)(void *context, const struct audit_event *event);
	/* What clients see has changed, where there are many of them; NULL: there is the one that
	 * was attached. */
	void (*changed)(void *context, enum mcp_change what);
	void *context;
};

struct gateway {
	struct gateway_options o;
	const char *hidden[GATEWAY_HIDDEN_MAX + 1]; /* of its servers; ends with NULL */
	struct mcp_server *server;                  /* NULL in a survey */
	struct gateway_member *members;
	size_t n;
	struct gateway_resource *resources; /* in order: of one URI, the first one's it is */
	size_t n_resources;
	struct mcp_features features; /* what the file has, beside tools */
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
/* One more file that its servers must not see; before they are started. It is not copied. */
void gateway_hide(struct gateway *g, const char *path);
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
/* The tool or prompt that a process has now; NULL: none of that name. */
const struct node *gateway_listed(
	const struct gateway_member *m, enum gateway_kind kind, const char *name);
/* The first that it has; NULL: none. */
const struct node *gateway_first(const struct gateway_member *m, enum gateway_kind kind);
/* How one that was approved is now; PIN_APPROVED while nothing else is known. */
enum pin_state gateway_state(
	const struct gateway_member *m, enum gateway_kind kind, const struct node *pinned);
/* What a server is, what of it is quarantined, and what to do: for people. */
void gateway_describe_member(const struct gateway_member *m, struct buffer *out);
/* What clients see of its tools or prompts, as a number. */
uint64_t gateway_look(const struct gateway_member *m, enum gateway_kind kind);
/* The member and the definition behind a name; NULL: none of that name was approved. false: there
 * is no such server. */
bool gateway_find(struct gateway *g, enum gateway_kind kind, const char *name,
	struct gateway_member **ret, const struct node **ret_pinned);
/* Of struct mcp_toolset. */
bool gateway_has(void *context, const char *name);
void gateway_print(void *context, struct json_writer *w, const char *key);
/* Of struct mcp_features. */
bool gateway_has_prompt(void *context, const char *name);
void gateway_print_prompts(void *context, struct json_writer *w, const char *key);
bool gateway_has_completion(void *context, const char *name, bool is_prompt);

/* resources.c */

/* A member has listed what it has. -ENOMEM: there are no resources then. */
int gateway_resources_listed(struct gateway_member *m);
/* Whose a URI is, or a template; NULL: nobody's. */
struct gateway_member *gateway_route(const struct gateway *g, const char *uri);
struct gateway_member *gateway_route_template(const struct gateway *g, const char *template);
bool gateway_template_fits(const char *template, const char *uri);
uint64_t gateway_look_resources(const struct gateway_member *m);
void gateway_describe_resources(const struct gateway_member *m, struct buffer *out);
/* What it lists and another server has. Returns how many they are. */
size_t gateway_describe_taken(const struct gateway_member *m, struct buffer *out);
/* Of struct mcp_features. */
bool gateway_has_resource(void *context, const char *uri);
void gateway_print_resources(void *context, struct json_writer *w, const char *key);
void gateway_print_templates(void *context, struct json_writer *w, const char *key);

/* admit.c: which calls go on. */
void gateway_admit(void *context, struct mcp_call *c);

/* calls.c */

/* What a call is of. */
enum gateway_kind gateway_call_kind(const struct mcp_call *c);
/* One that may go on. pinned: NULL: of a resource, or a template. */
void gateway_call_begin(struct gateway_member *m, const struct node *pinned, struct mcp_call *c);
/* Ends one that does not go on. text: for the model. */
void gateway_call_refuse(struct mcp_call *c, const char *text);

struct gateway_outcome {
	enum audit_decision decision;
	const char *reason;
	const struct gateway_rule *rule; /* NULL: none */
	uint64_t cost_ns, received;
};

/* For the log. name: as the server has it. */
void gateway_call_record(const struct gateway_member *m, const char *name, const struct mcp_call *c,
	const struct gateway_outcome *o);
void gateway_cancel(void *context, struct mcp_call *c);
/* The member has listed its tools, or has ended: why; NULL: it lists. */
void gateway_calls_go(struct gateway_member *m);
void gateway_calls_end(struct gateway_member *m, const char *why);
void gateway_answered(void *context, void *owner, const struct mcp_message *m);
void gateway_progressed(void *context, void *owner, const struct node *params);
