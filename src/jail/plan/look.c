/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is there. Nearly every path has no link in it, and one openat2() that refuses links both
 * shows that and names the file; only if it finds a link is the path walked step by step.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/links.h"
#include "jail/plan/internal.h"

static int open_without_links(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int plan_look_at(const char *path, struct plan_place *ret)
{
	struct stat st;
	auto_fd fd = open_without_links(path);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	ret->exists = true;
	ret->is_dir = S_ISDIR(st.st_mode);
	ret->is_socket = S_ISSOCK(st.st_mode);
	ret->names = ret->is_dir ? 1 : st.st_nlink;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return 0;
}

/* What is not there, as far as a command can tell. */
static int absent(struct planner *p, struct plan_place *place, int code)
{
	switch (code) {
	case -EACCES:
	case -EPERM:
		place->hidden = true;
		return 0;
	case -ENOENT:
	case -ENOTDIR:
	case -ENAMETOOLONG:
	case -ELOOP:
	case 0:
		return 0;
	default:
		return error_set(p->error, code, place->where, "%s cannot be looked at: %s",
			place->path, strerror(-code));
	}
}

/* Folders that are read. What cannot be seen has no names; anything else that goes wrong is told.
 */

bool plan_look_is_absent(int code)
{
	return code == ENOENT || code == ENOTDIR || code == EACCES || code == EPERM;
}

static int unreadable(const struct planner *p, const char *folder, int code)
{
	return error_set(p->error, -code, NULL, "%s cannot be read: %s", folder, strerror(code));
}

int plan_look_open(const struct planner *p, const char *folder, DIR **ret)
{
	DIR *dir = opendir(folder);

	*ret = dir;
	return dir || plan_look_is_absent(errno) ? 0 : unreadable(p, folder, errno);
}

int plan_look_next(const struct planner *p, const char *folder, DIR *dir, const char **ret)
{
	const struct dirent *d;

	do {
		errno = 0;
		d = readdir(dir);
	} while (d && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0));
	*ret = d ? d->d_name : NULL;
	return !d && errno ? unreadable(p, folder, errno) : 0;
}

static int add_hop(void *data, const char *link, const char *target)
{
	struct planner *p = data;
	struct plan_hop hop = {
		.path = arena_strdup(&p->arena, link),
		.target = arena_strdup(&p->arena, target),
	};

	if (!hop.path || !hop.target)
		return -ENOMEM;
	return ARENA_PUSH(&p->arena, p->hops, p->n_hops, p->cap_hops, hop);
}

static int plan_look_walk(struct planner *p, struct plan_place *place)
{
	char end[PATH_BYTES];
	int r;

	place->first_link = p->n_hops;
	r = links_walk(place->path, add_hop, p, end);
	if (r == -ENOMEM)
		return plan_no_memory(p);
	place->n_links = p->n_hops - place->first_link;
	if (r < 0) {
		place->n_links = 0;
		return absent(p, place, r);
	}
	place->real = arena_strdup(&p->arena, end);
	if (!place->real)
		return plan_no_memory(p);
	/* A link that appears between the two looks is one that somebody puts there now. */
	return absent(p, place, plan_look_at(place->real, place));
}

static int jail_plan_look(struct planner *p, struct plan_place *place)
{
	int r = plan_look_at(place->path, place);

	place->real = place->path;
	r = r == -ELOOP ? plan_look_walk(p, place) : absent(p, place, r);
	if (place->is_program && place->is_dir)
		place->exists = false;
	return r;
}

