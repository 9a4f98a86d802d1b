/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/audit/follow.h"
#include "cli/audit/source.h"

enum { LINES = 10 };

/* Like audit_filter_number(), but none is an amount, too. */
static int take_lines(struct call *c, const struct options_row *row, const char *value)
{
	uint64_t *lines = row->target;

	*lines = 0;
	if (strcmp(value, "0") != 0 && audit_filter_parse_number(value, lines) < 0)
		return options_misused(c, "--%s: `%s` is no number", row->name, value);
	return 0;
}

static int tail(struct audit_follow *f)
{
	auto_audit_log *log = NULL;
	int r = audit_source_open(f->call, f->path, &log);

	return r < 0 ? r : audit_follow_tail(f, log);
}

static int verb_tail_run(struct call *c)
{
	auto_audit_writer writer = { 0 };
	struct audit_filter filter = { 0 };
	struct audit_follow f = { .call = c, .filter = &filter, .writer = &writer, .lines = LINES };
	bool follow = false, json = false;
	const struct options_row rows[] = {
		{ "follow", 'f', NULL, "go on with what comes, until Ctrl-C", options_flag, &follow,
			OPTIONS_OPTIONAL },
		{ "lines", 'n', "N", "so many of the latest records, instead of 10; 0: none",
			take_lines, &f.lines, OPTIONS_OPTIONAL },
		AUDIT_FILTER_ROWS(&filter),
		{ "json", 0, NULL, "print JSON Lines, for programs", options_flag, &json,
			OPTIONS_OPTIONAL },
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = audit_source_find(c, c->n ? c->words[0] : NULL, &f.path);
	if (r < 0)
		return r;
	if (json)
		audit_writer_init_format(&writer, STDOUT_FILENO, AUDIT_JSONL);
	else
		audit_writer_init(&writer, STDOUT_FILENO);
	r = follow ? audit_follow_run(&f) : tail(&f);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_audit_tail = {
	.name = "tail",
	.synopsis = "[-f] [-n N] [OPTION]... [FILE]",
	.summary = "the latest records, and live what comes",
	.description =
		"Shows the latest records of a log: when, what was decided, what was done to "
		"what, and by whom; below what was denied stands why. With -f it goes on with "
		"what comes, also if there is no log yet.",
	.examples = "corral audit tail -f\n"
		    "corral audit tail -f --decision denied\n"
		    "corral audit tail -n 50 --action net run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_tail_run,
};
