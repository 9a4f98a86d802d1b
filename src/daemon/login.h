/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The code in the link of `corral dashboard`. A page cannot read the token's file, and a link that
 * had the token would keep it in histories and process lists; so the link has a code, which the
 * page turns into the token: once, within a minute. There is one code at a time. Five wrong ones
 * make it void, so it cannot be guessed. Pure; zeroed: no code is valid.
 */
#include <stdbool.h>
#include <stdint.h>

enum { LOGIN_CODE = 32 /* hexadecimal digits */, LOGIN_MS = 60 * 1000, LOGIN_TRIES = 5 };

struct login {
	char code[LOGIN_CODE + 1];
	uint64_t until_ms;
	unsigned tries; /* that are left; 0: there is no code */
};

/* Takes a new code, made of these bytes. */
void login_begin(struct login *l, const uint8_t bytes[LOGIN_CODE / 2], uint64_t now_ms);
/* Whether this is it. Then it is void, as after the last try and the last millisecond. */
bool login_take(struct login *l, const char *code, uint64_t now_ms);
