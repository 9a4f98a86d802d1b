/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/array.h"
#include "cli/audit/amount.h"
#include "cli/audit/chart.h"
#include "cli/audit/line.h"
#include "cli/audit/tally.h"
#include "cli/audit/time.h"

enum {
	TOP = 10, /* lines of a list of the most frequent */
	NAME_COLUMN = 2,
	COUNT_WIDTH = 12,
	BAR_MIN = 10,
	BAR_MAX = 60,
	BAR_SHORT = 10, /* before a text that wants its room */
};

struct page {
	struct output out;
	struct audit_chart chart;
	const struct audit_tally *tally;
};

static void audit_tally_print_heading(struct page *p, const char *text)
{
	buffer_addc(&p->out.text, '\n');
	output_styled(&p->out, OUTPUT_BOLD, text);
	buffer_addc(&p->out.text, '\n');
}

/* A number, to the right. Returns how much more room it took than it should. */
static unsigned audit_tally_print_put_count(struct page *p, uint64_t n, const char *mark)
{
	auto_buffer text = { 0 };

	audit_amount_count(&text, n);
	buffer_printf(&p->out.text, "%*s%s", COUNT_WIDTH, buffer_text(&text), mark);
	return text.len > COUNT_WIDTH ? (unsigned)text.len - COUNT_WIDTH : 0;
}

static unsigned bar_width(const struct page *p, unsigned before)
{
	const unsigned columns = p->chart.columns;

	if (columns < before + BAR_MIN)
		return BAR_MIN;
	return columns - before < BAR_MAX ? columns - before : BAR_MAX;
}

static void put_bar_line(
	struct page *p, const char *name, enum output_style style, uint64_t n, uint64_t max)
{
	unsigned before = NAME_COLUMN + 14 + COUNT_WIDTH + 2;

	buffer_printf(&p->out.text, "%*s%-14s", NAME_COLUMN, "", name);
	before += audit_tally_print_put_count(p, n, "  ");
	audit_chart_bar(&p->chart, &p->out, style, n, max, bar_width(p, before));
	buffer_addc(&p->out.text, '\n');
}

static void put_decisions(struct page *p)
{
	static const struct {
		enum audit_decision decision;
		const char *name;
		enum output_style style;
	} rows[] = {
		{ AUDIT_ALLOWED, "allowed", OUTPUT_GREEN },
		{ AUDIT_DENIED, "denied", OUTPUT_RED },
		{ AUDIT_ASKED, "asked", OUTPUT_YELLOW },
		{ AUDIT_FAILED, "failed", OUTPUT_YELLOW },
		{ AUDIT_NONE, "just told", OUTPUT_DIM },
	};
	uint64_t max = 0;

	audit_tally_print_heading(p, "Decisions");
	for (size_t i = 0; i < ROWS(rows); i++) {
		const uint64_t n = audit_tally_of_decision(p->tally, rows[i].decision);

		max = n > max ? n : max;
	}
	for (size_t i = 0; i < ROWS(rows); i++) {
		const uint64_t n = audit_tally_of_decision(p->tally, rows[i].decision);

		if (n)
			put_bar_line(p, rows[i].name, rows[i].style, n, max);
	}
}

static void put_actions(struct page *p)
{
	uint64_t max = 0;

	audit_tally_print_heading(p, "Actions");
	for (unsigned a = 0; a < AUDIT_ACTION_COUNT; a++) {
		const uint64_t n = audit_tally_of_action(p->tally, a);

		max = n > max ? n : max;
	}
	for (unsigned a = 0; a < AUDIT_ACTION_COUNT; a++) {
		const uint64_t n = audit_tally_of_action(p->tally, a);

		if (n)
			put_bar_line(
				p, audit_action_name((enum audit_action)a), OUTPUT_PLAIN, n, max);
	}
}

/* Most of what is counted there is known to be its own. */
static bool stands_out(const struct audit_top_entry *e)
{
	return audit_top_surely(e) >= e->inherited;
}

static void put_top_line(struct page *p, const struct audit_top_entry *e, uint64_t max,
	enum output_style style, bool has_actions)
{
	const unsigned before = COUNT_WIDTH + 2 + BAR_SHORT + 1 + (has_actions ? 14 : 0);
	const unsigned room = p->chart.columns > before + 20 ? p->chart.columns - before : 20;

	(void)audit_tally_print_put_count(p, audit_top_surely(e), e->inherited ? "+ " : "  ");
	audit_chart_bar(&p->chart, &p->out, style, audit_top_surely(e), max, BAR_SHORT);
	output_pad(&p->out, COUNT_WIDTH + 2 + BAR_SHORT + 1);
	if (has_actions)
		buffer_printf(
			&p->out.text, "%-13s ", audit_action_name((enum audit_action)e->kind));
	output_cut(&p->out, OUTPUT_PLAIN, e->text, room);
	buffer_addc(&p->out.text, '\n');
}

static void put_top(
	struct page *p, const struct audit_top *top, enum output_style style, bool has_actions)
{
	const uint64_t max = top->n ? audit_top_surely(&top->entries[0]) : 0;

	for (size_t i = 0; i < top->n && i < TOP && stands_out(&top->entries[i]); i++)
		put_top_line(p, &top->entries[i], max, style, has_actions);
	if (top->is_approximate) {
		buffer_printf(&p->out.text, "%*s", NAME_COLUMN, "");
		output_wrapped(&p->out,
			"There are more different ones than are counted: numbers with + are lower "
			"bounds, and rare ones are left out.",
			OUTPUT_PROSE);
		buffer_addc(&p->out.text, '\n');
	}
}

static void put_summary(struct page *p)
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

int audit_tally_print(const struct audit_tally *t, struct error *e)
{
	struct page p = {
		.out = output_for(STDOUT_FILENO),
		.chart = audit_chart_for(STDOUT_FILENO),
		.tally = t,
	};
	int r;

	put_summary(&p);
	if (t->records) {
		put_decisions(&p);
		put_actions(&p);
	}
	if (t->denied->n) {
		audit_tally_print_heading(&p, "Most denied");
		put_top(&p, t->denied, OUTPUT_RED, true);
	}
	if (t->programs->n) {
		audit_tally_print_heading(&p, "Programs");
		put_top(&p, t->programs, OUTPUT_PLAIN, false);
	}
	r = output_write(&p.out, STDOUT_FILENO, e);
	output_deinit(&p.out);
	return r;
}
