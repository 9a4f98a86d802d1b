/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How a tab of the page and the daemon prove themselves to each other by TCP, where another program
 * may hold the port while the daemon is away. Each tab has a key of its own for one start of the
 * daemon (daemon/login.h). The key is never sent: with each request goes
 *
 *     Authorization: Corral TAB:COUNT:BODY:MAC
 *
 * BODY is the SHA-256 of the body, MAC the HMAC-SHA-256 of the lines
 *
 *     corral-request-1, start, TAB, COUNT, method, host:port, path, query, BODY
 *
 * `start` names one start of corrald-http, which has the counts. A count is taken once, and only if
 * it is not far behind the greatest one: a browser sends by several connections. Each answer has a
 * MAC, too, so that the page takes none of another program. Pure; zeroed: nothing is right.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROOF_ID = 32,  /* hexadecimal digits of a tab, a start, a nonce */
	PROOF_KEY = 32, /* bytes */
	PROOF_MAC = 64, /* hexadecimal digits of a MAC or a digest */
	PROOF_WINDOW = 256,
	PROOF_TABS_MAX = 64, /* of one daemon; the oldest goes for a new one */
};

/* What is proved with, and the counts that were taken. */
struct proof_tab {
	char id[PROOF_ID + 1]; /* "": there is none */
	uint8_t key[PROOF_KEY];
	uint64_t last; /* the greatest count so far */
	uint64_t seen[PROOF_WINDOW / 64];
};

/* The header, taken apart. */
struct proof_claim {
	char tab[PROOF_ID + 1];
	uint64_t count; /* never 0 */
	char body[PROOF_MAC + 1], mac[PROOF_MAC + 1];
};
/* Whether a value of Authorization is one. */
bool proof_read(const char *authorization, struct proof_claim *ret);

/* What else the MAC of a request is about. query: NULL if there is none. */
struct proof_request {
	const char *start, *method, *host, *path, *query;
	uint16_t port;
};
bool proof_is_right(
	const struct proof_tab *t, const struct proof_claim *c, const struct proof_request *r);
bool proof_is_body(const struct proof_claim *c, const void *body, size_t len);
/* Takes a count. False: it was taken before, or is too far behind. */
bool proof_count(struct proof_tab *t, uint64_t count);

/* What the MAC of an answer is about: corral-answer-1, start, tab, count, status, digest of body.
 */
struct proof_answer {
	const char *start;
	uint64_t count;
	unsigned status;
	const void *body; /* NULL: it is a stream, and "stream" stands for the digest */
	size_t len;
};
void proof_of_answer(
	const struct proof_tab *t, const struct proof_answer *a, char ret[PROOF_MAC + 1]);

/* The HMAC-SHA-256 of lines, which are joined by line feeds; the last is NULL. */
void proof_mac(const uint8_t key[PROOF_KEY], const char *const *lines, uint8_t ret[PROOF_MAC / 2]);
