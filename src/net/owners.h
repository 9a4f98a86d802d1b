/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which program a connection, a flow or a question for a name is of: for records and for questions
 * to the user, by the port that it comes from (wire/owner.h). Whatever it is waits here until the
 * sandbox's init has looked, so that the program is still there to be found.
 *
 * A look costs the init some hundred system calls, so there are OWNERS_PER_SECOND of them. What is
 * not looked for has no name: the recorder counts it with what is known of the same target.
 */
#include "event/loop.h"
#include "net/recorder.h"
#include "wire/owner.h"

enum {
	OWNERS_PER_SECOND = 64,
	OWNERS_WAITING_MAX = 64,
	OWNERS_WAIT_MS = 1000, /* for what takes the init a fraction of a millisecond */
	/* For a program that decides about secrets: a slow machine does not take them away. */
	OWNERS_PROGRAM_MS = 5000,
};

struct owners;

struct owner_wait {
	/* It waits no more, and may be freed here. program: "" if it was not found. Never called
	 * before owners_ask() returns. */
	void (*done)(struct owner_wait *w, const char *program);
	/* Of owners_ask_program(): what was found, the caller's; zero if there was no answer. */
	struct owner_program *found;

	/* private */
	struct owners *owners; /* NULL: it does not wait */
	size_t place;
};

/* The socket is the holder's, non-blocking. */
int owners_new(struct owners **ret, struct loop *l, int socket);
/* Asks. False: it is not looked for, and not to be waited for. */
bool owners_ask(struct owners *o, struct owner_wait *w, bool is_udp, uint16_t port);
/*
 * Asks for the program that alone has a TCP connection (warden/socket-program.h), to *w->found. It
 * is looked for whatever else was this second. False: *w->found stays zero, which is no program.
 */
bool owners_ask_program(struct owners *o, struct owner_wait *w, uint16_t port, uint16_t peer_port);
/* It does not wait any more. Nothing if it does not. */
void owners_leave(struct owner_wait *w);
/* Records it when its program is known, or at once; then calls `after`, if there is one. */
void owners_record(struct owners *o, struct recorder *recorder, bool is_udp, uint16_t port,
	const struct record *record, void (*after)(void *context), void *context);
/* An answer of the holder to the question of that number; ignored if nothing waits for it. */
int owners_answer(struct owners *o, uint64_t id, const void *body, size_t len);
/* What waits to be recorded is recorded now: the caller wants all that has happened. */
void owners_flush(struct owners *o);
/* There will be no answers any more: nothing waits from here on. */
void owners_stop(struct owners *o);
/* Nothing may wait any more. */
void owners_free(struct owners *o);
