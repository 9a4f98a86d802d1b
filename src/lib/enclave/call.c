/* SPDX-License-Identifier: Apache-2.0 */
/* What every call of a tool begins and ends with: who, what, since when; and telling of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/path.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"
#include "lib/api/joined.h"
#include "lib/enclave/internal.h"
#include "lib/process/denial.h"
#include "policy/algebra/ceiling.h"
#include "policy/explain.h"
#include "policy/match/command.h"
#include "policy/network/host.h"

/* It goes on while the machine sleeps, and setting the time of the day does not touch it. */
uint64_t enclave_now_ms(void)
{
	return clock_ns(CLOCK_BOOTTIME) / 1000000;
}

/* A caller that was compiled with an older header has a shorter struct; all have an actor. */
enum {
	BY_LEAST = offsetof(struct corral_by, actor) + sizeof(const char *),
	BY_PID = offsetof(struct corral_by, pid) + sizeof(uint32_t),
	BY_FOLDER = offsetof(struct corral_by, folder) + sizeof(const char *),
};

/* A relative path becomes an absolute one; what cannot stays as it is, and is refused later. */
static void call_place_target(struct enclave_call *c, const char *folder)
{
	char joined[2 * PATH_BYTES];
	size_t len;
	int n;

	if (!folder || folder[0] != '/' || c->target[0] == '/' || !c->target[0])
		return;
	n = snprintf(joined, sizeof(joined), "%s/%s", folder, c->target);
	if (n >= 0 && n < (int)sizeof(joined) &&
		path_normalize(joined, (size_t)n, c->placed, &len) == 0)
		c->target = c->placed;
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
	c->nameless = by && by->size < BY_LEAST;
	if (by && !c->nameless && by->actor)
		c->actor = by->actor;
	if (by && by->size >= BY_PID)
		c->pid = by->pid;
	if (by && by->size >= BY_FOLDER && action >= AUDIT_FS_READ && action <= AUDIT_FS_DELETE)
		call_place_target(c, by->folder);
}

void enclave_record(struct corral_enclave *enclave, const struct audit_event *event)
{
	(void)audit_trail_add(enclave->trail, event);
	if (!enclave->joined)
		return;
	joined_add(enclave->joined, event);
	(void)joined_turn(enclave->joined);
}

void enclave_record_sandbox(struct corral_enclave *enclave, const struct corral_event *event)
{
	corral_audit_sandbox(enclave->audit, event);
	if (!enclave->joined)
		return;
	corral_audit_sandbox(joined_audit(enclave->joined), event);
	(void)joined_turn(enclave->joined);
}

/* The user may have ended it since the last call, answered a question or granted something; and the
 * time of a grant may be over. */
static bool call_is_stopped(struct corral_enclave *enclave)
{
	if (!enclave->joined)
		return false;
	if (joined_turn(enclave->joined) || enclave_live_is_due(enclave))
		enclave_live_turn(enclave);
	return enclave->is_over || joined_is_stopped(enclave->joined);
}

void enclave_set_session(struct corral_enclave *enclave, const struct corral_permissions *granted)
{
	auto_lock held = lock_take(&enclave->session_lock);

	(void)snprintf(
		enclave->session, sizeof(enclave->session), "%s", granted ? granted->session : "");
}

void enclave_tell(const struct enclave_call *c, enum audit_decision decision, const char *rule,
	const char *reason)
{
	char session[HANDLES_SESSION_BYTES];
	const struct audit_event event = {
		.sandbox = session,
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

	{
		auto_lock held = lock_take(&c->enclave->session_lock);

		memcpy(session, c->enclave->session, sizeof(session));
	}
	enclave_record(c->enclave, &event);
}

void enclave_note(struct corral_enclave *enclave, enum audit_action action,
	enum audit_decision decision, const char *target, const char *reason)
{
	struct enclave_call c;

	enclave_begin(&c, enclave, NULL, action, target);
	enclave_tell(&c, decision, NULL, reason);
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
		enclave_tell(c, AUDIT_ALLOWED, c->rule, c->approved ? "approved" : NULL);
		return r;
	}
	(void)error_set(&error, r, NULL, "%.256s: %s", c->target, strerror(-r));
	enclave_tell(c, AUDIT_FAILED, c->rule, strerror(-r));
	return handles_error(e, &error, r);
}

