/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What servers answer. An answer is one object of JSON, or a stream of events; it may be neither,
 * too long, of another request, or break off anywhere.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "codec/json-writer.h"
#include "mcp/remote/internal.h"
#include "oauth/challenge.h"
#include "oauth/scope.h"

enum { ANSWERS_LOGIN_BYTES = 64 };

/* "application/json; charset=utf-8" is of this type. */
static bool answers_is_type(const char *header, const char *type)
{
	const size_t len = strlen(type);

	return header && strncasecmp(header, type, len) == 0 && strchr("; \t", header[len]) != NULL;
}

/* The name of a session is visible ASCII: it goes into headers. */
static void answers_take_session(struct remote *b, const char *session)
{
	const size_t len = session ? strlen(session) : 0;

	b->session[0] = '\0';
	for (size_t i = 0; i < len; i++)
		if (session[i] <= 0x20 || session[i] > 0x7e)
			return;
	if (len <= REMOTE_SESSION_MAX)
		memcpy(b->session, session ? session : "", len + 1);
}

/* RFC 6750, 3.1. It is shown as part of a command: only a text that is plain is. */
static void answers_take_scope(struct remote_exchange *x, const struct remote_head *h)
{
	auto_arena a = { 0 };
	struct oauth_challenge said = { 0 };

	x->scope[0] = '\0';
	if (h->status != 403 || !h->challenge ||
		oauth_challenge_read(&said, h->challenge, &a, NULL) < 0)
		return;
	if (said.error && strcmp(said.error, "insufficient_scope") == 0 && said.scope &&
		oauth_scope_is_plain(said.scope) && strlen(said.scope) <= REMOTE_SCOPE_MAX)
		(void)stpcpy(x->scope, said.scope);
}

int remote_begun(struct remote *b, struct remote_exchange *x, const struct remote_head *h)
{
	const bool is_hello = x->kind == REMOTE_HELLO || x->kind == REMOTE_RENEWAL;

	x->status = h->status;
	x->is_json = answers_is_type(h->type, "application/json");
	x->is_stream = h->status == 200 && answers_is_type(h->type, "text/event-stream");
	x->fault = NULL;
	answers_take_scope(x, h);
	if (h->location) {
		remote_refuse(b, x,
			"the server %s sends its clients to another place, where they are not "
			"led: %s",
			b->o.url, h->location);
		return 1;
	}
	if (h->encoding && strcasecmp(h->encoding, "identity") != 0)
		x->fault = "it is compressed, though that was not asked for";
	if (is_hello && h->status == 200)
		answers_take_session(b, h->session);
	if (x->resumes || x->kind == REMOTE_LISTEN)
		sse_restart(&x->sse);
	return x->is_answered || x->fault != NULL;
}

/* Messages */

/* One line, whatever breaks it had; in JSON these stand between its parts alone. */
static void answers_pass(struct remote *b, const char *text, size_t len)
{
	const size_t at = b->out.len;

	buffer_add(&b->out, text, len);
	for (size_t i = at; i < b->out.len; i++)
		if (b->out.data[i] == '\n' || b->out.data[i] == '\r')
			b->out.data[i] = ' ';
	buffer_addc(&b->out, '\n');
}

static void answers_print(struct remote *b, const struct node *message)
{
	json_print(&b->out, message, JSON_COMPACT);
	buffer_addc(&b->out, '\n');
}

static void answers_greeted(
	struct remote *b, const struct remote_exchange *x, const struct mcp_message *m)
{
	const char *version = node_get_text(m->body, "protocolVersion");
	const struct node *tools = node_get(node_get(m->body, "capabilities"), "tools");
	size_t len = strlen(version);

	if (m->kind != MCP_RESULT || len >= sizeof(b->version)) {
		b->session[0] = '\0';
		return;
	}
	for (size_t i = 0; i < len; i++)
		if (!ascii_is_alnum(version[i]) && !strchr("-._", version[i]))
			len = 0;
	memcpy(b->version, version, len);
	b->version[len] = '\0';
	b->is_lost = false;
	if (x->kind == REMOTE_HELLO)
		(void)node_boolean(node_get(tools, "listChanged"), &b->says_tools_change);
}

