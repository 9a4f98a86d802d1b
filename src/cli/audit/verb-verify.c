/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log that cannot even be opened is no answer, with one exception: if there is a head in the
 * second file that the key has signed, there was a log, and what is not to be found of it is
 * missing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/store/head.h"
#include "base/array.h"
#include "cli/audit/finding.h"
#include "cli/audit/source.h"
#include "cli/options.h"

struct verify {
	struct call *call;
	const char *path, *key, *head;
	struct audit_verdict verdict;
};

/* What lies beside a log may be somebody else's: a pipe would keep us waiting. What was named by
 * whoever asks may be one. */
static int find_beside(struct verify *v, const char *suffix, const char **ret)
{
	struct stat st;
	int r = audit_source_beside(v->call, v->path, suffix, ret);

	if (r < 0 || stat(*ret, &st) < 0 || S_ISREG(st.st_mode))
		return r;
	return error_set(v->call->error, -EINVAL, NULL, "%s: it is no plain file", *ret);
}

/* Fills in the files beside the log. */
static int verb_verify_find_files(struct verify *v)
{
	struct call *c = v->call;
	int r = audit_source_find(c, c->n ? c->words[0] : NULL, &v->path);

	if (r == 0 && !v->key)
		r = find_beside(v, ".key.pub", &v->key);
	if (r == 0 && !v->head)
		r = find_beside(v, ".head", &v->head);
	return r;
}

/* Nothing was opened, with the error `why`. 0: that is a finding. */
static int judge_missing(struct verify *v, int why)
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
		why == -ENOENT ? "the log is not there, but was signed up to record %llu"
			       : "the file is no log any more, but was signed up to record %llu",
		(unsigned long long)head.number);
	return 0;
}

static int verify(struct verify *v)
{
	auto_audit_log *log = NULL;
	struct call *c = v->call;
	int r = audit_source_open(c, v->path, &log);

	if (r < 0)
		return judge_missing(v, r);
	r = audit_log_verify(log, v->key, v->head, &v->verdict, c->error);
	if (r == -ENOENT && !access(v->path, F_OK))
		error_hint(c->error, "the log's public key is needed: name it with --key");
	return r;
}

static int verb_verify_run(struct call *c)
{
	struct verify v = { .call = c };
	bool json = false;
	const struct options_row rows[] = {
		{ "key", 'k', "FILE",
			"the public key, best a copy that was kept elsewhere; else LOG.key.pub",
			options_text, &v.key, OPTIONS_OPTIONAL },
		{ "head", 0, "FILE",
			"the last signed head, likewise; else LOG.head; '': there is none",
			options_text, &v.head, OPTIONS_OPTIONAL },
		OPTIONS_JSON(&json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_verify_find_files(&v);
	if (r == 0)
		r = verify(&v);
	if (r == 0)
		r = json ? audit_finding_print_tree(c, v.path, &v.verdict)
			 : audit_finding_print(c, v.path, v.head, &v.verdict);
	return r < 0 ? r : v.verdict.fault == AUDIT_FINE ? STATUS_YES : STATUS_NO;
}

const struct verb verb_audit_verify = {
	.name = "verify",
	.synopsis = "[OPTION]... [FILE]",
	.summary = "is a log what was written?",
	.description =
		"Reads all of a log against its hashes and signatures, and names the first record "
		"that was changed, removed, moved or cut off. It prints the id of the key: note it "
		"once, because who can replace log, head and key together is found out only by "
		"that.\n"
		"Exit status: 0 it is as it was written, 1 it is not, 2 that cannot be told (an "
		"error).",
	.examples = "corral audit verify\n"
		    "corral audit verify --key ~/keys/audit.pub --head ~/heads/audit.head run.db\n",
	.operand = "FILE",
	.max = 1,
	.run = verb_verify_run,
};
