/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/tally.h"

#include <errno.h>

#include "cli/audit/amount.h"

int audit_tally_init(struct audit_tally *t)
{
	*t = (struct audit_tally){ .denied = audit_top_new(), .programs = audit_top_new() };
	return t->denied && t->programs ? 0 : -ENOMEM;
}

void audit_tally_deinit(struct audit_tally *t)
{
	audit_top_free(t->denied);
	audit_top_free(t->programs);
}

static void cli_audit_tally_add(uint64_t *sum, uint64_t n)
{
	*sum = audit_amount_add(*sum, n);
}

/* How often it happened: of limits and of the log itself, the count is an amount. */
static uint64_t times(const struct audit_event *v)
{
	return v->action == AUDIT_LIMIT || v->action == AUDIT_STORE ? 1 : v->count;
}

int audit_tally_add(void *context, const struct audit_row *row)
{
	struct audit_tally *t = context;
	const struct audit_event *v = &row->event;
	const uint64_t n = times(v);
	int r = 0;

	t->records++;
	cli_audit_tally_add(&t->events, n);
	cli_audit_tally_add(&t->by[v->action][v->decision], n);
	/* The end of a command may sum up what its connections had. */
	if (v->action != AUDIT_COMMAND_END) {
		cli_audit_tally_add(&t->sent, v->sent);
		cli_audit_tally_add(&t->received, v->received);
	}
	t->from_ns = t->records == 1 || v->time_ns < t->from_ns ? v->time_ns : t->from_ns;
	t->to_ns = v->time_ns > t->to_ns ? v->time_ns : t->to_ns;
	if (v->decision == AUDIT_DENIED)
		r = audit_top_add(t->denied, v->action, v->target, n);
	if (r == 0 && *v->program)
		r = audit_top_add(t->programs, 0, v->program, n);
	return r;
}

void audit_tally_finish(struct audit_tally *t)
{
	audit_top_sort(t->denied);
	audit_top_sort(t->programs);
}

uint64_t audit_tally_of_action(const struct audit_tally *t, unsigned action)
{
	uint64_t sum = 0;

	for (unsigned d = 0; d < AUDIT_DECISION_COUNT; d++)
		cli_audit_tally_add(&sum, t->by[action][d]);
	return sum;
}

uint64_t audit_tally_of_decision(const struct audit_tally *t, unsigned decision)
{
	uint64_t sum = 0;

	for (unsigned a = 0; a < AUDIT_ACTION_COUNT; a++)
		cli_audit_tally_add(&sum, t->by[a][decision]);
	return sum;
}
