/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "host/resolver.h"
#include "lib/process/denial.h"

static bool program_is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static bool program_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Sentence and denial for something that the policy forbids. Always -EACCES. */
static int forbid(const struct request *r, const struct decision *d, bool exact,
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

/* What is being looked for. */
struct search {
	const struct sandbox_setup *setup;
	struct request request; /* of the program that is looked at */
	struct decision decision;
	char path[PATH_BYTES];
	/* The first that is there, but may not run. */
	bool forbidden;
	char forbidden_path[PATH_BYTES];
	struct decision forbidden_decision;
};

/* True if it is there and may run. */
static bool try(struct search *s)
{
	s->request.target = s->path;
	if (!program_is_program(s->path))
		return false;
	if (policy_decide(s->setup->policy, &s->request, &s->decision) == 0 &&
		s->decision.verdict == VERDICT_ALLOW)
		return true;
	if (!s->forbidden) {
		s->forbidden = true;
		s->forbidden_decision = s->decision;
		memcpy(s->forbidden_path, s->path, sizeof(s->path));
	}
	return false;
}

/* Entries that are empty or relative are not looked at: they mean the current folder. */
static bool search_path(struct search *s, const char *path, const char *name)
{
	while (*path) {
		size_t n = strcspn(path, ":");
		int len = snprintf(s->path, sizeof(s->path), "%.*s/%s", (int)n, path, name);

		if (*path == '/' && len > 0 && len < (int)sizeof(s->path) && try(s))
			return true;
		path += n;
		path += *path == ':';
	}
	return false;
}

static const char *program_value_of(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; env[i]; i++) {
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i] + n + 1;
	}
	return "";
}

static bool search_file(struct search *s, const char *program, const char *cwd)
{
	char joined[2 * PATH_BYTES];
	size_t len;
	int n = snprintf(joined, sizeof(joined), "%s%s%s", program[0] == '/' ? "" : cwd,
		program[0] == '/' ? "" : "/", program);

	if (n < 0 || n >= (int)sizeof(joined) ||
		path_normalize(joined, (size_t)n, s->path, &len) < 0)
		return false;
	return try(s);
}

int program_find(const struct sandbox_setup *setup, const char *const *argv, const char *const *env,
	const char *cwd, struct arena *a, const char **ret, struct corral_denial **ret_denial,
	struct error *e)
{
	struct search s = { .setup = setup, .request = { .op = OPERATION_EXEC, .args = argv + 1 } };
	bool found;

	if (!setup->exec_listed) {
		*ret = argv[0];
		return 0;
	}
	while (s.request.args[s.request.n_args])
		s.request.n_args++;
	found = strchr(argv[0], '/') ? search_file(&s, argv[0], cwd)
				     : search_path(&s, program_value_of(env, "PATH"), argv[0]);
	if (found) {
		*ret = arena_strdup(a, s.path);
		return *ret ? 0 : -ENOMEM;
	}
	if (!s.forbidden)
		return error_set(e, -ENOENT, NULL, "there is no program %s", argv[0]);
	s.request.target = s.forbidden_path;
	return forbid(&s.request, &s.forbidden_decision, true, ret_denial, e);
}

static bool program_is_forbidden(
	const struct sandbox_setup *setup, const struct request *r, struct decision *ret)
{
	return policy_decide(setup->policy, r, ret) == 0 && ret->verdict != VERDICT_ALLOW;
}

/* Folders of the session's own are there without a grant. */
static bool program_is_private(const struct sandbox_setup *setup, const char *path)
{
	return strcmp(path, setup->base->variables.values[VARIABLE_HOME]) == 0 ||
	       strcmp(path, setup->base->variables.values[VARIABLE_TEMP]) == 0;
}

int program_explain(const struct sandbox_setup *setup, const char *program, const char *cwd,
	struct corral_denial **ret_denial, struct error *e)
{
	char found[PATH_BYTES];
	struct request r = { .op = OPERATION_EXEC, .target = program };
	struct decision d;

	if (!strchr(program, '/') && resolver_find(program, found) == 0)
		r.target = found;
	if (r.target[0] == '/' && program_is_program(r.target) &&
		program_is_forbidden(setup, &r, &d))
		return forbid(&r, &d, false, ret_denial, e);
	r = (struct request){ .op = OPERATION_FS_READ, .target = cwd };
	if (program_is_folder(cwd) && !program_is_private(setup, cwd) &&
		program_is_forbidden(setup, &r, &d))
		return forbid(&r, &d, false, ret_denial, e);
	return 0;
}
