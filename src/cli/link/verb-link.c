/* SPDX-License-Identifier: Apache-2.0 */
/* `corral link`: logins at servers, as the vault has them. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/link/internal.h"
#include "cli/output.h"
#include "codec/json.h"
#include "vault/source-text.h"

enum { LINK_COLUMN = 16, LINK_LOCK_MS = 60 * 1000 };

const char *link_name_of(const struct node *secret)
{
	const char *source = node_get_text(secret, "source"), *rest;

	return *source && source_text_check(source, &rest, NULL) == SOURCE_LINK ? rest : NULL;
}

/* Nothing is asked for where words are completed: a locked vault has no names. */
void link_offer(struct call *c, struct buffer *out)
{
	const struct vault_message m = { .op = VAULT_LIST };
	struct vault_session s = { 0 };
	struct vault_message answer;
	auto_document list = { 0 };
	const struct node *secrets;

	if (vault_session_begin(&s, c) == 0 && vault_session_call_locked(&s, &m, &answer) == 0 &&
		json_read(&list, NULL, answer.text, strlen(answer.text), NULL) == 0) {
		secrets = node_get(list.root, "secrets");
		for (const struct node *x = secrets ? secrets->first : NULL; x; x = x->next)
			if (link_name_of(x))
				buffer_printf(out, "%s\t\n", link_name_of(x));
	}
	*c->error = (struct error){ 0 };
	vault_session_end(&s);
}

static const char *link_grant_host(const struct node *secret)
{
	const struct node *grants = node_get(secret, "grants");

	return grants && grants->first ? node_get_text(grants->first, "host") : "";
}

static int64_t link_number(const struct node *map, const char *key)
{
	int64_t n = 0;

	(void)node_integer(node_get(map, key), &n);
	return n;
}

/* list */

static int link_list_json(struct call *c, const struct node *secrets)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list = tree_put_list(&t, root, "logins");

	for (const struct node *x = secrets ? secrets->first : NULL; x; x = x->next) {
		struct node *one = link_name_of(x) ? tree_append_map(&t, list) : NULL;

		if (!link_name_of(x))
			continue;
		tree_put_text(&t, one, "name", link_name_of(x));
		tree_put_text(&t, one, "secret", node_get_text(x, "name"));
		tree_put_text(&t, one, "host", link_grant_host(x));
		tree_put_number(&t, one, "expires", link_number(x, "expires"));
	}
	return tree_print(&t, root, c->error);
}

