/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that a preset keeps. Its name has a digest of the working folder, of which no other
 * can be chosen that has the same: a project cannot name itself so that it writes what another one
 * installs from. Each folder on the way is made for this user alone, and none is behind a link that
 * a command could have left.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/preset/internal.h"
#include "cli/preset/preset.h"
#include "host/planted.h"

enum {
	KEEP_DIGEST = 16,
	KEEP_NAME_MAX = 40,
	KEEP_SEED_MAX = 4 << 20, /* bytes of a file that is copied */
	LOCK_POLL_NS = 20 * 1000 * 1000,
	LOCK_POLLS_MAX = 6000,
};

/* NAME-DIGEST of a project's folder: readable, and not to be chosen. */
static void keep_project(const char *work_dir, char out[KEEP_NAME_MAX + 2 * KEEP_DIGEST + 2])
{
	const char *slash = strrchr(work_dir, '/'), *name = slash ? slash + 1 : work_dir;
	unsigned char digest[KEEP_DIGEST];
	size_t n = 0;

	(void)crypto_generichash(
		digest, sizeof(digest), (const unsigned char *)work_dir, strlen(work_dir), NULL, 0);
	for (; n < KEEP_NAME_MAX && name[n]; n++) {
		const bool is_plain =
			(name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') ||
			(name[n] >= '0' && name[n] <= '9') || (n && strchr("._-", name[n]));

		out[n] = '_';
		if (is_plain)
			out[n] = name[n];
	}
	out[n++] = '-';
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(out + n + 2 * i, 3, "%02x", digest[i]);
}

int preset_make_folders(const char *path, size_t from)
{
	char part[PATH_BYTES];
	int made = 0;

	for (size_t len = from; path[len];) {
		len += 1 + strcspn(path + len + 1, "/");
		memcpy(part, path, len);
		part[len] = '\0';
		made = mkdir(part, S_IRWXU) == 0;
		if (!made && errno != EEXIST)
			return -errno;
	}
	return made;
}

static int keep_check(const char *path, const char *home, char real[PATH_BYTES], struct error *e)
{
	struct planted planted;
	struct stat st;
	int r = planted_find(path, home, &planted);

	if (r < 0 || stat(planted.real, &st) < 0)
		return error_set(
			e, r < 0 ? r : -errno, NULL, "%s: %s", path, strerror(r < 0 ? -r : errno));
	if (r == 1)
		r = error_set(e, -EPERM, NULL,
			"%s resolves to %s through the symbolic link %s, which an earlier command "
			"could have created",
			path, planted.real, planted.link);
	else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		r = error_set(e, -EPERM, NULL, "%s is not a folder of your own", path);
	if (r < 0) {
		error_hint(e, "remove it; Corral creates it again");
		return r;
	}
	memcpy(real, planted.real, sizeof(planted.real));
	return 0;
}

int preset_keep(int preset, const char *home, const char *work_dir, char real[PATH_BYTES],
	bool *ret_is_new, struct error *e)
{
	char project[KEEP_NAME_MAX + 2 * KEEP_DIGEST + 2] = "", path[PATH_BYTES];
	const bool is_agent = preset_is_agent(preset);
	int n, r;

	if (!home || (!is_agent && !work_dir))
		return error_set(
			e, -ENOENT, NULL, "preset %s: your home is not known", preset_name(preset));
	if (!is_agent)
		keep_project(work_dir, project);
	n = snprintf(path, sizeof(path), "%s/%s/%s%s%s", home,
		is_agent ? PRESET_AGENTS : PRESET_PACKS, project, is_agent ? "" : "/",
		preset_name(preset));
	r = n < (int)sizeof(path) ? preset_make_folders(path, strlen(home)) : -ENAMETOOLONG;
	if (r < 0)
		return error_set(e, r, NULL, "%s cannot be made: %s", path, strerror(-r));
	*ret_is_new = r;
	return keep_check(path, home, real, e);
}

/* What a command may have put in place of the user's file: a link, another's file, a pipe. */
static int keep_open_seed(const char *from)
{
	auto_fd fd = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -EPERM;
	return fd_take(&fd);
}

/*
 * Opens the folder that a file of the state belongs in, and makes what is missing of it. The keep's
 * own path has no links. Below it a run of the agent may be writing while this one waits for an
 * answer, so each folder is opened from the one before, and -ELOOP ends it at a link.
 */
static int keep_open_folder(const char *keep, const char *to)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	auto_fd at = (int)syscall(SYS_openat2, AT_FDCWD, keep, &how, sizeof(how));
	char name[NAME_MAX + 1];
	struct stat st;

	for (const char *slash; at >= 0 && (slash = strchr(to, '/')); to = slash + 1) {
		int next;

		if (slash - to > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, to, (size_t)(slash - to));
		name[slash - to] = '\0';
		if (mkdirat(at, name, S_IRWXU) < 0 && errno != EEXIST)
			return -errno;
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Of a link, O_DIRECTORY says that it is no folder. */
		if (next < 0 && errno == ENOTDIR &&
			fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			return -ELOOP;
		fd_close(&at);
		at = next;
	}
	return at < 0 ? -errno : fd_take(&at);
}

int preset_seed(const char *keep, const char *from, const char *to, struct error *e)
{
	const char *slash = strrchr(to, '/');
	auto_buffer text = { 0 };
	auto_fd in = keep_open_seed(from), folder = -1, out = -1;
	int r;

	if (in < 0)
		return 0;
	r = folder = keep_open_folder(keep, to);
	if (r >= 0)
		r = file_read_fd(in, KEEP_SEED_MAX, &text);
	if (r >= 0) {
		out = openat(folder, slash ? slash + 1 : to,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
		if (out < 0)
			r = errno == EEXIST ? 1 : -errno;
		else
			r = file_write_all(out, text.data, text.len);
	}
	if (r == -ELOOP) {
		(void)error_set(e, r, NULL,
			"%s is not copied to %s/%s: a folder on the way is a symbolic link, which "
			"a "
			"run of the agent has created",
			from, keep, to);
		error_hint(e, "remove it, or the whole folder; Corral creates it again");
		return r;
	}
	if (r < 0)
		return error_set(e, r, NULL, "%s cannot be copied: %s", from, strerror(-r));
	return out >= 0;
}

int preset_lock_states(const char *keep, struct error *e)
{
	const struct timespec pause = { .tv_nsec = LOCK_POLL_NS };
	char path[PATH_BYTES];
	auto_fd fd = -1;

	(void)snprintf(path, sizeof(path), "%.*s", (int)(strrchr(keep, '/') - keep), keep);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK)
			return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
		if (i == LOCK_POLLS_MAX) {
			(void)error_set(e, -EBUSY, NULL,
				"another run has been changing settings of an agent for two "
				"minutes");
			error_hint(e, "wait until it has ended, or end it");
			return -EBUSY;
		}
		(void)nanosleep(&pause, NULL);
	}
	/* The lock ends with the process. */
	(void)fd_take(&fd);
	return 0;
}
