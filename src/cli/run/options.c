/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/mcp/web.h"
#include "cli/preset/preset.h"
#include "cli/run/run.h"

enum { MEMORY_MIN = 1 << 20 };

static const char *const run_options_no_limits[] = { "none", NULL };

/* Takers: limits are kept in one array, by their place in it. */

/* An amount that is not nothing. */
static int take_some(struct call *c, const struct options_row *row, const char *value)
{
	int r = options_store(c, row, value);

	if (r == 0 && *(uint64_t *)row->target == 0)
		return options_misused(
			c, "invalid value for --%s: 0 (no command could run)", row->is.name);
	return r;
}

/* Who writes "64" means megabytes; 64 bytes would be held by chance only. */
static int take_memory(struct call *c, const struct options_row *row, const char *value)
{
	const uint64_t *bytes = row->target;
	int r = take_some(c, row, value);

	if (r < 0)
		return r;
	if (*bytes < MEMORY_MIN)
		return options_misused(c,
			"invalid value for --%s: %s is too small to run any program (expected a "
			"size such as 64M)",
			row->is.name, value);
	return 0;
}

/* A word more may come: so it is no flag. */
static int take_no_limits(struct call *c, const struct options_row *row, const char *value)
{
	uint64_t word;
	int r = schema_parse(&row->is, value, &word);

	if (r < 0)
		return options_refuse(c, row, value, r);
	*(bool *)row->target = true;
	return 0;
}

/* Two words are no file: `./none` is. */
static int take_log(struct call *c, const struct options_row *row, const char *value)
{
	const char **ret = row->target;

	if (!*value)
		return options_misused(c, "--%s: the file name is empty", row->is.name);
	if (strcmp(value, "default") != 0 && strcmp(value, "none") != 0)
		return load_absolute(c, value, ret);
	*ret = value;
	return 0;
}

static int run_options_no_command(const struct run *r, struct call *c)
{
	(void)error_set(c->error, -EINVAL, NULL, "no command was given");
	error_hint(c->error,
		r->wrapped ? "put the server at the end, such as: corral mcp wrap -- uvx "
			     "mcp-server-git"
		: r->options.skill
			? "put it after --, such as: corral run --skill DIR -- ls"
			: "put it at the end, such as: corral run -- ls -l; see `corral run "
			  "--help`");
	return -EINVAL;
}

/* What can be said without looking at anything. */
static int run_options_check(const struct run *r, struct call *c)
{
	const struct run_options *o = &r->options;

	if (o->tier && (strlen(o->tier) != 1 || !strchr("1234", o->tier[0])))
		return options_misused(
			c, "invalid value for --tier: `%s` (expected 1 to 4)", o->tier);
	if (o->tier && o->tier[0] == '3' && !o->agent.is_given)
		return options_misused(c,
			"--tier 3 enforces where an agent writes, and nothing else: it requires "
			"--mode sandbox or --mode rx");
	if (o->tier && o->tier[0] != '1' && o->tier[0] != '3') {
		(void)error_set(c->error, -EOPNOTSUPP, NULL,
			"--tier %s is not supported yet: this version has tier 1, the strongest, "
			"and tier 3 for agent modes",
			o->tier);
		error_hint(c->error, "`corral doctor` lists what this system supports");
		return -EOPNOTSUPP;
	}
	if ((o->broker || o->broker_http) && o->no_broker)
		return options_misused(c, "%s and --no-broker cannot be used together",
			o->broker ? "--broker" : "--broker-http");
	if (o->yes && !o->skill)
		return options_misused(c, "--yes requires --skill");
	if (o->input && (!o->skill || o->is_command))
		return options_misused(c, "--input requires --skill, and its module");
	if (o->undo && o->agent.is_given && o->agent.mode == AGENT_MODE_RWX)
		return options_misused(c,
			"--undo cannot be used with --mode rwx: Corral becomes the command, and "
			"does not see its end");
	if (o->is_command && !o->skill)
		return options_misused(c, "--command requires --skill");
	if (c->n == 0 && (!o->skill || o->is_command) && !r->is_shell)
		return run_options_no_command(r, c);
	if (c->n > 0 && !c->words[0][0] && (!o->skill || o->is_command) && !r->is_shell)
		return options_misused(c, "the program name is empty");
	if (o->skill && r->is_shell)
		return options_misused(
			c, "--skill cannot be used with `corral shell`; use `corral run --skill`");
	return agent_check(&o->agent, c);
}

