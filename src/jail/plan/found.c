/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Denials by pattern of AgenShield's rules (permissions.is_shield). A mount can enforce a path
 * only, so what matches now is looked for, each match is a place like any other (the policy is
 * asked about it, priorities included), and what appears later is masked by the session (appear.h).
 * That a command creates a file of such a name, or renames one to it, is not prevented: one note
 * says so.
 *
 * The look is bounded: folders that may be written first, breadth first, so many folders and names.
 * It leaves out what the system installs for everyone to read: the essentials (certificates match
 * *.pem), programs and libraries. Symbolic links are not followed on the way. One that matches
 * stands for the file that it leads to; if a command could have made the link, only where it could
 * write that file as well, so that a planted link takes nothing away that its maker did not have.
 *
 * A mask on a match is looser than one on a path: the folders above it are no mounts, so that they
 * can be renamed (the mask moves along) and removed by programs of the host.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/plan/internal.h"
#include "policy/match/glob-name.h"

/* Programs and their data: found on every machine, and large. */
static const char *const system_folders[] = { "/bin", "/boot", "/dev", "/gnu/store", "/lib",
	"/nix/store", "/proc", "/sbin", "/snap", "/sys", "/usr/bin", "/usr/include", "/usr/lib",
	"/usr/libexec", "/usr/local/bin", "/usr/local/include", "/usr/local/lib", "/usr/local/sbin",
	"/usr/local/share", "/usr/sbin", "/usr/share" };
/* What is granted for reading here is not watched for later matches. */
static const char *const unwatched_folders[] = { "/etc", "/opt", "/usr", "/nix", "/run",
	"/home/linuxbrew" };

enum { PLAN_FOUND_TOO_MANY = 1 }; /* or too deep: its folder is masked */

struct found_pattern {
	const struct plan_glob *glob;
	struct glob_name name;
};

struct found_walk {
	struct planner *planner;
	struct found_pattern *patterns;
	size_t n_patterns, cap_patterns;
	const char **folders; /* to be read, in this order */
	size_t at, n, cap;
	size_t names, matches;
	bool writes; /* in what may be written; then in the rest */
	bool is_partial;
};

static bool plan_found_is_listed(const char *const *list, size_t n, const char *path)
{
	size_t i = 0;

	while (i < n && !path_is_below(path, list[i]))
		i++;
	return i < n;
}

/* Of the system, for everyone; but for what is granted there for writing. */
static bool plan_found_is_system(const struct planner *p, const char *path)
{
	if (plan_nodes_find(p, path)->access == PLAN_WRITE)
		return false;
	if (plan_found_is_listed(system_folders, ROWS(system_folders), path))
		return true;
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (place->origin == PLAN_FROM_ESSENTIALS && place->exists &&
			path_is_below(path, place->real))
			return true;
	}
	return false;
}

static bool plan_found_is_denied(const struct planner *p, const char *path)
{
	struct request r = { .op = OPERATION_FS_READ, .target = path };

	if (!policy_allows(p->policy, &r))
		return true;
	r.op = OPERATION_FS_WRITE;
	return !policy_allows(p->policy, &r);
}

/* A link that matches: whether it stands for what it leads to. */
static bool plan_found_follows(const struct planner *p, const char *link)
{
	struct plan_place end = { 0 };
	char real[PATH_BYTES];
	const struct plan_node *node;

	if (links_follow(link, NULL, NULL, real) < 0 || plan_look_at(real, &end) < 0 ||
		end.is_dir || end.is_socket)
		return false;
	node = plan_nodes_find(p, real);
	return node->kind == PLAN_BIND && !plan_found_is_system(p, real) &&
	       (node->access == PLAN_WRITE || plan_nodes_find(p, link)->access != PLAN_WRITE);
}

/*
 * A folder of which something should be masked that cannot be: it is masked as a whole. One that is
 * granted itself stays, and the note says so.
 */
static int plan_found_cover(struct found_walk *w, const char *folder)
{
	struct planner *p = w->planner;
	const struct plan_node *node = plan_nodes_find(p, folder);
	const struct plan_glob *g = w->patterns[0].glob;
	const struct plan_place place = {
		.origin = PLAN_FROM_POLICY, .text = g->text, .where = g->where, .is_found = true
	};

	if (strcmp(node->path, folder) != 0)
		return plan_add_copy(p, folder, place);
	w->is_partial = true;
	return 0;
}

