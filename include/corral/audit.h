/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORRAL_AUDIT_H
#define CORRAL_AUDIT_H
/*
 * What happened, provably: events in memory and, if a file is named, in a log that shows if it was
 * touched (docs/audit.md, `corral audit`).
 *
 *     struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
 *     struct corral_audit *audit = NULL;
 *     struct corral_error *e = NULL;
 *
 *     o.path = "/var/lib/agent/audit.db";
 *     if (corral_audit_new(&audit, &o, &e) == 0)
 *             corral_builder_with_audit(b, corral_audit_sandbox, audit);
 *     …
 *     corral_audit_free(audit, &e);
 *
 * What corral/policy.h says about errors holds here too. Any number of threads may use an audit at
 * once. Adding never waits for a disk longer than one batch takes; there is no thread behind it:
 * what was added waits for the next call, so a host with a loop calls corral_audit_tick() in time.
 */
#include <stddef.h>
#include <stdint.h>

#include <corral/policy.h>
#include <corral/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

struct corral_audit;

struct corral_audit_options {
	size_t size;          /* sizeof(struct corral_audit_options): set by CORRAL_AUDIT_OPTIONS */
	const char *path;     /* of the log; NULL: in memory only */
	const char *key_path; /* of the signing key, made if it is not there; NULL: path + ".key" */
	const char *head_path; /* the last signed head, better elsewhere; NULL: path + ".head" */
	int full_sync;         /* not 0: a commit survives a loss of power */
	size_t ring_bytes;     /* of memory for the latest events; 0: 1 MiB */
	uint64_t keep_records, keep_seconds; /* how much old stays; 0: all */
	/* For events that do not say it. NULL: a new id, the account's name, "". */
	const char *session, *user, *sandbox;
};
#ifdef __cplusplus
#define CORRAL_AUDIT_OPTIONS                        \
	{                                           \
		sizeof(struct corral_audit_options) \
	}
#else
#define CORRAL_AUDIT_OPTIONS                                \
	{                                                   \
		.size = sizeof(struct corral_audit_options) \
	}
#endif

/* o NULL: in memory only. */
CORRAL_API int corral_audit_new(
	struct corral_audit **ret, const struct corral_audit_options *o, struct corral_error **e);
/* Commits and signs what is left; frees it, also if that fails. */
CORRAL_API int corral_audit_free(struct corral_audit *a, struct corral_error **e);

/* The words of docs/audit.md: "fs.read", "denied" … Texts may be NULL, but for the action. */
struct corral_audit_event {
	size_t size;      /* sizeof(struct corral_audit_event) */
	uint64_t time_ns; /* 0: now */
	uint64_t number;  /* among all of this audit, from 1; filled in by reading */
	const char *session, *user, *sandbox, *program;
	uint32_t pid;
	const char *action, *target, *decision;
	const char *rule, *reason;
	int exact;
	uint64_t cost_ns, sent, received;
	int64_t status;
	uint64_t count;
};

/*
 * A value that must never be in the log, whatever text it stands in. -E2BIG: there are too many.
 * Values of variables that commands of a sandbox get (corral_audit_sandbox) are known already.
 */
CORRAL_API int corral_audit_secret(struct corral_audit *a, const char *name, const char *value);
/* -EINVAL: there is no such action or decision. */
CORRAL_API int corral_audit_add(struct corral_audit *a, const struct corral_audit_event *event);
/* All that was added before is committed when this returns 0. */
CORRAL_API int corral_audit_flush(struct corral_audit *a, struct corral_error **e);
/* Commits and signs what is due; and in how many ms something will be, -1: nothing waits. */
CORRAL_API int corral_audit_tick(struct corral_audit *a, struct corral_error **e);
CORRAL_API int corral_audit_wait_ms(struct corral_audit *a);

/*
 * The latest events, from memory: calls back with each, oldest first, at most `limit` of the last
 * (0: all that are there). Returns how many; *ret_lost (may be NULL): how many there were before
 * them that are not in memory any more. A callback that returns not 0 ends it.
 */
typedef int corral_audit_visit(void *context, const struct corral_audit_event *event);
CORRAL_API long corral_audit_latest(struct corral_audit *a, size_t limit, corral_audit_visit *visit,
	void *context, uint64_t *ret_lost);
/*
 * Writes the events in memory to a new file (mode 0600), in a format of `corral audit
 * export`: "jsonl", "ocsf", "cef", "csv"; or "json", one array.
 */
CORRAL_API int corral_audit_export(
	struct corral_audit *a, const char *format, const char *path, struct corral_error **e);

/*
 * For corral_builder_with_audit(): the context is the audit, which must outlive the sandbox. Given
 * to the builder itself, it also keeps the values of all variables that commands get out of the
 * log.
 */
CORRAL_API void corral_audit_sandbox(void *audit, const struct corral_event *event);

/* Is a log what was written? */
struct corral_audit_verdict {
	size_t size;           /* of this struct; set it before the call */
	const char *fault;     /* "fine", "changed", "removed" …: docs/audit.md; static */
	uint64_t number;       /* of the record, or of the head, that is wrong */
	uint64_t records;      /* that were verified */
	uint64_t signed_up_to; /* what comes after is chained, but not signed yet */
	char key[33];          /* the key's id, in hex */
	char text[256];        /* what a person reads */
};
/*
 * 1: it is; 0: it is not, *ret says why; negative: it could not be found out. public_path and
 * head_path may be NULL: beside the log.
 */
CORRAL_API int corral_audit_verify(const char *path, const char *public_path, const char *head_path,
	struct corral_audit_verdict *ret, struct corral_error **e);

#ifdef __cplusplus
}
#endif
#endif
