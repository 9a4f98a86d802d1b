/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that a record is in a log: made from the log, and checked without it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "audit/export/export.h"
#include "audit/store/head.h"
#include "audit/store/proof.h"
#include "base/array.h"
#include "base/file.h"
#include "cli/audit/writer.h"
#include "cli/tree.h"
#include "codec/json.h"

static void verb_prove_tell_absent(struct call *c, struct audit_log *log, uint64_t number)
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
		return options_misused(c, "`%s` is no number of a record", c->words[0]);
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
		error_hint(c->error, "`corral audit verify` says what is wrong with the log");
	output_error(c->error);
	return STATUS_NO;
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

/* A proof has a record and some hashes, all as hexadecimal digits. */
enum { PROOF_MAX = 256 << 10 };

struct check_proof {
	struct call *call;
	const char *key_path;
	uint8_t key[KEY_ID_BYTES];
	bool json;
	struct audit_row row;
	struct buffer texts; /* of the row */
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
		error_hint(c->error, "name the public key of the log with --key LOG.key.pub");
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
	hash_print(&o.text, p->key, sizeof(p->key));
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

	hash_print(&key, p->key, sizeof(p->key));
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

static int verb_check_proof_check(struct check_proof *p)
{
	auto_buffer text = { 0 };
	struct call *c = p->call;
	const char *path = c->words[0];
	const struct location where = { .file = strcmp(path, "-") ? path : "standard input" };
	bool proved;
	int r = verb_check_proof_find_key(p);

	if (r < 0)
		return r;
	r = file_read(path, PROOF_MAX, &text);
	if (r == -EFBIG)
		return error_set(c->error, r, &where, "is larger than a proof can be");
	if (r < 0)
		return error_set(c->error, r, &where, "cannot be read: %s", strerror(-r));
	r = audit_proof_check(
		buffer_text(&text), text.len, p->key_path, &p->row, &p->texts, c->error);
	if (r < 0 && r != -EBADMSG)
		return r;
	proved = r == 0;
	r = (p->json ? verb_check_proof_print_tree : verb_check_proof_print)(p, proved);
	return r < 0 ? r : proved ? STATUS_YES : STATUS_NO;
}

static int verb_check_proof_run(struct call *c)
{
	struct check_proof p = { .call = c };
	const struct options_row rows[] = {
		{ "key", 'k', "FILE",
			"the public key of the log (LOG.key.pub); else that of your own log",
			options_text, &p.key_path, OPTIONS_OPTIONAL },
		OPTIONS_JSON(&p.json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_check_proof_check(&p);
	buffer_deinit(&p.texts);
	return r;
}

const struct verb verb_audit_check_proof = {
	.name = "check-proof",
	.synopsis = "[--key FILE] [--json] PROOF",
	.summary = "check such a proof, without the log",
	.description =
		"Checks a proof that `corral audit prove` printed, with the public key of the log "
		"and nothing else, and shows the record that it proves. PROOF is a file; - is "
		"standard input.\n"
		"Exit status: 0 proved, 1 not, 2 no answer (an error).",
	.examples = "corral audit check-proof --key audit.pub record-17.proof\n",
	.operand = "PROOF",
	.min = 1,
	.max = 1,
	.run = verb_check_proof_run,
};
