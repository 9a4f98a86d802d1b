/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "jail/probe/probe.h"

enum { MARK_COLUMN = 2, NAME_COLUMN = 6, TEXT_COLUMN = 34, TIER_COLUMN = 12 };

/* For people */

/* An earlier one that failed at the same step: to say it once is enough. */
static const struct probe_finding *verb_doctor_find_same(
	const struct probe_result *r, const struct probe_finding *f)
{
	for (const struct probe_finding *other = r->findings; other < f; other++) {
		if (!other->held && f->detail[0] && strcmp(other->detail, f->detail) == 0)
			return other;
	}
	return NULL;
}

static void verb_doctor_print_finding(
	struct output *o, const struct probe_result *r, const struct probe_finding *f)
{
	const enum output_style no = f->weight == PROBE_REQUIRED ? OUTPUT_RED : OUTPUT_YELLOW;
	const struct probe_finding *same = f->held ? NULL : verb_doctor_find_same(r, f);

	buffer_printf(&o->text, "%*s", MARK_COLUMN, "");
	output_styled(o, f->held ? OUTPUT_GREEN : no, f->held ? "yes" : "no ");
	output_pad(o, NAME_COLUMN);
	buffer_adds(&o->text, f->name);
	output_pad(o, TEXT_COLUMN);
	output_line(o, f->held && f->detail[0] ? f->detail : f->needed_for);
	if (same) {
		buffer_printf(&o->text, "%*ssame cause as %s\n", TEXT_COLUMN, "", same->name);
	} else if (!f->held) {
		if (f->detail[0]) {
			buffer_printf(&o->text, "%*s", TEXT_COLUMN, "");
			output_line(o, f->detail);
		}
		if (f->hint[0]) {
			buffer_printf(&o->text, "%*s", TEXT_COLUMN - 3, "");
			output_styled(o, OUTPUT_BOLD, "-> ");
			output_line(o, f->hint);
		}
	}
}

static void verb_doctor_print_findings(struct output *o, const struct probe_result *r,
	enum probe_weight weight, const char *heading)
{
	bool any = false;

	for (size_t i = 0; i < r->n_findings; i++) {
		if (r->findings[i].weight != weight)
			continue;
		if (!any)
			output_heading(o, heading);
		any = true;
		verb_doctor_print_finding(o, r, &r->findings[i]);
	}
}

static void print_tier(struct output *o, const struct probe_tier *t)
{
	buffer_printf(&o->text, "%*stier %s", MARK_COLUMN, "", t->name);
	output_pad(o, TIER_COLUMN);
	if (!t->possible)
		output_styled(o, t->implemented ? OUTPUT_RED : OUTPUT_DIM, "not available");
	else if (t->by_name)
		output_styled(o, OUTPUT_YELLOW, "by name");
	else if (t->implemented)
		output_styled(o, OUTPUT_GREEN, "holds");
	else
		output_styled(o, OUTPUT_DIM, "not supported yet");
	output_pad(o, TIER_COLUMN + 10);
	output_line(o, t->holds);
	if (t->missing[0]) {
		auto_buffer text = { 0 };

		buffer_printf(&text, "lacks %s", t->missing);
		buffer_printf(&o->text, "%*s", TIER_COLUMN + 10, "");
		output_line(o, buffer_text(&text));
	}
}

/* One line, for who reads no further. */
static void verb_doctor_print_summary(
	struct output *o, const struct probe_result *r, const struct probe_tier *best)
{
	const char *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n_findings; i++) {
		const struct probe_finding *f = &r->findings[i];

		n += !f->held && f->weight == PROBE_USEFUL;
		if (!f->held && f->weight == PROBE_REQUIRED && !first)
			first = f->name;
	}
	if (!best) {
		output_styled(o, OUTPUT_RED, "corral run does not work on this system");
		buffer_printf(&o->text, ": missing is %s\n", first ? first : "a tier");
		return;
	}
	output_styled(o, OUTPUT_GREEN, "corral run works on this system");
	buffer_printf(&o->text, ", on tier %s; ", best->name);
	if (n)
		buffer_printf(
			&o->text, "%zu optional feature%s missing\n", n, n == 1 ? " is" : "s are");
	else
		buffer_adds(&o->text, "nothing is missing\n");
}

