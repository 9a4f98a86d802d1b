/* SPDX-License-Identifier: Apache-2.0 */
/* What a log comes to: counts, in a space that does not depend on what is in it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "audit/field.h"
#include "base/array.h"
#include "base/hash.h"
#include "cli/audit/figures.h"
#include "cli/audit/source.h"
#include "cli/audit/timeline.h"
#include "cli/output.h"

enum {
	TOP_LINES = 10, /* of a list of the most frequent, for people */
	TOP_NODES = 100,
	COUNT_WIDTH = 12,
	BAR_MIN = 10,
	BAR_MAX = 60,
	BAR_SHORT = 10, /* before a text that wants its room */
};

enum { LOOKUPS = 64, LOOKUP_NS = 2000000000 };

struct stats_lookup {
	uint64_t hash; /* 0: free */
	uint64_t time_ns;
};

struct audit_tally {
	struct stats_lookup lookups[LOOKUPS]; /* the latest */
	size_t n_lookups;
	uint64_t records;
	uint64_t events; /* a record may stand for several */
	uint64_t by[AUDIT_ACTION_COUNT][AUDIT_DECISION_COUNT];
	uint64_t of_action[AUDIT_ACTION_COUNT], of_decision[AUDIT_DECISION_COUNT]; /* their sums */
	uint64_t sent, received;
	uint64_t from_ns, to_ns;  /* the earliest and the latest */
	struct audit_top *denied; /* targets; kind: the action */
	struct audit_top *programs;
	struct audit_top *hosts; /* by bytes */
	struct audit_timeline timeline;
};

static void tally_deinit(struct audit_tally *t)
{
	audit_top_free(t->denied);
	audit_top_free(t->programs);
	audit_top_free(t->hosts);
}

#define auto_audit_tally __attribute__((cleanup(tally_deinit))) struct audit_tally

/* "api.example.com:443" without its port. */
static int stats_add_host(struct audit_tally *t, const struct audit_event *v)
{
	const char *port = strrchr(v->target, ':');
	auto_buffer host = { 0 };
	uint64_t bytes = v->sent;

	audit_amount_add(&bytes, v->received);
	if (bytes == 0 || (v->action != AUDIT_NET_CONNECT && v->action != AUDIT_NET_CLOSE))
		return 0;
	buffer_add(&host, v->target, port ? (size_t)(port - v->target) : strlen(v->target));
	return host.failed ? -ENOMEM : audit_top_add(t->hosts, 0, buffer_text(&host), bytes);
}

/*
 * How often it happened: of limits and of the log itself, the count is an amount. A look-up is one,
 * though a program asks for several kinds of address; the dashboard has the same rule
 * (daemon/peers/sandboxes.c, dashboard/counts.js).
 */
static uint64_t stats_weight(struct audit_tally *t, const struct audit_event *v)
{
	uint64_t hash = HASH_START;
	struct stats_lookup *known = NULL;
	bool is_again;

	if (v->action == AUDIT_LIMIT || v->action == AUDIT_STORE)
		return 1;
	if (v->action != AUDIT_NET_NAME)
		return v->count;
	hash = hash_bytes(hash, v->session, strlen(v->session) + 1);
	hash = hash_bytes(hash, &v->decision, sizeof(v->decision));
	hash = hash_bytes(hash, v->target, strlen(v->target));
	for (size_t i = 0; i < LOOKUPS && !known; i++)
		if (t->lookups[i].hash == hash)
			known = &t->lookups[i];
	is_again = known && v->time_ns < known->time_ns + LOOKUP_NS &&
		   known->time_ns < v->time_ns + LOOKUP_NS;
	if (!known)
		known = &t->lookups[t->n_lookups++ % LOOKUPS];
	*known = (struct stats_lookup){ hash, v->time_ns };
	return is_again ? 0 : 1;
}

