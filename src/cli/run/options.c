/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
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
		r->options.skill
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

#define GRANT_ROWS(o)                                                                             \
	{ { "read", SCHEMA_TEXT, .help = "allow reading; a folder includes everything in it",     \
		  .many = true },                                                                 \
		0, "GLOB", .target = &(o)->read },                                                \
		{ { "write", SCHEMA_TEXT, .help = "allow writing and reading", .many = true }, 0, \
			"GLOB", .target = &(o)->write },                                          \
		{ { "deny", SCHEMA_TEXT, .help = "deny reading and writing", .many = true }, 0,   \
			"GLOB", .target = &(o)->deny },                                           \
		{ { "dangerously-allow", SCHEMA_TEXT,                                             \
			  .help = "turn the baseline's protection of secrets and system files "   \
				  "off\n"                                                         \
				  "there; grants nothing by itself",                              \
			  .many = true },                                                         \
			0, "GLOB", .target = &(o)->dangerous },                                   \
		{ { "net", SCHEMA_TEXT, .help = "allow connections to this host", .many = true }, \
			0, "HOST:PORT", .target = &(o)->net },                                    \
		{ { "net-private", SCHEMA_TEXT,                                                   \
			  .help = "the same for a name, also if it leads to a private address",   \
			  .many = true },                                                         \
			0, "NAME:PORT", .target = &(o)->net_private },                            \
		{ { "listen", SCHEMA_TEXT,                                                        \
			  .help = "publish a port of the sandbox on the loopback of this "        \
				  "machine;\n"                                                    \
				  "HOST:PORT:INNER: on an address, under another number",         \
			  .many = true },                                                         \
			0, "PORT", .target = &(o)->listen },                                      \
		{ { "exec", SCHEMA_TEXT, .help = "allow running this program", .many = true }, 0, \
			"CMD", .target = &(o)->exec },                                            \
		{ { "ssh-agent", SCHEMA_FLAG,                                                     \
			  .help = "allow the SSH agent of SSH_AUTH_SOCK, and all its keys" },     \
			.target = &(o)->ssh_agent },                                              \
	{                                                                                         \
		{ "env", SCHEMA_TEXT, .help = "pass a variable to the command, or set it",        \
			.many = true },                                                           \
			0, "NAME[=VALUE]", .target = &(o)->env                                    \
	}

#define PRESET_ROWS(o)                                                                           \
	{ { "with", SCHEMA_TEXT,                                                                 \
		  .help = "hosts, variables and a cache of the project's own for a tool: npm,\n" \
			  "pip, uv, cargo, go, maven, git, github …; none: nor for an agent",    \
		  .many = true },                                                                \
		0, "NAME,...", .target = &(o)->with },                                           \
		{ { "seed-state", SCHEMA_FLAG,                                                   \
			  .help = "an agent's state that is made starts with a copy of yours" }, \
			.target = &(o)->seed_state },                                            \
	{                                                                                        \
		{ "shared-state", SCHEMA_FLAG,                                                   \
			.help = "an agent's state is the one that its bare runs use" },          \
			.target = &(o)->shared_state                                             \
	}

#define LIVE_ROWS(o)                                                                             \
	{ { "ceiling", SCHEMA_TEXT,                                                              \
		  .help = "what may be granted at most while it runs (corral grants); without\n" \
			  "this option: what its policies allow or ask about",                   \
		  .many = true },                                                                \
		0, "FILE", .target = &(o)->ceilings },                                           \
	{                                                                                        \
		{ "ask", SCHEMA_DURATION,                                                        \
			.help = "how long a call, a connection or a datagram waits for an "      \
				"answer\n"                                                       \
				"where a policy says ask (60s); 0s: it does not" },              \
			0, "TIME", .target = &(o)->ask_ms                                        \
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
			0, "NAME", .target = &o->profile },
		LIVE_ROWS(o),
		SKILL_ROWS(o),
		AGENT_ROWS(&o->agent),
		GRANT_ROWS(o),
		PRESET_ROWS(o),
		LIMIT_ROWS(o, limits),
		{ { "no-cache", SCHEMA_FLAG,
			  .help = "read long policies anew, and keep nothing of them" },
			.target = &o->no_cache },
		{ { "strict", SCHEMA_FLAG,
			  .help = "refuse rules that cannot be enforced for child processes" },
			.target = &o->strict },
		{ { "cwd", SCHEMA_PATH, .help = "the folder in which the command starts" }, 0,
			"DIR", .target = &o->cwd, .take = agent_take_dir },
		{ { "work-dir", SCHEMA_PATH,
			  .help = "the working folder of the profile (default: the current one)" },
			0, "DIR", .target = &o->work_dir, .take = agent_take_dir },
		{ { "tier", SCHEMA_TEXT,
			  .help = "how strong the sandbox must be: 1 is the strongest; 3 enforces "
				  "only\n"
				  "the writes of --mode sandbox and rx, by Landlock alone" },
			0, "N", .target = &o->tier },
		BROKER_ROWS(o),
		{ { "audit", SCHEMA_PATH, .help = "write an audit log; `default` is your own log" },
			0, "FILE", .target = &o->audit, .take = take_log },
		{ { "explain", SCHEMA_FLAG,
			  .help = "report what was denied and which grant would allow it" },
			.target = &o->explain },
		LOAD_SET(&r->load),
		{ { "json", SCHEMA_FLAG, .help = "print the result and all output as JSON" },
			.target = &o->json },
	};
	int ret;

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		r->limits.values[i] = limits[i] = LIMIT_NONE;
	o->ask_ms = RUN_ASK_MS;
	ret = options_parse(c, rows, ROWS(rows));
	return ret == 0 ? run_options_check(r, c) : ret;
}
