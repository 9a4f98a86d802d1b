/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single files of the home that may be written, and that programs replace: a temporary file beside
 * it, a lock, a rename. No mount lets them, so a copy stands in for such a file, in a folder of the
 * session's own, and the holder puts it back (plan_options.replaces).
 *
 * In a private home that folder is there already. Where the home is the host's, which can be read,
 * as in the modes of agents, the folder around the file is a shadow: a folder of the session's own
 * in which each name of the host's folder is a read-only mount, or a link. So there is room for
 * temporary names, and nothing of the host's folder can be written, renamed or removed.
 *
 *   - Everything was decided, checked and refused before, for the host's own folder. A shadow shows
 *     no name that the policy does not let the command read at the time of listing; what has an
 *     entry of its own (a mask, a cover, a grant) keeps it.
 *   - Names that appear later are not in it, secrets among them. Names that are replaced later show
 *     what they were; folders are live, with all that is in them.
 *   - If the host renames the folder itself, the shadow would be off: it is watched like a mask,
 * and the session ends.
 *   - Pipes, sockets and devices are left out; granted sockets have an entry.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/plan/internal.h"

/* Each name is a mount. A folder with more of them stays as it is, and so does the file in it. */
enum { SHADOWS_MAX = 4, SHADOW_NAMES_MAX = 512 };

static const char *plan_stand_ins_folder(struct planner *p, const char *path)
{
	const size_t len = (size_t)(strrchr(path, '/') - path);

	return arena_strndup(&p->arena, path, len ? len : 1);
}

static bool plan_stand_ins_is_shadow(const struct planner *p, const char *folder)
{
	for (size_t i = 0; i < p->n_shadows; i++)
		if (strcmp(p->shadows[i], folder) == 0)
			return true;
	return false;
}

/* A granted file that can be copied and put back: of this user, with one name, not too large. */
static bool plan_stand_ins_is_file(const struct planner *p, const struct plan_node *node)
{
	struct stat st;

	return p->options->replaces && node->kind == PLAN_BIND && node->access == PLAN_WRITE &&
	       !node->is_dir && !node->copied && path_is_below(node->path, p->plan->home_real) &&
	       lstat(node->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == node->dev &&
	       st.st_ino == node->ino && st.st_nlink == 1 && st.st_uid == geteuid() &&
	       st.st_size <= PLAN_STAND_IN_BYTES && access(node->path, R_OK | W_OK) == 0;
}

bool plan_stand_ins_is(struct planner *p, const struct plan_node *node)
{
	const struct plan_node *up = &p->nodes[node->up];
	const char *folder;

	if (p->n_stand_ins == PLAN_STAND_INS_MAX || !plan_stand_ins_is_file(p, node))
		return false;
	folder = up->kind == PLAN_TMP ? NULL : plan_stand_ins_folder(p, node->path);
	if (up->kind != PLAN_TMP && (!folder || !plan_stand_ins_is_shadow(p, folder)))
		return false;
	p->n_stand_ins++;
	return true;
}

/* Which folders have a shadow */

static int plan_stand_ins_count(struct planner *p, const char *name, void *data)
{
	size_t *n = data;

	(void)p;
	(void)name;
	return ++*n > SHADOW_NAMES_MAX ? 1 : 0;
}

/* The folder of a file, if it is the host's, can be read and not be written. */
static int plan_stand_ins_shadow(struct planner *p, const char *file)
{
	const char *folder = plan_stand_ins_folder(p, file);
	const struct plan_node *around = folder ? plan_nodes_find(p, folder) : NULL;
	struct plan_place place = { 0 };
	size_t names = 0;
	int r;

	if (!around)
		return -ENOMEM;
	if (p->n_shadows == SHADOWS_MAX || around->kind != PLAN_BIND ||
		around->access != PLAN_READ || around->copied ||
		!path_is_below(folder, p->plan->home_real) || !folder[1] ||
		plan_stand_ins_is_shadow(p, folder) || access(folder, R_OK | W_OK | X_OK) < 0)
		return 0;
	if (plan_look_at(folder, &place) < 0 || !place.is_dir)
		return 0;
	r = plan_look_each(p, folder, plan_stand_ins_count, &names);
	if (r < 0 || r == 1)
		return r < 0 ? r : 0;
	return ARENA_PUSH(&p->arena, p->shadows, p->n_shadows, p->cap_shadows, folder);
}

/* A file that may be made: nothing forbids it, and it is granted by its name. */
static int plan_stand_ins_find_made(struct planner *p, const char *path)
{
	const struct plan_node *node;
	char real[PATH_BYTES];
	int r = plan_seen_walk(p, path, NULL, real);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	node = plan_nodes_find(p, real);
	if (strcmp(node->path, real) != 0 || node->exists || node->hidden ||
		node->limit != PLAN_WRITE ||
		!policy_allows(
			p->policy, &(struct request){ .op = OPERATION_FS_WRITE, .target = real }))
		return 0;
	return plan_stand_ins_shadow(p, real);
}

int plan_stand_ins_find(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];

		if (p->nodes[node->up].kind == PLAN_BIND && plan_stand_ins_is_file(p, node))
			r = plan_stand_ins_shadow(p, node->path);
	}
	for (size_t i = 0; r == 0 && p->options->replaces && i < p->options->n_made; i++)
		r = plan_stand_ins_find_made(p, p->options->made[i]);
	return r;
}

