/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/array.h"
#include "cli/audit/source.h"
#include "cli/audit/writer.h"

static int verb_list(struct call *c, const struct audit_filter *f, bool json)
{
	auto_audit_writer writer = { 0 };
	auto_audit_log *log = NULL;
	const char *path;
	int r = audit_source_find(c, c->n ? c->words[0] : NULL, &path);

	if (r == 0)
		r = audit_source_open(c, path, &log);
	if (r < 0)
		return r;
	if (json)
		audit_writer_init_format(&writer, STDOUT_FILENO, AUDIT_JSONL);
	else
		audit_writer_init(&writer, STDOUT_FILENO);
	return audit_writer_copy_all(&writer, log, f, c->error);
}

static int verb_list_run(struct call *c)
{
	struct audit_filter filter = { 0 };
	bool json = false;
	const struct options_row rows[] = {
		AUDIT_FILTER_ROWS(&filter),
		AUDIT_FILTER_AMOUNT(&filter),
		{ "json", 0, NULL, "print JSON Lines, for programs", options_flag, &json,
			OPTIONS_OPTIONAL },
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r == 0)
		r = verb_list(c, &filter, json);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_audit_list = {
	.name = "list",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "records, by session, action, decision, target, time",
	.description =
		"Prints the records that fit all options, the oldest first. What is read is not "
		"verified by that: `corral audit verify` does.",
	.examples = "corral audit list --decision denied --since 2h\n"
		    "corral audit list --action net,exec --target '*.example.com*'\n"
		    "corral audit list --action fs --target '/etc/**' --newest --limit 20\n"
		    "corral audit list --since 2026-01-31 --until 2026-01-31 --json run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_list_run,
};
