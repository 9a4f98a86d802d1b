/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log that cannot even be opened is no answer, with one exception: if there is a head in the
 * second file that the key has signed, there was a log, and what is not to be found of it is
 * missing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/export/export.h"
#include "audit/store/head.h"
#include "audit/store/proof.h"
#include "audit/store/verify.h"
#include "base/array.h"
#include "base/file.h"
#include "cli/audit/figures.h"
#include "cli/audit/writer.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/encoding.h"
#include "codec/json.h"

/*
 * A hash only says that a record and the one before it belong together. Who changes a record and
 * makes the hashes anew, but not to the end, is noticed where that ends: only a signed head is a
 * proof.
 */
#define COMPARE                                                                                 \
	"Records covered by the previous signed head are intact. Keep this log unchanged, and " \
	"compare it with a copy or an export."

/* What each fault means, and what to do. */
static const struct {
	const char *meaning, *advice;
} findings[] = {
	[AUDIT_FINE] = { "", "" },
	[AUDIT_CHANGED] = { "This record, or one between it and the previous signed head, was "
			    "changed.",
		COMPARE },
	[AUDIT_REMOVED] = { "It was removed. Retention removes only the oldest records, and "
			    "signs that.",
		COMPARE },
	[AUDIT_REORDERED] = { "Each record contains its own number, and this one is in the wrong "
			      "place.",
		COMPARE },
	[AUDIT_TRUNCATED] = { "The log was truncated, or replaced by an older copy.",
		"Look for a newer copy. `--head ''` verifies what is left." },
	[AUDIT_UNSIGNED] = { "A signature is wrong or was made with another key, so the records "
			     "it covers cannot be trusted.",
		"If the log has another key, name it with --key. If the key is right, do not "
		"trust this log." },
	[AUDIT_HEADLESS] = { "Without this head a truncated log cannot be detected.",
		"If the log was moved or copied, move its .head file with it, or name it with "
		"--head. `--head ''` verifies without it." },
	[AUDIT_UNREADABLE] = { "The file is damaged.", "Keep it unchanged, and look for a copy." },
};
_Static_assert(ROWS(findings) == AUDIT_FAULT_COUNT, "each has a text");

static void verb_verify_paragraph(struct output *o, const char *before, const char *text)
{
	buffer_printf(&o->text, "  ");
	if (*before)
		output_styled(o, OUTPUT_BOLD, before);
	output_wrapped(o, text, OUTPUT_PROSE);
	buffer_addc(&o->text, '\n');
}

static int verb_verify_print(
	struct call *c, const char *path, const char *head_path, const struct audit_verdict *v)
{
	auto_output o = output_for(STDOUT_FILENO);

