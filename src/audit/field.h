/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The fields of a record, each once: its name, where it is, how it prints as text, and what other
 * formats call it. Whatever shows records reads this table: JSON Lines and CSV print all fields in
 * this order; the others name those that they take, in the order that they have there.
 */
#include "audit/store/log.h"
#include "codec/schema.h"

enum audit_field_id {
	AUDIT_FIELD_NUMBER,
	AUDIT_FIELD_TIME,
	AUDIT_FIELD_SEQUENCE,
	AUDIT_FIELD_SESSION,
	AUDIT_FIELD_USER,
	AUDIT_FIELD_SANDBOX,
	AUDIT_FIELD_PID,
	AUDIT_FIELD_PROGRAM,
	AUDIT_FIELD_ACTION,
	AUDIT_FIELD_TARGET,
	AUDIT_FIELD_DECISION,
	AUDIT_FIELD_RULE,
	AUDIT_FIELD_REASON,
	AUDIT_FIELD_EXACT,
	AUDIT_FIELD_COST_NS,
	AUDIT_FIELD_SENT,
	AUDIT_FIELD_RECEIVED,
	AUDIT_FIELD_STATUS,
	AUDIT_FIELD_COUNT,
	AUDIT_FIELD_HASH,
	AUDIT_FIELDS
};

struct audit_field {
	/* Its name in JSON Lines and CSV, and of an option that filters by it; its type: TEXT may
	 * hold anything, whoever prints it escapes it; CHOICE is the number of a word. */
	struct schema_field is;
	size_t offset, size; /* in struct audit_row */
	const char *cef;     /* its key in CEF; NULL: it is in the head */
	bool unmapped;       /* OCSF has no attribute for it: it goes into `unmapped` */
	const char *title;   /* for people, where that is not its name; or NULL */
};
extern const struct audit_field audit_fields[AUDIT_FIELDS];

/* Whether JSON has it without quotes: numbers and flags. */
bool audit_field_is_bare(const struct audit_field *f);
/* The value of a field that is no text and no hash. */
uint64_t audit_field_number(const struct audit_field *f, const struct audit_row *r);
/* The value as text: in the row itself, in a table, or in out. */
enum { AUDIT_FIELD_BYTES = 2 * HASH_BYTES + 1 };
const char *audit_field_print(
	const struct audit_field *f, const struct audit_row *r, char out[AUDIT_FIELD_BYTES]);
/* "2026-01-02T03:04:05.123456789Z", whatever the time zone. */
const char *audit_field_print_time(uint64_t time_ns, char out[AUDIT_FIELD_BYTES]);
