/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a person has approved: this skill, with just this content, with just these permissions. Kept
 * as one small JSON file per skill in a folder that only its user can write; anything about a file
 * or the folder that another user could have arranged is refused, and refused means not approved.
 *
 *     {"path": "/home/me/skills/mail", "digest": "9f86d0…", "approved_at": "2026-01-31T12:00:00Z",
 *      "permissions": "…"}
 */
#include "base/error.h"
#include "skill/digest.h"

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
};

/* Stores it, with the time of day, in place of an earlier one. */
int approval_store(const struct approval *a, struct error *e);
/* An enum approval_outcome, or negative: it could not be found out. Content comes first. */
int approval_check(const struct approval *a, struct error *e);
/* Only folder and skill count. 0, or 1 if there was none. */
int approval_remove(const struct approval *a, struct error *e);
