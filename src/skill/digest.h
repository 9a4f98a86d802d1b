/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One number for all that a skill is made of, so that an approval can be bound to it. Two folders
 * have the same digest if and only if (as far as SHA-256 goes) they hold the same names with the
 * same content, the same links and the same executable bits. Owners, times, other permissions and
 * the order of names on the disk do not count; hidden files do, and so does .git. What the manifest
 * grants for writing is no part of it (skill/walk.h): the manifest is, so what is left out cannot
 * change unseen.
 */
enum { SKILL_DIGEST_BYTES = 32, SKILL_DIGEST_HEX = 2 * SKILL_DIGEST_BYTES + 1 };

struct skill_digest {
	unsigned char bytes[SKILL_DIGEST_BYTES];
};

struct buffer;
struct skill_content;

#define SKILL_DIGEST_MAGIC "corral-skill-1\n" /* what the stream begins with */

/* Of items that are sorted by their paths (skill/content.h). */
void skill_digest(const struct skill_content *c, struct skill_digest *ret);
/* The stream itself, of which it is the SHA-256; skill/inventory.h reads it. */
void skill_digest_print(const struct skill_content *c, struct buffer *out);
/* 64 lower-case digits and a NUL. */
void skill_digest_hex(const struct skill_digest *d, char out[SKILL_DIGEST_HEX]);
/* The way back. -EINVAL: it is no such text. */
int skill_digest_parse(const char *hex, struct skill_digest *ret);
