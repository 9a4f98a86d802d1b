/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/inspection.h"

#include <string.h>

#include "policy/format/permissions-text.h"

static int inspection_describe(struct inspection *i, struct call *c)
{
	size_t counts[SKILL_HIGH + 1] = { 0 };
	int r = describe_permissions(
		i->skill.manifest.permissions, &i->load.variables, c->arena, &i->description);

	for (size_t k = 0; k < i->findings.n; k++)
		counts[i->findings.items[k].severity]++;
	if (r == 0)
		r = describe_rate(&i->description, counts, c->arena);
	return r < 0 ? error_no_memory(c->error) : 0;
}

int inspection_open(struct inspection *i, struct call *c, const char *folder)
{
	int r = launch_skill_open(&i->skill, folder, c->arena, c->error);

	if (r == 0)
		r = load_begin(&i->load, c);
	if (r == 0)
		r = load_absolute(c, folder, &i->load.variables.values[VARIABLE_SKILL_DIR]);
	if (r == 0)
		r = skill_scan(i->skill.fd, c->arena, &i->findings, c->error);
	if (r == 0)
		r = inspection_describe(i, c);
	/* Nothing may have changed since the digest was taken. */
	return r < 0 ? r : launch_skill_unchanged(&i->skill, c->error);
}

void inspection_deinit(struct inspection *i)
{
	launch_skill_deinit(&i->skill);
	load_deinit(&i->load);
}

bool inspection_is_risky(const struct inspection *i)
{
	for (size_t k = 0; k < i->findings.n; k++) {
		if (i->findings.items[k].severity > SKILL_LOW)
			return true;
	}
	return i->findings.more;
}

/* Where the words behind a severity, and behind a label, start. */
enum { TEXT_COLUMN = 10 };

static void inspection_print_newline(struct output *o)
{
	buffer_addc(&o->text, '\n');
}

static void inspection_print_heading(struct output *o, const char *text)
{
	inspection_print_newline(o);
	output_styled(o, OUTPUT_BOLD, text);
	inspection_print_newline(o);
}

/* Foreign text, made visible and broken into lines. */
static void foreign(struct output *o, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	output_wrapped(o, buffer_text(&visible), OUTPUT_WIDE);
}

static void bullets(struct output *o, const struct description_lines *lines)
{
	for (size_t k = 0; k < lines->n; k++) {
		buffer_adds(&o->text, "  - ");
		foreign(o, lines->items[k]);
		inspection_print_newline(o);
	}
}

static void print_head(const struct inspection *i, struct output *o)
{
	const struct manifest *m = &i->skill.manifest;
	auto_buffer name = { 0 };

	if (m->name)
		buffer_add_visible(&name, m->name, strlen(m->name));
	output_styled(o, OUTPUT_BOLD, name.len ? buffer_text(&name) : "(a skill without a name)");
	if (m->version) {
		buffer_addc(&o->text, ' ');
		output_foreign(o, m->version);
	}
	if (m->author) {
		buffer_adds(&o->text, ", by ");
		output_foreign(o, m->author);
	}
	inspection_print_newline(o);
	if (m->description) {
		foreign(o, m->description);
		inspection_print_newline(o);
	}
	output_foreign(o, m->permissions->origin ? m->permissions->origin : i->skill.path);
	inspection_print_newline(o);
}

static void inspection_print_finding(const struct skill_finding *f, struct output *o)
{
	static const enum output_style styles[] = {
		[SKILL_LOW] = OUTPUT_DIM,
		[SKILL_MEDIUM] = OUTPUT_YELLOW,
		[SKILL_HIGH] = OUTPUT_RED,
	};
	auto_buffer text = { 0 };

	buffer_adds(&o->text, "  ");
	output_styled(o, styles[f->severity], skill_severity_name(f->severity));
	output_pad(o, TEXT_COLUMN);
	buffer_add_visible(&text, f->file, strlen(f->file));
	if (f->line)
		buffer_printf(&text, ":%u", f->line);
	buffer_printf(&text, ": %s (%s)", f->what, f->id);
	output_wrapped(o, buffer_text(&text), OUTPUT_WIDE);
	inspection_print_newline(o);
	if (f->excerpt[0]) {
		output_pad(o, TEXT_COLUMN);
		output_cut(o, OUTPUT_DIM, f->excerpt, OUTPUT_WIDE - TEXT_COLUMN);
		inspection_print_newline(o);
	}
}

static void inspection_print_findings(const struct inspection *i, struct output *o)
{
	inspection_print_heading(o, "Signs of risk in its files");
	for (size_t k = 0; k < i->findings.n; k++)
		inspection_print_finding(&i->findings.items[k], o);
	if (i->findings.more)
		buffer_adds(&o->text, "  … and more than can be listed\n");
	if (i->findings.n == 0)
		buffer_adds(&o->text, "  - none were found, which proves nothing\n");
}

