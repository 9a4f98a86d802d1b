/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * server.c has the loop and what corrald says, calls.c what it is told; api-client.c what clients
 * ask and are answered; request.c reads what they send. Bytes, time, charging and events are those
 * of serve/.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/link.h"
#include "daemon/http/request.h"
#include "daemon/http/server.h"
#include "serve/client.h"
#include "serve/room.h"
#include "serve/stream.h"
#include "daemon/message.h"
#include "event/loop.h"
#include "wire/frame.h"

enum {
	SERVER_CLIENTS_MAX = 768,    /* connections; the longest silent goes for a new one */
	SERVER_STREAMS_MAX = 256,    /* of them those that listen for events */
	SERVER_CALLS_MAX = 400,      /* that corrald has: more than may wait in its lines */
	SERVER_BYTES_MAX = 32 << 20, /* that all connections hold */
	SERVER_HEAD_MS = 10 * 1000,  /* for a request to come, from its first byte */
	SERVER_IDLE_MS = 60 * 1000,  /* between requests */
	SERVER_CLOSE_MS = 2 * 1000,  /* for a client to close what was answered last */
	SERVER_NOTES_MAX = 20,       /* refusals per second that corrald hears of one by one */
};

struct api_client {
	struct serve_client base;
	struct server *server;
	bool by_unix;
	char refusal[128]; /* why all that it asks is refused; "": it is not */
	bool is_streaming;
	bool is_text;            /* its call is answered with text, and not with JSON */
	uint64_t call;           /* id of the call that corrald has; 0: none */
	struct proof_tab tab;    /* that proved its request; its key proves the answer */
	uint64_t count;          /* of the request */
	uint64_t place, last_id; /* in the stream of events */
};

struct server {
	struct loop *loop;
	struct message_setup setup;
	int supervisor;
	struct watcher link;
	struct timer heartbeat, second;
	struct serve_room room;
	size_t n_streams, n_calls;
	uint64_t next_call;
	unsigned n_notes;  /* in this second */
	unsigned n_unsaid; /* and those that were too many; the last of them: */
	struct api_request unsaid;
	struct proof_tab tabs[PROOF_TABS_MAX]; /* the oldest goes for a new one */
	size_t n_tabs;                         /* so far */
	struct stream stream;
	struct buffer openapi;
	const char *version;
	bool has_news, is_lost;
	struct frame frame;
};

/* api-client.c */
/* Takes the descriptor over, unless it fails. refusal: why nothing that it asks is done, or "". */
int api_client_new(struct server *s, int fd, bool by_unix, const char *refusal);
/* corrald has answered its call. */
void api_client_answer(struct api_client *c, const struct message_answer *a);
/* There may be events for one that listens. */
void api_client_stream(struct api_client *c);
/* A line that keeps a connection with events from being taken for dead. */
void api_client_beat(struct api_client *c);
static inline struct api_client *api_client_of(const struct serve_client *base)
{
	return container_of(base, struct api_client, base);
}

/* calls.c */
/* Sends a call to corrald; 0: it is under way. -EBUSY: too many are. */
int server_call(struct server *s, const struct route_call *call, uint64_t *ret_id);
/* The client of this call has gone: a call that waits in corrald is not worth running. */
void server_leave(struct server *s, uint64_t id);
/* corrald hears that a request was refused; bounded. */
void server_note(struct server *s, const struct api_request *q, bool by_unix);
