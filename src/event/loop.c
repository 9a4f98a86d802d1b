/* SPDX-License-Identifier: Apache-2.0 */
#include "event/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"

enum { BATCH = 64 };

/* Timers of one clock: a binary heap, numbered from 1, the soonest at the top. */
struct loop_heap {
	uint64_t now_ms;
	struct timer **items;
	size_t n, cap;
};

struct loop {
	int epoll;
	struct epoll_event events[BATCH];
	int n_events, at;           /* the batch that is being handled */
	struct loop_heap clocks[2]; /* by is_boot */
};

static void loop_look_at_clocks(struct loop *l)
{
	l->clocks[false].now_ms = clock_ms(CLOCK_MONOTONIC);
	l->clocks[true].now_ms = clock_ms(CLOCK_BOOTTIME);
}

int loop_new(struct loop **ret)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		int r = -errno;

		free(l);
		return r;
	}
	loop_look_at_clocks(l);
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	fd_close(&l->epoll);
	for (size_t i = 0; i < ROWS(l->clocks); i++)
		free(l->clocks[i].items);
	free(l);
}

/* Descriptors. */

static int loop_control(const struct loop *l, int how, struct watcher *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	return epoll_ctl(l->epoll, how, w->fd, &e) < 0 ? -errno : 0;
}

int loop_add(struct loop *l, struct watcher *w, int fd, uint32_t events)
{
	int r;

	w->fd = fd;
	w->events = events;
	r = loop_control(l, EPOLL_CTL_ADD, w, events);
	if (r < 0)
		w->fd = -1;
	return r;
}

int loop_change(struct loop *l, struct watcher *w, uint32_t events)
{
	int r = 0;

	if (w->events != events)
		r = loop_control(l, EPOLL_CTL_MOD, w, events);
	if (r == 0)
		w->events = events;
	return r;
}

int loop_again(struct loop *l, struct watcher *w)
{
	return w->fd < 0 ? 0 : loop_control(l, EPOLL_CTL_MOD, w, w->events);
}

void loop_remove(struct loop *l, struct watcher *w)
{
	if (w->fd < 0)
		return;
	(void)loop_control(l, EPOLL_CTL_DEL, w, 0);
	w->fd = -1;
	for (int i = l->at; i < l->n_events; i++)
		if (l->events[i].data.ptr == w)
			l->events[i].data.ptr = NULL;
}

/* Timers. */

static void loop_place(struct loop_heap *h, size_t i, struct timer *t)
{
	h->items[i - 1] = t;
	t->place = i;
}

static void loop_rise(struct loop_heap *h, size_t i, struct timer *t)
{
	for (; i > 1 && h->items[i / 2 - 1]->due_ms > t->due_ms; i /= 2)
		loop_place(h, i, h->items[i / 2 - 1]);
	loop_place(h, i, t);
}

static int loop_set(struct loop *l, struct timer *t, bool is_boot, uint64_t due_ms)
{
	struct loop_heap *h = &l->clocks[is_boot];

	loop_stop(l, t);
	if (ARRAY_PUSH(h->items, h->n, h->cap, t) < 0)
		return -ENOMEM;
	t->is_boot = is_boot;
	t->due_ms = due_ms;
	loop_rise(h, h->n, t);
	return 0;
}

int loop_start(struct loop *l, struct timer *t, uint64_t ms)
{
	return loop_set(l, t, false, loop_now(l) + ms);
}

int loop_start_at(struct loop *l, struct timer *t, uint64_t boot_ms)
{
	return loop_set(l, t, true, boot_ms);
}

void loop_stop(struct loop *l, struct timer *t)
{
	struct loop_heap *h = &l->clocks[t->is_boot];
	struct timer *last;
	size_t i = t->place;

	if (i == 0)
		return;
	t->place = 0;
	last = h->items[--h->n];
	if (last == t)
		return;
	if (i > 1 && h->items[i / 2 - 1]->due_ms > last->due_ms) {
		loop_rise(h, i, last);
		return;
	}
	/* It sinks below those that are due before it. */
	for (size_t child; (child = 2 * i) <= h->n; i = child) {
		if (child + 1 <= h->n && h->items[child]->due_ms < h->items[child - 1]->due_ms)
			child++;
		if (h->items[child - 1]->due_ms >= last->due_ms)
			break;
		loop_place(h, i, h->items[child - 1]);
	}
	loop_place(h, i, last);
}

uint64_t loop_now(const struct loop *l)
{
	return l->clocks[false].now_ms;
}

uint64_t loop_boot_now(const struct loop *l)
{
	return l->clocks[true].now_ms;
}

/* How long it may wait for the first timer of this clock, at most ms; -1: for ever. */
static int loop_patience(const struct loop_heap *h, int ms)
{
	uint64_t at, due;

	if (h->n == 0)
		return ms;
	at = h->items[0]->due_ms;
	due = at > h->now_ms ? at - h->now_ms : 0;
	if (due > INT_MAX)
		due = INT_MAX;
	return ms < 0 || due < (uint64_t)ms ? (int)due : ms;
}

/* Those that are due. One that a callback sets anew may run again, but not for ever. */
static void loop_expire(struct loop *l, struct loop_heap *h)
{
	for (size_t left = h->n; left > 0 && h->n > 0 && h->items[0]->due_ms <= h->now_ms; left--) {
		struct timer *t = h->items[0];

		loop_stop(l, t);
		t->expired(t);
	}
}

int loop_turn(struct loop *l, int ms)
{
	int n;

	for (size_t i = 0; i < ROWS(l->clocks); i++)
		ms = loop_patience(&l->clocks[i], ms);
	n = epoll_wait(l->epoll, l->events, BATCH, ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	loop_look_at_clocks(l);
	l->n_events = n < 0 ? 0 : n;
	l->at = 0;
	/* A callback may remove what is ready: those are in the batch by now. */
	loop_expire(l, &l->clocks[true]);
	while (l->at < l->n_events) {
		const struct epoll_event *e = &l->events[l->at++];
		struct watcher *w = e->data.ptr;

		if (w)
			w->ready(w, e->events);
	}
	l->n_events = 0;
	loop_expire(l, &l->clocks[false]);
	return 0;
}

int loop_fd(const struct loop *l)
{
	return l->epoll;
}
