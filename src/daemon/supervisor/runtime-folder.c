/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/runtime-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "audit/place.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "codec/encoding.h"
#include "host/daemon-place.h"
#include "host/own.h"

enum { FOLDER_BACKLOG = 512, PID_TEXT = 32, LOCK_TRIES = 1000, LOCK_PAUSE_MS = 10 };

static void runtime_folder_name(
	const struct runtime_folder *f, const char *name, char out[PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%s/%s", buffer_text(&f->path), name);
}

static int runtime_folder_check(const char *path, struct error *e)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		const int r = -errno;

		(void)error_set(e, r, NULL, "cannot make %s: %s", path, strerror(-r));
		error_hint(e, "set XDG_RUNTIME_DIR to a folder of your own that is there: mkdir -m "
			      "700 FOLDER");
		return r;
	}
	if (lstat(path, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077) {
		(void)error_set(e, -EPERM, NULL,
			"%s must be a folder of your own that others cannot enter", path);
		error_hint(e, "remove it, or: chmod 700 %s", path);
		return -EPERM;
	}
	return 0;
}

/* What a daemon that was killed had just forked holds its lock until it executes its program. */
static bool runtime_folder_lock(int fd, char text[static PID_TEXT])
{
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		const ssize_t n = pread(fd, text, PID_TEXT - 1, 0);
		pid_t pid;

		text[n > 0 ? n : 0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		pid = (pid_t)strtol(text, NULL, 10);
		if (i == LOCK_TRIES || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
			return false;
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return true;
}

static int runtime_folder_take_lock(struct runtime_folder *f, struct error *e)
{
	char path[PATH_BYTES], text[PID_TEXT];
	auto_fd fd = -1;
	ssize_t n;

	runtime_folder_name(f, "corrald.pid", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!runtime_folder_lock(fd, text)) {
		(void)error_set(
			e, -EBUSY, NULL, "a daemon runs here already, with the pid %s", text);
		error_hint(e, "`corral status` shows it");
		return -EBUSY;
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	f->lock = fd_take(&fd);
	return 0;
}

int runtime_folder_open(struct runtime_folder *f, bool is_system, struct error *e)
{
	int r = 0;

	*f = (struct runtime_folder){ .lock = -1 };
	if (is_system)
		daemon_place_system(NULL, &f->path);
	else
		r = daemon_place(NULL, &f->path);
	if (r < 0 || f->path.failed)
		return error_set(
			e, r < 0 ? r : -ENOMEM, NULL, "XDG_RUNTIME_DIR must be an absolute path");
	r = runtime_folder_check(buffer_text(&f->path), e);
	return r < 0 ? r : runtime_folder_take_lock(f, e);
}

int runtime_folder_token(struct runtime_folder *f, struct error *e)
{
	uint8_t bytes[MESSAGE_TOKEN / 2];
	char path[PATH_BYTES], line[MESSAGE_TOKEN + 2];
	int r;

	runtime_folder_name(f, "token", path);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(e, -errno, NULL, "getrandom: %s", strerror(errno));
	encoding_hex(bytes, sizeof(bytes), f->token);
	(void)snprintf(line, sizeof(line), "%s\n", f->token);
	r = file_replace(path, line, MESSAGE_TOKEN + 1, 0600);
	return r < 0 ? error_set(e, r, NULL, "cannot write %s: %s", path, strerror(-r)) : 0;
}

int runtime_folder_listen(
	const struct runtime_folder *f, const char *name, int type, int *ret, struct error *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char path[PATH_BYTES];
	auto_fd fd = -1;
	mode_t mask;
	int r;

	runtime_folder_name(f, name, path);
	if (strlen(path) >= sizeof(a.sun_path)) {
		(void)error_set(e, -ENAMETOOLONG, NULL, "%s is too long a path for a socket", path);
		error_hint(e, "set XDG_RUNTIME_DIR to a shorter path");
		return -ENAMETOOLONG;
	}
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* We hold the lock: what is there is left over. */
	(void)unlink(path);
	mask = umask(0177);
	r = fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	(void)umask(mask);
	if (r == 0 && listen(fd, FOLDER_BACKLOG) < 0)
		r = -errno;
	if (r < 0)
		return error_set(e, r, NULL, "cannot listen on %s: %s", path, strerror(-r));
	*ret = fd_take(&fd);
	return 0;
}

void runtime_folder_remove(const struct runtime_folder *f, const char *name)
{
	char path[PATH_BYTES];

	runtime_folder_name(f, name, path);
	(void)unlink(path);
}

/* Whether every run knows the place. */
static bool runtime_folder_is_usual(const struct runtime_folder *f)
{
	char usual[64];

	(void)snprintf(usual, sizeof(usual), "/run/user/%u/corral", (unsigned)geteuid());
	return strcmp(buffer_text(&f->path), "/run/corral") == 0 ||
	       strcmp(buffer_text(&f->path), usual) == 0;
}

static int runtime_folder_link(const struct runtime_folder *f, const char *link, struct error *e)
{
	char path[PATH_BYTES], fresh[PATH_BYTES + 8];
	size_t len;
	int r = audit_place_make(link, e);

	if (r < 0)
		return r;
	if (runtime_folder_is_usual(f)) {
		(void)unlink(link);
		return 0;
	}
	r = path_normalize(buffer_text(&f->path), f->path.len, path, &len);
	(void)snprintf(fresh, sizeof(fresh), "%s.new", link);
	(void)unlink(fresh);
	if (r == 0 && (symlink(path, fresh) < 0 || rename(fresh, link) < 0))
		r = -errno;
	return r < 0 ? error_set(e, r, NULL, "cannot write %s: %s", link, strerror(-r)) : 0;
}

int runtime_folder_announce(const struct runtime_folder *f, const char *log, struct error *e)
{
	const char *home = secure_getenv("HOME"), *slash = strrchr(log, '/');
	auto_buffer beside = { 0 }, usual = { 0 };
	int r;

	buffer_add(&beside, log, slash ? (size_t)(slash - log) : 0);
	buffer_adds(&beside, "/" OWN_DAEMON);
	r = beside.failed ? error_no_memory(e) : runtime_folder_link(f, beside.data, e);
	if (r < 0 || !home || home[0] != '/')
		return r;
	buffer_printf(&usual, "%s/.local/state/corral/" OWN_DAEMON, home);
	return usual.failed ? error_no_memory(e) : runtime_folder_link(f, usual.data, e);
}

void runtime_folder_close(struct runtime_folder *f)
{
	if (f->lock >= 0) {
		runtime_folder_remove(f, "token");
		runtime_folder_remove(f, "corrald.pid");
	}
	fd_close(&f->lock);
	buffer_deinit(&f->path);
}
