/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of FRAME_CONFIGURE: what a session is built from, beside the permissions, which come by
 * their own way (docs/protocol.md): the values of the variables, paths that commands must not
 * change, and switches.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/network/listen.h"
#include "policy/variable.h"
#include "wire/question.h"

enum {
	CONFIGURE_SHELL = 1 << 0,  /* /bin/sh is there for command lines, whatever exec lists say */
	CONFIGURE_SINGLE = 1 << 1, /* one command, then the session ends */
	CONFIGURE_NONE = 1 << 2,   /* nothing is confined: warden/bare.h */
	/* $SKILL_DIR cannot be written, whatever the permissions say; a descriptor beside the frame
	 * is the copy of a skill (skill/archive.h) */
	CONFIGURE_SKILL = 1 << 3,
	CONFIGURE_BROKER = 1 << 4, /* there is one: `broker`; FRAME_BROKER follows */
	CONFIGURE_CALLER = 1 << 5, /* `caller` is known */
	CONFIGURE_LEDGER = 1 << 6, /* the last descriptor is a ledger (wire/ledger.h) */
	CONFIGURE_HTTP = 1 << 7,   /* the broker serves HTTP, too */
	CONFIGURE_WORKER = 1 << 8, /* the skill is a module: `worker` */
	CONFIGURE_HOSTS = 1 << 9,  /* hosts may be granted while it runs: there is a relay */
	/* Secrets are lent to it: LEND_SETUP and LEND_READY of their lender follow, with the
	 * sockets for the relay (wire/lend.h) */
	CONFIGURE_LENT = 1 << 10,
	CONFIGURE_FLAGS = 2047,
	CONFIGURE_GUARDED_MAX = 64,
	CONFIGURE_WORKER_FILES = 3,
};

/* A file, and which one it must be; ino 0: whichever is there. */
struct configure_file {
	const char *path;
	uint64_t dev, ino;
};

struct configure {
	uint32_t flags;
	uint32_t host; /* pid of the host program, to watch; 0: the peer of the socket */
	/* How long a connection that the policy asks about waits for an answer (wire/question.h);
	 * 0: it does not. */
	uint32_t ask_ms;
	struct variables variables;
	/* Files and folders that are read for other commands: neither they nor the way to them
	 * (jail/plan/plan.h). */
	const char *guarded[CONFIGURE_GUARDED_MAX];
	uint32_t n_guarded;
	/* By those flags: the programs corral-broker and sandbox-call. */
	const char *broker, *caller;
	/* By that flag: the files of a WASM worker, as a plan has them (jail/plan/plan.h). */
	struct configure_file worker[CONFIGURE_WORKER_FILES];
};

/* -EINVAL: unknown flags, no pid, a value that is no absolute path, too many; -ENOMEM. */
int configure_encode(const struct configure *c, struct buffer *out);
/* Strings point into the body. -EPROTO: what configure_encode() would not have written. */
int configure_decode(struct configure *ret, const void *body, size_t len);

/*
 * The body of FRAME_POLICY on its way to a relay: other permissions for a session that stands. Only
 * what they say about the network; sockets and ports, which the relay has from the start, are named
 * one by one, as a plan would (jail/plan/plan.h).
 *
 * The answer is FRAME_POLICY with the same id and no body: it holds, for everything that is open
 * too. Or with a refusal (wire/report.h): nothing has changed.
 */
enum {
	CHANGE_WHOLE = 1 << 0, /* only if nothing of it needs a socket that is not there */
	/* For the warden: its broker goes on, and hears of grants by FRAME_GRANTS. Without it the
	 * broker ends, which would still go where the old permissions led. */
	CHANGE_KEEPS_BROKER = 1 << 1,
	CHANGE_FLAGS = 3,
	CHANGE_PORTS_MAX = 64,
	CHANGE_DOORS_MAX = 64,
};

struct change {
	uint32_t flags;
	struct listen_entry ports[CHANGE_PORTS_MAX]; /* that may be published, of those that are */
	uint32_t n_ports;
	const char *doors[CHANGE_DOORS_MAX]; /* paths of the sockets that are granted */
	uint32_t n_doors;
	const char *text; /* the permissions, JSON or an image (policy/format/image.h) */
	/* What is granted beside them, of net.connect alone. The relay ends each by its ends_ms. */
	struct live_grant grants[QUESTION_GRANTS_MAX];
	uint32_t n_grants;
};

/* Adds those that are for a relay. n: at most QUESTION_GRANTS_MAX. */
void change_add_grants(struct change *c, const struct live_grant *grants, size_t n);
/* -EINVAL: too many, a port of 0, a path that is not absolute, no text, a grant of something else;
 * -ENOMEM. */
int change_encode(const struct change *c, struct buffer *out);
/* Strings point into the body. -EPROTO: what change_encode() would not have written. */
int change_decode(struct change *ret, const void *body, size_t len);
