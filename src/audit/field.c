/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codec/encoding.h"

#define AT(member) offsetof(struct audit_row, member), sizeof(((struct audit_row *)NULL)->member)
#define TEXT(member) AUDIT_TYPE_TEXT, AT(event.member)
#define NUMBER(member) AUDIT_TYPE_NUMBER, AT(event.member)

const struct audit_field audit_fields[AUDIT_FIELDS] = {
	[AUDIT_FIELD_NUMBER] = { "number", AUDIT_TYPE_NUMBER, AT(number), .cef = "externalId",
		.unmapped = true },
	[AUDIT_FIELD_TIME] = { "time", AUDIT_TYPE_TIME, AT(event.time_ns) },
	[AUDIT_FIELD_SEQUENCE] = { "sequence", NUMBER(sequence), .cef = "cn1" },
	[AUDIT_FIELD_SESSION] = { "session", TEXT(session), .cef = "cs1" },
	[AUDIT_FIELD_USER] = { "user", TEXT(user), .cef = "suid" },
	[AUDIT_FIELD_SANDBOX] = { "sandbox", TEXT(sandbox), .cef = "cs2" },
	[AUDIT_FIELD_PID] = { "pid", NUMBER(pid), .cef = "spid" },
	[AUDIT_FIELD_PROGRAM] = { "program", TEXT(program), .cef = "sproc" },
	[AUDIT_FIELD_ACTION] = { "action", AUDIT_TYPE_WORD, AT(event.action), audit_actions },
	[AUDIT_FIELD_TARGET] = { "target", TEXT(target), .cef = "cs4", .unmapped = true },
	[AUDIT_FIELD_DECISION] = { "decision", AUDIT_TYPE_WORD, AT(event.decision), audit_decisions,
		.cef = "act", .unmapped = true },
	[AUDIT_FIELD_RULE] = { "rule", TEXT(rule), .cef = "cs3", .unmapped = true },
	[AUDIT_FIELD_REASON] = { "reason", TEXT(reason), .cef = "reason" },
	[AUDIT_FIELD_EXACT] = { "exact", AUDIT_TYPE_FLAG, AT(event.exact), .cef = "cs6",
		.unmapped = true },
	[AUDIT_FIELD_COST_NS] = { "cost_ns", NUMBER(cost_ns), .cef = "cn2", .unmapped = true,
		.title = "took" },
	[AUDIT_FIELD_SENT] = { "sent", NUMBER(sent), .cef = "out", .unmapped = true },
	[AUDIT_FIELD_RECEIVED] = { "received", NUMBER(received), .cef = "in", .unmapped = true },
	[AUDIT_FIELD_STATUS] = { "status", AUDIT_TYPE_SIGNED, AT(event.status), .cef = "cn3",
		.unmapped = true },
	[AUDIT_FIELD_COUNT] = { "count", NUMBER(count), .cef = "cnt" },
	[AUDIT_FIELD_HASH] = { "hash", AUDIT_TYPE_HASH, AT(hash), .cef = "cs5", .unmapped = true },
};

const struct audit_field *audit_field_find(const char *name)
{
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		if (strcmp(audit_fields[i].name, name) == 0)
			return &audit_fields[i];
	}
	return NULL;
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

	if (f->type == AUDIT_TYPE_TEXT) {
		memcpy(&text, at, sizeof(text));
		return text ? text : "";
	}
	if (f->type == AUDIT_TYPE_HASH)
		return encoding_hex(at, f->size, out);
	n = audit_field_number(f, r);
	switch (f->type) {
	case AUDIT_TYPE_TIME:
		return audit_field_print_time(n, out);
	case AUDIT_TYPE_WORD:
		while (i < n && f->words[i])
			i++;
		return f->words[i] ? f->words[i] : "unknown";
	case AUDIT_TYPE_FLAG:
		return n ? "true" : "false";
	case AUDIT_TYPE_SIGNED:
		(void)snprintf(out, AUDIT_FIELD_BYTES, "%" PRId64, (int64_t)n);
		return out;
	default:
		(void)snprintf(out, AUDIT_FIELD_BYTES, "%" PRIu64, n);
		return out;
	}
}
