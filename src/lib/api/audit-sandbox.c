/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a sandbox, as events of a log. Before a command is started, the values of its
 * variables are secrets of the log: of its command line, too, and of whatever is said about it.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "lib/api/audit-handle.h"
#include "policy/permissions.h"

static uint64_t hash_environment(const struct corral_audit *a, const char *const *env)
{
	uint8_t hash[crypto_shorthash_BYTES];
	auto_buffer all = { 0 };
	uint64_t ret = 0;

	for (size_t i = 0; env[i]; i++)
		buffer_add(&all, env[i], strlen(env[i]) + 1);
	if (all.failed)
		return 0;
	(void)crypto_shorthash(hash, (const uint8_t *)buffer_text(&all), all.len, a->key);
	if (all.data)
		sodium_memzero(all.data, all.cap);
	memcpy(&ret, hash, sizeof(ret));
	return ret;
}

static int learn(struct corral_audit *a, const char *variable)
{
	auto_arena scratch = { 0 };
	const size_t len = strcspn(variable, "=");
	const char *name = arena_strndup(&scratch, variable, len);

	if (!name)
		return -ENOMEM;
	return variable[len] ? audit_trail_secret(a->trail, name, variable + len + 1) : 0;
}

/* One command after another has the same environment. */
int lib_audit_learn(corral_audit_sink *sink, void *context, const char *const *env)
{
	struct corral_audit *a = context;
	uint64_t hash;
	int r = 0;

	if (sink != corral_audit_sandbox)
		return 0;
	hash = hash_environment(a, env);
	if (hash && hash == atomic_load(&a->learned))
		return 0;
	for (size_t i = 0; env[i] && r == 0; i++)
		r = learn(a, env[i]);
	if (r == 0)
		atomic_store(&a->learned, hash);
	return r;
}

/* All events of a command have its number in common. */
static void put_command(const struct corral_event *from, struct buffer *out)
{
	if (from->command)
		buffer_printf(out, "command %" PRIu64, from->command);
}

static void api_audit_sandbox_tell_session(struct corral_audit *a, const struct corral_event *from)
{
	const bool lost = from->kind == CORRAL_EVENT_LOST;

	(void)audit_trail_add(a->trail, &(struct audit_event){ .time_ns = from->time_ns,
						.action = AUDIT_SESSION,
						.target = lost ? "lost" : "begin",
						.decision = lost ? AUDIT_FAILED : AUDIT_NONE,
						.reason = from->message,
						.exact = true });
}

static void api_audit_sandbox_tell_started(struct corral_audit *a, const struct corral_event *from)
{
	auto_buffer reason = { 0 };

	put_command(from, &reason);
	(void)audit_trail_add(a->trail, &(struct audit_event){ .time_ns = from->time_ns,
						.action = AUDIT_COMMAND_START,
						.target = from->program,
						.decision = AUDIT_ALLOWED,
						.reason = buffer_text(&reason),
						.exact = true });
}

static void api_audit_sandbox_tell_limit(struct corral_audit *a, const struct corral_event *from,
	enum limit which, uint64_t count, const char *reason)
{
	if (!count)
		return;
	(void)audit_trail_add(a->trail, &(struct audit_event){ .time_ns = from->time_ns,
						.action = AUDIT_LIMIT,
						.program = from->program,
						.target = limit_name(which),
						.decision = AUDIT_DENIED,
						.reason = reason,
						.count = count,
						.exact = true });
}

/* A byte more than a limit is told as much as a thousand: the number of bytes is not kept. */
static void api_audit_sandbox_tell_limits(struct corral_audit *a, const struct corral_event *from)
{
	const struct corral_result *r = from->result;

	api_audit_sandbox_tell_limit(a, from, LIMIT_TIMEOUT_MS, corral_result_timed_out(r) != 0,
		"the command was ended, its time was over");
	api_audit_sandbox_tell_limit(a, from, LIMIT_MEMORY, corral_result_out_of_memory(r) != 0,
		"the command used more memory than it may");
	api_audit_sandbox_tell_limit(a, from, LIMIT_PIDS, corral_result_too_many_pids(r) != 0,
		"the command wanted more processes than it may have");
	api_audit_sandbox_tell_limit(a, from, LIMIT_OUTPUT,
		corral_result_stdout_truncated(r) || corral_result_stderr_truncated(r),
		"not all of the output was kept");
}

