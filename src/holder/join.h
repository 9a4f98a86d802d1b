/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The daemon, seen from who holds a session: it hears what runs and what happens, and may ask to
 * end it. Nothing waits for it, and no event is sent before the command is on its way: they are
 * kept, and leave when the loop has a moment. Where there never was a daemon, this costs two looks,
 * for its socket and for the folder of what it missed; one that is away is looked for again, and
 * hears then what happened meanwhile.
 *
 * An event is kept until the daemon acknowledges that it is committed. When the connection is lost,
 * events without acknowledgement are sent again to the next daemon, which skips those that are in
 * the log (wire/join.h). At the end they are left in a file (audit/missed.h): nothing waits for an
 * acknowledgement, and a daemon that got the events removes the file after its commit.
 *
 * Who writes the daemon's log itself sends an event when it is in there, and says so: the daemon
 * shows it, and does not record it again. Nothing is left then.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/buffer.h"
#include "base/error.h"
#include "holder/weight.h"
#include "wire/frame.h"
#include "wire/join.h"

/* Events that are kept, at most; then the oldest of the least weight are dropped (weight.h). Those
 * that were not sent count as lost; those that were sent do if the connection is lost before their
 * acknowledgement. */
enum {
	HOLDER_JOIN_KEPT = 1024,
	HOLDER_JOIN_CROWDED = 64, /* so many do not wait for their time */
	HOLDER_JOIN_DELAY_MS = 10,
	HOLDER_JOIN_AGAIN_MS = 1000,
};

/* Orders of the daemon (wire/question.h), and its JOINED: all that it must know is sent again. */
struct holder_join_handler {
	void (*order)(
		void *context, enum frame_type type, uint64_t id, const void *body, size_t len);
	void (*joined)(void *context);
	/* With `hear`: what else the process says that holds the connection; NULL: it has ended. */
	void (*frame)(void *context, struct frame *f);
	void *context;
};

/* Something that the daemon is to hear. */
struct holder_join_frame {
	enum frame_type type;
	uint64_t id;
	struct buffer body;
	enum holder_weight weight;
	struct holder_weights forgotten; /* events right before it: sent, and dropped */
};

struct holder_join {
	int fd; /* -1: not connected */
	/* A process that holds the connection for who has no loop (serve.h): each is handed over,
	 * and what the daemon says comes from there. -1: there is none. It is the owner's. */
	int hear;
	uint64_t handed, heard;          /* connections: the last one; the one that is heard */
	bool is_adopted;                 /* connections are handed to us: none is made */
	struct buffer missed;            /* path of its folder (audit/missed.h); "": not known */
	int folder, prepared;            /* that, open; a prepared file for it; or -1 */
	bool is_known;                   /* JOINED was received */
	bool is_unsure;                  /* the log may have some of those that are kept */
	bool is_on;                      /* there was a daemon, now or once */
	bool was_there;                  /* its socket was, at the beginning */
	bool is_foreign;                 /* its folder was not to be trusted: it is not joined */
	const char *log;                 /* that we write ourselves, for as long as this; or NULL */
	uint64_t told, written;          /* events; how many of them are in that log */
	bool is_written;                 /* that is the daemon's: no events are left for it */
	bool is_same;                    /* the daemon of this connection has it, too */
	struct buffer hello;             /* the body of FRAME_JOIN */
	struct holder_join_frame *kept;  /* in a ring */
	uint64_t first, sent, next;      /* first that is kept; first to be sent; end */
	uint64_t acked;                  /* events acknowledged on this connection */
	struct holder_weights forgotten; /* sent, not acknowledged, and dropped: too many */
	uint64_t number;                 /* of the log: not acknowledged events come after it */
	struct holder_weights lost;      /* that were too many */
	uint64_t delay_ms;               /* that events are kept: many wake the daemon once */
	uint64_t since_ms;               /* monotonic: when the first of them was */
	bool is_blocked;                 /* the daemon took not all of them */
	uint64_t tried_ms;               /* monotonic: when a daemon was looked for */
	struct holder_join_handler handler;
	struct frame *frame; /* for what it says */
	struct error other;  /* the daemon is of another version, and is not joined; text "": no */
};
#define HOLDER_JOIN_NONE \
	((struct holder_join){ .fd = -1, .hear = -1, .folder = -1, .prepared = -1 })

/* 0: a daemon is there, or was here once; holder_join_hello() must follow. -ENOENT: none was. */
int holder_join_open(struct holder_join *j);
/* Whether a daemon's socket is there; one look. */
bool holder_join_is_possible(void);
/* Who we are; it is said when holder_join_connect() or holder_join_dispatch() connects. */
int holder_join_hello(struct holder_join *j, const struct join *who);
/*
 * Connects and says who we are, and nothing more: the daemon looks at us while we have other things
 * to wait for, and not when we are about to end. Nothing if there is no daemon.
 */
void holder_join_connect(struct holder_join *j);
/* For audit_trail_options.tell; context: a struct holder_join. Makes no system call. */
void holder_join_tell(void *context, const struct audit_event *e);
/*
 * Takes the body over. Only for a daemon that is there: a later one hears of what still is by
 * `joined`.
 */
void holder_join_send(
	struct holder_join *j, enum frame_type type, uint64_t id, struct buffer *body);
/*
 * For the process that holds a connection which another made: takes it over, in the place of one
 * before. What the daemon says is its matter: it calls accepted() for JOINED, and the handler for
 * orders. -ENOMEM.
 */
int holder_join_adopt(struct holder_join *j, int fd);
void holder_join_accepted(struct holder_join *j);
/* It was lost. */
void holder_join_lose(struct holder_join *j);
/* What it said: true if the command is to end. Looks for a daemon that was lost; sends what waits.
 */
bool holder_join_dispatch(struct holder_join *j, bool is_readable);
/* How long poll() may wait if it would wait so long otherwise (-1: for ever). */
int holder_join_wait_ms(const struct holder_join *j, int otherwise);
/*
 * Waits, a moment at most, until the daemon has looked at us: who has ended cannot be looked at,
 * and is not let in. What was sent is read after our end, too. What is not acknowledged by now is
 * left in a file; if that fails, because the folder is full (audit/missed.h) or cannot be written,
 * the daemon's commit is waited for, a second at most. Returns how many events are neither
 * acknowledged nor left; *why says so then. If there are none, *why says that the daemon is of
 * another version, if it is. why may be NULL.
 */
uint64_t holder_join_close(struct holder_join *j, struct error *why);
