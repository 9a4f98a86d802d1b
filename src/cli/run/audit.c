/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a session reports to events, which are committed a few times a second and signed at the
 * end. A log that fails meanwhile does not stop the command: a person is told that the record is
 * not complete. Text of the command's choice goes in as it is: who prints it makes it visible.
 */
#include "cli/run/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output.h"
#include "cli/explain/explain.h"
#include "cli/run/run.h"

static const char *program_of(const struct run *r)
{
	return r->n_argv ? r->argv[0] : "";
}

void run_audit_add(struct run *r, const struct audit_event *e)
{
	struct audit_event copy = *e;

	if (!r->audit.trail)
		return;
	if (!copy.program)
		copy.program = program_of(r);
	(void)audit_trail_add(r->audit.trail, &copy);
}

void run_audit_own(struct run *r, struct audit_event e)
{
	e.program = "corral";
	e.pid = (uint32_t)getpid();
	e.exact = true;
	run_audit_add(r, &e);
}

/* While it runs */

void run_audit_started(struct run *r)
{
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_EXEC,
				 .target = program_of(r),
				 .decision = AUDIT_ALLOWED,
				 .exact = true });
}

/* A program that is not there was not denied. The policy's own words are best, then ours. */
void run_audit_refused(struct run *r, int status, const char *why)
{
	const bool is_denied = status == RUN_FORBIDDEN;
	const struct run_audit *a = &r->audit;

	if (r->call->error->text[0])
		why = r->call->error->text;
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_EXEC,
				 .target = program_of(r),
				 .decision = is_denied ? AUDIT_DENIED : AUDIT_FAILED,
				 .rule = a->rule,
				 .reason = a->reason ? a->reason : why,
				 .status = status,
				 .exact = true });
}

void run_audit_lost(struct run *r, const char *why)
{
	run_explain_audit(r);
	run_audit_own(r, (struct audit_event){ .action = AUDIT_SESSION,
				 .target = "lost",
				 .decision = AUDIT_FAILED,
				 .reason = why });
}

static struct audit_event event_of(const struct record *record)
{
	static const enum audit_decision decisions[] = {
		[RECORD_DENIED] = AUDIT_DENIED,
		[RECORD_FAILED] = AUDIT_FAILED,
		[RECORD_CLOSED] = AUDIT_ALLOWED,
	};

	return (struct audit_event){
		.action = record->dns                     ? AUDIT_NET_NAME
			  : record->kind == RECORD_CLOSED ? AUDIT_NET_CLOSE
							  : AUDIT_NET_CONNECT,
		.decision = decisions[record->kind],
		.pid = record->pid,
		.program = *record->program ? record->program : NULL,
		.target = record->target,
		.rule = record->rule,
		.reason = record->reason,
		.sent = record->sent,
		.received = record->received,
		.count = record->count,
		.exact = true,
	};
}

static void tell_left_out(struct run *r, uint64_t count, const char *reason)
{
	run_audit_own(r, (struct audit_event){ .action = AUDIT_STORE,
				 .target = "network",
				 .reason = reason,
				 .count = count });
}

/* Those that went beyond the bound. */
static uint64_t left_out(const struct run *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < RUN_AUDIT_NETWORK_KINDS; i++) {
		if (r->audit.network[i] > RUN_AUDIT_NETWORK_MAX)
			n += r->audit.network[i] - RUN_AUDIT_NETWORK_MAX;
	}
	return n;
}

void run_audit_network(struct run *r, const struct record *record)
{
	uint64_t *n = &r->audit.network[record->dns ? RUN_AUDIT_NETWORK_KINDS - 1 : record->kind];
	struct audit_event e;
	auto_buffer address = { 0 };

	if (!r->audit.trail)
		return;
	if (*n == RUN_AUDIT_NETWORK_MAX)
		tell_left_out(r, 1, "more of this kind is not recorded from here on");
	if ((*n)++ >= RUN_AUDIT_NETWORK_MAX)
		return;
	e = event_of(record);
	if (record->kind == RECORD_CLOSED && *record->address) {
		buffer_printf(&address, "by %s", record->address);
		e.reason = buffer_text(&address);
	}
	run_audit_add(r, &e);
}

