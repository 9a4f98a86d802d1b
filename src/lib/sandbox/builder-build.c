/* SPDX-License-Identifier: Apache-2.0 */
/* From a builder to a sandbox: folders, variables, the policy, and the first session. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "lib/sandbox/builder.h"
#include "lib/api/handles.h"
#include "lib/api/place.h"
#include "lib/sandbox/sandbox.h"

/* Folders */

/* Every missing folder on the way, for nobody but the user. */
static int make_folders(const char *path, struct error *e)
{
	char part[PATH_BYTES];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return error_set(e, -ENAMETOOLONG, NULL, "the name of %s is too long", path);
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return error_set(e, -errno, NULL, "cannot make the folder %s: %s", part,
				strerror(errno));
		part[i] = i < len ? '/' : '\0';
	}
	return 0;
}

/* Inside, things have the names that they have without links. */
static int builder_build_real_folder(
	struct arena *a, const char *path, const char **ret, struct error *e)
{
	char real[PATH_BYTES];
	struct stat st;

	if (!realpath(path, real) || stat(real, &st) < 0)
		return error_set(
			e, -errno, NULL, "cannot use the folder %s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return error_set(e, -ENOTDIR, NULL, "%s is no folder", path);
	*ret = arena_strdup(a, real);
	return *ret ? 0 : -ENOMEM;
}

/* These two are private folders inside, and need not exist on the host. */
static bool may_be_missing(enum variable v)
{
	return v == VARIABLE_HOME || v == VARIABLE_TEMP;
}

static int set_variable(struct sandbox_base *s, enum variable v, const char *value, struct error *e)
{
	struct stat st;

	if (!may_be_missing(v) || stat(value, &st) == 0)
		return builder_build_real_folder(&s->arena, value, &s->variables.values[v], e);
	s->variables.values[v] = arena_strdup(&s->arena, value);
	return s->variables.values[v] ? 0 : -ENOMEM;
}

static int builder_build_set_variables(
	struct sandbox_base *s, const struct corral_builder *b, struct error *e)
{
	int r = 0;

	/* The work folder may be the same, or below. */
	if (b->variables[VARIABLE_DATA_DIR])
		r = make_folders(b->variables[VARIABLE_DATA_DIR], e);
	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++) {
		const char *value = b->variables[v];

		if (!value && v == VARIABLE_HOME)
			value = place_home();
		if (!value && v == VARIABLE_TEMP)
			value = PLACE_TEMP;
		if (value)
			r = set_variable(s, (enum variable)v, value, e);
	}
	return r;
}

/* The policy */

static int combine(const struct corral_builder *b, struct permissions **ret, struct error *e)
{
	const struct permissions *all[1 + BUILDER_LAYERS_MAX] = { b->granted };

	for (size_t i = 0; i < b->n_restrictions; i++)
		all[1 + i] = b->restrictions[i];
	return sandbox_combine(ret, all, 1 + b->n_restrictions, e);
}

/* The host */

static int copy_environment(struct sandbox_base *s)
{
	size_t n = 0;
	const char **copy;

	while (environ && environ[n])
		n++;
	copy = arena_calloc(&s->arena, n + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		copy[i] = arena_strdup(&s->arena, environ[i]);
		if (!copy[i])
			return -ENOMEM;
	}
	s->environment = copy;
	return 0;
}

static int find_warden(struct sandbox_base *s, const struct corral_builder *b)
{
	const char *path = b->warden ? b->warden : secure_getenv("CORRAL_WARDEN");

	s->warden = arena_strdup(&s->arena, path && *path ? path : CORRAL_WARDEN_PATH);
	return s->warden ? 0 : -ENOMEM;
}

static int builder_build_set_up(
	struct sandbox_base *s, const struct corral_builder *b, struct error *e)
{
	int r = builder_build_set_variables(s, b, e);

	if (r == 0)
		r = copy_environment(s);
	if (r == 0)
		r = account_name("/etc/passwd", getuid(), s->user);
	if (r == 0)
		r = find_warden(s, b);
	s->backend = &backends[b->backend];
	s->limits = b->limits;
	s->is_skill = b->is_skill;
	s->unapproved = b->unapproved;
	s->sink = b->sink;
	s->context = b->context;
	return r;
}

static int builder_build_check(const struct corral_builder *b, struct error *e)
{
	/* What only a jail could enforce would be a promise that nobody keeps. */
	const struct {
		const char *name;
		bool given;
	} held[] = {
		{ "grants and denials", b->touched },
		{ "a restriction", b->n_restrictions > 0 },
		{ "a limit of memory", b->limits.values[LIMIT_MEMORY] != LIMIT_NONE },
		{ "a limit of processes", b->limits.values[LIMIT_PIDS] != LIMIT_NONE },
	};

	if (b->code < 0) {
		*e = b->error;
		return b->code;
	}
	if (b->backend == BACKEND_NONE)
		for (size_t i = 0; i < ROWS(held); i++)
			if (held[i].given)
				return error_set(e, -EOPNOTSUPP, NULL,
					"mode rwx confines nothing, so %s can't be held",
					held[i].name);
	if (b->refusal.text[0] && !b->unapproved) {
		*e = b->refusal;
		return -EACCES;
	}
	if (!b->broker)
		return 0;
	(void)error_set(e, -EOPNOTSUPP, NULL, "this version of Corral has no broker");
	error_hint(e, "build the sandbox without corral_builder_with_broker()");
	return -EOPNOTSUPP;
}

int corral_builder_build(
	struct corral_builder *b, struct corral_sandbox **ret, struct corral_error **e)
{
	struct sandbox_base base = { 0 };
	struct permissions *permissions = NULL;
	struct error error = { 0 };
	int r = builder_build_check(b, &error);

	if (r == 0)
		r = builder_build_set_up(&base, b, &error);
	if (r == 0)
		r = combine(b, &permissions, &error);
	if (r == 0)
		r = sandbox_new(ret, &base, permissions, &error);
	else
		arena_deinit(&base.arena);
	return r < 0 ? handles_error(e, &error, r) : 0;
}
