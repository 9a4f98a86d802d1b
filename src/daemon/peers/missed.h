/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Events that runs left in files while no daemon ran are taken into the log, once. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/missed.h"
#include "base/buffer.h"
#include "event/loop.h"

struct supervisor;

enum { MISSED_SHOWN = 16, MISSED_LEAVING_MAX = 1024 };

/* The file of a run whose events we got: it goes when they are committed. */
struct missed_leaving {
	char name[AUDIT_MISSED_NAME];
	uint64_t last; /* of its events, in the trail's ring */
};

struct missed {
	struct buffer folder;
	struct watcher watcher; /* inotify */
	struct timer timer;
	unsigned failures;           /* one after the other */
	char *strange[MISSED_SHOWN]; /* names of what is there and cannot be taken */
	size_t n_strange;
	char stuck[MISSED_SHOWN][AUDIT_MISSED_NAME]; /* of these, those whose name stays */
	size_t n_stuck;
	int presence;    /* the log's folder, locked: this daemon is there; -1: nothing is kept */
	bool is_guarded; /* other users cannot lock it */
	bool is_present; /* it is locked: another daemon knows of us */
	int prepared;    /* a file for the next run (audit/missed.h); -1: none */
	struct missed_leaving *leaving; /* MISSED_LEAVING_MAX */
	size_t n_leaving;
	/* Of AUDIT_MISSED_TAKEN: the runs that were counted, and in the trail's ring the number of
	 * the record that says so; 0: it is committed. */
	uint64_t full_runs, full_number;
};

int missed_open(struct supervisor *s);
void missed_close(struct supervisor *s);
/* The same for the folder of these files. */
int missed_watch(struct supervisor *s);
/* A run has gone: what it left may be taken now. */
void missed_look_soon(struct supervisor *s);
/* Makes the file for the next run, unless there is one: a run has gone, and none waits for it. */
void missed_prepare(struct supervisor *s);
/* It left a file ID.N, and nothing is in it that we did not get; last: as in missed_leaving. */
void missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last);
/* Removes the files whose events are committed. */
void missed_settle(struct supervisor *s, uint64_t committed);
/* Some events were lost on their way to the log: the files must be read. */
void missed_doubt(struct supervisor *s);
