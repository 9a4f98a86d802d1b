/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/timeline.h"

#include <stdbool.h>
#include <string.h>

#include "cli/audit/figures.h"

static void audit_timeline_widen(struct audit_timeline *t)
{
	struct audit_timeline wide = { .doubled = t->doubled + 1 };
	size_t shift;

	wide.start_s = t->start_s >> wide.doubled << wide.doubled;
	shift = (size_t)((t->start_s - wide.start_s) >> t->doubled);
	for (size_t i = 0; i < t->n; i++)
		for (size_t d = 0; d < AUDIT_DECISION_COUNT; d++)
			audit_amount_add(&wide.counts[(i + shift) / 2][d], t->counts[i][d]);
	wide.n = (t->n - 1 + shift) / 2 + 1;
	*t = wide;
}

/* So many empty steps in front. */
static void audit_timeline_shift(struct audit_timeline *t, size_t by)
{
	memmove(t->counts[by], t->counts[0], t->n * sizeof(t->counts[0]));
	memset(t->counts[0], 0, by * sizeof(t->counts[0]));
	t->n += by;
	t->start_s -= (uint64_t)by << t->doubled;
}

/* Whether all from the start to the last step, and this, have room. */
static bool audit_timeline_fits(const struct audit_timeline *t, uint64_t time_s)
{
	const uint64_t first = t->start_s >> t->doubled, mine = time_s >> t->doubled;
	const uint64_t last = first + t->n - 1;

	return (mine > last ? mine : last) - (mine < first ? mine : first) < AUDIT_TIMELINE_STEPS;
}

void audit_timeline_add(
	struct audit_timeline *t, uint64_t time_ns, enum audit_decision decision, uint64_t count)
{
	const uint64_t time_s = time_ns / 1000000000;
	size_t at;

	if (t->n == 0)
		*t = (struct audit_timeline){ .start_s = time_s, .n = 1 };
	while (!audit_timeline_fits(t, time_s))
		audit_timeline_widen(t);
	if (time_s < t->start_s)
		audit_timeline_shift(
			t, (size_t)((t->start_s >> t->doubled) - (time_s >> t->doubled)));
	at = (size_t)((time_s - t->start_s) >> t->doubled);
	t->n = at >= t->n ? at + 1 : t->n;
	audit_amount_add(&t->counts[at][decision], count);
}
