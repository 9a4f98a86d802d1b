/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mounts cannot hold is refused here, with a sentence, before anything is made of it; where
 * the plan is narrower than the policy there is a note.
 */
#include <errno.h>
#include <string.h>

#include "jail/plan/internal.h"

static const struct location *plan_check_place_of(const struct plan_place *place)
{
	return place->answer.source ? &place->answer.source->grant->where : place->where;
}

/* Who limits a place. */
static const char *plan_check_who(struct planner *p, const struct plan_place *place)
{
	const char *text = NULL;

	if (place->origin == PLAN_FROM_EXEC && place->text && !place->answer.source)
		text = arena_printf(&p->arena, "the rule about exec (%s)", place->text);
	return text ? text : plan_look_who(p, &place->answer);
}

/* Links */

/* The first link on the way that a command may replace, and so decides nothing; NULL: none. */
static const struct plan_hop *plan_check_changing_link(
	const struct planner *p, const struct plan_place *place)
{
	for (size_t i = 0; p->hops && i < place->n_links; i++) {
		const struct plan_hop *hop = &p->hops[place->first_link + i];

		if (plan_nodes_find(p, hop->path)->access == PLAN_WRITE)
			return hop;
	}
	return NULL;
}

/*
 * The first test is about links that the policy lets commands write, or that an earlier command
 * could have made; the second also finds those in folders that are writable under another name.
 * What a program is, is never for a command to say.
 */
static int plan_check_granted_link(struct planner *p, const struct plan_place *place)
{
	bool is_policy = place->origin == PLAN_FROM_POLICY;
	const struct plan_hop *hop = place->astray ? &p->hops[place->astray - 1] : NULL;

	if (is_policy && place->answer.grant > place->there.limit) {
		(void)error_set(p->error, -EACCES, plan_check_place_of(place),
			"%s resolves to %s, which %s denies", place->path, place->real,
			plan_look_who(p, &place->answer));
		error_hint(p->error, "grant another path, or change the symbolic link");
		return -EACCES;
	}
	if (!hop && !(is_policy && place->there.grant >= place->answer.grant))
		hop = plan_check_changing_link(p, place);
	if (!hop)
		return 0;
	(void)error_set(p->error, -EACCES, place->where,
		"%s resolves to %s through the symbolic link %s, which %s", place->path,
		place->real, hop->path,
		hop->planted ? "an earlier command could have created"
			     : "is in a folder that commands may write");
	error_hint(p->error, "grant %s itself if that is intended", place->real);
	return -EACCES;
}

/* What is read for the next command must be what was read for this one. */
static int plan_check_guarded_link(
	struct planner *p, const struct plan_place *place, const struct plan_hop *hop)
{
	const struct location where = { .file = place->path };

	(void)error_set(p->error, -EPERM, &where,
		"is reached through %s %s, which commands may change",
		hop->target ? "the symbolic link" : "the folder", hop->path);
	error_hint(p->error, "use the path of the file itself: %s", place->real);
	return -EPERM;
}

static int plan_check_links(struct planner *p, const struct plan_place *place)
{
	bool is_wanted = place->origin == PLAN_FROM_POLICY || place->runs == PLAN_RUNS;
	const struct plan_hop *hop;

	if (place->n_links == 0)
		return 0;
	if (is_wanted && place->exists && place->answer.grant > PLAN_NONE)
		return plan_check_granted_link(p, place);
	if (place->answer.limit >= PLAN_WRITE || place->special != PLAN_ORDINARY)
		return 0;
	/* A mount on what a link leads to does not keep a command from replacing the link. */
	hop = plan_check_changing_link(p, place);
	if (!hop)
		return 0;
	if (place->origin == PLAN_FROM_GUARDED)
		return plan_check_guarded_link(p, place, hop);
	(void)error_set(p->error, -EOPNOTSUPP, plan_check_place_of(place),
		"%s is restricted by %s, but commands can replace the symbolic link %s in its "
		"path",
		place->path, plan_look_who(p, &place->answer), hop->path);
	error_hint(p->error, "use the path that it resolves to (%s), or grant fewer folders",
		place->real);
	return -EOPNOTSUPP;
}

