/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Single grants in permissions, by operation and pattern: put one in, take it out, say what differs
 * between two sets. Permissions of several layers have a grant in every layer, because all of them
 * must allow.
 */
#include "base/arena.h"
#include "base/buffer.h"
#include "corral/sandbox.h"
#include "policy/permissions.h"

enum { ENCLAVE_GRANTS_MAX = 4096 };

/* The canonical spelling, in the arena. -EINVAL with a sentence. */
int enclave_grants_spell(
	enum operation op, const char *pattern, struct arena *a, const char **ret, struct error *e);
/* For the audit: of a variable without what it may be, which may be a secret. */
void enclave_grants_print(enum operation op, const char *pattern, struct buffer *out);
/* 1: it is new; 0: it was there already. -E2BIG: there are too many. The spelling is canonical. */
int enclave_grants_add(
	struct permissions *p, enum operation op, const char *pattern, struct error *e);
/* -ENOENT with a sentence and what would be near. */
int enclave_grants_remove(
	struct permissions *p, enum operation op, const char *pattern, struct error *e);
/* ", still granted by X" if others grant all of it, or a part; nothing if none does. */
int enclave_grants_rest(
	const struct permissions *p, enum operation op, const char *pattern, struct buffer *out);

/* The part that grants of an operation are: one of CORRAL_PART_…, or 0. */
unsigned enclave_grants_part(enum operation op);
/* "+fs.read /srv/**, -exec git": from a to b. */
void enclave_grants_diff(
	const struct permissions *a, const struct permissions *b, struct buffer *out);