/* Counts a record; the context is the tally. */
static int stats_add(void *context, const struct audit_row *row)
{
	struct audit_tally *t = context;
	const struct audit_event *v = &row->event;
	const uint64_t n = stats_weight(t, v);
	int r = 0;

	t->records++;
	audit_amount_add(&t->events, n);
	audit_amount_add(&t->by[v->action][v->decision], n);
	audit_amount_add(&t->of_action[v->action], n);
	audit_amount_add(&t->of_decision[v->decision], n);
	/* The end of a command may sum up what its connections had. */
	if (v->action != AUDIT_COMMAND_END) {
		audit_amount_add(&t->sent, v->sent);
		audit_amount_add(&t->received, v->received);
	}
	t->from_ns = t->records == 1 || v->time_ns < t->from_ns ? v->time_ns : t->from_ns;
	t->to_ns = v->time_ns > t->to_ns ? v->time_ns : t->to_ns;
	if (v->decision == AUDIT_DENIED && n)
		r = audit_top_add(t->denied, v->action, v->target, n);
	if (r == 0 && *v->program && n)
		r = audit_top_add(t->programs, 0, v->program, n);
	audit_timeline_add(&t->timeline, v->time_ns, v->decision, n);
	return r < 0 ? r : stats_add_host(t, v);
}

struct stats_page {
	struct output out;
	struct audit_chart chart;
	const struct audit_tally *tally;
};

/* A number, to the right. Returns how much more room it took than it should. */
static unsigned tally_put_count(struct stats_page *p, uint64_t n, const char *mark)
{
	auto_buffer text = { 0 };

	audit_amount_count(&text, n);
	buffer_printf(&p->out.text, "%*s%s", COUNT_WIDTH, buffer_text(&text), mark);
	return text.len > COUNT_WIDTH ? (unsigned)text.len - COUNT_WIDTH : 0;
}

struct tally_bar {
	const char *name;
	enum output_style style;
	uint64_t n;
};

/* Those that are not 0, as bars. */
static void tally_put_bars(
	struct stats_page *p, const char *heading, const struct tally_bar *bars, size_t count)
{
	uint64_t max = 0;

	output_heading(&p->out, heading);
	for (size_t i = 0; i < count; i++)
		max = bars[i].n > max ? bars[i].n : max;
	for (size_t i = 0; i < count; i++) {
		unsigned before = 2 + 14 + COUNT_WIDTH + 2, width = BAR_MIN;

		if (!bars[i].n)
			continue;
		buffer_printf(&p->out.text, "  %-14s", bars[i].name);
		before += tally_put_count(p, bars[i].n, "  ");
		if (p->chart.columns >= before + BAR_MIN)
			width = p->chart.columns - before;
		audit_chart_bar(&p->chart, &p->out, bars[i].style, bars[i].n, max,
			width < BAR_MAX ? width : BAR_MAX);
		buffer_addc(&p->out.text, '\n');
	}
}

static void tally_put_top(struct stats_page *p, const char *heading, const struct audit_top *top,
	enum output_style style, bool has_actions)
{
	const unsigned start = COUNT_WIDTH + 2 + BAR_SHORT + 1;
	const unsigned before = start + (has_actions ? 14 : 0);
	const unsigned room = p->chart.columns > before + 20 ? p->chart.columns - before : 20;

	if (!top->n)
		return;
	output_heading(&p->out, heading);
	for (size_t i = 0; i < top->n && i < TOP_LINES; i++) {
		const struct audit_top_entry *e = &top->entries[i];

		/* Most of what is counted there must be known to be its own. */
		if (audit_top_surely(e) < e->inherited)
			break;
		(void)tally_put_count(p, audit_top_surely(e), e->inherited ? "+ " : "  ");
		audit_chart_bar(&p->chart, &p->out, style, audit_top_surely(e),
			audit_top_surely(&top->entries[0]), BAR_SHORT);
		output_pad(&p->out, start);
		if (has_actions)
			buffer_printf(&p->out.text, "%-13s ", audit_actions[e->kind]);
		output_cut(&p->out, OUTPUT_PLAIN, e->text, room);
		buffer_addc(&p->out.text, '\n');
	}
	if (top->is_approximate) {
		buffer_adds(&p->out.text, "  ");
		output_wrapped(&p->out,
			"There are too many different names to count all: numbers with + are "
			"lower bounds, and rare names are omitted.",
			OUTPUT_PROSE);
		buffer_addc(&p->out.text, '\n');
	}
}

