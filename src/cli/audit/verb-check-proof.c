/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "audit/export/export.h"
#include "audit/store/key.h"
#include "audit/store/proof.h"
#include "base/array.h"
#include "base/file.h"
#include "cli/audit/record.h"
#include "cli/audit/source.h"
#include "cli/options.h"
#include "cli/tree.h"
#include "codec/json.h"

/* A proof has a record and some hashes, all as hexadecimal digits. */
enum { PROOF_MAX = 256 << 10 };

struct proof {
	struct call *call;
	const char *key_path;
	uint8_t key[KEY_ID_BYTES];
	bool json;
	struct audit_row row;
	struct buffer texts; /* of the row */
};

static void proof_deinit(struct proof *p)
{
	buffer_deinit(&p->texts);
}

/* By default the key of the user's own log. Read by itself: without a key there is no answer. */
static int verb_check_proof_find_key(struct proof *p)
{
	struct call *c = p->call;
	struct key_public key;
	const char *log;
	int r = 0;

	if (!p->key_path) {
		r = audit_source_find(c, NULL, &log);
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

static int read_proof(struct call *c, struct buffer *out)
{
	const char *path = c->words[0];
	const struct location where = { .file = strcmp(path, "-") ? path : "standard input" };
	int r = file_read(path, PROOF_MAX, out);

	if (r == -EFBIG)
		return error_set(c->error, r, &where, "is larger than a proof can be");
	return r < 0 ? error_set(c->error, r, &where, "cannot be read: %s", strerror(-r)) : 0;
}

static int verb_check_proof_print(const struct proof *p)
{
	auto_output o = output_for(STDOUT_FILENO);

	output_styled(&o, OUTPUT_GREEN, "proved");
	buffer_adds(&o.text, ": this record is in the log that was signed with the key ");
	audit_record_hex(&o.text, p->key, sizeof(p->key));
	buffer_addc(&o.text, '\n');
	audit_record_add(&o, &p->row);
	return output_write(&o, STDOUT_FILENO, p->call->error);
}

static int print_no(const struct proof *p)
{
	auto_output o = output_for(STDOUT_FILENO);

	output_styled(&o, OUTPUT_RED, "not proved");
	buffer_adds(&o.text, ": ");
	error_print(p->call->error, &o.text);
	buffer_adds(&o.text, "\n  the key is ");
	audit_record_hex(&o.text, p->key, sizeof(p->key));
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, p->call->error);
}

static int verb_check_proof_print_tree(const struct proof *p, bool proved)
{
	struct tree t = { .arena = p->call->arena };
	struct node *root = tree_map(&t);
	auto_buffer key = { 0 }, line = { 0 };
	auto_document record = { 0 };

	audit_record_hex(&key, p->key, sizeof(p->key));
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

static int verb_check_proof_check(struct proof *p)
{
	auto_buffer text = { 0 };
	struct call *c = p->call;
	bool proved;
	int r = verb_check_proof_find_key(p);

	if (r == 0)
		r = read_proof(c, &text);
	if (r < 0)
		return r;
	r = audit_proof_check(
		buffer_text(&text), text.len, p->key_path, &p->row, &p->texts, c->error);
	if (r < 0 && r != -EBADMSG)
		return r;
	proved = r == 0;
	if (p->json)
		r = verb_check_proof_print_tree(p, proved);
	else
		r = proved ? verb_check_proof_print(p) : print_no(p);
	return r < 0 ? r : proved ? STATUS_YES : STATUS_NO;
}

static int verb_check_proof_run(struct call *c)
{
	__attribute__((cleanup(proof_deinit))) struct proof p = { .call = c };
	const struct options_row rows[] = {
		{ "key", 'k', "FILE",
			"the public key of the log (LOG.key.pub); else that of your own log",
			options_text, &p.key_path, OPTIONS_OPTIONAL },
		OPTIONS_JSON(&p.json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	return verb_check_proof_check(&p);
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
