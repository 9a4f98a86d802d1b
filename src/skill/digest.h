/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One number for all that a skill is made of, so that an approval can be bound to it. Two folders
 * have the same digest if and only if (as far as SHA-256 goes) they hold the same names with the
 * same content, the same links and the same executable bits. Owners, times, other permissions and
 * the order of names on the disk do not count; hidden files do, and so does .git.
 */
#include "base/error.h"

enum { SKILL_DIGEST_BYTES = 32, SKILL_DIGEST_HEX = 2 * SKILL_DIGEST_BYTES + 1 };

struct skill_digest {
	unsigned char bytes[SKILL_DIGEST_BYTES];
};

/* Errors as of skill_walk(). dirfd may be O_PATH; *ret is untouched on failure. */
int skill_digest(int dirfd, struct skill_digest *ret, struct error *e);
/* 64 lower-case digits and a NUL. */
void skill_digest_hex(const struct skill_digest *d, char out[SKILL_DIGEST_HEX]);
