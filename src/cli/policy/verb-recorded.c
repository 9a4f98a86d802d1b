/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy beside what was recorded: `policy replay` asks it about each thing that runs in the
 * audit log did or were denied, `policy shrink` looks which of its lines none of them used. Both
 * only read. A log has what audit.md says it has, and no more: files that were read are not in it,
 * and those that were denied only where a run was watched. So what could not be judged is named.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "cli/audit/source.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "codec/json-writer.h"
#include "host/resolver.h"
#include "policy/policy.h"

enum { ITEMS_MAX = 1 << 14, SHOWN_MAX = 100 };

/* One thing that runs asked for. */
struct recorded_item {
	enum operation op;
	const char *target;
	bool was_allowed, was_denied;
	enum verdict now;
	uint64_t count, hash;
};

struct recorded {
	struct call *call;
	struct options_list policies;
	struct audit_filter filter;
	bool json;
	struct load load;
	struct policy *policy;
	struct recorded_item *items;
	size_t n, cap;
	uint64_t beyond, lost, failed; /* records that were left out, and why */
	uint64_t runs, watched;
	/* shrink: entries of the policies' own lists that decided. */
	struct recorded_use {
		struct location where;
	} * uses;
	size_t n_uses, cap_uses;
};

/* Reading */

static bool recorded_op(enum audit_action action, enum operation *ret)
{
	static const enum operation ops[] = { OPERATION_FS_READ, OPERATION_FS_WRITE,
		OPERATION_NET_CONNECT, OPERATION_EXEC, OPERATION_SERVICE };

	/* A connection that was allowed is recorded when it is over, with what it carried. */
	if (action == AUDIT_NET_CLOSE)
		action = AUDIT_NET_CONNECT;
	for (size_t i = 0; i < ROWS(ops); i++)
		if (audit_action_of(ops[i]) == action) {
			*ret = ops[i];
			return true;
		}
	return false;
}

static bool recorded_is_known(const struct recorded *d, const struct location *where)
{
	for (size_t i = 0; i < d->n_uses; i++) {
		const struct location *known = &d->uses[i].where;

		if (known->line == where->line && known->column == where->column &&
			strcmp(known->file ? known->file : "", where->file ? where->file : "") == 0)
			return true;
	}
	return false;
}

/* Each layer has its own line for it. */
static int recorded_use(struct recorded *d, const struct request *request)
{
	for (size_t i = 0; i < policy_layers(d->policy); i++) {
		struct decision decision;
		struct recorded_use use = { 0 };

		if (policy_decide_layer(d->policy, i, request, &decision) < 0 || !decision.source)
			continue;
		use.where = decision.source->grant->where;
		if (!recorded_is_known(d, &use.where) &&
			ARENA_PUSH(d->call->arena, d->uses, d->n_uses, d->cap_uses, use) < 0)
			return -ENOMEM;
	}
	return 0;
}

static struct recorded_item *recorded_find(
	struct recorded *d, enum operation op, const char *target, uint64_t hash)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->items[i].hash == hash && d->items[i].op == op &&
			strcmp(d->items[i].target, target) == 0)
			return &d->items[i];
	return NULL;
}

static int recorded_add(struct recorded *d, enum operation op, const struct audit_event *e)
{
	const uint64_t hash = hash_bytes(HASH_START, e->target, strlen(e->target));
	struct recorded_item *item = recorded_find(d, op, e->target, hash);
	struct request request = { .op = op, .target = e->target };
	struct decision decision;

	if (!item && d->n == ITEMS_MAX) {
		d->beyond++;
		return 0;
	}
	if (!item) {
		struct recorded_item new = {
			.op = op, .target = arena_strdup(d->call->arena, e->target), .hash = hash
		};

		if (policy_decide(d->policy, &request, &decision) == 0)
			new.now = decision.verdict;
		if (!new.target || ARENA_PUSH(d->call->arena, d->items, d->n, d->cap, new) < 0)
			return -ENOMEM;
		item = &d->items[d->n - 1];
	}
	item->count += e->count ? e->count : 1;
	if (e->decision == AUDIT_DENIED)
		item->was_denied = true;
	else
		item->was_allowed = true;
	return e->decision == AUDIT_DENIED ? 0 : recorded_use(d, &request);
}

