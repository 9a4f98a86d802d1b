/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORRAL_POLICY_H
#define CORRAL_POLICY_H
/*
 * Corral's policy engine, for host programs with tools of their own: from what was granted to a
 * decision with a reason.
 *
 *     struct corral_permissions *p = NULL;
 *     struct corral_policy *policy = NULL;
 *     struct corral_error *e = NULL;
 *     const struct corral_variable vars[] = { { "WORK_DIR", "/srv/job" } };
 *
 *     if (corral_permissions_new(&p) < 0 ||
 *         corral_permissions_allow(p, CORRAL_FS_READ, "$WORK_DIR/notes.txt", &e) < 0 ||
 *         corral_policy_new(&policy, (const struct corral_permissions *[]){ p }, 1, vars, 1, &e) <
 * 0) fprintf(stderr, "%s\n", corral_error_message(e)); else if (corral_policy_check(policy,
 * CORRAL_FS_READ, path, NULL) == CORRAL_ALLOW) read_it(path); corral_policy_free(policy);
 *     corral_permissions_free(p);
 *     corral_error_free(e);
 *
 * Functions return 0 or more, or a negative errno value; outputs are untouched on failure. Where
 * they take a `struct corral_error **`, it may be NULL; otherwise it is set on failure (to NULL
 * when out of memory) and must be freed. The library keeps no global state, starts no threads, and
 * never logs. Objects may be used by several threads at once as long as no thread changes them;
 * corral_policy_swap() may run at any time beside checks. After fork(), a child must not swap the
 * policies of its parent.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORRAL_API __attribute__((visibility("default")))

/* Errors: a sentence that a person can act on. */

struct corral_error;

/* "policy.yaml:3:5: unknown key `network.alow`\n  did you mean `network.allow`?" */
CORRAL_API const char *corral_error_message(const struct corral_error *e);
/* The place in a file that was read; NULL and 0 where there is none. */
CORRAL_API const char *corral_error_file(const struct corral_error *e);
CORRAL_API unsigned corral_error_line(const struct corral_error *e);
CORRAL_API unsigned corral_error_column(const struct corral_error *e);
CORRAL_API void corral_error_free(struct corral_error *e);

/* Frees texts that the library returned. */
CORRAL_API void corral_free(char *text);

/* Permissions: what was granted. New ones grant nothing. */

struct corral_permissions;

enum corral_operation {
	CORRAL_FS_READ,
	CORRAL_FS_WRITE,
	CORRAL_NET_CONNECT,
	CORRAL_EXEC,
	CORRAL_ENV,
	CORRAL_SERVICE,
	CORRAL_SECRET,
};

/* Zero denies. */
enum corral_verdict { CORRAL_DENY, CORRAL_ASK, CORRAL_ALLOW };

CORRAL_API int corral_permissions_new(struct corral_permissions **ret);
CORRAL_API int corral_permissions_copy(
	struct corral_permissions **ret, const struct corral_permissions *p);
CORRAL_API void corral_permissions_free(struct corral_permissions *p);

/*
 * Reads any format that Corral knows: permissions, skill.yaml, SKILL.md, manifest.yaml, rules,
 * Enclave grants. `file` is the name for messages, and a hint at the format; it is not opened. Of a
 * skill with an absolute name, its folder becomes $SKILL_DIR of a sandbox that is built from these
 * permissions (corral_builder_from_permissions()).
 */
CORRAL_API int corral_permissions_parse(struct corral_permissions **ret, const char *file,
	const char *text, size_t len, struct corral_error **e);
/* Canonical text; reading it again gives the same permissions. Free with corral_free(). */
CORRAL_API int corral_permissions_to_yaml(const struct corral_permissions *p, char **ret);
CORRAL_API int corral_permissions_to_json(const struct corral_permissions *p, char **ret);

/*
 * Grants one pattern: a path glob, a host:port, a command, NAME or NAME=value, or (CORRAL_SERVICE)
 * "NAME.ACCESS", or (CORRAL_SECRET) NAME=HOST:PORT with ",PLACE" behind it. The first CORRAL_EXEC
 * grant turns "whatever can be read" into a list of programs.
 */
CORRAL_API int corral_permissions_allow(struct corral_permissions *p, enum corral_operation op,
	const char *pattern, struct corral_error **e);
/* Forbids a path (CORRAL_FS_READ or CORRAL_FS_WRITE: both are meant) or a host, whatever is
 * granted. */
CORRAL_API int corral_permissions_deny(struct corral_permissions *p, enum corral_operation op,
	const char *pattern, struct corral_error **e);
