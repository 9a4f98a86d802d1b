/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The field WWW-Authenticate of a 401 (RFC 9110, 11.6.1; RFC 6750, 3): what it says for Bearer.
 * Pure. Other schemes are passed over. A parameter that stands there twice is refused, as is a
 * second Bearer: two readers would take two things.
 */
#include "base/arena.h"
#include "base/error.h"

enum { OAUTH_CHALLENGE_MAX = 8 << 10 };

/* In the arena; NULL: it is not there. */
struct oauth_challenge {
	const char *metadata; /* resource_metadata (RFC 9728, 5.1) */
	const char *scope, *error;
};

/* 0, also where Bearer is not there; -EINVAL with a sentence; -ENOMEM. */
int oauth_challenge_read(
	struct oauth_challenge *ret, const char *field, struct arena *a, struct error *e);
