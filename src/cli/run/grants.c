/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single grants of the command line. They join every layer of the base: (A ∩ B) ∪ G is
 * (A ∪ G) ∩ (B ∪ G). What a layer denies it goes on denying.
 *
 * People name folders where the grammar wants patterns, and name them from where they are. So a
 * relative path is taken from the current folder, a folder that exists stands for all in it, and a
 * path without wildcards is granted with what its links lead to, since the kernel will see that. A
 * link that an earlier command could have made (host/planted.h) is granted by its name alone; the
 * plan refuses it unless what it leads to is granted as well.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/run.h"
#include "host/links.h"
#include "host/planted.h"
#include "host/resolver.h"
#include "policy/match/glob.h"
#include "policy/network/listen.h"
#include "policy/format/permissions-text.h"
#include "policy/variable.h"

enum { LEAVES_MAX = 256 };

/* One option's way into the permissions. */
struct grant_kind {
	const char *option;
	enum permission_list list;
};

static const struct grant_kind kind_read = { "--read", LIST_FS_READ };
static const struct grant_kind kind_write = { "--write", LIST_FS_WRITE };
static const struct grant_kind kind_deny = { "--deny", LIST_FS_DENY };
static const struct grant_kind kind_dangerous = { "--dangerously-allow", LIST_DANGEROUSLY_ALLOW };
static const struct grant_kind kind_net = { "--net", LIST_NETWORK_ALLOW };
static const struct grant_kind kind_private = { "--net-private", LIST_NETWORK_PRIVATE };
static const struct grant_kind kind_exec = { "--exec", LIST_EXEC };
static const struct grant_kind kind_listen = { "--listen", LIST_LISTEN };
static const struct grant_kind kind_pages = { PRESET_ORIGIN "pages", LIST_NONE };
static const struct grant_kind kind_env = { "--env", LIST_ENV };

/* Calls one for each layer that the base really has, however they are nested. */
typedef int visit(
	struct run *r, struct permissions *p, const struct grant_kind *k, const char *pattern);

static int for_each_layer(
	struct run *r, visit *one, const struct grant_kind *k, const char *pattern)
{
	const struct permissions *leaves[LEAVES_MAX];

