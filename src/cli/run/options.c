/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/run.h"
#include "codec/unit.h"

enum { MEMORY_MIN = 1 << 20 };

/* Takers: limits are kept in one array, by their place in it. */

static int bad_amount(
	struct call *c, const struct options_row *row, const char *value, int r, const char *as)
{
	if (r == -ERANGE)
		return options_misused(
			c, "invalid value for --%s: %s is too large", row->name, value);
	return options_misused(
		c, "invalid value for --%s: `%s` (expected %s)", row->name, value, as);
}

static int nothing(struct call *c, const struct options_row *row)
{
	return options_misused(c, "invalid value for --%s: 0 (no command could run)", row->name);
}

static int take_duration(struct call *c, const struct options_row *row, const char *value)
{
	int r = unit_parse_duration(value, row->target);

	if (r < 0)
		return bad_amount(c, row, value, r, "a duration such as 500ms, 30s or 5m");
	return *(uint64_t *)row->target ? 0 : nothing(c, row);
}

/* None at all will do. */
static int run_options_take_wait(struct call *c, const struct options_row *row, const char *value)
{
	int r = unit_parse_duration(value, row->target);

	return r < 0 ? bad_amount(c, row, value, r, "a duration such as 500ms, 30s or 5m") : 0;
}

static int run_options_take_size(struct call *c, const struct options_row *row, const char *value)
{
	int r = unit_parse_size(value, row->target);

	return r < 0 ? bad_amount(c, row, value, r, "a size such as 64K, 512M or 2G") : 0;
}

/* Who writes "64" means megabytes; 64 bytes would be held by chance only. */
static int take_memory(struct call *c, const struct options_row *row, const char *value)
{
	const uint64_t *bytes = row->target;
	int r = run_options_take_size(c, row, value);

	if (r < 0)
		return r;
	if (*bytes == 0)
		return nothing(c, row);
	if (*bytes < MEMORY_MIN)
		return options_misused(c,
			"invalid value for --%s: %s is too small to run any program (expected a "
			"size such as 64M)",
			row->name, value);
	return 0;
}

static int take_count(struct call *c, const struct options_row *row, const char *value)
{
	uint64_t *ret = row->target;
	char *end;

	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (value[strspn(value, "0123456789")] || end == value)
		return bad_amount(c, row, value, -EINVAL, "a number such as 64");
	if (errno || *ret == LIMIT_NONE)
		return bad_amount(c, row, value, -ERANGE, "a number such as 64");
	return *ret ? 0 : nothing(c, row);
}

/* A word more may come: so it is no flag. */
static int take_no_limits(struct call *c, const struct options_row *row, const char *value)
{
	static const char *const known[] = { "none" };

	if (strcmp(value, known[0]) != 0)
		return options_unknown_word(c, row, value, known, ROWS(known));
	*(bool *)row->target = true;
	return 0;
}

