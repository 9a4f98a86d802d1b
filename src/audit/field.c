/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codec/encoding.h"

#define AT(member) offsetof(struct audit_row, member), sizeof(((struct audit_row *)NULL)->member)

const struct audit_field audit_fields[AUDIT_FIELDS] = {
	[AUDIT_FIELD_NUMBER] = { { "number", .type = SCHEMA_NUMBER }, AT(number),
		.cef = "externalId", .unmapped = true },
	[AUDIT_FIELD_TIME] = { { "time", .type = SCHEMA_TIME }, AT(event.time_ns) },
	[AUDIT_FIELD_SEQUENCE] = { { "sequence", .type = SCHEMA_NUMBER }, AT(event.sequence),
		.cef = "cn1" },
	[AUDIT_FIELD_SESSION] = { { "session", .type = SCHEMA_TEXT }, AT(event.session),
		.cef = "cs1" },
	[AUDIT_FIELD_USER] = { { "user", .type = SCHEMA_TEXT }, AT(event.user), .cef = "suid" },
	[AUDIT_FIELD_SANDBOX] = { { "sandbox", .type = SCHEMA_TEXT }, AT(event.sandbox),
		.cef = "cs2" },
	[AUDIT_FIELD_PID] = { { "pid", .type = SCHEMA_NUMBER }, AT(event.pid), .cef = "spid" },
	[AUDIT_FIELD_PROGRAM] = { { "program", .type = SCHEMA_TEXT }, AT(event.program),
		.cef = "sproc" },
	[AUDIT_FIELD_ACTION] = { { "action", SCHEMA_CHOICE, .words = audit_actions },
		AT(event.action) },
	[AUDIT_FIELD_TARGET] = { { "target", .type = SCHEMA_TEXT }, AT(event.target), .cef = "cs4",
		.unmapped = true },
	[AUDIT_FIELD_DECISION] = { { "decision", SCHEMA_CHOICE, .words = audit_decisions },
		AT(event.decision), .cef = "act", .unmapped = true },
	[AUDIT_FIELD_RULE] = { { "rule", .type = SCHEMA_TEXT }, AT(event.rule), .cef = "cs3",
		.unmapped = true },
	[AUDIT_FIELD_REASON] = { { "reason", .type = SCHEMA_TEXT }, AT(event.reason),
		.cef = "reason" },
	[AUDIT_FIELD_EXACT] = { { "exact", .type = SCHEMA_FLAG }, AT(event.exact), .cef = "cs6",
		.unmapped = true },
	[AUDIT_FIELD_COST_NS] = { { "cost_ns", .type = SCHEMA_NUMBER }, AT(event.cost_ns),
		.cef = "cn2", .unmapped = true, .title = "took" },
	[AUDIT_FIELD_SENT] = { { "sent", .type = SCHEMA_NUMBER }, AT(event.sent), .cef = "out",
		.unmapped = true },
	[AUDIT_FIELD_RECEIVED] = { { "received", .type = SCHEMA_NUMBER }, AT(event.received),
		.cef = "in", .unmapped = true },
	[AUDIT_FIELD_STATUS] = { { "status", .type = SCHEMA_SIGNED }, AT(event.status),
		.cef = "cn3", .unmapped = true },
	[AUDIT_FIELD_COUNT] = { { "count", .type = SCHEMA_NUMBER }, AT(event.count), .cef = "cnt" },
	[AUDIT_FIELD_HASH] = { { "hash", .type = SCHEMA_HASH }, AT(hash), .cef = "cs5",
		.unmapped = true },
};

bool audit_field_is_bare(const struct audit_field *f)
{
	return f->is.type == SCHEMA_NUMBER || f->is.type == SCHEMA_SIGNED ||
	       f->is.type == SCHEMA_FLAG;
}

uint64_t audit_field_number(const struct audit_field *f, const struct audit_row *r)
{
	const char *at = (const char *)r + f->offset;
	uint64_t wide;
	uint32_t narrow;

	if (f->size == sizeof(bool))
		return *(const bool *)at;
	memcpy(&narrow, at, sizeof(narrow));
	if (f->size == sizeof(narrow))
		return narrow;
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

const char *audit_field_print_time(uint64_t time_ns, char out[AUDIT_FIELD_BYTES])
{
	const time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;
	size_t len;

	(void)gmtime_r(&seconds, &parts);
	len = strftime(out, AUDIT_FIELD_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(out + len, AUDIT_FIELD_BYTES - len, ".%09" PRIu64 "Z", time_ns % 1000000000);
	return out;
}

const char *audit_field_print(
	const struct audit_field *f, const struct audit_row *r, char out[AUDIT_FIELD_BYTES])
{
	const char *at = (const char *)r + f->offset, *text;
	uint64_t n, i = 0;

	if (f->is.type == SCHEMA_TEXT) {
		memcpy(&text, at, sizeof(text));
		return text ? text : "";
	}
	if (f->is.type == SCHEMA_HASH)
		return encoding_hex(at, f->size, out);
	n = audit_field_number(f, r);
	switch (f->is.type) {
	case SCHEMA_TIME:
		return audit_field_print_time(n, out);
	case SCHEMA_CHOICE:
		while (i < n && f->is.words[i])
			i++;
		return f->is.words[i] ? f->is.words[i] : "unknown";
	case SCHEMA_FLAG:
		return n ? "true" : "false";
	case SCHEMA_SIGNED:
		(void)snprintf(out, AUDIT_FIELD_BYTES, "%" PRId64, (int64_t)n);
		return out;
	default:
		(void)snprintf(out, AUDIT_FIELD_BYTES, "%" PRIu64, n);
		return out;
	}
}
