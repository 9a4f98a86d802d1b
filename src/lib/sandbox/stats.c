/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/process/result.h"
#include "lib/sandbox/sandbox.h"

void sandbox_count_start(struct corral_sandbox *s)
{
	(void)pthread_mutex_lock(&s->lock);
	s->stats.commands++;
	s->stats.running++;
	(void)pthread_mutex_unlock(&s->lock);
}

static void sandbox_stats_add(struct corral_stats *to, const struct corral_result *r)
{
	to->timeouts += (r->report.flags & REPORT_TIMED_OUT) != 0;
	to->user_us += r->report.user_us;
	to->system_us += r->report.system_us;
	to->stdout_bytes += r->out.bytes;
	to->stderr_bytes += r->err.bytes;
	to->denials += r->n_denials - r->n_noted;
	if (r->report.peak_bytes > to->peak_bytes)
		to->peak_bytes = r->report.peak_bytes;
}

void sandbox_count_end(
	struct corral_sandbox *s, const struct corral_result *result, uint64_t stdin_bytes)
{
	(void)pthread_mutex_lock(&s->lock);
	s->stats.running--;
	s->stats.stdin_bytes += stdin_bytes;
	if (result)
		sandbox_stats_add(&s->stats, result);
	(void)pthread_mutex_unlock(&s->lock);
}

void sandbox_count_refusal(struct corral_sandbox *s, unsigned denials)
{
	(void)pthread_mutex_lock(&s->lock);
	s->stats.refused++;
	s->stats.denials += denials;
	(void)pthread_mutex_unlock(&s->lock);
}

void corral_sandbox_stats(struct corral_sandbox *s, struct corral_stats *ret, size_t size)
{
	struct corral_stats now;

	sandbox_refresh(s);
	(void)pthread_mutex_lock(&s->lock);
	now = s->stats;
	(void)pthread_mutex_unlock(&s->lock);
	memset(ret, 0, size);
	memcpy(ret, &now, size < sizeof(now) ? size : sizeof(now));
}