static void run_audit_tell_limit(
	struct run *r, enum limit which, uint64_t count, const char *reason)
{
	auto_buffer rule = { 0 };

	run_audit_limit(r, which, &rule);
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_LIMIT,
				 .target = limit_name(which),
				 .decision = AUDIT_DENIED,
				 .rule = buffer_text(&rule),
				 .reason = reason,
				 .count = count,
				 .exact = true });
}

static void run_audit_tell_limits(struct run *r, const struct report *report, uint64_t dropped)
{
	if (report->flags & REPORT_TIMED_OUT)
		run_audit_tell_limit(
			r, LIMIT_TIMEOUT_MS, 1, "the command was ended, its time was over");
	if (report->flags & REPORT_OUT_OF_MEMORY)
		run_audit_tell_limit(
			r, LIMIT_MEMORY, 1, "the command used more memory than it may");
	if (report->flags & REPORT_TOO_MANY_PIDS)
		run_audit_tell_limit(
			r, LIMIT_PIDS, 1, "the command wanted more processes than it may have");
	if (dropped)
		run_audit_tell_limit(r, LIMIT_OUTPUT, dropped, "bytes of output were dropped");
}

/* How limits were held is known only now. */
static void put_held(const char *what, uint32_t by, struct buffer *out)
{
	static const char *const names[] = {
		[REPORT_BY_CGROUP] = "cgroup",
		[REPORT_BY_RLIMIT] = "rlimit",
		[REPORT_BY_POLLING] = "polling",
	};

	if (by != REPORT_BY_NOTHING && by < ROWS(names))
		buffer_printf(out, "; %s held by %s", what, names[by]);
}

void run_audit_exited(struct run *r, const struct report *report, uint64_t dropped)
{
	auto_buffer use = { 0 };

	if (!r->audit.trail)
		return;
	run_explain_audit(r);
	run_audit_tell_limits(r, report, dropped);
	buffer_printf(&use,
		"user %" PRIu64 " ms, system %" PRIu64 " ms, peak memory %" PRIu64 " bytes",
		report->user_us / 1000, report->system_us / 1000, report->peak_bytes);
	put_held("memory", report->memory_by, &use);
	put_held("processes", report->pids_by, &use);
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_COMMAND_END,
				 .target = program_of(r),
				 .reason = buffer_text(&use),
				 .cost_ns = report->wall_us * 1000,
				 .status = report->signal ? -report->signal : report->exit_code,
				 .exact = true });
}

int run_audit_wait_ms(const struct run *r, int otherwise)
{
	int wait = r->audit.trail ? audit_trail_wait_ms(r->audit.trail) : -1;

	if (wait < 0)
		return otherwise;
	return otherwise < 0 || wait < otherwise ? wait : otherwise;
}

/* What fails now is tried again, and told at the end if it was in vain. */
void run_audit_tick(struct run *r)
{
	if (r->audit.trail)
		(void)audit_trail_tick(r->audit.trail, NULL);
}

/* The end */

static void tell_incomplete(const struct run *r, const struct error *why, uint64_t lost)
{
	struct error e = { 0 };

	(void)error_set(&e, -EIO, NULL, "the record of this run is not complete: %s",
		why->text[0] ? why->text : r->audit.path);
	if (lost)
		error_hint(&e, "%" PRIu64 " events are missing", lost);
	output_error(&e);
}

void run_audit_end(struct run *r, int status)
{
	struct audit_trail *trail = r->audit.trail;
	struct error why = { 0 };
	uint64_t lost;
	int ret;

	if (!trail)
		return;
	if (left_out(r))
		tell_left_out(r, left_out(r), "so many records of the network were left out");
	run_audit_own(r, (struct audit_event){ .action = AUDIT_SESSION,
				 .target = "end",
				 .status = status < 0 ? RUN_FAILED : status,
				 .reason = r->call->error->text });
	r->audit.trail = NULL;
	ret = audit_trail_flush(trail, &why);
	lost = audit_trail_lost(trail);
	if (ret == 0)
		ret = audit_trail_close(trail, &why);
	else
		(void)audit_trail_close(trail, NULL);
	if (ret < 0 || lost)
		tell_incomplete(r, &why, lost);
}
