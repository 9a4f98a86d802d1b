/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/audit/file.h"
#include "cli/audit/source.h"
#include "cli/audit/writer.h"

struct export
{
	struct audit_filter filter;
	int format;
	const char *output; /* NULL: standard output */
	const char *path;
};

static int take_format(struct call *c, const struct options_row *row, const char *value)
{
	const char *names[AUDIT_FORMAT_COUNT];
	int format = audit_format_parse(value);

	for (unsigned i = 0; i < AUDIT_FORMAT_COUNT; i++)
		names[i] = audit_format_name((enum audit_format)i);
	if (format < 0)
		return options_unknown_word(c, row, value, names, AUDIT_FORMAT_COUNT);
	*(int *)row->target = format;
	return 0;
}

/* The log and what belongs to it: an export in their place would be the end of them. */
static int check_output(struct call *c, const struct export *x)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".head", ".key", ".key.pub",
		".lock" };
	struct stat output, st;

	if (stat(x->output, &output) < 0)
		return 0;
	for (size_t i = 0; i < ROWS(suffixes); i++) {
		const char *name;
		int r = audit_source_beside(c, x->path, suffixes[i], &name);

		if (r < 0)
			return r;
		if (stat(name, &st) == 0 && st.st_dev == output.st_dev &&
			st.st_ino == output.st_ino)
			return error_set(c->error, -EINVAL, NULL,
				"--output: %s belongs to the log itself", x->output);
	}
	return 0;
}

static int verb_export_copy(struct call *c, const struct export *x, struct audit_log *log, int fd)
{
	auto_audit_writer writer = { 0 };

	audit_writer_init_format(&writer, fd, (enum audit_format)x->format);
	return audit_writer_copy_all(&writer, log, &x->filter, c->error);
}

static int copy_to_file(struct call *c, const struct export *x, struct audit_log *log)
{
	auto_audit_file file = AUDIT_FILE_NONE;
	int r = check_output(c, x);

	if (r == 0)
		r = audit_file_begin(&file, x->output, c->error);
	if (r == 0)
		r = verb_export_copy(c, x, log, file.fd);
	return r < 0 ? r : audit_file_finish(&file, c->error);
}

static int export(struct call *c, struct export *x)
{
	auto_audit_log *log = NULL;
	int r = audit_source_find(c, c->n ? c->words[0] : NULL, &x->path);

	if (r == 0)
		r = audit_source_open(c, x->path, &log);
	if (r < 0)
		return r;
	return x->output ? copy_to_file(c, x, log) : verb_export_copy(c, x, log, STDOUT_FILENO);
}

static int verb_export_run(struct call *c)
{
	struct export x = { 0 };
	const struct options_row rows[] = {
		{ "format", 'f', "FORMAT", "jsonl, ocsf, cef or csv", take_format, &x.format,
			OPTIONS_REQUIRED },
		{ "output", 'o', "FILE",
			"write this file (mode 0600), when all is there; -: standard output",
			options_text, &x.output, OPTIONS_OPTIONAL },
		AUDIT_FILTER_ROWS(&x.filter),
		AUDIT_FILTER_AMOUNT(&x.filter),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (x.output && !*x.output)
		return options_misused(c, "--output: the file has no name");
	if (x.output && !strcmp(x.output, "-"))
		x.output = NULL;
	r = export(c, &x);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_audit_export = {
	.name = "export",
	.synopsis = "--format FORMAT [OPTION]... [FILE]",
	.summary = "records for other systems: jsonl, ocsf, cef, csv",
	.description =
		"Prints the records that fit all options, each as a line: JSON Lines, the Open "
		"Cybersecurity Schema (1.1.0), the Common Event Format, or CSV. The fields are "
		"described in docs/audit.md.",
	.examples = "corral audit export --format jsonl | jq -c 'select(.decision == \"denied\")'\n"
		    "corral audit export --format ocsf --since 1d --output today.ocsf.jsonl\n"
		    "corral audit export --format csv --output audit.csv run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_export_run,
};
