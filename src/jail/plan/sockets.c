/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host in folders that a command can see. To connect to one needs no more than to
 * see it: neither a read-only mount nor Landlock (before its version 9) is in the way, and behind
 * it may stand a database, an agent with keys, or a daemon that runs commands. The kernel lists
 * those of this network namespace with the name that they were bound to; each that is visible there
 * gets a mask. Sockets that were moved to another folder, that were bound by a name relative to
 * another folder, or that are made later are not found (docs/threat-model.md).
 *
 * Daemons have theirs below /run, some of them with a network namespace of their own (rootless
 * Docker: whoever may talk to it has the user's home). That is small, and nobody works there: all
 * sockets in it get a mask, whoever bound them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "host/links.h"
#include "jail/plan/internal.h"

enum { SOCKETS_MAX = 4096 };
/* Below /run. */
enum { NAMES_MAX = 65536, DEPTH_MAX = 8 };

/* The name is the last of eight fields, and as it was given to bind(); abstract ones start with
 * "@". */
static const char *name_in(const char *line)
{
	for (int field = 1; field < 8; field++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return *line && *line != '@' ? line : NULL;
}

static int add_mask(struct planner *p, const char *path)
{
	struct plan_place place = { .origin = PLAN_FROM_SOCKETS };

	place.path = arena_strdup(&p->arena, path);
	return place.path ? plan_add_place(p, place) : plan_no_memory(p);
}

/* All sockets in a folder. */
static int plan_sockets_add_all(struct planner *p, const char *folder)
{
	DIR *dir;
	int r = plan_look_open(p, folder, &dir);

	while (r == 0 && dir) {
		char path[PATH_BYTES];
		const char *name;
		struct stat st;

		r = plan_look_next(p, folder, dir, &name);
		if (r < 0 || !name)
			break;
		if (snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_BYTES &&
			lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
			r = add_mask(p, path);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

/*
 * Somebody bound it, and its name is gone: it was removed, or renamed. Servers that replace each
 * other bind another name and rename it then, in the same folder.
 */
static int add_renamed(struct planner *p, const char *path)
{
	size_t len = (size_t)(strrchr(path, '/') - path);
	const char *folder = arena_strndup(&p->arena, path, len ? len : 1);

	if (!folder)
		return plan_no_memory(p);
	if (p->searched && strcmp(p->searched, folder) == 0)
		return 0;
	p->searched = folder;
	return plan_nodes_find(p, folder)->kind == PLAN_BIND ? plan_sockets_add_all(p, folder) : 0;
}

/* Masks what is there, if it can be seen. bound: somebody listens under that very name. */
static int plan_sockets_add_socket(struct planner *p, const char *path, bool bound)
{
	char real[PATH_BYTES];
	struct stat st;

	if (links_follow(path, NULL, NULL, real) < 0 || plan_nodes_find(p, real)->kind != PLAN_BIND)
		return 0;
	if (lstat(real, &st) < 0)
		return bound && errno == ENOENT ? add_renamed(p, real) : 0;
	return S_ISSOCK(st.st_mode) ? add_mask(p, real) : 0;
}

/* Whoever bound it was in some folder: the granted ones are where it would matter. */
static int add_relative(struct planner *p, const char *name)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];
		char path[PATH_BYTES], normal[PATH_BYTES];
		size_t len;

		if (node->kind != PLAN_BIND || node->mount != i || !node->is_dir)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", node->path, name) < PATH_BYTES &&
			path_normalize(path, strlen(path), normal, &len) == 0)
			r = plan_sockets_add_socket(p, normal, false);
	}
	return r;
}

static int plan_sockets_read_list(struct planner *p, FILE *list)
{
	char line[PATH_BYTES + 256];
	size_t n = 0;
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), list)) {
		const char *name;

		line[strcspn(line, "\n")] = '\0';
		name = name_in(line);
		if (!name || n == 0) {
			n += n == 0; /* the first line has the names of the fields */
			continue;
		}
		if (++n > SOCKETS_MAX)
			return error_set(p->error, -E2BIG, NULL,
				"there are too many sockets on this machine to mask");
		r = name[0] == '/' ? plan_sockets_add_socket(p, name, true) : add_relative(p, name);
	}
	return r == 0 && ferror(list) ? -EIO : r;
}

/*
 * Of what is mounted there only the folders of users: others are root file systems of containers,
 * or belong to programs that may let us wait.
 */
static bool is_entered(const char *path, const struct statx *x)
{
	return S_ISDIR(x->stx_mode) &&
	       (!(x->stx_attributes & STATX_ATTR_MOUNT_ROOT) ||
		       (strncmp(path, "/run/user/", 10) == 0 && !strchr(path + 10, '/')));
}

static int plan_sockets_search(
	struct planner *p, const char *folder, unsigned depth, unsigned *names);

/* Where commands may write, a socket that nobody listens on must stay theirs to remove. */
static int visit(struct planner *p, const char *path, unsigned depth, unsigned *names)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	const struct plan_node *node = plan_nodes_find(p, path);
	struct statx x;

	if (++*names > NAMES_MAX)
		return error_set(p->error, -E2BIG, NULL,
			"/run holds more than %d names, which is more than is searched for sockets",
			NAMES_MAX);
	if (statx(AT_FDCWD, path, flags, STATX_TYPE, &x) < 0)
		return 0;
	if (depth < DEPTH_MAX && is_entered(path, &x))
		return plan_sockets_search(p, path, depth + 1, names);
	if (!S_ISSOCK(x.stx_mode) || node->access == PLAN_WRITE)
		return 0;
	return plan_sockets_add_socket(p, path, false);
}

static int plan_sockets_search(
	struct planner *p, const char *folder, unsigned depth, unsigned *names)
{
	DIR *dir;
	int r = plan_look_open(p, folder, &dir);

	while (r == 0 && dir) {
		char path[PATH_BYTES];
		const char *name;

		r = plan_look_next(p, folder, dir, &name);
		if (r < 0 || !name)
			break;
		if (snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_BYTES)
			r = visit(p, path, depth, names);
	}
	if (dir)
		(void)closedir(dir);
	return r;
}

static bool shows_run(const struct planner *p)
{
	if (plan_nodes_find(p, "/run")->kind == PLAN_BIND)
		return true;
	for (size_t i = 0; i < p->n_nodes; i++) {
		if (p->nodes[i].kind == PLAN_BIND && path_is_below(p->nodes[i].path, "/run"))
			return true;
	}
	return false;
}

int plan_sockets_collect(struct planner *p)
{
	FILE *list = fopen("/proc/self/net/unix", "re");
	unsigned names = 0;
	int r;

	if (!list)
		return error_set(p->error, -errno, NULL,
			"the sockets of this machine cannot be listed: /proc/self/net/unix: %s",
			strerror(errno));
	r = plan_sockets_read_list(p, list);
	(void)fclose(list);
	return r == 0 && shows_run(p) ? plan_sockets_search(p, "/run", 0, &names) : r;
}
