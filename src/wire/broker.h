/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of FRAME_BROKER: all that a broker needs to know of its session. Whoever holds the
 * session sends it while the sandbox is built, with the session's ledger (wire/ledger.h). Once the
 * tree stands, FRAME_SOCKETS follows (SOCKETS_BROKER): the listener of the Unix socket, an O_PATH
 * descriptor of the sandbox's root, and with BROKER_HTTP the listener for HTTP.
 *
 * The monitor sends the same frame to its front, with no more than that needs: the listeners, and
 * the token.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "policy/permissions.h"
#include "policy/variable.h"

enum {
	BROKER_HTTP = 1 << 0,    /* a listener for HTTP goes along, and there is a token */
	BROKER_SOCKETS = 1 << 1, /* socket.open may be called; hosts are the policy's matter */
	BROKER_TELLS = 1 << 2,   /* the holder records: FRAME_EVENT for each event */
	BROKER_FLAGS = 7,
	BROKER_LAYERS_MAX = 64,
	BROKER_PRIVATE_MAX = 16, /* as an enclave takes */
	BROKER_GUARDED_MAX = 48, /* the same */
	BROKER_ENVIRONMENT_MAX = 4096,
	BROKER_USER_MAX = 64, /* variables of the user's session */
	BROKER_SECRETS_MAX = 1024,
	BROKER_TOKEN_LEAST = 32, /* bytes */
};

struct broker_setup {
	uint32_t flags;
	uint32_t ask_ms; /* a call waits so long for the answer to its question; 0: it does not */
	/* As for the session. */
	struct variables variables;
	struct limits limits; /* whoever set them; 0: those of the layers alone */
	/* Each may be "" where there is none. */
	const char *services; /* sections of services.yaml that the host gives */
	const char *warden;   /* path of the program that starts sandboxes */
	const char *log;      /* path of the holder's audit log: no call may reach it */
	const char *session;  /* id of the session in that log */
	const char *sandbox;  /* its name in that log, and in what services show */
	const char *folder;   /* where relative paths and programs start, as the sandbox sees it */
	const char *token;    /* what HTTP clients must show */
	/* Who lends secrets: the program corral; and how grants of the vault call this sandbox. */
	const char *lender, *principal;
	/* Each ends with NULL. */
	const char *const *environment;      /* of the caller outside, NAME=value: for env.get */
	const char *const *user_environment; /* of the user's session, NAME=value: for back ends of
						services (launch/broker.h), and no one else */
	const char *const *private_places;   /* the session's own folders: its /tmp, home … */
	const char *const *layers;           /* permissions, JSON or an image
						(policy/format/image.h); all must allow.
						None: nothing */
	const char *const *guarded;          /* what no command may change (jail/plan/plan.h) */
	/* That may be injected into a program of exec.run: NAME=HOST:PORT,PLACE. And the variables
	 * of their lender. */
	const char *const *secrets, *const *lender_environment;
	size_t n_environment, n_user_environment, n_private, n_layers, n_guarded, n_secrets,
		n_lender_environment;
};

/*
 * Appends it. -EINVAL: unknown flags, a path that is not absolute, a variable that is not
 * NAME=value, a token without HTTP or the reverse; -E2BIG; -ENOMEM. NULL is "".
 */
int broker_setup_encode(const struct broker_setup *given, struct buffer *out);
/*
 * Reads it. Strings point into the body; the lists are in the arena. -EPROTO: what
 * broker_setup_encode() would not have written; -ENOMEM.
 */
int broker_setup_decode(struct broker_setup *ret, const void *body, size_t len, struct arena *a);
