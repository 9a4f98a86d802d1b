/* SPDX-License-Identifier: Apache-2.0 */
/* `corral link auth`: a login at a server, by the browser or by a code for another device. */
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/browser.h"
#include "cli/link/callback.h"
#include "cli/link/discovery.h"
#include "cli/link/internal.h"
#include "cli/output.h"
#include "cli/vault/prompt.h"
#include "event/wait.h"
#include "oauth/place.h"
#include "oauth/scope.h"
#include "vault/source-text.h"

enum { AUTH_WAIT_MS = 10 * 60 * 1000, AUTH_LOCK_MS = 60 * 1000, AUTH_DEVICE_MOST_S = 1800 };

struct auth_settings {
	const char *client_id, *document, *issuer, *scope, *add_scope;
	bool client_secret, device, no_browser;
	uint64_t port;
};

struct auth {
	struct call *call;
	struct auth_settings settings;
	struct vault_session session;
	struct requests requests;
	struct callback callback;
	struct discovery found;
	struct oauth_login login;
	struct secret client_secret; /* that the user gave */
	const char *name, *url;
	const char *scope_before; /* of the login that is replaced; NULL: it was not looked at */
};

static void auth_end(struct auth *a)
{
	callback_end(&a->callback);
	vault_session_end(&a->session);
	requests_deinit(&a->requests);
	secret_free(&a->client_secret);
	secret_wipe(&a->login, sizeof(a->login));
}
#define auto_auth __attribute__((cleanup(auth_end))) struct auth

/* The beginning */

static int auth_check(struct auth *a)
{
	const struct auth_settings *s = &a->settings;
	struct oauth_place place;
	int r = keep_check_name(a->name, a->call->error);

	if (r == 0 && a->url)
		r = oauth_place_read(&place, a->url, "the server", a->call->error);
	if (r == 0 && s->document)
		r = oauth_place_read(&place, s->document, "--client-document", a->call->error);
	if (r == 0 && s->document && s->client_id)
		r = options_misused(a->call, "--client-document and --client-id name two clients");
	if (r == 0 && s->client_secret && !s->client_id)
		r = options_misused(a->call, "--client-secret is for --client-id");
	if (r == 0 && s->device && s->port)
		r = options_misused(a->call, "--port is for a login by the browser");
	if (r == 0 && s->scope && s->add_scope)
		r = options_misused(a->call, "--scope names all, --add-scope only what is added");
	return r;
}

static int auth_take_before(struct auth *a, const struct oauth_record *before)
{
	const char *more = a->settings.add_scope;
	struct error *e = a->call->error;

	if (a->url && strcmp(a->url, before->url) != 0)
		return error_set(e, -EINVAL, NULL,
			"the login %s is at %.200s: --add-scope is for a login that there is",
			a->name, before->url);
	a->url = arena_strdup(a->call->arena, before->url);
	a->scope_before = arena_strdup(a->call->arena, before->scope);
	if (!a->url || !a->scope_before)
		return error_no_memory(e);
	if (!more || !oauth_scope_covers(before->scope, more))
		return 0;
	(void)error_set(e, -EINVAL, NULL,
		"the login %s has the scope `%.200s` already, so another login changes nothing",
		a->name, more);
	error_hint(e,
		"ask whoever runs the server why it refuses; `corral link auth %s` logs in "
		"again",
		a->name);
	return -EINVAL;
}

/* Its server, and what it is for, where the user does not say it. Its secrets do not stay here. */
static int auth_read_before(struct auth *a)
{
	auto_oauth_record before = { 0 };
	int r;

	if (a->url && !a->settings.add_scope)
		return 0;
	r = keep_read(&a->session, a->name, &before);
	return r < 0 ? r : auth_take_before(a, &before);
}

/* Typed, or all of standard input: other processes see arguments. */
static int auth_read_secret(struct auth *a)
{
	struct secret text = { 0 };
	int r;

	if (!a->settings.client_secret)
		return 0;
	r = isatty(STDIN_FILENO)
		    ? prompt_read("Secret of the client (it is not shown): ", &text, a->call->error)
		    : prompt_read_input(&text, a->call->error);
	if (r == 0)
		r = secret_new(&a->client_secret, text.len + 1);
	if (r == 0 && (text.len == 0 || memchr(text.data, '\0', text.len)))
		r = error_set(a->call->error, -EINVAL, NULL, "the client's secret is empty");
	if (r == 0)
		memcpy(a->client_secret.data, text.data, text.len);
	secret_free(&text);
	return r;
}

/*
 * What is asked for: what the user says; else what the server asks for, or all that it has. A
 * refresh token spares logins: it is asked for where the scope that leads to it is known.
 */
