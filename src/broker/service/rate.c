/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/rate.h"

#include <string.h>

static bool rate_is_same(const struct rate *a, const struct rate *b)
{
	return a->count == b->count && a->seconds == b->seconds;
}

bool service_rate_add(struct rate *list, size_t *n, const struct rate *rate)
{
	for (size_t i = 0; i < *n; i++)
		if (rate_is_same(&list[i], rate))
			return true;
	if (*n == SERVICE_RATES_MAX)
		return false;
	list[(*n)++] = *rate;
	return true;
}

static struct service_rate_window *rate_window(struct service_rates *r, const struct rate *rate)
{
	size_t i = 0;

	while (i < r->n && !rate_is_same(&r->windows[i].rate, rate))
		i++;
	if (i == SERVICE_RATES_MAX)
		return NULL;
	if (i == r->n)
		r->windows[r->n++] = (struct service_rate_window){ .rate = *rate };
	return &r->windows[i];
}

/* Steps are rounded up: all of them together are no shorter than the window. */
static uint64_t rate_step(const struct rate *rate, uint64_t now_ms)
{
	const uint64_t most = UINT64_MAX / 1000 - 1;
	const uint64_t ms = (rate->seconds < most ? rate->seconds : most) * 1000;

	return now_ms / ((ms + SERVICE_RATE_STEPS - 1) / SERVICE_RATE_STEPS + (ms == 0));
}

/* Moves the window to a step, and sums up what is in it. */
static uint64_t rate_slide(struct service_rate_window *w, uint64_t step)
{
	const size_t places = SERVICE_RATE_STEPS + 1;
	uint64_t sum = 0;

	if (step - w->step >= places)
		memset(w->counts, 0, sizeof(w->counts));
	else
		for (uint64_t s = w->step + 1; s <= step; s++)
			w->counts[s % places] = 0;
	w->step = step;
	for (size_t i = 0; i < places; i++)
		sum += w->counts[i];
	return sum;
}

bool service_rates_admit(
	struct service_rates *r, const struct rate *rates, size_t n, uint64_t now_ms)
{
	struct service_rate_window *windows[SERVICE_RATES_MAX];

	if (n > SERVICE_RATES_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		windows[i] = rate_window(r, &rates[i]);
		if (!windows[i] ||
			rate_slide(windows[i], rate_step(&rates[i], now_ms)) >= rates[i].count)
			return false;
	}
	for (size_t i = 0; i < n; i++)
		windows[i]->counts[windows[i]->step % (SERVICE_RATE_STEPS + 1)]++;
	return true;
}
