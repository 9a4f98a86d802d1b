/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a person has approved: this skill, with just this content, with just these permissions. Kept
 * as one small JSON file per skill in a folder that only its user can write; anything about a file
 * or the folder that another user could have arranged is refused, and refused means not approved.
 *
 *     {"version": 1, "path": "/home/me/skills/mail", "digest": "9f86d0…",
 *      "approved_at": "2026-01-31T12:00:00Z", "permissions": "…"}
 *
 * Beside it lies what the skill held then (skill/inventory.h), to list what changed; it decides
 * nothing.
 */
#include "base/arena.h"
#include "base/error.h"
#include "skill/digest.h"

struct buffer;

enum { APPROVAL_TEXT_MAX = 32 << 10 }; /* of `permissions` */

/* Zero is the only one with which a skill may run. */
enum approval_outcome {
	APPROVAL_CURRENT = 0,
	APPROVAL_NONE = 1,
	APPROVAL_CONTENT_CHANGED = 2,
	APPROVAL_PERMISSIONS_CHANGED = 3,
};

struct approval {
	const char *folder; /* where approvals are kept; made (0700) when one is stored */
	const char *skill;  /* the skill's folder: its real path, absolute and normal */
	struct skill_digest digest;
	const char *permissions; /* canonical text, or a digest of it; UTF-8 */
	/* To store: the stream of the digest, so that changes can be listed; NULL: none is kept. */
	const struct buffer *entries;
};

/* What was approved, as it was stored. Texts are in the arena. */
struct approval_record {
	const char *path, *digest, *approved_at, *permissions;
};

struct approval_records {
	struct approval_record *items; /* by the names of their files */
	size_t n, cap;
};

enum { APPROVALS_MAX = 4096 };

/* The name of a skill in approvals and in the API: the SHA-256 of its path. */
void approval_id(const char *path, char out[SKILL_DIGEST_HEX]);
/* What is stored for a->skill; only folder and skill count. 1: nothing is. */
int approval_read(const struct approval *a, struct arena *arena, struct approval_record *ret,
	struct error *e);
/* What it held then, as it was stored; whether it is that, skill_inventory_read() says. 1: it was
 * not kept. */
int approval_read_entries(const struct approval *a, struct buffer *out, struct error *e);
/* All approvals in the folder; files that are none, or not to be trusted, are left out. At most
 * APPROVALS_MAX. -EPERM: the folder is not to be trusted. */
int approval_list(
	const char *folder, struct arena *arena, struct approval_records *ret, struct error *e);

/* Stores it, with the time of day, in place of an earlier one. */
int approval_store(const struct approval *a, struct error *e);
/* An enum approval_outcome, or negative: it could not be found out. Content comes first. */
int approval_check(const struct approval *a, struct error *e);
/* Only folder and skill count. 0, or 1 if there was none. */
int approval_remove(const struct approval *a, struct error *e);