/* A program that was started by its name is the one that the name stands for now. One that could
 * not be started was neither run nor denied. */
static int recorded_add_program(struct recorded *d, const struct audit_event *e)
{
	struct audit_event resolved = *e;
	char path[PATH_BYTES];

	if (e->decision == AUDIT_FAILED) {
		d->failed++;
		return 0;
	}
	if (e->target[0] != '/' && resolver_find(e->target, path) < 0) {
		d->lost++;
		return 0;
	}
	if (e->target[0] != '/')
		resolved.target = path;
	return recorded_add(d, OPERATION_EXEC, &resolved);
}

static int recorded_visit(void *context, const struct audit_row *row)
{
	struct recorded *d = context;
	const struct audit_event *e = &row->event;
	enum operation op;

	if (e->action == AUDIT_CONFINEMENT) {
		d->runs++;
		d->watched += strstr(e->reason, "files: watched") != NULL;
	}
	if (e->decision == AUDIT_NONE || !recorded_op(e->action, &op))
		return 0;
	return op == OPERATION_EXEC ? recorded_add_program(d, e) : recorded_add(d, op, e);
}

static int recorded_read(struct recorded *d)
{
	auto_audit_log *log = NULL;
	const char *path;
	int r = audit_source_find(d->call, 0, &path);

	if (r == 0)
		r = audit_source_open(d->call, path, &log);
	if (r == 0)
		r = audit_filter_read(log, &d->filter, 0, 0, recorded_visit, d, d->call->error);
	if (r == -ENOMEM)
		return error_no_memory(d->call->error);
	if (r == 0 && d->runs == 0)
		return error_set(d->call->error, -ENODATA, NULL,
			"%s: no run is recorded there that is meant", path);
	return r;
}

