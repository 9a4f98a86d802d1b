/* SPDX-License-Identifier: Apache-2.0 */
#include "cold-place.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"

/* 220 folders for 12,500 names, as in a project with its dependencies; 100 of them in one above. */
enum { NAMES_PER_FOLDER = 12500 / 220, FOLDERS_PER_GROUP = 100, OPEN_MAX = 32 };

struct cold_place cold_place;
static uid_t cold_place_other;

static int cold_place_remove_one(
	const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void cold_place_remove(void)
{
	/* A child that dies has not made it. */
	if (!cold_place.folder[0] || getpid() != cold_place.maker)
		return;
	(void)nftw(cold_place.folder, cold_place_remove_one, OPEN_MAX, FTW_DEPTH | FTW_PHYS);
	cold_place.folder[0] = '\0';
}

static void cold_place_folder(char *ret, size_t size, const char *name, uid_t owner)
{
	(void)snprintf(ret, size, "%s/%s", cold_place.folder, name);
	if (mkdir(ret, 0755) < 0 || (geteuid() == 0 && chown(ret, owner, owner) < 0))
		measure_die(ret);
}

/* One folder with its files; how many names that were. */
static size_t cold_place_fill(const char *group, size_t number, size_t most)
{
	char path[PATH_BYTES];
	size_t n = 1;

	(void)snprintf(path, sizeof(path), "%s/d%zu", group, number);
	if (mkdir(path, 0755) < 0)
		measure_die(path);
	for (; n < NAMES_PER_FOLDER && n < most; n++) {
		int fd;

		(void)snprintf(path, sizeof(path), "%s/d%zu/f%zu.c", group, number, n);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			measure_die(path);
		(void)close(fd);
	}
	return n;
}

static void cold_place_fill_all(size_t names)
{
	char group[PATH_BYTES] = "";
	size_t folder = 0;

	for (size_t n = 0; n < names; folder++) {
		if (folder % FOLDERS_PER_GROUP == 0) {
			(void)snprintf(group, sizeof(group), "%s/g%zu", cold_place.work,
				folder / FOLDERS_PER_GROUP);
			if (mkdir(group, 0755) < 0)
				measure_die(group);
			n++;
		}
		if (n < names)
			n += cold_place_fill(group, folder, names - n);
	}
}

void cold_place_make(size_t names, uid_t other)
{
	static bool is_registered;
	char folder[] = "/tmp/bench-cold-XXXXXX";

	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		measure_die("no folder in /tmp");
	cold_place = (struct cold_place){ .names = names, .maker = getpid() };
	memcpy(cold_place.folder, folder, sizeof(folder));
	if (!is_registered && atexit(cold_place_remove) != 0)
		measure_die("out of memory");
	is_registered = true;
	cold_place_other = other;
	cold_place_folder(cold_place.work, sizeof(cold_place.work), "work", other);
	cold_place_folder(cold_place.home, sizeof(cold_place.home), "home", geteuid());
	cold_place_folder(
		cold_place.other_home, sizeof(cold_place.other_home), "home-other", other);
	cold_place_fill_all(names);
}

const char *cold_place_home(const struct cold_place *p, uid_t user)
{
	return user == cold_place_other ? p->other_home : p->home;
}