/* What comes from elsewhere than the policy: what it adds, and what it takes. */
static void adjust(const struct planner *p, const struct plan_place *place, struct plan_answer *a)
{
	bool denied = place->runs == PLAN_RUNS_NOT;
	bool wanted = place->origin == PLAN_FROM_EXEC ||
		      (place->origin == PLAN_FROM_ESSENTIALS && place->special == PLAN_ORDINARY);

	if (place->origin == PLAN_FROM_SOCKETS)
		a->limit = PLAN_NONE;
	if (place->origin == PLAN_FROM_GUARDED || (place->origin == PLAN_FROM_EXEC && !denied))
		a->limit = plan_least(a->limit, PLAN_READ);
	/* With a list a mount that runs nothing is enough; without, a copy of it could run. */
	if (denied && !p->plan->exec_listed)
		a->limit = PLAN_NONE;
	if (wanted && !denied)
		a->grant = plan_most(a->grant, PLAN_READ);
}

/* How places are asked about: a path, one with all in it, or a socket to connect to. */
enum question { ABOUT_PATH, ABOUT_WHOLE, ABOUT_SOCKET };

static int ask_at(
	const struct planner *p, const char *path, enum question about, struct plan_answer *ret)
{
	if (about == ABOUT_SOCKET)
		return plan_ask_socket(p, path, ret);
	return about == ABOUT_WHOLE ? plan_ask_whole(p, path, ret) : plan_ask(p, path, ret);
}

/* What is not there matters only where something forbids it. */
static bool is_idle(const struct plan_place *place)
{
	return place->special == PLAN_PRIVATE ||
	       (!place->exists && place->special == PLAN_ORDINARY &&
		       place->origin != PLAN_FROM_POLICY && place->origin != PLAN_FROM_BASELINE &&
		       place->runs != PLAN_RUNS_NOT);
}

/* Whoever may write in its folder may replace a link. */
static int ask_folder(const struct planner *p, const char *link, struct plan_answer *ret)
{
	const char *slash = strrchr(link, '/');
	size_t len = (size_t)(slash - link);
	char folder[PATH_BYTES] = "/";

	if (len >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, link, len ? len : 1);
	folder[len ? len : 1] = '\0';
	return plan_ask_inside(p, folder, ret);
}

/* A link that commands may replace grants nothing that its end does not. */
static int distrust(const struct planner *p, struct plan_place *place)
{
	for (size_t i = 0; i < place->n_links; i++) {
		struct plan_answer a;
		int r = ask_folder(p, p->hops[place->first_link + i].path, &a);

		if (r < 0)
			return r;
		if (a.grant < PLAN_WRITE)
			continue;
		place->astray = place->answer.grant > PLAN_NONE && place->there.grant == PLAN_NONE;
		if (!place->astray)
			place->answer.grant = plan_least(place->answer.grant, place->there.grant);
	}
	return 0;
}

/* What is forbidden where the links lead is forbidden. */
static int ask_there(const struct planner *p, struct plan_place *place, enum question about)
{
	int r = ask_at(p, place->real, about, &place->there);

	if (r == 0 && place->there.limit < place->answer.limit) {
		place->answer.limit = place->there.limit;
		place->answer.source = place->there.source;
		place->answer.baseline = place->there.baseline;
	}
	return r < 0 || place->origin != PLAN_FROM_POLICY ? r : distrust(p, place);
}

static int plan_look_ask(struct planner *p, struct plan_place *place)
{
	bool door = place->special == PLAN_DOOR;
	enum question about = door                              ? ABOUT_SOCKET
			      : !place->exists || place->is_dir ? ABOUT_WHOLE
								: ABOUT_PATH;
	int r;

	if (is_idle(place))
		return 0;
	r = ask_at(p, place->path, door ? ABOUT_SOCKET : ABOUT_PATH, &place->self);
	if (r == 0)
		r = ask_at(p, place->path, about, &place->answer);
	adjust(p, place, &place->self);
	adjust(p, place, &place->answer);
	return r < 0 || place->n_links == 0 ? r : ask_there(p, place, about);
}

int plan_look(struct planner *p)
{
	int r = 0;

	for (; r == 0 && p->n_ready < p->n; p->n_ready++) {
		struct plan_place *place = &p->places[p->n_ready];

		r = jail_plan_look(p, place);
		if (r == 0)
			r = plan_look_ask(p, place);
	}
	return r;
}