/* Their entries */

static struct plan_entry *plan_stand_ins_entry(const struct planner *p, const char *path)
{
	for (size_t i = 0; i < p->n_entries; i++)
		if (strcmp(p->entries[i].path, path) == 0)
			return &p->entries[i];
	return NULL;
}

static int plan_stand_ins_add_link(struct planner *p, const char *path)
{
	char target[PATH_BYTES];
	const ssize_t n = readlink(path, target, sizeof(target) - 1);
	struct plan_entry link = { .kind = PLAN_LINK, .path = path };

	if (n <= 0 || n >= (ssize_t)sizeof(target) - 1)
		return 0;
	link.text = arena_strndup(&p->arena, target, (size_t)n);
	return link.text ? ARENA_PUSH(&p->arena, p->entries, p->n_entries, p->cap_entries, link)
			 : -ENOMEM;
}

static int plan_stand_ins_add_name(struct planner *p, const char *name, void *data)
{
	const char *folder = data;
	const char *path = arena_printf(&p->arena, "%s/%s", folder, name);
	const struct plan_node *node = path ? plan_nodes_find(p, path) : NULL;
	struct plan_entry entry = { .kind = PLAN_BIND, .path = path, .live = true };
	struct stat st;

	if (!node)
		return -ENOMEM;
	/* Not there when all was decided, or decided by itself. */
	if (strlen(path) >= PATH_BYTES || (strcmp(node->path, path) == 0 && !node->exists) ||
		plan_stand_ins_entry(p, path) || lstat(path, &st) < 0 ||
		!policy_allows(
			p->policy, &(struct request){ .op = OPERATION_FS_READ, .target = path }))
		return 0;
	if (S_ISLNK(st.st_mode))
		return plan_stand_ins_add_link(p, path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	entry.is_dir = S_ISDIR(st.st_mode);
	entry.exec = node->exec;
	return ARENA_PUSH(&p->arena, p->entries, p->n_entries, p->cap_entries, entry);
}

int plan_stand_ins_add_shadows(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_shadows; i++) {
		const char *folder = p->shadows[i];
		const struct plan_entry shadow = { .kind = PLAN_TMP,
			.path = folder,
			.is_dir = true,
			.writable = true,
			.exec = !p->plan->exec_listed,
			.over = true };
		struct plan_entry *there = plan_stand_ins_entry(p, folder);

		if (there)
			*there = shadow;
		else
			r = ARENA_PUSH(&p->arena, p->entries, p->n_entries, p->cap_entries, shadow);
		if (r == 0)
			r = plan_look_each(p, folder, plan_stand_ins_add_name, (void *)folder);
	}
	return r;
}
