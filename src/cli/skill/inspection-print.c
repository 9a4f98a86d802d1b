/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/skill/inspection.h"

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
