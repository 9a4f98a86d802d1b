/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The bodies of the frames between corrald and corrald-http, but for calls (daemon/route.h). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/proof.h"

struct buffer;

enum {
	MESSAGE_TOKEN = 64, /* hexadecimal digits */
	MESSAGE_TYPE_MAX = 32,
	MESSAGE_JSON_MAX = 4 << 20,
	MESSAGE_EVENT_MAX = 16 << 10, /* bytes of its JSON: it fits into one frame */
};

/* FRAME_API_SETUP. */
struct message_setup {
	uint32_t heartbeat_ms;
	uint16_t port; /* that clients by TCP come by; 0: there are none */
	char token[MESSAGE_TOKEN + 1];
	char start[PROOF_ID + 1]; /* names this start of corrald-http */
	char label[PROOF_ID + 1]; /* the page's host is LABEL.localhost, for one start of corrald */
};
int message_setup_encode(const struct message_setup *s, struct buffer *out);
/* -EPROTO. */
int message_setup_decode(struct message_setup *ret, const void *body, size_t len);

/* FRAME_API_TAB: a tab of the page that proved that it knows the link. */
struct message_tab {
	char id[PROOF_ID + 1];
	uint8_t key[PROOF_KEY];
};
int message_tab_encode(const struct message_tab *t, struct buffer *out);
int message_tab_decode(struct message_tab *ret, const void *body, size_t len);

/* FRAME_API_ANSWER: text points into the body, and is not NUL-terminated. */
struct message_answer {
	uint32_t status;
	const char *json;
	size_t len;
};
int message_answer_encode(const struct message_answer *a, struct buffer *out);
int message_answer_decode(struct message_answer *ret, const void *body, size_t len);

/* FRAME_API_EVENT: type and JSON, each with a NUL. The type is one of letters and '_'. */
struct message_event {
	const char *type, *json;
};
int message_event_encode(const struct message_event *e, struct buffer *out);
int message_event_decode(struct message_event *ret, const void *body, size_t len);

/* FRAME_API_NOTE: what was asked for without becoming a call: refused, and why; or answered by
 * corrald-http itself (status 200). */
struct message_note {
	uint32_t status;
	uint32_t more; /* so many others before it, of which nothing else was said */
	bool by_unix;
	const char *target, *reason;
};
enum { MESSAGE_TARGET_MAX = 512 };
int message_note_encode(const struct message_note *r, struct buffer *out);
int message_note_decode(struct message_note *ret, const void *body, size_t len);
