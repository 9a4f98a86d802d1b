/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "audit/store/proof.h"
#include "cli/audit/filter.h"
#include "cli/audit/source.h"
#include "cli/output.h"

static void tell_absent(struct call *c, struct audit_log *log, uint64_t number)
{
	struct error ignored = { 0 };
	uint64_t first, last;

	if (audit_log_range(log, &first, &last, &ignored) < 0)
		return;
	if (!last)
		(void)error_set(c->error, -ENOENT, NULL, "there is no record in the log");
	else if (number > last || number < first)
		(void)error_set(c->error, -ENOENT, NULL,
			"there is no record %" PRIu64 "; the log has %" PRIu64 " to %" PRIu64,
			number, first, last);
	else
		error_hint(c->error, "`corral audit verify` says how far the log is signed, and if "
				     "something is missing; a head comes after some seconds, and "
				     "when the writer ends");
}

/* There is a log, but no proof: that is an answer. */
static int verb_prove_refuse(struct call *c, struct audit_log *log, uint64_t number, int r)
{
	if (r == -ENOENT)
		tell_absent(c, log, number);
	if (r == -EBADMSG)
		error_hint(c->error, "`corral audit verify` says what is wrong with the log");
	if (r != -ENOENT && r != -EBADMSG)
		return r;
	output_error(c->error);
	return STATUS_NO;
}

static int prove(struct call *c, uint64_t number)
{
	auto_audit_log *log = NULL;
	auto_output o = { 0 };
	const char *path;
	int r = audit_source_find(c, c->n > 1 ? c->words[1] : NULL, &path);

	if (r == 0)
		r = audit_source_open(c, path, &log);
	if (r < 0)
		return r;
	r = audit_log_prove(log, number, &o.text, c->error);
	if (r < 0)
		return verb_prove_refuse(c, log, number, r);
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_prove_run(struct call *c)
{
	uint64_t number;
	int r = options_parse(c, NULL, 0);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (audit_filter_parse_number(c->words[0], &number) < 0)
		return options_misused(c, "`%s` is no number of a record", c->words[0]);
	return prove(c, number);
}

const struct verb verb_audit_prove = {
	.name = "prove",
	.synopsis = "NUMBER [FILE]",
	.summary = "a proof that a record is in the log",
	.description =
		"Prints a proof as one line of JSON: the record with this number, its path in the "
		"log's tree of hashes, and the signed head. Who has the log's public key can check "
		"it without the log, and learns nothing about other records.\n"
		"Exit status: 0 printed, 1 there is no such record, or no signed head covers it "
		"yet, 2 an error.",
	.examples =
		"corral audit prove 17 > record-17.proof\n"
		"corral audit prove 17 run.db | corral audit check-proof --key run.db.key.pub -\n",
	.operand = "NUMBER",
	.min = 1,
	.max = 2,
	.run = verb_prove_run,
};
