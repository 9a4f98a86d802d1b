/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp tools`: what the servers of a gateway have, and what of it may be called. */
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/mcp/survey.h"
#include "cli/mcp/verbs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/json-writer.h"
#include "mcp/gateway/result.h"

/* One tool or prompt: what the process has, or what was approved and is gone. */
struct tools_row {
	const struct gateway_member *member;
	enum gateway_kind kind;
	const struct node *tool;
	enum pin_state pin;
};

/* That it lists, of any state; and templates of them. */
static size_t tools_resources(const struct gateway_member *m)
{
	const struct node *resources = upstream_listed(&m->process.upstream, UPSTREAM_RESOURCES);
	const struct node *templates = upstream_listed(&m->process.upstream, UPSTREAM_TEMPLATES);

	return (resources ? resources->count : 0) + (templates ? templates->count : 0);
}

/* Leads to the next row of the same kind: first what the process has, then what is gone. */
static bool tools_settle(struct tools_row *t, const struct node *at)
{
	const struct gateway_member *m = t->member;

	if (t->pin != PIN_GONE && at) {
		t->tool = at;
		t->pin = pins_compare(&m->pins, t->kind, at);
		return true;
	}
	if (t->pin != PIN_GONE) {
		t->pin = PIN_GONE;
		at = m->is_listed && m->config->rules[t->kind].is_on ? pins_first(&m->pins, t->kind)
								     : NULL;
	}
	while (at && gateway_listed(m, t->kind, node_get_text(at, "name")))
		at = at->next;
	t->tool = at;
	return at;
}

static bool tools_begin(const struct gateway_member *m, enum gateway_kind kind, struct tools_row *t)
{
	*t = (struct tools_row){ .member = m, .kind = kind };
	return tools_settle(t, gateway_first(m, kind));
}

static bool tools_next(struct tools_row *t)
{
	return tools_settle(t, t->tool->next);
}

/* What a call would come to. */
static const char *tools_state(const struct tools_row *t)
{
	static const char *const words[VERDICT_COUNT] = { "denied", "asked", "allowed" };

	if (t->pin == PIN_GONE)
		return "gone";
	if (t->pin != PIN_APPROVED)
		return "quarantined";
	return words[gateway_best(t->member->config, t->kind, node_get_text(t->tool, "name"))];
}

/* Of a server that is approved: no other is started. */
static const char *tools_why(const struct tools_row *t)
{
	if (t->pin == PIN_APPROVED)
		return "";
	return t->pin == PIN_NEW       ? "new since the server was approved"
	       : t->pin == PIN_CHANGED ? "changed since it was approved"
				       : "approved, and the server has it no more";
}

/* For people */

static void tools_print_row(struct call *c, struct output *o, const struct tools_row *t)
{
	enum { STATE = 2, NAME = 15 };
	const char *state = tools_state(t), *why = tools_why(t);
	const enum output_style style = strcmp(state, "allowed") == 0 ? OUTPUT_GREEN
					: strcmp(state, "asked") == 0 ? OUTPUT_YELLOW
								      : OUTPUT_RED;

	buffer_adds(&o->text, "  ");
	output_styled(o, style, state);
	output_pad(o, NAME);
	if (t->kind == GATEWAY_PROMPT)
		buffer_adds(&o->text, "prompt ");
	output_name(o, node_get_text(t->tool, "name"));
	if (*why)
		buffer_printf(&o->text, "  (%s)", why);
	buffer_addc(&o->text, '\n');
	mcp_survey_print_signs(c, o, t->member, t->tool, "sign: ");
}

/* Returns whether something of it is quarantined. */
static bool tools_print_member(struct call *c, struct output *o, const struct gateway_member *m)
{
	struct tools_row t;
	bool held = false;

	output_styled(o, OUTPUT_BOLD, m->config->name);
	if (m->has_ended) {
		buffer_adds(&o->text, ": ");
		output_foreign(o, m->why);
	}
	buffer_addc(&o->text, '\n');
	for (int kind = 0; kind < PIN_KINDS; kind++)
		for (bool more = tools_begin(m, (enum gateway_kind)kind, &t); more;
			more = tools_next(&t)) {
			tools_print_row(c, o, &t);
			held |= t.pin == PIN_NEW || t.pin == PIN_CHANGED;
		}
	if (m->config->rules[GATEWAY_RESOURCE].is_on && m->is_listed)
		buffer_printf(&o->text, "  %zu resources\n", tools_resources(m));
	return held;
}

static int tools_print(struct call *c, const struct mcp_survey *s)
{
	auto_output o = output_for(STDOUT_FILENO);
	bool held = false, unseen = false;

	for (size_t i = 0; i < s->gateway->n; i++) {
		const struct gateway_member *m = &s->gateway->members[i];

		held |= tools_print_member(c, &o, m);
		unseen |= m->is_held;
	}
	if (held)
		buffer_printf(&o.text,
			"\nWhat is quarantined cannot be called until it is approved: %s\n",
			buffer_text(&s->command));
	else if (unseen)
		buffer_printf(
			&o.text, "\nTo start and approve a server: %s\n", buffer_text(&s->command));
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* For programs */

static void tools_put_row(struct call *c, struct json_writer *w, const struct tools_row *t)
{
	const char *name = node_get_text(t->tool, "name");
	char shown[GATEWAY_TOOL_BYTES], digest[PIN_DIGEST_BYTES];
	struct skill_findings found = { 0 };

	gateway_name(t->member->config->name, name, shown);
	json_open_map(w, NULL);
	json_put_text(w, "name", name);
	json_put_text(w, "shown_as", shown);
	json_put_text(w, "state", tools_state(t));
	json_put_text(w, "reason", *tools_why(t) ? tools_why(t) : NULL);
	json_put_text(w, "digest", pin_digest(t->tool, digest) ? digest : NULL);
	json_put_text(w, "description", node_get_text(t->tool, "description"));
	json_open_list(w, "signs");
	if (mcp_survey_signs(t->member->gateway->scanner, c->arena, t->tool, &found) < 0)
		w->out->failed = true;
	for (size_t i = 0; i < found.n; i++) {
		if (!gateway_is_sign(&found.items[i]))
			continue;
		json_open_map(w, NULL);
		json_put_text(w, "id", found.items[i].id);
		json_put_text(w, "severity", skill_severity_name(found.items[i].severity));
		json_put_text(w, "what", found.items[i].what);
		json_put_text(w, "excerpt", found.items[i].excerpt);
		json_close(w);
	}
	json_close(w);
	json_close(w);
}

static void tools_put_kind(struct call *c, struct json_writer *w, const struct gateway_member *m,
	enum gateway_kind kind)
{
	struct tools_row t;

	json_open_list(w, kind == GATEWAY_TOOL ? "tools" : "prompts");
	for (bool more = tools_begin(m, kind, &t); more; more = tools_next(&t))
		tools_put_row(c, w, &t);
	json_close(w);
}

static void tools_put_member(struct call *c, struct json_writer *w, const struct gateway_member *m)
{
	json_open_map(w, NULL);
	json_put_text(w, "name", m->config->name);
	json_put_flag(w, "approved", gateway_is_approved(m));
	json_put_text(w, "error", m->has_ended ? m->why : NULL);
	tools_put_kind(c, w, m, GATEWAY_TOOL);
	if (m->config->rules[GATEWAY_PROMPT].is_on)
		tools_put_kind(c, w, m, GATEWAY_PROMPT);
	if (m->config->rules[GATEWAY_RESOURCE].is_on)
		json_put_count(w, "resources", tools_resources(m));
	json_close(w);
}

static int tools_print_json(struct call *c, const struct mcp_survey *s)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };

	json_open_map(&w, NULL);
	json_put_text(&w, "config", s->path);
	json_open_list(&w, "servers");
	for (size_t i = 0; i < s->gateway->n; i++)
		tools_put_member(c, &w, &s->gateway->members[i]);
	json_end_line(&w);
	return output_write(&o, STDOUT_FILENO, c->error);
}

int mcp_tools_main(struct call *c)
{
	bool json = false, has_failed = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	struct mcp_survey s = { 0 };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = mcp_survey_load(&s, c, c->words[0]);
	if (r == 0)
		r = mcp_survey_look(&s, c, NULL, NULL);
	if (r == 0)
		r = json ? tools_print_json(c, &s) : tools_print(c, &s);
	for (size_t i = 0; r >= 0 && i < s.gateway->n; i++)
		has_failed |= s.gateway->members[i].has_ended;
	mcp_survey_deinit(&s);
	return r < 0 ? r : has_failed ? STATUS_NO : STATUS_YES;
}
