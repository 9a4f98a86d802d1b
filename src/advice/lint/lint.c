/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of checks, and the loop that makes them. Order is data here: entries are collected
 * first, "not everything was compared" is said last, and in between come dangers (files, programs,
 * hosts, variables, the layer), then lines without effect.
 *
 * A check never looks at another one's findings. Where a wide grant has many bad consequences the
 * checks agree through the entry's width: whoever writes to all of a home is told so once, and not
 * once more for each start-up file in it.
 */
#include "advice/lint/lint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "advice/lint/internal.h"

#define READ (1u << OPERATION_FS_READ)
#define WRITE (1u << OPERATION_FS_WRITE)
#define NET (1u << OPERATION_NET_CONNECT)
#define EXEC (1u << OPERATION_EXEC)
#define ENV (1u << OPERATION_ENV)
#define SERVICE (1u << OPERATION_SERVICE)
#define SECRET (1u << OPERATION_SECRET)

#define ENTRY(name, how, ops, check, what)                                      \
	{                                                                       \
		.about = { name, how, what }, .operations = ops, .entry = check \
	}
#define EVERY(name, how, check, what)                                                          \
	{                                                                                      \
		.about = { name, how, what }, .operations = ~0u, .entry = check, .every = true \
	}
#define HOST(name, how, check, what)                                           \
	{                                                                      \
		.about = { name, how, what }, .operations = NET, .host = check \
	}
#define LAYER(name, how, check, what)                        \
	{                                                    \
		.about = { name, how, what }, .layer = check \
	}

