/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Messages of the Chrome DevTools Protocol, as Chromium speaks it over two pipes: JSON objects with
 * a NUL behind each. Commands have an id, a method and parameters; answers have that id; what has
 * none is an event. All of one page have a sessionId.
 *
 * What comes from the browser is not trusted: a page may have taken it over. A message is read
 * whole or not at all, within bounds. One that is too long is skipped to its end, and one that is
 * no JSON (text with half a surrogate pair, say) is dropped; both keep their id, where one can be
 * seen, so that whoever waits for the answer hears that it is of no use.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "codec/node.h"

enum {
	CDP_MESSAGE_MAX = 6 << 20, /* a screenshot of METHOD_DATA_MAX in base64, and room */
	CDP_NAME_BYTES = 128,      /* of ids of targets, sessions and frames */
};

/* Cuts a stream of bytes into messages. Zero it before the first use. */
struct cdp_stream {
	struct buffer message; /* what there is of the one that is being read */
	bool is_whole;         /* it was given out, and the next one begins */
	bool is_cut;           /* it is longer than CDP_MESSAGE_MAX: only its beginning is kept */
};

/*
 * Takes bytes until a message is whole, and moves *data and *len behind them. 1: it stands in
 * s->message until the next call. 0: all bytes were taken. -ENOMEM.
 */
int cdp_stream_take(struct cdp_stream *s, const char **data, size_t *len);
void cdp_stream_deinit(struct cdp_stream *s);

struct cdp_message {
	struct document document;
	uint64_t id;             /* of the command that it answers; 0: an event */
	const char *method;      /* of an event; "" for an answer */
	const char *session;     /* "": of the browser itself */
	const struct node *body; /* the answer's result, the event's parameters; NULL: none */
	const char *error;       /* of a command that failed, in the browser's words; or NULL */
};

/*
 * Reads one. -EMSGSIZE: it was cut; -EBADMSG: it is no message; -ENOMEM. Then only the id is
 * filled, as far as the beginning shows one. cdp_message_deinit() in any case.
 */
int cdp_read(struct cdp_message *ret, const struct cdp_stream *s);
void cdp_message_deinit(struct cdp_message *m);

/* Text below the body by a path of keys, "frame.url"; "" if there is none. */
const char *cdp_text(const struct cdp_message *m, const char *path);
const struct node *cdp_node(const struct cdp_message *m, const char *path);

/* Appends a command; params is a JSON object. session "": to the browser. */
void cdp_write(struct buffer *out, uint64_t id, const char *session, const char *method,
	const char *params);
/* Parameters: an object with this one text. */
void cdp_write_one(struct buffer *out, const char *key, const char *text);
