/* SPDX-License-Identifier: Apache-2.0 */
#include "net/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"

enum { BATCH = 64 };

struct loop {
	int epoll;
	uint64_t now_ms;
	struct epoll_event events[BATCH];
	int n_events, at; /* the batch that is being handled */
	struct timer **heap;
	size_t n, cap;
};

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
	l->now_ms = clock_ms(CLOCK_MONOTONIC);
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	fd_close(&l->epoll);
	free(l->heap);
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

/* Timers: a binary heap, numbered from 1, the soonest at the top. */

static void loop_place(struct loop *l, size_t i, struct timer *t)
{
	l->heap[i - 1] = t;
	t->place = i;
}

static void loop_rise(struct loop *l, size_t i, struct timer *t)
{
	for (; i > 1 && l->heap[i / 2 - 1]->due_ms > t->due_ms; i /= 2)
		loop_place(l, i, l->heap[i / 2 - 1]);
	loop_place(l, i, t);
}

int loop_start(struct loop *l, struct timer *t, uint64_t ms)
{
	loop_stop(l, t);
	if (ARRAY_PUSH(l->heap, l->n, l->cap, t) < 0)
		return -ENOMEM;
	t->due_ms = l->now_ms + ms;
	loop_rise(l, l->n, t);
	return 0;
}

void loop_stop(struct loop *l, struct timer *t)
{
	struct timer *last;
	size_t i = t->place;

	if (i == 0)
		return;
	t->place = 0;
	last = l->heap[--l->n];
	if (last == t)
		return;
	if (i > 1 && l->heap[i / 2 - 1]->due_ms > last->due_ms) {
		loop_rise(l, i, last);
		return;
	}
	/* It sinks below those that are due before it. */
	for (size_t child; (child = 2 * i) <= l->n; i = child) {
		if (child + 1 <= l->n && l->heap[child]->due_ms < l->heap[child - 1]->due_ms)
			child++;
		if (l->heap[child - 1]->due_ms >= last->due_ms)
			break;
		loop_place(l, i, l->heap[child - 1]);
	}
	loop_place(l, i, last);
}

uint64_t loop_now(const struct loop *l)
{
	return l->now_ms;
}

int loop_turn(struct loop *l, int ms)
{
	int n;

	if (l->n > 0) {
		uint64_t at = l->heap[0]->due_ms, due = at > l->now_ms ? at - l->now_ms : 0;

		if (due > INT_MAX)
			due = INT_MAX;
		if (ms < 0 || due < (uint64_t)ms)
			ms = (int)due;
	}
	n = epoll_wait(l->epoll, l->events, BATCH, ms);
	if (n < 0 && errno != EINTR)
		return -errno;
	l->now_ms = clock_ms(CLOCK_MONOTONIC);
	l->n_events = n < 0 ? 0 : n;
	for (l->at = 0; l->at < l->n_events;) {
		const struct epoll_event *e = &l->events[l->at++];
		struct watcher *w = e->data.ptr;

		if (w)
			w->ready(w, e->events);
	}
	l->n_events = 0;
	/* Those that are due. One that a callback sets anew may run again, but not for ever. */
	for (size_t left = l->n; left > 0 && l->n > 0 && l->heap[0]->due_ms <= l->now_ms; left--) {
		struct timer *t = l->heap[0];

		loop_stop(l, t);
		t->expired(t);
	}
	return 0;
}

int loop_fd(const struct loop *l)
{
	return l->epoll;
}
