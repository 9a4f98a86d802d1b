/* SPDX-License-Identifier: Apache-2.0 */
/* All that a row has, under the names of the struct, always all of them and in this order. */
#include "audit/export/internal.h"
#include "base/buffer.h"

void export_jsonl(const struct audit_row *r, struct buffer *out)
{
	const struct audit_event *e = &r->event;
	char time[EXPORT_TIME_BYTES], hash[EXPORT_HASH_BYTES];

	export_open(out, NULL);
	export_put_number(out, "number", r->number);
	export_put_text(out, "time", export_time(e->time_ns, time));
	export_put_number(out, "sequence", e->sequence);
	export_put_text(out, "session", e->session);
	export_put_text(out, "user", e->user);
	export_put_text(out, "sandbox", e->sandbox);
	export_put_number(out, "pid", e->pid);
	export_put_text(out, "program", e->program);
	export_put_text(out, "action", audit_action_name(e->action));
	export_put_text(out, "target", e->target);
	export_put_text(out, "decision", audit_decision_name(e->decision));
	export_put_text(out, "rule", e->rule);
	export_put_text(out, "reason", e->reason);
	export_put_flag(out, "exact", e->exact);
	export_put_number(out, "cost_ns", e->cost_ns);
	export_put_number(out, "sent", e->sent);
	export_put_number(out, "received", e->received);
	export_put_signed(out, "status", e->status);
	export_put_number(out, "count", e->count);
	export_put_text(out, "hash", export_hash(&r->hash, hash));
	export_close(out);
	buffer_addc(out, '\n');
}
