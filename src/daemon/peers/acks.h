/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How far the events of a connection are committed, and acknowledged. */
#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"
#include "daemon/peers/known.h"
#include "wire/frame.h"

struct supervisor;

struct sandbox;

struct acks {
	uint64_t received;     /* events, on this connection */
	uint64_t told;         /* that were acknowledged */
	uint64_t last;         /* the last one's number in the trail's ring; 0: none is there */
	uint64_t mark;         /* a number before, 0: none */
	uint64_t marked;       /* received by then */
	uint64_t mark_log;     /* the log's number by then */
	uint64_t since, doubt; /* JOIN's number; received up to the last that the log had already */
	struct known known;    /* that may come again */
	bool has_left;         /* the rest is in a file, too: nothing more comes */
	uint64_t left_number;  /* in its name */
};

/* JOIN: its session, and the id of the frame (wire/join.h). -EBUSY: what the log has of it cannot
 * be read now. The connection is closed then, and the run comes again, or leaves a file. */
int acks_open(struct sandbox *b, const char *session, uint64_t id);
/* JOINED. */
void acks_joined(struct sandbox *b);
/* An event: true if the log has it already. */
bool acks_has(struct sandbox *b, const struct audit_event *e);
/* An event that is in the log by another way: it is acknowledged only. */
void acks_pass(struct sandbox *b);
/* It was added to the trail's ring under this number. */
void acks_note(struct sandbox *b, uint64_t number);
int acks_on_left(struct sandbox *b, const struct frame *f);
/* The connection is over. */
void acks_close(struct sandbox *b);
/* Acknowledges what was committed since the last time. */
void acks_turn(struct supervisor *s);
