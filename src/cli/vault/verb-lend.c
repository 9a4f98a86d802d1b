/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault lend`, which `corral run --secret` starts. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "cli/vault/internal.h"
#include "cli/vault/lender.h"
#include "codec/json.h"
#include "process/child.h"
#include "wire/report.h"

static bool verb_lend_has_holder(void)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(CHILD_SOCKET, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET && fcntl(CHILD_SOCKET, F_SETFD, FD_CLOEXEC) == 0;
}

/* What is only tried asks for no passphrase. Nothing here can: this process has no terminal. */
static int verb_lend_list(
	struct call *c, struct vault_session *s, bool is_asked, struct document *list)
{
	const struct vault_message m = { .op = VAULT_LIST };
	struct vault_message answer;
	int r;

	if (is_asked) {
		r = vault_session_ask(s, VAULT_LIST, list);
		if (r == -ENXIO) {
			(void)error_set(c->error, r, NULL, "the vault is locked");
			error_hint(c->error, "corral vault unlock");
		}
		return r;
	}
	r = vault_session_call_locked(s, &m, &answer);
	return r < 0 ? r
		     : json_read(list, "corral-vault", answer.text, strlen(answer.text), c->error);
}

static int verb_lend_all(struct call *c, struct lender *l)
{
	auto_document list = { 0 };
	const bool needs_vault = c->n > 0 || l->tries.n > 0 || l->tokens.n > 0;
	int r = 0;

	l->session->call = c;
	if (needs_vault)
		r = vault_session_begin(l->session, c);
	if (r == 0 && needs_vault)
		r = verb_lend_list(c, l->session, c->n > 0 || l->tokens.n > 0, &list);
	for (size_t i = 0; r == 0 && i < l->tokens.n; i++)
		r = lender_add_oauth(l, node_get(list.root, "secrets"), l->tokens.items[i]);
	for (size_t i = 0; r == 0 && i < c->n; i++)
		r = lender_add(l, node_get(list.root, "secrets"), c->words[i]);
	for (size_t i = 0; r == 0 && i < l->tries.n; i++)
		r = lender_try(l, node_get(list.root, "secrets"), l->tries.items[i]);
	for (size_t i = 0; r == 0 && i < l->inspect.n; i++)
		r = lender_inspect(l, l->inspect.items[i]);
	if (r == 0 && l->n == 0)
		r = error_set(c->error, -ENOENT, NULL, "the vault has none of these secrets");
	return r < 0 ? r : lender_serve(l);
}

static int verb_vault_lend_run(struct call *c)
{
	auto_vault_session s = { 0 };
	struct lender lender = { .session = &s };
	const struct options_row rows[] = {
		{ { "to", SCHEMA_TEXT, .help = "the sandbox, as grants name it" }, 0, "SANDBOX",
			.target = &lender.principal },
		{ { "within", SCHEMA_TEXT,
			  .help = "of the secret, lend no more than what is said so",
			  .many = true },
			0, "NAME=HOST:PORT,PLACE[,PROGRAM]", .target = &lender.within },
		{ { "try", SCHEMA_TEXT, .help = "lend it if it is there and may go anywhere",
			  .many = true },
			0, "NAME", .target = &lender.tries },
		{ { "inspect", SCHEMA_TEXT,
			  .help = "open TLS to the host, so that each request is checked; needs "
				  "no\nvault",
			  .many = true },
			0, "HOST:PORT", .target = &lender.inspect },
		{ { "login", SCHEMA_TEXT,
			  .help = "keep the tokens of a login inside, of answers to this address",
			  .many = true },
			0, "NAME=HOST:PORT/PATH", .target = &lender.tokens },
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (!lender.principal || !*lender.principal)
		return options_misused(c, "--to is missing");
	if (c->n == 0 && lender.tries.n == 0 && lender.inspect.n == 0 && lender.tokens.n == 0)
		return options_misused(c, "NAME is missing");
	if (!verb_lend_has_holder()) {
		(void)error_set(c->error, -EINVAL, NULL, "`corral run --secret` starts this");
		error_hint(c->error, "corral run --secret %s -- CMD", c->n ? c->words[0] : "NAME");
		return -EINVAL;
	}
	r = verb_lend_all(c, &lender);
	if (r < 0)
		(void)refusal_send(CHILD_SOCKET, FRAME_FAILED, r, c->error);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_vault_lend = {
	.name = "lend",
	.synopsis = "--to SANDBOX [OPTION]... NAME[=HOST:PORT]...",
	.summary = "serve secrets to a sandbox: `corral run --secret` starts it",
	.description = "Speaks with the process that started it, by a socket: which placeholders "
		       "stand for the secrets inside, and where the sandbox's connections to their "
		       "hosts go. There is nothing to start by hand.",
	.examples = "corral run --secret GITHUB_TOKEN -- gh api user\n",
	.operand = "NAME",
	.min = 0,
	.max = LEND_MAX,
	.run = verb_vault_lend_run,
};