/* Parts of the table. */
#define SKILL_ROWS(o)                                                                              \
	{ { "skill", SCHEMA_PATH, .help = "run the entry of this skill with its permissions" }, 0, \
		"DIR", .target = &(o)->skill, .take = agent_take_dir },                            \
		{ { "command", SCHEMA_FLAG,                                                        \
			  .help = "run CMD with the permissions of the skill, instead of its "     \
				  "entry;\n"                                                       \
				  "the default for a skill without an entry" },                    \
			.target = &(o)->is_command },                                              \
		{ { "input", SCHEMA_TEXT,                                                          \
			  .help = "the input of a WASM skill; @FILE: what is in a file" },         \
			0, "JSON", .target = &(o)->input },                                        \
	{                                                                                          \
		{ "yes", SCHEMA_FLAG, .help = "run the skill even if it is not approved" }, 'y',   \
			.target = &(o)->yes                                                        \
	}

#define GRANT_ROWS(o)                                                                              \
	{ { "read", SCHEMA_TEXT, .help = "allow reading; a folder includes everything in it",      \
		  .many = true },                                                                  \
		0, "GLOB", .target = &(o)->read },                                                 \
		{ { "write", SCHEMA_TEXT, .help = "allow writing and reading", .many = true }, 0,  \
			"GLOB", .target = &(o)->write },                                           \
		{ { "deny", SCHEMA_TEXT, .help = "deny reading and writing", .many = true }, 0,    \
			"GLOB", .target = &(o)->deny },                                            \
		{ { "dangerously-allow", SCHEMA_TEXT,                                              \
			  .help = "turn the baseline's protection of secrets and system files "    \
				  "off\n"                                                          \
				  "there; grants nothing by itself",                               \
			  .many = true },                                                          \
			0, "GLOB", .target = &(o)->dangerous },                                    \
		{ { "net", SCHEMA_TEXT, .help = "allow connections to this host", .many = true },  \
			0, "HOST:PORT", .target = &(o)->net },                                     \
		{ { "net-private", SCHEMA_TEXT,                                                    \
			  .help = "the same for a name, also if it leads to a private address",    \
			  .many = true },                                                          \
			0, "NAME:PORT", .target = &(o)->net_private },                             \
		{ { "listen", SCHEMA_TEXT,                                                         \
			  .help = "publish a port of the sandbox on the loopback of this "         \
				  "machine;\n"                                                     \
				  "HOST:PORT:INNER: on an address, under another number",          \
			  .many = true },                                                          \
			0, "PORT", .target = &(o)->listen },                                       \
		{ { "exec", SCHEMA_TEXT, .help = "allow running this program", .many = true }, 0,  \
			"CMD", .target = &(o)->exec },                                             \
		{ { "ssh-agent", SCHEMA_TEXT,                                                      \
			  .help = "let it log in there by a key of your ssh agent, and nowhere "   \
				  "else;\n"                                                        \
				  "plain:USER@HOST for a server before OpenSSH 8.9 that you "      \
				  "trust",                                                         \
			  .many = true },                                                          \
			0, "USER@HOST[:PORT]", .target = &(o)->ssh_logins,                         \
			.take = run_ssh_agent_take_login },                                        \
		{ { "ssh-sign", SCHEMA_TEXT,                                                       \
			  .help = "let your ssh agent sign in this namespace, such as git",        \
			  .many = true },                                                          \
			0, "NAMESPACE", .target = &(o)->ssh_signs,                                 \
			.take = run_ssh_agent_take_namespace },                                    \
		{ { "secret", SCHEMA_TEXT,                                                         \
			  .help = "let it use a secret of the vault that it never sees, for the\n" \
				  "hosts that the vault grants, or this one of them",              \
			  .many = true },                                                          \
			0, "NAME[=HOST:PORT]", .target = &(o)->secrets },                          \
		{ { "login", SCHEMA_TEXT,                                                          \
			  .help = "keep the tokens of a login inside (OAuth), that this address\n" \
				  "answers with, in the vault, for it and the other hosts",        \
			  .many = true },                                                          \
			0, "NAME=HOST:PORT/PATH[,HOST:PORT]...", .target = &(o)->logins },         \
	{                                                                                          \
		{ "env", SCHEMA_TEXT, .help = "pass a variable to the command, or set it",         \
			.many = true },                                                            \
			0, "NAME[=VALUE]", .target = &(o)->env                                     \
	}