/* A mount covers a name; a file with two is reached by the other. */
static int plan_check_names(struct planner *p, const struct plan_place *place)
{
	const struct plan_node *node;
	uint64_t covered = 0; /* how many names of the file are limited as much */
	bool is_wanted;

	if (place->names < 2 || place->answer.limit == PLAN_WRITE)
		return 0;
	node = plan_nodes_find(p, place->real);
	/* With a list a program's other name does not run. */
	is_wanted = place->origin == PLAN_FROM_POLICY ||
		    (place->origin == PLAN_FROM_EXEC && place->runs == PLAN_RUNS_NOT &&
			    !p->plan->exec_listed) ||
		    (place->origin == PLAN_FROM_GUARDED && p->nodes[node->up].access == PLAN_WRITE);
	if (!is_wanted || p->nodes[node->up].kind != PLAN_BIND)
		return 0;
	for (size_t i = 0; i < p->n_nodes; i++) {
		node = &p->nodes[i];
		covered += node->exists && node->dev == place->dev && node->ino == place->ino &&
			   node->limit <= place->answer.limit;
	}
	if (covered >= place->names)
		return 0;
	(void)error_set(p->error, -EOPNOTSUPP, plan_check_place_of(place),
		"%s is denied by %s, but it has another hard link, and only one path can be "
		"masked",
		place->path, plan_check_who(p, place));
	if (place->origin == PLAN_FROM_EXEC)
		error_hint(p->error, "deny its other paths as well: find / -xdev -samefile %s",
			place->path);
	else
		error_hint(p->error, "replace it by a copy: cp %s x && mv x %s", place->path,
			place->path);
	return -EOPNOTSUPP;
}

/* What does not exist */

static int plan_check_refuse_baseline(struct planner *p, const struct plan_node *around)
{
	const struct plan_place *linked = NULL;
	char names[200] = "";
	size_t n = 0;

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct plan_node *other = &p->nodes[i];
		size_t used = strlen(names), len = strlen(other->path);

		if (other->exists || !other->limiter ||
			other->limiter->origin != PLAN_FROM_BASELINE ||
			&p->nodes[p->nodes[other->up].mount] != around)
			continue;
		n++;
		linked = other->limiter->n_links ? other->limiter : linked;
		if (n > 3 || used + len + 3 > sizeof(names))
			continue;
		(void)stpcpy(stpcpy(names + used, used ? ", " : ""), other->path);
	}
	(void)error_set(p->error, -EOPNOTSUPP, around->granter ? around->granter->where : NULL,
		"%s may be written, so %s%s could be created, which the baseline denies",
		around->path, names, n > 3 ? " and more" : "");
	if (linked)
		error_hint(p->error,
			"%s leads there: create what it leads to, remove the link, or list it in "
			"dangerously_allow",
			linked->path);
	else
		error_hint(p->error, "grant only the folders inside that are needed, or list these "
				     "paths in dangerously_allow");
	return -EOPNOTSUPP;
}

static int plan_check_absent(struct planner *p, const struct plan_node *node)
{
	const struct plan_node *up = &p->nodes[node->up], *around = &p->nodes[up->mount];
	const struct plan_place *by = node->limiter;

	/* What may not be looked at cannot be made visible either, but by who may change the mode
	 * of a folder on the way. */
	if (up->kind != PLAN_BIND || (node->hidden && up->access < PLAN_WRITE) || !by ||
		by->is_found)
		return 0;
	if (node->limit < PLAN_WRITE && up->access == PLAN_WRITE) {
		if (by->origin == PLAN_FROM_BASELINE || by->answer.baseline)
			return plan_check_refuse_baseline(p, around);
		(void)error_set(p->error, -EOPNOTSUPP, plan_check_place_of(by),
			"%s is denied by %s, but it does not exist, and commands may write the "
			"folder in which it would be created",
			by->path, plan_check_who(p, by));
		error_hint(p->error,
			"create it first, or grant only the folders in %s that are needed",
			around->path);
		return -EOPNOTSUPP;
	}
	/* What is made there later may be read, or is masked (plan_baseline_defer()). */
	if (node->limit < up->access && node->limit > PLAN_NONE && by->origin == PLAN_FROM_POLICY)
		return plan_add_note(p, plan_check_place_of(by),
			"%s does not exist; if it is created later, it can be read", by->path);
	return 0;
}

