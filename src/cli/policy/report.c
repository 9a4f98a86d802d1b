/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/report.h"

#include <string.h>
#include <unistd.h>

#include "policy/explain.h"

/* The rows of an explanation start here. */
enum { LABEL_COLUMN = 2, VALUE_COLUMN = 13, COMMAND_COLUMN = 9, WHY_COLUMN = 46 };

static void report_newline(struct output *o)
{
	buffer_addc(&o->text, '\n');
}

/* "policy.yaml:3" of the entry that decided, if it stands in a file. */
static void report_print_place(const struct decision *d, struct buffer *out)
{
	const struct location *where = d->source ? &d->source->where : NULL;

	if (!where || !where->file)
		return;
	buffer_add_visible(out, where->file, strlen(where->file));
	if (where->line)
		buffer_printf(out, ":%u", where->line);
}

/* The reason, and behind it the place of the entry that decided. */
static void report_print_reason(const struct judged *j, struct buffer *out)
{
	auto_buffer place = { 0 };

	judge_reason(j, out);
	if (j->kind == JUDGED_REQUEST)
		report_print_place(&j->decision, &place);
	if (place.len)
		buffer_printf(out, " (%s)", buffer_text(&place));
}

static void report_print_target(struct output *o, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;

	buffer_printf(&o->text, "%s ", operation_name(a->request.op));
	output_foreign(o, a->judgement.is_line ? a->request.target : j->text);
	for (size_t i = 0; i < a->request.n_args; i++) {
		buffer_addc(&o->text, ' ');
		output_foreign(o, a->request.args[i]);
	}
	if (j->real && !a->judgement.is_line) {
		buffer_adds(&o->text, " -> ");
		output_foreign(o, j->real);
	}
}

/* One line */

static void print_why(struct output *o, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	bool granted = j->kind == JUDGED_REQUEST && j->decision.why == DECISION_RULE &&
		       j->verdict == VERDICT_ALLOW && !j->decision.monitored;

	if (a->judgement.n > 1 && j->verdict == VERDICT_ALLOW) {
		buffer_printf(&o->text, "(%zu parts, all allowed)", a->judgement.n);
		return;
	}
	if (a->judgement.n > 1) {
		output_foreign(o, j->text);
		buffer_adds(&o->text, ": ");
	}
	if (granted) {
		buffer_addc(&o->text, '(');
		explain_rule(&j->decision, &o->text);
		buffer_addc(&o->text, ')');
	} else {
		report_print_reason(j, &o->text);
	}
}

void report_line(struct output *o, const struct ask *a, struct arena *arena)
{
	(void)arena;
	output_verdict(o, a->judgement.deciding->verdict);
	buffer_adds(&o->text, "  ");
	report_print_target(o, a);
	buffer_adds(&o->text, "  ");
	print_why(o, a);
	report_newline(o);
}

/* At length */

static void print_label(struct output *o, const char *label)
{
	buffer_printf(&o->text, "%*s", LABEL_COLUMN, "");
	output_styled(o, OUTPUT_BOLD, label);
	output_pad(o, VALUE_COLUMN);
}

static void print_row(struct output *o, const char *label, const struct buffer *value)
{
	if (!value->len)
		return;
	print_label(o, label);
	output_wrapped(o, buffer_text(value), OUTPUT_WIDE);
	report_newline(o);
}

static size_t origin_width(const struct policy *p)
{
	size_t width = 0;

	for (size_t i = 0; i < policy_layers(p); i++) {
		const char *origin = policy_layer(p, i)->origin;
		size_t len = origin ? strlen(origin) : 0;

		width = len > width ? len : width;
	}
	return width < 40 ? width : 40;
}

