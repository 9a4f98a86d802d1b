/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With --explain, what the command was denied of files and programs: seen by the witness, so not
 * exact. Hosts that the relay denied are recorded when it happens. They are told at the end, as
 * each is counted; there is a bound on them (explain/internal.h).
 */
#include "cli/explain/internal.h"
#include "cli/run/run.h"

static enum audit_action explain_audit_denials_action_of(enum denial_kind kind)
{
	switch (kind) {
	case DENIAL_READ:
		return AUDIT_FS_READ;
	case DENIAL_WRITE:
		return AUDIT_FS_WRITE;
	case DENIAL_EXEC:
		return AUDIT_EXEC;
	case DENIAL_CONNECT:
		break;
	}
	return AUDIT_NET_CONNECT;
}

static void explain_audit_denials_tell(struct run *r, const struct denial *d)
{
	auto_words words = { 0 };

	run_explain_words(r, d, &words);
	run_audit_add(r, &(struct audit_event){ .action = explain_audit_denials_action_of(d->kind),
				 .target = d->path,
				 .decision = AUDIT_DENIED,
				 .program = *d->program ? d->program : NULL,
				 .rule = buffer_text(&words.rule),
				 .reason = buffer_text(&words.reason),
				 .count = d->count });
}

void run_explain_audit(struct run *r)
{
	const struct denials *all;
	uint64_t missed;

	if (!r->audit.trail || !r->explain)
		return;
	all = run_explain_denials(r);
	missed = run_explain_missed(r);
	for (size_t i = 0; i < all->n; i++) {
		if (!all->items[i].is_exact)
			explain_audit_denials_tell(r, &all->items[i]);
	}
	if (missed)
		run_audit_own(r, (struct audit_event){ .action = AUDIT_STORE,
					 .target = "files",
					 .reason = "so many denials were left out",
					 .count = missed });
}