/* Two words are no file: `./none` is. */
static int take_log(struct call *c, const struct options_row *row, const char *value)
{
	const char **ret = row->target;

	if (!*value)
		return options_misused(c, "--%s: the file name is empty", row->name);
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
#define SKILL_ROWS(o)                                                                            \
	{ "skill", 0, "DIR", "run the entry of this skill with its permissions", agent_take_dir, \
		&(o)->skill, OPTIONS_OPTIONAL },                                                 \
		{ "command", 0, NULL,                                                            \
			"run CMD with the permissions of the skill, instead of its entry;\n"     \
			"the default for a skill without an entry",                              \
			options_flag, &(o)->is_command, 0 },                                     \
		{ "input", 0, "JSON", "the input of a WASM skill; @FILE: what is in a file",     \
			options_text, &(o)->input, OPTIONS_OPTIONAL },                           \
	{                                                                                        \
		"yes", 'y', NULL, "run the skill even if it is not approved", options_flag,      \
			&(o)->yes, 0                                                             \
	}

#define GRANT_ROWS(o)                                                                             \
	{ "read", 0, "GLOB", "allow reading; a folder includes everything in it", options_list,   \
		&(o)->read, OPTIONS_MANY },                                                       \
		{ "write", 0, "GLOB", "allow writing and reading", options_list, &(o)->write,     \
			OPTIONS_MANY },                                                           \
		{ "deny", 0, "GLOB", "deny reading and writing", options_list, &(o)->deny,        \
			OPTIONS_MANY },                                                           \
		{ "dangerously-allow", 0, "GLOB",                                                 \
			"turn the baseline's protection of secrets and system files off\n"        \
			"there; grants nothing by itself",                                        \
			options_list, &(o)->dangerous, OPTIONS_MANY },                            \
		{ "net", 0, "HOST:PORT", "allow connections to this host", options_list,          \
			&(o)->net, OPTIONS_MANY },                                                \
		{ "net-private", 0, "NAME:PORT",                                                  \
			"the same for a name, also if it leads to a private address",             \
			options_list, &(o)->net_private, OPTIONS_MANY },                          \
		{ "listen", 0, "PORT",                                                            \
			"publish a port of the sandbox on the loopback of this machine;\n"        \
			"HOST:PORT:INNER: on an address, under another number",                   \
			options_list, &(o)->listen, OPTIONS_MANY },                               \
		{ "exec", 0, "CMD", "allow running this program", options_list, &(o)->exec,       \
			OPTIONS_MANY },                                                           \
		{ "ssh-agent", 0, NULL, "allow the SSH agent of SSH_AUTH_SOCK, and all its keys", \
			options_flag, &(o)->ssh_agent, 0 },                                       \
	{                                                                                         \
		"env", 0, "NAME[=VALUE]", "pass a variable to the command, or set it",            \
			options_list, &(o)->env, OPTIONS_MANY                                     \
	}

#define LIVE_ROWS(o)                                                                        \
	{ "ceiling", 0, "FILE",                                                             \
		"what may be granted at most while it runs (corral grants); without\n"      \
		"this option: what its policies allow or ask about",                        \
		options_list, &(o)->ceilings, OPTIONS_MANY },                               \
	{                                                                                   \
		"ask", 0, "TIME",                                                           \
			"how long a call, a connection or a datagram waits for an answer\n" \
			"where a policy says ask (60s); 0s: it does not",                   \
			run_options_take_wait, &(o)->ask_ms, OPTIONS_OPTIONAL               \
	}

#define BROKER_ROWS(o)                                                                            \
	{ "broker", 0, NULL,                                                                      \
		"answer the calls of the command (sandbox-call); the default if the\n"            \
		"policy grants services",                                                         \
		options_flag, &(o)->broker, 0 },                                                  \
		{ "broker-http", 0, NULL,                                                         \
			"a broker that serves HTTP on the sandbox's loopback, too", options_flag, \
			&(o)->broker_http, 0 },                                                   \
	{                                                                                         \
		"no-broker", 0, NULL, "do not start a broker, whatever the policy grants",        \
			options_flag, &(o)->no_broker, 0                                          \
	}

int run_options(struct run *r)
{
	struct run_options *o = &r->options;
	struct call *c = r->call;
	uint64_t *limits = o->limits.values;
	const struct options_row rows[] = {
		{ "policy", 'p', "FILE",
			"a file with permissions, a skill or rules; - is standard input,\n"
			"fd:N a descriptor; if repeated, all of them must allow",
			options_list, &o->policies, OPTIONS_MANY },
		{ "profile", 0, "NAME",
			"workspace (the default), readonly, offline, or one of your own",
			options_text, &o->profile, OPTIONS_OPTIONAL },
		LIVE_ROWS(o),
		SKILL_ROWS(o),
		AGENT_ROWS(&o->agent),
		GRANT_ROWS(o),
		{ "timeout", 0, "TIME", "stop the command after this time: 500ms, 30s, 5m …",
			take_duration, &limits[LIMIT_TIMEOUT_MS], OPTIONS_OPTIONAL },
		{ "memory", 0, "SIZE", "limit the memory of all its processes: 512M, 2G …",
			take_memory, &limits[LIMIT_MEMORY], OPTIONS_OPTIONAL },
		{ "pids", 0, "N", "limit the number of processes and threads", take_count,
			&limits[LIMIT_PIDS], OPTIONS_OPTIONAL },
		{ "limits", 0, "none", "do not apply the memory and process limits of the profile",
			take_no_limits, &o->no_limits, OPTIONS_OPTIONAL },
		{ "max-output", 0, "SIZE", "limit the output of the command; the rest is dropped",
			run_options_take_size, &limits[LIMIT_OUTPUT], OPTIONS_OPTIONAL },
		{ "no-cache", 0, NULL, "read long policies anew, and keep nothing of them",
			options_flag, &o->no_cache, 0 },
		{ "strict", 0, NULL, "refuse rules that cannot be enforced for child processes",
			options_flag, &o->strict, 0 },
		{ "cwd", 0, "DIR", "the folder in which the command starts", agent_take_dir,
			&o->cwd, OPTIONS_OPTIONAL },
		{ "work-dir", 0, "DIR",
			"the working folder of the profile (default: the current one)",
			agent_take_dir, &o->work_dir, OPTIONS_OPTIONAL },
		{ "tier", 0, "N",
			"how strong the sandbox must be: 1 is the strongest; 3 enforces only\n"
			"the writes of --mode sandbox and rx, by Landlock alone",
			options_text, &o->tier, OPTIONS_OPTIONAL },
		BROKER_ROWS(o),
		{ "audit", 0, "FILE", "write an audit log; `default` is your own log", take_log,
			&o->audit, OPTIONS_OPTIONAL },
		{ "explain", 0, NULL, "report what was denied and which grant would allow it",
			options_flag, &o->explain, 0 },
		LOAD_SET(&r->load),
		{ "json", 0, NULL, "print the result and all output as JSON", options_flag,
			&o->json, 0 },
	};
	int ret;

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		r->limits.values[i] = limits[i] = LIMIT_NONE;
	o->ask_ms = RUN_ASK_MS;
	ret = options_parse(c, rows, ROWS(rows));
	return ret == 0 ? run_options_check(r, c) : ret;
}