static int plan_check_missing_grant(struct planner *p, const struct plan_node *node)
{
	const struct plan_place *by = node->granter;

	if (by && by->origin == PLAN_FROM_POLICY && node->hidden && node->kind != PLAN_BIND)
		return plan_add_note(p, by->where,
			"commands have no permission to reach %s, so it is not visible to them",
			by->path);
	if (!by || by->origin != PLAN_FROM_POLICY || node->grant < PLAN_WRITE ||
		node->access == PLAN_WRITE || node->limit < PLAN_WRITE)
		return 0;
	return plan_add_note(p, by->where, "%s does not exist, so %s: create it first", by->path,
		node->kind == PLAN_TMP ? "files written there are lost when the command exits"
				       : "it cannot be written");
}

/* Something allowed inside something denied: the mask is one file or one closed folder. */
static int plan_check_mask(struct planner *p, const struct plan_node *node)
{
	const struct plan_node *up = &p->nodes[node->up], *mask = &p->nodes[up->mount];

	if (node->mount == up->mount || up->kind != PLAN_MASK ||
		(node->kind != PLAN_BIND && node->kind != PLAN_SOCKET))
		return 0;
	(void)error_set(p->error, -EOPNOTSUPP,
		mask->limiter ? plan_check_place_of(mask->limiter) : NULL,
		"%s is allowed inside %s, which is denied inside an allowed folder: mounts "
		"cannot enforce this",
		node->path, mask->path);
	error_hint(p->error, "allow the folders that are needed one by one");
	return -EOPNOTSUPP;
}

/* True globs that forbid */

/* Which of two granted folders to name: where commands may write, or what the policy grants. */
static bool plan_check_tells_more(const struct plan_node *node, const struct plan_node *than)
{
	bool is_own = !node->granter || node->granter->origin == PLAN_FROM_POLICY;
	bool was_own = than && (!than->granter || than->granter->origin == PLAN_FROM_POLICY);

	return !than || (is_own && !was_own) ||
	       (is_own == was_own && node->access == PLAN_WRITE && than->access != PLAN_WRITE);
}

/* The last component of a pattern that forbids, for find(1): "" if that would be of no use. */
static void plan_check_find_name(const char *text, struct buffer *out)
{
	const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;

	if (*name && strcmp(name, "*") != 0 && strcmp(name, "**") != 0 && !strpbrk(name, "'{\\"))
		buffer_printf(out, " -name '%s'", name);
}

static int plan_check_refuse_pattern(
	struct planner *p, const struct plan_glob *g, const struct plan_node *node)
{
	auto_buffer name = { 0 };

	plan_check_find_name(g->text, &name);
	(void)error_set(p->error, -EOPNOTSUPP, g->where,
		"%s denies by a pattern inside %s: a mount can only enforce a path or a folder",
		g->text, node->path);
	error_hint(p->error,
		"write the paths of the files that exist instead (`find %s%s` lists them), or a "
		"whole folder (DIR/**)",
		node->path, buffer_text(&name));
	return -EOPNOTSUPP;
}

