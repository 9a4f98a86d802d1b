/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that a preset keeps. Its name has a digest of the working folder, of which no other
 * can be chosen that has the same: a project cannot name itself so that it writes what another one
 * installs from. Each folder on the way is made for this user alone, and none is behind a link that
 * a command could have left.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/preset/preset.h"
#include "host/planted.h"

#define AGENTS ".local/share/corral-agents"
#define PACKS ".cache/corral-packs"

enum {
	KEEP_DIGEST = 16,
	KEEP_NAME_MAX = 40,
	KEEP_SEED_MAX = 4 << 20, /* bytes of a file that is copied */
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

/* Makes what is missing below the first `from` bytes of a path. 1: the last of them was made. */
static int keep_make(const char *path, size_t from)
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
	n = snprintf(path, sizeof(path), "%s/%s/%s%s%s", home, is_agent ? AGENTS : PACKS, project,
		is_agent ? "" : "/", preset_name(preset));
	r = n < (int)sizeof(path) ? keep_make(path, strlen(home)) : -ENAMETOOLONG;
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

int preset_seed(const char *keep, const char *from, const char *to, struct error *e)
{
	char path[PATH_BYTES], folder[PATH_BYTES];
	auto_buffer text = { 0 };
	auto_fd in = keep_open_seed(from), out = -1;
	int r;

	if (in < 0)
		return 0;
	if (snprintf(path, sizeof(path), "%s/%s", keep, to) >= (int)sizeof(path))
		return error_set(e, -ENAMETOOLONG, NULL, "%s: the path is too long", to);
	memcpy(folder, path, sizeof(path));
	*strrchr(folder, '/') = '\0';
	r = keep_make(folder, strlen(keep));
	if (r >= 0)
		r = file_read_fd(in, KEEP_SEED_MAX, &text);
	if (r >= 0) {
		out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			S_IRUSR | S_IWUSR);
		if (out < 0)
			r = errno == EEXIST ? 1 : -errno;
		else
			r = file_write_all(out, text.data, text.len);
	}
	if (r < 0)
		return error_set(e, r, NULL, "%s cannot be copied: %s", from, strerror(-r));
	return out >= 0;
}