/* A new session: the rest of its handshake. */
static void answers_renewed(struct remote *b)
{
	static const char done[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
	struct remote_exchange *x = remote_add(b, REMOTE_RENEWAL_DONE, done, sizeof(done) - 1);

	if (x)
		b->gate = x;
}

/* The answer to a request that is open, which has none then. */
static void answers_deliver(struct remote *b, struct remote_exchange *x,
	const struct mcp_message *m, const char *text, size_t len)
{
	auto_buffer said = { 0 };
	int dropped = 0;

	if (x->kind == REMOTE_HELLO || x->kind == REMOTE_RENEWAL)
		answers_greeted(b, x, m);
	if (x->kind == REMOTE_RENEWAL) {
		if (m->kind == MCP_RESULT)
			answers_renewed(b);
		else
			b->is_lost = true;
		x->is_answered = true;
		remote_open_gate(b, x);
		return;
	}
	if (x->is_modern && x->is_list && m->kind == MCP_RESULT)
		dropped = mirror_learn(&b->mirror, m->body, x->is_first_page, &said);
	for (const char *line = buffer_text(&said); *line; line += strcspn(line, "\n") + 1)
		remote_say(b, "%.*s", (int)strcspn(line, "\n"), line);
	if (dropped < 0)
		remote_refuse(b, x, "out of memory for the tools of %s", b->o.url);
	else if (dropped > 0)
		answers_print(b, m->document.root);
	else
		answers_pass(b, text, len);
	x->is_answered = true;
	remote_open_gate(b, x);
}

/* Of our own initialize, the id is the client's, which has an answer already. */
static bool answers_is_of(
	const struct remote *b, const struct remote_exchange *x, const struct node *id)
{
	const struct buffer *own = x->kind == REMOTE_RENEWAL ? &b->hello_id : &x->id;
	auto_buffer text = { 0 };

	if (!id || x->is_answered)
		return false;
	mcp_message_print_id(id, &text);
	return !text.failed && text.len > 0 && own->len == text.len &&
	       memcmp(own->data, text.data, text.len) == 0;
}

static void answers_drop(struct remote *b, const char *what)
{
	remote_say(b, "the server %s; that was dropped", what);
}

/* A message on a stream, or the whole of an answer. */
static void answers_take(struct remote *b, struct remote_exchange *x, const char *text, size_t len)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };

	if (mcp_message_read(&m, text, len, &e) < 0) {
		remote_say(b, "the server sent what is not read: %s", e.text);
		return;
	}
	switch (m.kind) {
	case MCP_RESULT:
	case MCP_ERROR:
		if (answers_is_of(b, x, m.id))
			answers_deliver(b, x, &m, text, len);
		else
			answers_drop(b, "answered what it was not asked there");
		break;
	case MCP_REQUEST:
		/* Since 2026-07-28 it may not ask by itself. */
		if (x->is_modern || !b->version[0])
			answers_drop(b, "asked its client, as its version does not");
		else
			answers_pass(b, text, len);
		break;
	case MCP_NOTIFICATION:
		answers_pass(b, text, len);
		break;
	case MCP_OTHER:
		answers_drop(b, "sent what is no message, or several in one");
		break;
	}
}

/* Data */

static int answers_on_event(void *context, const char *data, size_t len)
{
	void **both = context;
	struct remote *b = both[0];
	struct remote_exchange *x = both[1];

	x->failures = 0;
	if (x->is_answered)
		return 0;
	if (data)
		answers_take(b, x, data, len);
	else
		answers_drop(b, "sent an event of more than 16 MiB");
	return 0;
}

