/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A proof that one record is in a log, for a reader who has neither the log nor the other records:
 * the record, its path in the Merkle tree, and a signed head. As text, one JSON object of one line:
 *
 *     {"format": "corral-audit-proof-1", "number": 17, "record": "<hex>",
 *      "path": ["<hex>", …], "head": {…}}
 */
#include "audit/store/log.h"

struct buffer;

/* By the last signed head. -ENOENT: there is no such record, or no head covers it yet. */
int audit_log_prove(struct audit_log *l, uint64_t number, struct buffer *out, struct error *e);

/*
 * Checks one with the public key in that file. Fills *ret, whose texts live in *texts; its hash is
 * the record's own (the leaf's), as a proof tells nothing of the chain. -EBADMSG: it proves
 * nothing.
 */
int audit_proof_check(const char *text, size_t len, const char *public_path, struct audit_row *ret,
	struct buffer *texts, struct error *e);