#define PRESET_ROWS(o)                                                                           \
	{ { "with", SCHEMA_TEXT,                                                                 \
		  .help = "hosts, variables and a cache of the project's own for a tool: npm,\n" \
			  "pip, uv, cargo, go, maven, git, github …; none: nor for an agent",    \
		  .many = true },                                                                \
		0, "NAME,...", .target = &(o)->with, .offer = preset_offer },                    \
		{ { "seed-state", SCHEMA_FLAG,                                                   \
			  .help = "an agent's state that is made starts with a copy of yours" }, \
			.target = &(o)->seed_state },                                            \
	{                                                                                        \
		{ "shared-state", SCHEMA_FLAG,                                                   \
			.help = "an agent's state is the one that its bare runs use" },          \
			.target = &(o)->shared_state                                             \
	}

#define LIVE_ROWS(o)                                                                               \
	{ { "ceiling", SCHEMA_TEXT,                                                                \
		  .help = "what may be granted at most while it runs (corral grants); without\n"   \
			  "this option: what its policies allow or ask about",                     \
		  .many = true },                                                                  \
		0, "FILE", .target = &(o)->ceilings },                                             \
		{ { "ask-denied", SCHEMA_FLAG,                                                     \
			  .help = "ask about what nothing grants, instead of denying it: on the\n" \
				  "terminal, and in `corral questions`" },                         \
			.target = &(o)->ask_denied },                                              \
	{                                                                                          \
		{ "ask", SCHEMA_DURATION,                                                          \
			.help = "how long a call, a connection or a datagram waits for an "        \
				"answer\n"                                                         \
				"where a policy says ask (60s); 0s: it does not" },                \
			0, "TIME", .target = &(o)->ask_ms                                          \
	}

#define BROKER_ROWS(o)                                                                           \
	{ { "broker", SCHEMA_FLAG,                                                               \
		  .help = "answer the calls of the command (sandbox-call); the default if the\n" \
			  "policy grants services" },                                            \
		.target = &(o)->broker },                                                        \
		{ { "broker-http", SCHEMA_FLAG,                                                  \
			  .help = "a broker that serves HTTP on the sandbox's loopback, too" },  \
			.target = &(o)->broker_http },                                           \
	{                                                                                        \
		{ "no-broker", SCHEMA_FLAG,                                                      \
			.help = "do not start a broker, whatever the policy grants" },           \
			.target = &(o)->no_broker                                                \
	}

#define LIMIT_ROWS(o, values)                                                                    \
	{ { "timeout", SCHEMA_DURATION,                                                          \
		  .help = "stop the command after this time: 500ms, 30s, 5m …" },                \
		0, "TIME", .target = &(values)[LIMIT_TIMEOUT_MS], .take = take_some },           \
		{ { "memory", SCHEMA_SIZE,                                                       \
			  .help = "limit the memory of all its processes: 512M, 2G …" },         \
			0, "SIZE", .target = &(values)[LIMIT_MEMORY], .take = take_memory },     \
		{ { "pids", SCHEMA_NUMBER, .max = LIMIT_NONE - 1,                                \
			  .help = "limit the number of processes and threads" },                 \
			0, "N", .target = &(values)[LIMIT_PIDS], .take = take_some },            \
		{ { "limits", SCHEMA_CHOICE, .words = run_options_no_limits,                     \
			  .help = "do not apply the memory and process limits of the profile" }, \
			0, "none", .target = &(o)->no_limits, .take = take_no_limits },          \
	{                                                                                        \
		{ "max-output", SCHEMA_SIZE,                                                     \
			.help = "limit the output of the command; the rest is dropped" },        \
			0, "SIZE", .target = &(values)[LIMIT_OUTPUT]                             \
	}

void run_watch_for_ask(struct run *r)
{
	struct run_options *o = &r->options;

	if (o->ask_denied && !o->explain && !o->agent.is_given)
		o->explain = o->is_asked_only = true;
}

/* What a call of a tool was denied is part of its answer. */
static int run_options_wrapped(struct run *r, struct call *c)
{
	struct run_options *o = &r->options;

	if (!r->wrapped)
		return 0;
	if (o->json)
		return options_misused(c,
			"--json cannot be used with an MCP server: standard output is the "
			"server's");
	if (o->skill)
		return options_misused(c,
			"--skill cannot be used with `corral mcp wrap`, which runs a server: put "
			"its command after --");
	if (!o->explain && !o->agent.is_given)
		o->explain = o->is_asked_only = true;
	return 0;
}

