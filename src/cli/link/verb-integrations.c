/* SPDX-License-Identifier: Apache-2.0 */
/* `corral integrations`: logins at well-known servers, by their names instead of their addresses.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/link/integrations.h"
#include "cli/link/internal.h"
#include "cli/output.h"
#include "codec/json.h"
#include "oauth/place.h"

enum { INTEGRATIONS_NAME_COLUMN = 12, INTEGRATIONS_URL_COLUMN = 48 };

/* The first word of the call. 0: *ret is its URL. -ENOENT, with what to do. */
static int integrations_find(struct call *c, const char **ret)
{
	for (size_t i = 0; i < integrations_n; i++)
		if (strcmp(integration_text(integrations[i].name), c->words[0]) == 0) {
			*ret = integration_text(integrations[i].url);
			return 0;
		}
	(void)error_set(c->error, -ENOENT, NULL, "there is no integration `%s`", c->words[0]);
	error_hint(c->error, "`corral integrations list` has all; at a server of your own: corral "
			     "link auth NAME URL");
	return -ENOENT;
}

static void integrations_offer(struct call *c, struct buffer *out)
{
	(void)c;
	for (size_t i = 0; i < integrations_n; i++)
		buffer_printf(out, "%s\t%s\n", integration_text(integrations[i].name),
			integration_text(integrations[i].about));
}

/* list, connected */

struct integrations_list {
	struct output text;
	struct json_tree tree;
	struct node *root, *rows;
};

static void integrations_begin(struct integrations_list *l, struct call *c)
{
	*l = (struct integrations_list){ .text = output_for(STDOUT_FILENO),
		.tree = { .arena = c->arena } };
	l->root = tree_map(&l->tree);
	l->rows = tree_put_list(&l->tree, l->root, "integrations");
}

/* Secret NULL: whether it is connected was not asked. */
static void integrations_put(
	struct integrations_list *l, const struct integration *x, const struct node *secret)
{
	struct node *row = tree_append_map(&l->tree, l->rows);
	const char *last = integration_text(x->about);
	int64_t expires = 0;

	tree_put_text(&l->tree, row, "name", integration_text(x->name));
	tree_put_text(&l->tree, row, "url", integration_text(x->url));
	if (secret) {
		last = node_get_text(secret, "name");
		(void)node_integer(node_get(secret, "expires"), &expires);
		tree_put_text(&l->tree, row, "secret", last);
		tree_put_number(&l->tree, row, "expires", expires);
	} else {
		tree_put_text(&l->tree, row, "about", last);
	}
	output_name(&l->text, integration_text(x->name));
	output_pad(&l->text, INTEGRATIONS_NAME_COLUMN);
	buffer_adds(&l->text.text, integration_text(x->url));
	output_pad(&l->text, INTEGRATIONS_URL_COLUMN);
	buffer_printf(&l->text.text, "%s\n", last);
}

static int integrations_end(struct integrations_list *l, struct call *c, bool is_json)
{
	int r = is_json ? tree_print(&l->tree, l->root, c->error)
			: output_write(&l->text, STDOUT_FILENO, c->error);

	output_deinit(&l->text);
	return r < 0 ? r : STATUS_YES;
}

static int verb_integrations_list_run(struct call *c)
{
	struct integrations_list l;
	bool json = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	integrations_begin(&l, c);
	for (size_t i = 0; i < integrations_n; i++)
		integrations_put(&l, &integrations[i], NULL);
	return integrations_end(&l, c, json);
}

/* A login of the same name may be at another server: its token goes where it is granted. */
static const struct node *integrations_login(
	const struct integration *x, const struct node *secrets)
{
	const char *name = integration_text(x->name);
	const struct node *secret = keep_find(secrets, name, "");
	const struct node *grants = node_get(secret, "grants");
	struct oauth_place at;

	if (!secret || !link_name_of(secret) || strcmp(link_name_of(secret), name) != 0 ||
		oauth_place_read(&at, integration_text(x->url), "", NULL) < 0)
		return NULL;
	for (const struct node *g = grants ? grants->first : NULL; g; g = g->next)
		if (strcmp(node_get_text(g, "host"), at.host) == 0)
			return secret;
	return NULL;
}

static int verb_integrations_connected_run(struct call *c)
{
	auto_vault_session s = { 0 };
	auto_document list = { 0 };
	struct integrations_list l;
	const struct options_row rows[] = { SESSION_PASSPHRASE(&s), OPTIONS_JSON(&s.json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_session_ask(&s, VAULT_LIST, &list);
	if (r < 0)
		return vault_session_refuse(&s, r);
	integrations_begin(&l, c);
	for (size_t i = 0; i < integrations_n; i++) {
		const struct node *secret =
			integrations_login(&integrations[i], node_get(list.root, "secrets"));

		if (secret)
			integrations_put(&l, &integrations[i], secret);
	}
	if (l.text.text.len == 0)
		buffer_adds(&l.text.text,
			"No integration is connected: corral integrations connect NAME\n");
	return integrations_end(&l, c, s.json);
}

/* connect, disconnect */

static int verb_integrations_connect_run(struct call *c)
{
	return link_auth(c, integrations_find);
}

static int verb_integrations_disconnect_run(struct call *c)
{
	return link_logout(c, integrations_find);
}

static const struct verb verb_integrations_list = {
	.name = "list",
	.synopsis = "[OPTION]...",
	.summary = "the servers that are known by name",
	.description = "Prints each with its address and what it has. Nothing is asked.",
	.examples = "corral integrations list\n",
	.run = verb_integrations_list_run,
};

static const struct verb verb_integrations_connected = {
	.name = "connected",
	.synopsis = "[OPTION]...",
	.summary = "those of them that you are logged in to",
	.description = "Prints each that has a login in the vault, with the secret that its token "
		       "is. `corral link status` says whether it is good.",
	.examples = "corral integrations connected\n",
	.run = verb_integrations_connected_run,
};

static const struct verb verb_integrations_connect = {
	.name = "connect",
	.synopsis = "[OPTION]... NAME",
	.summary = "log in to one",
	.description = "The same as `corral link auth NAME URL` with the address of the server.",
	.examples = "corral integrations connect linear\n"
		    "corral run --secret LINK_LINEAR -- ./agent\n",
	.operand = "NAME",
	.offer = integrations_offer,
	.min = 1,
	.max = 1,
	.run = verb_integrations_connect_run,
};

static const struct verb verb_integrations_disconnect = {
	.name = "disconnect",
	.synopsis = "[OPTION]... NAME",
	.summary = "end the login, there and here",
	.description = "The same as `corral link logout NAME`.",
	.examples = "corral integrations disconnect linear\n",
	.operand = "NAME",
	.offer = integrations_offer,
	.min = 1,
	.max = 1,
	.run = verb_integrations_disconnect_run,
};

static const struct verb *const verb_integrations_verbs[] = {
	&verb_integrations_list,
	&verb_integrations_connected,
	&verb_integrations_connect,
	&verb_integrations_disconnect,
	NULL,
};

const struct verb verb_integrations = {
	.name = "integrations",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "log in to well-known servers of tools by their names",
	.description = "Logins of `corral link` at servers whose addresses Corral knows. Any other "
		       "server is as good by `corral link auth NAME URL`.",
	.examples = "corral integrations list\n"
		    "corral integrations connect linear\n"
		    "corral tool list linear\n",
	.verbs = verb_integrations_verbs,
};
