/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What stands behind the opaque types of include/corral/policy.h. Sandboxes have their own headers.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "corral/policy.h"
#include "corral/sandbox.h"
#include "policy/permissions.h"
#include "consent/policy-box.h"
#include "policy/variable.h"

struct corral_error {
	struct error e;
	char *message;                /* printed once, when it is made */
	struct corral_denial *denial; /* what the policy had to do with it; or NULL */
	uint64_t question;            /* that waits for an answer (enclave.h); 0: none */
};

enum { HANDLES_SESSION_BYTES = 128 };

struct corral_permissions {
	struct permissions *p;
	char *skill_dir; /* of the manifest that was parsed, by its absolute name; or NULL */
	/* session_id of an Enclave's grants, as far as it fits: for the records of what they judge.
	 */
	char session[HANDLES_SESSION_BYTES];
};

struct corral_policy {
	struct policy_box *box;
};

/* Both sides of the library use the same numbers. */
_Static_assert(
	(int)CORRAL_FS_READ == OPERATION_FS_READ && (int)CORRAL_FS_WRITE == OPERATION_FS_WRITE &&
		(int)CORRAL_NET_CONNECT == OPERATION_NET_CONNECT &&
		(int)CORRAL_EXEC == OPERATION_EXEC && (int)CORRAL_ENV == OPERATION_ENV &&
		(int)CORRAL_SERVICE == OPERATION_SERVICE && (int)CORRAL_SECRET == OPERATION_SECRET,
	"operations");
_Static_assert((int)CORRAL_DENY == VERDICT_DENY && (int)CORRAL_ASK == VERDICT_ASK &&
		       (int)CORRAL_ALLOW == VERDICT_ALLOW,
	"verdicts");
_Static_assert((int)CORRAL_LIMIT_TIMEOUT_MS == LIMIT_TIMEOUT_MS &&
		       (int)CORRAL_LIMIT_MEMORY == LIMIT_MEMORY &&
		       (int)CORRAL_LIMIT_PIDS == LIMIT_PIDS &&
		       (int)CORRAL_LIMIT_OUTPUT == LIMIT_OUTPUT &&
		       (int)CORRAL_LIMIT_FILE_SIZE == LIMIT_FILE_SIZE &&
		       (int)CORRAL_LIMIT_OPEN_FILES == LIMIT_OPEN_FILES &&
		       (int)CORRAL_LIMIT_FUEL == LIMIT_FUEL &&
		       (int)CORRAL_LIMIT_WASM_MEMORY == LIMIT_WASM_MEMORY,
	"limits");

/* Gives the caller of the library a copy of e, if it wants one; returns code unchanged. */
int handles_error(struct corral_error **ret, const struct error *e, int code);
/* The same for something that the policy refused; d, which may be NULL, is copied. */
int handles_denied(
	struct corral_error **ret, const struct error *e, int code, const struct corral_denial *d);
/* Unknown names and values that are no absolute paths are errors. */
int handles_variables(
	struct variables *ret, const struct corral_variable *from, size_t n, struct error *e);
/*
 * The other way: for an enclave beside a session. A session may name folders that are not there, as
 * the defaults of $DATA_DIR and $SHARED_DIR are for most. A sandbox of the library would make the
 * one and refuse the other: where no layer speaks of them, they are left out. Returns how many.
 */
size_t handles_name_variables(const struct variables *from, const struct corral_permissions *all,
	struct corral_variable ret[VARIABLE_COUNT]);

/*
 * Structs of the host that begin with their size and may grow from one version to the next: a
 * shorter one is older, and what it has not is zero; a longer one is newer, and must ask for
 * nothing that this library does not know. Fills `known` bytes at ret. -EINVAL: there is no size,
 * or none that makes sense. -E2BIG: it asks for something that is not known here. *ret is untouched
 * then.
 */
int handles_read(void *ret, size_t known, const void *from, size_t size);
/* The same for options, NULL for those in *ret, with words for what is wrong. */
int handles_read_options(void *ret, size_t known, const void *from, const char *name,
	const char *start, struct error *e);
/* Gives the text away; -ENOMEM if the buffer failed. */
int handles_text(struct buffer *text, char **ret);

/* $HOME and $TEMP where the host names none: private folders, which need not exist outside. */
#define HANDLES_TEMP "/tmp"
/* The host's, or a folder for those who have none. Not for programs with more rights than their
 * user. */
const char *handles_home(void);
