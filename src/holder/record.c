/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "codec/unit.h"

static void record_add(const struct holder_record *r, struct audit_event e)
{
	e.time_ns = r->time_ns;
	if (!e.program || !*e.program)
		e.program = r->program;
	(void)audit_trail_add(r->trail, &e);
}

int holder_record_secrets(struct audit_trail *t, const char *const *env)
{
	int r = 0;

	for (; r == 0 && *env; env++) {
		auto_arena scratch = { 0 };
		const size_t len = strcspn(*env, "=");
		const char *name = arena_strndup(&scratch, *env, len);

		if (!name)
			return -ENOMEM;
		if ((*env)[len])
			r = audit_trail_secret(t, name, *env + len + 1);
	}
	return r;
}

/* What was asked for */

void holder_record_network(const struct holder_record *r, const struct record *record)
{
	static const enum audit_decision decisions[] = {
		[RECORD_DENIED] = AUDIT_DENIED,
		[RECORD_FAILED] = AUDIT_FAILED,
		[RECORD_CLOSED] = AUDIT_ALLOWED,
	};
	const bool is_closed = record->kind == RECORD_CLOSED;
	auto_buffer address = { 0 };

	if (is_closed && *record->address)
		buffer_printf(&address, "by %s", record->address);
	record_add(r, (struct audit_event){
			      .action = record->dns ? AUDIT_NET_NAME
					: is_closed ? AUDIT_NET_CLOSE
						    : AUDIT_NET_CONNECT,
			      .decision = decisions[record->kind],
			      .pid = record->pid,
			      .program = record->program,
			      .target = record->target,
			      .rule = record->rule,
			      .reason = address.len ? buffer_text(&address) : record->reason,
			      .sent = record->sent,
			      .received = record->received,
			      .count = record->count,
			      .exact = true,
		      });
}

void holder_record_denial(const struct holder_record *r, const struct holder_denial *d)
{
	auto_arena scratch = { 0 };
	struct audit_event e = { .action = audit_action_of(d->op),
		.target = d->target,
		.decision = AUDIT_DENIED,
		.rule = d->rule,
		.reason = d->reason,
		.exact = d->is_exact,
		.count = d->count,
		.pid = d->pid };

	/* A name without a port was asked for; there was no connection. */
	if (d->op == OPERATION_NET_CONNECT && !strchr(d->target, ':'))
		e.action = AUDIT_NET_NAME;
	/* NAME=value: whoever wanted to set it may have had a secret. */
	if (d->op == OPERATION_ENV)
		e.target = arena_strndup(&scratch, d->target, strcspn(d->target, "="));
	record_add(r, e);
}

/* Limits, and the end */

void holder_record_limit(enum limit which, uint64_t value, struct buffer *out)
{
	buffer_printf(out, "%s ", limit_name(which));
	switch (which) {
	case LIMIT_TIMEOUT_MS:
		unit_print_duration(value, out);
		break;
	case LIMIT_MEMORY:
	case LIMIT_OUTPUT:
	case LIMIT_FILE_SIZE:
		unit_print_size(value, out);
		break;
	default:
		buffer_printf(out, "%" PRIu64, value);
		break;
	}
}

static void record_limits(const struct holder_record *r, const struct holder_end *end)
{
	const uint32_t flags = end->report->flags;
	const struct {
		enum limit which;
		uint64_t count;
		const char *reason;
	} rows[] = {
		{ LIMIT_TIMEOUT_MS, !!(flags & REPORT_TIMED_OUT), "the command timed out" },
		{ LIMIT_MEMORY, !!(flags & REPORT_OUT_OF_MEMORY),
			"the command exceeded its memory limit" },
		{ LIMIT_PIDS, !!(flags & REPORT_TOO_MANY_PIDS),
			"the command reached its limit of processes" },
		{ LIMIT_OUTPUT, end->dropped, "bytes of output were dropped" },
		{ LIMIT_OUTPUT, !end->dropped && end->is_truncated, "the output was truncated" },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer rule = { 0 };

		if (!rows[i].count)
			continue;
		if (end->limits)
			holder_record_limit(
				rows[i].which, end->limits->values[rows[i].which], &rule);
		record_add(r, (struct audit_event){ .action = AUDIT_LIMIT,
				      .target = limit_name(rows[i].which),
				      .decision = AUDIT_DENIED,
				      .rule = buffer_text(&rule),
				      .reason = rows[i].reason,
				      .count = rows[i].count,
				      .exact = true });
	}
}

/* How limits were held is known only now. */
static void record_put_held(const char *what, uint32_t by, struct buffer *out)
{
	static const char *const names[] = {
		[REPORT_BY_CGROUP] = "cgroup",
		[REPORT_BY_RLIMIT] = "rlimit",
		[REPORT_BY_POLLING] = "polling",
	};

	if (by != REPORT_BY_NOTHING && by < ROWS(names))
		buffer_printf(out, "; %s held by %s", what, names[by]);
}

void holder_record_files(const struct holder_record *r, enum audit_decision decision,
	const char *path, const char *reason, uint64_t count)
{
	record_add(r, (struct audit_event){ .action = AUDIT_FS_WRITE,
			      .target = path,
			      .decision = decision,
			      .reason = reason,
			      .count = count,
			      .exact = true });
}

void holder_record_end(const struct holder_record *r, const struct holder_end *end)
{
	const struct report *report = end->report;
	auto_buffer use = { 0 };

	record_limits(r, end);
	if (r->command)
		buffer_printf(&use, "command %" PRIu64 "; ", r->command);
	buffer_printf(&use,
		"user %" PRIu64 " ms, system %" PRIu64 " ms, peak memory %" PRIu64 " bytes",
		report->user_us / 1000, report->system_us / 1000, report->peak_bytes);
	record_put_held("memory", report->memory_by, &use);
	record_put_held("processes", report->pids_by, &use);
	if (report->flags & REPORT_KILLED)
		buffer_adds(&use, "; it was killed");
	record_add(r, (struct audit_event){ .action = AUDIT_COMMAND_END,
			      .target = r->program,
			      .reason = buffer_text(&use),
			      .cost_ns = report->wall_us * 1000,
			      .sent = end->printed,
			      .status = report->signal ? -report->signal : report->exit_code,
			      .exact = true });
}

int holder_record_call(
	const struct holder_record *r, const void *data, size_t len, uint64_t missing)
{
	struct audit_event e;
	int ret = len ? audit_event_decode(&e, data, len) : 0;

	if (missing)
		(void)audit_trail_add(r->trail,
			&(struct audit_event){ .action = AUDIT_STORE,
				.program = "corral",
				.target = "broker",
				.reason = "events of the broker were dropped: they came faster "
					  "than they were read",
				.count = missing,
				.exact = true });
	if (ret < 0 || len == 0)
		return ret;
	/* It was numbered by the broker, and is one of this session now. */
	e.sequence = 0;
	e.session = e.user = e.sandbox = NULL;
	(void)audit_trail_add(r->trail, &e);
	return 0;
}
