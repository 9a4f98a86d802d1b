/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORRAL_SKILL_H
#define CORRAL_SKILL_H
/*
 * WASM skills: load once, call often, from as many threads as one likes.
 *
 *     struct corral_skill *skill = NULL;
 *     struct corral_skill_request request = CORRAL_SKILL_REQUEST;
 *     struct corral_result *result = NULL;
 *     struct corral_error *e = NULL;
 *
 *     request.input = "{\"params\": {\"name\": \"Ada\"}}";
 *     request.input_len = strlen(request.input);
 *     if (corral_skill_load(&skill, "/srv/skills/greet", NULL, &e) < 0 ||
 *         corral_skill_call(skill, &request, &result, &e) < 0)
 *             fprintf(stderr, "%s\n", corral_error_message(e));
 *     else
 *             fputs(corral_result_stdout(result, NULL), stdout);
 *     corral_result_free(result);
 *     corral_skill_free(skill);
 *     corral_error_free(e);
 *
 * A loaded skill has a sandbox of its permissions, and in it workers that have the module mapped.
 * Each call gets a fresh instance, whose memory is the module's, copied where it is written: no
 * call sees what another left. A worker serves one call at a time; more are started as calls need
 * them.
 *
 * What corral/sandbox.h says about errors, threads and processes holds here too. A call that ran
 * and failed is no error: its result says so (docs/wasm-abi.md has the statuses: 0, 1 for
 * {"success": false}, 124 for its time, 134 for a module that was stopped). The library has no
 * engine in it; corral-wasm has. Built without one, loading fails with -EOPNOTSUPP.
 */
#include <stddef.h>
#include <stdint.h>

#include <corral/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

struct corral_skill;

/*
 * Called for each version of the skill that is loaded, with a builder that was made from the
 * folder's manifest: what the host restricts or grants beside it, where the log is, services,
 * whether an approval is needed. Not 0: loading fails with that negative errno, or -ECANCELED.
 */
typedef int corral_skill_configure(void *context, struct corral_builder *b);

struct corral_skill_options {
	size_t size; /* sizeof(struct corral_skill_options): set by CORRAL_SKILL_OPTIONS */
	corral_skill_configure *configure; /* or NULL */
	void *context;
	unsigned workers; /* most calls that run at once; the others wait. 0: 16; 1024 at most */
};

/* One call. Zero means: as the skill has it. */
struct corral_skill_request {
	size_t size;       /* sizeof(struct corral_skill_request): set by CORRAL_SKILL_REQUEST */
	const void *input; /* JSON; none: {}. Of a WASI command: its standard input */
	size_t input_len;  /* 16 MiB at most */
	const char *const *args; /* of a WASI command, without its name; ends with NULL */
	uint64_t timeout_ms;     /* only narrows limits.max_execution_time */
	/*
	 * One more layer for this call: only what these allow, too. The first call with a layer
	 * makes a session of its own for it, which later calls with the same layer use.
	 */
	const struct corral_permissions *permissions;
};

#ifdef __cplusplus
#define CORRAL_SKILL_OPTIONS                        \
	{                                           \
		sizeof(struct corral_skill_options) \
	}
#define CORRAL_SKILL_REQUEST                        \
	{                                           \
		sizeof(struct corral_skill_request) \
	}
#else
#define CORRAL_SKILL_OPTIONS                                \
	{                                                   \
		.size = sizeof(struct corral_skill_options) \
	}
#define CORRAL_SKILL_REQUEST                                \
	{                                                   \
		.size = sizeof(struct corral_skill_request) \
	}
#endif

/*
 * Reads the skill in that folder, checks that the user approved just that (`corral approve DIR`),
 * has the module compiled unless it was before, and waits until a worker has it loaded.
 *
 * -EACCES: it is not approved. -ENOEXEC: it has no module that can be run. -EOPNOTSUPP: this Corral
 * was built without the engine. Others as corral_builder_build().
 */
CORRAL_API int corral_skill_load(struct corral_skill **ret, const char *dir,
	const struct corral_skill_options *options, struct corral_error **e);
/*
 * Calls it and waits for the end; request NULL: no input. The result has the answer, or what a
 * command printed, as stdout; what the module printed for people, and why it was stopped, as
 * stderr, 64 KiB at most. The call has the version of the skill that is loaded now, to its end.
 *
 * -EINVAL, -E2BIG: the request; -ESTALE: the folder changed, so that no new session can be made
 * for this version; corral_skill_reload() takes the new one.
 */
CORRAL_API int corral_skill_call(struct corral_skill *s, const struct corral_skill_request *request,
	struct corral_result **ret, struct corral_error **e);
/*
 * Reads the folder again. 1: it has changed and is approved, and every call that begins after this
 * has the new version; those that run end with the one they began with. 0: it has not changed.
 * Negative, as corral_skill_load(): the version that is loaded stays. May be called while others
 * call the skill; of several at a time one waits for the other.
 */
CORRAL_API int corral_skill_reload(struct corral_skill *s, struct corral_error **e);
/* The version that a call would have now: 1 for the first, one more for each reload that changed
 * it.
 */
CORRAL_API uint64_t corral_skill_version(struct corral_skill *s);
/* Ends its sessions. No call may be under way. Accepts NULL. */
CORRAL_API void corral_skill_free(struct corral_skill *s);

#ifdef __cplusplus
}
#endif
#endif
