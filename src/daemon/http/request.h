/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From the bytes of a connection to a call (daemon/route.h), or to a refusal. Pure. The order, so
 * that who may not ask learns nothing and makes us keep nothing:
 *
 *     a head that can be understood    400, 431
 *     Host is this machine             403: the name was made to lead here (DNS rebinding). By
 *                                      TCP the page's own alone: what a browser keeps for another
 *                                      one may be of a program that had the port before
 *     no page of another origin        403
 *     no other protocol                400
 *     a path and a method that are     404, 405; a file of the page (daemon/dashboard) needs no
 * more the token, or a proof            401, before a byte of the body is kept a length, within the
 * bound       411, 413 JSON where there is a body       415 values as the row has them       400
 *
 * Behind what was refused nothing is read: the connection is closed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "daemon/dashboard/asset.h"
#include "daemon/message.h"
#include "daemon/proof.h"
#include "daemon/route.h"

/* By a Unix socket the token is needed; by TCP, where another program may hold the port while the
 * daemon is away, the proof of a tab (daemon/proof.h), and a token is refused. */
struct api_guard {
	const char *token;
	uint16_t port;                /* that clients came by; 0: a Unix socket */
	const char *start;            /* of TCP, as are: */
	const char *label;            /* the only host is LABEL.localhost */
	const struct proof_tab *tabs; /* PROOF_TABS_MAX */
};

enum { API_REQUEST_BODY_MAX = 2 << 20, API_REQUEST_REASON = 512 };

struct api_request {
	/* A refusal, if there is a status. */
	unsigned status;
	char reason[API_REQUEST_REASON];
	char allow[64];                  /* of 405: the methods that there are */
	char target[MESSAGE_TARGET_MAX]; /* "GET /api/status", as far as it is known */
	size_t head, body;               /* bytes */
	bool is_last;                    /* the client wants the connection closed behind it */
	const struct asset *asset;       /* a file of the page was asked for; there is no call */
	bool is_known;                   /* and the client has it */
	struct route_call call;          /* values live in the arena */
	uint64_t after;                  /* Last-Event-ID; 0: none */
	const struct proof_tab *tab;     /* one of the guard's that proved it; NULL: none did */
	struct proof_claim claim;        /* of it: its count is still to be taken */
};

/*
 * Looks for a request at the start. 1: *ret is one, or a refusal; 0: more bytes are needed.
 * *scanned is where the search goes on; 0 at first. The arena holds the values.
 */
int api_request_read(const struct api_guard *g, const char *data, size_t len, size_t *scanned,
	struct arena *a, struct api_request *ret);
