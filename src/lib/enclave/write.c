/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a file: a new one is made in the same folder, without a name where the file system can do
 * that, filled, synced, and takes the place of the old one by a rename. So whoever reads sees all
 * of the old or all of the new, also after a power cut (the file is synced, the folder is not: the
 * old one may be back then).
 *
 * The folder is held. What has the name when the rename comes is replaced and never followed or
 * opened: a link, a FIFO or a device that somebody puts there meanwhile is simply gone. A link that
 * is there from the beginning leads to another name, which is judged, and replaced in its own
 * folder.
 *
 * The old file's mode is kept, but for setuid, setgid and sticky: content that an agent wrote must
 * not run as somebody else. Its owner is kept as far as we may give files away. Other names of the
 * old file keep the old content.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"

enum { NAME_TRIES = 16, NEW_MODE = 0644 };

struct draft {
	int folder; /* not its own */
	int fd;
	char name[40]; /* "": it has none yet */
};

static void draft_deinit(struct draft *d)
{
	if (d->name[0])
		(void)unlinkat(d->folder, d->name, 0);
	fd_close(&d->fd);
}

/* A name that nobody can foresee. */
static int make_name(char out[static 40])
{
	unsigned long long random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(out, 40, ".corral-%016llx%08llx", random[0], random[1] & 0xffffffff);
	return 0;
}

/* Where there are no nameless files. */
static int make_named(struct draft *d, mode_t mode)
{
	char name[sizeof(d->name)];

	for (unsigned i = 0; i < NAME_TRIES; i++) {
		int r = make_name(name);

		if (r < 0)
			return r;
		d->fd = openat(d->folder, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (d->fd >= 0) {
			(void)snprintf(d->name, sizeof(d->name), "%s", name);
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int make_draft(struct draft *d, mode_t mode)
{
	d->fd = openat(d->folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	if (d->fd >= 0)
		return 0;
	if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)
		return make_named(d, mode);
	return -errno;
}

/* A rename needs a name to begin with. */
static int name_draft(struct draft *d)
{
	char name[sizeof(d->name)];
	int r = d->name[0] ? 0 : -EEXIST;

	for (unsigned i = 0; r == -EEXIST && i < NAME_TRIES; i++) {
		r = make_name(name);
		if (r == 0)
			r = beneath_name(d->fd, d->folder, name);
		if (r == 0)
			(void)snprintf(d->name, sizeof(d->name), "%s", name);
	}
	return r;
}

/* old: NULL if there is none. */
static int replace(
	const struct enclave_place *p, const struct stat *old, const void *data, size_t len)
{
	__attribute__((cleanup(draft_deinit))) struct draft d = { .folder = p->folder, .fd = -1 };
	int r = make_draft(&d, old ? 0600 : NEW_MODE);

	if (r == 0)
		r = file_write_all(d.fd, data, len);
	/* As the old one was. Only whoever may give files away can keep its owner: others become
	 * it. In a user namespace an owner may have no number (EINVAL). */
	if (r == 0 && old && fchown(d.fd, old->st_uid, old->st_gid) < 0 && errno != EPERM &&
		errno != EINVAL)
		r = -errno;
	if (r == 0 && old && fchmod(d.fd, old->st_mode & 0777) < 0)
		r = -errno;
	if (r == 0 && fsync(d.fd) < 0)
		r = -errno;
	if (r == 0)
		r = name_draft(&d);
	if (r == 0 && renameat(p->folder, d.name, p->folder, p->name) < 0)
		r = -errno;
	if (r == 0)
		d.name[0] = '\0';
	return r;
}

static int enclave_write_check(
	struct enclave_call *c, const struct enclave_place *p, size_t len, struct corral_error **e)
{
	if (p->fd >= 0 && S_ISDIR(p->st.st_mode))
		return enclave_refuse(c, -EISDIR, e, "this is a folder, not a file");
	if (p->fd >= 0 && !S_ISREG(p->st.st_mode))
		return enclave_refuse(
			c, -ELOOP, e, "this is a device, a FIFO or a socket, not a plain file");
	if (len > c->enclave->max_file_bytes)
		return enclave_refuse(c, -EFBIG, e, "%zu bytes are more than the limit of %llu",
			len, (unsigned long long)c->enclave->max_file_bytes);
	return 0;
}

int corral_enclave_fs_write(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, const void *data, size_t len, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_WRITE, path);
	r = enclave_place_find(&c, OPERATION_FS_WRITE, ENCLAVE_NAME, &place, e);
	if (r == 0)
		r = enclave_write_check(&c, &place, len, e);
	if (r < 0)
		return r;
	r = replace(&place, place.fd >= 0 ? &place.st : NULL, data, len);
	if (r == 0)
		c.sent = len;
	return enclave_place_done(&c, &place, r, e);
}