static const struct lint_check checks[] = {
	LAYER("invalid-pattern", LINT_ERROR, lint_collect,
		"a pattern that no policy can be made from"),

	ENTRY("write-everything", LINT_ERROR, WRITE, lint_too_wide,
		"every file of the machine may be written"),
	ENTRY("write-home", LINT_ERROR, WRITE, lint_too_wide, "a whole home folder may be written"),
	ENTRY("write-system", LINT_WARNING, WRITE, lint_write_system,
		"a grant to write that takes in folders of the system"),
	ENTRY("read-everything", LINT_WARNING, READ, lint_too_wide,
		"every file of the machine may be read"),
	ENTRY("read-home", LINT_WARNING, READ, lint_too_wide, "a whole home folder may be read"),
	ENTRY("deferred-execution", LINT_WARNING, WRITE, lint_deferred_execution,
		"files may be written that other programs run later, outside of any sandbox"),
	ENTRY("write-path", LINT_WARNING, WRITE, lint_write_path,
		"programs may be written where shells look for programs"),
	LAYER("dangerously-allow", LINT_WARNING, lint_dangerously_allow,
		"a part of the baseline is lifted"),

	ENTRY("exec-everything", LINT_WARNING, EXEC, lint_exec_everything, "any program may run"),
	ENTRY("exec-root", LINT_WARNING, EXEC, lint_exec_root,
		"a program that gives more rights than the user has"),
	ENTRY("exec-any-code", LINT_NOTE, EXEC, lint_exec_any_code,
		"a program that runs any code it is given"),
	ENTRY("exec-glob", LINT_NOTE, EXEC, lint_exec_glob,
		"programs that are not named one by one"),
	ENTRY("write-then-exec", LINT_WARNING, EXEC, lint_write_then_exec,
		"a program that may be both written and run"),

	HOST("net-everything", LINT_WARNING, lint_net_everything, "any host may be reached"),
	HOST("net-public-suffix", LINT_WARNING, lint_net_public_suffix,
		"subdomains that anyone can register"),
	HOST("net-private", LINT_WARNING, lint_net_private,
		"this machine or a private network may be reached"),
	ENTRY("net-private-name", LINT_WARNING, NET, lint_net_private_name,
		"a name that may lead to any private address"),
	HOST("net-metadata", LINT_WARNING, lint_net_metadata,
		"the cloud's metadata service, which is never reachable"),
	HOST("net-drop", LINT_WARNING, lint_net_drop,
		"a host where anybody can leave or fetch anything"),
	HOST("net-dns", LINT_WARNING, lint_net_dns, "name servers, which carry any data"),
	HOST("net-ports", LINT_NOTE, lint_net_ports, "far more ports than one service has"),
	HOST("net-plain-http", LINT_NOTE, lint_net_plain_http, "connections without encryption"),
	EVERY("net-inspect", LINT_NOTE, lint_net_inspect,
		"a path or a method of https, which is not seen inside TLS"),
	LAYER("listen-public", LINT_WARNING, lint_listen_public,
		"a port that other machines can connect to"),
	HOST("unix-root", LINT_ERROR, lint_unix_root,
		"a socket that gives control over the machine"),
	HOST("unix-session", LINT_WARNING, lint_unix_session,
		"a socket that gives control over the user's session or keys"),

	ENTRY("env-everything", LINT_WARNING, ENV, lint_env_everything,
		"all variables of the host are passed on"),
	ENTRY("env-secret", LINT_WARNING, ENV, lint_env_secret,
		"a variable that usually holds a secret is passed on"),
	ENTRY("env-secret-value", LINT_ERROR, ENV, lint_env_secret_value,
		"a secret is written into the policy"),
	ENTRY("env-code", LINT_WARNING, ENV, lint_env_code,
		"a variable that makes programs run other code"),

	ENTRY("secret-host", LINT_WARNING, SECRET, lint_secret_host,
		"a secret for a host that may not be reached"),
	ENTRY("secret-program", LINT_WARNING, SECRET, lint_secret_program,
		"a secret for a program that gets no value"),
	ENTRY("secret-variable", LINT_WARNING, SECRET, lint_secret_variable,
		"a secret that is passed on as a plain variable as well"),

	{ .about = { "service-unscoped", LINT_WARNING,
		  "a service without a bound on what it is used for" },
		.operations = SERVICE,
		.entry = lint_service_rule,
		.layer = lint_service_unscoped },
	LAYER("mode-monitor", LINT_ERROR, lint_mode_monitor, "nothing is blocked"),
	LAYER("mode-audit", LINT_WARNING, lint_mode_audit, "what no rule names is not blocked"),
	LAYER("default-allow", LINT_ERROR, lint_default_allow, "what no rule names is allowed"),
	LAYER("no-limits", LINT_NOTE, lint_no_limits, "time, memory or processes without a bound"),

	LAYER("grants-nothing", LINT_NOTE, lint_grants_nothing, "everything is denied"),
	EVERY("matches-nothing", LINT_WARNING, lint_matches_nothing,
		"patterns that must all match and cannot"),
	ENTRY("baseline-forbids", LINT_WARNING, READ | WRITE, lint_baseline_forbids,
		"a grant that the baseline takes back"),
	LAYER("dangerously-unused", LINT_NOTE, lint_dangerously_unused,
		"an entry of dangerously_allow without effect"),
	EVERY("denied", LINT_WARNING, lint_denied, "a grant that something stronger takes back"),
	EVERY("rule-shadowed", LINT_WARNING, lint_rule_shadowed, "a rule that can never decide"),
	EVERY("covered", LINT_NOTE, lint_covered, "an entry that another one makes superfluous"),
	EVERY("deny-unused", LINT_NOTE, lint_deny_unused, "a denial of what is not granted anyway"),
	ENTRY("literal-folder", LINT_NOTE, READ | WRITE, lint_literal_folder,
		"a folder without what lies in it"),
	LAYER("guest-overlap", LINT_WARNING, lint_guest_overlap, "guest paths that overlap"),
	LAYER("rule-duplicate-id", LINT_WARNING, lint_rule_duplicate, "two rules with the same id"),
	LAYER("rule-asks-files", LINT_WARNING, lint_rule_asks_files,
		"a rule that asks about files or programs, which commands are not asked about"),
	LAYER("rule-disabled", LINT_NOTE, lint_rule_disabled, "a rule that is switched off"),
	LAYER("not-compared", LINT_NOTE, lint_not_compared, "too much to compare all of it"),
};

enum { N_CHECKS = ROWS(checks) };

const char *lint_severity_name(enum lint_severity s)
{
	static const char *const names[] = { "note", "warning", "error" };

	return names[s];
}

const struct lint_about *lint_about(size_t i)
{
	return i < N_CHECKS ? &checks[i].about : NULL;
}

/* Findings */

const char *lint_sentence(struct arena *a, const char *format, va_list args)
{
	auto_buffer out = { 0 };
	char *text = NULL;
	int len = vasprintf(&text, format, args);

	if (len < 0)
		return NULL;
	buffer_add_visible(&out, text, (size_t)len);
	free(text);
	return out.failed ? NULL : arena_strdup(a, buffer_text(&out));
}

const char *lint_say(struct lint *l, const char *format, ...)
{
	const char *said;
	va_list args;

	va_start(args, format);
	said = lint_sentence(l->arena, format, args);
	va_end(args);
	return said;
}

/*
 * Formats whose lines stand for several entries would make us say the same of each. Such entries
 * are close to each other, so a look at the last few findings is enough.
 */
static bool was_said(const struct lint *l, const struct lint_finding *f)
{
	enum { BACK = 16 };
	size_t n = l->found->n, first = n - l->first > BACK ? n - BACK : l->first;

	for (size_t i = first; i < n; i++) {
		const struct lint_finding *other = &l->found->items[i];

		if (other->id == f->id && other->where.line == f->where.line && f->where.line &&
			strcmp(other->pattern, f->pattern) == 0 &&
			strcmp(other->text, f->text) == 0)
			return true;
	}
	return false;
}

