/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places with one real path become one node, and nodes a tree; see plan/internal.h for the
 * arithmetic. Sorted, a folder stands before what is in it, so the nearest node above is found by
 * going up from the node before, and one pass decides all.
 *
 * Nodes that have a mount of their own become entries of the plan. Beside these there are three
 * kinds of entries that no node asks for:
 *
 *   - folders on the way, where there is only the skeleton;
 *   - links on the way, where the host's folder that holds them is not there;
 *   - pins. A folder that holds a mount can still be renamed by a command that may write around it,
 *     and another be made in its place: `mv .git x; mkdir -p .git/hooks`. What is a mount itself
 *     cannot. So the folders between a writable mount and a cover on it are bound to themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/plan/internal.h"
#include "policy/baseline.h"

static void plan_nodes_merge(struct plan_node *node, const struct plan_place *place)
{
	const struct plan_answer *a = &place->answer;

	if (place->special != PLAN_ORDINARY) {
		node->special = place->special;
		node->text = place->text;
		node->is_base64 = place->is_base64;
		node->masks = place->special == PLAN_MASKED && a->limit > PLAN_NONE;
	}
	if (place->special == PLAN_PRIVATE)
		return;
	if (place->exists) {
		node->exists = true;
		node->is_dir = place->is_dir;
		node->dev = place->dev;
		node->ino = place->ino;
	}
	/* Its answer is about connecting, or about what is shown, not about the file. */
	if (place->special == PLAN_DOOR || place->special == PLAN_MASKED)
		return;
	if (place->runs == PLAN_RUNS_NOT || node->runs == PLAN_RUNS_AS_AROUND)
		node->runs = place->runs;
	if (a->grant > node->grant) {
		node->grant = a->grant;
		node->granter = place;
	}
	node->held = node->held || (a->limit < PLAN_WRITE && !place->is_found);
	if (a->limit < node->limit) {
		node->limit = a->limit;
		node->limiter = place;
	}
	node->hidden = node->hidden || place->hidden;
	node->named = node->named || (place->exists && place->self.grant > PLAN_NONE);
}

/* In /proc and /dev the tree makes what every program has; single devices may be granted beside. */
static bool plan_nodes_is_made_by_tree(const char *path)
{
	static const char *const made[] = { "/proc", "/dev/console", PLAN_BROKER_FOLDER, "/dev/fd",
		"/dev/full", "/dev/mqueue", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/random",
		"/dev/shm", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/dev/tty", "/dev/urandom",
		"/dev/zero" };

	for (size_t i = 0; (path[1] == 'p' || path[1] == 'd') && i < ROWS(made); i++) {
		if (path_is_below(path, made[i]))
			return true;
	}
	return false;
}

static int plan_nodes_by_real(const void *a, const void *b)
{
	const struct plan_place *x = *(const struct plan_place *const *)a;
	const struct plan_place *y = *(const struct plan_place *const *)b;

	return plan_compare_paths(x->real, y->real);
}

/* Those that count, in the order of their real paths. */
static int plan_nodes_sort(struct planner *p, const void ***ret, size_t *ret_n)
{
	/* Twice as many: room to sort them. */
	const void **sorted = arena_calloc(&p->arena, 2 * p->n, sizeof(const void *));
	size_t n = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_place *place = &p->places[i];
		bool counts = place->special != PLAN_ORDINARY || place->exists ||
			      place->origin == PLAN_FROM_POLICY ||
			      place->origin == PLAN_FROM_BASELINE ||
			      place->origin == PLAN_FROM_HIDDEN || place->runs == PLAN_RUNS_NOT;

		if (place->special == PLAN_PRIVATE ||
			(counts && !place->idle && !plan_nodes_is_made_by_tree(place->real)))
			sorted[n++] = place;
	}
	array_sort_pointers(sorted, n, sorted + p->n, plan_nodes_by_real);
	*ret = sorted;
	*ret_n = n;
	return 0;
}

static void plan_nodes_as_around(struct plan_node *node, const struct plan_node *up)
{
	node->kind = up->kind == PLAN_FILE ? PLAN_DIR : up->kind;
	node->access = up->access;
	node->exec = up->exec;
	node->copied = up->copied;
	node->mount = up->mount;
}

/* On the skeleton, or in a folder of the session's own. */
static void plan_nodes_settle_outside(
	const struct planner *p, struct plan_node *node, size_t i, const struct plan_node *up)
{
	plan_nodes_as_around(node, up);
	node->access = PLAN_NONE;
	if (node->special == PLAN_OWN)
		node->kind = PLAN_TMP;
	else if (node->masks || ((node->special == PLAN_TEXT || node->special == PLAN_COVER) &&
					node->limit > PLAN_NONE))
		node->kind = PLAN_FILE;
	else if (node->special == PLAN_PRIVATE)
		node->kind = PLAN_DIR;
	else
		return;
	node->exec = node->kind == PLAN_TMP && !p->plan->exec_listed;
	node->copied = false;
	node->mount = i;
}

