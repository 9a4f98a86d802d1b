/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list is filled from the strongest source to the weakest, and a name that is there already
 * stays as it is. So what was said for this call beats what the policy sets, that beats what the
 * host happens to have, and the usual values only fill gaps.
 *
 * All questions go to the policy. Two that it does not answer by itself are answered from the
 * grants it was compiled from: whether some layer grants a variable at all (layers that allow
 * everything by default would let every secret of the host in), and whether a grant spells out the
 * name.
 */
#include "host/environment.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/env-name.h"
#include "policy/explain.h"
#include "policy/layer.h"

/*
 * BYTES_MAX: what the kernel takes with the smallest usual stack, and room for arguments. ITEM_MAX:
 * its MAX_ARG_STRLEN. PLAIN_MAX: no locale and no terminal has a longer name.
 */
enum { BYTES_MAX = 1 << 20, ITEM_MAX = 128 << 10, VARIABLES_MAX = 8192, PLAIN_MAX = 64 };

#define PATH_USUAL "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct environment {
	struct arena *arena;
	const struct environment_options *o;
	struct error *error;
	const char **items;
	size_t n, cap, bytes;
};

/* The list */

static bool environment_has(const struct environment *env, const char *name, size_t name_len)
{
	for (size_t i = 0; i < env->n; i++) {
		const char *item = env->items[i];

		if (item[0] == name[0] && strncmp(item, name, name_len) == 0 &&
			item[name_len] == '=')
			return true;
	}
	return false;
}

static int environment_refuse_size(const struct environment *env, const char *name)
{
	auto_buffer shown = { 0 };

	buffer_add_visible(&shown, name, strcspn(name, "="));
	error_set(env->error, -E2BIG, NULL,
		"the environment is too large: %.100s and later variables do not fit",
		buffer_text(&shown));
	error_hint(env->error, "grant fewer variables, or pass large values in a file");
	return -E2BIG;
}

/* NAME=value as it is, which must live as long as the list; unless it is there already. */
static int environment_keep(struct environment *env, const char *item)
{
	size_t len = strlen(item) + 1;

	if (environment_has(env, item, strcspn(item, "=")))
		return 0;
	if (len > ITEM_MAX || len > BYTES_MAX - env->bytes || env->n >= VARIABLES_MAX)
		return environment_refuse_size(env, item);
	env->bytes += len;
	return ARENA_PUSH(env->arena, env->items, env->n, env->cap, item);
}

/* A copy of it. */
static int environment_add(struct environment *env, const char *item)
{
	const char *copy;

	if (environment_has(env, item, strcspn(item, "=")))
		return 0;
	copy = arena_strdup(env->arena, item);
	return copy ? environment_keep(env, copy) : -ENOMEM;
}

/* The same from two pieces. */
static int environment_set(struct environment *env, const char *name, const char *value)
{
	size_t name_len = strlen(name), len = strlen(value);
	char *item;

	if (environment_has(env, name, name_len))
		return 0;
	item = arena_alloc(env->arena, name_len + len + 2);
	if (!item)
		return -ENOMEM;
	memcpy(item, name, name_len);
	item[name_len] = '=';
	memcpy(item + name_len + 1, value, len);
	return environment_keep(env, item);
}

/* What the policy says */

static bool environment_is_allowed(const struct environment *env, const char *target)
{
	return policy_allows(
		env->o->policy, &(struct request){ .op = OPERATION_ENV, .target = target });
}

/* A grant of some layer lets it in, not only a default or that the layer just watches. */
static bool environment_is_granted(const struct environment *env, const char *target)
{
	const struct request r = { .op = OPERATION_ENV, .target = target };

	for (size_t i = 0; i < policy_layers(env->o->policy); i++) {
		struct decision d;

		if (policy_decide_layer(env->o->policy, i, &r, &d) == 0 && d.why == DECISION_RULE &&
			d.would == VERDICT_ALLOW)
			return true;
	}
	return false;
}

/* Some grant is this very NAME, or NAME=value. */
static bool is_spelled_out(const struct environment *env, const char *text)
{
	for (size_t i = 0; i < policy_layers(env->o->policy); i++) {
		const struct sources *s = &policy_layer(env->o->policy, i)->sources[OPERATION_ENV];

		for (size_t k = 0; k < s->n; k++) {
			const struct grant *g = s->items[k].grant;

			for (size_t j = 0; s->items[k].in->verdict == VERDICT_ALLOW && j < g->n;
				j++)
				if (strcmp(g->all[j], text) == 0)
					return true;
		}
	}
	return false;
}

const char *const environment_policies[] = { ENVIRONMENT_POLICY_FD, ENVIRONMENT_POLICY_FILE,
	ENVIRONMENT_POLICY, NULL };

