/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A skill's own entry, with its own permissions. It has to be approved just as it is
 * (skill/approval.h): the digest is taken before its manifest is read and again before the start,
 * and inside the skill's folder can't be written, whatever its permissions say. What another
 * program of the same user changes in the folder between the digest and the run is not held;
 * docs/threat-model.md says who is trusted.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/run/run.h"
#include "host/runtime.h"

static int run_skill_no_memory(struct run *r)
{
	return error_no_memory(r->call->error);
}

int run_skill_open(struct run *r)
{
	struct inspection *i = &r->skill;
	struct call *c = r->call;
	const char **skill_dir = &r->load.variables.values[VARIABLE_SKILL_DIR];
	int ret = inspection_identify(i, c, r->options.skill);

	if (ret < 0)
		return ret;
	if (i->outcome != APPROVAL_CURRENT && !r->options.yes) {
		struct location where = { .file = i->path };

		(void)error_set(c->error, -EACCES, &where, "%s, so it is not run",
			inspection_outcome_text(i->outcome));
		error_hint(c->error, "look at it and approve it (corral approve %s), or say --yes",
			r->options.skill);
		return RUN_FORBIDDEN;
	}
	if (!r->load.is_set[VARIABLE_SKILL_DIR])
		*skill_dir = i->path;
	return run_guard(r, i->path);
}

/* The entry's file: in the skill's folder, and nowhere else. */
static int entry_path(struct run *r, const char **ret)
{
	const struct manifest *m = r->skill.manifest;
	struct location where = { .file = r->skill.path };
	char *joined, normal[PATH_BYTES];
	struct stat st;
	size_t len;

	if (!m->entry) {
		(void)error_set(r->call->error, -ENOENT, &where, "the skill names no entry");
		error_hint(r->call->error,
			m->wasm_file ? "it is a WASM skill, which this version does not run"
				     : "write `entry: FILE` into its manifest");
		return -ENOENT;
	}
	joined = arena_printf(r->call->arena, "%s/%s", r->skill.path, m->entry);
	if (!joined)
		return run_skill_no_memory(r);
	if (path_normalize(joined, strlen(joined), normal, &len) < 0 ||
		!path_is_below(normal, r->skill.path))
		return error_set(r->call->error, -EINVAL, &where,
			"its entry `%s` leads out of its folder", m->entry);
	if (stat(normal, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(
			r->call->error, -ENOENT, &where, "its entry `%s` is no file", m->entry);
	*ret = arena_strdup(r->call->arena, normal);
	return *ret ? 0 : run_skill_no_memory(r);
}

/* The manifest that was read is of the content that was hashed, and that is still there. */
static int run_skill_check_unchanged(struct run *r)
{
	struct location where = { .file = r->skill.path };
	struct skill_digest now = { 0 };
	int ret = skill_digest(r->skill.fd, &now, r->call->error);

	if (ret == 0 && memcmp(now.bytes, r->skill.digest.bytes, sizeof(now.bytes)) != 0)
		ret = error_set(r->call->error, -ESTALE, &where, "was changed while it was read");
	return ret;
}

/* The words in front of the skill's arguments: its runtime, if it has one, and its entry. */
int run_skill_entry(struct run *r)
{
	const char *runtime = r->skill.manifest->runtime, *entry = NULL;
	size_t n = 0;
	int ret = run_skill_check_unchanged(r);

	if (ret == 0)
		ret = entry_path(r, &entry);
	if (ret < 0 || !entry)
		return ret;
	if (!runtime && access(entry, X_OK) < 0) {
		(void)error_set(r->call->error, -EACCES, NULL, "%s is not executable", entry);
		error_hint(r->call->error,
			"write `runtime: bash` (or python3, node …) into its manifest");
		return RUN_FORBIDDEN;
	}
	r->argv = arena_calloc(r->call->arena, r->call->n + 3, sizeof(*r->argv));
	if (!r->argv)
		return run_skill_no_memory(r);
	if (runtime)
		r->argv[n++] = runtime_program(runtime);
	r->argv[n++] = entry;
	for (size_t i = 0; i < r->call->n; i++)
		r->argv[n++] = r->call->words[i];
	r->n_argv = n;
	return 0;
}
