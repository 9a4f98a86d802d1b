/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/array.h"
#include "cli/audit/writer.h"

static int verb_list_run(struct call *c)
{
	auto_audit_writer writer = { 0 };
	auto_audit_log *log = NULL;
	struct audit_filter filter = { 0 };
	bool json = false;
	const char *path;
	const struct options_row rows[] = {
		AUDIT_FILTER_ROWS(&filter),
		AUDIT_FILTER_AMOUNT(&filter),
		{ "json", 0, NULL, "print JSON Lines, for programs", options_flag, &json,
			OPTIONS_OPTIONAL },
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = audit_source_find(c, 0, &path);
	if (r == 0)
		r = audit_source_open(c, path, &log);
	if (r < 0)
		return r;
	audit_writer_init(&writer, STDOUT_FILENO, json ? AUDIT_JSONL : AUDIT_WRITER_LINES);
	r = audit_writer_copy_all(&writer, log, &filter, c->error);
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

static const struct verb *const verbs[] = {
	&verb_audit_tail,
	&verb_audit_list,
	&verb_audit_stats,
	&verb_audit_export,
	&verb_audit_verify,
	&verb_audit_prove,
	&verb_audit_check_proof,
	NULL,
};

const struct verb verb_audit = {
	.name = "audit",
	.synopsis = "COMMAND [OPTION]... [FILE]",
	.summary = "what happened, provably: read and verify audit logs",
	.description =
		"Reads the logs that `corral run --audit FILE` and programs with the library "
		"write, also while they write. FILE is a log; without it, the user's own in "
		"corral/audit.db in XDG_STATE_HOME (usually ~/.local/state).\n"
		"Exit status: 0 yes, 1 no, 2 no answer (an error).",
	.examples = "corral audit tail -f\n"
		    "corral audit list --decision denied --since 2h\n"
		    "corral audit stats\n"
		    "corral audit export --format ocsf --output audit.jsonl\n"
		    "corral audit verify\n",
	.verbs = verbs,
};