static int plan_found_add(
	struct found_walk *w, const struct plan_glob *g, const char *path, int type)
{
	struct planner *p = w->planner;
	const struct plan_place place = {
		.origin = PLAN_FROM_POLICY, .text = g->text, .where = g->where, .is_found = true
	};

	if (!plan_found_is_denied(p, path) ||
		(type == DT_LNK ? !plan_found_follows(p, path) : plan_found_is_system(p, path)))
		return 0;
	if (w->matches == PLAN_FOUND_MATCHES_MAX)
		return PLAN_FOUND_TOO_MANY;
	w->matches++;
	return plan_add_copy(p, path, place);
}

static int plan_found_type(const struct dirent *d, const char *path)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type;
	return lstat(path, &st) < 0 ? DT_UNKNOWN : IFTODT(st.st_mode);
}

static int plan_found_name(
	struct found_walk *w, char path[PATH_BYTES], size_t folder, const struct dirent *d)
{
	struct planner *p = w->planner;
	size_t len = folder + 1 + strlen(d->d_name);
	const char *copy;
	int type;

	if (len >= PATH_BYTES)
		return PLAN_FOUND_TOO_MANY;
	path[folder] = '/';
	memcpy(path + folder + 1, d->d_name, len - folder);
	type = plan_found_type(d, path);
	for (size_t i = 0; i < w->n_patterns; i++) {
		const struct found_pattern *pattern = &w->patterns[i];

		if (glob_name_match(&pattern->name, path, len, path + folder + 1))
			return plan_found_add(w, pattern->glob, path, type);
	}
	if (type != DT_DIR)
		return 0;
	copy = arena_strdup(&p->arena, path);
	return copy ? ARENA_PUSH(&p->arena, w->folders, w->n, w->cap, copy) : -ENOMEM;
}

/* What cannot be listed can be opened by name if it can be searched, and by its owner anyway. */
static bool plan_found_is_closed(const char *folder)
{
	struct stat st;

	return errno == EACCES && stat(folder, &st) == 0 &&
	       (st.st_uid == geteuid() || access(folder, X_OK) == 0);
}

static int plan_found_read(struct found_walk *w, const char *folder)
{
	size_t len = folder[1] ? strlen(folder) : 0;
	char path[PATH_BYTES];
	const struct dirent *d;
	const struct plan_node *node = plan_nodes_find(w->planner, folder);
	DIR *dir;
	int r = 0;

	if (node->kind != PLAN_BIND || (node->access == PLAN_WRITE) != w->writes ||
		plan_found_is_system(w->planner, folder))
		return 0;
	dir = opendir(folder);
	if (!dir)
		return plan_found_is_closed(folder) ? plan_found_cover(w, folder) : 0;
	memcpy(path, folder, len);
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (w->names++ == PLAN_FOUND_NAMES_MAX) {
			w->is_partial = true;
			break;
		}
		r = plan_found_name(w, path, len, d);
	}
	(void)closedir(dir);
	return r == PLAN_FOUND_TOO_MANY ? plan_found_cover(w, folder) : r;
}

/* Folders that commands see: the mounts that do not lie in another one of the same list. */
static int plan_found_start(struct found_walk *w)
{
	struct planner *p = w->planner;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i], *up = &p->nodes[node->up];

		if (node->kind != PLAN_BIND || node->mount != i || !node->is_dir ||
			(node->access == PLAN_WRITE) != w->writes ||
			(i > 0 && up->kind == PLAN_BIND && (up->access == PLAN_WRITE) == w->writes))
			continue;
		r = ARENA_PUSH(&p->arena, w->folders, w->n, w->cap, node->path);
	}
	return r;
}

static int plan_found_search(struct found_walk *w)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		w->writes = i == 0;
		r = plan_found_start(w);
		for (; r == 0 && w->at < w->n; w->at++) {
			if (w->at == PLAN_FOUND_FOLDERS_MAX || w->names > PLAN_FOUND_NAMES_MAX) {
				w->is_partial = true;
				return 0;
			}
			r = plan_found_read(w, w->folders[w->at]);
		}
	}
	return r;
}

static int plan_found_prepare(struct found_walk *w)
{
	struct planner *p = w->planner;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_globs; i++) {
		const struct found_pattern pattern = { &p->globs[i],
			glob_name_of(p->globs[i].alternative) };

		if (p->globs[i].is_masked)
			r = ARENA_PUSH(
				&p->arena, w->patterns, w->n_patterns, w->cap_patterns, pattern);
	}
	return r;
}

