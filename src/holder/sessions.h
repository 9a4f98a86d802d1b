/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The sessions of a program that uses the library, as its holder sees them (serve.h): one socket to
 * the warden of each. All of them get the same grants, and confirm each change.
 *
 * A warden is the parent of confined code. Whatever it sends but the answer to a change is a breach
 * of the protocol: its socket is closed, and a warden that has grants and no holder ends
 * (warden/granted.h). The same becomes of one that does not confirm in time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "event/loop.h"
#include "wire/frame.h"
#include "wire/question.h"

enum {
	HOLDER_SESSIONS_MAX = 1024,
	HOLDER_SESSIONS_ANSWER_MS = 5000, /* to confirm; corrald waits for ten seconds */
};

struct holder_session;

struct holder_sessions {
	struct loop *loop;
	/* A session that was added has what is granted now, or was let go. */
	void (*on_added)(void *context, uint64_t number);
	/* A frame came, or the time was over: holder_sessions_are_settled() may have changed. */
	void (*on_heard)(void *context);
	void *context;
	/* From here on its own. */
	struct holder_session *first;
	size_t n;
	uint64_t last_number;
	struct frame frame;
	/* The change that they have or get. */
	uint64_t change;
	struct buffer list; /* the body of FRAME_GRANTS; empty: nothing was ever granted */
	bool has_grants;
	int code; /* what came of it */
	struct error why;
};

/* Begins zeroed, with loop, hooks and context. Lets all of them go. */
void holder_sessions_deinit(struct holder_sessions *s);
/*
 * A session, by a socket that is taken over, whatever it returns. Numbers rise. on_added() follows,
 * at once if nothing is granted. -EPROTO: the number is not the next one.
 */
int holder_sessions_add(struct holder_sessions *s, uint64_t number, int socket);
/* All grants from now on, encoded; the list is taken over. */
void holder_sessions_put(struct holder_sessions *s, struct buffer *list, bool has_grants);
/* None is waited for; code and why are what came of the last change. */
bool holder_sessions_are_settled(const struct holder_sessions *s);
/* For a question of the session; nothing if it has gone. */
void holder_sessions_answer(
	struct holder_sessions *s, uint64_t number, uint64_t id, const struct answer *a);
/* All commands end. */
void holder_sessions_stop(struct holder_sessions *s);
/* All are let go: those that have grants end. */
void holder_sessions_drop(struct holder_sessions *s);
