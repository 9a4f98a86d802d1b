/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The link of `corral dashboard`. What stands in it behind `#code=` is a secret of 256 bits, which
 * no request has: the page proves that it knows it, once, within a minute, and both sides make the
 * tab's key of it (daemon/proof.h). There is one link at a time. It is too long to be guessed, so
 * wrong proofs are not counted, and void nothing. Pure; zeroed: no link is valid.
 *
 *     page -> daemon    nonce, proof = HMAC(secret, corral-login-1, nonce)
 *     daemon -> page    tab, start, proof = HMAC(secret, corral-daemon-1, nonce, tab, start)
 *     both              key = HMAC(secret, corral-tab-1, nonce, tab)
 */
#include <stdbool.h>
#include <stdint.h>

#include "daemon/proof.h"

enum { LOGIN_SECRET = PROOF_KEY /* bytes */, LOGIN_MS = 60 * 1000 };

struct login {
	uint8_t secret[LOGIN_SECRET];
	uint64_t until_ms; /* 0: there is no link */
};

/* A new link; the one before is void. */
void login_begin(struct login *l, const uint8_t secret[LOGIN_SECRET], uint64_t now_ms);

/* What the page sent; and what it is answered with, if that is right: hexadecimal digits. */
struct login_request {
	const char *nonce, *proof;
	const char *tab, *start;
};
struct login_answer {
	uint8_t key[PROOF_KEY];
	char proof[PROOF_MAC + 1];
};
/* Whether it knows the secret. Then the link is void, as after the last millisecond. */
bool login_take(
	struct login *l, const struct login_request *q, uint64_t now_ms, struct login_answer *ret);