int plan_found_collect(struct planner *p)
{
	struct found_walk w = { .planner = p };
	int r = plan_found_prepare(&w);

	if (r < 0 || w.n_patterns == 0)
		return r;
	r = plan_found_search(&w);
	p->found_matches = w.matches;
	p->found_partial = w.is_partial;
	return r;
}

/* What is said of it */

int plan_found_note(struct planner *p)
{
	const struct plan_glob *first = NULL;
	size_t n = 0;
	char more[48] = "";

	for (size_t i = 0; i < p->n_globs; i++) {
		if (!p->globs[i].is_masked)
			continue;
		first = first ? first : &p->globs[i];
		n++;
	}
	if (!first)
		return 0;
	if (n > 1)
		(void)snprintf(
			more, sizeof(more), " (and %zu more pattern%s)", n - 1, n > 2 ? "s" : "");
	return plan_add_note(p, first->where,
		"%s%s: %zu that exist are masked, and others when they appear; not enforced: a "
		"command can create a file of such a name, rename one to it, or rename the folder "
		"of one, which the next run then shows%s",
		first->text, more, p->found_matches,
		p->found_partial ? "; and there is more than was searched or masked" : "");
}

/* For the session: which folders to watch, and what is denied in them */

static int plan_found_put(struct planner *p, const char *text)
{
	struct plan *plan = p->plan;
	const char *copy = text ? arena_strdup(&plan->arena, text) : NULL;

	return copy ? ARENA_PUSH(&plan->arena, plan->appear, plan->n_appear, plan->cap_appear, copy)
		    : -ENOMEM;
}

/* A pattern of a rule, with its variable replaced. */
static int plan_found_put_pattern(
	struct planner *p, const char *text, const struct location *where, const void *data)
{
	const struct rule *rule = data;
	struct glob g;
	int r = plan_patterns_parse(p, text, where, &g);

	for (size_t i = 0; r == 0 && i < g.n; i++) {
		auto_buffer out = { 0 };

		buffer_addc(
			&out, rule->action == VERDICT_ALLOW ? PLAN_APPEAR_ALLOW : PLAN_APPEAR_DENY);
		glob_print(&g.alternatives[i], &out);
		r = out.failed ? -ENOMEM : plan_found_put(p, buffer_text(&out));
	}
	return r;
}

static int plan_found_compare(const void *a, const void *b)
{
	return rule_compare(*(const struct rule *const *)a, *(const struct rule *const *)b);
}

static int plan_found_put_layer(struct planner *p, const struct permissions *l)
{
	/* Twice as many: room to sort them. */
	const void **rules = arena_calloc(&p->arena, 2 * l->n_rules + 1, sizeof(*rules));
	const char layer[] = { PLAN_APPEAR_LAYER, '\0' };
	size_t n = 0;
	int r = rules ? plan_found_put(p, layer) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < l->n_rules; i++) {
		if (plan_is_about(&l->rules[i], 1 << OPERATION_FS_READ))
			rules[n++] = &l->rules[i];
	}
	if (r == 0)
		array_sort_pointers(rules, n, rules + l->n_rules, plan_found_compare);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct rule *rule = rules[i];

		r = plan_patterns_each(p, &rule->patterns, plan_found_put_pattern, rule);
	}
	return r;
}

static bool plan_found_is_watched(const struct planner *p, const struct plan_node *node)
{
	return node->access == PLAN_WRITE || !(plan_found_is_system(p, node->path) ||
						     plan_found_is_listed(unwatched_folders,
							     ROWS(unwatched_folders), node->path));
}

int plan_found_defer(struct planner *p)
{
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < p->n_globs; i++)
		any = any || p->globs[i].is_masked;
	for (size_t i = 0; r == 0 && any && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (node->kind == PLAN_BIND && node->mount == i && node->is_dir && !node->copied &&
			node->path[1] && plan_found_is_watched(p, node))
			r = plan_found_put(p, node->path);
	}
	for (size_t i = 0; r == 0 && any && i < p->n_layers; i++) {
		if (p->layers[i]->is_shield && p->layers[i]->mode != MODE_MONITOR)
			r = plan_found_put_layer(p, p->layers[i]);
	}
	return r;
}
