/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the tools do: each is a call of an enclave (corral/enclave.h), which judges it, does it and
 * records it. Files are read and written at once; commands run beside the loop. An answer says what
 * was denied, by which rule, and which option grants it; it grants nothing.
 */
#include <corral/enclave.h>

#include "event/loop.h"
#include "mcp/consent.h"
#include "mcp/server.h"
#include "policy/policy.h"

/*
 * Sandboxes with handles, for clients without a connection of their own: a handle is random, and of
 * the principal that it was made for. Which sandbox the back end of a request has was decided by
 * its handle before.
 */
struct mcp_handles {
	/* Appends a new one; negative errno. */
	int (*create)(void *context, struct buffer *ret);
	/* -ENOENT: this principal has no such. */
	int (*end)(void *context, const char *handle);
	void *context;
};

struct mcp_backend_options {
	struct corral_enclave *enclave;
	const struct mcp_handles *handles; /* NULL: there are none */
	/* The same permissions, to look at without asking the user. */
	const struct policy *policy;
	const char *permissions; /* the same as text (policy/format/image.h), for http_request */
	const char *folder;      /* relative paths and commands start here */
	struct loop *loop;
	bool has_daemon;            /* which takes questions */
	bool asks_few;              /* whatever is denied may become a question */
	struct holder_asking *rate; /* of questions, for several back ends of one client; or NULL */
	struct mcp_consent *consent; /* the back end's own */
};

struct mcp_tools;
struct fetcher;

/* Of a handle that is not, or is another principal's. */
#define MCP_NO_SANDBOX \
	"there is no such sandbox: it has ended, or never was; create_sandbox makes one"

/* What the options point to must outlive it. -ENOMEM. */
int mcp_tools_new(struct mcp_tools **ret, const struct mcp_backend_options *o,
	struct mcp_backend *ret_backend);
/* After the server's calls. Accepts NULL. */
void mcp_tools_free(struct mcp_tools *t);

/* answers.c: what is said of a refusal, of either cause; frees e. */
void mcp_answer_refuse(const struct mcp_backend_options *o, struct mcp_result *r, int code,
	struct corral_error *e);
/* "denied: net.connect example.com:443: REASON; to allow it: --net example.com:443", a line. */
void mcp_answer_denial(struct buffer *out, const struct corral_denial *d);
/* Ends a call: with this answer, or with the question that it ran into. Takes over what is in *r.
 */
void mcp_answer_end(const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *r);
/* A sentence, and what would allow it or help. NULL or "": nothing would. */
void mcp_answer_refusal(struct buffer *out, const char *message, const char *remedy);
void mcp_answer_put_denial(struct json_writer *w, const char *key, const struct corral_denial *d);

/* command.c */
void mcp_command_start(
	struct mcp_tools *t, const struct mcp_backend_options *o, struct mcp_call *c);
/* Kills what still runs. */
void mcp_command_cancel(struct mcp_call *c);
/* http.c; without a fetcher http-absent.c. Its sandboxes are made when they are first needed. */
struct mcp_fetcher {
	struct fetcher *fetcher; /* NULL: none was needed */
	const char *layer;
};
int mcp_fetcher_make(struct mcp_fetcher *f, const struct mcp_backend_options *o, struct error *e);
/* After the calls. */
void mcp_fetcher_deinit(struct mcp_fetcher *f);
void mcp_http_start(
	struct mcp_fetcher *fetcher, const struct mcp_backend_options *o, struct mcp_call *c);
void mcp_http_cancel(struct mcp_call *c);
/* permission.c: check_permission, request_permission, explain_denial. */
void mcp_permission_answer(const struct mcp_backend_options *o, struct mcp_call *c);