/*
 * May it be done? All that a call needs is judged by one and the same policy, and where that says
 * "ask", somebody must have agreed to exactly this call, or is asked now.
 *
 * What is shown is what is remembered: the operation, the object's bytes, the actor, for how long
 * and how often. The object is the thing itself. For a file that is where it really lies: if it
 * were the name, then whoever can turn that name into a link could have anything that the policy
 * asks about for the price of one answer. A question that is too long to be shown is not asked.
 *
 * No pin and no lock is held while the host's callback runs. It may take minutes, so the policy is
 * asked again when it returns: what was forbidden in the meantime stays forbidden.
 */

/* Judging */

/* Only a request that is there can be allowed. */
struct call_judgement {
	enum verdict verdict;
	struct corral_denial *denial; /* of the strictest; NULL if allowed, or out of memory */
};

enum verdict enclave_decide(
	const struct policy *p, const struct request *r, bool is_private, struct decision *ret)
{
	enum verdict verdict = VERDICT_ALLOW;

	if (policy_decide(p, r, ret) < 0)
		return VERDICT_DENY;
	if (!is_private || ret->verdict == VERDICT_ALLOW || ret->why == DECISION_BASELINE)
		return ret->verdict;
	/* That nothing grants it does not count here, in no layer. */
	for (size_t i = 0; i < policy_layers(p); i++) {
		struct decision d;

		if (policy_decide_layer(p, i, r, &d) < 0)
			return VERDICT_DENY;
		if (d.why == DECISION_NO_GRANT || d.verdict >= verdict)
			continue;
		verdict = d.verdict;
		*ret = d;
	}
	return verdict;
}

static struct call_judgement call_judge(
	struct enclave_call *c, const struct request *requests, size_t n)
{
	struct call_judgement j = { .verdict = n ? VERDICT_ALLOW : VERDICT_DENY };
	struct decision d = { 0 }, worst = { 0 };
	auto_buffer rule = { 0 };
	size_t which = 0;
	struct policy_pin pin;

	policy_box_pin(c->enclave->box, &pin);
	for (size_t i = 0; i < n; i++) {
		enum verdict v = enclave_decide(pin.policy, &requests[i], c->private & 1u << i, &d);

		if (v >= j.verdict)
			continue;
		j.verdict = v;
		worst = d;
		which = i;
	}
	if (j.verdict == VERDICT_ALLOW) {
		explain_rule(&d, &rule);
		(void)snprintf(c->rule, sizeof(c->rule), "%s", buffer_text(&rule));
	} else if (n)
		j.denial = denial_new(&requests[which], &worst, true);
	policy_box_unpin(c->enclave->box, &pin);
	return j;
}

enum verdict enclave_look(const struct enclave_call *c, const struct request *requests, size_t n)
{
	enum verdict verdict = n ? VERDICT_ALLOW : VERDICT_DENY;
	struct policy_pin pin;

	policy_box_pin(c->enclave->box, &pin);
	for (size_t i = 0; i < n; i++) {
		struct decision d;

		verdict = verdict_strictest(verdict,
			enclave_decide(pin.policy, &requests[i], c->private & 1u << i, &d));
	}
	policy_box_unpin(c->enclave->box, &pin);
	return verdict;
}

/* Saying no */

static int call_deny(const struct enclave_call *c, const struct corral_denial *d, const char *why,
	struct corral_error **e)
{
	auto_buffer reason = { 0 };
	struct error error = { 0 };

	/* About what, if that is not what the caller named. */
	if (d && strcmp(d->target, c->target) != 0) {
		/* Of a variable only its name: the value may be a secret. */
		size_t len = d->op == CORRAL_ENV ? strcspn(d->target, "=") : strlen(d->target);

		buffer_printf(&reason, "%s ", operation_name((enum operation)d->op));
		buffer_add_visible(&reason, d->target, len);
		buffer_adds(&reason, ": ");
	}
	buffer_adds(&reason, d ? d->reason : "no decision could be made");
	if (why)
		buffer_printf(&reason, ", and %s", why);
	enclave_tell(c, AUDIT_DENIED, d ? d->rule : NULL, buffer_text(&reason));
	(void)error_set(&error, -EACCES, NULL, "permission denied: %.256s: %s", c->target,
		buffer_text(&reason));
	if (d && d->remedy[0])
		error_hint(&error, "%s", d->remedy);
	return handles_denied(e, &error, -EACCES, d);
}

