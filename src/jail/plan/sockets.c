/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host. One that is granted by its path (unix:/run/x.sock) is never seen by commands
 * itself: in its place stands a socket of the sandbox's, on which the relay listens
 * (net/enter/doors.h). So a grant of the socket is none of the file, and says nothing about what
 * lies around it.
 *
 * The others, in folders that a command can see, are hidden. To connect to one needs no more than
 * to see it: neither a read-only mount nor Landlock (before its version 9) is in the way, and
 * behind it may stand a database, an agent with keys, or a daemon that runs commands. The kernel
 * lists those of this network namespace with the name that they were bound to (socket-list.c); each
 * that is visible there gets a mask. Sockets that were moved to another folder, that were bound by
 * a name relative to another folder, or that are made later are not found (docs/threat-model.md).
 *
 * Daemons have theirs below /run, some of them with a network namespace of their own (rootless
 * Docker: whoever may talk to it has the user's home). That is small, and no project is there: all
 * sockets in it get a mask, whoever bound them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "host/links.h"
#include "jail/plan/internal.h"

enum { SOCKETS_MAX = 4096 };
/* Below /run. */
enum { NAMES_MAX = 65536, DEPTH_MAX = 8 };

/* Named by one layer; a door only if all of them allow it. */
static int plan_sockets_add_door(struct planner *p, const char *path, const struct location *where)
{
	struct plan_place place = {
		.path = path, .origin = PLAN_FROM_POLICY, .special = PLAN_DOOR, .where = where
	};
	struct plan_answer a;
	int r;

	for (size_t i = 0; i < p->n; i++)
		if (p->places[i].special == PLAN_DOOR && strcmp(p->places[i].path, path) == 0)
			return 0;
	r = plan_look_ask_socket(p, path, &a);
	if (r < 0 || a.grant == PLAN_NONE)
		return r;
	if (++p->n_doors > PLAN_SOCKETS_MAX)
		return error_set(p->error, -E2BIG, where, "at most %d sockets can be granted",
			PLAN_SOCKETS_MAX);
	return plan_add_place(p, place);
}

static int plan_sockets_add_doors(struct planner *p, const struct grant *g, void *data)
{
	struct host_pattern h;
	int r = 0;

	(void)data;
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		r = host_pattern_parse(&h, &p->arena, g->all[i], &g->where, p->error);
		if (r == 0 && h.kind == HOST_SOCKET)
			r = plan_sockets_add_door(p, h.name, &g->where);
	}
	return r;
}

int plan_sockets_grant(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_layers; i++)
		r = plan_network_each(p, p->layers[i], true, plan_sockets_add_doors, NULL);
	return r;
}

int plan_sockets_check(struct planner *p, const struct plan_place *place)
{
	bool is_door = place->special == PLAN_DOOR;
	const struct plan_node *node = is_door ? plan_nodes_find(p, place->real) : &p->nodes[0];
	const struct {
		bool wrong;
		int code;
		const char *why, *hint;
	} rows[] = {
		{ place->hidden, -EACCES, "permission denied", "" },
		{ !place->exists, -ENOENT, "there is no such socket", "start its server first" },
		{ !place->is_socket, -ENOTSOCK, "it is not a socket", "" },
		{ strcmp(node->path, place->real) != 0 || node->kind != PLAN_SOCKET, -EOPNOTSUPP,
			"the sandbox uses this path for its own files", "" },
	};

	for (size_t i = 0; is_door && i < ROWS(rows); i++) {
		if (!rows[i].wrong)
			continue;
		(void)error_set(p->error, rows[i].code, place->where, "unix:%s is granted, but %s",
			place->path, rows[i].why);
		error_hint(p->error, "%s", rows[i].hint);
		return rows[i].code;
	}
	return 0;
}

/* The search for sockets of the host. */
enum { FOLDERS = 64, SEEN = 2 * SOCKETS_MAX };

struct socket_hunt {
	struct {
		const char *path, *real;
	} folders[FOLDERS]; /* by hash: where the links of a folder lead */
	const char **seen;  /* by hash: what has a mask; a socket is listed with each connection */
	size_t n_seen;
	const char *searched; /* the last folder that was searched for sockets that were renamed */
	const char *readable; /* the last folder of a socket that has a mask of its own */
	unsigned names;       /* that were seen below /run */
};

/* By who sets the sandbox up: with our uid, and without root's rights to the files of others. */
static bool plan_sockets_is_readable(const char *path)
{
	struct stat st;

	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0 || stat(path, &st) < 0)
		return false;
	return geteuid() != 0 || st.st_uid == 0 || st.st_mode & S_IROTH;
}