bool environment_is_policy(const char *item)
{
	size_t len = strcspn(item, "=");

	for (size_t i = 0; environment_policies[i]; i++) {
		if (strlen(environment_policies[i]) == len &&
			strncmp(item, environment_policies[i], len) == 0)
			return true;
	}
	return false;
}

static bool is_ours(const char *name)
{
	return strncmp(name, "CORRAL_", 7) == 0 || environment_is_policy(name);
}

static bool needs_spelling(const char *name)
{
	static const char *const inside[] = { "HOME", "PWD", "OLDPWD", "TMPDIR" };

	for (size_t i = 0; i < ROWS(inside); i++) {
		if (strcmp(name, inside[i]) == 0)
			return true;
	}
	return env_name_is_unsafe(name, strlen(name));
}

/* The call */

static int environment_refuse(
	struct environment *env, const char *name, const char *why, const char *hint)
{
	auto_buffer shown = { 0 };

	buffer_add_visible(&shown, name, strlen(name));
	error_set(env->error, -EACCES, NULL, "the variable %.100s %s", buffer_text(&shown), why);
	error_hint(env->error, "%s", hint);
	return -EACCES;
}

static int refuse_denied(struct environment *env, const char *name)
{
	const struct request r = { .op = OPERATION_ENV, .target = name };
	auto_buffer reason = { 0 }, hint = { 0 }, line = { 0 };
	struct decision d;

	if (policy_decide(env->o->policy, &r, &d) < 0)
		return environment_refuse(env, name, "has an invalid name", "use another name");
	buffer_adds(&reason, "is not allowed: ");
	explain_reason(&r, &d, &reason);
	explain_line(&r, &d, &line);
	if (line.len)
		buffer_printf(&hint, "add %s", buffer_text(&line));
	else
		explain_remedy(&r, &d, &hint);
	return environment_refuse(env, name, buffer_text(&reason), buffer_text(&hint));
}

static int add_from_call(struct environment *env, const char *item)
{
	const char *name = arena_strndup(env->arena, item, strcspn(item, "="));
	auto_buffer hint = { 0 };

	if (!name)
		return -ENOMEM;
	if (*name == '\0' || !strchr(item, '=')) {
		error_set(env->error, -EINVAL, NULL, "invalid variable: expected NAME=value");
		return -EINVAL;
	}
	if (is_ours(name))
		return environment_refuse(env, name,
			"is reserved for Corral and never passed to a command", "use another name");
	if (!environment_is_allowed(env, name) && !environment_is_allowed(env, item))
		return refuse_denied(env, name);
	if (!needs_spelling(name) || is_spelled_out(env, name) || is_spelled_out(env, item))
		return environment_add(env, item);
	buffer_adds(&hint, "add env: [");
	buffer_add_visible(&hint, name, strlen(name));
	buffer_adds(&hint, "]");
	return environment_refuse(env, name, "must be granted by its exact name, not by a pattern",
		buffer_text(&hint));
}

/* Grants that set a value */

static int add_values(struct environment *env)
{
	int r = 0;

	for (size_t i = 0; i < policy_layers(env->o->policy); i++) {
		const struct sources *s = &policy_layer(env->o->policy, i)->sources[OPERATION_ENV];

		for (size_t k = 0; k < s->n; k++) {
			const struct grant *g = s->items[k].grant;

			if (s->items[k].in->verdict != VERDICT_ALLOW)
				continue;
			for (size_t j = 0; r == 0 && j < g->n; j++)
				if (strchr(g->all[j], '=') && !is_ours(g->all[j]) &&
					environment_is_allowed(env, g->all[j]) &&
					environment_is_granted(env, g->all[j]))
					r = environment_add(env, g->all[j]);
		}
	}
	return r;
}

/* The host */

static int add_from_host(struct environment *env, const char *item)
{
	size_t len = strcspn(item, "=");
	const char *name;

	/* What has no name cannot be granted. */
	if (len == 0 || item[len] == '\0' || is_ours(item))
		return 0;
	name = arena_strndup(env->arena, item, len);
	if (!name)
		return -ENOMEM;
	if (!environment_is_allowed(env, name) || !environment_is_granted(env, name) ||
		(needs_spelling(name) && !is_spelled_out(env, name)))
		return 0;
	return environment_add(env, item);
}

/* The usual values */

static const char *host_value(const struct environment *env, const char *name)
{
	size_t len = strlen(name);

	for (const char *const *p = env->o->host_env; p && *p; p++) {
		if (strncmp(*p, name, len) == 0 && (*p)[len] == '=')
			return *p + len + 1;
	}
	return NULL;
}