/* Asking */

/* Of what became of a question. */
__attribute__((format(printf, 5, 6))) static void tell_approval(const struct enclave_call *c,
	const struct consent_scope *scope, enum audit_decision decision, const char *rule,
	const char *format, ...)
{
	struct enclave_call about = *c;
	char text[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	about.action = AUDIT_APPROVAL;
	/* An object that the tool made itself may hold what no log should. */
	if (!c->object)
		about.target = scope->object;
	enclave_tell(&about, decision, rule, text);
}

/* The pattern of just what is asked for, which may be granted for longer; nothing: there is none.
 */
static void call_add_scope(
	const struct enclave_call *c, const struct consent_scope *s, struct buffer *out)
{
	int r = s->op == OPERATION_EXEC ? command_pattern_of(c->asked->target, c->asked->args,
						  c->asked->n_args, out)
					: ceiling_pattern_of(s->op, s->object, out);

	if (r < 0)
		out->len = 0;
}

/*
 * The user may answer there, if the host set no callback. Input and variables of a command
 * are for the host alone to show. Returns why the user is not asked, in words; NULL: they are, or
 * it is the host's to ask.
 */
static const char *call_ask_daemon(
	const struct enclave_call *c, const struct consent_question *q, uint64_t id)
{
	const struct consent_scope *s = &q->scope;
	const uint64_t wait_ms =
		s->ttl_ms < QUESTION_WAIT_MAX_MS ? s->ttl_ms : QUESTION_WAIT_MAX_MS;
	struct question asked = { .op = s->op,
		.pid = c->pid,
		.wait_ms = (uint32_t)wait_ms,
		.target = s->object,
		.program = s->actor,
		.rule = q->rule,
		.reason = q->reason };
	auto_buffer scope = { 0 };
	int r;

	if (!c->enclave->joined || c->enclave->ask ||
		(c->action == AUDIT_EXEC && strcmp(s->object, c->target) != 0))
		return NULL;
	call_add_scope(c, s, &scope);
	asked.n_scopes = scope.len > 0 && !scope.failed;
	asked.scopes[0] = buffer_text(&scope);
	r = joined_ask(c->enclave->joined, id, &asked);
	return r > 0 ? answer_why_text((uint32_t)r) : NULL;
}

static int call_queue(const struct enclave_call *c, const struct consent_scope *scope,
	const struct corral_denial *d, struct corral_error **e)
{
	const struct consent_question q = {
		.scope = *scope, .rule = d ? d->rule : "", .reason = d ? d->reason : ""
	};
	struct error error = { 0 };
	const char *unasked;
	uint64_t id = 0;
	int r = consent_ask(c->enclave->consent, &q, &id);

	if (r < 0)
		return call_deny(c, d,
			r == -E2BIG    ? "it is too long to be shown"
			: r == -ENOSPC ? "too many questions are pending"
				       : "no one could be asked",
			e);
	if (r == 0)
		tell_approval(c, scope, AUDIT_ASKED, q.rule, "asked for: question %llu, %s",
			(unsigned long long)id, operation_name(scope->op));
	enclave_tell(c, AUDIT_ASKED, q.rule, q.reason);
	unasked = call_ask_daemon(c, &q, id);
	(void)error_set(&error, -EINPROGRESS, NULL,
		"approval is required (question %llu): %.256s: %s%s%s", (unsigned long long)id,
		c->target, q.reason, unasked ? "; " : "", unasked ? unasked : "");
	r = handles_denied(e, &error, -EINPROGRESS, d);
	if (e && *e)
		(*e)->question = id;
	return r;
}

/* 0: the user agreed, and this is one use of it. 1: the question is to be queued. */
static int call_back(const struct enclave_call *c, const struct consent_scope *scope,
	const struct corral_denial *d, struct corral_error **e)
{
	const struct corral_scope shown = { .size = sizeof(shown),
		.op = (enum corral_operation)scope->op,
		.object = scope->object,
		.actor = scope->actor,
		.ttl_ms = scope->ttl_ms,
		.count = scope->count };
	const struct corral_question q = { .size = sizeof(q),
		.scope = shown,
		.rule = d ? d->rule : "",
		.reason = d ? d->reason : "" };
	struct corral_scope answer = shown;
	const char *by = c->enclave->asks_whom ? " by " : "";
	const char *whom = c->enclave->asks_whom ? c->enclave->asks_whom : "";
	const char *refused = NULL;
	struct consent_scope given;
	enum corral_verdict v;
	uint64_t id = 0;

	tell_approval(c, scope, AUDIT_ASKED, q.rule, "asked for: %s", operation_name(scope->op));
	v = c->enclave->ask(c->enclave->context, &q, &answer);
	if (v == CORRAL_ASK)
		return 1;
	given = (struct consent_scope){ (enum operation)answer.op, answer.object, answer.actor,
		answer.ttl_ms, answer.count };
	if (v != CORRAL_ALLOW)
		refused = "it was refused";
	else if (!consent_scope_fits(&given, scope))
		refused = "the answer does not match the question";
	else if (consent_give_used(c->enclave->consent, &given, enclave_now_ms(), &id) < 0)
		refused = "too many approvals exist";
	if (refused) {
		tell_approval(c, scope, AUDIT_DENIED, q.rule, "refused%s%s: %s", by, whom, refused);
		return call_deny(c, d, "it was refused", e);
	}
	tell_approval(c, scope, AUDIT_ALLOWED, q.rule,
		"given%s%s: approval %llu, %llu times, %llu ms", by, whom, (unsigned long long)id,
		(unsigned long long)given.count, (unsigned long long)given.ttl_ms);
	tell_approval(
		c, scope, AUDIT_ALLOWED, q.rule, "used: approval %llu", (unsigned long long)id);
	return 0;
}

/* The policy says "ask": 0, -EACCES or -EINPROGRESS. */
static int call_agree(const struct enclave_call *c, const struct consent_scope *scope,
	const struct corral_denial *d, struct corral_error **e)
{
	uint64_t id = 0;
	int r = 1;

	if (strlen(scope->object) >= CONSENT_TEXT_MAX)
		return call_queue(c, scope, d, e);
	switch (consent_use(c->enclave->consent, scope->op, scope->object, scope->actor,
		enclave_now_ms(), &id)) {
	case CONSENT_USED:
		tell_approval(c, scope, AUDIT_ALLOWED, d ? d->rule : NULL, "used: approval %llu",
			(unsigned long long)id);
		return 0;
	case CONSENT_REFUSED:
		return call_deny(c, d, "it was refused", e);
	case CONSENT_NONE:
		break;
	}
	if (c->enclave->ask)
		r = call_back(c, scope, d, e);
	return r == 1 ? call_queue(c, scope, d, e) : r;
}

bool enclave_is_agreed(const struct enclave_call *c, const struct request *r)
{
	struct policy_pin pin;
	bool found = false;

	policy_box_pin(c->enclave->box, &pin);
	for (size_t i = 0; !found && i < policy_layers(pin.policy); i++) {
		struct decision d;

		found = policy_decide_layer(pin.policy, i, r, &d) == 0 && d.source &&
			d.source->in->is_granted;
	}
	policy_box_unpin(c->enclave->box, &pin);
	return found;
}

static bool call_is_of_log(const struct enclave_call *c, const struct request *requests, size_t n)
{
	bool is = false;

	for (size_t i = 0; i < n; i++)
		is = is || ((requests[i].op == OPERATION_FS_READ ||
				    requests[i].op == OPERATION_FS_WRITE) &&
				   lib_audit_has(c->enclave->audit, requests[i].target,
					   requests[i].op == OPERATION_FS_WRITE));
	return is;
}

int enclave_permit(
	struct enclave_call *c, const struct request *requests, size_t n, struct corral_error **e)
{
	struct call_judgement j;
	struct consent_scope scope = {
		.actor = c->actor, .ttl_ms = c->enclave->ask_ttl_ms, .count = c->enclave->ask_count
	};
	int r = 0;

	/* Without a name it would use what others were allowed. */
	if (c->nameless)
		return enclave_refuse(c, -EINVAL, e,
			"struct corral_by has no size; set it to sizeof(struct corral_by)");
	if (call_is_stopped(c->enclave))
		return enclave_refuse(c, -ECANCELED, e, "%s",
			c->enclave->is_over ? "a grant could not be taken back, and ended it"
					    : JOINED_STOPPED);
	j = call_judge(c, requests, n);
	if (j.verdict == VERDICT_ASK && call_is_of_log(c, requests, n)) {
		denial_free(j.denial);
		return enclave_refuse(c, -EACCES, e,
			"it is the log of what is done here, and no question is asked about it");
	}
	if (j.verdict == VERDICT_ASK) {
		scope.op = requests[n - 1].op;
		scope.object = c->object ? c->object : requests[n - 1].target;
		c->asked = &requests[n - 1];
		r = call_agree(c, &scope, j.denial, e);
		(void)snprintf(c->rule, sizeof(c->rule), "%s", j.denial ? j.denial->rule : "");
		denial_free(j.denial);
		if (r < 0)
			return r;
		c->approved = true;
		j = call_judge(c, requests, n);
	}
	if (j.verdict == VERDICT_DENY)
		r = call_deny(c, j.denial, NULL, e);
	denial_free(j.denial);
	return r;
}

/* Hard links */

static bool call_forbids(const struct sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].in->verdict != VERDICT_ALLOW)
			return true;
	}
	return false;
}