/*
 * Where a list of programs exists, nothing that can be written can run. Of what a skill may write
 * in its folder nothing ever does.
 */
static bool plan_nodes_may_run(
	const struct planner *p, const struct plan_node *node, const struct plan_node *up)
{
	if (plan_skill_part(p, node->path) == PLAN_SKILL_LIVE)
		return false;
	return !p->plan->exec_listed ||
	       (node->access != PLAN_WRITE && node->runs != PLAN_RUNS_NOT &&
		       (node->runs == PLAN_RUNS || (up->kind == PLAN_BIND && up->exec)));
}

/*
 * A folder that is hidden as a whole, and has a masked file in it: nothing can be put into a mask,
 * which all hidden folders share. So it is a folder of the session's own, as empty.
 */
static void plan_nodes_open_mask(const struct planner *p, size_t up)
{
	struct plan_node *folder = &p->nodes[p->nodes[up].mount];

	if (p->nodes[up].kind != PLAN_MASK || folder->kind != PLAN_MASK || !folder->is_dir)
		return;
	folder->kind = PLAN_TMP;
	p->nodes[up].kind = PLAN_TMP;
}

static void plan_nodes_settle(const struct planner *p, size_t i)
{
	struct plan_node *node = &p->nodes[i];
	const struct plan_node *up = &p->nodes[node->up];
	/* What is around the root is nothing. */
	enum plan_access around = i > 0 && up->kind == PLAN_BIND ? up->access : PLAN_NONE;
	bool covers = node->special == PLAN_COVER && node->limit > PLAN_NONE && node->exists;

	node->masks = node->masks && !node->is_dir;
	covers = covers || (node->masks && around > PLAN_NONE && node->exists);
	if (node->masks)
		plan_nodes_open_mask(p, node->up);
	/* Whatever is around it, and whoever else names it. */
	if (node->special == PLAN_DOOR || covers) {
		node->kind = covers ? PLAN_FILE : PLAN_SOCKET;
		node->access = PLAN_NONE;
		node->exec = false;
		node->mount = i;
		return;
	}
	node->access = plan_least(node->limit, plan_most(node->grant, around));
	if (plan_skill_part(p, node->path) == PLAN_SKILL_COPIED)
		node->access = plan_least(node->access, PLAN_READ);
	if (node->special == PLAN_PRIVATE || (node->masks && around == PLAN_NONE) ||
		(around == PLAN_NONE && (!node->exists || node->access == PLAN_NONE))) {
		plan_nodes_settle_outside(p, node, i, up);
	} else if (!node->exists) {
		plan_nodes_as_around(node, up);
	} else if (node->access == PLAN_NONE) {
		node->kind = PLAN_MASK;
		node->mount = i;
	} else {
		node->kind = PLAN_BIND;
		node->copied = plan_skill_part(p, node->path) == PLAN_SKILL_COPIED;
		node->exec = plan_nodes_may_run(p, node, up);
		node->mount = around == node->access && node->exec == up->exec &&
					      node->copied == up->copied
				      ? up->mount
				      : i;
	}
}

/* The last node, from its n places. */
static void plan_nodes_fill(struct planner *p, const void *const *places, size_t n, size_t up)
{
	struct plan_node *node = &p->nodes[p->n_nodes - 1];
	const struct plan_place *first = places[0];

	*node = (struct plan_node){ .path = first->real, .limit = PLAN_WRITE, .up = up };
	for (size_t i = 0; i < n; i++)
		plan_nodes_merge(node, places[i]);
	plan_nodes_settle(p, p->n_nodes - 1);
}

/* Asks what was left unasked, where it matters; 1: there are new answers. */
static int plan_nodes_ask(struct planner *p, const void **places, size_t n)
{
	const struct plan_node *node = &p->nodes[p->n_nodes - 1];
	bool matters = node->exists || p->nodes[node->up].kind == PLAN_BIND;
	bool asked = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct plan_place *place = (struct plan_place *)places[i];

		if (!place->unasked)
			continue;
		place->idle = !matters;
		if (matters)
			r = plan_look_ask(p, place);
		asked = asked || matters;
	}
	return r < 0 ? r : asked;
}

