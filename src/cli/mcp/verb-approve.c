/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `corral mcp approve`: shows what is new and what changed, asks, and pins it. A server with a
 * command that was not approved is shown and asked about before it is started.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/diff.h"
#include "cli/mcp/survey.h"
#include "cli/mcp/verbs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/schema.h"
#include "mcp/gateway/result.h"

/* What is asked for: a server, or one tool or prompt of it. */
struct approve_one {
	struct gateway_member *member;
	const char *name; /* NULL: all */
};

/* Showing */

static void approve_print_words(
	struct buffer *out, const char *what, const struct node *list, const char *const *words)
{
	buffer_printf(out, "%s:", what);
	for (const struct node *w = list ? list->first : NULL; w; w = w->next) {
		buffer_addc(out, ' ');
		output_shell_word(out, node_text(w) ? node_text(w) : "");
	}
	for (size_t i = 0; words && words[i]; i++) {
		buffer_addc(out, ' ');
		output_shell_word(out, words[i]);
	}
	buffer_addc(out, '\n');
}

static void approve_show_command(struct output *o, const struct gateway_member *m)
{
	auto_buffer old = { 0 }, new = { 0 };

	if (m->pins.exists) {
		approve_print_words(&old, m->pins.url ? "url" : "command",
			m->pins.url ? m->pins.url : m->pins.command, NULL);
		approve_print_words(&old, "options", m->pins.options, NULL);
	}
	approve_print_words(
		&new, m->config->is_remote ? "url" : "command", NULL, m->config->command);
	approve_print_words(&new, "options", NULL, m->config->options);
	diff_print(o, "  ", buffer_text(&old), old.len, buffer_text(&new), new.len);
}

/* One tool or prompt, as far as it differs from what was approved. Returns whether it does. */
static bool approve_show_one(struct call *c, struct output *o, const struct gateway_member *m,
	enum gateway_kind kind, const char *name, const struct node *now)
{
	const struct node *old = pins_find(&m->pins, kind, name);
	auto_buffer before = { 0 }, after = { 0 };

	if (old && now && pins_compare(&m->pins, kind, now) == PIN_APPROVED)
		return false;
	if (old)
		pin_print(old, &before);
	if (now)
		pin_print(now, &after);
	if (before.failed || after.failed)
		o->text.failed = true;
	buffer_adds(&o->text, "  ");
	output_styled(o, OUTPUT_BOLD, !old ? "new: " : now ? "changed: " : "gone: ");
	if (kind == GATEWAY_PROMPT)
		buffer_adds(&o->text, "prompt ");
	output_name(o, name);
	buffer_addc(&o->text, '\n');
	diff_print(o, "    ", buffer_text(&before), before.len, buffer_text(&after), after.len);
	if (now)
		mcp_survey_print_signs(c, o, m, now, "look at this: ");
	return true;
}

static bool approve_is_meant(const struct approve_one *one, const struct node *definition)
{
	return !one->name || strcmp(one->name, node_get_text(definition, "name")) == 0;
}

/* Of one kind. Returns whether anything differs. */
static bool approve_show_kind(
	struct call *c, struct output *o, const struct approve_one *one, enum gateway_kind kind)
{
	const struct gateway_member *m = one->member;
	bool differs = false;

	for (const struct node *t = gateway_first(m, kind); t; t = t->next)
		if (approve_is_meant(one, t))
			differs |= approve_show_one(c, o, m, kind, node_get_text(t, "name"), t);
	for (const struct node *t = pins_first(&m->pins, kind); t; t = t->next) {
		const char *name = node_get_text(t, "name");

		if (approve_is_meant(one, t) && !gateway_listed(m, kind, name))
			differs |= approve_show_one(c, o, m, kind, name, NULL);
	}
	return differs;
}

/* Whether there is anything to approve. */
static bool approve_show(struct call *c, struct output *o, const struct approve_one *one)
{
	const struct gateway_member *m = one->member;
	bool differs = !gateway_is_approved(m);

	/* Of one that is not approved the command was shown before it was started. */
	output_styled(o, OUTPUT_BOLD, m->config->name);
	buffer_addc(&o->text, '\n');
	for (int kind = 0; kind < PIN_KINDS; kind++)
		differs |= approve_show_kind(c, o, one, (enum gateway_kind)kind);
	if (!differs)
		buffer_adds(&o->text, "  approved as it is\n");
	return differs;
}

/* Pinning */

/* What is approved from now on: all that the server has, or one beside those before. */
static struct node *approve_collect(
	struct call *c, const struct approve_one *one, enum gateway_kind kind)
{
	const struct gateway_member *m = one->member;
	struct node *list = node_new(c->arena, NODE_LIST);
	const bool keeps = one->name && gateway_is_approved(m);

	for (const struct node *t = keeps ? pins_first(&m->pins, kind) : NULL; t && list;
		t = t->next)
		if (!approve_is_meant(one, t) && !node_append(list, node_copy(c->arena, t)))
			list = NULL;
	for (const struct node *t = gateway_first(m, kind); t && list; t = t->next)
		if (approve_is_meant(one, t) && !node_append(list, node_copy(c->arena, t)))
			list = NULL;
	return list;
}

