/* SPDX-License-Identifier: Apache-2.0 */
#include "host/planted.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "host/links.h"

/* What a user namespace shows for the users that it does not know, root of the host among them. */
enum { OVERFLOW_UID = 65534 };

/*
 * For root. Folders that the system's own packages fill, and where nobody works: `below` with all
 * in them, the others by themselves. Not /usr as a whole: many containers work in /usr/src.
 */
static const struct {
	const char *path;
	bool below;
} system_folders[] = {
	{ "/", false },
	{ "/bin", true },
	{ "/dev", false },
	{ "/etc", true },
	{ "/gnu", true },
	{ "/home", false },
	{ "/lib", true },
	{ "/lib32", true },
	{ "/lib64", true },
	{ "/libx32", true },
	{ "/nix", true },
	{ "/opt", false },
	{ "/run", false },
	{ "/sbin", true },
	{ "/snap", true },
	{ "/sys", true },
	{ "/usr", false },
	{ "/usr/bin", true },
	{ "/usr/lib", true },
	{ "/usr/lib32", true },
	{ "/usr/lib64", true },
	{ "/usr/libexec", true },
	{ "/usr/local", false },
	{ "/usr/sbin", true },
	{ "/usr/share", true },
	{ "/var", false },
};

static bool planted_is_system(const char *folder)
{
	for (size_t i = 0; i < ROWS(system_folders); i++) {
		const char *known = system_folders[i].path;

		if (strcmp(folder, known) == 0 ||
			(system_folders[i].below && path_is_below(folder, known)))
			return true;
	}
	return false;
}

/* For root. Folders that the baseline lets no policy grant for writing, with all in them, and where
 * no user works: neither /usr/src nor /usr/local, which installers of other systems fill. */
static const char *const guarded_folders[] = { "/bin", "/etc", "/gnu/store", "/lib", "/lib32",
	"/lib64", "/libx32", "/nix/store", "/sbin", "/usr/bin", "/usr/games", "/usr/lib",
	"/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share" };

static bool planted_is_guarded(const char *path)
{
	for (size_t i = 0; i < ROWS(guarded_folders); i++)
		if (path_is_below(path, guarded_folders[i]))
			return true;
	return false;
}

/* Shortens path to the folder that holds it. */
static void planted_go_up(char path[PATH_BYTES])
{
	char *slash = strrchr(path, '/');

	slash[slash == path] = '\0';
}

/* The folder or one above it: its owner may change its mode, and who may write it renames things.
 */
static bool planted_is_writable(char folder[PATH_BYTES])
{
	for (;;) {
		struct stat st;

		if (lstat(folder, &st) < 0 || st.st_uid == geteuid() ||
			faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0)
			return true;
		if (!folder[1])
			return false;
		planted_go_up(folder);
	}
}

bool planted_is_possible(const char *link, const char *home)
{
	const uid_t user = geteuid();
	char folder[PATH_BYTES];
	struct stat st;

	if (link[0] != '/' || strlen(link) >= sizeof(folder) || lstat(link, &st) < 0)
		return true;
	memcpy(folder, link, strlen(link) + 1);
	planted_go_up(folder);
	if (st.st_uid != 0 && st.st_uid != user && st.st_uid != OVERFLOW_UID)
		return true;
	if (home && strcmp(folder, home) == 0)
		return false;
	return user == 0 ? !planted_is_system(folder) : planted_is_writable(folder);
}

struct planted_search {
	struct planted *found;
	const char *home;
};

static int planted_look(void *data, const char *link, const char *target)
{
	struct planted_search *s = data;

	if (target && !s->found->link[0] && planted_is_possible(link, s->home))
		memcpy(s->found->link, link, strlen(link) + 1);
	return 0;
}

int planted_find(const char *path, const char *home, struct planted *ret)
{
	char real_home[PATH_BYTES];
	struct planted_search s = { ret, NULL };
	int r;

	ret->link[0] = '\0';
	if (home && links_follow(home, NULL, NULL, real_home) == 0)
		s.home = real_home;
	r = links_walk(path, planted_look, &s, ret->real);
	return r < 0 ? r : ret->link[0] != '\0';
}

/* Of a folder that the path leads into and out of again, too: a link could stand in its place. */
static int planted_look_closely(void *data, const char *link, const char *target)
{
	struct planted *found = data;

	(void)target;
	if (!found->link[0] && planted_is_possible(link, NULL))
		memcpy(found->link, link, strlen(link) + 1);
	return 0;
}

bool planted_is_out_of_reach(const char *path, char real[PATH_BYTES])
{
	struct planted found = { .link = "" };
	char above[PATH_BYTES];

	if (links_walk(path, planted_look_closely, &found, real) < 0 || found.link[0] ||
		access(real, F_OK) < 0)
		return false;
	memcpy(above, real, strlen(real) + 1);
	return geteuid() == 0 ? planted_is_guarded(real) : !planted_is_writable(above);
}
