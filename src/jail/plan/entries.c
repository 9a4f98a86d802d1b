/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries from nodes. Beside the nodes that have a mount of their own there are three kinds of
 * entries that no node asks for:
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

#include "base/path.h"
#include "jail/plan/internal.h"

static int plan_entries_add(struct planner *p, struct plan_entry entry)
{
	if (ARENA_PUSH(&p->arena, p->entries, p->n_entries, p->cap_entries, entry) < 0)
		return plan_no_memory(p);
	return 0;
}

/* Length of the folder that holds path[0..len); 0: the root. */
static size_t parent_length(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? len - 1 : 0;
}

/* Made by the tree itself. */
static bool plan_entries_is_made(const char *path)
{
	return strcmp(path, "/dev") == 0 || strcmp(path, "/proc") == 0;
}

static bool is_added(const struct planner *p, const char *folder, size_t before)
{
	return before > 0 && path_is_below(p->entries[before - 1].path, folder);
}

/* The folders above path that nothing else brings along. */
static int add_parents(struct planner *p, const char *path)
{
	size_t len = parent_length(path, strlen(path)), before = p->n_entries;
	int r = 0;

	for (; r == 0 && len > 0; len = parent_length(path, len)) {
		const char *folder = arena_strndup(&p->arena, path, len);
		const struct plan_node *node = folder ? plan_nodes_find(p, folder) : NULL;

		if (!node)
			return plan_no_memory(p);
		if (node->kind == PLAN_BIND || plan_entries_is_made(folder) ||
			is_added(p, folder, before))
			break;
		if (node->kind == PLAN_TMP && strcmp(node->path, folder) == 0 &&
			&p->nodes[node->mount] == node)
			continue;
		r = plan_entries_add(
			p, (struct plan_entry){ .kind = PLAN_DIR, .path = folder, .is_dir = true });
	}
	return r;
}

static int add_pins(struct planner *p, const char *path, const struct plan_node *around)
{
	size_t len = parent_length(path, strlen(path)), end = strlen(around->path);
	int r = 0;

	for (; r == 0 && len > end; len = parent_length(path, len)) {
		struct plan_place place = { .path = arena_strndup(&p->arena, path, len) };
		struct plan_entry entry = { .kind = PLAN_BIND,
			.path = place.path,
			.is_dir = true,
			.writable = true,
			.exec = around->exec,
			.over = true };

		if (!place.path)
			return plan_no_memory(p);
		r = plan_look_at(place.path, &place);
		if (r < 0)
			return error_set(p->error, r, NULL, "%s cannot be looked at: %s",
				place.path, strerror(-r));
		entry.dev = place.dev;
		entry.ino = place.ino;
		r = plan_entries_add(p, entry);
	}
	return r;
}

static int plan_entries_add_node(struct planner *p, const struct plan_node *node)
{
	const struct plan_node *up = &p->nodes[node->up];
	const struct plan_node *around = &p->nodes[up->mount];
	bool on_bind = node->path[1] && up->kind == PLAN_BIND;
	struct plan_entry entry = {
		.kind = node->kind,
		.path = node->path,
		.text = node->kind == PLAN_FILE ? node->text : NULL,
		.is_dir = node->is_dir || node->kind == PLAN_TMP || node->kind == PLAN_DIR,
		.writable = node->kind == PLAN_TMP || node->access == PLAN_WRITE,
		.exec = node->exec && node->kind != PLAN_DIR && node->kind != PLAN_MASK,
		.over = on_bind && (node->access < up->access || node->exec != up->exec),
	};
	int r;

	if (node->kind == PLAN_BIND || node->kind == PLAN_MASK) {
		entry.dev = node->dev;
		entry.ino = node->ino;
	}
	r = on_bind ? 0 : add_parents(p, node->path);
	if (r == 0 && entry.over && up->access == PLAN_WRITE)
		r = add_pins(p, node->path, around);
	return r < 0 ? r : plan_entries_add(p, entry);
}

static bool has_entry(const struct planner *p, size_t i)
{
	const struct plan_node *node = &p->nodes[i];

	if (node->kind == PLAN_DIR || node->kind == PLAN_TMP) {
		if (node->mount == i && node->kind == PLAN_TMP)
			return true;
		return node->named && node->special != PLAN_PRIVATE && node->path[1] &&
		       node->limit > PLAN_NONE && !plan_entries_is_made(node->path);
	}
	return node->mount == i;
}

static int add_nodes(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		struct plan_node node = p->nodes[i];

		if (!has_entry(p, i))
			continue;
		/* A folder that is named inside one of the session's own is just a folder. */
		if (node.kind == PLAN_TMP && node.mount != i)
			node.kind = PLAN_DIR;
		r = plan_entries_add_node(p, &node);
	}
	return r;
}

/* The links on the way to something that is there, unless the host's own folder has them. */
static int add_links(struct planner *p, const struct plan_place *place)
{
	const struct plan_node *end = plan_nodes_find(p, place->real);
	int r = 0;

	if (place->n_links == 0 || (place->special == PLAN_ORDINARY &&
					   (place->self.grant == PLAN_NONE || !place->exists)))
		return 0;
	if (end->kind == PLAN_MASK || (end->kind == PLAN_DIR && !end->named))
		return 0;
	for (size_t i = 0; r == 0 && i < place->n_links; i++) {
		const struct plan_hop *hop = &p->hops[place->first_link + i];
		const struct plan_node *node = plan_nodes_find(p, hop->path);

		if (node->kind != PLAN_DIR && node->kind != PLAN_TMP)
			continue;
		r = add_parents(p, hop->path);
		if (r == 0)
			r = plan_entries_add(p, (struct plan_entry){ .kind = PLAN_LINK,
							.path = hop->path,
							.text = hop->target });
	}
	return r;
}

static int plan_entries_by_path(const void *a, const void *b)
{
	const struct plan_entry *x = a, *y = b;
	int r = plan_compare_paths(x->path, y->path);

	/* Of two the more solid one comes first, and a cover before a pin. */
	if (r == 0 && x->kind != y->kind)
		return x->kind > y->kind ? -1 : 1;
	return r ? r : (int)x->writable - (int)y->writable;
}

/* Into the plan: sorted, each path once, in the plan's own memory. */
static int take_entries(struct planner *p)
{
	struct plan *plan = p->plan;

	qsort(p->entries, p->n_entries, sizeof(*p->entries), plan_entries_by_path);
	for (size_t i = 0; i < p->n_entries; i++) {
		struct plan_entry entry = p->entries[i];

		if (i > 0 && strcmp(entry.path, p->entries[i - 1].path) == 0)
			continue;
		entry.path = arena_strdup(&plan->arena, entry.path);
		if (entry.text)
			entry.text = arena_strdup(&plan->arena, entry.text);
		if (!entry.path || (p->entries[i].text && !entry.text) ||
			ARENA_PUSH(&plan->arena, plan->entries, plan->n, plan->cap, entry) < 0)
			return plan_no_memory(p);
	}
	return 0;
}

int plan_entries_make(struct planner *p)
{
	int r = add_nodes(p);

	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = add_links(p, &p->places[i]);
	return r < 0 || p->n_entries == 0 ? r : take_entries(p);
}
