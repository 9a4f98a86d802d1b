/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/record.h"

#include <inttypes.h>
#include <string.h>

#include "cli/audit/amount.h"
#include "cli/audit/line.h"
#include "cli/audit/time.h"

enum { NAME_COLUMN = 2, VALUE_COLUMN = 12 };

static void begin(struct output *o, const char *name)
{
	buffer_printf(&o->text, "%*s", NAME_COLUMN, "");
	output_styled(o, OUTPUT_DIM, name);
	output_pad(o, VALUE_COLUMN);
}

static void end(struct output *o)
{
	buffer_addc(&o->text, '\n');
}

static void put_text(struct output *o, const char *name, const char *text)
{
	if (!*text)
		return;
	begin(o, name);
	output_foreign(o, text);
	end(o);
}

static void put_number(struct output *o, const char *name, uint64_t n)
{
	if (!n)
		return;
	begin(o, name);
	buffer_printf(&o->text, "%" PRIu64, n);
	end(o);
}

static void put_time(struct output *o, uint64_t time_ns)
{
	char time[AUDIT_TIME_UTC_BYTES];

	begin(o, "time");
	buffer_adds(&o->text, audit_time_print_utc(time_ns, time));
	end(o);
}

static void put_decision(struct output *o, const struct audit_event *v)
{
	if (v->decision == AUDIT_NONE)
		return;
	begin(o, "decision");
	audit_line_decision(o, v->decision);
	buffer_adds(&o->text, v->exact ? "" : " (advisory)");
	end(o);
}

static void put_end(struct output *o, const struct audit_event *v)
{
	if (v->action == AUDIT_COMMAND_END) {
		begin(o, "status");
		buffer_printf(&o->text, "%" PRId64, v->status);
		end(o);
	}
	if (v->cost_ns) {
		begin(o, "took");
		audit_amount_span(&o->text, v->cost_ns);
		end(o);
	}
}

void audit_record_add(struct output *o, const struct audit_row *row)
{
	const struct audit_event *v = &row->event;

	put_number(o, "number", row->number);
	put_time(o, v->time_ns);
	put_text(o, "action", audit_action_name(v->action));
	put_text(o, "target", v->target);
	put_decision(o, v);
	put_text(o, "rule", v->rule);
	put_text(o, "reason", v->reason);
	put_text(o, "program", v->program);
	put_number(o, "pid", v->pid);
	put_text(o, "user", v->user);
	put_text(o, "sandbox", v->sandbox);
	put_text(o, "session", v->session);
	put_number(o, "sequence", v->sequence);
	put_end(o, v);
	put_number(o, "sent", v->sent);
	put_number(o, "received", v->received);
	put_number(o, "count", v->count > 1 ? v->count : 0);
}

void audit_record_hex(struct buffer *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buffer_printf(out, "%02x", bytes[i]);
}
