/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/run.h"
#include "policy/format/unit.h"

enum { MEMORY_MIN = 1 << 20 };

/* Takers: limits are kept in one array, by their place in it. */

static int bad_amount(
	struct call *c, const struct options_row *row, const char *value, int r, const char *as)
{
	if (r == -ERANGE)
		return options_misused(c, "--%s: %s is too much", row->name, value);
	return options_misused(
		c, "--%s: `%s` is no amount; expected something like %s", row->name, value, as);
}

static int nothing(struct call *c, const struct options_row *row)
{
	return options_misused(c, "--%s 0 would let nothing run", row->name);
}

static int take_duration(struct call *c, const struct options_row *row, const char *value)
{
	int r = unit_parse_duration(value, row->target);

	if (r < 0)
		return bad_amount(c, row, value, r, "500ms, 30s or 5m");
	return *(uint64_t *)row->target ? 0 : nothing(c, row);
}

static int run_options_take_size(struct call *c, const struct options_row *row, const char *value)
{
	int r = unit_parse_size(value, row->target);

	return r < 0 ? bad_amount(c, row, value, r, "64K, 512M or 2G") : 0;
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
			"--%s %s is less than any program needs; expected something like 64M",
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
		return bad_amount(c, row, value, -EINVAL, "64");
	if (errno || *ret == LIMIT_NONE)
		return bad_amount(c, row, value, -ERANGE, "64");
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
		return options_misused(c, "--%s: the file has no name", row->name);
	if (strcmp(value, "default") != 0 && strcmp(value, "none") != 0)
		return load_absolute(c, value, ret);
	*ret = value;
	return 0;
}

/* What can be said without looking at anything. */
static int run_options_check(const struct run *r, struct call *c)
{
	const struct run_options *o = &r->options;

	if (o->tier && (strlen(o->tier) != 1 || !strchr("1234", o->tier[0])))
		return options_misused(c, "--tier: `%s` is no tier; expected 1 to 4", o->tier);
	if (o->tier && o->tier[0] != '1') {
		(void)error_set(c->error, -EOPNOTSUPP, NULL,
			"--tier %s is not there yet: this version holds tier 1, the strongest",
			o->tier);
		error_hint(c->error, "`corral doctor` says what this system has");
		return -EOPNOTSUPP;
	}
	if (o->yes && !o->skill)
		return options_misused(c, "--yes goes with --skill");
	if (c->n == 0 && !o->skill && !r->is_shell)
		return options_misused(c, "a CMD is missing");
	if (c->n > 0 && !c->words[0][0] && !o->skill && !r->is_shell)
		return options_misused(c, "the name of the program is empty");
	if (o->skill && r->is_shell)
		return options_misused(c, "--skill goes with `corral run`, not with a shell");
	return agent_check(&o->agent, c);
}

int run_options(struct run *r)
{
	struct run_options *o = &r->options;
	struct call *c = r->call;
	uint64_t *limits = o->limits.values;
	const struct options_row rows[] = {
		{ "policy", 'p', "FILE",
			"permissions, a skill or rules; - and fd:N are read; if repeated,\n"
			"all must allow",
			options_list, &o->policies, OPTIONS_MANY },
		{ "profile", 0, "NAME",
			"workspace (used where nothing else is given), readonly,\n"
			"offline, or one of your own",
			options_text, &o->profile, OPTIONS_OPTIONAL },
		{ "skill", 0, "DIR", "run this skill's entry, with its permissions", agent_take_dir,
			&o->skill, OPTIONS_OPTIONAL },
		{ "yes", 'y', NULL, "run the skill although it was not approved", options_flag,
			&o->yes, 0 },
		AGENT_ROWS(&o->agent),
		{ "read", 0, "GLOB", "may be read; a folder stands for all in it", options_list,
			&o->read, OPTIONS_MANY },
		{ "write", 0, "GLOB", "may be written and read", options_list, &o->write,
			OPTIONS_MANY },
		{ "deny", 0, "GLOB", "may be neither read nor written", options_list, &o->deny,
			OPTIONS_MANY },
		{ "net", 0, "HOST:PORT", "may be connected to", options_list, &o->net,
			OPTIONS_MANY },
		{ "exec", 0, "CMD", "may be run", options_list, &o->exec, OPTIONS_MANY },
		{ "env", 0, "NAME[=VALUE]", "a variable that is passed on, or set", options_list,
			&o->env, OPTIONS_MANY },
		{ "timeout", 0, "TIME", "end it after 500ms, 30s, 5m …", take_duration,
			&limits[LIMIT_TIMEOUT_MS], OPTIONS_OPTIONAL },
		{ "memory", 0, "SIZE", "memory of all its processes: 512M, 2G …", take_memory,
			&limits[LIMIT_MEMORY], OPTIONS_OPTIONAL },
		{ "pids", 0, "N", "processes and threads at once", take_count, &limits[LIMIT_PIDS],
			OPTIONS_OPTIONAL },
		{ "limits", 0, "none", "without the memory and process limits of the profile",
			take_no_limits, &o->no_limits, OPTIONS_OPTIONAL },
		{ "max-output", 0, "SIZE", "what it may print; the rest is dropped",
			run_options_take_size, &limits[LIMIT_OUTPUT], OPTIONS_OPTIONAL },
		{ "strict", 0, NULL, "refuse rules that would not hold for what the command starts",
			options_flag, &o->strict, 0 },
		{ "cwd", 0, "DIR", "where it starts", agent_take_dir, &o->cwd, OPTIONS_OPTIONAL },
		{ "work-dir", 0, "DIR", "the working folder of the profile; else the current one",
			agent_take_dir, &o->work_dir, OPTIONS_OPTIONAL },
		{ "tier", 0, "N", "how strong the sandbox must be; 1 is the strongest",
			options_text, &o->tier, OPTIONS_OPTIONAL },
		{ "audit", 0, "FILE", "record what happens in this log; default: your own",
			take_log, &o->audit, OPTIONS_OPTIONAL },
		{ "explain", 0, NULL, "say what was denied, and what would allow it", options_flag,
			&o->explain, 0 },
		LOAD_SET(&r->load),
		{ "json", 0, NULL, "print the result, with all output, as JSON", options_flag,
			&o->json, 0 },
	};
	int ret;

	for (size_t i = 0; i < LIMIT_COUNT; i++)
		r->limits.values[i] = limits[i] = LIMIT_NONE;
	ret = options_parse(c, rows, ROWS(rows));
	return ret == 0 ? run_options_check(r, c) : ret;
}
