/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From the first word of a command to a file of the host, and what the policy says about it: before
 * a command is started, where a list of programs decides, and after the jail refused one, to tell a
 * person whether it is missing (exit status 127) or may not run (126). The jail has the last word
 * in any case.
 *
 * A file is judged as it is named and as what its links lead to; the stricter answer counts.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/path.h"
#include "policy/policy.h"

enum launch_answer {
	LAUNCH_ALLOWED = 0,
	LAUNCH_FORBIDDEN,      /* `request` and `decision` say why */
	LAUNCH_NOT_FOUND,      /* there is no `path` */
	LAUNCH_NOT_EXECUTABLE, /* `path` is a file, and no program */
};

struct launch_program {
	/* What is asked. */
	const struct policy *policy;
	const char *const *argv; /* ends with NULL */
	const char *const *env;  /* of the command, for its PATH; ends with NULL; may be NULL */
	const char *host_path;   /* PATH of the host, for explanations; may be NULL */
	const char *cwd;
	/* What was found. The request points in here. */
	char path[PATH_BYTES], real[PATH_BYTES];
	bool is_interpreter; /* of the script that argv[0] is */
	struct request request;
	struct decision decision;
};

/* The first program that PATH of env leads to and that may run; else the first that may not. */
enum launch_answer launch_program_find(struct launch_program *p);
/*
 * Why argv[0] was not run. Where PATH of env has nothing, the system's folders and the host's PATH
 * are asked, as inside, what is not granted looks absent. A script's interpreter counts, too.
 * LAUNCH_ALLOWED: it was for another reason.
 */
enum launch_answer launch_program_why(struct launch_program *p);

/*
 * Looks for a program in a list of folders as PATH has them. Entries that are empty or relative are
 * skipped: they mean the current folder.
 */
bool launch_program_in(const char *list, const char *name, char out[PATH_BYTES]);

/*
 * The whole command for a script (an absolute path) with its arguments (may be NULL), in the arena:
 * by the runtime, or if that is NULL by its #! line; a program that needs no interpreter is run as
 * it is. The script is an argument of its interpreter, so it need not be executable, and lists of
 * programs speak of the interpreter. -ENOENT: no such script; -ENOEXEC: it does not say what runs
 * it.
 */
int launch_script(const char *path, const char *runtime, const char *const *args, struct arena *a,
	const char *const **ret, struct error *e);
/* The same by the #! line in the first bytes (SHEBANG_BYTES) of the script, whatever is at the path
 * now. */
int launch_script_bytes(const char *path, const char *head, size_t len, const char *const *args,
	struct arena *a, const char *const **ret, struct error *e);
