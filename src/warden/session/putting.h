/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A change of what is granted while a session runs. It goes to the broker, which does for commands
 * what it is asked, and to the relay, which has their network; it is settled when each of them that
 * took it has answered. One change at a time: the owner begins the next when this one is settled.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "warden/session/session.h"
#include "wire/configure.h"

struct session_putting {
	uint64_t id; /* of the change that is under way, or of the last */
	bool relay_waits, broker_waits;
	int code;         /* negative: the first refusal of it */
	struct error why; /* then */
};

void session_putting_begin(struct session_putting *p, uint64_t id);
/* All grants, to the broker or the relay; the change says what else the network has. Returns as
 * session_grant() and session_change() do: 0 if it was sent and an answer is waited for. */
int session_putting_grants(
	struct session_putting *p, struct session *s, const struct live_grant *grants, size_t n);
int session_putting_network(struct session_putting *p, struct session *s, struct change *c,
	const struct live_grant *grants, size_t n);
/* Keeps the first refusal. */
void session_putting_refuse(struct session_putting *p, int code, const char *text);
bool session_putting_waits(const struct session_putting *p);
/*
 * Takes POLICY, GRANTS and BROKER of the session. True: the change was under way, and is settled by
 * this. A broker that is started again begins with all grants, so its end is no refusal.
 */
bool session_putting_heard(struct session_putting *p, const struct session_event *e);
