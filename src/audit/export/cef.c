/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArcSight's Common Event Format, version 0:
 *
 *     CEF:0|Corral|Corral|1|net.connect|net.connect denied|6|rt=… act=denied …
 *
 * The head has only words of ours, with nothing in them to escape. In the fields "=" and "\" have a
 * backslash in front, the end of a line is "\n" or "\r", other control characters are made visible.
 * A field with nothing to say is left out.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/export/internal.h"
#include "base/array.h"
#include "base/utf8.h"

static void cef_put_text(struct buffer *out, const char *key, const char *text)
{
	const size_t len = strlen(text);

	if (!len)
		return;
	buffer_printf(out, " %s=", key);
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = utf8_decode(text + i, len - i, &c);

		if (text[i] == '\n' || text[i] == '\r') {
			buffer_adds(out, text[i] == '\n' ? "\\n" : "\\r");
		} else if (n && c >= 0x20 && c != 0x7f && !utf8_is_deceptive(c)) {
			if (c == '=' || c == '\\')
				buffer_addc(out, '\\');
			buffer_add(out, text + i, n);
		} else {
			n = 1;
			buffer_printf(out, "\\\\x%02x", (unsigned char)text[i]);
		}
		i += n;
	}
}

/* A number of 0 says nothing, unless we named it. */
static void cef_put_field(
	struct buffer *out, const struct audit_field *f, const struct audit_row *r)
{
	char room[AUDIT_FIELD_BYTES];
	const char *text = audit_field_print(f, r, room);
	/* "cs1", "cn2" …: one of the fields that a product names itself. */
	const bool is_custom = f->cef[0] == 'c' && isdigit((unsigned char)f->cef[2]);

	if (!*text || (!is_custom && f->is.type == SCHEMA_NUMBER && !audit_field_number(f, r)))
		return;
	if (is_custom)
		buffer_printf(out, " %sLabel=%s", f->cef, f->is.name);
	cef_put_text(out, f->cef, text);
}

static void cef_put_host(struct buffer *out, const char *target)
{
	const struct export_host h = export_host(target);
	char name[512];

	if (strcmp(h.protocol, "unix") == 0) {
		cef_put_text(out, "filePath", h.name);
		return;
	}
	if (h.len < sizeof(name)) {
		memcpy(name, h.name, h.len);
		name[h.len] = '\0';
		cef_put_text(out, "dhost", name);
	}
	if (h.port)
		buffer_printf(out, " dpt=%u", h.port);
	cef_put_text(out, "proto", h.protocol);
}

/* The fields that readers know for such a target; all of it is in cs4 in any case. */
static void cef_put_target(struct buffer *out, const struct audit_event *e)
{
	static const char *const keys[AUDIT_ACTION_COUNT] = { [AUDIT_FS_READ] = "filePath",
		[AUDIT_FS_WRITE] = "filePath",
		[AUDIT_FS_LIST] = "filePath",
		[AUDIT_FS_DELETE] = "filePath",
		[AUDIT_EXEC] = "dproc",
		[AUDIT_NET_NAME] = "dhost" };

	if (e->action == AUDIT_NET_CONNECT || e->action == AUDIT_NET_CLOSE)
		cef_put_host(out, e->target);
	else if ((unsigned)e->action < AUDIT_ACTION_COUNT && keys[e->action])
		cef_put_text(out, keys[e->action], e->target);
}

void export_cef(const struct audit_row *r, struct buffer *out)
{
	static const unsigned severities[AUDIT_DECISION_COUNT] = { [AUDIT_NONE] = 1,
		[AUDIT_ALLOWED] = 1,
		[AUDIT_DENIED] = 6,
		[AUDIT_ASKED] = 3,
		[AUDIT_FAILED] = 3 };
	static const enum audit_field_id order[] = { AUDIT_FIELD_NUMBER, AUDIT_FIELD_DECISION,
		AUDIT_FIELD_USER, AUDIT_FIELD_PID, AUDIT_FIELD_PROGRAM, AUDIT_FIELD_TARGET,
		AUDIT_FIELD_REASON, AUDIT_FIELD_COUNT, AUDIT_FIELD_SENT, AUDIT_FIELD_RECEIVED,
		AUDIT_FIELD_SESSION, AUDIT_FIELD_SANDBOX, AUDIT_FIELD_RULE, AUDIT_FIELD_HASH,
		AUDIT_FIELD_EXACT, AUDIT_FIELD_SEQUENCE, AUDIT_FIELD_COST_NS, AUDIT_FIELD_STATUS };
	const struct audit_event *e = &r->event;
	const char *action = audit_action_name(e->action);

	buffer_printf(out, "CEF:0|Corral|Corral|1|%s|%s %s|%u|rt=%" PRIu64, action, action,
		audit_decision_name(e->decision),
		(unsigned)e->decision < AUDIT_DECISION_COUNT ? severities[e->decision] : 0,
		e->time_ns / 1000000);
	for (size_t i = 0; i < ROWS(order); i++) {
		if (order[i] == AUDIT_FIELD_STATUS && e->action != AUDIT_COMMAND_END)
			continue;
		if (order[i] == AUDIT_FIELD_TARGET)
			cef_put_target(out, e);
		cef_put_field(out, &audit_fields[order[i]], r);
	}
	buffer_addc(out, '\n');
}
