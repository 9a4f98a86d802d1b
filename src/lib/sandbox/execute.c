/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that start a command, and those that also wait for its end. */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "lib/api/handles.h"
#include "lib/process/process.h"
#include "lib/process/script.h"
#include "lib/process/skill-entry.h"

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

static int start_script(struct corral_process **ret, struct corral_sandbox *s, struct arena *a,
	const char *path, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_error **e)
{
	struct process_command c = { .shown = path };
	struct error error = { 0 };
	int r = s->base.backend->script(path, runtime, args, a, &c.argv, &error);

	return r < 0 ? handles_error(e, &error, r) : process_start(ret, s, &c, call, e);
}

int corral_process_start_script(struct corral_process **ret, struct corral_sandbox *s,
	const char *path, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_error **e)
{
	auto_arena a = { 0 };

	return start_script(ret, s, &a, path, runtime, args, call, e);
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
static int check_skill(const struct corral_sandbox *s, const char *path, struct error *e)
{
	const char *folder = s->base.variables.values[VARIABLE_SKILL_DIR];

	if (folder && path_is_below(path, folder))
		return 0;
	(void)error_set(e, -EACCES, NULL, "the sandbox was not built for the skill of %s", path);
	error_hint(e, "use corral_builder_from_manifest(), or give SKILL_DIR its value");
	return -EACCES;
}

int corral_sandbox_run_skill_entry(struct corral_sandbox *s, const char *skill_dir,
	const char *entry, const char *const *args, const struct corral_call *call,
	struct corral_result **ret, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct corral_process *p = NULL;
	const char *path, *runtime;
	struct error error = { 0 };
	int r = -EINVAL;

	if (!skill_dir)
		return sandbox_execute_complain(e, r, "there is no folder of a skill");
	r = skill_entry_find(skill_dir, entry, &a, &path, &runtime, &error);
	if (r == 0)
		r = check_skill(s, path, &error);
	if (r < 0)
		return handles_error(e, &error, r);
	r = start_script(&p, s, &a, path, runtime, args, call, e);
	return sandbox_execute_await(r, p, ret, e);
}
