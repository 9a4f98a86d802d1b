/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request says, and to which server. The first look decides the era (mcp/web/head.h): a
 * message that stands alone gets a server for itself; others go to that of their session, which its
 * id and the token name together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/web/internal.h"
#include "serve/answer.h"

/* Answers */

void web_answer_empty(struct web_client *c, unsigned status, const char *fields)
{
	auto_buffer all = { 0 };

	if (status != 204)
		buffer_adds(&all, "Content-Length: 0\r\n");
	if (fields)
		buffer_adds(&all, fields);
	serve_answer_begin(&c->base.out, &(struct serve_answer){ .status = status,
						 .fields = buffer_text(&all),
						 .is_last = c->base.is_last });
}

void web_answer_error(struct web_client *c, unsigned status, const struct node *id,
	enum mcp_error_code code, const char *text)
{
	auto_buffer body = { 0 };

	mcp_server_print_error(&body, id, code, text, NULL);
	serve_answer_begin(&c->base.out, &(struct serve_answer){ .status = status,
						 .type = "application/json",
						 .len = body.len,
						 .is_last = c->base.is_last });
	buffer_add(&c->base.out, buffer_text(&body), body.len);
	c->base.out.failed = c->base.out.failed || body.failed;
}

/* What a tool or another method answers is no matter of HTTP. */
unsigned web_answer_status(const struct web_exchange *x)
{
	if (x->session)
		return x->reply.code == MCP_INVALID_REQUEST ? 400 : 200;
	switch (x->reply.code) {
	case MCP_METHOD_NOT_FOUND:
		return 404;
	case MCP_INVALID_REQUEST:
	case MCP_HEADER_MISMATCH:
	case MCP_MISSING_CAPABILITY:
	case MCP_UNSUPPORTED_VERSION:
		return 400;
	default:
		return x->reply.is_malformed ? 400 : 200;
	}
}

static void exchange_refuse(
	struct web_client *c, const struct node *id, int r, const struct buffer *why)
{
	if (r == -EBUSY)
		web_answer_error(c, 503, id, MCP_INTERNAL_ERROR,
			"too many sessions are open, or calls under way; end one, and try again");
	else
		web_answer_error(c, r == -ENOENT ? 200 : 500, id,
			r == -ENOENT ? MCP_INVALID_PARAMS : MCP_INTERNAL_ERROR,
			why->len ? why->data : strerror(-r));
}

/* Exchanges */

static size_t exchange_count(const struct web *w, size_t principal)
{
	size_t n = 0;

	for (struct link *l = w->exchanges.next; l != &w->exchanges; l = l->next)
		n += container_of(l, struct web_exchange, link)->principal == principal;
	return n;
}

/* session: NULL: it stands alone. */
static int exchange_new(struct web_client *c, size_t principal, struct web_session *session,
	struct web_exchange **ret)
{
	struct web *w = c->web;
	struct web_exchange *x;

	if (exchange_count(w, principal) >= WEB_EXCHANGES_MAX)
		return -EBUSY;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	*x = (struct web_exchange){
		.web = w, .session = session, .principal = principal, .client = c
	};
	link_init(&x->link);
	link_append(&w->exchanges, &x->link);
	if (session)
		session->n_exchanges++;
	c->exchange = *ret = x;
	return 0;
}

void web_exchange_free(struct web_exchange *x)
{
	struct web *w = x->web;

	if (x->client)
		x->client->exchange = NULL;
	if (x->session) {
		x->session->n_exchanges--;
		web_session_touch(x->session);
	} else {
		mcp_server_deinit(&x->server);
		w->o.host->close(w->o.host->context, &x->server);
	}
	link_remove(&x->link);
	buffer_deinit(&x->reply.out);
	free(x);
}

void web_exchange_leave(struct web_exchange *x)
{
	x->client = NULL;
	/* As of 2025-11-25 a connection that ends cancels nothing. */
	if (!x->session || x->reply.is_over)
		web_exchange_free(x);
}

/* A message that stands alone */

static void exchange_begin_alone(struct web_client *c, size_t principal,
	const struct serve_header *head, struct mcp_message *m)
{
	struct web *w = c->web;
	auto_buffer why = { 0 };
	struct web_exchange *x;
	const char *wrong;
	int r;

	if (m->kind != MCP_REQUEST && m->kind != MCP_NOTIFICATION) {
		web_answer_error(c, 400, NULL, MCP_INVALID_REQUEST,
			"nothing was asked of this client: there is no session");
		return;
	}
	if (web_head_check(head, m, &wrong) != 0) {
		web_answer_error(c, 400, m->id, MCP_HEADER_MISMATCH, wrong);
		return;
	}
	/* A call is cancelled by the end of its connection, and nothing else can be notified. */
	if (m->kind == MCP_NOTIFICATION) {
		web_answer_empty(c, 202, NULL);
		return;
	}
	r = exchange_new(c, principal, NULL, &x);
	if (r == 0) {
		r = w->o.host->open(w->o.host->context, &x->server, principal, m, &why);
		if (r < 0) {
			link_remove(&x->link);
			c->exchange = NULL;
			free(x);
		}
	}
	if (r < 0) {
		exchange_refuse(c, m->id, r, &why);
		return;
	}
	mcp_server_be_modern(&x->server);
	mcp_server_message(&x->server, m, &x->reply);
}