/* A locale or a terminal by its name. Either may be a path as well, and that is not passed on. */
static const char *environment_plain(const char *text)
{
	size_t n = 0;

	for (; text && text[n]; n++) {
		if (n == PLAIN_MAX ||
			(!isalnum((unsigned char)text[n]) && !strchr("_-.@+", text[n])))
			return NULL;
	}
	return n && text[0] != '.' ? text : NULL;
}

/* The user's own, where it may be run: programs start it for whoever works inside. */
static const char *environment_shell(const struct environment *env)
{
	const char *own = host_value(env, "SHELL");
	struct request asked = { .op = OPERATION_EXEC, .target = own };

	return own && own[0] == '/' && policy_allows(env->o->policy, &asked) ? own : "/bin/sh";
}

static int add_usual(struct environment *env)
{
	const struct environment_options *o = env->o;
	const char *user = o->user ? o->user : "user";
	const char *all = environment_plain(host_value(env, "LC_ALL"));
	const char *lang = all ? all : environment_plain(host_value(env, "LANG"));
	const char *term = o->tty ? environment_plain(host_value(env, "TERM")) : NULL;
	const struct {
		const char *name, *value;
	} rows[] = {
		{ "PATH", o->path ? o->path : PATH_USUAL },
		{ "HOME", o->home },
		{ "TMPDIR", o->tmp ? o->tmp : "/tmp" },
		{ "LANG", lang ? lang : "C.UTF-8" },
		{ "TERM", term ? term : "dumb" },
		{ "USER", user },
		{ "LOGNAME", user },
		{ "SHELL", environment_shell(env) },
		{ "PWD", o->cwd },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = rows[i].value ? environment_set(env, rows[i].name, rows[i].value) : 0;
	return r;
}

/* Each of them tries again, and waits longer every time, even if there is no such name; and npm
 * looks for a new version of itself. */
static int environment_add_offline(struct environment *env)
{
	static const char *const items[] = { "npm_config_fetch_retries=0",
		"npm_config_update_notifier=false", "PIP_RETRIES=0", "CARGO_NET_RETRY=0",
		"UV_HTTP_RETRIES=0" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(items); i++)
		r = environment_keep(env, items[i]);
	return r;
}

/* All together */

static int environment_add_each(struct environment *env, const char *const *list,
	int (*add)(struct environment *env, const char *item))
{
	int r = 0;

	for (; list && *list && r == 0; list++)
		r = add(env, *list);
	return r;
}

/* The strongest is first. */
static int add_granted(struct environment *env)
{
	int r = add_values(env);

	return r < 0 ? r : environment_add_each(env, env->o->host_env, add_from_host);
}

static int environment_end(struct environment *env, int r, const char *const **ret)
{
	if (r == 0)
		r = ARENA_PUSH(env->arena, env->items, env->n, env->cap, NULL);
	if (r == -ENOMEM)
		return error_no_memory(env->error);
	if (r == 0)
		*ret = env->items;
	return r;
}

int environment_granted(struct arena *a, const struct environment_options *o,
	const char *const **ret, struct error *e)
{
	struct environment env = { .arena = a, .o = o, .error = e };

	return environment_end(&env, add_granted(&env), ret);
}

/* After all that is there: what is found elsewhere is not replaced. */
static int environment_extend_path(struct environment *env)
{
	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->items[i], "PATH=", 5) != 0)
			continue;
		env->items[i] = arena_printf(env->arena, "%s%s%s", env->items[i],
			env->items[i][5] ? ":" : "", env->o->tools);
		return env->items[i] ? 0 : -ENOMEM;
	}
	return 0;
}

int environment_build(struct arena *a, const struct environment_options *o, const char *const **ret,
	size_t *ret_n, struct error *e)
{
	struct environment env = { .arena = a, .o = o, .error = e };
	int r = o->socket ? environment_set(&env, "SANDBOX_SOCKET", o->socket) : 0;

	if (r == 0 && o->http_url)
		r = environment_set(&env, "SANDBOX_HTTP_URL", o->http_url);
	if (r == 0 && o->http_token)
		r = environment_set(&env, "SANDBOX_TOKEN", o->http_token);
	if (r == 0)
		r = environment_add_each(&env, o->own_env, environment_add);
	if (r == 0)
		r = environment_add_each(&env, o->call_env, add_from_call);
	if (r == 0)
		r = o->granted ? environment_add_each(&env, o->granted, environment_keep)
			       : add_granted(&env);
	if (r == 0)
		r = add_usual(&env);
	if (r == 0 && o->offline)
		r = environment_add_offline(&env);
	if (r == 0 && o->tools)
		r = environment_extend_path(&env);
	r = environment_end(&env, r, ret);
	if (r == 0)
		*ret_n = env.n - 1;
	return r;
}