/* Whether a folder can be masked as a whole: nothing in it is granted. */
static bool plan_sockets_is_coverable(const struct planner *p, const char *folder)
{
	for (size_t i = 0; i < p->n_nodes; i++)
		if (p->nodes[i].grant != PLAN_NONE && path_is_below(p->nodes[i].path, folder))
			return false;
	return true;
}

/*
 * What a mask must cover. It has to be put back when another file gets the name, and each folder on
 * the way is watched for being moved. Only what can be read can be watched. So the first folder
 * that cannot be read goes as a whole, and the one above it is watched: commands could not list it
 * anyway, but connect to what is in it (mode 0711; /run/containerd is such a one). Not if something
 * in it is granted; then it is the next one. If the socket's own folder is left, and cannot be
 * read, the set-up refuses.
 */
static int plan_sockets_find_cover(
	struct planner *p, struct socket_hunt *hunt, const char *path, const char **ret)
{
	const size_t folder = (size_t)(strrchr(path, '/') - path);
	size_t len = 0;
	char *at;

	*ret = path;
	/* Sockets are many and folders few. */
	if (hunt->readable && strlen(hunt->readable) == folder &&
		memcmp(hunt->readable, path, folder) == 0)
		return 0;
	at = arena_strndup(&p->arena, path, folder);
	if (!at)
		return -ENOMEM;
	while (len < folder) {
		len += 1 + strcspn(at + len + 1, "/");
		at[len] = '\0';
		if (!plan_sockets_is_readable(at) && plan_sockets_is_coverable(p, at)) {
			*ret = at;
			return 0;
		}
		if (len < folder)
			at[len] = '/';
	}
	hunt->readable = at;
	return 0;
}

static int plan_sockets_add_mask(struct planner *p, struct socket_hunt *hunt, const char *path)
{
	int r = plan_sockets_find_cover(p, hunt, path, &path);
	size_t i = hash_bytes(HASH_START, path, strlen(path)) % SEEN;

	if (r < 0)
		return r;
	if (!hunt->seen)
		hunt->seen = arena_calloc(&p->arena, SEEN, sizeof(*hunt->seen));
	if (!hunt->seen)
		return -ENOMEM;
	for (; hunt->seen[i]; i = (i + 1) % SEEN)
		if (strcmp(hunt->seen[i], path) == 0)
			return 0;
	if (hunt->n_seen++ == SOCKETS_MAX) {
		(void)error_set(p->error, -E2BIG, NULL,
			"%s is one of more than %d sockets visible to commands, too many to be "
			"masked",
			path, SOCKETS_MAX);
		error_hint(p->error, "grant folders without sockets, or stop the program that "
				     "created them");
		return -E2BIG;
	}
	hunt->seen[i] = arena_strdup(&p->arena, path);
	if (!hunt->seen[i])
		return -ENOMEM;
	return plan_add_place(
		p, (struct plan_place){
			   .path = hunt->seen[i], .origin = PLAN_FROM_SOCKETS, .passing = true });
}

/* A folder that is searched: for names in it, or below /run for all. */
struct socket_search {
	struct planner *planner;
	struct socket_hunt *hunt;
	const char *folder;
	unsigned depth;
};

static int plan_sockets_mask_name(struct planner *p, const char *name, void *data)
{
	const struct socket_search *s = data;
	char path[PATH_BYTES];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", s->folder, name) >= PATH_BYTES ||
		lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0;
	return plan_sockets_add_mask(p, s->hunt, path);
}

/*
 * Where the links on the way to an absolute path lead. Names of the host's are many and their
 * folders few, so the folder's end is kept. 1: nowhere.
 */
static int plan_sockets_follow(
	struct planner *p, struct socket_hunt *hunt, const char *path, char real[PATH_BYTES])
{
	size_t len = (size_t)(strrchr(path, '/') - path);
	size_t slot = hash_bytes(HASH_START, path, len) % FOLDERS;
	const char *kept = hunt->folders[slot].path, *folder;
	struct stat st;
	int r;

	if (len == 0)
		return links_follow(path, NULL, NULL, real) < 0;
	if (!kept || strlen(kept) != len || memcmp(kept, path, len) != 0) {
		kept = arena_strndup(&p->arena, path, len);
		if (!kept)
			return -ENOMEM;
		r = plan_seen_walk(p, kept, NULL, real);
		if (r < 0)
			return r == -ENOMEM ? r : 1;
		folder = arena_strdup(&p->arena, real);
		if (!folder)
			return -ENOMEM;
		hunt->folders[slot].path = kept;
		hunt->folders[slot].real = folder;
	}
	folder = hunt->folders[slot].real;
	if (snprintf(real, PATH_BYTES, "%s%s", folder[1] ? folder : "", path + len) >= PATH_BYTES)
		return 1;
	/* The name itself may be a link by now. */
	if (plan_nodes_find(p, real)->kind == PLAN_BIND && lstat(real, &st) == 0 &&
		S_ISLNK(st.st_mode))
		return links_follow(path, NULL, NULL, real) < 0;
	return 0;
}