static void tell_ended(struct corral_audit *a, const struct corral_event *from)
{
	const struct corral_result *r = from->result;
	const int signal = corral_result_signal(r);
	auto_buffer reason = { 0 };

	api_audit_sandbox_tell_limits(a, from);
	put_command(from, &reason);
	buffer_printf(&reason,
		"; user %" PRIu64 " ms, system %" PRIu64 " ms, peak memory %" PRIu64 " bytes%s",
		corral_result_user_us(r) / 1000, corral_result_system_us(r) / 1000,
		corral_result_peak_bytes(r), corral_result_killed(r) ? "; it was killed" : "");
	(void)audit_trail_add(a->trail,
		&(struct audit_event){ .time_ns = from->time_ns,
			.action = AUDIT_COMMAND_END,
			.target = from->program,
			.reason = buffer_text(&reason),
			.exact = true,
			.cost_ns = corral_result_duration_us(r) * 1000,
			.sent = corral_result_stdout_bytes(r) + corral_result_stderr_bytes(r),
			.status = signal ? -signal : corral_result_exit_code(r) });
}

/* It has a number if it was handed over: then it may have run, and its end is all that is told. */
static void tell_failed(struct corral_audit *a, const struct corral_event *from)
{
	(void)audit_trail_add(
		a->trail, &(struct audit_event){ .time_ns = from->time_ns,
				  .action = from->command ? AUDIT_COMMAND_END : AUDIT_COMMAND_START,
				  .target = from->program,
				  .decision = AUDIT_FAILED,
				  .reason = from->message,
				  .exact = true });
}

static enum audit_action api_audit_sandbox_action_of(const struct corral_denial *d)
{
	switch (d->op) {
	case CORRAL_FS_READ:
		return AUDIT_FS_READ;
	case CORRAL_FS_WRITE:
		return AUDIT_FS_WRITE;
	case CORRAL_NET_CONNECT:
		/* A name without a port was asked for; nobody connected. */
		return strchr(d->target, ':') ? AUDIT_NET_CONNECT : AUDIT_NET_NAME;
	case CORRAL_EXEC:
		return AUDIT_EXEC;
	case CORRAL_ENV:
		return AUDIT_ENV;
	case CORRAL_SERVICE:
		break;
	}
	return AUDIT_SERVICE;
}

static void api_audit_sandbox_tell_denied(struct corral_audit *a, const struct corral_event *from)
{
	const struct corral_denial *d = from->denial;
	auto_arena scratch = { 0 };
	const char *target = d->target;

	/* NAME=value: whoever wanted to set it may have had a secret. */
	if (d->op == CORRAL_ENV)
		target = arena_strndup(&scratch, d->target, strcspn(d->target, "="));
	(void)audit_trail_add(
		a->trail, &(struct audit_event){ .time_ns = from->time_ns,
				  .pid = from->pid,
				  .program = from->actor ? from->actor : from->program,
				  .action = api_audit_sandbox_action_of(d),
				  .target = target,
				  .decision = AUDIT_DENIED,
				  .rule = d->rule,
				  .reason = d->reason,
				  .exact = d->exact != 0,
				  .count = d->count });
}

static void tell_connection(struct corral_audit *a, const struct corral_event *from)
{
	const struct corral_connection *c = from->connection;
	auto_buffer address = { 0 };

	if (*c->address)
		buffer_printf(&address, "by %s", c->address);
	(void)audit_trail_add(
		a->trail, &(struct audit_event){ .time_ns = from->time_ns,
				  .pid = from->pid,
				  .program = from->actor ? from->actor : from->program,
				  .action = c->failed ? AUDIT_NET_CONNECT : AUDIT_NET_CLOSE,
				  .target = c->target,
				  .decision = c->failed ? AUDIT_FAILED : AUDIT_ALLOWED,
				  .reason = c->failed ? c->reason : buffer_text(&address),
				  .exact = true,
				  .sent = c->sent,
				  .received = c->received,
				  .count = c->count });
}

void corral_audit_sandbox(void *audit, const struct corral_event *event)
{
	static void (*const calls[])(struct corral_audit *, const struct corral_event *) = {
		[CORRAL_EVENT_SESSION] = api_audit_sandbox_tell_session,
		[CORRAL_EVENT_LOST] = api_audit_sandbox_tell_session,
		[CORRAL_EVENT_STARTED] = api_audit_sandbox_tell_started,
		[CORRAL_EVENT_ENDED] = tell_ended,
		[CORRAL_EVENT_FAILED] = tell_failed,
		[CORRAL_EVENT_DENIED] = api_audit_sandbox_tell_denied,
		[CORRAL_EVENT_CONNECTION] = tell_connection,
	};

	if ((unsigned)event->kind < ROWS(calls))
		calls[event->kind](audit, event);
}
