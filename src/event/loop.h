/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The event loop: descriptors by epoll, and timers in a heap. One thread. Nothing here
 * owns a descriptor or allocates per event; watchers and timers live in the structs of those who
 * wait.
 *
 * A callback may remove, close and free anything, its own watcher too: what was removed is not
 * called any more, not even for events that were fetched already.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct loop;

struct watcher {
	void (*ready)(struct watcher *w, uint32_t events); /* EPOLLIN … */
	int fd;                                            /* -1: not in the loop */
	uint32_t events;                                   /* what it waits for now */
};

struct timer {
	void (*expired)(struct timer *t);
	uint64_t due_ms; /* by loop_now(), or by loop_boot_now() */
	size_t place;    /* in its heap, from 1; 0: not set */
	bool is_boot;    /* loop_start_at() set it */
};

int loop_new(struct loop **ret);
void loop_free(struct loop *l);

/* Level-triggered, unless EPOLLET is among the events. */
int loop_add(struct loop *l, struct watcher *w, int fd, uint32_t events);
/* Cheap if nothing changes. */
int loop_change(struct loop *l, struct watcher *w, uint32_t events);
/* Of an edge-triggered one: if it is ready, its next event is now, whatever was reported before. */
int loop_again(struct loop *l, struct watcher *w);
/* Before the descriptor is closed. Nothing if it is not in the loop. */
void loop_remove(struct loop *l, struct watcher *w);

/* Sets it, or sets it anew. -ENOMEM. */
int loop_start(struct loop *l, struct timer *t, uint64_t ms);
/*
 * The same, at that time of loop_boot_now(): for what was allowed for a time. If the machine slept
 * past it, the loop may learn so only with the next event; such timers are called before whatever
 * is ready in that turn.
 */
int loop_start_at(struct loop *l, struct timer *t, uint64_t boot_ms);
void loop_stop(struct loop *l, struct timer *t);
/* Milliseconds of the monotonic clock, read once per turn: it stands still while the machine
 * sleeps. */
uint64_t loop_now(const struct loop *l);
/* Of the clock that counts that time, too (CLOCK_BOOTTIME). */
uint64_t loop_boot_now(const struct loop *l);

/* Waits (at most ms; -1: for ever) and calls whoever is ready. Negative: the loop is broken. */
int loop_turn(struct loop *l, int ms);
/* For a loop inside another loop's poll(). */
int loop_fd(const struct loop *l);

/* The struct that a watcher or timer is a member of. */
#define container_of(pointer, type, member) \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))