/* No program at all, unless granted. -EINVAL for permissions of several layers. */
CORRAL_API int corral_permissions_restrict_exec(struct corral_permissions *p);
/* Lifts the baseline for files that match. */
CORRAL_API int corral_permissions_dangerously_allow(
	struct corral_permissions *p, const char *pattern, struct corral_error **e);

enum corral_limit {
	CORRAL_LIMIT_TIMEOUT_MS,
	CORRAL_LIMIT_MEMORY,
	CORRAL_LIMIT_PIDS,
	CORRAL_LIMIT_OUTPUT,
	CORRAL_LIMIT_FILE_SIZE,
	CORRAL_LIMIT_OPEN_FILES,
	CORRAL_LIMIT_FUEL,
	CORRAL_LIMIT_WASM_MEMORY, /* of a module; CORRAL_LIMIT_MEMORY is of processes */
};
#define CORRAL_LIMIT_NONE UINT64_MAX
CORRAL_API int corral_permissions_set_limit(
	struct corral_permissions *p, enum corral_limit limit, uint64_t value);
CORRAL_API uint64_t corral_permissions_limit(
	const struct corral_permissions *p, enum corral_limit limit);

/* What one of them grants, less what one of them denies. */
CORRAL_API int corral_permissions_merge(struct corral_permissions **ret,
	const struct corral_permissions *a, const struct corral_permissions *b);
/* Exactly what both allow. */
CORRAL_API int corral_permissions_intersect(struct corral_permissions **ret,
	const struct corral_permissions *a, const struct corral_permissions *b);
/* 1 if nothing is granted. */
CORRAL_API int corral_permissions_is_empty(const struct corral_permissions *p);

/* "WORK_DIR" and its value, an absolute path. Also SKILL_DIR, DATA_DIR, SHARED_DIR, HOME, TEMP. */
struct corral_variable {
	const char *name;
	const char *value;
};

/*
 * 1 if A grants nothing that B does not; 0 if it does, or if it is too complex to tell. Then
 * *ret_witness (may be NULL) is something that A allows and B does not, such as "fs.read
 * /etc/shadow", or a text that starts with "too complex"; free it with corral_free().
 */
CORRAL_API int corral_permissions_subset(const struct corral_permissions *a,
	const struct corral_permissions *b, const struct corral_variable *variables, size_t n,
	char **ret_witness, struct corral_error **e);

/* The engine: compiled permissions. */

struct corral_policy;

/*
 * All n layers must allow. Names of programs mean the files that the system's usual folders have
 * for them now, wherever links lead; the PATH of the host does not matter.
 */
CORRAL_API int corral_policy_new(struct corral_policy **ret,
	const struct corral_permissions *const *layers, size_t n,
	const struct corral_variable *variables, size_t n_variables, struct corral_error **e);
/* No thread may be using it. */
CORRAL_API void corral_policy_free(struct corral_policy *policy);

struct corral_decision {
	enum corral_verdict verdict;
	unsigned line;       /* of the rule that decided; 0: none */
	uint64_t generation; /* of the policy that decided: 1, and one more for every swap */
	char file[256];      /* of the rule; "" if none */
	char pattern[256];   /* of the rule; "" if none */
};

/*
 * Decides; returns the verdict, or a negative value if it could not decide, which is to be taken as
 * a denial. `decision` may be NULL. Does not allocate, lock, or do I/O.
 */
CORRAL_API int corral_policy_check(struct corral_policy *policy, enum corral_operation op,
	const char *target, struct corral_decision *decision);
/* A program with all its arguments; argv[0] is a name or an absolute path, and argv ends with NULL.
 */
CORRAL_API int corral_policy_check_exec(
	struct corral_policy *policy, const char *const *argv, struct corral_decision *decision);
/* A URL with the method of the request. */
CORRAL_API int corral_policy_check_request(struct corral_policy *policy, const char *method,
	const char *url, struct corral_decision *decision);

/* Why, and what would allow it, in sentences; free both with corral_free(). Returns the verdict; a
 * malformed target is -EINVAL. */
CORRAL_API int corral_policy_explain(struct corral_policy *policy, enum corral_operation op,
	const char *target, char **ret_reason, char **ret_remedy);

/*
 * Replaces the layers while other threads decide. Returns when no thread uses the old ones any
 * more. On failure the old ones stay. *ret_generation (may be NULL) is the new generation.
 */
CORRAL_API int corral_policy_swap(struct corral_policy *policy,
	const struct corral_permissions *const *layers, size_t n,
	const struct corral_variable *variables, size_t n_variables, uint64_t *ret_generation,
	struct corral_error **e);
CORRAL_API uint64_t corral_policy_generation(struct corral_policy *policy);

/* "0.1.0" */
CORRAL_API const char *corral_version(void);

#ifdef __cplusplus
}
#endif
#endif
