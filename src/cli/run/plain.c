/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode rwx: nothing is confined, and a note says so. Options that would have to be held are
 * refused: they could only pretend. A log gets what is started, and the word that nothing is
 * confined; after that there is nobody who could record anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/run/run.h"
#include "launch/program.h"

static int run_plain_refuse(struct run *r)
{
	struct location where = { 0 };
	int ret;

	if (r->options.unheld[RUN_PLAIN])
		return options_misused(r->call,
			"--mode rwx does not confine the command, so --%s cannot be enforced",
			r->options.unheld[RUN_PLAIN]);
	ret = run_ceiling(r);
	if (ret < 0 || r->ceiling.n == 0)
		return ret;
	/* Policies that hold for every run hold for this one too, so it does not run. */
	where.file = r->ceiling.files[0].permissions->origin;
	return error_set(r->call->error, -EPERM, &where,
		"this policy applies to every run, but --mode rwx would not enforce it");
}

int run_plain(struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);
	char **words = r->call->words, path[PATH_BYTES];
	int ret = run_plain_refuse(r);

	if (ret < 0)
		return ret;
	if (r->options.cwd && chdir(r->options.cwd) < 0)
		return error_set(r->call->error, -errno, NULL, "--cwd: %s: %s", r->options.cwd,
			strerror(errno));
	ret = run_audit_find(r);
	if (ret == 0 && r->audit.path) {
		r->argv = (const char **)words;
		r->n_argv = r->call->n;
		r->env = (const char *const *)environ;
		for (r->n_env = 0; r->env[r->n_env];)
			r->n_env++;
		ret = load_absolute(r->call, ".", &r->cwd);
		if (ret >= 0)
			ret = run_audit_begin(r);
	}
	if (ret < 0)
		return ret;
	output_note(&o);
	buffer_adds(&o.text, "mode rwx: the command is not confined\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
	(void)execvp(words[0], words);
	ret = -errno;
	/* A folder of PATH that may not be entered is no program that may not be run. */
	if (ret == -EACCES && !strchr(words[0], '/') &&
		!launch_program_in(getenv("PATH"), words[0], path))
		ret = -ENOENT;
	(void)error_set(r->call->error, ret, NULL, "cannot run %s: %s", words[0], strerror(-ret));
	ret = ret == -ENOENT ? RUN_NOT_FOUND : RUN_FORBIDDEN;
	run_audit_refused(r, ret, r->call->error->text);
	return ret;
}
