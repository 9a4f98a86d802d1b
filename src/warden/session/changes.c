/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnotify tells by a signal. It is asked for one event of each folder at a time and armed again
 * before the folder is looked at, so no more than one signal of each is ever queued, and nothing
 * falls between the two. If the kernel cannot queue one (RLIMIT_SIGPENDING is the user's, and a
 * command can use it up), it sends SIGIO without the folder, and then all are looked at. A command
 * that sends these signals itself achieves no more than that.
 */
#include "warden/session/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"

enum {
	READS_MAX = 128, /* all that the kernel keeps of inotify's at most */
	DNOTIFY_EVENTS = DN_CREATE | DN_DELETE | DN_RENAME,
	INOTIFY_FLAGS = IN_DONT_FOLLOW | IN_MASK_ADD,
};

/* SIGRTMIN of the C library is no constant. */
static int changes_signal(void)
{
	return SIGRTMIN;
}

static int changes_open_dnotify(struct changes *c)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGIO);
	(void)sigaddset(&set, changes_signal());
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	c->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	c->by_folder = true;
	return c->fd < 0 ? -errno : 0;
}

int changes_open(struct changes *c, bool by_folder, struct error *e)
{
	int r = 0;

	c->fd = by_folder ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (c->fd < 0)
		r = by_folder || errno == EMFILE ? changes_open_dnotify(c) : -errno;
	return r < 0 ? error_set(e, r, NULL, "cannot watch files: %s", strerror(-r)) : 0;
}

void changes_close(struct changes *c)
{
	for (size_t i = 0; c->by_folder && i < c->n; i++)
		fd_close(&c->watches[i].wd);
	free(c->watches);
	fd_close(&c->fd);
	*c = (struct changes){ .fd = -1 };
}

static struct changes_watch *changes_find(const struct changes *c, int wd)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->watches[i].wd == wd)
			return &c->watches[i];
	return NULL;
}

static int changes_arm(int fd)
{
	/* -EINVAL: switched off by fs.dir-notify-enable, or not in this kernel. */
	if (fcntl(fd, F_SETSIG, changes_signal()) < 0 || fcntl(fd, F_NOTIFY, DNOTIFY_EVENTS) < 0)
		return errno == EINVAL ? -EMFILE : -errno;
	return 0;
}

/* The folder of a path, or itself. */
static int changes_open_folder(const char *path, bool above)
{
	const char *slash = above ? strrchr(path, '/') : NULL;
	size_t len = !slash ? strlen(path) : slash == path ? 1 : (size_t)(slash - path);
	char folder[PATH_BYTES];
	int fd;

	if (len >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, len);
	folder[len] = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int changes_watch_folder(struct changes *c, const char *path, uint32_t mask)
{
	struct changes_watch new = { .users = 1, .armed = mask & (CHANGES_IN | IN_ATTRIB) };
	auto_fd fd = new.armed ? changes_open_folder(path, !(mask & CHANGES_IN))
			       : open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return new.armed &&fd < 0 ? fd : -errno;
	for (size_t i = 0; i < c->n; i++) {
		struct changes_watch *w = &c->watches[i];

		if (w->armed == new.armed && w->dev == st.st_dev && w->ino == st.st_ino) {
			w->users++;
			return w->wd;
		}
	}
	new.wd = fd;
	new.dev = st.st_dev;
	new.ino = st.st_ino;
	r = new.armed ? changes_arm(fd) : 0;
	if (r == 0)
		r = ARRAY_PUSH(c->watches, c->n, c->cap, new);
	return r < 0 ? r : fd_take(&fd);
}

int changes_watch(struct changes *c, const char *path, uint32_t mask)
{
	struct changes_watch new = { .users = 1 }, *known;
	int r;

	if (c->by_folder)
		return changes_watch_folder(c, path, mask);
	new.wd = inotify_add_watch(c->fd, path, mask | INOTIFY_FLAGS);
	if (new.wd < 0)
		return -errno;
	known = changes_find(c, new.wd);
	if (known)
		known->users++;
	r = known ? 0 : ARRAY_PUSH(c->watches, c->n, c->cap, new);
	return r < 0 ? r : new.wd;
}

void changes_drop(struct changes *c, int wd)
{
	struct changes_watch *w = changes_find(c, wd);

	if (!w || --w->users > 0)
		return;
	*w = c->watches[--c->n];
	if (c->by_folder)
		fd_close(&wd);
	else
		(void)inotify_rm_watch(c->fd, wd);
}

uint32_t changes_at(const struct changes *c, int wd, const char *path)
{
	const struct changes_watch *w = changes_find(c, wd);
	struct stat st;

	if (!w)
		return IN_MOVED_FROM;
	if (lstat(path, &st) == 0 && st.st_dev == w->dev && st.st_ino == w->ino)
		return 0;
	return fstat(wd, &st) == 0 && st.st_nlink == 0 ? IN_DELETE : IN_MOVED_FROM;
}

/* Marks what signals tell of. */
static int changes_hear(struct changes *c)
{
	struct signalfd_siginfo info[16];

	for (int reads = 0; reads < READS_MAX; reads++) {
		ssize_t n = read(c->fd, info, sizeof(info));

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		for (size_t i = 0; i < (size_t)n / sizeof(info[0]); i++) {
			/* Only the kernel sends with such a code. SIGIO is not queued: one by a
			 * command may stand for the kernel's. */
			bool of_all = info[i].ssi_signo == SIGIO, of_one = info[i].ssi_code > 0;

			for (size_t j = 0; j < c->n; j++)
				c->watches[j].heard |=
					of_all || (of_one && c->watches[j].wd == info[i].ssi_fd);
		}
	}
	return 0;
}

static int changes_read_signals(struct changes *c, changes_heed *heed, void *data)
{
	struct session_changed change = { .mask = CHANGES_IN | CHANGES_SELF };
	int *heard = malloc((c->n + 1) * sizeof(*heard));
	size_t n = 0;
	int r = heard ? changes_hear(c) : -ENOMEM;

	/* Whoever heeds adds and drops. */
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		struct changes_watch *w = &c->watches[i];

		if (w->heard && w->armed) {
			r = changes_arm(w->wd);
			heard[n++] = w->wd;
		}
		w->heard = false;
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		change.wd = heard[i];
		r = heed(data, &change);
	}
	free(heard);
	return r;
}

static int changes_read_events(struct changes *c, changes_heed *heed, void *data)
{
	_Alignas(struct inotify_event) char events[8192];
	int r = 0;

	for (int reads = 0; r == 0 && reads < READS_MAX; reads++) {
		ssize_t n = read(c->fd, events, sizeof(events));

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		for (ssize_t at = 0; r == 0 && at < n;) {
			const struct inotify_event *event = (const void *)(events + at);
			const struct session_changed change = { .wd = event->wd,
				.mask = event->mask,
				.name = event->len > 0 ? event->name : "" };

			r = event->mask & IN_Q_OVERFLOW ? -EOVERFLOW : heed(data, &change);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return r;
}

int changes_read(struct changes *c, changes_heed *heed, void *data)
{
	return c->by_folder ? changes_read_signals(c, heed, data)
			    : changes_read_events(c, heed, data);
}
