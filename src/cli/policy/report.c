/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output.h"
#include "policy/explain.h"
#include "policy/network/one-host.h"
#include "policy/operation-names.h"

/* From options to a judgement */

static const char *const report_methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
	"OPTIONS", NULL };

static int take_method(struct call *c, const struct options_row *row, const char *value)
{
	if (host_method(value))
		return options_text(c, row, value);
	return options_refuse(c, row, value, -EINVAL);
}

static int ask_parse(struct ask *a, struct call *c)
{
	const struct options_row rows[] = {
		{ { "policy", SCHEMA_TEXT,
			  .help = "a file or folder with permissions, a skill or rules;\n"
				  "if repeated, all of them must allow",
			  .many = true },
			'p', "FILE", .target = &a->policies },
		STORED_NAMED(&a->stored),
		{ { "op", SCHEMA_CHOICE, true, .words = operation_names,
			  .help = "fs.read, fs.write, net.connect, exec, env, service or\n"
				  "secret" },
			'o', "OP", .target = &a->request.op },
		{ { "target", SCHEMA_TEXT, true,
			  .help = "the target: a path; host:port or a URL; a program or a\n"
				  "command line; NAME or NAME=value; service.access:value;\n"
				  "a secret's NAME=HOST:PORT" },
			't', "TARGET", .target = &a->request.target },
		{ { "arg", SCHEMA_TEXT, .help = "an argument of the program; may be repeated",
			  .many = true },
			'a', "ARG", .target = &a->arguments },
		{ { "method", SCHEMA_CHOICE, .words = report_methods,
			  .help = "the HTTP method, for a URL" },
			'm', "METHOD", .target = &a->request.method, .take = take_method },
		LOAD_SET(&a->load),
		OPTIONS_JSON(&a->json),
	};

	return options_parse(c, rows, ROWS(rows));
}

/* Without a policy: what `corral run` without one would do here, stored policies included. */
static int ask_default(struct ask *a, struct call *c)
{
	auto_buffer text = { 0 };
	int r;

	buffer_adds(&text, "extends: workspace\n");
	r = load_add_text(&a->load, c, "profile workspace", MANIFEST_PERMISSIONS, &text);
	/* There is no file to add a line to. */
	if (r == 0)
		a->load.files[0].permissions->line_place = LINE_NOWHERE;
	for (int is_user = 0; r == 0 && is_user < 2; is_user++) {
		struct stored_place place;

		r = stored_open_place(c, !is_user, &place);
		if (r == 0 && place.config)
			r = stored_load(&a->load, c, &place);
	}
	return r;
}

