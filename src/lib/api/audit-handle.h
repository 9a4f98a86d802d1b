/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What stands behind the opaque type of include/corral/audit.h. */
#include <stdatomic.h>
#include <stdint.h>

#include "audit/trail.h"
#include "base/buffer.h"
#include "corral/audit.h"

enum { LIB_AUDIT_KEY_BYTES = 16 };

struct corral_audit {
	struct audit_trail *trail;
	/* Where its files are, without links; NULL: there is none, or it lies beside the log. */
	char *log, *signing_key, *head;
	/* The links on the way to them, each with its NUL: another log would be written by others.
	 */
	struct buffer links;
	/* The environment whose values were added last (lib_audit_learn), as a keyed hash. */
	_Atomic uint64_t learned;
	uint8_t key[LIB_AUDIT_KEY_BYTES];
};

/* One in memory, whose events go to from->tell (audit/trail.h). libsodium is initialized. */
int lib_audit_new_told(
	struct corral_audit **ret, const struct audit_trail_options *from, struct error *e);
/*
 * If the sink is corral_audit_sandbox(): the values of these variables ("NAME=value", … and NULL)
 * must never be in its log. -E2BIG: they are too many to keep them out.
 */
int lib_audit_learn(corral_audit_sink *sink, void *context, const char *const *env);
/* The event as the host has it; its texts are those of *from. */
struct corral_audit_event lib_audit_show(const struct audit_event *from, uint64_t number);

struct permissions;
struct policy;
struct variables;

/* -EPERM: somebody under this policy, which has no links in it, could get at the files of the log.
 */
int lib_audit_check(const struct corral_audit *a, const struct policy *p, struct error *e);
/* Whether that path is a file of the log, whose names all begin with the log's; for_writing: or on
 * the way to one. No question is asked about these: who answers could be whom it records. */
bool lib_audit_has(const struct corral_audit *a, const char *path, bool for_writing);
/* The same if the sink is corral_audit_sandbox(), wherever links in the permissions lead. */
int lib_audit_check_sink(corral_audit_sink *sink, const void *context, const struct permissions *p,
	const struct variables *variables, struct error *e);
