/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `corral link import`: a login that another client keeps in a file, such as AgenShield's
 * ~/.agentlink/tokens.json. Its refresh token is used at once, so that what is kept is known to be
 * good; then the file goes, if the user agrees: what is in it is read by every command.
 *
 * A command may have written that file. So it says nothing of where its tokens go: the user names
 * the server, and that its authorization server.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/link/discovery.h"
#include "cli/link/internal.h"
#include "cli/output.h"
#include "codec/json.h"
#include "vault/source.h"

enum { IMPORT_LOCK_MS = 60 * 1000 };

struct link_import {
	struct call *call;
	struct vault_session session;
	struct requests requests;
	struct discovery found;
	struct oauth_client client;
	struct source_value text;
	struct document file;
	const char *name, *url, *path, *refresh;
	bool yes;
};

static void import_end(struct link_import *i)
{
	vault_session_end(&i->session);
	requests_deinit(&i->requests);
	for (struct node *n = i->file.root ? i->file.root->first : NULL; n; n = n->next)
		if (n->type == NODE_STRING)
			secret_wipe((void *)(uintptr_t)n->text, strlen(n->text));
	document_deinit(&i->file);
	secret_free(&i->text.value);
}
#define auto_import __attribute__((cleanup(import_end))) struct link_import

/* Under one name or the other; NULL: it has none. */
static const char *import_text(const struct link_import *i, const char *one, const char *other)
{
	const struct node *n = node_get(i->file.root, one);

	n = n ? n : node_get(i->file.root, other);
	return n && n->type == NODE_STRING && *n->text ? n->text : NULL;
}

static int import_read(struct link_import *i)
{
	struct error *e = i->call->error;
	auto_buffer source = { 0 };
	const char *home = getenv("HOME");
	int r;

	if (!i->path)
		i->path =
			arena_printf(i->call->arena, "%s/.agentlink/tokens.json", home ? home : "");
	if (!i->path)
		return error_no_memory(e);
	buffer_printf(&source, "file:%s", i->path);
	r = source.failed ? error_no_memory(e) : source_read(source.data, &i->text, e);
	if (r < 0)
		return r;
	if (json_read(&i->file, NULL, (const char *)i->text.value.data, i->text.value.len, NULL) <
		0)
		return error_set(e, -EINVAL, NULL, "%s is no JSON", i->path);
	i->refresh = import_text(i, "refresh_token", "refreshToken");
	i->client.id = import_text(i, "client_id", "clientId");
	i->client.secret = import_text(i, "client_secret", "clientSecret");
	if (i->refresh && i->client.id)
		return 0;
	(void)error_set(e, -EINVAL, NULL, "%s has no refresh token, or no client", i->path);
	error_hint(e, "log in instead: corral link auth %s %.150s", i->name, i->url);
	return -EINVAL;
}

static int import_ask(struct link_import *i, struct oauth_tokens *t)
{
	struct error *e = i->call->error;
	auto_request_answer answer = { 0 };
	auto_oauth_form form = { 0 };
	enum oauth_refusal why;
	int r = oauth_request_refresh(&i->client, i->refresh, i->found.resource.resource, &form);

	if (r < 0)
		return error_no_memory(e);
	r = request_make(&i->requests,
		&(const struct request_of){ .method = "POST",
			.url = i->found.server.token,
			.type = "application/x-www-form-urlencoded",
			.authorization = buffer_text(&form.authorization),
			.body = &form.body },
		&answer, e);
	if (r == 0)
		r = oauth_answer_tokens(t, &why, answer.status, buffer_text(&answer.body),
			answer.body.len, i->found.resource.resource, e);
	if (r == 1) {
		link_hint_login(e, i->name, i->url);
		return -EACCES;
	}
	return r;
}

static int import_keep(struct link_import *i)
{
	auto_oauth_tokens t = { 0 };
	auto_fd lock = -1;
	int r = import_ask(i, &t);
	struct oauth_record record = { .url = i->url,
		.resource = i->found.resource.resource,
		.issuer = i->found.server.issuer,
		.token = i->found.server.token,
		.revocation = i->found.server.revocation ? i->found.server.revocation : "",
		.client_id = i->client.id,
		.client_secret = i->client.secret ? i->client.secret : "",
		.method = oauth_method_name(i->client.method),
		.scope = "",
		.refresh = i->refresh,
		.refused = "",
		.since_s = clock_ms(CLOCK_REALTIME) / 1000 };

	if (r == 0)
		r = keep_lock(i->name, IMPORT_LOCK_MS, &lock, i->call->error);
	return r < 0 ? r : link_store(&i->session, i->name, &record, &t);
}

static int import_remove(const struct link_import *i)
{
	auto_output o = output_for(STDERR_FILENO);

	buffer_adds(&o.text, "The vault has the login now. Remove ");
	output_name(&o, i->path);
	buffer_adds(&o.text, ", which every command can read? [y/N] ");
	if (o.text.failed)
		return error_no_memory(i->call->error);
	if (!i->yes && !(isatty(STDIN_FILENO) && output_agrees(o.text.data))) {
		vault_session_note(
			"%s is still there; its refresh token may be good, too", i->path);
		return 0;
	}
	return unlink(i->path) < 0
		       ? error_set(i->call->error, -errno, NULL, "%s: %s", i->path, strerror(errno))
		       : 0;
}

static int import_all(struct link_import *i)
{
	struct error *e = i->call->error;
	int r = keep_check_name(i->name, e);

	if (r == 0)
		r = vault_session_begin(&i->session, i->call);
	if (r == 0)
		r = import_read(i);
	if (r == 0)
		r = keep_check_free(&i->session, i->name);
	if (r == 0)
		r = discovery_run(&i->requests, i->url, NULL, i->call->arena, &i->found, e);
	if (r == 0)
		r = oauth_client_choose(&i->client, i->found.server.methods, e);
	if (r == 0)
		r = import_keep(i);
	if (r == 0)
		r = import_remove(i);
	return r;
}

static int verb_link_import_run(struct call *c)
{
	auto_import i = { .call = c };
	const struct options_row rows[] = {
		{ { "yes", SCHEMA_FLAG, .help = "remove the file without asking" },
			.target = &i.yes },
		SESSION_PASSPHRASE(&i.session),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	i.name = c->words[0];
	i.url = c->words[1];
	i.path = c->n > 2 ? c->words[2] : NULL;
	r = import_all(&i);
	return r < 0 ? vault_session_refuse(&i.session, r) : STATUS_YES;
}

const struct verb verb_link_import = {
	.name = "import",
	.synopsis = "[OPTION]... NAME URL [FILE]",
	.summary = "take over a login that another client keeps in a file",
	.description =
		"FILE is JSON with refresh_token and client_id, and client_secret if there is "
		"one; ~/.agentlink/tokens.json if it is not named. It must be the user's, of mode "
		"0600, named by its absolute path. Its refresh token is used at once at the "
		"authorization server of the server at URL, and the new one goes into the vault. "
		"Then the file is removed, after asking.",
	.examples = "corral link import marketplace https://marketplace.example.com/mcp\n",
	.operand = "NAME and URL",
	.min = 2,
	.max = 3,
	.run = verb_link_import_run,
};
