/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/consent.h"

#include "base/clock.h"
#include "lib/enclave/share.h"
#include "policy/operation-names.h"

#define CONSENT_WHO "the client"

static struct question consent_question(const struct corral_question *q)
{
	return (struct question){ .op = (uint32_t)q->scope.op,
		.target = q->scope.object,
		.program = q->scope.actor,
		.rule = q->rule,
		.reason = q->reason };
}

static uint64_t consent_now(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

/* What the client has not answered yet, once in a run: the tool ends with it. */
static void consent_note(struct mcp_consent *s, const struct corral_question *q)
{
	const struct question asked = consent_question(q);

	if (s->object.len)
		return;
	s->op = (enum operation)q->scope.op;
	buffer_adds(&s->object, q->scope.object);
	buffer_adds(&s->reason, q->reason);
	s->unasked = mcp_asking_is_possible(s->call)
			     ? answer_why_text(holder_asking_admit(s->rate, &asked, consent_now()))
			     : "this call asks the user too often";
}

static enum corral_verdict consent_decide(
	void *context, const struct corral_question *q, struct corral_scope *answer)
{
	struct mcp_consent *s = context;
	const struct question asked = consent_question(q);
	const enum mcp_word word =
		mcp_asking_word(s->call, (enum operation)q->scope.op, q->scope.object);

	if (word == MCP_WORD_NONE) {
		consent_note(s, q);
		return CORRAL_ASK;
	}
	answer->count = 1;
	s->is_refused = word != MCP_WORD_YES;
	holder_asking_answered(
		s->rate, &asked, word == MCP_WORD_YES ? ANSWER_ONCE : ANSWER_DENY, consent_now());
	return word == MCP_WORD_YES ? CORRAL_ALLOW : CORRAL_DENY;
}

void mcp_consent_begin(struct mcp_consent *s, struct mcp_call *c)
{
	buffer_clear(&s->object);
	buffer_clear(&s->reason);
	s->unasked = NULL;
	s->is_refused = false;
	s->call = c;
	/* One with answers may have no more questions; then what comes up is asked elsewhere. */
	if (mcp_asking_is_possible(c) || c->claims.n > 0)
		enclave_ask_by(s->enclave, consent_decide, s, CONSENT_WHO);
}

void mcp_consent_end(struct mcp_consent *s)
{
	enclave_ask_by(s->enclave, NULL, NULL, NULL);
	buffer_clear(&s->object);
	s->is_refused = false;
	s->call = NULL;
}

bool mcp_consent_is_wanted(const struct mcp_consent *s)
{
	return s->object.len > 0;
}

bool mcp_consent_refused(const struct mcp_consent *s)
{
	return s->is_refused;
}

void mcp_consent_ask(struct mcp_consent *s, struct mcp_call *c)
{
	auto_buffer message = { 0 };

	buffer_printf(&message, "Allow this once?\n%s by the tool %s:\n", operation_names[s->op],
		c->name);
	buffer_add_visible(&message, buffer_text(&s->object), s->object.len);
	buffer_adds(&message, "\nThe policy asks about it: ");
	buffer_add_visible(&message, buffer_text(&s->reason), s->reason.len);
	mcp_asking_ask(c, s->op, buffer_text(&s->object), buffer_text(&message));
}

void mcp_consent_deinit(struct mcp_consent *s)
{
	buffer_deinit(&s->object);
	buffer_deinit(&s->reason);
}