bool enclave_denies_paths(struct corral_enclave *enclave)
{
	struct policy_pin pin;
	bool denies = false;

	policy_box_pin(enclave->box, &pin);
	for (size_t i = 0; i < policy_layers(pin.policy); i++) {
		const struct layer *l = policy_layer(pin.policy, i);

		denies = denies || call_forbids(&l->sources[OPERATION_FS_READ]) ||
			 call_forbids(&l->sources[OPERATION_FS_WRITE]);
	}
	policy_box_unpin(enclave->box, &pin);
	return denies;
}

/*
 * May the host make a request? It is asked before each one: where a redirect leads is another
 * request. Nothing is sent from here, so which address a name has is not looked at either.
 */

int corral_enclave_check(struct corral_enclave *enclave, const struct corral_by *by,
	enum corral_operation op, const char *target, struct corral_error **e)
{
	const bool is_known = (unsigned)op < OPERATION_COUNT;
	struct enclave_call c;
	struct request r;
	int code;

	enclave_begin(&c, enclave, by,
		is_known ? audit_action_of((enum operation)op) : AUDIT_POLICY, target);
	if (!is_known || !target)
		return enclave_refuse(&c, -EINVAL, e, "expected an operation and a target");
	r = (struct request){ .op = (enum operation)op, .target = c.target };
	code = enclave_permit(&c, &r, 1, e);
	return code < 0 ? code : enclave_done(&c, 0, e);
}

int corral_enclave_http_request(struct corral_enclave *enclave, const struct corral_by *by,
	const char *method, const char *url, struct corral_error **e)
{
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = url, .method = method };
	auto_buffer object = { 0 };
	struct enclave_call c;
	int code;

	enclave_begin(&c, enclave, by, AUDIT_NET_CONNECT, url);
	/* What the engine also knows (host:port, udp://, unix:) is no request. */
	if (!url || (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0) ||
		!method || !host_method(method))
		return enclave_refuse(&c, -EINVAL, e,
			"a request needs a method, such as GET, and an http or https URL");
	/* A method has no spaces, so this is one request and no other. */
	buffer_printf(&object, "%s %s", method, url);
	if (object.failed)
		return enclave_done(&c, -ENOMEM, e);
	c.object = buffer_text(&object);
	code = enclave_permit(&c, &r, 1, e);
	return code < 0 ? code : enclave_done(&c, 0, e);
}
