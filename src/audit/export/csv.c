/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 4180: lines end with CR LF, texts are in quotes, and a quote in them is doubled. Two things
 * more, since people open such files in spreadsheets: control characters are made visible (so a row
 * is a line), and a text that begins as a formula would, with = + - or @, gets an apostrophe in
 * front.
 */
#include <inttypes.h>
#include <string.h>

#include "audit/export/internal.h"
#include "base/buffer.h"

const char export_csv_head[] =
	"number,time,sequence,session,user,sandbox,pid,program,action,target,decision,rule,reason,"
	"exact,cost_ns,sent,received,status,count,hash\r\n";

static void export_csv_put_text(struct buffer *out, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	buffer_addc(out, '"');
	if (*text && strchr("=+-@", *text))
		buffer_addc(out, '\'');
	for (const char *c = buffer_text(&visible); *c; c++) {
		if (*c == '"')
			buffer_addc(out, '"');
		buffer_addc(out, *c);
	}
	buffer_addc(out, '"');
	out->failed = out->failed || visible.failed;
}

static void put_texts(struct buffer *out, const struct audit_event *e, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		export_csv_put_text(out, audit_event_text(e, i));
		buffer_addc(out, ',');
	}
}

void export_csv(const struct audit_row *r, struct buffer *out)
{
	const struct audit_event *e = &r->event;
	char time[EXPORT_TIME_BYTES], hash[EXPORT_HASH_BYTES];

	buffer_printf(out, "%" PRIu64 ",%s,%" PRIu64 ",", r->number, export_time(e->time_ns, time),
		e->sequence);
	put_texts(out, e, 0, 3);
	buffer_printf(out, "%" PRIu32 ",", e->pid);
	put_texts(out, e, 3, 4);
	buffer_printf(out, "%s,", audit_action_name(e->action));
	put_texts(out, e, 4, 5);
	buffer_printf(out, "%s,", audit_decision_name(e->decision));
	put_texts(out, e, 5, AUDIT_EVENT_TEXTS);
	buffer_printf(out, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",%s\r\n",
		e->exact ? "true" : "false", e->cost_ns, e->sent, e->received, e->status, e->count,
		export_hash(&r->hash, hash));
}