/* Everything up to the answer. 1: --help was printed. */
static int ask_run(struct ask *a, struct call *c)
{
	static const char *const none = NULL;
	struct judge j = { .call = c, .variables = &a->load.variables };
	int r = ask_parse(a, c);

	/* Options that say something only together with another. */
	if (r == 0 && a->arguments.n && a->request.op != OPERATION_EXEC)
		r = options_misused(c, "--arg requires --op exec");
	else if (r == 0 && a->request.method && a->request.op != OPERATION_NET_CONNECT)
		r = options_misused(c, "--method requires --op net.connect");
	if (r == 0)
		r = load_begin(&a->load, c);
	if (r == 0)
		r = load_add_all(&a->load, c, a->policies.items, a->policies.n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = stored_load_named(&a->load, c, &a->stored);
	if (r == 0 && a->policies.n == 0 && a->stored.names.n == 0)
		r = ask_default(a, c);
	if (r == 0)
		r = load_compile(&a->load, c, &a->policy);
	if (r != 0)
		return r;
	/* As in a shell, a name alone is a program without arguments. */
	a->request.args = a->arguments.n ? a->arguments.items : &none;
	a->request.n_args = a->arguments.n;
	j.policy = a->policy;
	return judge_request(&j, &a->request, &a->judgement);
}

static void ask_deinit(struct ask *a)
{
	policy_free(a->policy);
	load_deinit(&a->load);
}
#define auto_ask __attribute__((cleanup(ask_deinit))) struct ask

/* The rows of an explanation start here. */
enum { LABEL_COLUMN = 2, VALUE_COLUMN = 13, COMMAND_COLUMN = 9, WHY_COLUMN = 46 };

static void report_add_visible(struct buffer *out, const char *text)
{
	buffer_add_visible(out, text, strlen(text));
}

/* The reason, and behind it the place of the entry that decided. */
static void report_print_reason(const struct judged *j, struct buffer *out)
{
	const struct source *s = j->kind == JUDGED_REQUEST ? j->decision.source : NULL;

	judge_reason(j, out);
	if (!s || !s->grant->where.file)
		return;
	buffer_adds(out, " (");
	report_add_visible(out, s->grant->where.file);
	if (s->grant->where.line)
		buffer_printf(out, ":%u", s->grant->where.line);
	buffer_addc(out, ')');
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

static void note_inspect(const struct ask *a, const struct judged *j, struct buffer *out);

void report_line(struct output *o, const struct ask *a, struct arena *arena)
{
	auto_buffer note = { 0 };

	(void)arena;
	note_inspect(a, a->judgement.deciding, &note);
	output_verdict(o, a->judgement.deciding->verdict);
	buffer_adds(&o->text, "  ");
	report_print_target(o, a);
	buffer_adds(&o->text, "  ");
	print_why(o, a);
	buffer_addc(&o->text, '\n');
	if (note.len)
		buffer_printf(&o->text, "       %s\n", buffer_text(&note));
}

/* More than this is not shown. */
enum { NOTES_MAX = 12 };

/* What is worth knowing of j; nothing is added where there is none. */

/* Where a line has many programs, only what decided is reported. */
static void note_links(const struct ask *a, const struct judged *j, struct buffer *out)
{
	if (!j->real || (!j->by_real && a->judgement.is_line))
		return;
	buffer_adds(out, "symbolic links resolve to ");
	report_add_visible(out, j->real);
	buffer_adds(out, j->by_real                         ? ", and that path was decisive"
			 : j->real_verdict == VERDICT_ALLOW ? ", which is also allowed"
							    : ", which is not allowed either");
}

static void note_not_found(const struct ask *a, const struct judged *j, struct buffer *out)
{
	(void)a;
	if (!j->not_found)
		return;
	report_add_visible(out, j->name);
	buffer_adds(out, " was not found in the usual program folders (/usr/bin …), so only its "
			 "name was checked");
}

/* A program was denied that some arguments might allow. */
static void note_lacks_arguments(const struct ask *a, const struct judged *j, struct buffer *out)
{
	if (j->kind == JUDGED_REQUEST && j->request.op == OPERATION_EXEC && !a->judgement.is_line &&
		!a->is_whole && a->request.n_args == 0 && j->verdict != VERDICT_ALLOW &&
		j->decision.why == DECISION_NO_GRANT)
		buffer_adds(out,
			"it was checked without arguments; entries with arguments match only if "
			"you give them, with --arg or as a whole command line");
}

static void note_dynamic(const struct ask *a, const struct judged *j, struct buffer *out)
{
	(void)a;
	if (!j->is_dynamic)
		return;
	report_add_visible(out, j->text);
	buffer_adds(out, ": some arguments are only known at run time; only the others were "
			 "checked");
}

static void note_interpreter(const struct ask *a, const struct judged *j, struct buffer *out)
{
	const char *slash;

	(void)a;
	if (!judge_is_interpreter(j))
		return;
	slash = strrchr(j->request.target, '/');
	report_add_visible(out, slash ? slash + 1 : j->request.target);
	buffer_adds(out, " runs any code that it is given: the grants for files and network "
			 "still apply, the list of programs does not");
}

/* A path or a method decided, which is not seen inside the TLS of a command. */
static void note_inspect(const struct ask *a, const struct judged *j, struct buffer *out)
{
	const struct source *s = j->kind == JUDGED_REQUEST ? j->decision.source : NULL;
	const char *const *opened;
	struct host_request host, one;
	auto_buffer place = { 0 };
	bool is_narrowed = s && s->in->methods && s->in->methods->n > 0;
	size_t n;

	if (!s || j->request.op != OPERATION_NET_CONNECT ||
		host_request_parse(&host, j->request.target, NULL) < 0 || !host.has_url_path ||
		host.port == 80 || host.transport != TRANSPORT_TCP)
		return;
	for (size_t i = 0; i < s->grant->n; i++) {
		auto_arena scratch = { 0 };
		struct host_pattern p;

		is_narrowed = is_narrowed || (host_pattern_parse(&p, &scratch, s->grant->all[i],
						      NULL, NULL) == 0 &&
						     p.n_url_paths > 0);
	}
	opened = policy_opened(a->policy, &n);
	for (size_t i = 0; is_narrowed && i < n; i++)
		is_narrowed = one_host_parse(opened[i], strlen(opened[i]), &one) < 0 ||
			      !one_host_is(&one, &host);
	if (!is_narrowed)
		return;
	host_request_print(&host, &place);
	buffer_adds(out, "inside the TLS of a command this needs network.inspect: "
			 "network: {inspect: [\"");
	report_add_visible(out, buffer_text(&place));
	buffer_adds(out, "\"]}");
}

static void (*const note_kinds[])(
	const struct ask *a, const struct judged *j, struct buffer *out) = {
	note_links,
	note_not_found,
	note_lacks_arguments,
	note_dynamic,
	note_interpreter,
	note_inspect,
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

/* What is worth knowing beside the verdict, a sentence each; in the arena. */
static int report_notes(const struct ask *a, struct arena *arena, struct options_list *ret)
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
	output_line(o, buffer_text(value));
}

/* A layer whose name is too long for a column, as stored policies have, has its reason below. */
static void print_layers(struct output *o, const struct ask *a)
{
	enum { NAME_COLUMN = VALUE_COLUMN + 7, NAME_MAX_WIDTH = 40 };
	const size_t n = policy_layers(a->policy);
	size_t width = 0;

	for (size_t i = 0; i < n; i++) {
		const char *origin = policy_layer(a->policy, i)->origin;
		size_t len = origin ? strlen(origin) : 0;

		width = len > width && len <= NAME_MAX_WIDTH ? len : width;
	}
	for (size_t i = 0; i < n; i++) {
		const char *origin = policy_layer(a->policy, i)->origin;
		struct judged there = { .request = a->judgement.deciding->request };
		auto_buffer reason = { 0 };

		if (i == 0)
			print_label(o, n == 1 ? "layer" : "layers");
		else
			buffer_printf(&o->text, "%*s", VALUE_COLUMN, "");
		if (policy_decide_layer(a->policy, i, &there.request, &there.decision) < 0)
			continue;
		output_verdict(o, there.decision.verdict);
		output_pad(o, NAME_COLUMN);
		output_foreign(o, origin ? origin : "-");
		if (origin && strlen(origin) > NAME_MAX_WIDTH)
			buffer_printf(&o->text, "\n%*s", NAME_COLUMN + 2, "");
		else
			output_pad(o, NAME_COLUMN + width + 2);
		report_print_reason(&there, &reason);
		output_line(o, buffer_text(&reason));
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
		output_line(o, buffer_text(&reason));
	}
	buffer_addc(&o->text, '\n');
}

void report_explain(struct output *o, const struct ask *a, struct arena *arena)
{
	const struct judged *j = a->judgement.deciding;
	struct request request = judge_remedy_request(j);
	auto_buffer reason = { 0 }, rule = { 0 }, remedy = { 0 };
	struct options_list notes = { 0 };

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
	/* What is built in has no file; `corral run` names the option. */
	if (!j->decision.layer || j->decision.layer->line_place != LINE_NOWHERE ||
		j->decision.source)
		print_row(o, "to allow", &remedy);
	if (j->kind == JUDGED_REQUEST)
		print_layers(o, a);
	if (report_notes(a, arena, &notes) < 0)
		o->text.failed = true;
	for (size_t i = 0; i < notes.n; i++) {
		print_label(o, "note");
		output_line(o, notes.items[i]);
	}
}

/* For programs */

/* What every judged thing has: verdict, reason, rule. */
static void put_answer(struct json_tree *t, struct node *to, const struct judged *j)
{
	const struct source *s = j->kind == JUDGED_REQUEST ? j->decision.source : NULL;
	auto_buffer reason = { 0 };
	struct node *rule;

	judge_reason(j, &reason);
	tree_put_buffer(t, to, "reason", &reason);
	if (!s) {
		tree_put(t, to, "rule", NULL);
		return;
	}
	rule = tree_put_map(t, to, "rule");
	tree_put_text(t, rule, "file", s->grant->where.file);
	tree_put_number(t, rule, "line", s->grant->where.line);
	tree_put_number(t, rule, "column", s->grant->where.column);
	tree_put_text(t, rule, "list", s->in->name);
	tree_put_text(t, rule, "id", s->in->id);
	tree_put_text(t, rule, "pattern", s->grant->all[0]);
}

static void put_layers(struct json_tree *t, struct node *to, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	struct node *list = tree_put_list(t, to, "layers");

	for (size_t i = 0; j->kind == JUDGED_REQUEST && i < policy_layers(a->policy); i++) {
		struct judged there = { .request = j->request };
		struct node *layer;

		if (policy_decide_layer(a->policy, i, &there.request, &there.decision) < 0)
			continue;
		layer = tree_append_map(t, list);
		tree_put_text(t, layer, "verdict", verdict_name(there.decision.verdict));
		tree_put_text(t, layer, "origin", policy_layer(a->policy, i)->origin);
		put_answer(t, layer, &there);
	}
}

static void put_commands(struct json_tree *t, struct node *to, const struct ask *a)
{
	static const char *const kinds[] = {
		[JUDGED_REQUEST] = "judged",
		[JUDGED_BUILTIN] = "builtin",
		[JUDGED_UNKNOWN] = "unknown",
	};
	struct node *list = tree_put_list(t, to, "commands");

	for (size_t i = 0; a->judgement.is_line && i < a->judgement.n; i++) {
		const struct judged *j = &a->judgement.items[i];
		bool asked = j->kind == JUDGED_REQUEST;
		struct node *command = tree_append_map(t, list);

		tree_put_text(t, command, "verdict", verdict_name(j->verdict));
		tree_put_text(t, command, "text", j->text);
		tree_put_text(t, command, "kind", kinds[j->kind]);
		tree_put_text(t, command, "op", asked ? operation_name(j->request.op) : NULL);
		tree_put_text(t, command, "judged", asked ? j->request.target : NULL);
		put_answer(t, command, j);
		tree_put_flag(t, command, "dynamic", j->is_dynamic || j->kind == JUDGED_UNKNOWN);
		tree_put_number(t, command, "depth", j->depth);
	}
}

static struct node *report_tree(struct json_tree *t, const struct ask *a)
{
	const struct judged *j = a->judgement.deciding;
	struct node *root = tree_map(t);
	struct request request = judge_remedy_request(j);
	auto_buffer remedy = { 0 }, line = { 0 };
	struct options_list notes = { 0 };
	struct node *list;
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
	put_layers(t, root, a);
	put_commands(t, root, a);
	list = tree_put_list(t, root, "notes");
	t->failed = report_notes(a, t->arena, &notes) < 0 || t->failed;
	for (size_t i = 0; i < notes.n; i++)
		tree_append_text(t, list, notes.items[i]);
	return root;
}

int report_run(struct call *c, report_printer *print)
{
	static const int statuses[] = {
		[VERDICT_DENY] = STATUS_NO,
		[VERDICT_ASK] = STATUS_ASK,
		[VERDICT_ALLOW] = STATUS_YES,
	};
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
	return r < 0 ? r : statuses[a.judgement.deciding->verdict];
}
