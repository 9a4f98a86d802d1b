/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault grant` and `revoke`: where a secret may go. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "policy/network/host.h"

struct grant_settings {
	const char *in, *to;
	bool all;
};

/* One host and one port, as the policy would write them: names as A-labels in lower case. */
static int verb_vault_host(struct call *c, const char *text, struct buffer *out)
{
	struct host_pattern p = { 0 };
	int r = host_pattern_parse(&p, c->arena, text, NULL, c->error);
	const bool is_one =
		r == 0 &&
		(p.kind == HOST_NAME ||
			(p.kind == HOST_PREFIX && p.prefix.length == p.prefix.address.bits));

	if (r < 0)
		return r;
	if (!is_one || p.transport != TRANSPORT_TCP || p.port_lo != p.port_hi ||
		p.n_url_paths > 0) {
		(void)error_set(
			c->error, -EINVAL, NULL, "`%s` is not one host with one port", text);
		error_hint(c->error,
			"a secret goes to hosts that are named, as in api.github.com:443");
		return -EINVAL;
	}
	host_pattern_print(&p, out);
	return out->failed ? error_no_memory(c->error) : 0;
}

static int verb_vault_grant_run(struct call *c)
{
	struct vault_message m = { .op = VAULT_GRANT }, answer;
	struct grant_settings g = { .in = "header" };
	auto_buffer host = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "in", SCHEMA_TEXT,
			  .help = "where in a request: header (if not given), query, body, form; "
				  "with commas" },
			0, "PLACES", .target = &g.in },
		{ { "to", SCHEMA_TEXT,
			  .help = "only for this sandbox: a skill, a mode, a policy, by its name" },
			0, "SANDBOX", .target = &g.to },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (vault_places_parse(g.in, &m.places) < 0)
		return error_set(c->error, -EINVAL, NULL,
			"invalid value for --in: `%s` (expected header, query, body, form)", g.in);
	r = verb_vault_host(c, c->words[1], &host);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r < 0)
		return r;
	m.name = c->words[0];
	m.text = host.data;
	m.principal = g.to;
	r = vault_session_call(&s, &m, &answer);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

static int verb_vault_revoke_run(struct call *c)
{
	struct vault_message m = { .op = VAULT_REVOKE }, answer;
	struct grant_settings g = { 0 };
	auto_buffer host = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "to", SCHEMA_TEXT, .help = "the grant for this sandbox" }, 0, "SANDBOX",
			.target = &g.to },
		{ { "all", SCHEMA_FLAG, .help = "all grants of the secret" }, .target = &g.all },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (g.all == (c->n == 2))
		return options_misused(c, "name a host, or give --all");
	r = g.all ? 0 : verb_vault_host(c, c->words[1], &host);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r < 0)
		return r;
	m.name = c->words[0];
	m.text = host.data;
	m.principal = g.to;
	r = vault_session_call(&s, &m, &answer);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

const struct verb verb_vault_grant = {
	.name = "grant",
	.synopsis = "[OPTION]... NAME HOST:PORT",
	.summary = "let a secret go to a host",
	.description = "Until it is granted for a host, a secret goes nowhere. A grant names one "
		       "host and one port, no pattern. "
		       "The same host and sandbox again replace the places.",
	.examples = "corral vault grant GITHUB_TOKEN api.github.com:443\n"
		    "corral vault grant MAPS_KEY maps.example.com:443 --in query --to weather\n",
	.operand = "NAME and HOST:PORT",
	.min = 2,
	.max = 2,
	.run = verb_vault_grant_run,
};

const struct verb verb_vault_revoke = {
	.name = "revoke",
	.synopsis = "[OPTION]... NAME HOST:PORT | NAME --all",
	.summary = "take a grant back",
	.description = "Takes back the grant of a secret for a host, or all of its grants. From "
		       "the next use on it counts.",
	.examples = "corral vault revoke GITHUB_TOKEN api.github.com:443\n"
		    "corral vault revoke GITHUB_TOKEN --all\n",
	.operand = "NAME",
	.min = 1,
	.max = 2,
	.run = verb_vault_revoke_run,
};