static int auth_scope(struct auth *a, const char **ret)
{
	const struct auth_settings *s = &a->settings;
	const char *scope = a->found.scope ? a->found.scope : a->found.resource.scope;
	auto_buffer all = { 0 };

	*ret = s->scope;
	if (s->scope)
		return 0;
	if (s->add_scope && *a->scope_before)
		scope = a->scope_before;
	oauth_scope_add(&all, scope);
	oauth_scope_add(&all, s->add_scope);
	if (all.len > 0 && a->found.server.has_offline)
		oauth_scope_add(&all, "offline_access");
	if (all.len == 0 && !all.failed)
		return 0;
	*ret = all.failed ? NULL : arena_strdup(a->call->arena, all.data);
	return *ret ? 0 : error_no_memory(a->call->error);
}

static int auth_find(struct auth *a)
{
	struct arena *arena = a->call->arena;
	struct error *e = a->call->error;
	struct discovery_client of = { .id = a->settings.client_id,
		.secret = (const char *)a->client_secret.data,
		.document = a->settings.document,
		.redirect = a->settings.device ? NULL : a->callback.uri };
	uint8_t random[2 * OAUTH_RANDOM_BYTES];
	int r = discovery_run(&a->requests, a->url, a->settings.issuer, arena, &a->found, e);

	if (r < 0)
		return r;
	r = auth_scope(a, &of.scope);
	if (r < 0)
		return r;
	r = discovery_register(&a->requests, &a->found.server, &of, arena, &a->login.client, e);
	if (r < 0)
		return r;
	randombytes_buf(random, sizeof(random));
	oauth_request_word(random, a->login.state);
	oauth_request_word(random + OAUTH_RANDOM_BYTES, a->login.verifier);
	secret_wipe(random, sizeof(random));
	a->login.server = &a->found.server;
	a->login.resource = a->found.resource.resource;
	a->login.scope = of.scope;
	a->login.redirect = of.redirect;
	return 0;
}

/* Tokens */

static int auth_post(
	struct auth *a, const char *url, const struct oauth_form *form, struct request_answer *ret)
{
	return request_make(&a->requests,
		&(const struct request_of){ .method = "POST",
			.url = url,
			.type = "application/x-www-form-urlencoded",
			.authorization = buffer_text(&form->authorization),
			.body = &form->body },
		ret, a->call->error);
}

/* 0: tokens; 1: none, and why. */
static int auth_ask(struct auth *a, const struct oauth_form *form, struct oauth_tokens *t,
	enum oauth_refusal *why)
{
	auto_request_answer answer = { 0 };
	int r = auth_post(a, a->found.server.token, form, &answer);

	return r < 0 ? r
		     : oauth_answer_tokens(t, why, answer.status, buffer_text(&answer.body),
			       answer.body.len, a->login.resource, a->call->error);
}

static int auth_store(struct auth *a, const struct oauth_tokens *t)
{
	struct oauth_record record = { .url = a->url,
		.resource = a->login.resource,
		.issuer = a->found.server.issuer,
		.token = a->found.server.token,
		.revocation = a->found.server.revocation ? a->found.server.revocation : "",
		.client_id = a->login.client.id,
		.client_secret = a->login.client.secret ? a->login.client.secret : "",
		.method = oauth_method_name(a->login.client.method),
		.scope = a->login.scope ? a->login.scope : "",
		.refresh = "",
		.refused = "",
		.since_s = clock_ms(CLOCK_REALTIME) / 1000 };
	auto_fd lock = -1;
	int r = keep_lock(a->name, AUTH_LOCK_MS, &lock, a->call->error);

	return r < 0 ? r : link_store(&a->session, a->name, &record, t);
}

/* By the browser */

static int auth_show_page(struct auth *a)
{
	auto_output o = output_for(STDERR_FILENO);
	auto_buffer page = { 0 };
	int r = oauth_request_page(&a->login, &page, a->call->error);

	if (r == 0 && !a->settings.no_browser)
		r = browser_open(a->call, "link.html", page.data);
	if (r < 0)
		return r;
	output_note(&o);
	buffer_adds(&o.text, r == 1 ? "the browser opens the login of "
				    : "log in with a browser of this machine, at ");
	output_foreign(&o, a->found.server.issuer);
	if (r == 1)
		buffer_adds(&o.text, ". If it does not:");
	buffer_adds(&o.text, "\n  ");
	output_foreign(&o, page.data);
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDERR_FILENO, a->call->error);
}

