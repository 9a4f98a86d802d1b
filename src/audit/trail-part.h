/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The parts of a trail: trail.c has what everybody does who adds, trail-carry.c the way on from the
 * ring. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "audit/trail.h"

enum { TRAIL_LINE = 64 };

struct audit_trail {
	struct audit_ring *ring;
	struct audit_store *store; /* NULL: in memory only */
	char *session, *user, *sandbox;
	unsigned batch, batch_ms;

	pthread_rwlock_t secrets; /* guards the redactor */
	struct redactor *redactor;

	_Alignas(TRAIL_LINE) _Atomic uint64_t sequence;

	/* How far the store has taken over: audit_ring_mark(). */
	_Alignas(TRAIL_LINE) _Atomic uint64_t carried, carried_cells;
	_Atomic uint64_t waiting_ms; /* since when something waits in the ring; 0: nothing does */
	_Atomic uint64_t retry_ms;   /* the store failed: not before then again; 0: it did not */
	_Atomic uint64_t lost;
	_Atomic int failure;

	pthread_mutex_t carrier; /* guards the rest, and the store */
	struct audit_reader reader;
	uint64_t told;     /* how many losses stand in the store */
	uint64_t reported; /* and how many somebody was told of who flushed */
	bool in_vain;      /* the last one that flushed waited for others, and got nothing */
	_Alignas(8) char buffer[AUDIT_EVENT_MAX];
};

/* Fills in what an event does not say; the texts are the trail's. */
void trail_complete(struct audit_trail *t, struct audit_event *e);

/* Before an event enters the ring: waits if others would be lost by that. */
void trail_make_room(struct audit_trail *t);
/* After it: carries over if that is due and nobody else is at it. */
void trail_carry_due(struct audit_trail *t);
