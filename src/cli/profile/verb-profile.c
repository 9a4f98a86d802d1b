/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/array.h"
#include "cli/agent.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "jail/seatbelt/seatbelt.h"
#include "policy/algebra/algebra.h"

struct settings {
	struct options_list policies;
	struct agent agent;
	struct load load;
	bool json;
};

static int verb_profile_parse(struct settings *s, struct call *c)
{
	const struct options_row rows[] = {
		{ "policy", 'p', "FILE", "what may be done; if repeated, all of them must allow",
			options_list, &s->policies, OPTIONS_MANY },
		AGENT_ROWS(&s->agent),
		LOAD_SET(&s->load),
		OPTIONS_JSON(&s->json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r;
	if (s->policies.n && s->agent.is_given)
		return options_misused(c, "either --policy or --mode, not both");
	if (!s->policies.n && !s->agent.is_given)
		return options_misused(c, "--policy FILE or --mode MODE is missing");
	return agent_check(&s->agent, c);
}

static int write_profile(struct settings *s, struct call *c, struct buffer *out)
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
	struct settings s = { 0 };
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
	.summary = "the profile that macOS' sandbox-exec takes",
	.description = "Prints a Seatbelt profile. With --policy it denies everything but what the "
		       "files grant; with --mode it is the profile of a whole agent, which "
		       "confines what it writes. What Seatbelt cannot hold (host names, arguments "
		       "of programs) is refused, and nothing is printed.",
	.examples = "corral profile seatbelt --policy policy.yaml > policy.sb\n"
		    "corral profile seatbelt --mode sandbox --data-dir ~/.agent > agent.sb\n"
		    "sandbox-exec -f agent.sb my-agent\n",
	.run = verb_profile_run,
};

const struct verb verb_profile = {
	.name = "profile",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "write a profile for another system's sandbox",
	.description = "Writes permissions down as another system's sandbox wants them.",
	.examples = "corral profile seatbelt --mode sandbox --data-dir ~/.agent > agent.sb\n",
	.verbs = (const struct verb *const[]){ &verb_seatbelt, NULL },
};