/* The tools of a server: what decides about them is enforced, and no other option is taken. */
static const char *const run_options_served[] = { "policy", "profile", "ask-denied", "read",
	"write", "deny", "dangerously-allow", "net", "net-private", "exec", "env", "timeout",
	"memory", "pids", "limits", "no-project", "no-cache", "strict", "work-dir", "set", "audit",
	"client-answers", "ask", "http", "token-file" };

static int run_options_check_served(
	const struct run *r, struct call *c, const struct options_row *rows, size_t n)
{
	for (size_t i = 0; r->serve && i < n; i++) {
		bool is_known = !(c->given & UINT64_C(1) << i);

		for (size_t k = 0; !is_known && k < ROWS(run_options_served); k++)
			is_known = strcmp(run_options_served[k], rows[i].is.name) == 0;
		if (!is_known)
			return options_misused(c,
				"--%s cannot be used with `corral mcp serve`, whose tools do not "
				"enforce it",
				rows[i].is.name);
	}
	if (r->options.token_file && !r->options.http)
		return options_misused(c, "--token-file needs --http");
	if (r->serve && !r->options.client_answers && r->options.ask_ms != RUN_ASK_MS)
		return options_misused(c, "--ask needs --client-answers: other answers are given "
					  "before the call is made again");
	return 0;
}

void run_watch_again(struct run *r)
{
	struct run_options *o = &r->options;
	char folder[PATH_BYTES];

	/* Those cannot be watched, or have no words by which they are known. */
	if (r->is_shell || r->is_round || r->wrapped || r->serve || o->skill || r->call->n == 0 ||
		(o->agent.is_given && o->agent.mode == AGENT_MODE_RWX) ||
		(o->tier && o->tier[0] == '3') || !getcwd(folder, sizeof(folder)))
		return;
	again_name(folder, (const char *const *)r->call->words, r->call->n, r->again.name);
	r->again.was = again_read(r->again.name);
	if (r->again.was == AGAIN_WATCH && !o->explain)
		o->explain = o->is_asked_only = o->is_again = true;
}

#define PROJECT_ROWS(o)                                                                           \
	{ { "no-project", SCHEMA_FLAG, .help = "do not use the corral.yaml of the project" },     \
		.target = &(o)->no_project },                                                     \
		{ { "undo", SCHEMA_FLAG,                                                          \
			  .help = "keep the working folder as it is, so that `corral undo` can "  \
				  "take\n"                                                        \
				  "back what the command changes in it" },                        \
			.target = &(o)->undo },                                                   \
	{                                                                                         \
		{                                                                                 \
			"undo-limit", SCHEMA_SIZE,                                                \
			.help = "how much --undo keeps at most (512M); what is left out is named" \
		},                                                                                \
			0, "SIZE", .target = &(o)->undo_limit, .take = take_some                  \
	}

/*
 * Options that mean there what they mean in a sandbox: they say what runs where, or only grant. All
 * others are refused there, those that come later, too: an option that is not enforced would
 * pretend.
 */
static const struct {
	const char *name;
	bool is_held[RUN_WEAKER];
} run_options_held[] = {
	{ "mode", { true, true } },
	{ "data-dir", { true, true } },
	{ "extra", { true, true } },
	{ "cwd", { true, true } },
	{ "work-dir", { true, true } },
	{ "set", { true, true } },
	{ "audit", { true, true } },
	{ "with", { true, true } },
	{ "shared-state", { true, true } },
	{ "limits", { true, true } },
	{ "no-project", { true, true } },
	{ "no-cache", { true, true } },
	{ "no-broker", { true, true } },
	{ "ask", { true, true } }, /* without questions it is the same */
	/* Nothing is denied, so there is nothing to grant or to explain. */
	{ "read", { [RUN_PLAIN] = true } },
	{ "write", { [RUN_PLAIN] = true } },
	{ "dangerously-allow", { [RUN_PLAIN] = true } },
	{ "net", { [RUN_PLAIN] = true } },
	{ "net-private", { [RUN_PLAIN] = true } },
	{ "listen", { [RUN_PLAIN] = true } },
	{ "exec", { [RUN_PLAIN] = true } },
	{ "explain", { [RUN_PLAIN] = true } },
	{ "tier", { [RUN_WRITES] = true } },
	{ "env", { [RUN_WRITES] = true } },
};

