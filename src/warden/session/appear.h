/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Matches of AgenShield's denials by pattern that appear while a session runs (jail/plan/found.c
 * has those that were there before). All folders below those that plan.appear names are watched,
 * and what comes to match is masked, until a bound is reached.
 *
 * This is an aid, unlike late.h: a command can create such a file anyway, and knows what it wrote.
 * What it is for are secrets that the user or another program puts there. So nothing here ends a
 * session. It has an inotify instance of its own, since a command that creates files faster than
 * they are looked at must not cost the events that masks of paths depend on.
 */
#include "jail/plan/plan.h"
#include "jail/tree.h"

struct appear;

/* *ret is NULL if the plan has no such patterns, or nothing can be watched on this machine. */
int appear_new(struct appear **ret, const struct plan *plan);
void appear_free(struct appear *a);
/* To be polled for reading: what was heard, and whether there is more to do. */
int appear_fd(const struct appear *a, bool again);
/* Inside the tree: watches, and masks what appeared since the plan was made. */
void appear_begin(struct appear *a, const struct tree *t);
/* Masks what was heard of, or some of it: then the second descriptor is ready. */
void appear_hear(struct appear *a, const struct tree *t);
