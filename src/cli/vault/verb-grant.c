/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault grant` and `revoke`: where a secret may go. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/shebang.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "host/planted.h"
#include "policy/network/host.h"
#include "threat/threat.h"

struct grant_settings {
	const char *in, *to;
	struct options_list programs;
	bool all;
};

int vault_host_word(struct call *c, const char *text, struct buffer *out)
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
		error_hint(c->error, "a secret goes to hosts that are named with their port, as in "
				     "api.github.com:443");
		return -EINVAL;
	}
	host_pattern_print(&p, out);
	return out->failed ? error_no_memory(c->error) : 0;
}

static int grant_refuse_program(struct call *c, const char *program, const char *why)
{
	(void)error_set(c->error, -EINVAL, NULL, "--program %s: %s", program, why);
	error_hint(c->error, "name a program of the system by its path, as in --program "
			     "/usr/bin/gh, or leave it out: then any program may use the secret");
	return -EINVAL;
}

/* A program that does one thing, and that no command can have made. Its path without links is what
 * the kernel says of a process that runs it. */
static int grant_add_program(struct call *c, const char *program, struct buffer *out)
{
	char real[PATH_BYTES];
	struct shebang script;
	struct stat st;
	auto_fd fd = -1;

	if (program[0] != '/')
		return grant_refuse_program(c, program, "is not an absolute path");
	fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return grant_refuse_program(c, program, "there is no such program");
	if (shebang_read(&script, fd) == 0)
		return grant_refuse_program(
			c, program, "is a script: what runs is its interpreter");
	if (!planted_is_out_of_reach(program, real))
		return grant_refuse_program(c, program,
			"commands of this user could replace it, or a link on the way to it");
	if (threat_program(real, THREAT_INTERPRETER))
		return grant_refuse_program(
			c, program, "is an interpreter, which runs what it is given");
	if (!path_is_plain(real, strlen(real)))
		return grant_refuse_program(c, program, "has signs in its path that lists use");
	if (out->len > 0)
		buffer_addc(out, ',');
	buffer_adds(out, real);
	if (out->failed)
		return error_no_memory(c->error);
	return out->len > VAULT_PROGRAMS_MAX
		       ? grant_refuse_program(c, program, "is one too many for a grant")
		       : 0;
}

static int verb_vault_grant_run(struct call *c)
{
	struct vault_message m = { .op = VAULT_GRANT }, answer;
	struct grant_settings g = { .in = "header" };
	auto_buffer host = { 0 };
	auto_buffer fields = { 0 };
	auto_buffer programs = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "in", SCHEMA_TEXT,
			  .help = "where in a request, with commas: header (if not given), the "
				  "usual\n"
				  "fields for it; header:FIELD, another one; query, body, form; "
				  "or\n"
				  "postgresql, the password of logins to a database" },
			0, "PLACES", .target = &g.in },
		{ { "to", SCHEMA_TEXT,
			  .help = "only for this sandbox: a skill as NAME@DIGEST, a policy by its\n"
				  "absolute path, a mode or profile by its name" },
			0, "SANDBOX", .target = &g.to },
		{ { "program", SCHEMA_TEXT,
			  .help = "only for connections of this program, by its absolute path; "
				  "again for more",
			  .many = true },
			0, "PROGRAM", .target = &g.programs },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (vault_places_parse(g.in, &m.places) < 0)
		return error_set(c->error, -EINVAL, NULL,
			"invalid value for --in: `%s` (expected header, header:FIELD, query, body, "
			"form; or postgresql alone)",
			g.in);
	if (vault_fields_parse(g.in, &fields) < 0)
		return error_no_memory(c->error);
	r = vault_host_word(c, c->words[1], &host);
	for (size_t i = 0; r == 0 && i < g.programs.n; i++)
		r = grant_add_program(c, g.programs.items[i], &programs);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r < 0)
		return r;
	m.name = c->words[0];
	m.text = host.data;
	m.principal = g.to;
	m.fields = buffer_text(&fields);
	m.programs = buffer_text(&programs);
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
	r = g.all ? 0 : vault_host_word(c, c->words[1], &host);
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
	.description =
		"Until it is granted for a host, a secret goes nowhere. A grant names one "
		"host and one port, no pattern. "
		"The same host and sandbox again replace the places and the programs. header is "
		"Authorization, Cookie, X-Api-Key and other fields that are for "
		"credentials; what a host stores, such as X-Amz-Meta-*, others may read there. "
		"With --program other programs' connections get no value. That bounds accidents; "
		"whoever can run the program can make it send what it can send.",
	.examples = "corral vault grant GITHUB_TOKEN api.github.com:443\n"
		    "corral vault grant MAPS_KEY maps.example.com:443 --in query --to readonly\n"
		    "corral vault grant FEED_KEY feed.example.com:443 --in header:X-Feed-Key\n"
		    "corral vault grant GITHUB_TOKEN api.github.com:443 --program /usr/bin/gh\n"
		    "corral vault grant DB_PASSWORD db.example.com:5432 --in postgresql\n",
	.operand = "NAME and HOST:PORT",
	.min = 2,
	.max = 2,
	.run = verb_vault_grant_run,
};

const struct verb verb_vault_revoke = {
	.name = "revoke",
	.synopsis = "[OPTION]... NAME HOST:PORT | NAME --all",
	.summary = "take a grant back",
	.description = "Takes back the grant of a secret for a host, or all of its grants. A run "
		       "that was lent the secret keeps it until it ends; `corral ps` lists runs.",
	.examples = "corral vault revoke GITHUB_TOKEN api.github.com:443\n"
		    "corral vault revoke GITHUB_TOKEN --all\n",
	.operand = "NAME",
	.min = 1,
	.max = 2,
	.run = verb_vault_revoke_run,
};
