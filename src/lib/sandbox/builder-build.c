/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox, made of the settings of a builder: folders are looked up, the host's state is copied
 * as it is now, and the permissions are put together. The builder stays as it is and can be used
 * again.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "codec/encoding.h"
#include "host/account.h"
#include "host/planted.h"
#include "launch/settings.h"
#include "lib/sandbox/builder.h"
#include "lib/sandbox/private.h"
#include "policy/format/mode.h"

/* The data folder, with every missing one on the way, for the user alone; of Omega's also the
 * folder in which its agents work. */
static int builder_make_folders(const char *path, struct error *e)
{
	auto_arena a = { 0 };
	const char *workspace = agent_mode_workspace(path, &a);
	int r = file_make_folders(workspace ? workspace : path);

	return r < 0 ? error_set(e, r, NULL, "cannot create the folder %s: %s", path, strerror(-r))
		     : 0;
}

/* What such a variable names is granted; a link that a command may have left there is not meant. */
static int builder_check_planted(const char *value, const char *home, struct error *e)
{
	struct planted planted;

	if (planted_find(value, home, &planted) != 1)
		return 0;
	(void)error_set(e, -EPERM, NULL,
		"cannot use the folder %s: it resolves to %s through the symbolic link %s, which "
		"an earlier command could have created",
		value, planted.real, planted.link);
	error_hint(e, "use %s itself if that is intended", planted.real);
	return -EPERM;
}

/* Inside, things have the names that they have without links. */
static int builder_set_variable(
	struct sandbox_base *s, enum variable v, const char *value, struct error *e)
{
	/* Two are private folders inside, and need not exist on the host; of the third `corral run`
	 * has a default, which its broker hands on. */
	bool may_be_missing = v == VARIABLE_HOME || v == VARIABLE_TEMP || v == VARIABLE_SHARED_DIR;
	char real[PATH_BYTES];
	struct stat st;

	if (!may_be_missing || stat(value, &st) == 0) {
		if (!realpath(value, real) || stat(real, &st) < 0)
			return error_set(e, -errno, NULL, "cannot use the folder %s: %s", value,
				strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return error_set(e, -ENOTDIR, NULL, "%s is not a folder", value);
		value = real;
	}
	s->variables.values[v] = arena_strdup(&s->arena, value);
	return s->variables.values[v] ? 0 : -ENOMEM;
}

static int builder_set_variables(
	struct sandbox_base *s, const struct corral_builder *b, struct error *e)
{
	const char *home =
		b->variables[VARIABLE_HOME] ? b->variables[VARIABLE_HOME] : handles_home();
	int r = 0;

	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++)
		if (b->variables[v] && v != VARIABLE_HOME && v != VARIABLE_TEMP)
			r = builder_check_planted(b->variables[v], home, e);
	/* The work folder may be the same, or below. */
	if (r == 0 && b->variables[VARIABLE_DATA_DIR])
		r = builder_make_folders(b->variables[VARIABLE_DATA_DIR], e);
	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++) {
		const char *value = b->variables[v];

		if (!value && v == VARIABLE_HOME)
			value = home;
		if (!value && v == VARIABLE_TEMP)
			value = HANDLES_TEMP;
		if (value)
			r = builder_set_variable(s, (enum variable)v, value, e);
	}
	return r;
}

/* Corral's own folders, where profiles and approvals are; those of the default are in the baseline.
 */
static const struct {
	const char *variable, *fallback;
} own_folders[] = {
	{ "XDG_CONFIG_HOME", ".config" },
	{ "XDG_STATE_HOME", ".local/state" },
};
_Static_assert(1 + ROWS(own_folders) + BUILDER_GUARDED_MAX <= CONFIGURE_GUARDED_MAX,
	"all of it fits into a frame");

static int builder_set_guarded(struct sandbox_base *s, const struct corral_builder *b)
{
	char normal[PATH_BYTES];
	size_t len;

	/* A skill's folder is a copy; but a link to it could lead to another skill. */
	if (b->source &&
		(!b->skill || (realpath(b->source, normal) && strcmp(normal, b->source) != 0)))
		s->guarded[s->n_guarded++] = arena_strdup(&s->arena, b->source);
	for (size_t i = 0; i < ROWS(own_folders); i++) {
		const char *folder = secure_getenv(own_folders[i].variable);
		const char *path = folder && folder[0] == '/'
					   ? arena_printf(&s->arena, "%s/corral", folder)
					   : arena_printf(&s->arena, "%s/%s/corral", handles_home(),
						     own_folders[i].fallback);

		if (path && path_normalize(path, strlen(path), normal, &len) == 0)
			s->guarded[s->n_guarded++] = arena_strdup(&s->arena, normal);
	}
	for (size_t i = 0; i < b->n_guarded; i++)
		s->guarded[s->n_guarded++] = arena_strdup(&s->arena, b->guarded[i]);
	for (uint32_t i = 0; i < s->n_guarded; i++)
		if (!s->guarded[i])
			return -ENOMEM;
	return 0;
}

/* Its programs, as they are named now. */
static int builder_find_broker(struct sandbox_base *s, struct error *e)
{
	struct launch_broker found;
	int r = launch_broker_find(&found, e);

	if (r < 0)
		return r;
	s->broker = (struct launch_broker){ .program = arena_strdup(&s->arena, found.program),
		.caller = found.caller ? arena_strdup(&s->arena, found.caller) : NULL };
	return s->broker.program && (s->broker.caller || !found.caller) ? 0 : -ENOMEM;
}