static void print_layer(struct output *o, const struct ask *a, size_t i, size_t width)
{
	const struct layer *l = policy_layer(a->policy, i);
	struct judged there = { .request = a->judgement.deciding->request };
	auto_buffer reason = { 0 };

	if (policy_decide_layer(a->policy, i, &there.request, &there.decision) < 0)
		return;
	output_verdict(o, there.decision.verdict);
	output_pad(o, VALUE_COLUMN + 7);
	output_foreign(o, l->origin ? l->origin : "-");
	output_pad(o, VALUE_COLUMN + 7 + width + 2);
	report_print_reason(&there, &reason);
	output_wrapped(o, buffer_text(&reason), OUTPUT_WIDE);
	report_newline(o);
}

static void print_layers(struct output *o, const struct ask *a)
{
	size_t n = policy_layers(a->policy), width = origin_width(a->policy);

	for (size_t i = 0; i < n; i++) {
		if (i == 0)
			print_label(o, n == 1 ? "layer" : "layers");
		else
			buffer_printf(&o->text, "%*s", VALUE_COLUMN, "");
		print_layer(o, a, i, width);
	}
}

static void print_commands(struct output *o, const struct ask *a)
{
	buffer_printf(&o->text, "%*s", LABEL_COLUMN, "");
	output_styled(o, OUTPUT_BOLD, "part");
	output_pad(o, WHY_COLUMN);
	output_styled(o, OUTPUT_BOLD, "why");
	report_newline(o);
	for (size_t i = 0; i < a->judgement.n; i++) {
		const struct judged *j = &a->judgement.items[i];
		size_t indent = 2 * (j->depth < 6 ? j->depth : 6);
		auto_buffer reason = { 0 };

		buffer_printf(&o->text, "%*s", LABEL_COLUMN, "");
		output_verdict(o, j->verdict);
		output_pad(o, COMMAND_COLUMN + indent);
		output_cut(o, OUTPUT_PLAIN, j->text, WHY_COLUMN - 2 - COMMAND_COLUMN - indent);
		output_pad(o, WHY_COLUMN);
		report_print_reason(j, &reason);
		output_wrapped(o, buffer_text(&reason), OUTPUT_WIDE);
		report_newline(o);
	}
	report_newline(o);
}

static void print_notes(struct output *o, const struct ask *a, struct arena *arena)
{
	struct options_list notes = { 0 };

	if (report_notes(a, arena, &notes) < 0)
		o->text.failed = true;
	for (size_t i = 0; i < notes.n; i++) {
		print_label(o, "note");
		output_wrapped(o, notes.items[i], OUTPUT_WIDE);
		report_newline(o);
	}
}

void report_explain(struct output *o, const struct ask *a, struct arena *arena)
{
	const struct judged *j = a->judgement.deciding;
	struct request request = judge_remedy_request(j);
	auto_buffer reason = { 0 }, rule = { 0 }, remedy = { 0 };

	output_verdict(o, j->verdict);
	buffer_adds(&o->text, "  ");
	report_print_target(o, a);
	buffer_adds(&o->text, "\n\n");
	if (a->judgement.is_line)
		print_commands(o, a);
	if (a->judgement.n > 1) {
		buffer_add_visible(&reason, j->text, strlen(j->text));
		buffer_adds(&reason, ": ");
	}
	judge_reason(j, &reason);
	if (j->kind == JUDGED_REQUEST) {
		explain_rule(&j->decision, &rule);
		explain_remedy(&request, &j->decision, &remedy);
	}
	print_row(o, "why", &reason);
	print_row(o, "rule", &rule);
	print_row(o, "to allow", &remedy);
	if (j->kind == JUDGED_REQUEST)
		print_layers(o, a);
	print_notes(o, a, arena);
}

int report_run(struct call *c, report_printer *print)
{
	auto_output o = output_for(STDOUT_FILENO);
	auto_ask a = { 0 };
	struct tree t = { .arena = c->arena };
	int r = ask_run(&a, c);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (a.json) {
		r = tree_print(&t, report_tree(&t, &a), c->error);
	} else {
		print(&o, &a, c->arena);
		r = output_write(&o, STDOUT_FILENO, c->error);
	}
	return r < 0 ? r : ask_status(&a);
}