static int approve_one(
	struct call *c, const struct mcp_survey *s, const struct approve_one *one, bool yes)
{
	auto_output o = output_for(STDOUT_FILENO);
	const struct gateway_member *m = one->member;
	const bool differs = approve_show(c, &o, one);
	auto_buffer question = { 0 };
	const struct node *defined[PIN_KINDS];
	int r = output_write(&o, STDOUT_FILENO, c->error);

	if (r < 0 || !differs)
		return r < 0 ? r : STATUS_YES;
	buffer_printf(&question, "Approve %s%s%s as shown? [y/N] ", m->config->name,
		one->name ? "." : "", one->name ? one->name : "");
	if (question.failed)
		return error_no_memory(c->error);
	if (!yes && !output_agrees(question.data))
		return STATUS_NO;
	r = 0;
	for (int kind = 0; kind < PIN_KINDS; kind++) {
		defined[kind] = approve_collect(c, one, (enum gateway_kind)kind);
		r = defined[kind] ? r : -ENOMEM;
	}
	r = r < 0 ? r : pins_write(s->path, m->config, defined);
	return r < 0 ? error_set(c->error, r, NULL, "the approval of %s cannot be stored: %s",
			       m->config->name, strerror(-r))
		     : STATUS_YES;
}

/* Starting */

struct approve_start {
	struct call *c;
	bool yes;
};

static bool approve_is_named(const struct call *c, const char *server)
{
	const size_t len = strlen(server);
	bool found = c->n < 2;

	for (size_t i = 1; !found && i < c->n; i++)
		found = strncmp(c->words[i], server, len) == 0 &&
			(!c->words[i][len] || c->words[i][len] == '.');
	return found;
}

static bool approve_may_start(void *context, const struct gateway_member *m)
{
	const struct approve_start *s = context;
	auto_output o = output_for(STDOUT_FILENO);
	auto_buffer question = { 0 };

	if (!approve_is_named(s->c, m->config->name))
		return false;
	if (gateway_is_approved(m))
		return true;
	output_styled(&o, OUTPUT_BOLD, m->config->name);
	buffer_addc(&o.text, '\n');
	approve_show_command(&o, m);
	buffer_printf(&question, "Start %s to see its tools? [y/N] ", m->config->name);
	if (question.failed || output_write(&o, STDOUT_FILENO, s->c->error) < 0)
		return false;
	return s->yes || output_agrees(question.data);
}

/* Operands */

static int approve_find(
	struct call *c, const struct mcp_survey *s, const char *word, struct approve_one *ret)
{
	const size_t len = strcspn(word, ".");
	struct schema_names names = { .n = 0 };
	bool is_there = false;

	*ret = (struct approve_one){ .name = word[len] ? word + len + 1 : NULL };
	for (size_t i = 0; i < s->gateway->n; i++) {
		struct gateway_member *m = &s->gateway->members[i];

		schema_names_add(&names, m->config->name);
		if (strlen(m->config->name) == len && memcmp(m->config->name, word, len) == 0)
			ret->member = m;
	}
	if (!ret->member) {
		(void)error_set(c->error, -ENOENT, NULL, "%s has no server `%.*s`", s->path,
			(int)len, word);
		schema_names_hint(&names, word, "it has: ", c->error);
		return -ENOENT;
	}
	if (ret->member->is_held)
		return STATUS_NO;
	if (!ret->member->is_listed)
		return error_set(c->error, -ECONNREFUSED, NULL, "%s: %s", ret->member->config->name,
			ret->member->why);
	for (int kind = 0; ret->name && kind < PIN_KINDS; kind++)
		is_there |= gateway_listed(ret->member, (enum gateway_kind)kind, ret->name) ||
			    pins_find(&ret->member->pins, (enum gateway_kind)kind, ret->name);
	if (ret->name && !is_there)
		return error_set(c->error, -ENOENT, NULL, "the server %s has no tool `%s`",
			ret->member->config->name, ret->name);
	if (ret->name && ret->member->pins.exists && ret->member->pins.is_other)
		return error_set(c->error, -EINVAL, NULL,
			"the command, URL or options of %s changed; approve it as a whole",
			ret->member->config->name);
	return 0;
}

static int approve_all(struct call *c, const struct mcp_survey *s, bool yes)
{
	int status = STATUS_YES;

	for (size_t i = 1; i < (c->n > 1 ? c->n : s->gateway->n + 1); i++) {
		const char *word = c->n > 1 ? c->words[i] : s->gateway->members[i - 1].config->name;
		struct approve_one one;
		int r = approve_find(c, s, word, &one);

		r = r != STATUS_YES ? r : approve_one(c, s, &one, yes);
		if (r < 0)
			return r;
		status = r > status ? r : status;
	}
	return status;
}

int mcp_approve_main(struct call *c)
{
	bool yes = false;
	const struct options_row rows[] = {
		{ { "yes", SCHEMA_FLAG, .help = "ask nothing: what is shown is approved" }, 'y',
			.target = &yes },
	};
	struct mcp_survey s = { 0 };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = mcp_survey_load(&s, c, c->words[0]);
	if (r == 0)
		r = mcp_survey_look(&s, c, approve_may_start, &(struct approve_start){ c, yes });
	if (r == 0)
		r = approve_all(c, &s, yes);
	mcp_survey_deinit(&s);
	return r;
}