/* What a pattern that forbids could match; rather something granted than an essential. */
static const struct plan_node *plan_check_find_overlap(
	const struct planner *p, const struct plan_glob *g)
{
	const struct plan_node *found = NULL;
	char folder[PATH_BYTES];

	plan_globs_folder(g->alternative, folder);
	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];
		bool visible = node->kind == PLAN_BIND && node->mount == i;
		bool matches;

		if (!visible && !node->named)
			continue;
		matches = node->is_dir ? path_is_below(node->path, folder)
				       : glob_alternative_match(
						 g->alternative, node->path, strlen(node->path));
		if (!matches && !path_is_below(folder, node->path))
			continue;
		if (plan_check_tells_more(node, found))
			found = node;
	}
	return found;
}

/* A list of a layer has this path itself, as one pattern without wildcards. */
static int plan_check_is_written(
	struct planner *p, const struct grant_list *list, const struct plan_place *place)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++) {
		const struct grant *grant = &list->items[i];
		const char *path = NULL;

		if (grant->n != 1 || grant->where.line != place->where->line ||
			strpbrk(grant->all[0], "*?[{\\"))
			continue;
		r = variable_expand(p->options->variables, grant->all[0], &p->arena, &path,
			&grant->where, p->error);
		if (r == 0)
			r = strcmp(path, place->path) == 0;
	}
	return r;
}

/* /srv/data grants the folder's own name; people mean /srv/data and all in it. */
static bool plan_check_is_bare(const struct planner *p, size_t i)
{
	const struct plan_place *place = &p->places[i];
	size_t len = strlen(place->path);

	if (place->origin != PLAN_FROM_POLICY || !place->exists || !place->is_dir ||
		!place->where || !place->where->line || !place->text ||
		strpbrk(place->text, "*?[{") || place->self.grant == PLAN_NONE ||
		place->answer.grant != PLAN_NONE)
		return false;
	/* Places are in order: with one in it, the folder is a part of the way. */
	if (i + 1 < p->n && strncmp(p->places[i + 1].path, place->path, len) == 0 &&
		p->places[i + 1].path[len] == '/')
		return false;
	return true;
}

/*
 * `corral run --read ~/data` grants all in it, so the same text in a file must not mean less. Of
 * what a wildcard matched, and of a rule, which AgenShield compares with one path, it is noted.
 */
static int plan_check_bare_folder(struct planner *p, size_t at)
{
	const struct plan_place *place = &p->places[at];
	int r = 0;

	if (!plan_check_is_bare(p, at))
		return 0;
	for (size_t i = 0; r == 0 && i < p->n_layers; i++) {
		r = plan_check_is_written(p, &p->written[i]->fs_read, place);
		if (r == 0)
			r = plan_check_is_written(p, &p->written[i]->fs_write, place);
	}
	if (r < 0)
		return r;
	if (r == 0)
		return plan_add_note(p, place->where,
			"%s is a folder, and only its own name is granted: for all in it write "
			"%s/**",
			place->path, place->path);
	(void)error_set(p->error, -EOPNOTSUPP, place->where,
		"%s is a folder, and without /** only its own name would be granted, nothing in it",
		place->path);
	error_hint(p->error, "for all in it write %s/**", place->path);
	return -EOPNOTSUPP;
}

int plan_check(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++) {
		r = plan_sockets_check(p, &p->places[i]);
		/* Of what a pattern matches, this name is masked, whatever others it has. */
		if (r == 0 && !p->places[i].is_found)
			r = plan_check_links(p, &p->places[i]);
		if (r == 0 && !p->places[i].is_found)
			r = plan_check_names(p, &p->places[i]);
		if (r == 0)
			r = plan_check_bare_folder(p, i);
	}
	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		r = node->exists ? plan_check_mask(p, node) : plan_check_absent(p, node);
		if (r == 0 && !node->exists)
			r = plan_check_missing_grant(p, node);
	}
	for (size_t i = 0; r == 0 && i < p->n_globs; i++) {
		const struct plan_glob *g = &p->globs[i];
		const struct plan_node *node = g->is_masked ? NULL : plan_check_find_overlap(p, g);

		if (!node)
			continue;
		r = plan_check_refuse_pattern(p, g, node);
	}
	return r;
}
