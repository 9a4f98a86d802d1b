/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --tier 3: an agent mode where user namespaces are missing. Landlock alone keeps the command from
 * writing outside of the agent's folders (jail/writes.h), and this process becomes the command.
 * Only by name: it enforces less than the mode says elsewhere, and a note says what. Options that
 * it could not enforce are refused, and so are folders that a mode protects parts of: Landlock
 * takes nothing away from a folder that it grants.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "host/links.h"
#include "jail/landlock.h"
#include "jail/writes.h"
#include "launch/command.h"
#include "launch/program.h"
#include "warden/given.h"

enum { FOLDERS_MAX = 64 };

struct run_writes {
	const char *folders[FOLDERS_MAX]; /* without links */
	size_t n;
};

static int run_writes_refuse(struct run *r)
{
	const struct run_options *o = &r->options;
	struct location where = { 0 };
	int ret;

	if (o->unheld[RUN_WRITES]) {
		ret = options_misused(r->call,
			"--tier 3 enforces only where the agent writes, so --%s cannot be enforced",
			o->unheld[RUN_WRITES]);
		if (o->write.n > 0)
			error_hint(r->call->error, "--extra DIR names one more folder to write in");
		return ret;
	}
	ret = run_ceiling(r);
	if (ret < 0 || r->ceiling.n == 0)
		return ret;
	where.file = r->ceiling.files[0].permissions->origin;
	return error_set(r->call->error, -EPERM, &where,
		"this policy applies to every run, but --tier 3 would not enforce it");
}

/* Folders */

/* Why it may not be granted as a whole; NULL: it may. */
static const char *run_writes_judge(struct run *r, const char *folder)
{
	const struct {
		const char *path, *is;
	} kept[] = {
		{ r->load.variables.values[VARIABLE_HOME], "your home" },
		{ profile_config_folder(r->call), "Corral's own settings" },
		{ profile_state_folder(r->call), "Corral's own state" },
		{ PROFILE_SYSTEM_FOLDER, "the system's policies" },
		{ r->audit.path, "the log" },
	};
	char real[PATH_BYTES];

	for (size_t i = 0; i < ROWS(kept); i++) {
		const char *own = kept[i].path;

		if (!own)
			continue;
		if (links_follow(own, NULL, NULL, real) == 0)
			own = real;
		/* The home holds most of an agent's folders, and is not to be held by one. */
		if (path_is_below(own, folder) || (i > 0 && path_is_below(folder, own)))
			return kept[i].is;
	}
	return NULL;
}

static int run_writes_add(struct run *r, struct run_writes *w, const char *option, const char *path)
{
	const char *real = NULL, *why;
	int ret = run_real_folder(r, option, path, &real);

	if (ret < 0) {
		if (ret == -ENOENT)
			error_hint(r->call->error, "create it first");
		return ret;
	}
	why = run_writes_judge(r, real);
	if (why) {
		(void)error_set(r->call->error, -EPERM, NULL,
			"%s: %s holds %s, and --tier 3 cannot keep a part of a folder from being "
			"written",
			option, real, why);
		error_hint(
			r->call->error, "name a folder of its own (for temporary files: TMPDIR)");
		return -EPERM;
	}
	if (w->n == FOLDERS_MAX)
		return error_set(r->call->error, -E2BIG, NULL, "more than %d folders to write in",
			FOLDERS_MAX);
	w->folders[w->n++] = real;
	return 0;
}

static int run_writes_add_all(struct run *r, struct run_writes *w)
{
	const struct agent *a = &r->options.agent;
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *claude = home ? arena_printf(r->call->arena, "%s/.claude", home) : NULL;
	int ret = run_writes_add(r, w, "--data-dir", a->data_dir);

	if (ret == 0)
		ret = run_writes_add(r, w, "the folder for temporary files",
			r->load.variables.values[VARIABLE_TEMP]);
	for (size_t i = 0; ret == 0 && i < a->extra.n; i++)
		ret = run_writes_add(r, w, "--extra", a->extra.items[i]);
	if (ret == 0 && claude && access(claude, F_OK) == 0)
		ret = run_writes_add(r, w, "~/.claude", claude);
	return ret;
}