static int verb_doctor_print(struct call *c, const struct probe_result *r)
{
	auto_output o = output_for(STDOUT_FILENO);
	const struct probe_tier *best = probe_best(r);

	verb_doctor_print_summary(&o, r, best);
	output_foreign(&o, r->kernel);
	buffer_addc(&o.text, '\n');
	verb_doctor_print_findings(&o, r, PROBE_REQUIRED, "Needed");
	verb_doctor_print_findings(&o, r, PROBE_USEFUL, "Used if available");
	verb_doctor_print_findings(&o, r, PROBE_LATER, "For later versions");
	output_heading(&o, "Tiers");
	for (size_t i = 0; i < PROBE_TIERS; i++)
		print_tier(&o, &r->tiers[i]);
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* For programs */

static int verb_doctor_print_json(struct call *c, const struct probe_result *r)
{
	static const char *const weights[] = {
		[PROBE_REQUIRED] = "required",
		[PROBE_USEFUL] = "useful",
		[PROBE_LATER] = "later",
	};
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t), *list;
	const struct probe_tier *best = probe_best(r);

	tree_put_text(&t, root, "kernel", r->kernel);
	tree_put_text(&t, root, "tier", best ? best->name : NULL);
	tree_put_number(&t, root, "landlock_abi", r->landlock_abi);
	list = tree_put_list(&t, root, "findings");
	for (size_t i = 0; i < r->n_findings; i++) {
		const struct probe_finding *f = &r->findings[i];
		struct node *map = tree_append_map(&t, list);

		tree_put_text(&t, map, "name", f->name);
		tree_put_flag(&t, map, "held", f->held);
		tree_put_text(&t, map, "weight", weights[f->weight]);
		tree_put_text(&t, map, "needed_for", f->needed_for);
		tree_put_text(&t, map, "detail", f->detail[0] ? f->detail : NULL);
		tree_put_text(&t, map, "hint", f->hint[0] ? f->hint : NULL);
		if (!f->held)
			tree_put_number(&t, map, "errno", f->error);
	}
	list = tree_put_list(&t, root, "tiers");
	for (const struct probe_tier *tier = r->tiers; tier < r->tiers + PROBE_TIERS; tier++) {
		struct node *map = tree_append_map(&t, list);

		tree_put_text(&t, map, "name", tier->name);
		tree_put_flag(&t, map, "possible", tier->possible);
		tree_put_flag(&t, map, "implemented", tier->implemented);
		tree_put_flag(&t, map, "by_name", tier->by_name);
		tree_put_text(&t, map, "needs", tier->needs);
		tree_put_text(&t, map, "holds", tier->holds);
		tree_put_text(&t, map, "missing", tier->missing[0] ? tier->missing : NULL);
	}
	return tree_print(&t, root, c->error);
}

static int verb_doctor_run(struct call *c)
{
	struct probe_result result = { 0 };
	bool json = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	int r = options_parse(c, rows, 1);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = probe_run(&result);
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot run the checks: %s", strerror(-r));
	r = json ? verb_doctor_print_json(c, &result) : verb_doctor_print(c, &result);
	if (r < 0)
		return r;
	return probe_best(&result) ? STATUS_YES : STATUS_NO;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.synopsis = "[--json]",
	.summary = "check what this system supports",
	.description =
		"Checks each kernel feature that a sandbox needs by using it in a separate "
		"process, and reports what works, what is missing, and what to do about it. "
		"Kernel versions and settings are not taken as proof.\n"
		"Exit status: 0 `corral run` works on this system, 1 it does not, 2 an error.",
	.examples = "corral doctor\n"
		    "corral doctor --json\n",
	.run = verb_doctor_run,
};