int remote_data(struct remote *b, struct remote_exchange *x, const char *data, size_t len)
{
	const size_t most = x->status >= 300 ? REMOTE_REFUSAL_MAX : MCP_LINE_MAX;
	void *both[] = { b, x };
	int r = 0;

	if (x->is_answered)
		return 0;
	b->held -= x->answer.len + sse_held(&x->sse);
	if (x->is_stream) {
		r = sse_feed(&x->sse, data, len, answers_on_event, both);
	} else if (len > most - x->answer.len) {
		x->fault = x->status >= 300 ? "" : "it has more than 16 MiB";
		buffer_deinit(&x->answer);
		r = 1;
	} else {
		buffer_add(&x->answer, data, len);
		r = x->answer.failed ? -ENOMEM : 0;
	}
	if (r < 0)
		x->fault = "out of memory";
	b->held += x->answer.len + sse_held(&x->sse);
	if (b->held > REMOTE_HELD_MAX) {
		x->fault = "too much of the server's answers is not complete";
		r = 1;
	}
	return r != 0;
}

/* The end */

/* Of a refusal that is an error of MCP, its words. true: that was the answer. */
static bool answers_pass_error(struct remote *b, struct remote_exchange *x)
{
	auto_mcp_message m = { 0 };
	struct error e = { 0 };
	struct json_writer w = { .out = &b->out };

	if (!x->is_json || x->id.len == 0 || x->answer.len == 0 || x->kind == REMOTE_RENEWAL ||
		mcp_message_read(&m, x->answer.data, x->answer.len, &e) < 0 || m.kind != MCP_ERROR)
		return false;
	if (m.id && !answers_is_of(b, x, m.id))
		return false;
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_raw(&w, "id", x->id.data);
	json_put_node(&w, "error", m.body);
	json_end_line(&w);
	remote_drop(b, x);
	return true;
}

/* The login that this secret is the token of: small letters, '-' for '_'. "": of none. */
static const char *answers_login(const char *secret, char ret[ANSWERS_LOGIN_BYTES])
{
	size_t n = 0;

	if (strncmp(secret, "LINK_", 5) == 0 && strlen(secret + 5) < ANSWERS_LOGIN_BYTES)
		for (const char *c = secret + 5; *c; c++) {
			ret[n] = '-';
			if (*c != '_')
				ret[n] = ascii_lower(*c);
			n++;
		}
	ret[n] = '\0';
	return ret;
}

static void answers_unauthorized(struct remote *b, struct remote_exchange *x)
{
	char login[ANSWERS_LOGIN_BYTES];

	if (!b->o.secret)
		remote_refuse(b, x,
			"the server %s answered %u: it wants a token. `corral link auth NAME %s` "
			"gets one; `--secret LINK_NAME` (`secret: LINK_NAME` in a gateway's file) "
			"lends it",
			b->o.url, x->status, b->o.url);
	else if (!*answers_login(b->o.secret, login))
		remote_refuse(b, x,
			"the server %s answered %u: it does not take the secret %s. `corral vault "
			"set %s` replaces it",
			b->o.url, x->status, b->o.secret, b->o.secret);
	else if (*x->scope)
		remote_refuse(b, x,
			"the server %s answered 403: the token %s is not for the scope %s. `corral "
			"link auth --add-scope '%s' %s` asks for it",
			b->o.url, b->o.secret, x->scope, x->scope, login);
	else
		remote_refuse(b, x,
			"the server %s answered %u: it does not take the token %s. `corral link "
			"auth %s` gets a new one",
			b->o.url, x->status, b->o.secret, login);
}

static void answers_refused(struct remote *b, struct remote_exchange *x)
{
	if (x->status == 404 && x->had_session && !x->was_renewed) {
		x->was_renewed = true;
		if (x->kind == REMOTE_CALL)
			x->state = REMOTE_HELD;
		else
			remote_drop(b, x);
		remote_renew(b);
		if (!b->gate)
			remote_refuse(b, x, "the server %s has ended the session", b->o.url);
		return;
	}
	if (x->kind == REMOTE_RENEWAL)
		b->is_lost = true;
	if (x->status == 401 || x->status == 403)
		answers_unauthorized(b, x);
	else if (x->resumes)
		remote_refuse(b, x,
			"the answer of the server %s broke off, and it does not let it go on (%u)",
			b->o.url, x->status);
	else if (!answers_pass_error(b, x))
		remote_refuse(b, x, "the server %s answered %u%s", b->o.url, x->status,
			x->status == 404 || x->status == 405
				? ": there may be no server of MCP at this URL"
				: "");
}