	for (size_t i = 0; i < r->n_base; i++) {
		int n = permissions_layers(r->base[i], leaves, LEAVES_MAX), ret = 0;

		if (n < 0)
			return error_set(r->call->error, n, NULL, "the policy has too many layers");
		/* They are this run's own; permissions_layers() only looks at them. */
		for (int j = 0; ret == 0 && j < n; j++)
			ret = one(r, (struct permissions *)leaves[j], k, pattern);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int run_grants_add(
	struct run *r, struct permissions *p, const struct grant_kind *k, const char *pattern)
{
	struct location where = { .file = k->option };
	struct grant_list *list = permissions_list(p, k->list);
	int ret = permissions_add(p, list, pattern, &where);

	if (ret == 0 && k->list == LIST_FS_WRITE)
		ret = run_later_allow(r, p, pattern);
	return ret < 0 ? error_no_memory(r->call->error) : 0;
}

static int run_grants_grant(struct run *r, const struct grant_kind *k, const char *text)
{
	struct location where = { .file = k->option };
	const char *pattern;
	int ret = permissions_list_canonical(
		k->list, text, r->call->arena, &pattern, &where, r->call->error);

	return ret < 0 ? ret : for_each_layer(r, run_grants_add, k, pattern);
}

/* Paths */

/* Just this path, and if it is a folder all that is in it. */
static int grant_literal(struct run *r, const struct grant_kind *k, const char *path)
{
	auto_buffer pattern = { 0 };
	struct stat st;

	glob_print_literal(path, strlen(path), &pattern);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		buffer_adds(&pattern, strcmp(path, "/") == 0 ? "**" : "/**");
	return pattern.failed ? error_no_memory(r->call->error)
			      : run_grants_grant(r, k, buffer_text(&pattern));
}

struct hops {
	struct run *run;
	const struct grant_kind *kind;
};

static int grant_hop(void *data, const char *path)
{
	const struct hops *h = data;

	return grant_literal(h->run, h->kind, path);
}

/* In the working folder of a profile that lets it be written. */
static bool is_workspace(const struct run *r, const char *path)
{
	const struct permissions *profile =
		r->profile.permissions ? r->profile.permissions : r->builtin.permissions;

	return profile && profile->fs_write.n &&
	       path_is_below(path, r->load.variables.values[VARIABLE_WORK_DIR]);
}

static int grant_path(struct run *r, const struct grant_kind *k, const char *path)
{
	struct hops hops = { r, k };
	struct planted planted;
	int ret = planted_find(path, r->load.variables.values[VARIABLE_HOME], &planted);

	/* A denial is about what is there, too. */
	if (ret >= 0 && k->list == LIST_FS_DENY)
		return grant_literal(r, k, planted.real);
	if (ret == 1)
		return grant_literal(r, k, path);
	if (ret == 0)
		ret = grant_literal(r, k, path);
	if (ret == 0)
		ret = links_follow(path, grant_hop, &hops, planted.real);
	if (ret < 0 && !r->call->error->text[0])
		return error_set(
			r->call->error, ret, NULL, "%s: %s: %s", k->option, path, strerror(-ret));
	return ret;
}

/* A relative pattern with wildcards: the current folder is taken literally. */
static int absolute_pattern(struct run *r, const char *text, struct buffer *out)
{
	char folder[PATH_BYTES];
	const char *here = NULL;
	size_t len;
	int ret = load_absolute(r->call, ".", &here);

	if (ret < 0)
		return ret;
	memcpy(folder, here, strlen(here) + 1);
	for (;;) {
		size_t dots = strspn(text, "."), slashes = strspn(text + dots, "/");

		if (dots < 1 || dots > 2 || slashes == 0)
			break;
		len = strlen(folder);
		if (dots == 2 && len > 1)
			*(strrchr(folder, '/') + (strrchr(folder, '/') == folder)) = '\0';
		text += dots + slashes;
	}
	len = strlen(folder);
	glob_print_literal(folder, len > 1 ? len : 0, out);
	buffer_printf(out, "/%s", text);
	return out->failed ? error_no_memory(r->call->error) : 0;
}

/* A file in a folder of the home that is there: if the command makes it, it is kept (replaced.c).
 */
static bool is_made_later(const struct run *r, const char *path)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	char folder[PATH_BYTES];
	size_t len = (size_t)(strrchr(path, '/') - path);

	if (!home || !path_is_below(path, home) || len == 0 || len >= sizeof(folder))
		return false;
	memcpy(folder, path, len);
	folder[len] = '\0';
	return access(folder, W_OK) == 0;
}

/* Most likely it was misspelt: inside it is absent, or made in a folder that is not kept. */
static int note_missing(struct run *r, const struct grant_kind *k, const char *path)
{
	auto_output o = output_for(STDERR_FILENO);
	struct options_list *missing = &r->missing;
	const bool is_write = k->list == LIST_FS_WRITE;

	if (k->list == LIST_FS_DENY || k->list == LIST_DANGEROUSLY_ALLOW ||
		access(path, F_OK) == 0 || errno != ENOENT || (is_write && is_workspace(r, path)))
		return 0;
	if (is_write &&
		ARENA_PUSH(r->call->arena, missing->items, missing->n, missing->cap, path) < 0)
		return error_no_memory(r->call->error);
	if (r->options.json || preset_is_origin(k->option) || (is_write && is_made_later(r, path)))
		return 0;
	output_note(&o);
	buffer_printf(&o.text, "%s: ", k->option);
	output_foreign(&o, path);
	buffer_printf(&o.text, " does not exist%s\n",
		k->list == LIST_FS_WRITE
			? ", so files written there are lost when the command exits: create it "
			  "first"
			: "");
	(void)output_write(&o, STDERR_FILENO, NULL);
	return 0;
}

/* The path that a text without wildcards means; shells leave the ~ of --read=~/data to us. */
static int run_grants_plain_path(
	struct run *r, const struct grant_kind *k, const char *text, const char **ret)
{
	struct location where = { .file = k->option };
	const char *rest = NULL, *value = NULL;
	enum variable v;
	int n = text[0] == '$' || text[0] == '~'
			? variable_split(text, &v, &rest, &where, r->call->error)
			: 0;

