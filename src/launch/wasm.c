/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/wasm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/module-cache.h"

static int launch_wasm_find(
	const char **program, const char **library, struct arena *a, struct error *e)
{
	const char *named = secure_getenv("CORRAL_WASM");
	const char *path = named && *named ? named : CORRAL_WASM_PATH, *slash;

	/* "": built without. */
	if (!*path) {
		(void)error_set(e, -EOPNOTSUPP, NULL,
			"this Corral was built without WASM skills, as Wasmtime was missing");
		error_hint(e, "`tools/setup wasm` fetches it; then build Corral again");
		return -EOPNOTSUPP;
	}
	if (path[0] != '/')
		return error_set(
			e, -EINVAL, NULL, "CORRAL_WASM: `%.100s` is not an absolute path", path);
	slash = strrchr(path, '/');
	*program = arena_strdup(a, path);
	*library = arena_printf(
		a, "%.*s/%s", (int)(slash - path), path, plan_worker_names[PLAN_WORKER_LIBRARY]);
	if (!*program || !*library)
		return error_no_memory(e);
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 &&
		faccessat(AT_FDCWD, *library, R_OK, AT_EACCESS) == 0)
		return 0;
	(void)error_set(e, -errno, NULL, "cannot run WASM skills: %s or %s is missing", path,
		plan_worker_names[PLAN_WORKER_LIBRARY]);
	error_hint(e, "install corral-wasm and libwasmtime.so beside it, or set CORRAL_WASM to its "
		      "path");
	return -ENOENT;
}

/* The module among the skill's files, as they were hashed. */
static int launch_wasm_find_module(
	const struct launch_skill *s, const struct skill_item **ret, struct error *e)
{
	const struct location *where = &s->manifest.wasm_where;
	const char *file = s->manifest.wasm_file;
	const struct skill_item *item = NULL;
	int r = skill_content_find(&s->content, file, &item);

	if (r == -EXDEV)
		return error_set(e, -EACCES, where,
			"the module `%s` is outside of the skill's folder", file);
	if (r == 0 && item->live)
		return error_set(e, -EACCES, where,
			"the module `%s` is in a folder that the skill may write (%s), so it "
			"cannot be run",
			file, item->path);
	if (r < 0 || item->type != SKILL_FILE)
		return error_set(e, -ENOENT, where, "the module `%s` is not a regular file", file);
	*ret = item;
	return 0;
}

int launch_wasm_prepare(struct launch_wasm *ret, const struct launch_skill *s,
	const struct limits *limits, bool serves, struct arena *a, struct error *e)
{
	struct module_input in = {
		.fuel = limits->values[LIMIT_FUEL] != LIMIT_NONE, .epochs = serves, .folder = s->fd
	};
	struct module_entry entry = { 0 };
	const struct skill_item *item = NULL;
	int r = launch_wasm_find(&in.program, &in.library, a, e);

	if (r == 0)
		r = launch_wasm_find_module(s, &item, e);
	if (r < 0 || !item)
		return r;
	memcpy(in.digest, item->hash, sizeof(in.digest));
	in.path = item->path;
	in.name = arena_printf(a, "%s/%s", s->path, item->path);
	if (!in.name)
		return error_no_memory(e);
	r = module_cache_get(&in, a, &entry, e);
	if (r < 0)
		return r;
	ret->files[PLAN_WORKER_PROGRAM] = (struct plan_worker_source){ .path = in.program };
	ret->files[PLAN_WORKER_LIBRARY] = (struct plan_worker_source){ .path = in.library };
	ret->files[PLAN_WORKER_MODULE] =
		(struct plan_worker_source){ entry.path, entry.dev, entry.ino };
	return 0;
}

void launch_wasm_limit(struct limits *limits, bool *is_default)
{
	const uint64_t module = limits->values[LIMIT_WASM_MEMORY];

	if (module > UINT64_MAX / 2 ||
		limits->values[LIMIT_MEMORY] < module + LAUNCH_WASM_ALLOWANCE)
		return;
	limits->values[LIMIT_MEMORY] = module + LAUNCH_WASM_ALLOWANCE;
	*is_default = true;
}

/* The words */

struct launch_words {
	struct arena *arena;
	const char **items;
	size_t n, cap;
	bool failed;
};

static void launch_words_add(struct launch_words *w, const char *word)
{
	w->failed = w->failed || !word || ARENA_PUSH(w->arena, w->items, w->n, w->cap, word) < 0;
}

static void launch_words_limits(struct launch_words *w, const struct limits *limits)
{
	static const struct {
		const char *name;
		enum limit limit;
	} rows[] = { { "memory", LIMIT_WASM_MEMORY }, { "fuel", LIMIT_FUEL } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t value = limits->values[rows[i].limit];

		if (value != LIMIT_NONE)
			launch_words_add(w, arena_printf(w->arena, "%s=%llu", rows[i].name,
						    (unsigned long long)value));
	}
}

