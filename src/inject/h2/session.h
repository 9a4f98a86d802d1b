/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A session of nghttp2 with one side: its bounds, its settings, and memory of its own, which is
 * counted, and wiped when it is freed: fields with values pass through it.
 */
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/h2/h2.h"

struct h2_session {
	struct h2 *owner;
	enum h2_side side;
	nghttp2_session *nghttp2;
	size_t used; /* bytes of memory */
	/* Frames that ask for work: as many as this now, and more with time and with data. */
	int64_t credit;
	uint64_t credited_at;
};

/* callbacks: of this side; the context of each is the session. -ENOMEM. */
int h2_session_init(struct h2_session *s, struct h2 *owner, enum h2_side side,
	const nghttp2_session_callbacks *callbacks);
void h2_session_deinit(struct h2_session *s);
/* A frame came. False: too many that bring nothing. */
bool h2_session_admit(struct h2_session *s, const nghttp2_frame_hd *hd);
/* Data went: the peer will say that it has room again. */
void h2_session_sent(struct h2_session *s);
void h2_session_tick(struct h2_session *s, uint64_t now);
/* Negative: as h2_receive(). */
int h2_session_receive(struct h2_session *s, const uint8_t *data, size_t len);
int h2_session_send(struct h2_session *s, struct buffer *out, size_t most);
bool h2_session_is_over(const struct h2_session *s);
