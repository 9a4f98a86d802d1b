/* SPDX-License-Identifier: Apache-2.0 */
/* What every call of a tool begins and ends with: who, what, since when; and telling of it. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "lib/enclave/internal.h"
#include "lib/api/handles.h"

/* It goes on while the machine sleeps, and setting the time of the day does not touch it. */
uint64_t enclave_now_ms(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

/* A caller that was compiled with an older header has a shorter struct; all have an actor. */
enum { BY_LEAST = offsetof(struct corral_by, actor) + sizeof(const char *) };

static bool enclave_call_has(const struct corral_by *by, size_t end)
{
	return by && by->size >= end;
}

void enclave_begin(struct enclave_call *c, struct corral_enclave *enclave,
	const struct corral_by *by, enum audit_action action, const char *target)
{
	*c = (struct enclave_call){
		.enclave = enclave,
		.actor = "",
		.action = action,
		.target = target ? target : "",
		.began_ns = clock_ns(CLOCK_MONOTONIC),
	};
	c->nameless = by && !enclave_call_has(by, BY_LEAST);
	if (enclave_call_has(by, BY_LEAST) && by->actor)
		c->actor = by->actor;
	if (enclave_call_has(by, offsetof(struct corral_by, pid) + sizeof(by->pid)))
		c->pid = by->pid;
}

void enclave_tell(const struct enclave_call *c, enum audit_decision decision, const char *rule,
	const char *reason)
{
	const struct audit_event event = {
		.pid = c->pid,
		.program = c->actor,
		.action = c->action,
		.target = c->target,
		.decision = decision,
		.rule = rule,
		.reason = reason,
		.exact = true,
		.cost_ns = clock_ns(CLOCK_MONOTONIC) - c->began_ns,
		.sent = c->sent,
		.received = c->received,
	};

	(void)audit_trail_add(c->enclave->trail, &event);
}

int enclave_refuse(
	struct enclave_call *c, int code, struct corral_error **e, const char *format, ...)
{
	struct error error = { 0 };
	char text[sizeof(error.text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)error_set(&error, code, NULL, "%.256s: %s", c->target, text);
	enclave_tell(c, AUDIT_DENIED, c->rule, text);
	return handles_error(e, &error, code);
}

int enclave_done(struct enclave_call *c, int r, struct corral_error **e)
{
	struct error error = { 0 };

	if (r >= 0) {
		enclave_tell(c, AUDIT_ALLOWED, c->rule, c->approved ? "somebody agreed" : NULL);
		return r;
	}
	(void)error_set(&error, r, NULL, "%.256s: %s", c->target, strerror(-r));
	enclave_tell(c, AUDIT_FAILED, c->rule, strerror(-r));
	return handles_error(e, &error, r);
}