	if (n < 0)
		return n;
	if (n > 0)
		value = r->load.variables.values[v];
	if (n > 0 && !value)
		return error_set(r->call->error, -ENOENT, &where, "%s: %s has no value", text,
			variable_name(v));
	if (value)
		text = arena_printf(r->call->arena, "%s%s", value, rest);
	return text ? load_absolute(r->call, text, ret) : error_no_memory(r->call->error);
}

static int grant_file(struct run *r, const struct grant_kind *k, const char *text)
{
	bool is_plain = !strpbrk(text, "*?[]{}\\"), is_variable = text[0] == '$' || text[0] == '~';
	auto_buffer pattern = { 0 };
	const char *path = NULL;
	int ret = 0;

	if (!*text)
		return options_misused(r->call, "%s: the path is empty", k->option);
	if (is_plain) {
		ret = run_grants_plain_path(r, k, text, &path);
		if (ret < 0 || !path)
			return ret;
		ret = note_missing(r, k, path);
		return ret < 0 ? ret : grant_path(r, k, path);
	}
	if (text[0] != '/' && !is_variable)
		ret = absolute_pattern(r, text, &pattern);
	return ret < 0 ? ret : run_grants_grant(r, k, pattern.len ? buffer_text(&pattern) : text);
}

/* Programs */

static bool run_grants_is_open(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].operations & 1U << OPERATION_EXEC)
			return false;
	}
	return !p->exec_listed;
}

/*
 * Where --exec is given, it is the list of a profile that has none: who names programs means no
 * others. A policy from a file, a skill and a mode mean what they say; without a list any program
 * may run there that can be read, so that is what a grant has to give.
 */
static void run_grants_begin_list(struct run *r)
{
	const struct permissions *leaves[LEAVES_MAX];
	int n = r->options.exec.n && r->profile.permissions
			? permissions_layers(r->profile.permissions, leaves, LEAVES_MAX)
			: 0;

	for (int i = 0; i < n; i++) {
		if (!run_grants_is_open(leaves[i]))
			return;
	}
	/* They are this run's own, as above. */
	for (int i = 0; i < n; i++)
		((struct permissions *)leaves[i])->exec_listed = true;
}

static int run_grants_add_program(
	struct run *r, struct permissions *p, const struct grant_kind *k, const char *pattern)
{
	return run_grants_is_open(p) == (k->list == LIST_FS_READ) ? run_grants_add(r, p, k, pattern)
								  : 0;
}

static int run_grants_read_program(void *data, const char *path)
{
	struct run *r = data;
	struct grant_kind k = kind_read;
	auto_buffer pattern = { 0 };

	k.option = kind_exec.option;
	glob_print_literal(path, strlen(path), &pattern);
	return pattern.failed
		       ? error_no_memory(r->call->error)
		       : for_each_layer(r, run_grants_add_program, &k, buffer_text(&pattern));
}

