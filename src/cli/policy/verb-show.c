/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/agent.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "launch/broker.h"
#include "policy/algebra/algebra.h"
#include "policy/format/permissions-text.h"

/* Permissions as a result: in their canonical form, as YAML or JSON. */
struct canonical {
	bool json;
};

static const char *const canonical_formats[] = { "yaml", "json", NULL };

static int canonical_format(struct call *c, const struct options_row *row, const char *value)
{
	struct canonical *how = row->target;

	how->json = how->json || strcmp(value, "json") == 0;
	if (c->json)
		*c->json = how->json;
	if (how->json || strcmp(value, "yaml") == 0)
		return 0;
	return options_refuse(c, row, value, -EINVAL);
}

static int canonical_print(const struct canonical *how, struct call *c, const struct permissions *p)
{
	auto_output o = output_for(STDOUT_FILENO);

	if (how->json) {
		permissions_print_json(p, &o.text);
		buffer_addc(&o.text, '\n');
	} else {
		permissions_print_yaml(p, &o.text);
	}
	return output_write(&o, STDOUT_FILENO, c->error);
}

#define CANONICAL_ROWS(to)                                                    \
	{ { "format", SCHEMA_CHOICE, .words = canonical_formats,              \
		  .help = "yaml (the default) or json" },                     \
		'f', "FORMAT", .target = to, .take = canonical_format },      \
	{                                                                     \
		{ "json", SCHEMA_FLAG, .help = "the same as --format json" }, \
			.target = &(to)->json                                 \
	}

struct show_settings {
	enum manifest_kind kind;
	bool from_mode; /* --from mode */
	struct agent agent;
	struct canonical canonical;
};

static const char *const verb_show_kinds[] = { "permissions", "skill", "skill.md", "manifest",
	"rules", "enclave", "mode", NULL };

static int verb_show_take_from(struct call *c, const struct options_row *row, const char *value)
{
	struct show_settings *s = row->target;
	struct options_row kind = *row;

	kind.target = &s->kind;
	s->from_mode = strcmp(value, "mode") == 0;
	return s->from_mode ? 0 : load_kind(c, &kind, value);
}

/* What else `corral run` does because of it: for people, so not in JSON. */
static int verb_show_tell_broker(struct call *c, const struct permissions *p)
{
	auto_output o = output_for(STDOUT_FILENO);

	buffer_adds(&o.text, "# It grants services: `corral run` starts a broker for them.\n");
	return launch_broker_is_granted(p) ? output_write(&o, STDOUT_FILENO, c->error) : 0;
}

static int verb_show_parse(struct show_settings *s, struct call *c)
{
	const struct options_row rows[] = {
		{ { "from", SCHEMA_OTHER, .words = verb_show_kinds,
			  .help = "the format: permissions, skill, skill.md, manifest, rules or\n"
				  "enclave (default: detected); or `mode`, with --mode" },
			0, "KIND", .target = s, .take = verb_show_take_from },
		AGENT_ROWS(&s->agent),
		CANONICAL_ROWS(&s->canonical),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r == 0)
		r = agent_configure(&s->agent, c);
	if (r != 0)
		return r;
	if (s->agent.is_given && c->n)
		return options_misused(c, "FILE and --mode cannot be used together");
	if (!s->agent.is_given && s->from_mode)
		return options_misused(c, "--from mode requires --mode MODE and --data-dir DIR");
	if (!s->agent.is_given && c->n == 0)
		return options_misused(c, "missing argument: FILE");
	return 0;
}

static int verb_show_run(struct call *c)
{
	struct show_settings s = { 0 };
	auto_permissions *p = NULL;
	auto_load l = { 0 };
	int r = verb_show_parse(&s, c);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (s.agent.is_given) {
		r = agent_permissions(&s.agent, c, &p);
	} else {
		r = load_begin(&l, c);
		if (r == 0)
			r = load_add_all(&l, c, (const char *const *)c->words, c->n, s.kind);
		if (r == 0)
			r = load_combine(&l, c, algebra_intersect, &p);
	}
	if (r == 0)
		r = canonical_print(&s.canonical, c, p);
	if (r == 0 && !s.canonical.json)
		r = verb_show_tell_broker(c, p);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_show = {
	.name = "show",
	.synopsis = "[OPTION]... FILE...",
	.summary = "print a policy in canonical form",
	.description =
		"Prints what a file grants in canonical form: sorted, without duplicates, "
		"readable as a policy again. For several files, prints what all of them allow. "
		"`-` is standard input; a folder is a skill, or rules (default.json and "
		"custom/*.json).",
	.examples = "corral policy show weather/SKILL.md\n"
		    "corral policy show --format json rules/\n"
		    "corral policy show --mode sandbox --data-dir ~/.agent\n",
	.operand = "FILE",
	.max = SIZE_MAX,
	.run = verb_show_run,
};

/* merge and intersect: the same but for the operation. */

static int verb_combine_run(struct call *c, load_operation *operation)
{
	struct canonical how = { 0 };
	const struct options_row rows[] = { CANONICAL_ROWS(&how) };
	auto_load l = { 0 };
	auto_permissions *p = NULL;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	/* A file may extend a profile, which asks where it is used. */
	r = load_begin(&l, c);
	if (r == 0)
		r = load_add_all(&l, c, (const char *const *)c->words, c->n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = load_combine(&l, c, operation, &p);
	if (r == 0)
		r = canonical_print(&how, c, p);
	return r < 0 ? r : STATUS_YES;
}

static int run_merge(struct call *c)
{
	return verb_combine_run(c, algebra_merge);
}

static int run_intersect(struct call *c)
{
	return verb_combine_run(c, algebra_intersect);
}

const struct verb verb_merge = {
	.name = "merge",
	.synopsis = "[OPTION]... A B...",
	.summary = "print what any of them allows, minus what any of them denies",
	.description = "Prints the union of policies: what any of the files allows, minus what "
		       "any of them denies. Of each limit, the highest applies.",
	.examples = "corral policy merge base.yaml project.yaml > agent.yaml\n",
	.operand = "FILE",
	.min = 2,
	.max = SIZE_MAX,
	.run = run_merge,
};

const struct verb verb_intersect = {
	.name = "intersect",
	.synopsis = "[OPTION]... A B...",
	.summary = "print what all of them allow",
	.description = "Prints the intersection of policies: exactly what all of the files "
		       "allow. Of each limit, the lowest applies.",
	.examples = "corral policy intersect skill/SKILL.md company.json\n"
		    "corral policy intersect skill.yaml agent.yaml company.json > run.yaml\n",
	.operand = "FILE",
	.min = 2,
	.max = SIZE_MAX,
	.run = run_intersect,
};
