/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `extends: NAME` in a policy file: the file adds to the permissions of a profile. Pure: the caller
 * finds what the name stands for. Unlike a merge it keeps what the file says where the profile is
 * silent:
 *
 *   lists     the entries of both; denials of either hold
 *   exec      without a list in the profile, the file's list is the list
 *   limits    the file's where it has them, else the profile's
 *   methods   of both; where one of them has none, the other's
 *   default, mode   the file's, unless they are the usual ones
 */
#include "policy/permissions.h"

/*
 * base: the profile, which extends nothing any more; file: its `extends` counts as resolved. The
 * result has the origin of the file and is the caller's. A base of several layers gets the file's
 * entries in each, as (A ∩ B) ∪ F is (A ∪ F) ∩ (B ∪ F). -ENOMEM; -EINVAL: the base extends another,
 * or the file has layers of its own.
 */
int extend_permissions(
	struct permissions **ret, const struct permissions *base, const struct permissions *file);