static int recorded_begin(struct recorded *d)
{
	const struct options_row rows[] = {
		{ { "policy", SCHEMA_TEXT,
			  .help = "the policy; if repeated, all of them must allow", .many = true,
			  .required = true },
			'p', "FILE", .target = &d->policies },
		{ { "session", SCHEMA_TEXT,
			  .help = "only what this run recorded; `1f2e*` matches the start of an "
				  "id" },
			's', "ID", .target = &d->filter.session },
		{ { "since", SCHEMA_TIME, .help = "only since: 10m, 2h, 3d, 14:30, 2026-01-31" }, 0,
			"TIME", .target = &d->filter, .take = audit_filter_time },
		LOAD_SET(&d->load),
		OPTIONS_JSON(&d->json),
	};
	int r = options_parse(d->call, rows, ROWS(rows));

	d->load.is_anywhere = true;
	if (r == 0)
		r = load_begin(&d->load, d->call);
	if (r == 0)
		r = load_add_all(
			&d->load, d->call, d->policies.items, d->policies.n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = load_compile(&d->load, d->call, &d->policy);
	return r == 0 ? recorded_read(d) : r;
}

static void recorded_tell_left_out(uint64_t n, const char *why, struct output *o)
{
	if (n == 0)
		return;
	output_note(o);
	buffer_printf(&o->text, "left out: %llu record%s (%s)\n", (unsigned long long)n,
		n == 1 ? "" : "s", why);
}

/* What the log cannot say. */
static void recorded_tell_limits(const struct recorded *d, struct output *o)
{
	output_note(o);
	buffer_printf(&o->text,
		"%llu recorded run%s, %llu of them watched: files that a run could read are not "
		"recorded, files that it was denied only where it was watched (--explain)\n",
		(unsigned long long)d->runs, d->runs == 1 ? "" : "s",
		(unsigned long long)d->watched);
	recorded_tell_left_out(d->beyond, "there are more targets than are compared", o);
	recorded_tell_left_out(d->lost, "programs that are not there any more", o);
	recorded_tell_left_out(d->failed, "programs that could not be started", o);
}

static void recorded_put_limits(const struct recorded *d, struct json_writer *w)
{
	json_put_count(w, "runs", d->runs);
	json_put_count(w, "watched", d->watched);
	json_put_count(w, "missed", d->beyond + d->lost);
	json_put_count(w, "failed", d->failed);
}

static int recorded_finish(struct recorded *d, struct output *out, struct output *notes)
{
	int r = output_write(out, STDOUT_FILENO, d->call->error);

	if (r == 0 && notes->text.len)
		(void)output_write(notes, STDERR_FILENO, NULL);
	return r;
}

/* replay */

static const char *recorded_change(const struct recorded_item *i)
{
	if (i->was_allowed && i->now != VERDICT_ALLOW)
		return "now denied";
	if (i->was_denied && i->now == VERDICT_ALLOW)
		return "now allowed";
	return i->now == VERDICT_ALLOW ? "allowed" : "denied";
}

static void recorded_print_replay(const struct recorded *d, struct output *o)
{
	size_t same = 0, shown = 0, more = 0;

	for (size_t i = 0; i < d->n; i++) {
		const char *change = recorded_change(&d->items[i]);

		if (strncmp(change, "now", 3) != 0) {
			same++;
			continue;
		}
		if (shown++ >= SHOWN_MAX) {
			more++;
			continue;
		}
		buffer_printf(&o->text, "%-11s  %-11s  ", change, operation_name(d->items[i].op));
		output_foreign(o, d->items[i].target);
		buffer_printf(&o->text, " (%llu)\n", (unsigned long long)d->items[i].count);
	}
	if (more)
		buffer_printf(&o->text, "and %zu more (--json lists them)\n", more);
	buffer_printf(&o->text, "the same as recorded: %zu\n", same);
}

static void recorded_put_replay(const struct recorded *d, struct json_writer *w)
{
	json_open_list(w, "items");
	for (size_t i = 0; i < d->n; i++) {
		const struct recorded_item *item = &d->items[i];
		auto_buffer target = { 0 };

		buffer_add_visible(&target, item->target, strlen(item->target));
		json_open_map(w, NULL);
		json_put_text(w, "action", operation_name(item->op));
		json_put_buffer(w, "target", &target);
		json_put_flag(w, "was_allowed", item->was_allowed);
		json_put_flag(w, "was_denied", item->was_denied);
		json_put_text(w, "now", verdict_name(item->now));
		json_put_count(w, "count", item->count);
		json_close(w);
	}
	json_close(w);
}

static int verb_replay_run(struct call *c)
{
	struct recorded d = { .call = c };
	auto_output o = output_for(STDOUT_FILENO), notes = output_for(STDERR_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_SPACED };
	bool any = false;
	int r = recorded_begin(&d);

	for (size_t i = 0; r == 0 && i < d.n; i++)
		any = any || (d.items[i].was_allowed && d.items[i].now != VERDICT_ALLOW);
	if (r == 0 && d.json) {
		json_open_map(&w, NULL);
		recorded_put_limits(&d, &w);
		recorded_put_replay(&d, &w);
		json_end_line(&w);
	} else if (r == 0) {
		recorded_print_replay(&d, &o);
		recorded_tell_limits(&d, &notes);
	}
	if (r == 0)
		r = recorded_finish(&d, &o, &notes);
	policy_free(d.policy);
	load_deinit(&d.load);
	return r < 0 ? r : r == 1 ? STATUS_YES : any ? STATUS_NO : STATUS_YES;
}

const struct verb verb_replay = {
	.name = "replay",
	.synopsis = "--policy FILE [OPTION]... [LOG]",
	.summary = "what recorded runs did, judged under a policy",
	.description =
		"Asks the policy about each thing that runs in an audit log did or were denied, "
		"and "
		"prints what would be different: now denied, now allowed. LOG is your own log if "
		"it "
		"is not given. Files that a run could read are not recorded, and files that it was "
		"denied only where it was watched (--explain).\n"
		"Exit status: 0 nothing that was allowed would be denied, 1 something would, 2 an "
		"error.",
	.examples = "corral policy replay --policy policy.yaml\n"
		    "corral policy replay --policy policy.yaml --since 3d --json\n",
	.operand = "LOG",
	.max = 1,
	.run = verb_replay_run,
};

/* shrink */

/* A list that recorded runs say everything about. */
static bool recorded_is_judged(enum permission_list which)
{
	return which == LIST_NETWORK_ALLOW || which == LIST_NETWORK_PRIVATE;
}

static bool recorded_is_grant(enum permission_list which)
{
	return which == LIST_FS_READ || which == LIST_FS_WRITE || which == LIST_EXEC ||
	       which == LIST_ENV || which == LIST_LISTEN || recorded_is_judged(which);
}

struct recorded_entry {
	const char *state; /* used, unused, not judged */
	enum permission_list list;
	const struct grant *grant;
};

typedef int recorded_each(void *context, const struct recorded_entry *entry);

/* Entries of the files themselves; what a profile has that one extends is not theirs to remove. */
static int recorded_entries(const struct recorded *d, recorded_each *each, void *context)
{
	int r = 0;

	for (size_t f = 0; f < d->load.n; f++) {
		struct permissions *p = d->load.files[f].permissions;

		for (int i = 0; i < LIST_COUNT; i++) {
			const enum permission_list which = (enum permission_list)i;
			const struct grant_list *list = permissions_list(p, which);

			for (size_t k = 0; r == 0 && recorded_is_grant(which) && k < list->n; k++) {
				struct recorded_entry entry = { "not judged", which,
					&list->items[k] };
				const struct location *where = &list->items[k].where;

				if (!where->file || strcmp(where->file, p->origin) != 0)
					continue;
				if (recorded_is_known(d, where))
					entry.state = "used";
				else if (recorded_is_judged(which))
					entry.state = "unused";
				r = each(context, &entry);
			}
		}
	}
	return r;
}

static int recorded_put_entry(void *context, const struct recorded_entry *e)
{
	struct json_writer *w = context;

	json_open_map(w, NULL);
	json_put_text(w, "state", e->state);
	json_put_text(w, "list", list_rows[e->list].name);
	json_put_text(w, "entry", e->grant->all[0]);
	json_put_text(w, "file", e->grant->where.file);
	json_put_count(w, "line", e->grant->where.line);
	json_close(w);
	return 0;
}

static int recorded_print_entry(void *context, const struct recorded_entry *e)
{
	struct output *o = context;

	buffer_printf(&o->text, "%-10s  ", e->state);
	output_foreign(o, e->grant->where.file);
	buffer_printf(&o->text, ":%u  %s: ", e->grant->where.line, list_rows[e->list].name);
	output_foreign(o, e->grant->all[0]);
	buffer_addc(&o->text, '\n');
	return 0;
}

static int recorded_count_unused(void *context, const struct recorded_entry *e)
{
	*(size_t *)context += strcmp(e->state, "unused") == 0;
	return 0;
}

static int verb_shrink_run(struct call *c)
{
	struct recorded d = { .call = c };
	auto_output o = output_for(STDOUT_FILENO), notes = output_for(STDERR_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_SPACED };
	size_t n_unused = 0;
	int r = recorded_begin(&d);

	if (r == 0)
		(void)recorded_entries(&d, recorded_count_unused, &n_unused);
	if (r == 0 && d.json) {
		json_open_map(&w, NULL);
		recorded_put_limits(&d, &w);
		json_open_list(&w, "entries");
		(void)recorded_entries(&d, recorded_put_entry, &w);
		json_close(&w);
		json_end_line(&w);
	} else if (r == 0) {
		(void)recorded_entries(&d, recorded_print_entry, &o);
		recorded_tell_limits(&d, &notes);
	}
	if (r == 0)
		r = recorded_finish(&d, &o, &notes);
	policy_free(d.policy);
	load_deinit(&d.load);
	return r < 0 ? r : r == 1 ? STATUS_YES : n_unused ? STATUS_NO : STATUS_YES;
}

const struct verb verb_shrink = {
	.name = "shrink",
	.synopsis = "--policy FILE [OPTION]... [LOG]",
	.summary = "lines of a policy that no recorded run used",
	.description =
		"Lists the entries of a policy: used by a recorded run, unused, or not judged, "
		"since "
		"the log does not say (files, programs, variables, ports). Unused ones are what "
		"could be removed; nothing is changed. Any run in the log counts, whatever policy "
		"it "
		"had; --session and --since choose. LOG is your own log if it is not given.\n"
		"Exit status: 0 nothing is unused, 1 something is, 2 an error.",
	.examples = "corral policy shrink --policy policy.yaml\n"
		    "corral policy shrink --policy policy.yaml --since 30d --json\n",
	.operand = "LOG",
	.max = 1,
	.run = verb_shrink_run,
};
