/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Stored policies are watched; a change is recorded, and an event. */
#include <stdbool.h>

#include "event/loop.h"

struct supervisor;

/* The folder policy.d, custom/ in it, and the nearest folder above that is there. */
enum { POLICIES_WATCHED = 3 };

struct policies {
	struct watcher watcher;
	struct timer timer;
	int watched[POLICIES_WATCHED]; /* inotify's numbers; -1: it is not there */
	bool is_busy, is_due;          /* corral runs; something changed meanwhile */
	unsigned failures;             /* one after the other */
};

int policies_open(struct supervisor *s);
void policies_close(struct supervisor *s);
/* Watches the folders; if changes are not seen at once, looks at them. */
int policies_look(struct supervisor *s);
