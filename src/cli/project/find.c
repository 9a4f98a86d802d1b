/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most runs have no such file, and pay one openat2() for each folder upwards. Only where one is
 * found are the folders looked at that lead to it. The folder is opened without following any
 * link, judged, and the file is opened in it: so what was judged is what is read, whatever is
 * renamed meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/load.h"
#include "cli/project/internal.h"
#include "cli/project/project.h"
#include "host/links.h"

static int project_open_path(const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Shortens the path to the folder that holds it. */
static void project_go_up(char path[PATH_BYTES])
{
	char *slash = strrchr(path, '/');

	slash[slash == path] = '\0';
}

/*
 * Judges the folder with the file. 1: it is trusted, and *ret_fd is it; 0: *ret_why says why not;
 * -EXDEV: another file system. Who may change folders below it does not matter: they can't change
 * the file, and what it takes away must not be lost because a command opened one of them to others.
 */
static int project_judge_folder(
	const char *from, const char *folder, int *ret_fd, const char **ret_why)
{
	auto_fd start = project_open_path(from, O_PATH | O_DIRECTORY);
	auto_fd fd = project_open_path(folder, O_PATH | O_DIRECTORY);
	struct stat first, st;

	if (start < 0 || fd < 0 || fstat(start, &first) < 0 || fstat(fd, &st) < 0 ||
		first.st_dev != st.st_dev)
		return -EXDEV;
	*ret_why = file_distrust(&st);
	if (*ret_why)
		return 0;
	*ret_fd = fd_take(&fd);
	return 1;
}

static int project_refuse(struct call *c, int code, const char *path, const char *why)
{
	(void)error_set(c->error, code, NULL, "%s %s, so it is not trusted", path, why);
	error_hint(c->error, "remove it, or mend that; `corral run --no-project` runs without it");
	return code;
}

/* The file itself, in a folder that is trusted. */
static int project_open_file(struct call *c, int folder, const char *path, int *ret_fd)
{
	auto_fd fd = openat(
		folder, PROJECT_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	const char *why;

	if (fd < 0 && errno == ELOOP)
		return project_refuse(c, -EPERM, path, "is a symbolic link");
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(c->error, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return project_refuse(c, -EPERM, path, "is not a regular file");
	why = file_distrust(&st);
	/* A name elsewhere may be one that a command can write. */
	if (!why && st.st_nlink != 1)
		why = "has another name as well (a hard link)";
	if (why)
		return project_refuse(c, -EPERM, path, why);
	*ret_fd = fd_take(&fd);
	return 0;
}

int project_named_folder(
	struct call *c, const char *named, char real[PATH_BYTES], const char **ret_home)
{
	auto_load l = { 0 };
	int r = load_begin(&l, c);

	if (r == 0)
		r = load_absolute(c, named, &named);
	if (r < 0)
		return r;
	r = links_follow(named, NULL, NULL, real);
	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", named, strerror(-r));
	*ret_home = l.variables.values[VARIABLE_HOME];
	return 0;
}

int project_open_folder(struct call *c, const char *path, int *ret_fd)
{
	auto_fd fd = project_open_path(path, O_RDONLY | O_DIRECTORY);
	const char *why;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(c->error, fd < 0 ? fd : -errno, NULL, "%s: %s", path,
			strerror(fd < 0 ? -fd : errno));
	why = file_distrust(&st);
	if (why) {
		(void)error_set(c->error, -EPERM, NULL,
			"%s %s: a " PROJECT_NAME " in it would be ignored", path, why);
		error_hint(c->error, "make the folder yours alone: chmod go-w, chown");
		return -EPERM;
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

static bool project_is_there(const char *path)
{
	auto_fd fd = project_open_path(path, O_PATH | O_NOFOLLOW);
	struct stat st;

	/* A link is there, too: with this flag it is opened itself, or refused. */
	return fd >= 0 || fd == -ELOOP || (fd == -EACCES && lstat(path, &st) == 0);
}

/* The next folder upwards with such a file, `at` itself first. false: there is none. */
static bool project_search(char at[PATH_BYTES], const char *home, struct buffer *path)
{
	for (; at[1] && !(home && strcmp(at, home) == 0); project_go_up(at)) {
		buffer_clear(path);
		buffer_printf(path, "%s/" PROJECT_NAME, at);
		if (project_is_there(buffer_text(path)))
			return true;
	}
	return false;
}

/* Notes the file that was found; one that does not count only if none was noted before. */
static int project_note_file(
	struct project *p, struct call *c, const char *path, const char *at, const char *why)
{
	if (why && p->path)
		return 0;
	if (p->path) {
		p->passed = p->path;
		p->passed_folder = p->folder;
		p->passed_why = p->ignored;
	}
	p->path = arena_strdup(c->arena, path);
	p->folder = arena_strdup(c->arena, at);
	p->ignored = why;
	return p->path && p->folder ? 0 : error_no_memory(c->error);
}

int project_find(struct project *p, struct call *c, const char *from, const char *home, int *ret_fd)
{
	char at[PATH_BYTES], real[PATH_BYTES];
	auto_buffer path = { 0 };
	auto_fd folder = -1;
	const char *why = NULL;
	int r = 0;

	if (!path_is_normal(from, strlen(from)) || strlen(from) >= sizeof(at))
		return 0;
	memcpy(at, from, strlen(from) + 1);
	while (r == 0 && project_search(at, home, &path)) {
		/* The home's name may have links in it. */
		if (home && links_follow(home, NULL, NULL, real) == 0 &&
			path_is_below(from, real) && path_is_below(real, at))
			return 0;
		r = project_judge_folder(from, at, &folder, &why);
		if (r == -EXDEV)
			return 0;
		if (project_note_file(p, c, buffer_text(&path), at, why) < 0)
			return -ENOMEM;
		project_go_up(at);
	}
	return r == 1 ? project_open_file(c, folder, p->path, ret_fd) : 0;
}