/* Once more, later; by its own word if it has said when. false: it was tried often enough. */
static bool answers_retry(struct remote *b, struct remote_exchange *x)
{
	unsigned n;

	if (x->sse.is_ahead)
		x->failures = 0;
	x->sse.is_ahead = false;
	n = x->failures < 6 ? x->failures : 6;
	if (b->is_closing || (x->kind != REMOTE_LISTEN && x->failures >= REMOTE_FAILURES_MAX))
		return false;
	x->delay_ms = n == 0 && x->sse.has_retry ? x->sse.retry_ms : (uint64_t)REMOTE_PAUSE_MS << n;
	if (x->delay_ms > REMOTE_PAUSE_MAX_MS)
		x->delay_ms = REMOTE_PAUSE_MAX_MS;
	if (x->delay_ms < REMOTE_PAUSE_MIN_MS)
		x->delay_ms = REMOTE_PAUSE_MIN_MS;
	x->failures++;
	x->state = REMOTE_NEW;
	return true;
}

static void answers_listened(struct remote *b, struct remote_exchange *x)
{
	/* It has none, or not for us: asking once more would change nothing. */
	const bool is_refused = x->status >= 400 && x->status < 500;

	if (x->status == 404 && x->had_session) {
		remote_drop(b, x);
		remote_renew(b);
	} else if (is_refused || (x->status == 200 && !x->is_stream)) {
		b->may_not_listen = true;
		remote_drop(b, x);
	} else if (!answers_retry(b, x)) {
		remote_drop(b, x);
	}
}

/* A handshake is done. */
static void answers_done(struct remote *b, struct remote_exchange *x)
{
	static const char changed[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
	const bool is_renewal = x->kind == REMOTE_RENEWAL_DONE;

	remote_drop(b, x);
	/* Another session may have other tools. */
	if (is_renewal && b->says_tools_change)
		answers_pass(b, changed, sizeof(changed) - 1);
	remote_listen(b);
}

static void answers_broken(struct remote *b, struct remote_exchange *x, const char *why)
{
	const bool may_resume = !x->is_modern && x->sse.id[0] && x->kind == REMOTE_CALL;

	/* A stream that says where it was goes on by another request. */
	if (may_resume && !x->fault && (x->is_stream || x->resumes) && answers_retry(b, x)) {
		x->resumes = true;
		return;
	}
	if (x->kind == REMOTE_RENEWAL)
		b->is_lost = true;
	if (x->fault && x->fault[0])
		remote_refuse(
			b, x, "the answer of the server %s cannot be used: %s", b->o.url, x->fault);
	else if (why)
		remote_refuse(b, x, "the server %s: %s", b->o.url, why);
	else
		remote_refuse(b, x, "the server %s has ended its answer before it was complete",
			b->o.url);
}

void remote_ended(struct remote *b, struct remote_exchange *x, const char *why)
{
	const bool is_fine = x->status >= 200 && x->status < 300 && !why && !x->fault;

	b->held -= sse_held(&x->sse);
	sse_restart(&x->sse);
	if (x->state == REMOTE_GONE)
		return;
	if (x->kind == REMOTE_LISTEN) {
		answers_listened(b, x);
	} else if (x->is_answered || x->kind == REMOTE_GOODBYE) {
		remote_drop(b, x);
	} else if (x->status >= 300 && (!why || x->answer.len > 0 || x->fault)) {
		answers_refused(b, x);
	} else if (x->id.len == 0 && x->kind != REMOTE_RENEWAL) {
		if (is_fine && (x->kind == REMOTE_HELLO_DONE || x->kind == REMOTE_RENEWAL_DONE))
			answers_done(b, x);
		else if (is_fine)
			remote_drop(b, x);
		else
			answers_broken(b, x, why);
	} else {
		if (is_fine && x->is_json && !x->is_stream)
			answers_take(b, x, buffer_text(&x->answer), x->answer.len);
		else if (is_fine && !x->is_stream && !x->is_json)
			x->fault = "it is neither JSON nor a stream of events";
		if (x->is_answered)
			remote_drop(b, x);
		else
			answers_broken(b, x, why);
	}
	b->held -= x->answer.len;
	buffer_deinit(&x->answer);
}
