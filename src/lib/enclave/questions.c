/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that wait, their answers, and what becomes of those. Each step is reported. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "lib/enclave/internal.h"
#include "lib/api/handles.h"
#include "lib/api/joined.h"
#include "lib/enclave/share.h"

uint64_t corral_error_question(const struct corral_error *e)
{
	return e ? e->question : 0;
}

struct visiting {
	corral_question_visit *visit;
	void *context;
};

static int visit_question(void *context, const struct consent_question *from)
{
	const struct visiting *v = context;
	const struct corral_question q = {
		.size = sizeof(q),
		.id = from->id,
		.scope = { .size = sizeof(q.scope),
			.op = (enum corral_operation)from->scope.op,
			.object = from->scope.object,
			.actor = from->scope.actor,
			.ttl_ms = from->scope.ttl_ms,
			.count = from->scope.count },
		.rule = from->rule,
		.reason = from->reason,
	};

	return v->visit(v->context, &q);
}

long corral_enclave_questions(
	struct corral_enclave *enclave, corral_question_visit *visit, void *context)
{
	struct visiting v = { visit, context };

	return consent_questions(enclave->consent, visit_question, &v);
}

/* A scope has had all its members since there are scopes. One that narrows by something that is not
 * known here would be wider than what was meant. */
static int read_scope(struct consent_scope *ret, const struct corral_scope *from, struct error *e)
{
	const char *wrong = NULL;
	struct corral_scope known;

	if (!from || from->size < sizeof(*from))
		wrong = "struct corral_scope has no size; set it to sizeof(struct corral_scope)";
	else if (handles_read(&known, sizeof(known), from, from->size) < 0)
		wrong = "the scope contains something that this version of libcorral does not "
			"support";
	else if (!from->object || !from->actor)
		wrong = "a scope needs an object and an actor";
	if (wrong)
		return error_set(e, -EINVAL, NULL, "%s", wrong);
	*ret = (struct consent_scope){ (enum operation)from->op, from->object, from->actor,
		from->ttl_ms, from->count };
	return 0;
}

__attribute__((format(printf, 3, 4))) static void tell_answer(
	struct corral_enclave *enclave, enum audit_decision decision, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	enclave_note(enclave, AUDIT_APPROVAL, decision, text, NULL);
}

static int complain_of(struct corral_enclave *enclave, int code, uint64_t number, const char *what,
	struct corral_error **e)
{
	struct error error = { 0 };

	(void)error_set(&error, code, NULL, "%s %llu: %s", what, (unsigned long long)number,
		code == -ENOENT   ? "it does not exist or has expired"
		: code == -EINVAL ? "the approval must not be empty or exceed the question"
		: code == -ENOSPC ? "too many exist"
				  : strerror(-code));
	tell_answer(enclave, AUDIT_FAILED, "%s", error.text);
	return handles_error(e, &error, code);
}

/* Answers */

int corral_enclave_answer(struct corral_enclave *enclave, const char *token, uint64_t question,
	enum corral_verdict verdict, const struct corral_scope *scope, uint64_t *ret_approval,
	struct corral_error **e)
{
	struct consent_scope narrower;
	struct error error = { 0 };
	uint64_t id = 0;
	int r = enclave_check_token(enclave, token, "answer", e);

	if (r < 0)
		return r;
	if (verdict != CORRAL_ALLOW && verdict != CORRAL_DENY)
		r = error_set(
			&error, -EINVAL, NULL, "an answer must be CORRAL_ALLOW or CORRAL_DENY");
	if (r == 0 && scope)
		r = read_scope(&narrower, scope, &error);
	if (r < 0)
		return handles_error(e, &error, r);
	r = consent_answer(enclave->consent, question, (enum verdict)verdict,
		scope ? &narrower : NULL, enclave_now_ms(), &id);
	if (r < 0)
		return complain_of(enclave, r, question, "question", e);
	if (verdict == CORRAL_ALLOW)
		tell_answer(enclave, AUDIT_ALLOWED, "given: approval %llu for question %llu",
			(unsigned long long)id, (unsigned long long)question);
	else
		tell_answer(enclave, AUDIT_DENIED, "refused: question %llu",
			(unsigned long long)question);
	if (enclave->joined)
		joined_questions_over(enclave->joined, UINT64_MAX, question, QUESTION_ANSWERED);
	(void)eventfd_write(enclave->answers, 1);
	if (ret_approval)
		*ret_approval = id;
	return 0;
}

