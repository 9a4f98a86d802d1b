/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/array.h"
#include "cli/audit/filter.h"
#include "cli/audit/source.h"
#include "cli/audit/tally.h"

static int verb_stats_count(
	struct call *c, const struct audit_filter *f, const char *path, struct audit_tally *tally)
{
	auto_audit_log *log = NULL;
	int r = audit_source_open(c, path, &log);

	if (r == 0)
		r = audit_filter_read(log, f, 0, 0, audit_tally_add, tally, c->error);
	if (r == -ENOMEM)
		return error_no_memory(c->error);
	audit_tally_finish(tally);
	return r;
}

static int verb_stats_run(struct call *c)
{
	struct audit_filter filter = { 0 };
	auto_audit_tally tally = { 0 };
	bool json = false;
	const struct options_row rows[] = { AUDIT_FILTER_ROWS(&filter), OPTIONS_JSON(&json) };
	const char *path;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = audit_source_find(c, c->n ? c->words[0] : NULL, &path);
	if (r < 0)
		return r;
	if (audit_tally_init(&tally) < 0)
		return error_no_memory(c->error);
	r = verb_stats_count(c, &filter, path, &tally);
	if (r == 0)
		r = json ? audit_tally_print_tree(c, path, &tally)
			 : audit_tally_print(&tally, c->error);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_audit_stats = {
	.name = "stats",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "counts: decisions, actions, what was denied most",
	.description =
		"Counts the records that fit all options: by decision and by action, the targets "
		"that were denied most often, the programs that did most, and bytes. The memory "
		"that it takes does not depend on the log; where there are more than 1024 "
		"different names, it says which counts are lower bounds.",
	.examples = "corral audit stats\n"
		    "corral audit stats --since 1d --action net\n"
		    "corral audit stats --json run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_stats_run,
};