static bool run_options_is_held(const char *name, enum run_weaker where)
{
	for (size_t i = 0; i < ROWS(run_options_held); i++)
		if (strcmp(run_options_held[i].name, name) == 0)
			return run_options_held[i].is_held[where];
	return false;
}

static void run_options_note_unheld(struct run *r, const struct options_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (int where = 0; where < RUN_WEAKER; where++)
			if (r->call->given & UINT64_C(1) << i && !r->options.unheld[where] &&
				!run_options_is_held(rows[i].is.name, (enum run_weaker)where))
				r->options.unheld[where] = rows[i].is.name;
}

static int run_options_read(struct run *r, struct call *c, const struct options_row *rows, size_t n)
{
	int ret = options_parse(c, rows, n);

	if (ret == 0)
		ret = agent_configure(&r->options.agent, c);
	if (ret != 0)
		return ret;
	run_options_note_unheld(r, rows, n);
	run_watch_for_ask(r);
	run_watch_again(r);
	ret = run_options_wrapped(r, c);
	if (ret == 0)
		ret = run_options_check_served(r, c, rows, n);
	return ret < 0 || r->serve ? ret : run_options_check(r, c);
}

/* Where it runs, and how strongly it is confined. */
#define FOLDER_ROWS(o)                                                                            \
	{ { "cwd", SCHEMA_PATH, .help = "the folder in which the command starts" }, 0, "DIR",     \
		.target = &o->cwd, .take = agent_take_dir },                                      \
		{ { "work-dir", SCHEMA_PATH,                                                      \
			  .help = "the working folder of the profile (default: the current "      \
				  "one)" },                                                       \
			0, "DIR", .target = &o->work_dir, .take = agent_take_dir },               \
	{                                                                                         \
		{ "tier", SCHEMA_TEXT,                                                            \
			.help = "how strong the sandbox must be: 1 is the strongest; 3 enforces " \
				"only\n"                                                          \
				"the writes of --mode sandbox and rx, by Landlock alone" },       \
			0, "N", .target = &o->tier                                                \
	}

int run_options(struct run *r)
{
	struct run_options *o = &r->options;
	struct call *c = r->call;
	uint64_t *limits = o->limits.values;
	const struct options_row rows[] = {
		{ { "policy", SCHEMA_TEXT,
			  .help = "a file with permissions, a skill or rules; - is standard "
				  "input,\n"
				  "fd:N a descriptor; if repeated, all of them must allow",
			  .many = true },
			'p', "FILE", .target = &o->policies },
		{ { "profile", SCHEMA_TEXT,
			  .help = "workspace (the default), readonly, offline, or one of your "
				  "own" },
			0, "NAME", .target = &o->profile, .offer = profile_offer },
		LIVE_ROWS(o),
		SKILL_ROWS(o),
		AGENT_ROWS(&o->agent),
		GRANT_ROWS(o),
		PRESET_ROWS(o),
		LIMIT_ROWS(o, limits),
		PROJECT_ROWS(o),
		{ { "no-cache", SCHEMA_FLAG,
			  .help = "read long policies anew, and keep nothing of them" },
			.target = &o->no_cache },
		{ { "strict", SCHEMA_FLAG,
			  .help = "refuse rules that cannot be enforced for child processes" },
			.target = &o->strict },
		FOLDER_ROWS(o),
		BROKER_ROWS(o),
		{ { "audit", SCHEMA_PATH, .help = "write an audit log; `default` is your own log" },
			0, "FILE", .target = &o->audit, .take = take_log },
		{ { "explain", SCHEMA_FLAG,
			  .help = "report what was denied and which grant would allow it" },
			.target = &o->explain },
		LOAD_SET(&r->load),
		{ { "json", SCHEMA_FLAG, .help = "print the result and all output as JSON" },
			.target = &o->json },
		/* The last: only `corral mcp serve` has them. */
		MCP_WEB_ROWS(&o->http, &o->token_file),
		{ { "client-answers", SCHEMA_FLAG,
			  .help = "put what the policy asks about to the client's user, each time "
				  "for\n"
				  "one call; the client may be the agent, and answer by itself" },
			.target = &o->client_answers },
	};

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		r->limits.values[i] = limits[i] = LIMIT_NONE;
	o->ask_ms = RUN_ASK_MS;
	o->undo_limit = UNDO_LIMIT;
	return run_options_read(r, c, rows, ROWS(rows) - (r->serve ? 0 : 3));
}
