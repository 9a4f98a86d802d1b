/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Is a log what was written? Reads all of it once, against its chain, its signed heads and the head
 * in the second file, and names the first thing that is wrong. Also while another process writes.
 */
#include <stdint.h>

#include "audit/store/head.h"
#include "audit/store/log.h"

enum audit_fault {
	AUDIT_FINE,
	AUDIT_CHANGED,   /* record `number` is not what was hashed */
	AUDIT_REMOVED,   /* it is not there, though later ones are */
	AUDIT_REORDERED, /* another stands in its place */
	AUDIT_TRUNCATED, /* the log ends before a signed head: `number` is the first that is missing
			  */
	AUDIT_UNSIGNED,  /* the head at `number` has a wrong signature, or one by another key */
	AUDIT_HEADLESS,  /* a head that must be there is not, in the log or in the second file */
	AUDIT_UNREADABLE, /* the file is damaged: from record `number` on nothing can be read */
	AUDIT_FAULT_COUNT,
};

/* "changed", "removed" … */
const char *audit_fault_name(enum audit_fault f);

struct audit_verdict {
	enum audit_fault fault;
	uint64_t number;           /* of the record, or of the head */
	uint64_t records;          /* verified */
	uint64_t first, last;      /* that are there; 0: none */
	uint64_t signed_up_to;     /* what comes after is chained, but not signed yet */
	uint64_t removed;          /* by retention, under a signed head */
	uint8_t key[KEY_ID_BYTES]; /* that was verified with */
	char text[256];            /* what a person reads */
};

/*
 * public_path: the file with the public key; NULL: path of the log + ".key.pub". head_path: the
 * second file; NULL: path + ".head"; "": there is none, so a log that was cut back to an earlier
 * head is not found out. 0 with *ret filled, whatever it says; negative: it could not be found out.
 */
int audit_log_verify(struct audit_log *l, const char *public_path, const char *head_path,
	struct audit_verdict *ret, struct error *e);