	output_styled(&o, v->fault ? OUTPUT_RED : OUTPUT_GREEN, audit_fault_name(v->fault));
	buffer_adds(&o.text, ": ");
	output_foreign(&o, v->text);
	buffer_addc(&o.text, '\n');
	audit_line_field(&o, "log");
	output_foreign(&o, path);
	buffer_addc(&o.text, '\n');
	audit_line_field(&o, "verified");
	audit_amount_count(&o.text, v->records);
	buffer_adds(&o.text, v->records == 1 ? " record" : " records");
	/* Numbers below 0, which only tampering puts there, look like very large ones. */
	if (v->last && v->first <= v->last)
		buffer_printf(&o.text, "; there are %" PRIu64 " to %" PRIu64, v->first, v->last);
	if (v->removed)
		buffer_printf(&o.text, ", retention removed those up to %" PRIu64, v->removed);
	buffer_addc(&o.text, '\n');
	audit_line_field(&o, "signed");
	buffer_printf(&o.text, "up to record %" PRIu64 "\n", v->signed_up_to);
	audit_line_field(&o, "key");
	encoding_print(ENCODING_HEX, v->key, sizeof(v->key), &o.text);
	buffer_addc(&o.text, '\n');
	if (v->fault) {
		verb_verify_paragraph(&o, "", findings[v->fault].meaning);
		verb_verify_paragraph(&o, "-> ", findings[v->fault].advice);
	} else if (!*head_path) {
		verb_verify_paragraph(&o, "",
			"Without a head file, a log truncated at an earlier signed head cannot "
			"be detected.");
	}
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_verify_print_tree(struct call *c, const char *path, const struct audit_verdict *v)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);
	auto_buffer key = { 0 };

	encoding_print(ENCODING_HEX, v->key, sizeof(v->key), &key);
	tree_put_text(&t, root, "file", path);
	tree_put_flag(&t, root, "fine", v->fault == AUDIT_FINE);
	tree_put_text(&t, root, "fault", v->fault ? audit_fault_name(v->fault) : NULL);
	if (v->fault)
		tree_put_number(&t, root, "number", (int64_t)v->number);
	else
		tree_put(&t, root, "number", NULL);
	tree_put_text(&t, root, "text", v->text);
	tree_put_text(&t, root, "meaning", v->fault ? findings[v->fault].meaning : NULL);
	tree_put_text(&t, root, "advice", v->fault ? findings[v->fault].advice : NULL);
	tree_put_number(&t, root, "records", (int64_t)v->records);
	tree_put_number(&t, root, "first", (int64_t)v->first);
	tree_put_number(&t, root, "last", (int64_t)v->last);
	tree_put_number(&t, root, "signed_up_to", (int64_t)v->signed_up_to);
	tree_put_number(&t, root, "removed", (int64_t)v->removed);
	tree_put_buffer(&t, root, "key", &key);
	return tree_print(&t, root, c->error);
}

struct verb_verify {
	struct call *call;
	const char *path, *key, *head;
	struct audit_verdict verdict;
};

/* What lies beside a log may be somebody else's: a pipe would keep us waiting. What was named by
 * whoever asks may be one. */
static int verb_verify_find_beside(struct verb_verify *v, const char *suffix, const char **ret)
{
	struct stat st;
	int r = audit_source_beside(v->call, v->path, suffix, ret);

	if (r < 0 || stat(*ret, &st) < 0 || S_ISREG(st.st_mode))
		return r;
	return error_set(v->call->error, -EINVAL, NULL, "%s: not a regular file", *ret);
}

/* Nothing was opened, with the error `why`. 0: that is a finding. */
static int verb_verify_judge_missing(struct verb_verify *v, int why)
{
	struct key_public key;
	struct head head;

	if ((why != -ENOENT && why != -EBADMSG) || !*v->head ||
		head_load(&head, v->head, NULL) < 0 || key_public_read(&key, v->key, NULL) < 0 ||
		head_check(&head, &key) < 0)
		return why;
	v->verdict = (struct audit_verdict){
		.fault = why == -ENOENT ? AUDIT_TRUNCATED : AUDIT_UNREADABLE,
		.number = head.removed + 1,
	};
	key_public_id(&key, v->verdict.key);
	(void)snprintf(v->verdict.text, sizeof(v->verdict.text),
		why == -ENOENT ? "the log does not exist, but was signed up to record %llu"
			       : "the file is not a log any more, but was signed up to record %llu",
		(unsigned long long)head.number);
	return 0;
}

