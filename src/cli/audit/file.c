/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file without a name (O_TMPFILE) goes with the process, however that ends, so an export that was
 * interrupted leaves nothing behind. Not every file system has them. It cannot take a name that is
 * given already: it gets one beside it, and is renamed in the same breath.
 */
#include "cli/audit/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 16 };

static int audit_file_fail(const struct audit_file *f, int r, struct error *e)
{
	return error_set(e, r, NULL, "%s: cannot be written: %s", f->path, strerror(-r));
}

/* A device, a pipe or a link would be replaced by a file: nobody means that. */
static int check_path(const char *path, struct error *e)
{
	struct stat st;

	if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	(void)error_set(e, -EINVAL, NULL, "%s: it is there and no plain file", path);
	error_hint(e, "without --output the result goes to standard output");
	return -EINVAL;
}

static int open_nameless(const char *path)
{
	const char *slash = strrchr(path, '/');
	auto_buffer folder = { 0 };

	buffer_add(&folder, path, slash ? (size_t)(slash - path) + 1 : 0);
	buffer_adds(&folder, ".");
	if (folder.failed)
		return -1;
	return open(folder.data, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

int audit_file_begin(struct audit_file *f, const char *path, struct error *e)
{
	int r = check_path(path, e);

	if (r < 0)
		return r;
	*f = (struct audit_file){ .fd = open_nameless(path), .path = path };
	if (f->fd >= 0)
		return 0;
	buffer_printf(&f->temp, "%s.XXXXXX", path);
	if (f->temp.failed)
		return audit_file_fail(f, -ENOMEM, e);
	f->fd = mkostemp(f->temp.data, O_CLOEXEC); /* mode 0600 */
	if (f->fd >= 0)
		return 0;
	r = -errno;
	buffer_clear(&f->temp);
	return audit_file_fail(f, r, e);
}

/* A name beside its own that nobody has. */
static int give_name(struct audit_file *f)
{
	char self[64];
	uint64_t random;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	for (int i = 0; i < TRIES; i++) {
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		buffer_clear(&f->temp);
		buffer_printf(&f->temp, "%s.%016llx", f->path, (unsigned long long)random);
		if (f->temp.failed)
			return -ENOMEM;
		if (linkat(AT_FDCWD, self, AT_FDCWD, f->temp.data, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	buffer_clear(&f->temp);
	return -errno;
}

int audit_file_finish(struct audit_file *f, struct error *e)
{
	int r = fsync(f->fd) < 0 ? -errno : 0;

	if (r == 0 && !f->temp.len)
		r = give_name(f);
	if (r == 0 && rename(f->temp.data, f->path) < 0)
		r = -errno;
	if (r < 0)
		return audit_file_fail(f, r, e);
	buffer_clear(&f->temp);
	return 0;
}

void audit_file_deinit(struct audit_file *f)
{
	if (f->temp.len)
		(void)unlink(f->temp.data);
	if (f->fd >= 0)
		(void)close(f->fd);
	buffer_deinit(&f->temp);
}