struct enclave_answering {
	struct corral_enclave *enclave;
	uint64_t question;
	enum verdict verdict;
};

/* Once, and exactly what was shown. */
static int take_answer(void *context, const struct consent_question *q)
{
	const struct enclave_answering *a = context;
	struct consent_scope once = q->scope;
	uint64_t id = 0;

	if (q->id != a->question)
		return 0;
	once.count = 1;
	if (consent_answer(a->enclave->consent, q->id, a->verdict, &once, enclave_now_ms(), &id) <
		0)
		return 1;
	tell_answer(a->enclave, a->verdict == VERDICT_ALLOW ? AUDIT_ALLOWED : AUDIT_DENIED,
		"%s by the daemon: %s %llu for question %llu",
		a->verdict == VERDICT_ALLOW ? "given" : "refused",
		a->verdict == VERDICT_ALLOW ? "approval" : "refusal", (unsigned long long)id,
		(unsigned long long)q->id);
	(void)eventfd_write(a->enclave->answers, 1);
	return 1;
}

void enclave_hear_answers(struct corral_enclave *enclave)
{
	struct enclave_answering x = { .enclave = enclave };
	struct answer a;

	while (joined_next_answer(enclave->joined, &x.question, &a)) {
		/* It is granted for longer, and must not be left as one use more after that. */
		if (a.kind == ANSWER_ALLOW) {
			if (consent_drop(enclave->consent, x.question) == 0)
				(void)eventfd_write(enclave->answers, 1);
			continue;
		}
		x.verdict = a.kind == ANSWER_DENY ? VERDICT_DENY : VERDICT_ALLOW;
		(void)consent_questions(enclave->consent, take_answer, &x);
	}
	joined_tell_notes(enclave->joined);
}

int enclave_drop_question(struct corral_enclave *enclave, uint64_t question)
{
	if (enclave->joined)
		joined_questions_over(enclave->joined, UINT64_MAX, question, QUESTION_GIVEN_UP);
	return consent_drop(enclave->consent, question);
}

void enclave_ask_by(struct corral_enclave *enclave, corral_ask *ask, void *context, const char *who)
{
	enclave->ask = ask ? ask : enclave->own_ask;
	enclave->context = ask ? context : enclave->own_context;
	enclave->asks_whom = ask ? who : NULL;
}

int corral_enclave_answers_fd(struct corral_enclave *enclave)
{
	return enclave->answers;
}

int corral_enclave_hand_on(struct corral_enclave *enclave, uint64_t approval,
	const struct corral_scope *scope, uint64_t *ret_approval, struct corral_error **e)
{
	struct consent_scope smaller = { 0 };
	struct error error = { 0 };
	uint64_t id = 0;
	int r = read_scope(&smaller, scope, &error);

	if (r < 0)
		return handles_error(e, &error, r);
	r = consent_hand_on(enclave->consent, approval, &smaller, enclave_now_ms(), &id);
	if (r < 0)
		return complain_of(enclave, r, approval, "approval", e);
	tell_answer(enclave, AUDIT_ALLOWED, "given: approval %llu, handed on from %llu to %.64s",
		(unsigned long long)id, (unsigned long long)approval, smaller.actor);
	if (ret_approval)
		*ret_approval = id;
	return 0;
}

int corral_enclave_withdraw(struct corral_enclave *enclave, const char *token, uint64_t approval,
	struct corral_error **e)
{
	int r = enclave_check_token(enclave, token, "withdraw", e);

	if (r < 0)
		return r;
	r = consent_withdraw(enclave->consent, approval);
	if (r < 0)
		return complain_of(enclave, r, approval, "approval", e);
	tell_answer(enclave, AUDIT_NONE, "withdrawn: approval %llu, and %d that were handed on",
		(unsigned long long)approval, r - 1);
	return 0;
}
