/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/batch.h"

#include <limits.h>
#include <time.h>

enum { DEFAULT_BATCH = 64, DEFAULT_BATCH_MS = 20, PAUSE_LEAST_US = 50, PAUSE_MOST_US = 2000 };

void audit_batch_init(struct audit_batch *b, unsigned most, unsigned ms)
{
	if (!most)
		most = DEFAULT_BATCH;
	*b = (struct audit_batch){ .most = most < AUDIT_BATCH_MAX ? most : AUDIT_BATCH_MAX,
		.ms = ms ? ms : DEFAULT_BATCH_MS };
}

bool audit_batch_is_due(struct audit_batch *b, uint64_t n, uint64_t now_ms)
{
	uint64_t since = atomic_load(&b->since_ms);

	if (!n)
		return false;
	if (!since && atomic_compare_exchange_strong(&b->since_ms, &since, now_ms))
		since = now_ms;
	if (now_ms < atomic_load(&b->retry_ms))
		return false;
	return n >= b->most || (now_ms >= since && now_ms - since >= b->ms);
}

int audit_batch_left_ms(uint64_t now_ms, uint64_t then_ms)
{
	if (now_ms >= then_ms)
		return 0;
	return then_ms - now_ms > INT_MAX ? INT_MAX : (int)(then_ms - now_ms);
}

int audit_batch_wait_ms(struct audit_batch *b, uint64_t n, uint64_t now_ms)
{
	if (!n)
		return -1;
	if (audit_batch_is_due(b, n, now_ms))
		return 0;
	return audit_batch_left_ms(now_ms, atomic_load(&b->since_ms) + b->ms);
}

bool audit_pause(struct audit_pause *p)
{
	struct timespec pause;

	if (p->done_us >= p->most_ms * 1000)
		return false;
	p->next_us = p->next_us ? p->next_us * 2 : PAUSE_LEAST_US;
	if (p->next_us > PAUSE_MOST_US)
		p->next_us = PAUSE_MOST_US;
	pause = (struct timespec){ .tv_nsec = (long)p->next_us * 1000 };
	(void)nanosleep(&pause, NULL);
	p->done_us += p->next_us;
	return true;
}