/* Queries of other pages and programs are passed over: none of them ends the login. */
static int auth_await_code(struct auth *a, const char **ret)
{
	static char query[CALLBACK_QUERY_MAX + 1];
	const uint64_t until = wait_until(AUTH_WAIT_MS);
	struct error *e = a->call->error;
	int r;

	for (;;) {
		auto_arena room = { 0 };
		const char *code = NULL;

		r = callback_wait(&a->callback, until, query, e);
		if (r <= 0)
			break;
		*e = (struct error){ 0 };
		r = oauth_answer_callback(&code, query, a->login.state, &a->found.server, &room, e);
		callback_answer(&a->callback, r != -EACCES, r == 0);
		*ret = r == 0 ? arena_strdup(a->call->arena, code) : NULL;
		if (r != -EACCES)
			return r < 0 || *ret ? r : error_no_memory(e);
	}
	return r < 0 ? r
		     : error_set(e, -ETIMEDOUT, NULL,
			       "the login was ended: ten minutes went by without one");
}

static int auth_by_browser(struct auth *a, struct oauth_tokens *t)
{
	auto_oauth_form form = { 0 };
	enum oauth_refusal why;
	const char *code = NULL;
	int r = auth_show_page(a);

	if (r == 0)
		r = auth_await_code(a, &code);
	if (r < 0)
		return r;
	r = oauth_request_code(&a->login, code, &form);
	r = r < 0 ? error_no_memory(a->call->error) : auth_ask(a, &form, t, &why);
	return r == 1 ? -EACCES : r;
}

/* By another device */

static void auth_show_device(const struct oauth_device *d)
{
	auto_output o = output_for(STDERR_FILENO);

	output_note(&o);
	buffer_adds(&o.text, "log in with a browser on any device, at ");
	output_foreign(&o, d->page);
	buffer_adds(&o.text, "\n  and type the code ");
	output_name(&o, d->user_code);
	buffer_addc(&o.text, '\n');
	if (d->whole_page) {
		buffer_adds(&o.text, "  or open ");
		output_foreign(&o, d->whole_page);
		buffer_addc(&o.text, '\n');
	}
	(void)output_write(&o, STDERR_FILENO, NULL);
}

static int auth_poll(struct auth *a, const struct oauth_device *d, struct oauth_tokens *t)
{
	const uint64_t life_s =
		d->expires_in < AUTH_DEVICE_MOST_S ? d->expires_in : AUTH_DEVICE_MOST_S;
	const uint64_t until = clock_ms(CLOCK_MONOTONIC) + life_s * 1000;
	uint64_t pause_s = d->interval < 1 ? 1 : d->interval > 60 ? 60 : d->interval;
	auto_oauth_form form = { 0 };

	if (oauth_request_poll(&a->login, d->code, &form) < 0)
		return error_no_memory(a->call->error);
	while (clock_ms(CLOCK_MONOTONIC) < until) {
		enum oauth_refusal why;
		int r;

		(void)poll(NULL, 0, (int)(pause_s * 1000));
		*a->call->error = (struct error){ 0 };
		r = auth_ask(a, &form, t, &why);
		if (r != 1)
			return r;
		if (why != OAUTH_PENDING && why != OAUTH_SLOWER)
			return -EACCES;
		pause_s += why == OAUTH_SLOWER ? 5 : 0;
	}
	return error_set(
		a->call->error, -ETIMEDOUT, NULL, "the code is over: it was not used in time");
}

static int auth_by_device(struct auth *a, struct oauth_tokens *t)
{
	auto_request_answer answer = { 0 };
	auto_oauth_form form = { 0 };
	struct oauth_device d = { 0 };
	int r;

	if (!a->found.server.device)
		return error_set(a->call->error, -EOPNOTSUPP, NULL,
			"%s has no login by a code for a device (device_authorization_endpoint)",
			a->found.server.issuer);
	r = oauth_request_device(&a->login, &form);
	r = r < 0 ? error_no_memory(a->call->error)
		  : auth_post(a, a->found.server.device, &form, &answer);
	if (r == 0)
		r = oauth_answer_device(&d, &a->found.server, answer.status,
			buffer_text(&answer.body), answer.body.len, a->call->arena, a->call->error);
	if (r < 0)
		return r;
	auth_show_device(&d);
	return auth_poll(a, &d, t);
}

/* All of it */

static int auth_all(struct auth *a)
{
	auto_oauth_tokens t = { 0 };
	int r = auth_check(a);

	/* Before there is anything to see in this process. */
	if (r == 0 && !a->settings.device)
		r = callback_start(&a->callback, (uint16_t)a->settings.port, a->call->error);
	if (r == 0)
		r = vault_session_begin(&a->session, a->call);
	if (r == 0)
		r = keep_check_free(&a->session, a->name);
	if (r == 0)
		r = auth_read_before(a);
	if (r == 0)
		r = auth_read_secret(a);
	if (r == 0)
		r = auth_find(a);
	if (r == 0)
		r = a->settings.device ? auth_by_device(a, &t) : auth_by_browser(a, &t);
	if (r == 0)
		r = auth_store(a, &t);
	return r;
}

