/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/suggest.h"
#include "broker/service/config.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/service/try.h"
#include "cli/service/write.h"
#include "policy/service-table.h"

enum { MARK_COLUMN = 2, NAME_COLUMN = 6, TEXT_COLUMN = 22, NAMES_MAX = 32 };

struct service_settings {
	bool json;
	struct service_session session;
	struct try_result results[NAMES_MAX];
	size_t n;
};

/* For people */

static void verb_service_print_one(struct output *o, const struct try_result *t)
{
	const bool is_good = t->was_tried ? t->works : t->is_ready;

	buffer_printf(&o->text, "%*s", MARK_COLUMN, "");
	if (is_good)
		output_styled(o, OUTPUT_GREEN, "yes");
	else
		output_styled(o, OUTPUT_RED, "no ");
	output_pad(o, NAME_COLUMN);
	buffer_adds(&o->text, t->backend->name);
	output_pad(o, TEXT_COLUMN);
	output_line(o, t->text[0] ? t->text : t->backend->help);
	if (t->hint[0]) {
		buffer_printf(&o->text, "%*s", TEXT_COLUMN - 3, "");
		output_styled(o, OUTPUT_BOLD, "-> ");
		output_line(o, t->hint);
	}
}

/* For programs */

static int verb_service_print_json(struct call *c, const struct service_settings *s)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list = tree_put_list(&t, root, "services");

	for (size_t i = 0; i < s->n; i++) {
		const struct try_result *x = &s->results[i];
		struct node *one = tree_append_map(&t, list);

		tree_put_text(&t, one, "name", x->backend->name);
		tree_put_text(&t, one, "section", x->backend->section);
		tree_put_text(&t, one, "help", x->backend->help);
		tree_put_text(&t, one, "program", x->program);
		tree_put_flag(&t, one, "installed", x->is_installed);
		tree_put_flag(&t, one, "ready", x->is_ready);
		if (x->was_tried)
			tree_put_flag(&t, one, "works", x->works);
		tree_put_text(&t, one, "text", x->text);
		tree_put_text(&t, one, "hint", x->hint);
	}
	return tree_print(&t, root, c->error);
}

static int verb_service_print(struct call *c, const struct service_settings *s)
{
	auto_output o = output_for(STDOUT_FILENO);
	bool is_good = true;
	int r;

	for (size_t i = 0; i < s->n; i++) {
		const struct try_result *x = &s->results[i];

		is_good = is_good && (!x->was_tried || x->works);
		verb_service_print_one(&o, x);
	}
	r = s->json ? verb_service_print_json(c, s) : output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : is_good ? STATUS_YES : STATUS_NO;
}

/* Names */

/* Those of this name: of a back end, or of a section with several. -EINVAL: there is none. */
static int verb_service_find(
	struct call *c, const char *name, const struct service_backend **ret, size_t *n)
{
	const char *names[NAMES_MAX], *near;
	const size_t before = *n;
	size_t known = 0;

	for (size_t i = 0; i < service_backend_count && *n < NAMES_MAX; i++) {
		const struct service_backend *b = &service_backends[i];

		names[known++] = b->name;
		if (strcmp(b->name, name) == 0 || strcmp(b->section, name) == 0)
			ret[(*n)++] = b;
	}
	if (*n > before)
		return 0;
	near = suggest(name, names, known);
	(void)error_set(c->error, -EINVAL, NULL, "there is no service `%s`", name);
	error_hint(c->error, near ? "did you mean `%s`?" : "see `corral service list`%s",
		near ? near : "");
	return -EINVAL;
}

static int verb_service_begin(struct service_settings *s, struct call *c)
{
	const struct options_row rows[] = { OPTIONS_JSON(&s->json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r == 0)
		r = try_session(c->arena, &s->session);
	return r == -ENOMEM ? error_no_memory(c->error) : r;
}

/* list */

static int verb_service_list_run(struct call *c)
{
	struct service_settings s = { 0 };
	int r = verb_service_begin(&s, c);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	for (size_t i = 0; r == 0 && i < service_backend_count && i < NAMES_MAX; i++)
		r = try_look(c->arena, &s.session, &service_backends[i], &s.results[s.n++]);
	return r < 0 ? error_no_memory(c->error) : verb_service_print(c, &s);
}

/* test */

static int verb_service_test_run(struct call *c)
{
	const struct service_backend *wanted[NAMES_MAX];
	struct service_settings s = { 0 };
	size_t n = 0;
	int r = verb_service_begin(&s, c);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	for (size_t i = 0; r == 0 && i < c->n; i++)
		r = verb_service_find(c, c->words[i], wanted, &n);
	for (size_t i = 0; c->n == 0 && i < service_backend_count && n < NAMES_MAX; i++)
		wanted[n++] = &service_backends[i];
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = try_run(c->arena, &s.session, wanted[i], &s.results[s.n++]);
		if (r < 0)
			(void)error_set(c->error, r, NULL, "%s: %s", wanted[i]->name, strerror(-r));
	}
	return r < 0 ? r : verb_service_print(c, &s);
}

/* set-up */

static void verb_service_explain(
	struct output *o, const struct service_session *s, const struct service_backend *b)
{
	auto_arena a = { 0 };
	const char *path =
		service_config_user_file(&a, service_variable(s, "XDG_CONFIG_HOME"), s->home);