/* Masks what is there, if it can be seen. bound: a server listens under that very name. */
static int plan_sockets_add_socket(
	struct planner *p, struct socket_hunt *hunt, const char *path, bool bound)
{
	struct socket_search search = { p, hunt, NULL, 0 };
	char real[PATH_BYTES];
	struct stat st;
	size_t len;
	int r = plan_sockets_follow(p, hunt, path, real);

	if (r != 0 || plan_nodes_find(p, real)->kind != PLAN_BIND)
		return r < 0 ? r : 0;
	if (lstat(real, &st) == 0)
		return S_ISSOCK(st.st_mode) ? plan_sockets_add_mask(p, hunt, real) : 0;
	if (!bound || errno != ENOENT)
		return 0;
	/* Its name is gone: it was removed, or renamed. Servers that replace each other bind
	 * another name and rename it then, in the same folder: all sockets in that are masked. */
	len = (size_t)(strrchr(real, '/') - real);
	search.folder = arena_strndup(&p->arena, real, len ? len : 1);
	if (!search.folder)
		return -ENOMEM;
	if (hunt->searched && strcmp(hunt->searched, search.folder) == 0)
		return 0;
	hunt->searched = search.folder;
	return plan_nodes_find(p, search.folder)->kind == PLAN_BIND
		       ? plan_look_each(p, search.folder, plan_sockets_mask_name, &search)
		       : 0;
}

/* Whoever bound it was in some folder: the granted ones are where it would matter. */
static int plan_sockets_add_relative(struct planner *p, struct socket_hunt *hunt, const char *name)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_nodes; i++) {
		const struct plan_node *node = &p->nodes[i];
		char path[PATH_BYTES], normal[PATH_BYTES];
		struct stat st;
		size_t len;

		if (node->kind != PLAN_BIND || node->mount != i || !node->is_dir)
			continue;
		/* Mostly it is somewhere else. */
		if (snprintf(path, sizeof(path), "%s/%s", node->path, name) < PATH_BYTES &&
			path_normalize(path, strlen(path), normal, &len) == 0 &&
			lstat(normal, &st) == 0)
			r = plan_sockets_add_socket(p, hunt, normal, false);
	}
	return r;
}

/* As it was given to bind(). */
static int plan_sockets_add_name(void *data, const char *name)
{
	const struct socket_search *s = data;

	return name[0] == '/' ? plan_sockets_add_socket(s->planner, s->hunt, name, true)
			      : plan_sockets_add_relative(s->planner, s->hunt, name);
}

/* Where commands may write, a socket without a server must stay theirs to remove. */
static int plan_sockets_visit(struct planner *p, const char *name, void *data)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	const struct socket_search *s = data;
	char path[PATH_BYTES];
	struct socket_search below = { p, s->hunt, path, s->depth + 1 };
	struct statx x;

	if (snprintf(path, sizeof(path), "%s/%s", s->folder, name) >= PATH_BYTES)
		return 0;
	if (++s->hunt->names > NAMES_MAX)
		return error_set(p->error, -E2BIG, NULL,
			"/run contains more than %d names, too many to search for sockets",
			NAMES_MAX);
	if (statx(AT_FDCWD, path, flags, STATX_TYPE, &x) < 0)
		return 0;
	/*
	 * Of what is mounted there only the folders of users are entered: others are root file
	 * systems of containers, or belong to programs that may let us wait.
	 */
	if (s->depth < DEPTH_MAX && S_ISDIR(x.stx_mode) &&
		(!(x.stx_attributes & STATX_ATTR_MOUNT_ROOT) ||
			(strncmp(path, "/run/user/", 10) == 0 && !strchr(path + 10, '/'))))
		return plan_look_each(p, path, plan_sockets_visit, &below);
	if (!S_ISSOCK(x.stx_mode) || plan_nodes_find(p, path)->access == PLAN_WRITE)
		return 0;
	return plan_sockets_add_socket(p, s->hunt, path, false);
}

int plan_sockets_hide(struct planner *p)
{
	struct socket_hunt hunt = { .seen = NULL };
	struct socket_search run = { p, &hunt, "/run", 0 };
	bool shows_run;
	int r = plan_socket_list_each(plan_sockets_add_name, &run, p->error);

	shows_run = plan_nodes_find(p, "/run")->kind == PLAN_BIND;
	for (size_t i = 0; !shows_run && i < p->n_nodes; i++)
		shows_run =
			p->nodes[i].kind == PLAN_BIND && path_is_below(p->nodes[i].path, "/run");
	return r == 0 && shows_run ? plan_look_each(p, run.folder, plan_sockets_visit, &run) : r;
}
