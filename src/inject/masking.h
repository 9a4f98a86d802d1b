/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The leak guard: values in a stream of bytes, as they are and in the encodings of the table in
 * guard/spelling.c, whatever of it is escaped (guard/escape.c), overwritten by as many stars. The
 * length of the stream does not change, so neither do lengths that were announced; ends of lines
 * stay.
 *
 * A host that was given a value may send it back by mistake; this is against that. A host that
 * wants to hand it over can always do so in a form that nobody looks for.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Of one host. All of a process share their tables; each finds its own values only, or stars of one
 * host would confirm guesses of another one's value. */
struct masking;

enum {
	MASKING_LEAST = 6, /* shorter values would be found everywhere */
	MASKING_KEPT = 8,  /* values of one name beside its newest: decision 168 */
};

int masking_new(struct masking **ret);
/* Of another host, with the tables of the first. -E2BIG, -ENOMEM. */
int masking_share(const struct masking *first, struct masking **ret);
void masking_free(struct masking *m); /* the last one wipes what they know */
/*
 * The newest value of a name, for this host. Of those that the name had before, the last
 * MASKING_KEPT stay known. Values that are shorter than MASKING_LEAST are passed over. -ENOMEM.
 */
int masking_add(struct masking *m, const char *name, const char *value, size_t len);
/*
 * Overwrites what it finds. Returns how many bytes, from the first, are final: the rest has to be
 * given again with what follows, and has always the same length (masking_window()). last: nothing
 * follows, all are final. *found counts up. Without memory all is overwritten.
 */
size_t masking_apply(const struct masking *m, char *data, size_t len, bool last, size_t *found);
/* It knows no value: nothing is searched. */
bool masking_is_empty(const struct masking *m);
/* How many bytes may be the beginning of a value: one less than the longest may have. */
size_t masking_window(const struct masking *m);

/*
 * A stream, of which the last bytes wait for what follows:
 *
 *     masking_stream_add()    ->  _ready() may go  ->  _done()
 *     nothing follows for a while: masking_stream_flush()  ->  _ready() may go  ->  _done()
 *
 * Bytes that have been flushed are searched once more with those that follow: what is left of a
 * value is overwritten.
 */
struct masking_stream {
	const struct masking *masking;
	size_t masked; /* values */
	/* private */
	struct buffer pending;
	size_t gone;  /* of those, the first, that have been passed on */
	size_t final; /* of those, the first, that may be */
	size_t over;  /* of those, the first, that no text can begin in any more */
};

void masking_stream_deinit(struct masking_stream *s); /* wipes */
/* last: nothing follows. -ENOMEM. */
int masking_stream_add(struct masking_stream *s, const void *data, size_t len, bool last);
/* Whether there are bytes that wait. */
bool masking_stream_waits(const struct masking_stream *s);
void masking_stream_flush(struct masking_stream *s);
/* What may go, until _done(). */
const char *masking_stream_ready(const struct masking_stream *s, size_t *ret_len);
void masking_stream_done(struct masking_stream *s);