	buffer_printf(&o->text, "%s: %s\n", b->name, b->help);
	if (!b->keys[0].name) {
		buffer_adds(&o->text, "There is nothing to configure.\n");
		return;
	}
	buffer_printf(&o->text, "\nKeys of the section `%s` in %s:\n", b->section,
		path ? path : "services.yaml");
	for (const struct schema_field *k = b->keys; k->name; k++) {
		buffer_printf(&o->text, "%*s%s", MARK_COLUMN, "", k->name);
		output_pad(o, TEXT_COLUMN);
		if (k->required)
			buffer_adds(&o->text, "(required) ");
		output_line(o, k->help);
	}
	if (b->example)
		buffer_printf(&o->text, "\nFor example:\n\n%s", b->example);
	buffer_printf(&o->text, "\nTo write it: corral service set-up %s KEY=VALUE...\n", b->name);
}

static int verb_service_explain_json(
	struct call *c, const struct service_session *s, const struct service_backend *b)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *keys;

	tree_put_text(&t, root, "name", b->name);
	tree_put_text(&t, root, "section", b->section);
	tree_put_text(&t, root, "file",
		service_config_user_file(
			c->arena, service_variable(s, "XDG_CONFIG_HOME"), s->home));
	tree_put_text(&t, root, "example", b->example);
	keys = tree_put_list(&t, root, "keys");
	for (const struct schema_field *k = b->keys; k->name; k++) {
		struct node *one = tree_append_map(&t, keys);

		tree_put_text(&t, one, "name", k->name);
		tree_put_flag(&t, one, "required", k->required);
		tree_put_text(&t, one, "help", k->help);
	}
	return tree_print(&t, root, c->error);
}

static int verb_service_write(
	struct call *c, struct service_settings *s, const struct service_backend *b)
{
	auto_output o = output_for(STDERR_FILENO);
	const char *path = NULL;
	int r = write_section(
		c->arena, &s->session, b->section, c->words + 1, c->n - 1, &path, c->error);

	if (r < 0)
		return r;
	output_note(&o);
	buffer_printf(&o.text, "wrote the section `%s` to %s\n", b->section, path);
	(void)output_write(&o, STDERR_FILENO, NULL);
	r = try_run(c->arena, &s->session, b, &s->results[s->n++]);
	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", b->name, strerror(-r));
	return verb_service_print(c, s);
}

static int verb_service_set_up_run(struct call *c)
{
	const struct service_backend *wanted[NAMES_MAX];
	auto_output o = output_for(STDOUT_FILENO);
	struct service_settings s = { 0 };
	size_t n = 0;
	int r = verb_service_begin(&s, c);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_service_find(c, c->words[0], wanted, &n);
	if (r < 0)
		return r;
	if (c->n > 1)
		return verb_service_write(c, &s, wanted[0]);
	if (s.json)
		return verb_service_explain_json(c, &s.session, wanted[0]);
	for (size_t i = 0; i < n; i++)
		verb_service_explain(&o, &s.session, wanted[i]);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static void verb_service_offer(struct call *c, struct buffer *out)
{
	(void)c;
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		buffer_printf(out, "%s\t\n", service_rows[i].name);
}

static const struct verb verb_service_list = {
	.name = "list",
	.synopsis = "[OPTION]...",
	.summary = "list services, and what is missing for each",
	.description =
		"Looks for the back end of each service and for its section in services.yaml. "
		"Nothing is started: `corral service test` does that.",
	.examples = "corral service list\n",
	.run = verb_service_list_run,
};

static const struct verb verb_service_test = {
	.name = "test",
	.synopsis = "[OPTION]... [NAME]...",
	.summary = "try services for real",
	.description =
		"Starts the back end of each service, or of those that are named, and lets it try "
		"what it serves: connect to the bus, log in to the server, open the folder. "
		"Nothing is sent, shown or changed.\n"
		"Exit status: 0 all work, 1 not all, 2 an error.",
	.examples = "corral service test\n"
		    "corral service test notifications\n",
	.operand = "NAME",
	.offer = verb_service_offer,
	.max = NAMES_MAX,
	.run = verb_service_test_run,
};

static const struct verb verb_service_set_up = {
	.name = "set-up",
	.synopsis = "[OPTION]... NAME [KEY=VALUE]...",
	.summary = "explain how a service is configured, or configure it",
	.description = "Prints what the section of a service in services.yaml can have. With "
		       "KEY=VALUE it writes the section to the user's file, where it has none, and "
		       "tries the service.\n"
		       "Passwords are not given here: password_file names a file of mode 0600.",
	.examples = "corral service set-up clipboard\n"
		    "corral service set-up clipboard program=xclip\n",
	.operand = "NAME",
	.offer = verb_service_offer,
	.min = 1,
	.max = NAMES_MAX,
	.run = verb_service_set_up_run,
};

static const struct verb *const verb_service_verbs[] = {
	&verb_service_list,
	&verb_service_test,
	&verb_service_set_up,
	NULL,
};

const struct verb verb_service = {
	.name = "service",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "list, test and set up services of the user's desktop and servers",
	.description =
		"Services are what a sandbox may do for its user through the broker: show "
		"notifications, use the clipboard, open pages, send mail, keep reminders and "
		"calendars. A policy grants them; services.yaml says what stands behind them.",
	.examples = "corral service list\n"
		    "corral service test notifications\n"
		    "corral service set-up clipboard program=xclip\n",
	.verbs = verb_service_verbs,
};