int lint_report_at(struct lint *l, const struct location *where, const char *pattern,
	const char *text, const char *hint)
{
	struct lint_finding f = {
		.severity = l->check->about.severity,
		.id = l->check->about.id,
		.where = *where,
		.pattern = lint_say(l, "%s", pattern),
		.text = text,
		.hint = hint,
	};

	if (where->file)
		f.where.file = lint_say(l, "%s", where->file);
	if (!f.pattern || !text || !hint || (where->file && !f.where.file))
		return -ENOMEM;
	return was_said(l, &f)
		       ? 0
		       : ARENA_PUSH(l->arena, l->found->items, l->found->n, l->found->cap, f);
}

int lint_report(struct lint *l, const struct lint_entry *e, const char *text, const char *hint)
{
	return lint_report_at(l, &e->where, e->text, text, hint);
}

int lint_report_layer(struct lint *l, const char *text, const char *hint)
{
	struct location where = { .file = l->p->origin };

	for (int op = 0; !where.file && op < OPERATION_COUNT; op++) {
		if (l->entries[op].n)
			where.file = l->entries[op].items[0].where.file;
	}
	return lint_report_at(l, &where, "", text, hint);
}

/* The loop */

/* The first of an entry's hosts that the check finds something about. */
static int check_hosts(struct lint *l, const struct lint_entry *e)
{
	struct lint_words w = { 0 };

	for (size_t i = 0; i < e->n_hosts; i++) {
		if (l->check->host(l, &e->hosts[i], &w))
			return lint_report(l, e, w.text, w.hint);
	}
	return 0;
}

static int make_check(struct lint *l, const struct lint_check *check)
{
	int r = check->every ? lint_compare(l) : 0;

	l->check = check;
	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++) {
		const struct lint_entries *all = &l->entries[op];

		for (size_t i = 0; r == 0 && check->operations >> op & 1 && i < all->n; i++) {
			const struct lint_entry *e = &all->items[i];

			if (e->implied ||
				(!check->every && (e->verdict != VERDICT_ALLOW || e->nothing)))
				continue;
			r = check->host ? check_hosts(l, e) : check->entry(l, e);
		}
	}
	return r == 0 && check->layer ? check->layer(l) : r;
}

static int lint_layer(const struct lint *shared, const struct permissions *p)
{
	auto_arena scratch = { 0 };
	struct lint l = *shared;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = lint_layer(shared, p->all_of[i]);
	if (p->n_all_of)
		return r;
	l.p = p;
	l.scratch = &scratch;
	l.first = l.found->n;
	for (size_t i = 0; r == 0 && i < N_CHECKS; i++)
		r = make_check(&l, &checks[i]);
	return r;
}

/* A value for every variable: its own, or a folder that stands for it. */
static unsigned fill_variables(struct variables *ret, const struct variables *given)
{
	static const struct variables stand_ins = {
		.values = {
			[VARIABLE_SKILL_DIR] = "/$SKILL_DIR",
			[VARIABLE_WORK_DIR] = "/$WORK_DIR",
			[VARIABLE_DATA_DIR] = "/$DATA_DIR",
			[VARIABLE_SHARED_DIR] = "/$SHARED_DIR",
			[VARIABLE_HOME] = "/home/$HOME",
			[VARIABLE_TEMP] = "/$TEMP",
		},
	};
	unsigned known = 0;

	*ret = stand_ins;
	for (int v = 0; given && v < VARIABLE_COUNT; v++) {
		const char *value = given->values[v];

		if (!value || !path_is_normal(value, strlen(value)))
			continue;
		ret->values[v] = value;
		known |= 1u << v;
	}
	return known;
}

int lint_permissions_with(const struct permissions *p, const struct variables *vars,
	struct arena *a, struct lint_findings *ret)
{
	auto_arena shared = { 0 };
	struct lint_findings found = { 0 };
	struct variables values;
	size_t work = 0;
	struct lint l = { .top = p,
		.vars = &values,
		.work = &work,
		.scratch = &shared,
		.arena = a,
		.found = &found };
	int r;

	l.known = fill_variables(&values, vars);
	l.own_home = baseline_paths_home(values.values[VARIABLE_HOME]);
	r = lint_files_init(&l);
	if (r == 0)
		r = lint_layer(&l, p);
	if (r == 0)
		*ret = found;
	return r;
}

int lint_permissions(const struct permissions *p, struct arena *a, struct lint_findings *ret)
{
	return lint_permissions_with(p, NULL, a, ret);
}