static int link_list_print(struct call *c, const struct node *secrets)
{
	auto_output o = output_for(STDOUT_FILENO);

	for (const struct node *x = secrets ? secrets->first : NULL; x; x = x->next) {
		if (!link_name_of(x))
			continue;
		output_name(&o, link_name_of(x));
		output_pad(&o, LINK_COLUMN);
		buffer_printf(&o.text, "%s for %s\n", node_get_text(x, "name"), link_grant_host(x));
	}
	if (o.text.len == 0)
		buffer_adds(&o.text, "There is no login: corral link auth NAME URL\n");
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_link_list_run(struct call *c)
{
	auto_vault_session s = { 0 };
	auto_document list = { 0 };
	const struct options_row rows[] = { SESSION_PASSPHRASE(&s), OPTIONS_JSON(&s.json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_session_ask(&s, VAULT_LIST, &list);
	if (r == 0)
		r = s.json ? link_list_json(c, node_get(list.root, "secrets"))
			   : link_list_print(c, node_get(list.root, "secrets"));
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

/* status */

enum link_state { LINK_GOOD, LINK_DUE, LINK_OVER };

struct link_status {
	enum link_state state;
	uint64_t expires_s;
	struct oauth_record record;
};

static int link_read_status(struct vault_session *s, const char *name, struct link_status *ret)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME) / 1000;
	int r = keep_expiry(s, name, &ret->expires_s);

	if (r == 0)
		r = keep_read(s, name, &ret->record);
	if (r < 0)
		return r;
	ret->state = ret->expires_s > now + VAULT_FRESH_S ? LINK_GOOD
		     : *ret->record.refresh               ? LINK_DUE
							  : LINK_OVER;
	return 0;
}

static void link_put_time(struct output *o, uint64_t seconds)
{
	const time_t t = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (localtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm) > 0)
		buffer_adds(&o->text, text);
}

static void link_put_status(struct output *o, const char *name, const struct link_status *x)
{
	output_name(o, name);
	output_pad(o, LINK_COLUMN);
	output_foreign(o, x->record.url);
	buffer_adds(&o->text, ", tokens of ");
	output_foreign(o, x->record.issuer);
	buffer_addc(&o->text, '\n');
	output_pad(o, LINK_COLUMN);
	if (x->state == LINK_GOOD) {
		buffer_adds(&o->text, "good until ");
		link_put_time(o, x->expires_s);
		buffer_adds(&o->text, *x->record.refresh ? ", then refreshed" : ", then over");
	} else if (x->state == LINK_DUE) {
		buffer_adds(&o->text, "expired; it is refreshed when it is needed");
	} else {
		output_styled(o, OUTPUT_RED, "over");
		buffer_printf(&o->text, ": log in again: corral link auth %s ", name);
		output_foreign(o, x->record.url);
	}
	if (*x->record.scope) {
		buffer_addc(&o->text, '\n');
		output_pad(o, LINK_COLUMN);
		buffer_adds(&o->text, "for ");
		output_foreign(o, x->record.scope);
	}
	buffer_addc(&o->text, '\n');
}

static void link_tree_status(
	struct json_tree *t, struct node *list, const char *name, const struct link_status *x)
{
	static const char *const states[] = { "good", "expired", "over" };
	struct node *one = tree_append_map(t, list);

	tree_put_text(t, one, "name", name);
	tree_put_text(t, one, "state", states[x->state]);
	tree_put_text(t, one, "url", x->record.url);
	tree_put_text(t, one, "issuer", x->record.issuer);
	tree_put_text(t, one, "client", x->record.client_id);
	tree_put_text(t, one, "scope", x->record.scope);
	tree_put_number(t, one, "expires", (int64_t)x->expires_s);
	tree_put_flag(t, one, "refreshes", *x->record.refresh);
}

/* Texts that the tree keeps are copied into its arena when they are put. */
static int link_status_all(struct vault_session *s, const char *wanted, struct output *o,
	struct json_tree *t, struct node *logins, bool *ret_over)
{
	auto_document list = { 0 };
	const struct node *secrets;
	int r = vault_session_ask(s, VAULT_LIST, &list);

	secrets = r < 0 ? NULL : node_get(list.root, "secrets");
	for (const struct node *x = secrets ? secrets->first : NULL; r == 0 && x; x = x->next) {
		struct link_status status = { 0 };
		const char *name = link_name_of(x);

		if (!name || (wanted && strcmp(wanted, name) != 0))
			continue;
		r = link_read_status(s, name, &status);
		if (r == 0) {
			link_put_status(o, name, &status);
			link_tree_status(t, logins, name, &status);
			*ret_over = *ret_over || status.state == LINK_OVER;
		}
		oauth_record_deinit(&status.record);
	}
	return r;
}

static int verb_link_status_run(struct call *c)
{
	auto_vault_session s = { 0 };
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list = tree_put_list(&t, root, "logins");
	const struct options_row rows[] = { SESSION_PASSPHRASE(&s), OPTIONS_JSON(&s.json) };
	bool is_over = false;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = c->n ? keep_check_name(c->words[0], c->error) : 0;
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = link_status_all(&s, c->n ? c->words[0] : NULL, &o, &t, list, &is_over);
	if (r == 0 && c->n && o.text.len == 0) {
		r = error_set(c->error, -ENOENT, NULL, "there is no login `%s`", c->words[0]);
		error_hint(c->error, "corral link auth %s URL", c->words[0]);
	}
	if (r < 0)
		return vault_session_refuse(&s, r);
	if (o.text.len == 0)
		buffer_adds(&o.text, "There is no login: corral link auth NAME URL\n");
	r = s.json ? tree_print(&t, root, c->error) : output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : is_over ? STATUS_NO : STATUS_YES;
}

/* refresh */

static int verb_link_refresh_run(struct call *c)
{
	auto_vault_session s = { 0 };
	struct link_renewal renewal = { 0 };
	const struct options_row rows[] = { SESSION_PASSPHRASE(&s) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = keep_check_name(c->words[0], c->error);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = link_renew(&s, c->words[0], true, &renewal);
	oauth_tokens_deinit(&renewal.tokens);
	if (r == -EKEYEXPIRED)
		return verb_refuse(c, s.json, STATUS_NO);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

/* logout */

/* By the server's leave: what it says does not keep a login here. */
static void link_revoke(struct vault_session *s, const struct oauth_record *record)
{
	auto_request_answer answer = { 0 };
	auto_requests requests = { 0 };
	auto_oauth_form form = { 0 };
	struct oauth_client client;
	struct error e = { 0 };
	int r;

	(void)s;
	if (!record->refresh || !*record->refresh)
		return;
	if (!*record->revocation) {
		vault_session_note("%s revokes no tokens, so the login stays good there until it "
				   "expires",
			record->issuer);
		return;
	}
	oauth_record_client(record, &client);
	r = oauth_request_revocation(&client, record->refresh, "refresh_token", &form);
	if (r == 0)
		r = request_make(&requests,
			&(const struct request_of){ .method = "POST",
				.url = record->revocation,
				.type = "application/x-www-form-urlencoded",
				.authorization = buffer_text(&form.authorization),
				.body = &form.body },
			&answer, &e);
	if (r < 0 || answer.status != 200)
		vault_session_note("%s did not revoke the token (%s): end the login there",
			record->issuer,
			r < 0 ? e.text : "it answered with another status than 200");
}

static int link_print_ended(struct call *c, const struct oauth_record *record)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	tree_put_text(&t, root, "name", c->words[0]);
	tree_put_text(&t, root, "url", record->url);
	return tree_print(&t, root, c->error);
}

int link_logout(struct call *c, int (*place)(struct call *c, const char **ret))
{
	auto_vault_session s = { .call = c };
	auto_oauth_record record = { 0 };
	auto_fd lock = -1;
	const char *url;
	const struct options_row rows[] = { SESSION_PASSPHRASE(&s), OPTIONS_JSON(&s.json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = place ? place(c, &url) : 0;
	if (r == 0)
		r = keep_check_name(c->words[0], c->error);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = keep_lock(c->words[0], LINK_LOCK_MS, &lock, c->error);
	if (r == 0)
		r = keep_read(&s, c->words[0], &record);
	if (r < 0)
		return vault_session_refuse(&s, r);
	link_revoke(&s, &record);
	r = keep_remove(&s, c->words[0]);
	if (r == 0 && s.json)
		r = link_print_ended(c, &record);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

static int verb_link_logout_run(struct call *c)
{
	return link_logout(c, NULL);
}

const struct verb verb_link_list = {
	.name = "list",
	.synopsis = "[OPTION]...",
	.summary = "the logins that there are",
	.description = "Prints each login with the secret that its token is, and the host that it "
		       "may go to. No value is read.",
	.examples = "corral link list\n",
	.run = verb_link_list_run,
};

const struct verb verb_link_status = {
	.name = "status",
	.synopsis = "[OPTION]... [NAME]",
	.summary = "whether logins are good",
	.description = "Says of one login, or of all, at which server and issuer it is, and "
		       "whether its token is good, will be refreshed, or the user has to log in "
		       "again. Asks no server. Exit status: 1 if one is over, 5 if there is no "
		       "such login.",
	.examples = "corral link status\n"
		    "corral link status linear --json\n",
	.operand = "NAME",
	.offer = link_offer,
	.min = 0,
	.max = 1,
	.run = verb_link_status_run,
};

const struct verb verb_link_refresh = {
	.name = "refresh",
	.synopsis = "[OPTION]... NAME",
	.summary = "get a new token now",
	.description = "Tokens are refreshed when they are needed, so this is for a token that "
		       "its server takes no more before its time. Exit status: 1 if the user has "
		       "to log in again.",
	.examples = "corral link refresh linear\n",
	.operand = "NAME",
	.offer = link_offer,
	.min = 1,
	.max = 1,
	.run = verb_link_refresh_run,
};

const struct verb verb_link_logout = {
	.name = "logout",
	.synopsis = "[OPTION]... NAME",
	.summary = "end a login, there and here",
	.description = "Has the authorization server revoke the refresh token, and removes the "
		       "login with its token and grants from the vault. It is removed here "
		       "whatever the server says.",
	.examples = "corral link logout linear\n",
	.operand = "NAME",
	.offer = link_offer,
	.min = 1,
	.max = 1,
	.run = verb_link_logout_run,
};

static const struct verb *const verb_link_verbs[] = {
	&verb_link_auth,
	&verb_link_status,
	&verb_link_refresh,
	&verb_link_logout,
	&verb_link_list,
	&verb_link_import,
	&verb_link_renew,
	NULL,
};

static const struct verb *const verb_agentlink_verbs[] = {
	&verb_link_auth,
	&verb_link_status,
	&verb_link_refresh,
	&verb_link_logout,
	&verb_link_list,
	&verb_link_import,
	&verb_tool,
	&verb_integrations,
	NULL,
};

/* As AgenShield calls it: the same program by another name. */
const struct verb verb_agentlink = {
	.name = "agentlink",
	.synopsis = "COMMAND [OPTION]...",
	.description = "The same as `corral link`, `corral tool` and `corral integrations`, by the "
		       "name that AgenShield's agents know.",
	.examples = "agentlink auth linear https://mcp.linear.app/mcp\n"
		    "agentlink status\n",
	.verbs = verb_agentlink_verbs,
};

const struct verb verb_link = {
	.name = "link",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "log in to servers of tools, and lend their tokens",
	.description = "Logs in by OAuth 2.1 to servers such as those of MCP. Their tokens are in "
		       "the vault and nowhere else: commands in sandboxes use them as secrets "
		       "(LINK_NAME) and never see them. They are refreshed when they are needed, "
		       "once for all who need them.",
	.examples = "corral link auth linear https://mcp.linear.app/mcp\n"
		    "corral link status\n"
		    "corral run --secret LINK_LINEAR -- ./agent\n",
	.verbs = verb_link_verbs,
};
