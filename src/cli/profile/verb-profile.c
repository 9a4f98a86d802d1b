/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/array.h"
#include "cli/agent.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/verb.h"
#include "jail/seatbelt/seatbelt.h"
#include "policy/algebra/algebra.h"
#include "policy/format/permissions-text.h"

struct profile_settings {
	struct options_list policies;
	struct agent agent;
	struct load load;
	bool json;
};

static int verb_profile_parse(struct profile_settings *s, struct call *c)
{
	const struct options_row rows[] = {
		{ { "policy", SCHEMA_TEXT,
			  .help = "a file with permissions; if repeated, all of them must allow",
			  .many = true },
			'p', "FILE", .target = &s->policies },
		AGENT_ROWS(&s->agent),
		LOAD_SET(&s->load),
		OPTIONS_JSON(&s->json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r == 0)
		r = agent_configure(&s->agent, c);
	if (r != 0)
		return r;
	if (s->policies.n && s->agent.is_given)
		return options_misused(c, "--policy and --mode cannot be used together");
	if (!s->policies.n && !s->agent.is_given)
		return options_misused(c, "required option missing: --policy FILE or --mode MODE");
	return agent_check(&s->agent, c);
}

static int write_profile(struct profile_settings *s, struct call *c, struct buffer *out)
{
	auto_permissions *p = NULL;
	int r = load_begin(&s->load, c);

	if (r == 0 && s->agent.is_given)
		r = agent_permissions(&s->agent, c, &p);
	else if (r == 0)
		r = load_add_all(&s->load, c, s->policies.items, s->policies.n, MANIFEST_UNKNOWN);
	if (r == 0 && !p)
		r = load_combine(&s->load, c, algebra_intersect, &p);
	if (r < 0)
		return r;
	return s->agent.is_given ? seatbelt_print_agent(p, &s->load.variables, out, c->error)
				 : seatbelt_print(p, &s->load.variables, out, c->error);
}

static int verb_profile_run(struct call *c)
{
	struct profile_settings s = { 0 };
	struct json_tree t = { .arena = c->arena };
	auto_output o = { 0 };
	int r = verb_profile_parse(&s, c);

	if (r == 0)
		r = write_profile(&s, c, &o.text);
	/* A profile is a text file: its last line ends, too. */
	if (r == 0 && o.text.len && o.text.data[o.text.len - 1] != '\n')
		buffer_addc(&o.text, '\n');
	if (r == 0 && s.json) {
		struct node *root = tree_map(&t);

		tree_put_text(&t, root, "kind", "seatbelt");
		tree_put_buffer(&t, root, "profile", &o.text);
		r = tree_print(&t, root, c->error);
	} else if (r == 0) {
		r = output_write(&o, STDOUT_FILENO, c->error);
	}
	load_deinit(&s.load);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_seatbelt = {
	.name = "seatbelt",
	.synopsis = "(--policy FILE... | --mode MODE --data-dir DIR) [OPTION]...",
	.summary = "print a profile for macOS' sandbox-exec",
	.description =
		"Prints a Seatbelt profile. With --policy it denies everything that the "
		"files do not grant; with --mode it is the profile for a whole agent and "
		"confines its writes. Policies that Seatbelt cannot enforce (host names, program "
		"arguments) are refused.",
	.examples = "corral profile seatbelt --policy policy.yaml > policy.sb\n"
		    "corral profile seatbelt --mode sandbox --data-dir ~/.agent > agent.sb\n"
		    "sandbox-exec -f agent.sb my-agent\n",
	.run = verb_profile_run,
};

/* show */

static int verb_profile_show_parse(struct load *l, struct call *c, bool *json)
{
	const struct options_row rows[] = { LOAD_SET(l), OPTIONS_JSON(json) };

	return options_parse(c, rows, ROWS(rows));
}

/* As permissions: with what the built-in ones add in this folder, and limit on this machine. */
static int verb_profile_show_run(struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct profile p = { 0 };
	auto_load l = { 0 };
	bool json = false;
	int r = verb_profile_show_parse(&l, c, &json);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = load_begin(&l, c);
	if (r == 0)
		r = profile_open(&p, c, c->words[0], &l);
	for (size_t i = 0; r == 0 && i < LIMIT_COUNT; i++)
		if (p.limits.values[i] != LIMIT_NONE)
			p.permissions->limits.values[i] = p.limits.values[i];
	if (r == 0 && json) {
		permissions_print_json(p.permissions, &o.text);
		buffer_addc(&o.text, '\n');
	} else if (r == 0) {
		permissions_print_yaml(p.permissions, &o.text);
	}
	if (r == 0)
		r = output_write(&o, STDOUT_FILENO, c->error);
	profile_deinit(&p);
	return r < 0 ? r : STATUS_YES;
}

static const struct verb verb_profile_show = {
	.name = "show",
	.synopsis = "[OPTION]... NAME",
	.summary = "print the grants and limits of a profile of `corral run`",
	.description =
		"Prints a profile as a policy that --policy can read. A built-in one "
		"includes what it adds in the current folder, and its limits, which depend on "
		"this machine.",
	.examples = "corral profile show workspace\n"
		    "corral profile show workspace > my.yaml\n",
	.operand = "NAME",
	.min = 1,
	.max = 1,
	.run = verb_profile_show_run,
};

const struct verb verb_profile = {
	.name = "profile",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "show a profile, or write one for another sandbox",
	.description = "Shows what a profile of `corral run` grants, or converts a policy to the "
		       "format of another sandbox.",
	.examples = "corral profile show workspace\n"
		    "corral profile seatbelt --mode sandbox --data-dir ~/.agent > agent.sb\n",
	.verbs = (const struct verb *const[]){ &verb_profile_show, &verb_seatbelt, NULL },
};