static void print_risk(const struct inspection *i, struct output *o)
{
	static const enum output_style styles[] = {
		[RISK_LOW] = OUTPUT_GREEN,
		[RISK_MEDIUM] = OUTPUT_YELLOW,
		[RISK_HIGH] = OUTPUT_RED,
		[RISK_CRITICAL] = OUTPUT_RED,
	};
	enum risk risk = i->description.risk;

	inspection_print_newline(o);
	output_styled(o, OUTPUT_BOLD, "Risk");
	output_pad(o, TEXT_COLUMN);
	output_styled(o, styles[risk], describe_risk_name(risk));
	inspection_print_newline(o);
	bullets(o, &i->description.reasons);
}

static void print_digest(const struct inspection *i, struct output *o)
{
	char hex[SKILL_DIGEST_HEX];

	skill_digest_hex(&i->skill.approval.digest, hex);
	inspection_print_newline(o);
	output_styled(o, OUTPUT_BOLD, "Digest");
	output_pad(o, TEXT_COLUMN);
	buffer_printf(&o->text, "%s\n", hex);
	output_styled(o, OUTPUT_BOLD, "Approved");
	output_pad(o, TEXT_COLUMN);
	buffer_printf(&o->text, "%s: %s\n", i->skill.outcome == APPROVAL_CURRENT ? "yes" : "no",
		launch_skill_outcome(i->skill.outcome));
}

void inspection_print(const struct inspection *i, struct output *o)
{
	print_head(i, o);
	for (size_t k = 0; k < i->description.n; k++) {
		inspection_print_heading(o, i->description.sections[k].title);
		bullets(o, &i->description.sections[k].lines);
	}
	inspection_print_findings(i, o);
	print_risk(i, o);
	print_digest(i, o);
}

static struct node *lines_tree(struct json_tree *t, const struct description_lines *lines)
{
	struct node *list = tree_list(t);

	for (size_t k = 0; k < lines->n; k++)
		tree_append_text(t, list, lines->items[k]);
	return list;
}

static struct node *sections_tree(struct json_tree *t, const struct description *d)
{
	struct node *list = tree_list(t);

	for (size_t k = 0; k < d->n; k++) {
		struct node *section = tree_map(t);

		tree_put_text(t, section, "title", d->sections[k].title);
		tree_put(t, section, "lines", lines_tree(t, &d->sections[k].lines));
		tree_append(t, list, section);
	}
	return list;
}

static struct node *findings_tree(struct json_tree *t, const struct skill_findings *findings)
{
	struct node *list = tree_list(t);

	for (size_t k = 0; k < findings->n; k++) {
		const struct skill_finding *f = &findings->items[k];
		struct node *finding = tree_map(t);

		tree_put_text(t, finding, "severity", skill_severity_name(f->severity));
		tree_put_text(t, finding, "id", f->id);
		tree_put_text(t, finding, "file", f->file);
		tree_put_number(t, finding, "line", f->line);
		tree_put_text(t, finding, "text", f->what);
		tree_put_text(t, finding, "excerpt", f->excerpt);
		tree_append(t, list, finding);
	}
	return list;
}

static struct node *permissions_tree(struct json_tree *t, const struct permissions *p)
{
	struct node *n = permissions_to_node(p, t->arena);

	t->failed = t->failed || !n;
	return n;
}

struct node *inspection_tree(const struct inspection *i, struct json_tree *t)
{
	const struct manifest *m = &i->skill.manifest;
	struct node *root = tree_map(t);
	char hex[SKILL_DIGEST_HEX];

	skill_digest_hex(&i->skill.approval.digest, hex);
	tree_put_text(t, root, "name", m->name);
	tree_put_text(t, root, "version", m->version);
	tree_put_text(t, root, "description", m->description);
	tree_put_text(t, root, "author", m->author);
	tree_put_text(t, root, "path", i->skill.path);
	tree_put_text(t, root, "manifest", m->permissions->origin);
	tree_put(t, root, "permissions", permissions_tree(t, m->permissions));
	tree_put(t, root, "sections", sections_tree(t, &i->description));
	tree_put(t, root, "findings", findings_tree(t, &i->findings));
	tree_put_flag(t, root, "more_findings", i->findings.more);
	tree_put_text(t, root, "risk", describe_risk_name(i->description.risk));
	tree_put(t, root, "reasons", lines_tree(t, &i->description.reasons));
	tree_put_text(t, root, "digest", hex);
	tree_put_flag(t, root, "approved", i->skill.outcome == APPROVAL_CURRENT);
	tree_put_text(t, root, "approval", launch_skill_outcome(i->skill.outcome));
	return root;
}
