/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/program.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/program.h"
#include "lib/process/denial.h"

/* Sentence and denial for something that the policy forbids. Always -EACCES. */
static int program_forbid(const struct request *r, const struct decision *d, bool exact,
	struct corral_denial **ret_denial, struct error *e)
{
	struct corral_denial *denial = denial_new(r, d, exact);

	if (!denial)
		return error_set(e, -EACCES, NULL, "the policy forbids %s", r->target);
	(void)error_set(e, -EACCES, NULL, "%s %s: %s", r->target,
		r->op == OPERATION_EXEC ? "may not run" : "is not visible inside", denial->reason);
	if (denial->remedy[0])
		error_hint(e, "%s", denial->remedy);
	*ret_denial = denial;
	return -EACCES;
}

int program_find(const struct sandbox_setup *setup, const char *const *argv, const char *const *env,
	const char *cwd, struct arena *a, const char **ret, struct corral_denial **ret_denial,
	struct error *e)
{
	struct launch_program p = { .policy = setup->policy, .argv = argv, .env = env, .cwd = cwd };

	if (!setup->exec_listed) {
		*ret = argv[0];
		return 0;
	}
	switch (launch_program_find(&p)) {
	case LAUNCH_ALLOWED:
		*ret = arena_strdup(a, p.path);
		return *ret ? 0 : -ENOMEM;
	case LAUNCH_FORBIDDEN:
		return program_forbid(&p.request, &p.decision, true, ret_denial, e);
	default:
		return error_set(e, -ENOENT, NULL, "there is no program %s", argv[0]);
	}
}

/* Folders of the session's own are there without a grant. */
static bool program_is_private(const struct sandbox_setup *setup, const char *path)
{
	return strcmp(path, setup->base->variables.values[VARIABLE_HOME]) == 0 ||
	       strcmp(path, setup->base->variables.values[VARIABLE_TEMP]) == 0;
}

/* PATH of the host, as it was when the sandbox was built. */
static const char *program_host_path(const struct sandbox_setup *setup)
{
	for (const char *const *v = setup->base->environment; *v; v++) {
		if (strncmp(*v, "PATH=", 5) == 0)
			return *v + 5;
	}
	return NULL;
}

int program_explain(const struct sandbox_setup *setup, const char *program, const char *cwd,
	struct corral_denial **ret_denial, struct error *e)
{
	const char *const argv[] = { program, NULL };
	struct launch_program p = { .policy = setup->policy,
		.argv = argv,
		.host_path = program_host_path(setup),
		.cwd = cwd };
	struct request r = { .op = OPERATION_FS_READ, .target = cwd };
	struct decision d;
	struct stat st;

	if (*program && launch_program_why(&p) == LAUNCH_FORBIDDEN)
		return program_forbid(&p.request, &p.decision, false, ret_denial, e);
	if (stat(cwd, &st) < 0 || !S_ISDIR(st.st_mode) || program_is_private(setup, cwd) ||
		policy_decide(setup->policy, &r, &d) < 0 || d.verdict == VERDICT_ALLOW)
		return 0;
	return program_forbid(&r, &d, false, ret_denial, e);
}