static void builder_make_token(struct sandbox_base *s)
{
	unsigned char bytes[sizeof(s->http_token) / 2];

	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), s->http_token);
}

static int builder_set_up(struct sandbox_base *s, const struct corral_builder *b, struct error *e)
{
	int r = builder_set_variables(s, b, e);
	const char **copy;
	size_t n = 0;

	while (environ && environ[n])
		n++;
	s->environment = copy = arena_calloc(&s->arena, n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = arena_strdup(&s->arena, environ[i]);
		if (!copy[i])
			copy = NULL;
	}
	if (r == 0 && !copy)
		r = -ENOMEM;
	if (r == 0)
		r = builder_set_guarded(s, b);
	if (r == 0)
		r = account_name("/etc/passwd", getuid(), s->user);
	s->ledger = b->ledger;
	s->lent = b->lent;
	s->no_daemon = b->no_daemon;
	s->ask_ms = b->ask_ms;
	s->of_others = b->joined;
	s->turn = b->turn;
	s->turns = b->turns;
	s->warden = arena_strdup(&s->arena, b->warden ? b->warden : warden_link_program());
	s->services = b->services ? arena_strdup(&s->arena, b->services) : NULL;
	if (r == 0 && b->services && !s->services)
		r = -ENOMEM;
	if (r == 0 && b->broker)
		r = builder_find_broker(s, e);
	if (r == 0 && b->broker_http)
		builder_make_token(s);
	s->backend = &backends[b->backend];
	s->limits = b->limits;
	s->is_skill = b->is_skill;
	s->skill = sandbox_skill_ref(b->skill);
	s->unapproved = b->unapproved;
	s->serves = b->serves;
	s->sink = b->sink;
	s->context = b->context;
	return r == 0 && !s->warden ? -ENOMEM : r;
}

static int builder_check(const struct corral_builder *b, struct error *e)
{
	/* What only a jail could enforce would be a promise that is not kept. */
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
					"mode rwx does not confine anything, so %s cannot be "
					"enforced",
					held[i].name);
	if (b->refusal.text[0] && !b->unapproved) {
		*e = b->refusal;
		return -EACCES;
	}
	if (b->broker && b->backend == BACKEND_NONE)
		return error_set(
			e, -EOPNOTSUPP, NULL, "mode rwx has no sandbox, and so no broker for one");
	return 0;
}

/* A layer that narrows names secrets to limit them; nothing is lost where none is lent. */
static int builder_check_secrets(const struct permissions *granted, struct error *e)
{
	const struct grant *g = granted && granted->secrets.n > 0 ? granted->secrets.items : NULL;
	const char *name = g && g->n > 0 ? g->all[0] : NULL;

	for (size_t i = 0; granted && i < granted->n_all_of; i++) {
		int r = builder_check_secrets(granted->all_of[i], e);

		if (r < 0)
			return r;
	}
	if (!name)
		return 0;
	(void)error_set(e, -EOPNOTSUPP, &g->where,
		"secrets: %.*s would be lent to commands, and only `corral run` lends secrets of "
		"the vault",
		(int)strcspn(name, "="), name);
	error_hint(e, "run it by `corral run`, or remove `secrets` and give it the value by "
		      "another way (docs/decisions/0185)");
	return -EOPNOTSUPP;
}

/* As they are now: a builder can be used again. */
static int builder_keep_settings(
	const struct corral_builder *b, const char *home, struct permissions **ret, struct error *e)
{
	auto_permissions *p = permissions_copy(b->granted);
	int r = p ? launch_settings_deny(p, home) : -ENOMEM;

	if (r < 0)
		return error_set(e, r, NULL, "the agent's settings: %s", strerror(-r));
	*ret = p;
	p = NULL;
	return 0;
}

int corral_builder_build(
	struct corral_builder *b, struct corral_sandbox **ret, struct corral_error **e)
{
	struct error error = { 0 };
	int r = builder_check_secrets(b->granted, &error);

	return r < 0 ? handles_error(e, &error, r) : sandbox_builder_build(b, NULL, ret, e);
}

int sandbox_builder_build(struct corral_builder *b, const struct permissions *layer,
	struct corral_sandbox **ret, struct corral_error **e)
{
	const struct permissions *all[2 + BUILDER_LAYERS_MAX] = { b->granted };
	auto_permissions *kept = NULL;
	struct sandbox_base base = { 0 };
	struct permissions *permissions = NULL;
	struct error error = { 0 };
	size_t n = 1 + b->n_restrictions;
	int r = builder_check(b, &error);

	for (size_t i = 0; i < b->n_restrictions; i++)
		all[1 + i] = b->restrictions[i];
	if (layer)
		all[n++] = layer;
	if (r == 0)
		r = builder_set_up(&base, b, &error);
	if (r == 0 && b->is_mode && base.variables.values[VARIABLE_HOME])
		r = builder_keep_settings(b, base.variables.values[VARIABLE_HOME], &kept, &error);
	if (kept)
		all[0] = kept;
	if (r == 0 && b->backend != BACKEND_NONE)
		r = private_make(&base, all, n, &error);
	if (r == 0)
		r = sandbox_combine(&permissions, all, n, &error);
	if (r == 0)
		r = sandbox_new(ret, &base, permissions, &error);
	else
		sandbox_base_deinit(&base);
	return r < 0 ? handles_error(e, &error, r) : 0;
}