static void tally_put_summary(struct stats_page *p)
{
	const struct audit_tally *t = p->tally;
	char time[AUDIT_TIME_BYTES];

	audit_amount_count(&p->out.text, t->records);
	buffer_adds(&p->out.text, t->records == 1 ? " record" : " records");
	if (t->events != t->records) {
		buffer_adds(&p->out.text, " of ");
		audit_amount_count(&p->out.text, t->events);
		buffer_adds(&p->out.text, " events");
	}
	if (t->records) {
		buffer_printf(&p->out.text, "\n%s", audit_time_print(t->from_ns, time));
		buffer_printf(&p->out.text, " to %s", audit_time_print(t->to_ns, time));
	}
	buffer_addc(&p->out.text, '\n');
	if (t->sent || t->received) {
		audit_amount_bytes(&p->out.text, t->sent);
		buffer_adds(&p->out.text, " sent, ");
		audit_amount_bytes(&p->out.text, t->received);
		buffer_adds(&p->out.text, " received\n");
	}
}

static int tally_print(const struct audit_tally *t, struct error *e)
{
	struct stats_page p = {
		.out = output_for(STDOUT_FILENO),
		.chart = audit_chart_for(STDOUT_FILENO),
		.tally = t,
	};
	struct tally_bar decisions[] = {
		{ "allowed", OUTPUT_GREEN, t->of_decision[AUDIT_ALLOWED] },
		{ "denied", OUTPUT_RED, t->of_decision[AUDIT_DENIED] },
		{ "asked", OUTPUT_YELLOW, t->of_decision[AUDIT_ASKED] },
		{ "failed", OUTPUT_YELLOW, t->of_decision[AUDIT_FAILED] },
		{ "no decision", OUTPUT_DIM, t->of_decision[AUDIT_NONE] },
	};
	struct tally_bar actions[AUDIT_ACTION_COUNT];
	int r;

	tally_put_summary(&p);
	for (unsigned a = 0; a < AUDIT_ACTION_COUNT; a++)
		actions[a] = (struct tally_bar){ audit_actions[a], OUTPUT_PLAIN, t->of_action[a] };
	if (t->records) {
		tally_put_bars(&p, "Decisions", decisions, ROWS(decisions));
		tally_put_bars(&p, "Actions", actions, ROWS(actions));
	}
	tally_put_top(&p, "Most denied", t->denied, OUTPUT_RED, true);
	tally_put_top(&p, "Programs", t->programs, OUTPUT_PLAIN, false);
	r = output_write(&p.out, STDOUT_FILENO, e);
	output_deinit(&p.out);
	return r;
}

