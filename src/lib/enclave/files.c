/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a file. Its kind is looked at before it is opened, because opening alone may do
 * something: a FIFO waits, a tape rewinds. Its size is only where reading begins: a file may grow
 * meanwhile, or say 0 as those of /proc do, so the limit is held byte by byte.
 *
 * Hard links. A file with a second name can be one that the policy denies by that name, and nothing
 * tells. So if somebody wrote down that some files are denied, or to be asked for, a file with more
 * than one name is not read. The baseline, which is under every policy, does not count: it would
 * close every pnpm store and every local git clone to everybody; and it holds without, because
 * whoever could give ~/.ssh/id_ed25519 a second name can read it. (In a sandbox it is not there,
 * and fs.protected_hardlinks keeps other users from it.)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/arena.h"
#include "base/fd.h"
#include "base/file.h"
#include "lib/api/handles.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"

static int files_too_large(struct enclave_call *c, struct corral_error **e)
{
	return enclave_refuse(c, -EFBIG, e, "the file is larger than the limit of %llu bytes",
		(unsigned long long)c->enclave->max_file_bytes);
}

static int files_check_plain(struct enclave_call *c, const struct stat *st, struct corral_error **e)
{
	if (S_ISDIR(st->st_mode))
		return enclave_refuse(c, -EISDIR, e, "it is a folder, not a file");
	if (!S_ISREG(st->st_mode))
		return enclave_refuse(
			c, -ELOOP, e, "it is a device, a FIFO or a socket, not a regular file");
	return 0;
}

/* What it is, by the descriptor that is going to be used. */
static int files_check_kind(struct enclave_call *c, const struct stat *st, struct corral_error **e)
{
	int r = files_check_plain(c, st, e);

	if (r < 0)
		return r;
	if (st->st_nlink > 1 && enclave_denies_paths(c->enclave))
		return enclave_refuse(c, -EMLINK, e,
			"the file has %llu hard links, and the policy denies or asks for some "
			"files by name; read a copy of it instead",
			(unsigned long long)st->st_nlink);
	if ((uint64_t)st->st_size > c->enclave->max_file_bytes)
		return files_too_large(c, e);
	return 0;
}

void enclave_file_fill(struct corral_file *ret, const char *name, const struct stat *st)
{
	const struct corral_file all = {
		.size = ret->size && ret->size < sizeof(all) ? ret->size : sizeof(all),
		.name = name,
		.kind = S_ISREG(st->st_mode)   ? CORRAL_FILE
			: S_ISDIR(st->st_mode) ? CORRAL_FOLDER
			: S_ISLNK(st->st_mode) ? CORRAL_LINK
					       : CORRAL_OTHER,
		.bytes = (uint64_t)st->st_size,
		.mode = st->st_mode & 07777,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};

	memcpy(ret, &all, all.size);
}

int corral_enclave_fs_read(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, char **ret, size_t *ret_len, struct corral_error **e)
{
	return corral_enclave_fs_read_file(enclave, by, path, NULL, ret, ret_len, e);
}

int corral_enclave_fs_read_file(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_file *ret_file, char **ret, size_t *ret_len,
	struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	uint64_t limit = enclave->max_file_bytes;
	auto_buffer content = { 0 };
	struct enclave_call c;
	auto_fd fd = -1;
	size_t len;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_READ, path);
	r = enclave_place_find(&c, OPERATION_FS_READ, ENCLAVE_THING, &place, e);
	if (r == 0)
		r = files_check_kind(&c, &place.st, e);
	if (r < 0)
		return r;
	r = beneath_reopen(place.fd, O_RDONLY, &fd);
	if (r == 0 && fstat(fd, &place.st) < 0)
		r = -errno;
	if (r < 0)
		return enclave_done(&c, r, e);
	r = files_check_kind(&c, &place.st, e);
	if (r < 0)
		return r;
	r = file_read_fd(fd, limit < SIZE_MAX / 4 ? (size_t)limit : SIZE_MAX / 4, &content);
	if (r == -EFBIG)
		return files_too_large(&c, e);
	len = content.len;
	if (r == 0)
		r = handles_text(&content, ret);
	if (r < 0)
		return enclave_done(&c, r, e);
	*ret_len = c.received = len;
	if (ret_file)
		enclave_file_fill(ret_file, "", &place.st);
	return enclave_place_done(&c, &place, 0, e);
}

/* What is at a path. Nothing is opened for that, so it may be of any kind. */

int corral_enclave_fs_stat(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_file *ret, char *name, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_READ, path);
	r = enclave_place_find(&c, OPERATION_FS_READ, ENCLAVE_THING, &place, e);
	if (r < 0)
		return r;
	if (name)
		memcpy(name, place.path, strlen(place.path) + 1);
	enclave_file_fill(ret, name ? name : "", &place.st);
	return enclave_place_done(&c, &place, 0, e);
}

/*
 * Deleting takes a name out of a folder, and the folder is held: whatever has the name at that
 * moment lies there, and a link is taken out itself. Nothing is deleted but by its own kind: a
 * folder that has become a link meanwhile, or a file that has become a folder, stays.
 */

int corral_enclave_fs_delete(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_DELETE, path);
	r = enclave_place_find(&c, OPERATION_FS_WRITE, ENCLAVE_ENTRY, &place, e);
	if (r < 0)
		return r;
	if (place.fd < 0)
		r = -ENOENT;
	else if (unlinkat(place.folder, place.name, S_ISDIR(place.st.st_mode) ? AT_REMOVEDIR : 0) <
		 0)
		r = -errno;
	return enclave_place_done(&c, &place, r, e);
}

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

enum { NAME_TRIES = 16, NEW_MODE = 0644, MODE_BITS = 0777 };

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

static int make_draft(struct draft *d, mode_t mode)
{
	char name[sizeof(d->name)];

	d->fd = openat(d->folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	if (d->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	/* There are no nameless files here. */
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

/* old: NULL if there is none, and the mode counts. */
static int replace(const struct enclave_place *p, const struct stat *old, mode_t mode,
	const void *data, size_t len)
{
	__attribute__((cleanup(draft_deinit))) struct draft d = { .folder = p->folder, .fd = -1 };
	int r = make_draft(&d, old ? 0600 : mode);

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

int corral_enclave_fs_write(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, const void *data, size_t len, struct corral_error **e)
{
	return corral_enclave_fs_write_file(enclave, by, path, NEW_MODE, data, len, e);
}

int corral_enclave_fs_write_file(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, uint32_t mode, const void *data, size_t len, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_WRITE, path);
	r = enclave_place_find(&c, OPERATION_FS_WRITE, ENCLAVE_NAME, &place, e);
	if (r == 0 && place.fd >= 0)
		r = files_check_plain(&c, &place.st, e);
	if (r < 0)
		return r;
	if (len > enclave->max_file_bytes)
		return enclave_refuse(&c, -EFBIG, e, "%zu bytes are more than the limit of %llu",
			len, (unsigned long long)enclave->max_file_bytes);
	r = replace(&place, place.fd >= 0 ? &place.st : NULL, mode & MODE_BITS, data, len);
	if (r == 0)
		c.sent = len;
	return enclave_place_done(&c, &place, r, e);
}
