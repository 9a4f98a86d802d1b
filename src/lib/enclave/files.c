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
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "lib/api/handles.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/draft.h"
#include "lib/enclave/internal.h"

static int files_too_large(struct enclave_call *c, struct corral_error **e)
{
	return enclave_refuse(c, -EFBIG, e, "the file is larger than the limit of %llu bytes",
		(unsigned long long)c->enclave->max_file_bytes);
}

int enclave_file_check(struct enclave_call *c, const struct stat *st, struct corral_error **e)
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
	int r = enclave_file_check(c, st, e);

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

static int files_open(const struct corral_enclave *enclave, struct enclave_place *p, int *ret)
{
	auto_enclave_suspend rights = enclave_private_suspend(enclave);
	int r = beneath_reopen(p->fd, O_RDONLY, ret);

	return r == 0 && fstat(*ret, &p->st) < 0 ? -errno : r;
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
	r = files_open(enclave, &place, &fd);
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

static int enclave_file_delete(const struct corral_enclave *enclave, const struct enclave_place *p)
{
	auto_enclave_suspend rights = enclave_private_suspend(enclave);
	int flags = S_ISDIR(p->st.st_mode) ? AT_REMOVEDIR : 0;

	if (p->fd < 0)
		return -ENOENT;
	return unlinkat(p->folder, p->name, flags) < 0 ? -errno : 0;
}

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
	return enclave_place_done(&c, &place, enclave_file_delete(enclave, &place), e);
}

/* Writing: draft.c has what becomes of it. */

static int files_put(const struct corral_enclave *enclave, const struct enclave_place *p,
	mode_t mode, const void *data, size_t len)
{
	auto_enclave_suspend rights = enclave_private_suspend(enclave);
	const struct stat *old = p->fd >= 0 ? &p->st : NULL;
	auto_draft d = { .folder = p->folder, .fd = -1 };
	int r = draft_make(&d, old ? 0600 : mode);

	if (r == 0)
		r = file_write_all(d.fd, data, len);
	return r < 0 ? r : draft_put(&d, p->name, old);
}

int corral_enclave_fs_write(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, const void *data, size_t len, struct corral_error **e)
{
	return corral_enclave_fs_write_file(enclave, by, path, ENCLAVE_FILE_MODE, data, len, e);
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
		r = enclave_file_check(&c, &place.st, e);
	if (r < 0)
		return r;
	if (len > enclave->max_file_bytes)
		return enclave_refuse(&c, -EFBIG, e, "%zu bytes are more than the limit of %llu",
			len, (unsigned long long)enclave->max_file_bytes);
	r = files_put(enclave, &place, mode & DRAFT_MODE_BITS, data, len);
	if (r == 0)
		c.sent = len;
	return enclave_place_done(&c, &place, r, e);
}
