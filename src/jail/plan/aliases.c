/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same file under another mount. A mask covers a path; where the file system that it lies on is
 * mounted twice (WSL shows the root once more in /mnt/wslg/distro, ostree in /sysroot, a pool of
 * btrfs as a whole), the file can be read by the other path, which no pattern names. So for each
 * place that is kept from commands the kernel's list of mounts is searched for others that show it.
 * A second /proc, as chroots have it, would show the host's processes, and is hidden.
 *
 * Only where the whole tree is granted: a plan of single folders shows two mounts of one file only
 * if the policy names both.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/file.h"
#include "jail/mount.h"
#include "jail/plan/internal.h"

enum { MOUNTS_BYTES = 16 << 20 };

struct mounts {
	struct mount_line *items;
	size_t n, cap;
};

static int plan_aliases_read_mounts(struct planner *p, struct mounts *m)
{
	auto_buffer text = { 0 };
	int r = file_read("/proc/self/mountinfo", MOUNTS_BYTES, &text);
	char *line, *rest = r < 0 ? NULL : arena_strdup(&p->arena, buffer_text(&text));

	if (!rest)
		return r < 0 ? error_set(p->error, r, NULL,
				       "cannot list the mounts: /proc/self/mountinfo: %s",
				       strerror(-r))
			     : -ENOMEM;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		struct mount_line item;

		if (mount_line_parse(line, &item))
			r = ARENA_PUSH(&p->arena, m->items, m->n, m->cap, item);
	}
	return r;
}

/* dir + what of `from` lies below base. */
static bool plan_aliases_move(
	const char *from, const char *base, const char *dir, char out[PATH_BYTES])
{
	const char *below = from + (base[1] ? strlen(base) : 0);
	int n = snprintf(out, PATH_BYTES, "%s%s", dir[1] ? dir : "", below);

	if (n == 0)
		(void)snprintf(out, PATH_BYTES, "/");
	return n < PATH_BYTES;
}

/* As a socket it is hidden, as a guarded file it is read-only: that is all that is needed here. */
static int plan_aliases_search(
	struct planner *p, const struct mounts *m, const struct plan_node *node)
{
	const struct plan_place place = { .origin = node->kind == PLAN_BIND ? PLAN_FROM_GUARDED
									    : PLAN_FROM_SOCKETS };
	const struct mount_line *own = NULL;
	char inside[PATH_BYTES], path[PATH_BYTES];
	int r = 0;

	/* The mount that shows it: the last of those with the longest name. */
	for (size_t i = 0; i < m->n; i++) {
		if (path_is_below(node->path, m->items[i].path) &&
			(!own || strlen(m->items[i].path) >= strlen(own->path)))
			own = &m->items[i];
	}
	if (!own || !plan_aliases_move(node->path, own->path, own->root, inside))
		return 0;
	for (size_t i = 0; r == 0 && i < m->n; i++) {
		const struct mount_line *other = &m->items[i];
		struct stat st;

		if (other == own || strcmp(other->device, own->device) != 0 ||
			!path_is_below(inside, other->root) ||
			!plan_aliases_move(inside, other->root, other->path, path) ||
			strcmp(path, node->path) == 0)
			continue;
		if (plan_nodes_find(p, path)->kind == PLAN_BIND && lstat(path, &st) == 0 &&
			st.st_dev == node->dev && st.st_ino == node->ino)
			r = plan_add_copy(p, path, place);
	}
	return r;
}

int plan_aliases_collect(struct planner *p)
{
	struct mounts mounts = { 0 };
	size_t before = p->n;
	int r;

	if (p->nodes[0].kind != PLAN_BIND || p->nodes[0].path[1])
		return 0;
	r = plan_aliases_read_mounts(p, &mounts);
	for (size_t i = 1; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i], *up = &p->nodes[node->up];

		/* A cover on what is around it. */
		if (node->exists && node->mount == i && up->kind == PLAN_BIND &&
			(node->kind != PLAN_BIND || node->access < up->access))
			r = plan_aliases_search(p, &mounts, node);
	}
	/* The host's processes, as a chroot has them: /proc itself is the sandbox's own. */
	for (size_t i = 0; r == 0 && i < mounts.n; i++) {
		const struct mount_line *item = &mounts.items[i];

		if (strcmp(item->type, "proc") == 0 && !path_is_below(item->path, "/proc") &&
			plan_nodes_find(p, item->path)->kind == PLAN_BIND)
			r = plan_add_place(p, (struct plan_place){ .path = item->path,
						      .origin = PLAN_FROM_SOCKETS });
	}
	if (r < 0 || p->n == before)
		return r;
	r = plan_look(p);
	return r < 0 ? r : plan_nodes_build(p);
}
