/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that start a command, and those that also wait for its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launch/skill.h"
#include "lib/api/handles.h"
#include "lib/process/process.h"
#include "lib/sandbox/backend.h"

static int sandbox_execute_complain(struct corral_error **e, int code, const char *what)
{
	struct error error = { 0 };

	(void)error_set(&error, code, NULL, "%s", what);
	return handles_error(e, &error, code);
}

int corral_process_start(struct corral_process **ret, struct corral_sandbox *s,
	const char *const *argv, const struct corral_call *call, struct corral_error **e)
{
	const struct process_command c = { .argv = argv, .shown = argv ? argv[0] : NULL };

	if (!c.shown)
		return sandbox_execute_complain(e, -EINVAL, "there is no command");
	return process_start(ret, s, &c, call, e);
}

int corral_process_start_line(struct corral_process **ret, struct corral_sandbox *s,
	const char *line, const struct corral_call *call, struct corral_error **e)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	const struct process_command c = { .argv = argv, .shown = line, .implied = true };

	if (!line)
		return sandbox_execute_complain(e, -EINVAL, "there is no command line");
	return process_start(ret, s, &c, call, e);
}

int corral_process_start_script(struct corral_process **ret, struct corral_sandbox *s,
	const char *path, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct process_command c = { .shown = path };
	struct error error = { 0 };
	int r = s->base.backend->script(path, runtime, args, &a, &c.argv, &error);

	return r < 0 ? handles_error(e, &error, r) : process_start(ret, s, &c, call, e);
}

/* Waits for the process, if it was started, and frees it. */
static int sandbox_execute_await(
	int r, struct corral_process *p, struct corral_result **ret, struct corral_error **e)
{
	if (r < 0)
		return r;
	r = corral_process_wait(p, -1, ret, e);
	corral_process_free(p);
	return r;
}

int corral_sandbox_execute(struct corral_sandbox *s, const char *line,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e)
{
	struct corral_process *p = NULL;
	int r = corral_process_start_line(&p, s, line, call, e);

	return sandbox_execute_await(r, p, ret, e);
}

int corral_sandbox_execute_argv(struct corral_sandbox *s, const char *const *argv,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e)
{
	struct corral_process *p = NULL;
	int r = corral_process_start(&p, s, argv, call, e);

	return sandbox_execute_await(r, p, ret, e);
}

int corral_sandbox_execute_script(struct corral_sandbox *s, const char *path, const char *runtime,
	const char *const *args, const struct corral_call *call, struct corral_result **ret,
	struct corral_error **e)
{
	struct corral_process *p = NULL;
	int r = corral_process_start_script(&p, s, path, runtime, args, call, e);

	return sandbox_execute_await(r, p, ret, e);
}

/* The sandbox must have been built for that skill: its permissions speak of $SKILL_DIR. */
static int check_skill(const struct corral_sandbox *s, const char *skill_dir, struct error *e)
{
	const char *folder = s->base.variables.values[VARIABLE_SKILL_DIR];
	char real[PATH_BYTES];

	if (!s->base.backend->enforces)
		return error_set(e, -EOPNOTSUPP, NULL,
			"mode rwx confines nothing, so a skill's permissions can't be held");
	if (!realpath(skill_dir, real))
		return error_set(e, -errno, NULL, "cannot read %s: %s", skill_dir, strerror(errno));
	if (folder && path_is_below(real, folder))
		return 0;
	(void)error_set(
		e, -EACCES, NULL, "the sandbox was not built for the skill in %s", skill_dir);
	error_hint(e, "use corral_builder_from_manifest(), or give SKILL_DIR its value");
	return -EACCES;
}

/* What `corral run --skill` does, with the same answers. */
static int skill_command(const struct corral_sandbox *s, const char *skill_dir, const char *entry,
	const char *const *args, struct arena *a, struct process_command *ret, struct error *e)
{
	auto_launch_skill skill = { .fd = -1 };
	const char **words = NULL;
	size_t n_args = 0, n = 0;
	int r = check_skill(s, skill_dir, e);

	while (args && args[n_args])
		n_args++;
	if (r == 0)
		r = launch_skill_open(&skill, skill_dir, a, e);
	if (r == 0 && !s->base.unapproved)
		r = launch_skill_check(
			&skill, skill_dir, "call corral_builder_allow_unapproved_skill()", e);
	if (r == 0)
		r = launch_skill_command(&skill, entry, args, n_args, a, &words, &n, e);
	if (r == 0)
		*ret = (struct process_command){ .argv = words, .shown = words[n - n_args - 1] };
	return r;
}

int corral_sandbox_run_skill_entry(struct corral_sandbox *s, const char *skill_dir,
	const char *entry, const char *const *args, const struct corral_call *call,
	struct corral_result **ret, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct corral_process *p = NULL;
	struct process_command c = { 0 };
	struct error error = { 0 };
	int r;

	if (!skill_dir)
		return sandbox_execute_complain(e, -EINVAL, "there is no folder of a skill");
	r = skill_command(s, skill_dir, entry, args, &a, &c, &error);
	if (r < 0)
		return handles_error(e, &error, r);
	r = process_start(&p, s, &c, call, e);
	return sandbox_execute_await(r, p, ret, e);
}
