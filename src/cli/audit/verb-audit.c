/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

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
