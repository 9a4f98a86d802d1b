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
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/export/internal.h"
#include "base/buffer.h"
#include "base/utf8.h"

static bool export_cef_is_plain(uint32_t c)
{
	return c >= 0x20 && c != 0x7f && !utf8_is_deceptive(c);
}

static void export_cef_put_escaped(struct buffer *out, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = utf8_decode(text + i, len - i, &c);

		if (text[i] == '\n' || text[i] == '\r') {
			buffer_adds(out, text[i] == '\n' ? "\\n" : "\\r");
		} else if (n && export_cef_is_plain(c)) {
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

static void export_cef_put_text(struct buffer *out, const char *key, const char *text)
{
	if (!*text)
		return;
	buffer_printf(out, " %s=", key);
	export_cef_put_escaped(out, text);
}

static void export_cef_put_number(struct buffer *out, const char *key, uint64_t n)
{
	if (n)
		buffer_printf(out, " %s=%" PRIu64, key, n);
}

/* One of the fields that a product names itself. */
static void put_labelled(struct buffer *out, const char *key, const char *label, const char *text)
{
	if (!*text)
		return;
	buffer_printf(out, " %sLabel=%s", key, label);
	export_cef_put_text(out, key, text);
}

static void put_labelled_number(
	struct buffer *out, const char *key, const char *label, int64_t number)
{
	buffer_printf(out, " %sLabel=%s %s=%" PRId64, key, label, key, number);
}

static const unsigned severities[AUDIT_DECISION_COUNT] = {
	[AUDIT_NONE] = 1,
	[AUDIT_ALLOWED] = 1,
	[AUDIT_DENIED] = 6,
	[AUDIT_ASKED] = 3,
	[AUDIT_FAILED] = 3,
};

static void put_host(struct buffer *out, const char *target)
{
	const struct export_host h = export_host(target);
	char name[512];

	if (strcmp(h.protocol, "unix") == 0) {
		export_cef_put_text(out, "filePath", h.name);
		return;
	}
	if (h.len < sizeof(name)) {
		memcpy(name, h.name, h.len);
		name[h.len] = '\0';
		export_cef_put_text(out, "dhost", name);
	}
	export_cef_put_number(out, "dpt", h.port);
	export_cef_put_text(out, "proto", h.protocol);
}

/* The fields that readers know for such a target; all of it is in cs4 in any case. */
static void put_target(struct buffer *out, const struct audit_event *e)
{
	switch (e->action) {
	case AUDIT_FS_READ:
	case AUDIT_FS_WRITE:
	case AUDIT_FS_LIST:
	case AUDIT_FS_DELETE:
		export_cef_put_text(out, "filePath", e->target);
		break;
	case AUDIT_EXEC:
		export_cef_put_text(out, "dproc", e->target);
		break;
	case AUDIT_NET_CONNECT:
	case AUDIT_NET_CLOSE:
		put_host(out, e->target);
		break;
	case AUDIT_NET_NAME:
		export_cef_put_text(out, "dhost", e->target);
		break;
	default:
		break;
	}
	put_labelled(out, "cs4", "target", e->target);
}

void export_cef(const struct audit_row *r, struct buffer *out)
{
	const struct audit_event *e = &r->event;
	const char *action = audit_action_name(e->action);
	const char *decision = audit_decision_name(e->decision);
	char hash[EXPORT_HASH_BYTES];

	buffer_printf(out, "CEF:0|Corral|Corral|1|%s|%s %s|%u|rt=%" PRIu64, action, action,
		decision,
		(unsigned)e->decision < AUDIT_DECISION_COUNT ? severities[e->decision] : 0,
		e->time_ns / 1000000);
	export_cef_put_number(out, "externalId", r->number);
	export_cef_put_text(out, "act", decision);
	export_cef_put_text(out, "suid", e->user);
	export_cef_put_number(out, "spid", e->pid);
	export_cef_put_text(out, "sproc", e->program);
	put_target(out, e);
	export_cef_put_text(out, "reason", e->reason);
	export_cef_put_number(out, "cnt", e->count);
	export_cef_put_number(out, "out", e->sent);
	export_cef_put_number(out, "in", e->received);
	put_labelled(out, "cs1", "session", e->session);
	put_labelled(out, "cs2", "sandbox", e->sandbox);
	put_labelled(out, "cs3", "rule", e->rule);
	put_labelled(out, "cs5", "hash", export_hash(&r->hash, hash));
	put_labelled(out, "cs6", "exact", e->exact ? "true" : "false");
	put_labelled_number(out, "cn1", "sequence", (int64_t)e->sequence);
	put_labelled_number(out, "cn2", "cost_ns", (int64_t)e->cost_ns);
	if (e->action == AUDIT_COMMAND_END)
		put_labelled_number(out, "cn3", "status", e->status);
	buffer_addc(out, '\n');
}