static void tally_put_number(struct json_tree *t, struct node *map, const char *key, uint64_t n)
{
	tree_put_number(t, map, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static void tally_put_top_list(struct json_tree *t, struct node *to, const char *name,
	const struct audit_top *top, const char *key, bool has_actions)
{
	struct node *list = tree_put_list(t, to, name);

	for (size_t i = 0; i < top->n && i < TOP_NODES; i++) {
		const struct audit_top_entry *e = &top->entries[i];
		struct node *map = tree_append_map(t, list);

		if (has_actions)
			tree_put_text(t, map, "action", audit_actions[e->kind]);
		tree_put_text(t, map, key, e->text);
		tally_put_number(t, map, "at_least", audit_top_surely(e));
		tally_put_number(t, map, "at_most", e->count);
	}
}

/* Steps in which nothing was decided are left out. */
static void tally_put_timeline(
	struct json_tree *t, struct node *root, const struct audit_timeline *l)
{
	struct node *list;

	tally_put_number(t, root, "step_ms", (UINT64_C(1) << l->doubled) * 1000);
	list = tree_put_list(t, root, "timeline");
	for (size_t i = 0; i < l->n; i++) {
		struct node *map = NULL;

		for (unsigned d = AUDIT_NONE + 1; d < AUDIT_DECISION_COUNT; d++) {
			if (l->counts[i][d] == 0)
				continue;
			if (!map) {
				map = tree_append_map(t, list);
				tally_put_number(t, map, "time_ms",
					(l->start_s + ((uint64_t)i << l->doubled)) * 1000);
			}
			tally_put_number(t, map, audit_decisions[d], l->counts[i][d]);
		}
	}
}

static int tally_print_tree(struct call *c, const char *path, const struct audit_tally *tally)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *map;
	char from[AUDIT_FIELD_BYTES], to[AUDIT_FIELD_BYTES];

	(void)audit_field_print_time(tally->from_ns, from);
	(void)audit_field_print_time(tally->to_ns, to);
	tree_put_text(&t, root, "file", path);
	tally_put_number(&t, root, "records", tally->records);
	tally_put_number(&t, root, "events", tally->events);
	tree_put_text(&t, root, "from", tally->records ? from : NULL);
	tree_put_text(&t, root, "to", tally->records ? to : NULL);
	tally_put_number(&t, root, "sent", tally->sent);
	tally_put_number(&t, root, "received", tally->received);
	map = tree_put_map(&t, root, "decisions");
	for (unsigned d = 0; d < AUDIT_DECISION_COUNT; d++)
		tally_put_number(&t, map, audit_decisions[d], tally->of_decision[d]);
	map = tree_put_map(&t, root, "actions");
	for (unsigned a = 0; a < AUDIT_ACTION_COUNT; a++) {
		struct node *counts =
			tally->of_action[a] ? tree_put_map(&t, map, audit_actions[a]) : NULL;

		for (unsigned d = 0; counts && d < AUDIT_DECISION_COUNT; d++)
			tally_put_number(&t, counts, audit_decisions[d], tally->by[a][d]);
	}
	tally_put_top_list(&t, root, "denied", tally->denied, "target", true);
	tree_put_flag(&t, root, "denied_approximate", tally->denied->is_approximate);
	tally_put_top_list(&t, root, "programs", tally->programs, "program", false);
	tree_put_flag(&t, root, "programs_approximate", tally->programs->is_approximate);
	tally_put_top_list(&t, root, "hosts", tally->hosts, "host", false);
	tally_put_timeline(&t, root, &tally->timeline);
	return tree_print(&t, root, c->error);
}

static int verb_stats_run(struct call *c)
{
	struct audit_filter filter = { 0 };
	auto_audit_tally tally = { 0 };
	auto_audit_log *log = NULL;
	bool json = false;
	const struct options_row rows[] = { AUDIT_FILTER_ROWS(&filter), OPTIONS_JSON(&json) };
	const char *path;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = audit_source_find(c, 0, &path);
	if (r < 0)
		return r;
	tally = (struct audit_tally){
		.denied = audit_top_new(), .programs = audit_top_new(), .hosts = audit_top_new()
	};
	if (!tally.denied || !tally.programs || !tally.hosts)
		return error_no_memory(c->error);
	r = audit_source_open(c, path, &log);
	if (r == 0)
		r = audit_filter_read(log, &filter, 0, 0, stats_add, &tally, c->error);
	if (r < 0)
		return r == -ENOMEM ? error_no_memory(c->error) : r;
	audit_top_sort(tally.denied);
	audit_top_sort(tally.programs);
	audit_top_sort(tally.hosts);
	r = json ? tally_print_tree(c, path, &tally) : tally_print(&tally, c->error);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_audit_stats = {
	.name = "stats",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "count decisions, actions, and what was denied most",
	.description =
		"Counts the records that match all options: by decision and by action, the "
		"targets denied most often, the most active programs, and bytes. Memory use does "
		"not grow with the log: above 1024 different names, counts are marked as lower "
		"bounds.",
	.examples = "corral audit stats\n"
		    "corral audit stats --since 1d --action net\n"
		    "corral audit stats --json run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_stats_run,
};
