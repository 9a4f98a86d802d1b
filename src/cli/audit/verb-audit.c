/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/place.h"
#include "base/array.h"
#include "base/fd.h"
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
		{ { "json", SCHEMA_FLAG, .help = "print JSON Lines" }, .target = &json },
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

static const struct verb verb_audit_list = {
	.name = "list",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "list records, by session, action, decision, target, time",
	.description = "Prints the records that match all options, the oldest first. This does not "
		       "verify the log: see `corral audit verify`.",
	.examples = "corral audit list --decision denied --since 2h\n"
		    "corral audit list --action net,exec --target '*.example.com*'\n"
		    "corral audit list --action fs --target '/etc/**' --newest --limit 20\n"
		    "corral audit list --since 2026-01-31 --until 2026-01-31 --json run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_list_run,
};

/*
 * An export to a file is there as a whole or not at all, and only for its owner (mode 0600). A file
 * without a name (O_TMPFILE) goes with the process, however that ends, so an export that was
 * interrupted leaves nothing behind. Not every file system has them. It cannot take a name that is
 * given already: it gets one beside it, and is renamed in the same breath.
 */
enum { TRIES = 16 };

struct audit_file {
	int fd;
	const char *path;
	struct buffer temp; /* the other name; empty while it has none */
};

static int audit_file_fail(const struct audit_file *f, int r, struct error *e)
{
	return error_set(e, r, NULL, "cannot write %s: %s", f->path, strerror(-r));
}

/* -EINVAL: what is there is no plain file, so it cannot be replaced. path must live on. */
static int audit_file_begin(struct audit_file *f, const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	auto_buffer folder = { 0 };
	struct stat st;
	int r;

	/* A device, a pipe or a link would be replaced by a file, which is never intended. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		(void)error_set(e, -EINVAL, NULL, "%s: exists and is not a regular file", path);
		error_hint(e, "omit --output to write to standard output");
		return -EINVAL;
	}
	*f = (struct audit_file){ .fd = -1, .path = path };
	buffer_add(&folder, path, slash ? (size_t)(slash - path) + 1 : 0);
	buffer_adds(&folder, ".");
	if (!folder.failed)
		f->fd = open(folder.data, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (f->fd >= 0)
		return 0;
	buffer_printf(&f->temp, "%s.XXXXXX", path);
	if (f->temp.failed)
		return audit_file_fail(f, -ENOMEM, e);
	f->fd = mkostemp(f->temp.data, O_CLOEXEC); /* mode 0600 */
	if (f->fd >= 0)
		return 0;
	r = -errno;
	buffer_clear(&f->temp);
	return audit_file_fail(f, r, e);
}

/* An unused name beside its own. */
static int audit_file_give_name(struct audit_file *f)
{
	char self[64];
	uint64_t random;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	for (int i = 0; i < TRIES; i++) {
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		buffer_clear(&f->temp);
		buffer_printf(&f->temp, "%s.%016llx", f->path, (unsigned long long)random);
		if (f->temp.failed)
			return -ENOMEM;
		if (linkat(AT_FDCWD, self, AT_FDCWD, f->temp.data, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	buffer_clear(&f->temp);
	return -errno;
}

/* It is complete: gives it its name. */
static int audit_file_finish(struct audit_file *f, struct error *e)
{
	int r = fsync(f->fd) < 0 ? -errno : 0;

	if (r == 0 && !f->temp.len)
		r = audit_file_give_name(f);
	if (r == 0 && rename(f->temp.data, f->path) < 0)
		r = -errno;
	if (r < 0)
		return audit_file_fail(f, r, e);
	buffer_clear(&f->temp);
	return 0;
}

/* Also if it was not finished: then nothing is left. */
static void audit_file_deinit(struct audit_file *f)
{
	if (f->temp.len)
		(void)unlink(f->temp.data);
	fd_close(&f->fd);
	buffer_deinit(&f->temp);
}
#define auto_audit_file __attribute__((cleanup(audit_file_deinit))) struct audit_file

struct verb_export {
	struct audit_filter filter;
	int format;
	const char *output; /* NULL: standard output */
	const char *path;
};

/* The log and what belongs to it: an export in their place would be the end of them. */
static int verb_export_check_output(struct call *c, const struct verb_export *x)
{
	struct stat output, st;

	if (stat(x->output, &output) < 0)
		return 0;
	for (size_t i = 0; i < AUDIT_REACH_FILES; i++) {
		const char *name;
		int r = audit_source_beside(c, x->path, audit_reach_files[i].suffix, &name);

		if (r < 0)
			return r;
		if (stat(name, &st) == 0 && st.st_dev == output.st_dev &&
			st.st_ino == output.st_ino)
			return error_set(c->error, -EINVAL, NULL,
				"--output: %s is part of the log itself", x->output);
	}
	return 0;
}

static int verb_export_run(struct call *c)
{
	auto_audit_file file = { .fd = -1 };
	auto_audit_writer writer = { 0 };
	auto_audit_log *log = NULL;
	struct verb_export x = { 0 };
	const struct options_row rows[] = {
		{ { "format", SCHEMA_CHOICE, true, .words = audit_format_names,
			  .help = "jsonl, ocsf, cef or csv" },
			'f', "FORMAT", .target = &x.format },
		{ { "output", SCHEMA_TEXT,
			  .help = "write to this file (mode 0600), when complete; - is standard "
				  "output" },
			'o', "FILE", .target = &x.output },
		AUDIT_FILTER_ROWS(&x.filter),
		AUDIT_FILTER_AMOUNT(&x.filter),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (x.output && !*x.output)
		return options_misused(c, "--output: the file name is empty");
	if (x.output && !strcmp(x.output, "-"))
		x.output = NULL;
	r = audit_source_find(c, 0, &x.path);
	if (r == 0)
		r = audit_source_open(c, x.path, &log);
	if (r == 0 && x.output)
		r = verb_export_check_output(c, &x);
	if (r == 0 && x.output)
		r = audit_file_begin(&file, x.output, c->error);
	if (r < 0)
		return r;
	audit_writer_init(&writer, x.output ? file.fd : STDOUT_FILENO, x.format);
	r = audit_writer_copy_all(&writer, log, &x.filter, c->error);
	if (r == 0 && x.output)
		r = audit_file_finish(&file, c->error);
	return r < 0 ? r : STATUS_YES;
}

static const struct verb verb_audit_export = {
	.name = "export",
	.synopsis = "--format FORMAT [OPTION]... [FILE]",
	.summary = "export records for other systems: jsonl, ocsf, cef, csv",
	.description =
		"Prints the records that match all options, one per line: JSON Lines, the Open "
		"Cybersecurity Schema (1.1.0), the Common Event Format, or CSV. The fields are "
		"described in docs/audit.md.",
	.examples = "corral audit export --format jsonl | jq -c 'select(.decision == \"denied\")'\n"
		    "corral audit export --format ocsf --since 1d --output today.ocsf.jsonl\n"
		    "corral audit export --format csv --output audit.csv run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_export_run,
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
	.summary = "read, export and verify audit logs",
	.description =
		"Reads the logs that `corral run --audit FILE` and programs that use the library "
		"write, also while they write. FILE is a log; the default is your own, "
		"corral/audit.db in XDG_STATE_HOME (usually ~/.local/state).\n"
		"Exit status: 0 yes, 1 no, 2 an error.",
	.examples = "corral audit tail -f\n"
		    "corral audit list --decision denied --since 2h\n"
		    "corral audit stats\n"
		    "corral audit export --format ocsf --output audit.jsonl\n"
		    "corral audit verify\n",
	.verbs = verbs,
};