int plan_nodes_build(struct planner *p)
{
	const void **sorted;
	size_t up = 0, n = 0;
	int r = plan_nodes_sort(p, &sorted, &n);

	p->nodes = r == 0 ? arena_calloc(&p->arena, n, sizeof(*p->nodes)) : NULL;
	p->n_nodes = 0;
	if (!p->nodes)
		return -ENOMEM;
	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		const struct plan_place *first = sorted[i];

		for (end = i + 1; end < n; end++) {
			const struct plan_place *place = sorted[end];

			if (strcmp(place->real, first->real) != 0)
				break;
		}
		while (up > 0 && !path_is_below(first->real, p->nodes[up].path))
			up = p->nodes[up].up;
		p->n_nodes++;
		plan_nodes_fill(p, sorted + i, end - i, up);
		r = plan_nodes_ask(p, sorted + i, end - i);
		if (r > 0)
			plan_nodes_fill(p, sorted + i, end - i, up);
		r = r < 0 ? r : 0;
		up = p->n_nodes - 1;
	}
	return r;
}

/* Entries */

static int plan_nodes_add_entry(struct planner *p, struct plan_entry entry)
{
	return ARENA_PUSH(&p->arena, p->entries, p->n_entries, p->cap_entries, entry);
}

/* Length of the folder that holds path[0..len); 0: the root. */
static size_t plan_nodes_parent(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? len - 1 : 0;
}

/* Made by the tree itself. */
static bool plan_nodes_is_made(const char *path)
{
	return strcmp(path, "/dev") == 0 || strcmp(path, "/proc") == 0;
}

/* The folders above path that nothing else brings along. */
static int plan_nodes_add_parents(struct planner *p, const char *path)
{
	size_t len = plan_nodes_parent(path, strlen(path)), before = p->n_entries;
	int r = 0;

	for (; r == 0 && len > 0; len = plan_nodes_parent(path, len)) {
		const char *folder = arena_strndup(&p->arena, path, len);
		const struct plan_node *node = folder ? plan_nodes_find(p, folder) : NULL;

		if (!node)
			return -ENOMEM;
		if (node->kind == PLAN_BIND || plan_nodes_is_made(folder) ||
			(before > 0 && path_is_below(p->entries[before - 1].path, folder)))
			break;
		if (node->kind == PLAN_TMP && strcmp(node->path, folder) == 0 &&
			&p->nodes[node->mount] == node)
			continue;
		r = plan_nodes_add_entry(
			p, (struct plan_entry){ .kind = PLAN_DIR, .path = folder, .is_dir = true });
	}
	return r;
}

/* 1: a folder of one that may pass has gone, and the rest of it will. */
static int plan_nodes_add_pins(
	struct planner *p, const struct plan_entry *cover, const struct plan_node *around)
{
	const char *path = cover->path;
	size_t len = plan_nodes_parent(path, strlen(path)), end = strlen(around->path);
	int r = 0;

	for (; r == 0 && len > end; len = plan_nodes_parent(path, len)) {
		struct plan_place place = { .path = arena_strndup(&p->arena, path, len) };
		struct plan_entry entry = { .kind = PLAN_BIND,
			.path = place.path,
			.is_dir = true,
			.writable = true,
			.exec = around->exec,
			.over = true,
			.passing = cover->passing };

		if (!place.path)
			return -ENOMEM;
		r = plan_look_at(place.path, &place);
		if (r == -ENOENT && cover->passing)
			return 1;
		if (r < 0)
			return error_set(p->error, r, NULL, "cannot examine %s: %s", place.path,
				strerror(-r));
		entry.dev = place.dev;
		entry.ino = place.ino;
		r = plan_nodes_add_entry(p, entry);
	}
	return r;
}

/*
 * A mask that hides sockets of the host, and nothing that the policy or the baseline names: it is
 * left out if what it hides has gone. One on a folder may stand for denied files in it, too.
 */
static bool plan_nodes_is_passing(const struct planner *p, const struct plan_node *node)
{
	const struct baseline_home home = baseline_paths_home(p->plan->home_real);

	if (!node->limiter || !node->limiter->passing)
		return false;
	if (node->is_dir && baseline_paths_reach(&home, node->path, strlen(node->path)))
		return false;
	for (size_t i = 0; node->is_dir && i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (!place->passing &&
			(path_is_below(place->path, node->path) ||
				(place->real && path_is_below(place->real, node->path))))
			return false;
	}
	return true;
}

