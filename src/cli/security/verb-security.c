/* SPDX-License-Identifier: Apache-2.0 */
/*
 * security: a look at this machine for what undoes sandboxes. corrald runs it every ten seconds
 * (daemon/watch/security-watch.c); it works without a daemon as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/security/findings.h"
#include "host/daemon-place.h"

/* Each kind with what finds it. */
static const struct {
	const char *kind;
	void (*check)(struct security *s);
} security_checks[] = {
	{ "agent_outside", security_check_agents },
	{ "file_mode", security_check_modes },
	{ "drift", security_check_drift },
	{ "policy_ignored", security_check_ignored },
	{ "skill_changed", security_check_skills },
};

static int security_find_places(struct security *s)
{
	auto_buffer runtime = { 0 };
	const char *home = getenv("HOME");

	s->home = home && home[0] == '/' ? home : NULL;
	if (s->is_system) {
		s->config = "/etc/corral";
		s->state = "/var/lib/corral";
		daemon_place_system(NULL, &runtime);
	} else {
		s->config = profile_config_folder(s->call);
		s->state = profile_state_folder(s->call);
		/* Without one there are no sockets. */
		if (daemon_place(NULL, &runtime) < 0)
			buffer_clear(&runtime);
	}
	s->runtime = runtime.len ? arena_strdup(s->call->arena, runtime.data) : NULL;
	return runtime.failed ? error_no_memory(s->call->error) : 0;
}

static bool security_is_ok(const struct security *s, const char *kind)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->items[i].kind, kind) == 0)
			return false;
	return true;
}

static int security_print_json(struct security *s)
{
	struct json_tree t = { .arena = s->call->arena };
	struct node *root = tree_map(&t), *list = tree_put_list(&t, root, "findings"), *ok;

	for (size_t i = 0; i < s->n; i++) {
		const struct finding *f = &s->items[i];
		struct node *map = tree_append_map(&t, list);

		tree_put_text(&t, map, "id", f->id);
		tree_put_text(&t, map, "severity", security_severity_name(f->severity));
		tree_put_text(&t, map, "kind", f->kind);
		tree_put_text(&t, map, "text", f->text);
		tree_put_text(&t, map, "where", f->where);
		tree_put_text(&t, map, "remedy", f->remedy);
	}
	ok = tree_put_list(&t, root, "ok");
	for (size_t i = 0; i < ROWS(security_checks); i++)
		if (security_is_ok(s, security_checks[i].kind))
			tree_append_text(&t, ok, security_checks[i].kind);
	tree_put_flag(&t, root, "cut", s->is_cut);
	return tree_print(&t, root, s->call->error);
}

static int security_print(struct security *s)
{
	static const enum output_style styles[] = { OUTPUT_DIM, OUTPUT_YELLOW, OUTPUT_RED };
	auto_output o = output_for(STDOUT_FILENO);

	for (size_t i = 0; i < s->n; i++) {
		const struct finding *f = &s->items[i];

		output_styled(&o, styles[f->severity], security_severity_name(f->severity));
		output_pad(&o, 8);
		output_foreign(&o, f->text);
		buffer_adds(&o.text, "\n        ");
		output_styled(&o, OUTPUT_BOLD, "-> ");
		output_foreign(&o, f->remedy);
		buffer_addc(&o.text, '\n');
	}
	if (s->n == 0) {
		output_styled(&o, OUTPUT_GREEN, "nothing found");
		buffer_addc(&o.text, '\n');
	}
	if (s->is_cut)
		buffer_adds(&o.text, "there is more than was looked at\n");
	return output_write(&o, STDOUT_FILENO, s->call->error);
}

/* Wrappers */

struct security_wrappers {
	struct json_tree tree;
	struct node *list;
	struct output *out;
	bool is_any;
};

static void security_tell_wrapper(void *data, const struct security_wrapper *w)
{
	struct security_wrappers *all = data;
	struct node *map = tree_append_map(&all->tree, all->list);

	tree_put_text(&all->tree, map, "name", w->name);
	tree_put_text(&all->tree, map, "path", w->path);
	tree_put_text(&all->tree, map, "agent", w->agent);
	tree_put_text(&all->tree, map, "state", w->state);
	tree_put_text(&all->tree, map, "profile", w->profile);
	tree_put_text(&all->tree, map, "why", w->why);
	output_foreign(all->out, w->name);
	output_pad(all->out, 14);
	output_foreign(all->out, w->state);
	output_pad(all->out, 25);
	output_foreign(all->out, w->path);
	if (w->why) {
		buffer_adds(&all->out->text, ": ");
		output_foreign(all->out, w->why);
	}
	buffer_addc(&all->out->text, '\n');
	all->is_any = true;
}

static int security_print_wrappers(struct security *s, bool json)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct security_wrappers all = { .tree = { .arena = s->call->arena }, .out = &o };
	struct node *root = tree_map(&all.tree);

	all.list = tree_put_list(&all.tree, root, "wrappers");
	security_each_wrapper(s, security_tell_wrapper, &all);
	if (json)
		return tree_print(&all.tree, root, s->call->error);
	if (!all.is_any)
		buffer_adds(&o.text, "there are no wrappers\n");
	return output_write(&o, STDOUT_FILENO, s->call->error);
}

static int security_run(struct call *c)
{
	struct security s = { .call = c };
	bool json = false, wrappers = false;
	const struct options_row rows[] = {
		{ { "wrappers", SCHEMA_FLAG,
			  .help = "list the wrappers of agents, and look at nothing else" },
			.target = &wrappers },
		{ { "accept", SCHEMA_FLAG,
			  .help = "profiles and wrappers are right as they are now" },
			.target = &s.accepts },
		{ { "record", SCHEMA_FLAG,
			  .help = "record those that are new, as the daemon does" },
			.target = &s.records },
		{ { "system", SCHEMA_FLAG,
			  .help = "of the machine: all users, /run/corral, /etc/corral, "
				  "/var/lib/corral" },
			.target = &s.is_system },
		OPTIONS_JSON(&json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = security_find_places(&s);
	if (r == 0 && wrappers) {
		r = security_print_wrappers(&s, json);
		return r < 0 ? r : STATUS_YES;
	}
	for (size_t i = 0; r == 0 && i < ROWS(security_checks); i++)
		security_checks[i].check(&s);
	if (r == 0)
		r = json ? security_print_json(&s) : security_print(&s);
	return r < 0 ? r : s.n ? STATUS_NO : STATUS_YES;
}

const struct verb verb_security = {
	.name = "security",
	.synopsis = "[--wrappers] [--accept] [--json]",
	.summary = "look for what undoes sandboxes on this machine",
	.description =
		"Looks for programs of agents that run outside of a sandbox, for sockets, "
		"policies and logs that other users can write or read, for profiles and wrappers "
		"that are not what they were, for policies that are not read, and for skills that "
		"are not what was approved. Each finding says what to do. The daemon, corrald(8), "
		"does this every ten seconds.\n"
		"A wrapper is a script in PATH with the name of an agent that runs it by `corral "
		"run`. What profiles and wrappers are is recorded when the daemon sees them first; "
		"--accept records what they are now.\n"
		"Exit status: 0 nothing was found, 1 something was, 2 an error.",
	.examples = "corral security\n"
		    "corral security --wrappers\n"
		    "corral security --accept\n",
	.run = security_run,
};
