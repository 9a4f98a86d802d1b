/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "policy/explain.h"

/* The rows of an explanation start here. */
enum { LABEL_COLUMN = 2, VALUE_COLUMN = 13, COMMAND_COLUMN = 9, WHY_COLUMN = 46 };

static void report_add_visible(struct buffer *out, const char *text)
{
	buffer_add_visible(out, text, strlen(text));
}

/* "policy.yaml:3" of the entry that decided, if it stands in a file. */
static void report_print_place(const struct decision *d, struct buffer *out)
{
	const struct location *where = d->source ? &d->source->where : NULL;

	if (!where || !where->file)
		return;
	report_add_visible(out, where->file);
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
	buffer_addc(&o->text, '\n');
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
	buffer_addc(&o->text, '\n');
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
	buffer_addc(&o->text, '\n');
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
	buffer_addc(&o->text, '\n');
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
		buffer_addc(&o->text, '\n');
	}
	buffer_addc(&o->text, '\n');
}

static void print_notes(struct output *o, const struct ask *a, struct arena *arena)
{
	struct options_list notes = { 0 };

	if (report_notes(a, arena, &notes) < 0)
		o->text.failed = true;
	for (size_t i = 0; i < notes.n; i++) {
		print_label(o, "note");
		output_wrapped(o, notes.items[i], OUTPUT_WIDE);
		buffer_addc(&o->text, '\n');
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
		report_add_visible(&reason, j->text);
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
	struct json_tree t = { .arena = c->arena };
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

/* More than this nobody reads. */
enum { NOTES_MAX = 12 };

/* What is worth knowing of j; nothing is added where there is none. */

/* Where a line has many programs, only what decided is told. */
static void note_links(const struct ask *a, const struct judged *j, struct buffer *out)
{
	if (!j->real || (!j->by_real && a->judgement.is_line))
		return;
	buffer_adds(out, "links lead to ");
	report_add_visible(out, j->real);
	buffer_adds(out, j->by_real                         ? ", and that path decided"
			 : j->real_verdict == VERDICT_ALLOW ? ", which is allowed, too"
							    : ", which is not allowed either");
}

static void note_not_found(const struct ask *a, const struct judged *j, struct buffer *out)
{
	(void)a;
	if (!j->not_found)
		return;
	report_add_visible(out, j->name);
	buffer_adds(out, " is in none of the folders that programs are looked for in (/usr/bin …), "
			 "so it was judged by its name alone");
}

/* A program was denied that some arguments might allow. */
static void note_lacks_arguments(const struct ask *a, const struct judged *j, struct buffer *out)
{
	if (j->kind == JUDGED_REQUEST && j->request.op == OPERATION_EXEC && !a->judgement.is_line &&
		!a->is_whole && a->request.n_args == 0 && j->verdict != VERDICT_ALLOW &&
		j->decision.why == DECISION_NO_GRANT)
		buffer_adds(out,
			"it was judged without arguments; entries that ask for some count only if "
			"you give them, with --arg or as a whole command line");
}

static void note_dynamic(const struct ask *a, const struct judged *j, struct buffer *out)
{
	(void)a;
	if (!j->is_dynamic)
		return;
	report_add_visible(out, j->text);
	buffer_adds(
		out, ": some arguments are only known when it runs; it was judged by the others");
}

static void note_interpreter(const struct ask *a, const struct judged *j, struct buffer *out)
{
	const char *slash;

	(void)a;
	if (!judge_is_interpreter(j))
		return;
	slash = strrchr(j->request.target, '/');
	report_add_visible(out, slash ? slash + 1 : j->request.target);
	buffer_adds(out, " runs any code that it is given: what holds then are the files and the "
			 "network that are granted, not the list of programs");
}

static void (*const note_kinds[])(
	const struct ask *a, const struct judged *j, struct buffer *out) = {
	note_links,
	note_not_found,
	note_lacks_arguments,
	note_dynamic,
	note_interpreter,
};

/* Once is enough, however many commands it holds for. */
static int report_notes_add(
	struct options_list *notes, struct arena *arena, const struct buffer *text)
{
	const char *copy;

	for (size_t i = 0; i < notes->n; i++) {
		if (strcmp(notes->items[i], buffer_text(text)) == 0)
			return 0;
	}
	if (notes->n == NOTES_MAX)
		return 0;
	copy = text->failed ? NULL : arena_strdup(arena, buffer_text(text));
	if (!copy)
		return -ENOMEM;
	return ARENA_PUSH(arena, notes->items, notes->n, notes->cap, copy);
}

int report_notes(const struct ask *a, struct arena *arena, struct options_list *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->judgement.n; i++) {
		const struct judged *j = &a->judgement.items[i];

		for (size_t k = 0; r == 0 && k < ROWS(note_kinds); k++) {
			auto_buffer text = { 0 };

			note_kinds[k](a, j, &text);
			if (text.len || text.failed)
				r = report_notes_add(ret, arena, &text);
		}
	}
	return r;
}

static struct node *rule_tree(struct json_tree *t, const struct decision *d)
{
	const struct source *s = d->source;
	struct node *rule;

	if (!s)
		return NULL;
	rule = tree_map(t);
	tree_put_text(t, rule, "file", s->where.file);
	tree_put_number(t, rule, "line", s->where.line);
	tree_put_number(t, rule, "column", s->where.column);
	tree_put_text(t, rule, "list", s->list);
	tree_put_text(t, rule, "id", s->id);
	tree_put_text(t, rule, "pattern", s->text);
	return rule;
}

/* What every judged thing has: verdict, reason, rule. */
static void put_answer(struct json_tree *t, struct node *to, const struct judged *j)
{
	auto_buffer reason = { 0 };

	judge_reason(j, &reason);
	tree_put_buffer(t, to, "reason", &reason);
	tree_put(t, to, "rule", j->kind == JUDGED_REQUEST ? rule_tree(t, &j->decision) : NULL);
}

static struct node *layers_tree(struct json_tree *t, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	struct node *list = tree_list(t);

	for (size_t i = 0; j->kind == JUDGED_REQUEST && i < policy_layers(a->policy); i++) {
		struct judged there = { .request = j->request };
		struct node *layer = tree_map(t);

		if (policy_decide_layer(a->policy, i, &there.request, &there.decision) < 0)
			continue;
		tree_put_text(t, layer, "verdict", verdict_name(there.decision.verdict));
		tree_put_text(t, layer, "origin", policy_layer(a->policy, i)->origin);
		put_answer(t, layer, &there);
		tree_append(t, list, layer);
	}
	return list;
}

static struct node *commands_tree(struct json_tree *t, const struct ask *a)
{
	static const char *const kinds[] = {
		[JUDGED_REQUEST] = "judged",
		[JUDGED_BUILTIN] = "builtin",
		[JUDGED_UNKNOWN] = "unknown",
	};
	struct node *list = tree_list(t);

	for (size_t i = 0; a->judgement.is_line && i < a->judgement.n; i++) {
		const struct judged *j = &a->judgement.items[i];
		bool asked = j->kind == JUDGED_REQUEST;
		struct node *command = tree_map(t);

		tree_put_text(t, command, "verdict", verdict_name(j->verdict));
		tree_put_text(t, command, "text", j->text);
		tree_put_text(t, command, "kind", kinds[j->kind]);
		tree_put_text(t, command, "op", asked ? operation_name(j->request.op) : NULL);
		tree_put_text(t, command, "judged", asked ? j->request.target : NULL);
		put_answer(t, command, j);
		tree_put_flag(t, command, "dynamic", j->is_dynamic || j->kind == JUDGED_UNKNOWN);
		tree_put_number(t, command, "depth", j->depth);
		tree_append(t, list, command);
	}
	return list;
}

static struct node *notes_tree(struct json_tree *t, const struct ask *a)
{
	struct options_list notes = { 0 };
	struct node *list = tree_list(t);

	if (report_notes(a, t->arena, &notes) < 0)
		t->failed = true;
	for (size_t i = 0; i < notes.n; i++)
		tree_append_text(t, list, notes.items[i]);
	return list;
}

struct node *report_tree(struct json_tree *t, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	struct node *root = tree_map(t);
	struct request request = judge_remedy_request(j);
	auto_buffer remedy = { 0 }, line = { 0 };
	bool asked = j->kind == JUDGED_REQUEST;

	if (asked) {
		explain_remedy(&request, &j->decision, &remedy);
		explain_line(&request, &j->decision, &line);
	}
	tree_put_text(t, root, "verdict", verdict_name(j->verdict));
	tree_put_text(t, root, "op", operation_name(a->request.op));
	tree_put_text(t, root, "target", a->request.target);
	tree_put_text(t, root, "judged", asked ? j->request.target : NULL);
	tree_put_text(t, root, "real", j->real);
	put_answer(t, root, j);
	tree_put_buffer(t, root, "remedy", &remedy);
	tree_put_buffer(t, root, "line", &line);
	tree_put_text(t, root, "would",
		asked && j->decision.monitored ? verdict_name(j->decision.would) : NULL);
	tree_put(t, root, "layers", layers_tree(t, a));
	tree_put(t, root, "commands", commands_tree(t, a));
	tree_put(t, root, "notes", notes_tree(t, a));
	return root;
}