/* The names of these, but for those that are among `before`. */
static void launch_words_variables(
	struct launch_words *w, const char *const *list, const char *const *before)
{
	for (size_t i = 0; list && list[i]; i++) {
		const size_t len = strcspn(list[i], "=");
		size_t k = 0;

		while (before && before[k] &&
			(strncmp(before[k], list[i], len) != 0 || before[k][len] != '='))
			k++;
		if (!before || !before[k])
			launch_words_add(w, arena_printf(w->arena, "env=%.*s", (int)len, list[i]));
	}
}

static bool launch_words_may(const struct policy *policy, enum operation op, const char *path)
{
	return policy_allows(policy, &(struct request){ .op = op, .target = path });
}

/* A folder of the host, its variable replaced as the policy has it. */
static int launch_words_folder(struct launch_words *w, const struct guest_path *g,
	const struct launch_wasm_call *c, struct error *e)
{
	const struct variables *variables = c->variables;
	const char *rest = g->host, *value = "", *host;
	enum variable v = VARIABLE_HOME;
	bool is_writable;
	int r = variable_split(g->host, &v, &rest, &g->where, e);

	if (r < 0)
		return r;
	if (r == 1) {
		value = variables->values[v];
		if (!value)
			return error_set(e, -ENOENT, &g->where, "the value of $%s is not known",
				variable_name(v));
	}
	host = r == 1 ? arena_printf(w->arena, "%s%s", value, rest) : g->host;
	if (host && !launch_words_may(c->policy, OPERATION_FS_READ, host))
		return 0;
	is_writable = g->writable && host && launch_words_may(c->policy, OPERATION_FS_WRITE, host);
	launch_words_add(w, arena_printf(w->arena, "%s=%s", is_writable ? "rw" : "ro", g->guest));
	launch_words_add(w, host ? arena_strdup(w->arena, host) : NULL);
	return 0;
}

/* The capabilities of the original's manifests, as the skill's own has them. What another layer
 * takes away, the broker refuses. */
static bool launch_wasm_is_granted(const struct manifest *m, const char *capability)
{
	const struct permissions *p = m->permissions;

	if (strcmp(capability, "network_socket") == 0)
		return m->has_sockets;
	if (strcmp(capability, "http") == 0)
		return p->network_allow.n > 0 || p->network_private.n > 0;
	for (size_t i = 0; i < p->n_services; i++) {
		if (strcmp(p->services[i].name, capability) == 0 &&
			p->services[i].access != SERVICE_NONE)
			return true;
	}
	return false;
}

static const char *const capabilities[] = { "http", "email", "browser", "network_socket" };

bool launch_wasm_has_sockets(const struct launch_skill *s)
{
	return !s || !launch_wasm_is(s) || s->manifest.has_sockets;
}

bool launch_wasm_needs_broker(const struct launch_skill *s)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		if (launch_wasm_is_granted(&s->manifest, capabilities[i]))
			return true;
	}
	return false;
}

int launch_wasm_command(const struct launch_skill *s, const struct launch_wasm_call *c,
	struct arena *a, const char ***ret, size_t *ret_n, struct error *e)
{
	struct launch_words w = { .arena = a };
	const struct permissions *p = s->manifest.permissions;
	int r = 0;

	launch_words_add(&w, PLAN_WORKER_PROGRAM_PATH);
	launch_words_add(&w, c->serves ? "serve" : "run");
	launch_words_limits(&w, c->limits);
	if (s->manifest.wasm_export)
		launch_words_add(&w, arena_printf(a, "export=%s", s->manifest.wasm_export));
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		if (launch_wasm_is_granted(&s->manifest, capabilities[i]))
			launch_words_add(&w, arena_printf(a, "grant=%s", capabilities[i]));
	}
	if (c->has_input)
		launch_words_add(&w, "input");
	launch_words_variables(&w, c->granted, NULL);
	launch_words_variables(&w, c->call_env, c->granted);
	for (size_t i = 0; r == 0 && i < p->n_guest_paths; i++)
		r = launch_words_folder(&w, &p->guest_paths[i], c, e);
	launch_words_add(&w, "--");
	launch_words_add(&w, arena_strdup(a, s->manifest.wasm_file));
	for (size_t i = 0; i < c->n_args; i++)
		launch_words_add(&w, c->args[i]);
	*ret_n = w.n;
	launch_words_add(&w, "");
	if (r < 0 || w.failed)
		return r < 0 ? r : error_no_memory(e);
	w.items[*ret_n] = NULL;
	*ret = w.items;
	return 0;
}
