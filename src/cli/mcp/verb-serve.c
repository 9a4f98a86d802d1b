/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `corral mcp serve`: the options of `corral run` become the permissions of an enclave, and the
 * tools are its calls (mcp/backend.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corral/enclave.h>

#include "cli/mcp/answering.h"
#include "cli/mcp/places.h"
#include "cli/mcp/stdio.h"
#include "cli/mcp/verbs.h"
#include "cli/mcp/web.h"
#include "cli/run/run.h"
#include "holder/join.h"
#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "mcp/backend.h"
#include "policy/format/image.h"

enum { SERVE_FILE_MAX = 4 << 20 };

struct mcp_serve {
	struct run *run;
	struct loop *loop;
	struct corral_permissions *permissions;
	struct corral_enclave *enclave;
	struct corral_audit *audit; /* NULL: what the enclave keeps in memory */
	struct mcp_tools *tools;
	struct mcp_server server;
	struct mcp_answering answering;
	struct mcp_stdio stdio;
	/* --http: in place of the enclave, the tools and the server above. */
	struct mcp_places places;
	struct mcp_web web;
	char token_file[PATH_BYTES]; /* where its tokens are, without links */
	struct buffer text;          /* of the permissions */
};

#define SERVE_INSTRUCTIONS                                                                     \
	"These tools run under a policy that the user chose. What it denies is answered with " \
	"the reason and with what the user could change; explain_denial says more. Do not "    \
	"work around a denial: tell the user, who can grant it."

static int serve_tell(struct error *ret, int code, struct corral_error *e)
{
	if (e)
		*ret = e->e;
	else
		(void)error_set(ret, code, NULL, "%s", strerror(-code));
	corral_error_free(e);
	return code;
}

static int serve_refuse(struct mcp_serve *s, int code, struct corral_error *e)
{
	return serve_tell(s->run->call->error, code, e);
}

/* The permissions */

/* The limits of options, in each layer: the least counts. */
static void serve_limit(struct permissions *p, const struct limits *limits)
{
	for (size_t i = 0; p->n_all_of == 0 && i < LIMIT_COUNT; i++)
		if (limits->values[i] < p->limits.values[i])
			p->limits.values[i] = limits->values[i];
	for (size_t i = 0; i < p->n_all_of; i++)
		serve_limit(p->all_of[i], limits);
}

static int serve_permit(struct mcp_serve *s)
{
	struct run *r = s->run;
	struct permissions *one = NULL;
	int ret = sandbox_combine(&one, r->layers, r->n_layers, r->call->error);

	if (ret < 0)
		return ret;
	ret = corral_permissions_new(&s->permissions);
	if (ret < 0) {
		permissions_free(one);
		return error_no_memory(r->call->error);
	}
	permissions_free(s->permissions->p);
	s->permissions->p = one;
	serve_limit(one, &r->limits);
	ret = image_write_text(one, &s->text);
	if (ret == 0 && s->text.failed)
		ret = -ENOMEM;
	return ret < 0 ? error_set(r->call->error, ret, NULL, "the permissions are too many") : 0;
}

/* What the log has to do is done between calls. One that cannot be written ends the server. */
static int serve_turn(void *context)
{
	struct mcp_serve *s = context;
	struct corral_error *e = NULL;
	int r = corral_audit_tick(s->audit, &e);

	if (r >= 0)
		return corral_audit_wait_ms(s->audit);
	r = serve_refuse(s, r, e);
	return r == -1 ? -EIO : r;
}

/* Out of reach of all that the tools may read, write and run, or nothing is served. */
static int serve_record(struct mcp_serve *s)
{
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_error *e = NULL;
	int r = run_audit_find(s->run);

	o.path = s->run->audit.path;
	if (r < 0 || !o.path)
		return r;
	r = corral_audit_new(&s->audit, &o, &e);
	return r < 0 ? serve_refuse(s, r, e) : 0;
}

static int serve_enclose(void *context, struct corral_enclave **ret_enclave, struct error *error)
{
	char token[CORRAL_TOKEN_BYTES];
	struct mcp_serve *s = context;
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_variable variables[VARIABLE_COUNT];
	struct run *r = s->run;
	struct corral_error *e = NULL;
	int ret;

	o.granted = s->permissions;
	o.variables = variables;
	o.n_variables = handles_name_variables(&r->load.variables, s->permissions, variables);
	o.max_file_bytes = SERVE_FILE_MAX;
	o.work_dir = r->load.variables.values[VARIABLE_WORK_DIR];
	/* As in the sandboxes of `corral run`. */
	o.exec_readable = 1;
	o.guarded = r->guarded;
	o.n_guarded = r->n_guarded;
	o.audit = s->audit;
	ret = corral_enclave_new(ret_enclave, &o, token, &e);
	return ret < 0 ? serve_tell(error, ret, e) : 0;
}

/* Returns r, or why the end of the log could not be written. */
static int serve_deinit(struct mcp_serve *s, int r)
{
	struct corral_error *e = NULL;
	int audit;

	mcp_server_deinit(&s->server);
	mcp_web_deinit(&s->web);
	mcp_places_deinit(&s->places);
	mcp_answering_deinit(&s->answering);
	mcp_tools_free(s->tools);
	corral_enclave_free(s->enclave);
	audit = corral_audit_free(s->audit, &e);
	if (audit < 0 && r >= 0)
		r = serve_refuse(s, audit, e);
	else
		corral_error_free(e);
	corral_permissions_free(s->permissions);
	buffer_deinit(&s->text);
	mcp_stdio_deinit(&s->stdio);
	loop_free(s->loop);
	return r;
}

/* The answers */

static int serve_ask(struct mcp_serve *s)
{
	struct run *r = s->run;

	if (!r->options.client_answers)
		return 0;
	return mcp_answering_begin(&s->answering, &s->server, r->options.ask_ms, r->call->error);
}

/* One client, on standard input and output. */
static int serve_one(struct mcp_serve *s, const struct mcp_backend_options *options)
{
	struct mcp_backend_options o = *options;
	int r = serve_ask(s);

	r = r < 0 ? r : serve_enclose(s, &s->enclave, s->run->call->error);
	o.enclave = s->enclave;
	r = r < 0 ? r : mcp_tools_new(&s->tools, &o, &s->server.backend);
	if (r < 0)
		return r;
	s->server.version = corral_version();
	s->server.instructions = SERVE_INSTRUCTIONS;
	s->stdio.server = &s->server;
	s->stdio.loop = s->loop;
	s->stdio.name = "corral mcp serve";
	s->stdio.turn = s->audit ? serve_turn : NULL;
	s->stdio.context = s;
	return mcp_stdio_run(&s->stdio, s->run->call->error);
}

/* Clients by HTTP */

static int serve_open(void *context, struct mcp_server *server, size_t principal,
	const struct mcp_message *m, struct buffer *why)
{
	struct mcp_serve *s = context;

	server->version = corral_version();
	server->instructions = SERVE_INSTRUCTIONS;
	server->asking = mcp_web_asking(&s->web, principal);
	return mcp_places_open(&s->places, server, principal, m, why);
}

static void serve_close(void *context, struct mcp_server *server)
{
	struct mcp_serve *s = context;

	mcp_places_close(&s->places, server);
}

static int serve_turn_all(void *context)
{
	struct mcp_serve *s = context;

	mcp_places_turn(&s->places);
	return s->audit ? serve_turn(s) : -1;
}

/*
 * Who has a token can answer questions in place of the client's user. So no tool, and no command,
 * may read the file; and none writes it.
 */
static int serve_guard_tokens(struct mcp_serve *s)
{
	const struct request request = { .op = OPERATION_FS_READ, .target = s->token_file };
	const char *path = mcp_web_token_file(&s->web);
	struct error *e = s->run->call->error;

	if (!realpath(path, s->token_file))
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (policy_allows(s->run->policy, &request)) {
		(void)error_set(e, -EPERM, NULL,
			"the tools may read %s, where the tokens are; with it a command could "
			"become a client",
			s->token_file);
		error_hint(e, "put it where the policy grants nothing: --token-file "
			      "~/.config/corral/mcp.token");
		return -EPERM;
	}
	return run_guard(s->run, s->token_file);
}

static int serve_many(struct mcp_serve *s, const struct mcp_backend_options *options)
{
	const struct run_options *o = &s->run->options;
	struct error *e = s->run->call->error;
	int r;

	s->places.enclose = serve_enclose;
	s->places.context = s;
	s->places.options = *options;
	s->web.address = o->http;
	s->web.token_file = o->token_file;
	s->web.loop = s->loop;
	s->web.host = (struct web_host){ serve_open, serve_close, s };
	s->web.answers = o->client_answers;
	s->web.ask_ms = o->ask_ms;
	s->web.turn = serve_turn_all;
	s->web.context = s;
	r = mcp_web_begin(&s->web, e);
	if (r == 0)
		r = serve_guard_tokens(s);
	return r < 0 ? r : mcp_web_run(&s->web, e);
}

static int serve_run(struct run *r)
{
	/* Not on the stack: what it has must not move. */
	static struct mcp_serve s;
	int ret;

	s = (struct mcp_serve){ .run = r, .stdio = MCP_STDIO_NONE, .web = MCP_WEB_NONE };
	mcp_places_init(&s.places);
	ret = loop_new(&s.loop);
	ret = ret < 0 ? ret : serve_permit(&s);
	ret = ret < 0 ? ret : serve_record(&s);
	if (ret == 0) {
		const struct mcp_backend_options o = { .policy = r->policy,
			.permissions = buffer_text(&s.text),
			.folder = r->load.variables.values[VARIABLE_WORK_DIR],
			.loop = s.loop,
			.has_daemon = holder_join_is_possible(),
			.asks_few = r->options.ask_denied };

		ret = r->options.http ? serve_many(&s, &o) : serve_one(&s, &o);
	}
	return serve_deinit(&s, ret);
}

int mcp_serve_main(struct call *c)
{
	return run_main_served(c, serve_run);
}
