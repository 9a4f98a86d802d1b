/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a file: a new one, the draft, is made in the same folder, without a name where the file
 * system can do that, filled, synced, and takes the place of the old one by a rename. So a
 * reader sees all of the old or all of the new, also after a power cut (the file is synced, the
 * folder is not: the old one may be back then).
 *
 * The folder is held. What has the name when the rename comes is replaced and never followed or
 * opened: a link, a FIFO or a device that another process puts there meanwhile is simply gone. A
 * link that is there from the beginning leads to another name, which is judged, and replaced in its
 * own folder.
 *
 * The old file's mode is kept, but for setuid, setgid and sticky: content that an agent wrote must
 * not run as another user. Its owner is kept as far as we may give files away. Other names of the
 * old file keep the old content.
 */
#include "lib/enclave/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/enclave/beneath.h"

enum { NAME_TRIES = 16 };

void draft_deinit(struct draft *d)
{
	if (d->name[0])
		(void)unlinkat(d->folder, d->name, 0);
	fd_close(&d->fd);
}

static int draft_make_name(char out[static DRAFT_NAME])
{
	unsigned long long random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(out, DRAFT_NAME, ".corral-%016llx%08llx", random[0], random[1] & 0xffffffff);
	return 0;
}

int draft_make(struct draft *d, mode_t mode)
{
	char name[DRAFT_NAME];

	d->fd = openat(d->folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	if (d->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	/* There are no nameless files here. */
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		int r = draft_make_name(name);

		if (r < 0)
			return r;
		d->fd = openat(
			d->folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (d->fd >= 0) {
			memcpy(d->name, name, sizeof(name));
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

bool draft_has_part(const struct draft *d)
{
	struct stat named, ours;

	return d->part[0] && fstatat(d->folder, d->part, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(d->fd, &ours) == 0 && named.st_dev == ours.st_dev &&
	       named.st_ino == ours.st_ino;
}

/* Where a file can have only one name the part's is changed; then it must be the one we have. */
static int draft_move_part(struct draft *d, const char *name)
{
	if (renameat(d->folder, d->part, d->folder, name) < 0)
		return -errno;
	(void)snprintf(d->part, sizeof(d->part), "%s", name);
	return draft_has_part(d) ? 0 : -EBUSY;
}

/*
 * A rename needs a name to begin with: a new one for this very file, not that of the part, which
 * another file may have by now.
 */
static int draft_name(struct draft *d)
{
	char name[DRAFT_NAME];
	int r = d->name[0] ? 0 : -EEXIST;

	for (unsigned i = 0; r == -EEXIST && i < NAME_TRIES; i++) {
		r = draft_make_name(name);
		if (r == 0)
			r = beneath_name(d->fd, d->folder, name);
		if ((r == -EPERM || r == -EOPNOTSUPP) && draft_has_part(d))
			r = draft_move_part(d, name);
		if (r == 0)
			memcpy(d->name, name, sizeof(name));
	}
	return r;
}

int draft_put(struct draft *d, const char *name, const struct stat *old)
{
	int r = 0;

	/* As the old one was. Only a process that may give files away can keep its owner: others
	 * become it. In a user namespace an owner may have no number (EINVAL). */
	if (old && fchown(d->fd, old->st_uid, old->st_gid) < 0 && errno != EPERM && errno != EINVAL)
		r = -errno;
	if (r == 0 && old && fchmod(d->fd, old->st_mode & DRAFT_MODE_BITS) < 0)
		r = -errno;
	if (r == 0 && fsync(d->fd) < 0)
		r = -errno;
	if (r == 0)
		r = draft_name(d);
	if (r == 0 && renameat(d->folder, d->name, d->folder, name) < 0)
		r = -errno;
	if (r == 0)
		d->name[0] = '\0';
	return r;
}