static int plan_nodes_add_node(struct planner *p, const struct plan_node *node, enum plan_kind kind)
{
	const struct plan_node *up = &p->nodes[node->up];
	bool on_bind = node->path[1] && up->kind == PLAN_BIND;
	bool is_host = kind == PLAN_BIND || kind == PLAN_MASK;
	bool is_found = is_host && node->limiter && node->limiter->is_found && !node->held;
	struct plan_entry entry = {
		.kind = kind,
		.path = node->path,
		.text = kind == PLAN_FILE ? node->text : NULL,
		.is_base64 = kind == PLAN_FILE && node->is_base64,
		.is_dir = node->is_dir || kind == PLAN_TMP || kind == PLAN_DIR,
		.writable = kind == PLAN_TMP || node->access == PLAN_WRITE,
		.exec = node->exec && kind != PLAN_DIR && kind != PLAN_MASK,
		.copied = kind == PLAN_BIND && node->copied,
		.stands_in = kind == PLAN_BIND && plan_stand_ins_is(p, node),
		.passing = kind == PLAN_MASK && plan_nodes_is_passing(p, node),
		/* In a copy the host can't rename anything. */
		.is_found = is_found,
		.is_masked = kind == PLAN_FILE && node->masks,
		.over = on_bind && !up->copied && !is_found &&
			(node->access < up->access || node->exec != up->exec || node->copied),
		.dev = is_host ? node->dev : 0,
		.ino = is_host ? node->ino : 0,
	};
	int r = on_bind ? 0 : plan_nodes_add_parents(p, node->path);

	if (r == 0 && entry.over && up->access == PLAN_WRITE)
		r = plan_nodes_add_pins(p, &entry, &p->nodes[up->mount]);
	if (r == 1)
		return 0;
	return r < 0 ? r : plan_nodes_add_entry(p, entry);
}

/* The links on the way to something that is there, unless the host's own folder has them. */
static int plan_nodes_add_links(struct planner *p, const struct plan_place *place)
{
	const struct plan_node *end;
	int r = 0;

	if (place->n_links == 0 || (place->special == PLAN_ORDINARY &&
					   (place->self.grant == PLAN_NONE || !place->exists)))
		return 0;
	end = plan_nodes_find(p, place->real);
	if (end->kind == PLAN_MASK || (end->kind == PLAN_DIR && !end->named))
		return 0;
	for (size_t i = 0; r == 0 && i < place->n_links; i++) {
		const struct plan_hop *hop = &p->hops[place->first_link + i];
		const struct plan_node *node = plan_nodes_find(p, hop->path);
		struct plan_entry link = {
			.kind = PLAN_LINK, .path = hop->path, .text = hop->target
		};

		if (!hop->target || (node->kind != PLAN_DIR && node->kind != PLAN_TMP))
			continue;
		r = plan_nodes_add_parents(p, hop->path);
		if (r == 0)
			r = plan_nodes_add_entry(p, link);
	}
	return r;
}

static int plan_nodes_by_path(const void *a, const void *b)
{
	const struct plan_entry *x = a, *y = b;
	int r = plan_compare_paths(x->path, y->path);

	/* Of two the more solid one comes first, and a cover before a pin. */
	if (r == 0 && x->kind != y->kind)
		return x->kind > y->kind ? -1 : 1;
	return r ? r : (int)x->writable - (int)y->writable;
}

/* Into the plan: sorted, each path once, in the plan's own memory. */
int plan_nodes_make_entries(struct planner *p)
{
	struct plan *plan = p->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (node->mount == i && node->kind != PLAN_DIR)
			r = plan_nodes_add_node(p, node, node->kind);
		/* A folder that is named inside one of the session's own is just a folder. */
		else if ((node->kind == PLAN_DIR || node->kind == PLAN_TMP) && node->named &&
			 node->special != PLAN_PRIVATE && node->path[1] &&
			 node->limit > PLAN_NONE && !plan_nodes_is_made(node->path))
			r = plan_nodes_add_node(p, node, PLAN_DIR);
	}
	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = plan_nodes_add_links(p, &p->places[i]);
	if (r == 0)
		r = plan_stand_ins_add_shadows(p);
	if (r == 0 && p->n_entries > 0)
		qsort(p->entries, p->n_entries, sizeof(*p->entries), plan_nodes_by_path);
	for (size_t i = 0; r == 0 && i < p->n_entries; i++) {
		struct plan_entry entry = p->entries[i];

		if (i > 0 && strcmp(entry.path, p->entries[i - 1].path) == 0)
			continue;
		entry.path = arena_strdup(&plan->arena, entry.path);
		if (entry.text)
			entry.text = arena_strdup(&plan->arena, entry.text);
		if (!entry.path || (p->entries[i].text && !entry.text))
			return -ENOMEM;
		r = ARENA_PUSH(&plan->arena, plan->entries, plan->n, plan->cap, entry);
	}
	return r;
}
