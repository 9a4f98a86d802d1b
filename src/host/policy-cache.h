/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What long policies became when they were read, so that the next run need not read them again:
 * files in corral/policy-cache in XDG_STATE_HOME (else ~/.local/state), where no command sees them
 * (host/own.h).
 *
 * An entry holds the very bytes that it was made from, and which program made it. It counts only if
 * both are the same now, so none is stale; and only if it bears the mark of a key that lies beside
 * it, so one that was damaged or put there is none. Whatever is wrong with an entry, or with the
 * folder, the policy is read from its text: a cache costs time, it never decides.
 */
#include <stdbool.h>
#include <stddef.h>

#include "policy/format/manifest.h"

/* Below this many bytes, reading a policy costs no more than looking for it. */
enum { POLICY_CACHE_LEAST = 16 << 10 };

/* What an entry depends on. */
struct policy_cache_input {
	const char *file; /* the policy's name, as in messages */
	enum manifest_kind kind;
	const char *text;
	size_t len;
};

/* True: *ret is as manifest_read() would make it. */
bool policy_cache_find(const struct policy_cache_input *in, struct manifest *ret);
/* Keeps what was made of it, if that is nothing but permissions. */
void policy_cache_keep(const struct policy_cache_input *in, const struct manifest *m);
