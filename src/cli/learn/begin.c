/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the first run: what would make all of them fail, or their result be of no use, is said
 * now and not after minutes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/learn/internal.h"
#include "cli/load.h"
#include "cli/profile/profile.h"
#include "cli/project/project.h"

/* A profile that is not known, or does not fit the folder. One that FILE extends is found by the
 * first run, which names FILE. */
static int begin_check_profile(struct learn *l, struct load *load)
{
	struct profile profile = { 0 };
	struct error *e = l->call->error;
	int r = profile_open(&profile, l->call, l->profile, load);

	profile_deinit(&profile);
	if (r == -EPERM)
		error_hint(e, "change to the folder of a project");
	return r;
}

int learn_begin_output(struct learn *l)
{
	const char *name = strrchr(l->output, '/'), *folder = ".";
	int r = 0;

	/* A project's file has another grammar, and one that cannot be read stops every run. */
	if (strcmp(name ? name + 1 : l->output, PROJECT_NAME) == 0) {
		r = error_set(l->call->error, -EINVAL, NULL,
			"%s: the name is that of a project's file, which learn does not write",
			l->output);
		error_hint(l->call->error,
			"write to another file, such as --output policy.yaml, and copy its lines");
		return r;
	}
	if (name)
		folder = name == l->output ? "/"
					   : arena_strndup(l->call->arena, l->output,
						     (size_t)(name - l->output));
	if (!folder)
		return error_no_memory(l->call->error);
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
		r = -errno;
	if (r < 0)
		(void)error_set(l->call->error, r, NULL, "%s: cannot be written: %s: %s", l->output,
			folder, strerror(-r));
	if (r == -ENOENT)
		error_hint(l->call->error, "make the folder first: mkdir -p %s", folder);
	return r;
}

/* It is not part of what is learnt, nor of the runs: `run --policy` does not read it either. */
static void begin_note_project(const struct learn *l)
{
	auto_project project = { 0 };
	auto_output o = output_for(STDERR_FILENO);
	auto_fd fd = -1;
	struct error none = { 0 };
	struct call call = *l->call;
	char here[PATH_BYTES];

	call.error = &none;
	if (!getcwd(here, sizeof(here)))
		return;
	/* What is wrong with it is no matter of a policy that does without. */
	(void)project_find(&project, &call, here, l->place.home, &fd);
	if (!project.path || project.ignored)
		return;
	output_note(&o);
	output_name(&o, project.path);
	buffer_adds(&o.text,
		" is not used: a learnt policy does not build on it, nor does `corral run "
		"--policy`\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int learn_begin_check(struct learn *l, struct load *load)
{
	int r = l->is_new ? begin_check_profile(l, load) : 0;

	if (r == 0)
		begin_note_project(l);
	return r;
}