/* What it does not do has to be known before it runs. */
static void run_writes_tell(const struct run_writes *w)
{
	auto_output o = output_for(STDERR_FILENO);
	int version = landlock_version();

	output_note(&o);
	buffer_adds(&o.text, "tier 3: the command may write only in ");
	for (size_t i = 0; i < w->n; i++) {
		buffer_adds(&o.text, i ? ", " : "");
		output_foreign(&o, w->folders[i]);
	}
	buffer_adds(&o.text, "\n");
	output_note(&o);
	buffer_printf(&o.text,
		"tier 3 does not enforce: the network; what may be read (keys and secrets, too); "
		"modes, owners, "
		"times and extended attributes of files outside (chmod, chown, touch, setfattr); "
		"files in these folders that other programs run later; what is printed on the "
		"terminal%s\n",
		version < WRITES_LANDLOCK_SIGNALS
			? "; signals to your other processes (Linux 6.12 would)"
			: "");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* Running */

static int run_writes_check_stdio(struct run *r)
{
	int ret = 0;

	for (int fd = 0; ret == 0 && fd < 3; fd++)
		ret = given_check(fd, true, r->call->error);
	return ret;
}

static int run_writes_environment(struct run *r)
{
	struct environment_options o = { .policy = r->policy,
		.host_env = (const char *const *)environ,
		.home = r->load.variables.values[VARIABLE_HOME],
		.tty = isatty(STDOUT_FILENO) };
	int ret = r->options.cwd ? run_real_folder(r, "--cwd", r->options.cwd, &r->cwd)
				 : load_absolute(r->call, ".", &r->cwd);

	if (ret == 0 && chdir(r->cwd) < 0)
		ret = error_set(r->call->error, -errno, NULL, "%s: %s", r->cwd, strerror(errno));
	o.cwd = r->cwd;
	return ret < 0 ? ret
		       : launch_environment(o, &r->load.variables, r->call->arena, &r->env,
				 &r->n_env, r->call->error);
}

/* Returns only if it does not become the command. */
static int run_writes_become(struct run *r, const struct run_writes *w)
{
	char path[PATH_BYTES];
	int ret = writes_confine(w->folders, w->n, r->call->error);

	if (ret == 0 && syscall(SYS_close_range, 3U, ~0U, 0U) < 0)
		ret = error_set(r->call->error, -errno, NULL, "cannot close descriptors: %s",
			strerror(errno));
	if (ret < 0)
		return ret;
	environ = (char **)r->env;
	(void)execvp(r->argv[0], (char **)r->argv);
	ret = -errno;
	if (ret == -EACCES && !strchr(r->argv[0], '/') &&
		!launch_program_in(getenv("PATH"), r->argv[0], path))
		ret = -ENOENT;
	(void)error_set(r->call->error, ret, NULL, "cannot run %s: %s", r->argv[0], strerror(-ret));
	return ret == -ENOENT ? RUN_NOT_FOUND : RUN_FORBIDDEN;
}

int run_writes(struct run *r)
{
	struct run_writes w = { .n = 0 };
	int ret = run_writes_refuse(r);

	if (ret == 0)
		ret = run_writes_check_stdio(r);
	if (ret == 0)
		ret = run_layers(r);
	if (ret == 0)
		ret = run_find_words(r);
	if (ret == 0)
		ret = run_audit_find(r);
	if (ret == 0)
		ret = run_writes_add_all(r, &w);
	if (ret == 0)
		ret = run_writes_environment(r);
	if (ret == 0 && r->audit.path)
		ret = run_audit_begin(r);
	if (ret != 0)
		return ret;
	run_writes_tell(&w);
	return run_writes_become(r, &w);
}
