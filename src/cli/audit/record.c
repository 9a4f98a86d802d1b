/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/record.h"

#include <inttypes.h>
#include <string.h>

#include "cli/audit/amount.h"
#include "cli/audit/line.h"
#include "cli/audit/time.h"

enum { NAME_COLUMN = 2, VALUE_COLUMN = 12 };

static void audit_record_begin(struct output *o, const char *name)
{
	buffer_printf(&o->text, "%*s", NAME_COLUMN, "");
	output_styled(o, OUTPUT_DIM, name);
	output_pad(o, VALUE_COLUMN);
}

static void audit_record_end(struct output *o)
{
	buffer_addc(&o->text, '\n');
}

static void audit_record_put_text(struct output *o, const char *name, const char *text)
{
	if (!*text)
		return;
	audit_record_begin(o, name);
	output_foreign(o, text);
	audit_record_end(o);
}

static void audit_record_put_number(struct output *o, const char *name, uint64_t n)
{
	if (!n)
		return;
	audit_record_begin(o, name);
	buffer_printf(&o->text, "%" PRIu64, n);
	audit_record_end(o);
}

static void audit_record_put_time(struct output *o, uint64_t time_ns)
{
	char time[AUDIT_TIME_UTC_BYTES];

	audit_record_begin(o, "time");
	buffer_adds(&o->text, audit_time_print_utc(time_ns, time));
	audit_record_end(o);
}

static void put_decision(struct output *o, const struct audit_event *v)
{
	if (v->decision == AUDIT_NONE)
		return;
	audit_record_begin(o, "decision");
	audit_line_decision(o, v->decision);
	buffer_adds(&o->text, v->exact ? "" : " (advisory)");
	audit_record_end(o);
}

static void audit_record_put_end(struct output *o, const struct audit_event *v)
{
	if (v->action == AUDIT_COMMAND_END) {
		audit_record_begin(o, "status");
		buffer_printf(&o->text, "%" PRId64, v->status);
		audit_record_end(o);
	}
	if (v->cost_ns) {
		audit_record_begin(o, "took");
		audit_amount_span(&o->text, v->cost_ns);
		audit_record_end(o);
	}
}

void audit_record_add(struct output *o, const struct audit_row *row)
{
	const struct audit_event *v = &row->event;

	audit_record_put_number(o, "number", row->number);
	audit_record_put_time(o, v->time_ns);
	audit_record_put_text(o, "action", audit_action_name(v->action));
	audit_record_put_text(o, "target", v->target);
	put_decision(o, v);
	audit_record_put_text(o, "rule", v->rule);
	audit_record_put_text(o, "reason", v->reason);
	audit_record_put_text(o, "program", v->program);
	audit_record_put_number(o, "pid", v->pid);
	audit_record_put_text(o, "user", v->user);
	audit_record_put_text(o, "sandbox", v->sandbox);
	audit_record_put_text(o, "session", v->session);
	audit_record_put_number(o, "sequence", v->sequence);
	audit_record_put_end(o, v);
	audit_record_put_number(o, "sent", v->sent);
	audit_record_put_number(o, "received", v->received);
	audit_record_put_number(o, "count", v->count > 1 ? v->count : 0);
}

void audit_record_hex(struct buffer *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buffer_printf(out, "%02x", bytes[i]);
}
