/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is granted in a session while it runs: a holder (holder/serve.h) has a socket of its own to
 * the warden, and sends all grants there (FRAME_GRANTS), and answers. The relay gets the network of
 * the session, which is the plan's or what the host gave it last, with all grants of hosts; the
 * broker gets all grants. The holder hears what came of it when both have said so. It may also end
 * all commands (FRAME_STOP), and nothing else.
 *
 * A holder that has gone cannot take back anything: a session that has grants ends then.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "event/loop.h"
#include "warden/session/putting.h"
#include "warden/session/session.h"
#include "wire/frame.h"

/* In the ids of changes and grants of the holder, on their way through the session. */
#define GRANTED_BY_HOLDER (UINT64_C(1) << 62)

struct warden_grants {
	struct session *session;
	const struct plan *plan;
	const struct permissions *permissions;
	bool has_broker;
	/* From here on its own. */
	struct watcher watch; /* fd -1: there is no holder */
	struct frame frame;
	bool is_over; /* it has gone, with grants in force */
	bool stops;   /* all commands are to be killed */
	bool has_grants;
	struct buffer network, next; /* the host's last POLICY that holds; one that is under way */
	uint64_t next_id;
	uint64_t id;   /* of grants that are under way; 0: none are */
	bool is_empty; /* there are none in it */
	struct session_putting putting;
	struct buffer queued; /* the grants after these; the last ones count */
	uint64_t queued_id;
};
#define GRANTED_NONE ((struct warden_grants){ .watch.fd = -1 })

/* The holder's socket, which is taken over. -EEXIST: there is one. */
int granted_attach(struct warden_grants *g, int socket);
/* The host's POLICY, by its id, is on its way to the relay. */
void granted_expect(struct warden_grants *g, uint64_t id, const void *body, size_t len);
/* Takes POLICY, GRANTS and BROKER of the session. True: it was for the holder alone. */
bool granted_event(struct warden_grants *g, const struct session_event *e);