static int auth_print(struct auth *a, const char *secret)
{
	struct json_tree t = { .arena = a->call->arena };
	struct node *root = tree_map(&t);

	vault_session_note("logged in to %s at %s. The vault has the tokens; commands use them by "
			   "corral run --secret %s",
		a->url, a->found.server.issuer, secret);
	if (!a->session.json)
		return 0;
	tree_put_text(&t, root, "name", a->name);
	tree_put_text(&t, root, "secret", secret);
	tree_put_text(&t, root, "url", a->url);
	tree_put_text(&t, root, "issuer", a->found.server.issuer);
	return tree_print(&t, root, a->call->error);
}

int link_auth(struct call *c, int (*place)(struct call *c, const char **ret))
{
	auto_auth a = { .call = c, .callback = CALLBACK_NONE };
	const struct options_row rows[] = {
		{ { "client-id", SCHEMA_TEXT,
			  .help = "the client that you have registered with the authorization "
				  "server" },
			0, "ID", .target = &a.settings.client_id },
		{ { "client-secret", SCHEMA_FLAG,
			  .help = "it has a secret, which is typed or comes from standard input" },
			.target = &a.settings.client_secret },
		{ { "client-document", SCHEMA_TEXT,
			  .help = "the client is described at this URL (Client ID Metadata "
				  "Document)" },
			0, "URL", .target = &a.settings.document },
		{ { "issuer", SCHEMA_TEXT,
			  .help = "of several authorization servers that the server names, this "
				  "one" },
			0, "URL", .target = &a.settings.issuer },
		{ { "scope", SCHEMA_TEXT,
			  .help = "what the token is for; if not given, what the server asks for" },
			0, "WORDS", .target = &a.settings.scope },
		{ { "add-scope", SCHEMA_TEXT,
			  .help = "the same, beside what the login that there is has; a server "
				  "that refuses a call says it" },
			0, "WORDS", .target = &a.settings.add_scope },
		{ { "device", SCHEMA_FLAG,
			  .help = "log in on another device, by a code that is typed there" },
			.target = &a.settings.device },
		{ { "no-browser", SCHEMA_FLAG,
			  .help = "print the page's address, and open "
				  "nothing" },
			.target = &a.settings.no_browser },
		{ { "port", SCHEMA_NUMBER, .min = 1, .max = 65535,
			  .help = "of the call-back on 127.0.0.1: 8765 if not given, or any that "
				  "is "
				  "free" },
			0, "PORT", .target = &a.settings.port },
		SESSION_PASSPHRASE(&a.session),
		OPTIONS_JSON(&a.session.json),
	};
	char secret[SOURCE_LINK_SECRET_BYTES];
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	a.name = c->words[0];
	a.session.call = c;
	r = place(c, &a.url);
	if (r == 0)
		r = auth_all(&a);
	if (r < 0)
		return vault_session_refuse(&a.session, r);
	(void)source_link_secret(a.name, "", secret);
	r = auth_print(&a, secret);
	return r < 0 ? r : STATUS_YES;
}

static int auth_place_given(struct call *c, const char **ret)
{
	*ret = c->n > 1 ? c->words[1] : NULL;
	return 0;
}

static int verb_link_auth_run(struct call *c)
{
	return link_auth(c, auth_place_given);
}

const struct verb verb_link_auth = {
	.name = "auth",
	.synopsis = "[OPTION]... NAME [URL]",
	.summary = "log in to a server, and keep its tokens in the vault",
	.description =
		"Asks the server at URL who gives tokens for it, and logs in there by OAuth 2.1: "
		"the browser opens the page of the login, and brings a code back to an address of "
		"this machine. The tokens go into the vault and nowhere else. LINK_NAME is the "
		"access token, granted for the server's host alone; it is refreshed when it is "
		"needed.\n"
		"The client is one that you have registered (--client-id), one that is described "
		"at a URL (--client-document), or, without either, one that is registered now. "
		"A login that is there is replaced; without a URL, it is one at the same server.",
	.examples = "corral link auth linear https://mcp.linear.app/mcp\n"
		    "corral link auth --device tracker https://tracker.example.com/mcp\n"
		    "corral link auth --client-id me --client-secret t https://t.example/mcp\n"
		    "corral link auth --add-scope issues:write linear\n"
		    "corral run --secret LINK_LINEAR -- ./agent\n",
	.operand = "NAME",
	.offer = link_offer,
	.min = 1,
	.max = 2,
	.run = verb_link_auth_run,
};