/* A user may take a grant for a bound. */
static void note_open(const struct run *r, const char *text)
{
	const struct permissions *leaves[LEAVES_MAX];
	auto_output o = output_for(STDERR_FILENO);

	for (size_t i = 0; i < r->n_base; i++) {
		int n = permissions_layers(r->base[i], leaves, LEAVES_MAX);

		for (int j = 0; j < n; j++) {
			if (!run_grants_is_open(leaves[j]))
				return;
		}
	}
	output_note(&o);
	buffer_adds(&o.text, "--exec ");
	output_foreign(&o, text);
	buffer_adds(&o.text, " has no effect: without a list of programs in the policy, every "
			     "readable program may run\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

static int grant_program(struct run *r, const struct grant_kind *k, const char *text)
{
	struct location where = { .file = k->option };
	const char *path = text, *pattern;
	int ret = 0;

	if (text[0] != '/' && strchr(text, '/') && !strpbrk(text, " :*?[]{}\\"))
		ret = load_absolute(r->call, text, &path);
	if (ret == 0)
		ret = permissions_canonical(list_rows[k->list].op, path, r->call->arena, &pattern,
			&where, r->call->error);
	if (ret == 0)
		ret = for_each_layer(r, run_grants_add_program, k, pattern);
	if (ret == 0)
		ret = resolver_system.programs(
			resolver_system.context, path, run_grants_read_program, r);
	if (ret == -ENOENT)
		ret = 0; /* a pattern, or not there: nothing to be read */
	if (ret == 0)
		note_open(r, text);
	return ret;
}

/* A port of the sandbox on the host. */
static int grant_port(struct run *r, const struct grant_kind *k, const char *text)
{
	struct location where = { .file = k->option };
	auto_buffer canonical = { 0 };
	struct listen_entry l;
	int ret = listen_parse(text, &l, &where, r->call->error);

	if (ret < 0)
		return ret;
	listen_print(&l, &canonical);
	return canonical.failed ? error_no_memory(r->call->error)
				: for_each_layer(r, run_grants_add, k, buffer_text(&canonical));
}

/* Few in a run, as often as a person logs in. */
static int run_grants_add_pages(
	struct run *r, struct permissions *p, const struct grant_kind *k, const char *pattern)
{
	const struct service entry = { .name = "browser",
		.access = SERVICE_LOGIN,
		.bounds = { .rate = { RUN_PAGES_MAX, RUN_PAGES_SECONDS } },
		.where = { .file = k->option } };
	int ret = permissions_add_service(p, &entry);
	struct service_scope *domains =
		ret == 0 ? permissions_scope(p, &p->services[p->n_services - 1], "domains") : NULL;

	(void)pattern;
	for (size_t i = 0; domains && ret == 0 && i < r->presets.n_pages; i++)
		ret = permissions_add(p, &domains->values, r->presets.pages[i], &entry.where);
	return ret < 0 || !domains ? error_no_memory(r->call->error) : 0;
}

/* What presets grant, each by the way of its option. */
static int run_grants_presets(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < r->presets.n_grants; i++) {
		const struct run_preset_grant *g = &r->presets.grants[i];
		const struct grant_kind k = { g->origin, g->list };

		if (list_rows[g->list].op == OPERATION_FS_READ ||
			list_rows[g->list].op == OPERATION_FS_WRITE)
			ret = grant_file(r, &k, g->text);
		else if (g->list == LIST_LISTEN)
			ret = grant_port(r, &k, g->text);
		else
			ret = run_grants_grant(r, &k, g->text);
	}
	if (ret == 0 && r->presets.n_pages)
		ret = for_each_layer(r, run_grants_add_pages, &kind_pages, NULL);
	return ret;
}

int run_grants_show(struct run *r, const char *path)
{
	static const struct grant_kind kind_agent = { "--ssh-agent", LIST_FS_READ };

	return grant_literal(r, &kind_agent, path);
}

int run_grants(struct run *r)
{
	const struct run_options *o = &r->options;
	const struct {
		const struct options_list *given;
		const struct grant_kind *kind;
		int (*grant)(struct run *r, const struct grant_kind *k, const char *text);
	} rows[] = {
		{ &o->read, &kind_read, grant_file },
		{ &o->write, &kind_write, grant_file },
		{ &o->deny, &kind_deny, grant_file },
		{ &o->dangerous, &kind_dangerous, grant_file },
		{ &o->net, &kind_net, run_grants_grant },
		{ &o->net_private, &kind_private, run_grants_grant },
		{ &o->listen, &kind_listen, grant_port },
		{ &o->env, &kind_env, run_grants_grant },
		{ &o->exec, &kind_exec, grant_program },
	};
	int ret = 0;

	run_grants_begin_list(r);
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (size_t k = 0; ret == 0 && k < rows[i].given->n; k++)
			ret = rows[i].grant(r, rows[i].kind, rows[i].given->items[k]);
	}
	return ret == 0 ? run_grants_presets(r) : ret;
}