/* A message of a session */

static void exchange_initialize(struct web_client *c, size_t principal, struct mcp_message *m)
{
	auto_buffer why = { 0 };
	struct web_session *s = NULL;
	struct web_exchange *x = NULL;
	int r = web_session_new(c->web, principal, m, &s, &why);

	if (r == 0) {
		r = exchange_new(c, principal, s, &x);
		s->is_over = r < 0;
	}
	if (r < 0)
		exchange_refuse(c, m->id, r, &why);
	else if (x)
		mcp_server_message(&s->server, m, &x->reply);
	if (s && !s->server.is_initialized)
		s->is_over = true;
}

/* NULL: it was answered that there is none. */
static struct web_session *exchange_session(struct web_client *c, size_t principal,
	const struct serve_header *head, const struct node *id)
{
	const char *name = head[WEB_SESSION].value, *version = head[WEB_VERSION].value;
	struct web_session *s = name ? web_session_find(c->web, principal, name) : NULL;

	if (!name) {
		web_answer_error(c, 400, id, MCP_INVALID_REQUEST,
			"the header Mcp-Session-Id is missing: `initialize` gives one; or send "
			"_meta with the version 2026-07-28");
		return NULL;
	}
	if (!s) {
		web_answer_error(c, 404, id, MCP_SESSION_NOT_FOUND,
			"there is no such session: it has ended, or never was; initialize anew");
		return NULL;
	}
	if (version && s->server.spoken && strcmp(version, s->server.spoken) != 0) {
		web_answer_error(c, 400, id, MCP_INVALID_REQUEST,
			"the header MCP-Protocol-Version is not the version of this session");
		return NULL;
	}
	web_session_touch(s);
	return s;
}

static void exchange_begin_session(struct web_client *c, size_t principal,
	const struct serve_header *head, struct mcp_message *m)
{
	struct web_session *s = exchange_session(c, principal, head, m->id);
	const struct buffer none = { 0 };
	struct web_exchange *x;
	int r;

	if (!s)
		return;
	if (m->kind != MCP_REQUEST) {
		mcp_server_message(&s->server, m, NULL);
		web_answer_empty(c, 202, NULL);
		return;
	}
	r = exchange_new(c, principal, s, &x);
	if (r < 0)
		exchange_refuse(c, m->id, r, &none);
	else
		mcp_server_message(&s->server, m, &x->reply);
}

void web_exchange_begin(struct web_client *c, size_t principal, const struct serve_header *head,
	const char *body, size_t len)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };

	if (mcp_message_read(&m, body, len, &e) < 0) {
		web_answer_error(c, 400, NULL, MCP_PARSE_ERROR, e.text);
		return;
	}
	if (m.kind == MCP_OTHER)
		web_answer_error(c, 400, m.id, MCP_INVALID_REQUEST,
			m.document.root->type == NODE_LIST
				? "batches are not supported, as of 2025-06-18"
				: "this is no message of JSON-RPC 2.0");
	else if (!head[WEB_SESSION].value && web_head_is_modern(head, &m))
		exchange_begin_alone(c, principal, head, &m);
	else if (!head[WEB_SESSION].value && m.kind == MCP_REQUEST &&
		 strcmp(m.method, "initialize") == 0)
		exchange_initialize(c, principal, &m);
	else
		exchange_begin_session(c, principal, head, &m);
}

/* GET and DELETE */

void web_exchange_listen(struct web_client *c, size_t principal, const struct serve_header *head)
{
	struct web_session *s = exchange_session(c, principal, head, NULL);

	if (!s)
		return;
	/* Who connects anew may not know yet that the old connection has gone. */
	if (s->listener) {
		s->listener->session = NULL;
		serve_client_finish(&s->listener->base);
	}
	s->listener = c;
	c->session = s;
	c->is_streaming = c->base.is_deaf = true;
	c->base.is_last = false; /* its messages have no end */
	serve_answer_begin(&c->base.out, &(struct serve_answer){ .status = 200,
						 .type = "text/event-stream",
						 .is_stream = true,
						 .is_last = true });
	buffer_adds(&c->base.out, ":\n\n");
}

void web_exchange_delete(struct web_client *c, size_t principal, const struct serve_header *head)
{
	struct web_session *s = exchange_session(c, principal, head, NULL);

	if (!s)
		return;
	/* By the turn: the connections of it are not to be closed here. */
	s->is_over = true;
	web_answer_empty(c, 204, NULL);
}
