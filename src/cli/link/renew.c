/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens are refreshed here, by one process at a time, whoever asks: the lock is of the login, and
 * who waited for it finds the token that the one before got. The process is in a session of its
 * own, so that it goes on when those who wait are killed. The new refresh token is in the vault
 * before the token that came with it, in one write that replaces the old one.
 *
 *     killed before the request   nothing has happened
 *     killed behind the answer    the vault has the new login, or the old one, as a whole; only
 *                                 between the server's answer and that write a login can be lost,
 *                                 at a server that takes the old token no second time
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/link/internal.h"
#include "cli/output.h"
#include "codec/json-writer.h"

enum { RENEW_LOCK_MS = 25 * 1000, RENEW_HOUR_S = 3600, RENEW_YEAR_S = 365 * 86400 };

static uint64_t renew_now_s(void)
{
	return clock_ms(CLOCK_REALTIME) / 1000;
}

void link_hint_login(struct error *e, const char *name, const char *url)
{
	error_hint(e, "log in again: corral link auth %s %.150s", name, url);
}

/* How long a token lasts that does not say so: until it is refused, if it cannot be refreshed. */
static uint64_t renew_expiry(const struct oauth_record *record, const struct oauth_tokens *t)
{
	return renew_now_s() + (t->expires_in             ? t->expires_in
				       : *record->refresh ? RENEW_HOUR_S
							  : RENEW_YEAR_S);
}

int link_store(struct vault_session *s, const char *name, struct oauth_record *record,
	const struct oauth_tokens *t)
{
	struct oauth_record next = *record;
	int r;

	if (t->refresh)
		next.refresh = t->refresh;
	if (t->scope)
		next.scope = t->scope;
	next.refused = "";
	r = record->document.root ? keep_replace(s, name, &next) : keep_write(s, name, &next);
	return r < 0 ? r : keep_token(s, name, t->access, renew_expiry(&next, t));
}

/* The server takes it no more: it is forgotten, so that it is not tried again. */
static int renew_refused(
	struct vault_session *s, const char *name, const struct oauth_record *record)
{
	struct error *e = s->call->error, why = *e;
	struct oauth_record next = *record;
	int r;

	*e = (struct error){ 0 };
	next.refresh = "";
	next.refused = "the authorization server took the refresh token no more";
	r = keep_replace(s, name, &next);
	if (r == 0)
		r = keep_token(s, name, NULL, 0);
	if (r < 0)
		return r;
	*e = why;
	link_hint_login(e, name, record->url);
	return -EKEYEXPIRED;
}

static int renew_ask(struct vault_session *s, const char *name, struct oauth_record *record,
	struct oauth_tokens *t)
{
	struct error *e = s->call->error;
	enum oauth_refusal why = OAUTH_REFUSED;
	auto_request_answer answer = { 0 };
	auto_requests requests = { 0 };
	auto_oauth_form form = { 0 };
	struct oauth_client client;
	int r;

	oauth_record_client(record, &client);
	r = oauth_request_refresh(&client, record->refresh, record->resource, &form);
	if (r < 0)
		return error_no_memory(e);
	r = request_make(&requests,
		&(const struct request_of){ .method = "POST",
			.url = record->token,
			.type = "application/x-www-form-urlencoded",
			.authorization = buffer_text(&form.authorization),
			.body = &form.body },
		&answer, e);
	if (r < 0)
		return r;
	r = oauth_answer_tokens(t, &why, answer.status, buffer_text(&answer.body), answer.body.len,
		record->resource, e);
	if (r == 1)
		return why == OAUTH_LOGIN || why == OAUTH_CLIENT ? renew_refused(s, name, record)
								 : -EAGAIN;
	return r < 0 ? r : link_store(s, name, record, t);
}

int link_renew(struct vault_session *s, const char *name, bool is_forced, struct link_renewal *ret)
{
	struct error *e = s->call->error;
	auto_oauth_record record = { 0 };
	auto_oauth_tokens t = { 0 };
	auto_fd lock = -1;
	int r = keep_lock(name, RENEW_LOCK_MS, &lock, e);

	if (r == 0 && !is_forced)
		r = keep_expiry(s, name, &ret->expires_s);
	if (r < 0 || (!is_forced && ret->expires_s > renew_now_s() + VAULT_FRESH_S))
		return r;
	r = keep_read(s, name, &record);
	if (r < 0)
		return r;
	if (!*record.refresh) {
		(void)error_set(e, -EKEYEXPIRED, NULL, "the login %s is over: %s", name,
			*record.refused ? record.refused : "its token has expired");
		link_hint_login(e, name, record.url);
		return -EKEYEXPIRED;
	}
	r = renew_ask(s, name, &record, &t);
	if (r < 0)
		return r;
	ret->expires_s = renew_expiry(&record, &t);
	if (ret->expires_s <= renew_now_s() + VAULT_FRESH_S + 1) {
		ret->tokens = t;
		t = (struct oauth_tokens){ 0 };
	}
	return 0;
}

/* Its standard output is a pipe of the process that needs the token. */
static int renew_print(const struct link_renewal *renewal, int r, struct error *e)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text };

	json_open_map(&w, NULL);
	if (r < 0) {
		json_put_text(&w, "error", e->text);
		json_put_text(&w, "hint", e->hint);
	} else if (renewal->tokens.access) {
		json_put_text(&w, "value", renewal->tokens.access);
		json_put_count(&w, "expires", renewal->expires_s);
	} else {
		json_put_flag(&w, "kept", true);
	}
	json_end_line(&w);
	r = output_write(&o, STDOUT_FILENO, NULL);
	if (o.text.data)
		secret_wipe(o.text.data, o.text.cap);
	return r < 0 ? r : STATUS_YES;
}

static int verb_link_renew_run(struct call *c)
{
	auto_vault_session s = { 0 };
	struct link_renewal renewal = { 0 };
	int r = options_parse(c, NULL, 0);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (isatty(STDOUT_FILENO)) {
		(void)error_set(c->error, -EINVAL, NULL, "a token may be in what this prints");
		error_hint(c->error, "corral link refresh %s", c->words[0]);
		return -EINVAL;
	}
	r = keep_check_name(c->words[0], c->error);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = link_renew(&s, c->words[0], false, &renewal);
	r = renew_print(&renewal, r, c->error);
	oauth_tokens_deinit(&renewal.tokens);
	return r;
}

const struct verb verb_link_renew = {
	.name = "renew",
	.synopsis = "NAME",
	.summary = "see to a fresh token: whoever needs one starts it",
	.description = "Speaks with the process that started it, by a pipe. There is nothing to "
		       "start by hand; `corral link refresh` does the same for a person.",
	.examples = "corral link refresh linear\n",
	.operand = "NAME",
	.min = 1,
	.max = 1,
	.run = verb_link_renew_run,
};
