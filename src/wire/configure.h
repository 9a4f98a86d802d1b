/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of FRAME_CONFIGURE: what a session is built from, beside the permissions, which come by
 * their own way (docs/protocol.md): the values of the variables, and switches.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/variable.h"

enum {
	CONFIGURE_SHELL = 1 << 0,  /* /bin/sh is there for command lines, whatever exec lists say */
	CONFIGURE_SINGLE = 1 << 1, /* one command, then the session ends */
	CONFIGURE_NONE = 1 << 2,   /* nothing is confined: warden/bare.h */
	CONFIGURE_SKILL = 1 << 3,  /* $SKILL_DIR cannot be written, whatever the permissions say */
	CONFIGURE_FLAGS = 15,
};

struct configure {
	uint32_t flags;
	uint32_t host; /* pid of the host program, to watch; 0: the peer of the socket */
	struct variables variables;
};

/* -EINVAL: unknown flags, no pid, a value that is no absolute path; -ENOMEM. */
int configure_encode(const struct configure *c, struct buffer *out);
/* Strings point into the body. -EPROTO: what configure_encode() would not have written. */
int configure_decode(struct configure *ret, const void *body, size_t len);
