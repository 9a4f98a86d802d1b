/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One connection of an MCP client: lines come in, lines go out, and calls of tools go to a back
 * end. Nothing here reads or writes a descriptor.
 *
 * Two eras. The first request that is understood decides which, for good:
 *
 *     handshake   2025-06-18, 2025-11-25: `initialize` first; then all is in force
 *     modern      2026-07-28: each request says in its _meta which version it is of; there is no
 *                 `initialize`, and `server/discover` says what there is
 *
 * The tools are those of the table in mcp/tool.h, or the back end's own (struct mcp_toolset).
 * Resources, prompts and the rest are in mcp/feature.h, requests to the client in mcp/input.h.
 *
 * A client has MCP_CALLS_MAX calls under way at most. What it writes that is no message is answered
 * with an error, as JSON-RPC has it, and changes nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "mcp/asking.h"
#include "mcp/error-code.h"
#include "mcp/feature.h"
#include "mcp/message.h"
#include "mcp/tool.h"

enum { MCP_CALLS_MAX = 64 };
enum mcp_era { MCP_ERA_NONE, MCP_ERA_HANDSHAKE, MCP_ERA_MODERN };

struct mcp_server;
struct mcp_input;

/*
 * Where lines go that belong to one request, if the client has a way of its own for each (HTTP).
 * It must outlive what it is for: until is_over, or until its server is deinitialised.
 */
struct mcp_reply {
	struct buffer out;
	bool is_over;      /* it was answered, or cancelled: nothing follows */
	bool is_malformed; /* it was refused for what is in its _meta */
	int code;          /* of the error that answered it; 0: none */
};

/* What a call is of; all but tools only with mcp_features. */
enum mcp_call_kind { MCP_CALL_TOOL, MCP_CALL_PROMPT, MCP_CALL_READ, MCP_CALL_COMPLETE };

/* A call until it is answered. */
struct mcp_call {
	struct mcp_server *server;
	const struct mcp_tool *tool; /* NULL: it is of the back end's own set */
	enum mcp_call_kind kind;
	const char *name; /* of the tool or prompt; else the URI, or what is completed */
	const struct node *arguments; /* a map, checked by the table; NULL: none */
	void *state;                  /* the back end's */
	/* Private. */
	struct mcp_reply *reply;    /* NULL: lines go to the server's */
	struct mcp_input *inputs;   /* what the client was asked for (mcp/input.h) */
	struct mcp_message message; /* all texts are in it */
	const struct node *token;   /* of progress; NULL: the client wants none */
	bool shows_forms;           /* the client does */
	struct mcp_claims claims;   /* what was asked, and answered */
	uint64_t question;          /* the number of the one that waits; 0: none */
	uint64_t until_ms;          /* for an answer to it */
	struct mcp_call *next;
};

/*
 * What came of a call. Of a prompt `text` is its description and `content` the list of its
 * messages; of a resource, `content` is the list of its contents, and of a completion the map. An
 * error of these is one of JSON-RPC.
 */
struct mcp_result {
	struct buffer text;       /* for a model to read */
	struct buffer content;    /* in place of it: a list of contents as JSON */
	struct buffer structured; /* the same as a JSON map; empty: there is none */
	bool is_error;
	/* Of such an error; 0: MCP_INVALID_PARAMS. MCP_RESOURCE_NOT_FOUND is said as the era has
	 * it. */
	int code;
	bool asks; /* the back end's own: it was not done, for want of an answer */
};

/* Tools that are not those of the table: their arguments are the back end's to check. */
struct mcp_toolset {
	bool (*has)(void *context, const char *name);
	/* All of them, as tools/list has them: a list under that key. */
	void (*print)(void *context, struct json_writer *w, const char *key);
};

struct mcp_backend {
	/* Ends with mcp_server_answer(), at once or later; or with mcp_asking_ask(), which leads to
	 * another one. */
	void (*call)(void *context, struct mcp_call *c);
	/* The client does not want it any more: what runs for it ends. No answer follows. */
	void (*cancel)(void *context, struct mcp_call *c);
	/* Appends the log as JSON; negative errno. NULL: it is no resource. */
	int (*log)(void *context, struct buffer *out);
	void *context;
	bool has_handles;                    /* of sandboxes (mcp/tool.h) */
	const struct mcp_toolset *tools;     /* NULL: the table, by mcp_tool_find() */
	const struct mcp_features *features; /* NULL: none of them */
};

struct mcp_server {
	struct mcp_backend backend;
	const char *version;       /* Corral's */
	const char *instructions;  /* for the model; or NULL */
	struct mcp_asking *asking; /* NULL: nothing that the client says is an answer */
	struct buffer out;         /* lines for the client that are of no reply */
	/* Private. */
	enum mcp_era era;
	bool is_initialized;
	const char *spoken;           /* the version that the handshake agreed on */
	const struct node *declared;  /* the client's capabilities, by the handshake */
	struct mcp_message handshake; /* they are in it */
	struct mcp_reply *reply;      /* of the message under way; NULL: out */
	struct mcp_call *calls;
	size_t n_calls;
	uint64_t last_input;             /* the number of the last request for an input */
	enum mcp_level level;            /* of messages for the log, in a handshake */
	struct mcp_listening *listening; /* subscriptions (mcp/listen.h) */
	size_t n_listening;
};

/* A line of the client's; NULL: one that was too long. */
void mcp_server_line(struct mcp_server *s, const char *line, size_t len);
/* The same for a message that was read; reply: where what belongs to it goes, or NULL. *m may be
 * taken over: it is deinitialised by the caller all the same. */
void mcp_server_message(struct mcp_server *s, struct mcp_message *m, struct mcp_reply *reply);
/* The connection is of 2026-07-28 from its start: there is no `initialize`. */
void mcp_server_be_modern(struct mcp_server *s);
/* An answer that is an error, to a message that reaches no server. data: a JSON map, or NULL. */
void mcp_server_print_error(struct buffer *out, const struct node *id, enum mcp_error_code code,
	const char *text, const char *data);
/* Takes over what is in *r, and frees the call. */
void mcp_server_answer(struct mcp_call *c, struct mcp_result *r);
/* That it goes on, if the client wants to know. */
void mcp_server_progress(struct mcp_call *c, uint64_t progress, const char *message);
/* The same in the words of another server, if they are of that form: progress, total, message. */
void mcp_server_pass_progress(struct mcp_call *c, const struct node *params);
/* That it cannot be done for a client without this capability, such as "sampling": an error. */
void mcp_server_lacks(struct mcp_call *c, const char *capability);
/* Whether the client has it. */
bool mcp_server_has(const struct mcp_call *c, const char *capability);
/* Of a back end's own set: a client that listens is told to list them anew. */
void mcp_server_tools_changed(struct mcp_server *s);
/* Cancels all calls. */
void mcp_server_deinit(struct mcp_server *s);
