/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The parts of an enclave: enclave.c makes it; enclave/call.c is what every
 * tool begins and ends with; enclave/files.c, enclave/write.c, enclave/shell.c … are the tools;
 * enclave/policy.c changes it; enclave/questions.c has the answers.
 *
 * A tool is always the same: begin, find what is meant, permit (once), do it, tell.
 *
 * Tools take no lock to be judged: they pin the policy (policy-box.h) for as long as that takes.
 * `lock` is held by those who change the policy, and by shell_exec for the moment in which it gets
 * hold of the sandbox; never while code of the host runs, and never by somebody who holds a pin,
 * because a change waits for pins.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/trail.h"
#include "base/arena.h"
#include "base/error.h"
#include "corral/enclave.h"
#include "consent/consent.h"
#include "consent/policy-box.h"

enum { ENCLAVE_CEILING_MAX = 16 };

struct enclave_sandbox;

struct corral_enclave {
	struct policy_box *box;
	struct audit_trail *trail; /* of `audit` */
	uint64_t max_file_bytes;

	/* The rest does not change, but for what the lock guards. */
	struct corral_audit *audit;
	bool owns_audit;
	struct consent *consent;
	corral_ask *ask;
	void *context;
	uint64_t ask_ttl_ms, ask_count;
	char token[CORRAL_TOKEN_BYTES];
	struct arena arena; /* of the texts here */
	struct variables variables;
	const char *real_home; /* where $HOME leads; NULL: nowhere */
	const char *warden;    /* or NULL */
	struct permissions *ceiling[ENCLAVE_CEILING_MAX];
	size_t n_ceiling;

	pthread_mutex_t lock; /* guards what follows */
	struct permissions *granted;
	struct enclave_sandbox *sandboxes; /* enclave/sandbox.h */
	struct permissions *writable;      /* whatever was granted for writing, ever */
	struct permissions *contested;     /* enclave/inside.h; NULL: none */
};

/* One call of a tool, on the stack of whoever made it. */
struct enclave_call {
	struct corral_enclave *enclave;
	const char *actor; /* never NULL */
	bool nameless; /* the caller gave one, in a struct without a size: nothing is permitted */
	uint32_t pid;
	enum audit_action action;
	const char *target; /* as the caller named it; never NULL */
	/*
	 * What somebody is asked about, and agrees to: exactly these bytes. NULL: the target of the
	 * last request, so that is to be the thing itself: where a file really is, not the name
	 * that led there.
	 */
	const char *object;
	uint64_t began_ns;
	uint64_t sent, received; /* for the audit: bytes written, bytes read */
	bool approved;           /* not by the policy alone: somebody agreed */
	char rule[256];          /* that allowed it */
};

/* Fills *c. by may be NULL. */
void enclave_begin(struct enclave_call *c, struct corral_enclave *enclave,
	const struct corral_by *by, enum audit_action action, const char *target);
/*
 * Judges all n requests by one and the same policy: the strictest verdict counts. "ask" uses an
 * approval (one for the call, for c->object and the last request's operation), or asks. 0: allowed;
 * nothing was told yet. Otherwise it was told to the audit, and *e is filled: -EACCES,
 * -EINPROGRESS. Call it once.
 */
int enclave_permit(
	struct enclave_call *c, const struct request *requests, size_t n, struct corral_error **e);
/*
 * What the policy alone says about them now: nothing is asked, used or told. For finding out what
 * is meant: a name that is denied need not be looked up. VERDICT_ALLOW permits nothing yet.
 */
enum verdict enclave_look(const struct enclave_call *c, const struct request *requests, size_t n);
/* Refused for a reason of its own (a FIFO, too large …): tells, fills *e, returns code. */
int enclave_refuse(struct enclave_call *c, int code, struct corral_error **e, const char *format,
	...) __attribute__((format(printf, 4, 5)));
/*
 * It was done (r >= 0), or it was allowed and did not work (r < 0: a negative errno, and *e is
 * filled with its words). Tells; returns r.
 */
int enclave_done(struct enclave_call *c, int r, struct corral_error **e);
/* Tells the audit, whatever there is to tell. Texts may be NULL. */
void enclave_tell(const struct enclave_call *c, enum audit_decision decision, const char *rule,
	const char *reason);
/* True if the policy of now denies some paths: then a second name of a file could dodge it. */
bool enclave_denies_paths(struct corral_enclave *enclave);

/* What the parts of the owner of these files share. */

/* Milliseconds by a clock that nobody sets. */
uint64_t enclave_now_ms(void);
/* -EPERM with a sentence, and told to the audit, if it is not the enclave's token. */
int enclave_check_token(struct corral_enclave *enclave, const char *token, const char *what,
	struct corral_error **e);
/* A copy of grants (NULL: none) as an enclave keeps them: programs are always a list. */
struct permissions *enclave_adopt(const struct permissions *p);
/*
 * Ceiling and grants as they are to be judged, and where one may write by them or could before. The
 * caller owns both.
 */
int enclave_compile(struct policy **ret, struct permissions **ret_writable,
	const struct corral_enclave *enclave, const struct permissions *granted, struct error *e);