static int verb_verify_run(struct call *c)
{
	struct verb_verify v = { .call = c };
	auto_audit_log *log = NULL;
	bool json = false;
	const struct options_row rows[] = {
		{ { "key", SCHEMA_TEXT,
			  .help = "the public key, preferably a copy kept elsewhere (default: "
				  "LOG.key.pub)" },
			'k', "FILE", .target = &v.key },
		{ { "head", SCHEMA_TEXT,
			  .help = "the last signed head, likewise (default: LOG.head; '' for "
				  "none)" },
			0, "FILE", .target = &v.head },
		OPTIONS_JSON(&json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = audit_source_find(c, 0, &v.path);
	if (r == 0 && !v.key)
		r = verb_verify_find_beside(&v, ".key.pub", &v.key);
	if (r == 0 && !v.head)
		r = verb_verify_find_beside(&v, ".head", &v.head);
	if (r < 0)
		return r;
	r = audit_source_open(c, v.path, &log);
	if (r < 0) {
		r = verb_verify_judge_missing(&v, r);
	} else {
		r = audit_log_verify(log, v.key, v.head, &v.verdict, c->error);
		if (r == -ENOENT && !access(v.path, F_OK))
			error_hint(c->error, "no public key was found for the log: use --key FILE");
	}
	if (r == 0)
		r = json ? verb_verify_print_tree(c, v.path, &v.verdict)
			 : verb_verify_print(c, v.path, v.head, &v.verdict);
	return r < 0 ? r : v.verdict.fault == AUDIT_FINE ? STATUS_YES : STATUS_NO;
}

const struct verb verb_audit_verify = {
	.name = "verify",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "check that a log was not changed",
	.description =
		"Checks a whole log against its hashes and signatures, and names the first "
		"record that was changed, removed, moved or truncated. It prints the id of the "
		"key: write it down, because an attacker who replaces log, head and key together "
		"is detected only by this id.\n"
		"Exit status: 0 unchanged, 1 changed, 2 an error.",
	.examples = "corral audit verify\n"
		    "corral audit verify --key ~/keys/audit.pub --head ~/heads/audit.head run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_verify_run,
};

/* Proofs that a record is in a log: made from the log, and checked without it. */

static void verb_prove_tell_absent(struct call *c, struct audit_log *log, uint64_t number)
{
	struct error ignored = { 0 };
	uint64_t first, last;

	if (audit_log_range(log, &first, &last, &ignored) < 0)
		return;
	if (!last)
		(void)error_set(c->error, -ENOENT, NULL, "the log has no records");
	else if (number > last || number < first)
		(void)error_set(c->error, -ENOENT, NULL,
			"there is no record %" PRIu64 "; the log has %" PRIu64 " to %" PRIu64,
			number, first, last);
	else
		error_hint(c->error,
			"a head is signed every few seconds and when the writer "
			"exits; `corral audit verify` shows how far the log is signed");
}

static int verb_prove_run(struct call *c)
{
	auto_audit_log *log = NULL;
	auto_output o = { 0 };
	const char *path;
	uint64_t number;
	int r = options_parse(c, NULL, 0);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (audit_filter_parse_number(c->words[0], &number) < 0)
		return options_misused(c, "`%s` is not a record number", c->words[0]);
	r = audit_source_find(c, 1, &path);
	if (r == 0)
		r = audit_source_open(c, path, &log);
	if (r < 0)
		return r;
	r = audit_log_prove(log, number, &o.text, c->error);
	buffer_addc(&o.text, '\n');
	if (r == 0)
		return output_write(&o, STDOUT_FILENO, c->error);
	if (r != -ENOENT && r != -EBADMSG)
		return r;
	/* There is a log, but no proof: that is an answer. */
	if (r == -ENOENT)
		verb_prove_tell_absent(c, log, number);
	else
		error_hint(c->error,
			"run `corral audit verify` to find out what is wrong with the log");
	output_error(c->error);
	return STATUS_NO;
}

const struct verb verb_audit_prove = {
	.name = "prove",
	.synopsis = "NUMBER [FILE]",
	.summary = "print a proof that a record is in the log",
	.description =
		"Prints a proof as one line of JSON: the record with this number, its path in "
		"the log's hash tree, and the signed head. Anyone with the log's public key can "
		"check it without the log, and learns nothing about other records.\n"
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

/* A proof has a record and some hashes, all as hexadecimal digits. */
enum { PROOF_MAX = 256 << 10 };

struct check_proof {
	struct call *call;
	const char *key_path;
	uint8_t key[KEY_ID_BYTES];
	bool json;
	struct audit_row row;
};

/* By default the key of the user's own log. Read by itself: without a key there is no answer. */
static int verb_check_proof_find_key(struct check_proof *p)
{
	struct call *c = p->call;
	struct key_public key;
	const char *log;
	int r = 0;

	if (!p->key_path) {
		r = audit_source_find(c, c->n, &log);
		if (r == 0)
			r = audit_source_beside(c, log, ".key.pub", &p->key_path);
	}
	if (r == 0)
		r = key_public_read(&key, p->key_path, c->error);
	if (r < 0) {
		error_hint(c->error, "no public key was given: use --key LOG.key.pub");
		return r;
	}
	key_public_id(&key, p->key);
	return 0;
}

static int verb_check_proof_print(const struct check_proof *p, bool proved)
{
	auto_output o = output_for(STDOUT_FILENO);

	output_styled(&o, proved ? OUTPUT_GREEN : OUTPUT_RED, proved ? "proved" : "not proved");
	buffer_adds(&o.text, ": ");
	if (proved)
		buffer_adds(&o.text, "this record is in the log that was signed with the key ");
	else
		error_print(p->call->error, &o.text);
	buffer_adds(&o.text, proved ? "" : "\n  the key is ");
	encoding_print(ENCODING_HEX, p->key, sizeof(p->key), &o.text);
	buffer_addc(&o.text, '\n');
	if (proved)
		audit_line_add_record(&o, &p->row);
	return output_write(&o, STDOUT_FILENO, p->call->error);
}

static int verb_check_proof_print_tree(const struct check_proof *p, bool proved)
{
	struct json_tree t = { .arena = p->call->arena };
	struct node *root = tree_map(&t);
	auto_buffer key = { 0 }, line = { 0 };
	auto_document record = { 0 };

	encoding_print(ENCODING_HEX, p->key, sizeof(p->key), &key);
	if (proved) {
		audit_export_row(AUDIT_JSONL, &p->row, &line);
		t.failed = json_read(&record, NULL, buffer_text(&line), line.len, NULL) < 0;
	}
	tree_put_flag(&t, root, "proved", proved);
	tree_put_text(&t, root, "reason", proved ? NULL : p->call->error->text);
	tree_put_buffer(&t, root, "key", &key);
	tree_put(&t, root, "record", proved && !t.failed ? node_copy(t.arena, record.root) : NULL);
	return tree_print(&t, root, p->call->error);
}

static int verb_check_proof_run(struct call *c)
{
	auto_buffer text = { 0 }, texts = { 0 };
	struct check_proof p = { .call = c };
	struct location where = { .file = "standard input" };
	const struct options_row rows[] = {
		{ { "key", SCHEMA_TEXT,
			  .help = "the public key of the log, LOG.key.pub (default: that of your "
				  "own log)" },
			'k', "FILE", .target = &p.key_path },
		OPTIONS_JSON(&p.json),
	};
	bool proved;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_check_proof_find_key(&p);
	if (r < 0)
		return r;
	if (strcmp(c->words[0], "-") != 0)
		where.file = c->words[0];
	r = file_read(c->words[0], PROOF_MAX, &text);
	if (r == -EFBIG)
		return error_set(c->error, r, &where, "is too large to be a proof");
	if (r < 0)
		return error_set(c->error, r, &where, "cannot be read: %s", strerror(-r));
	r = audit_proof_check(buffer_text(&text), text.len, p.key_path, &p.row, &texts, c->error);
	if (r < 0 && r != -EBADMSG)
		return r;
	proved = r == 0;
	r = (p.json ? verb_check_proof_print_tree : verb_check_proof_print)(&p, proved);
	return r < 0 ? r : proved ? STATUS_YES : STATUS_NO;
}

const struct verb verb_audit_check_proof = {
	.name = "check-proof",
	.synopsis = "[--key FILE] [--json] PROOF",
	.summary = "check such a proof without the log",
	.description =
		"Checks a proof that `corral audit prove` printed, using only the public key of "
		"the log, and shows the record that it proves. PROOF is a file; - is standard "
		"input.\n"
		"Exit status: 0 proved, 1 not proved, 2 an error.",
	.examples = "corral audit check-proof --key audit.pub record-17.proof\n",
	.operand = "PROOF",
	.min = 1,
	.max = 1,
	.run = verb_check_proof_run,
};
