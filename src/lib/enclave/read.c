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
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/place.h"

struct content {
	char *data;
	size_t len, room; /* one more byte is there, for the NUL */
};

static int enclave_read_make_room(struct content *c, size_t room)
{
	char *data = realloc(c->data, room + 1);

	if (!data)
		return -ENOMEM;
	c->data = data;
	c->room = room;
	return 0;
}

/* Never holds more than one byte beyond max. */
static int enclave_read_all(int fd, size_t max, struct content *c)
{
	for (;;) {
		ssize_t n;

		if (c->len == c->room &&
			enclave_read_make_room(c, c->room > max / 2 ? max + 1 : 2 * c->room) < 0)
			return -ENOMEM;
		n = read(fd, c->data + c->len, c->room - c->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		c->len += (size_t)n;
		if (c->len > max)
			return -EFBIG;
	}
}

/* One byte more than it says to have: then its end is seen without growing. */
static int read_whole(int fd, size_t size, size_t max, struct content *ret)
{
	struct content c = { 0 };
	int r = enclave_read_make_room(&c, size + 1);

	if (r == 0)
		r = enclave_read_all(fd, max, &c);
	if (r < 0) {
		free(c.data);
		return r;
	}
	c.data[c.len] = '\0';
	*ret = c;
	return 0;
}

static int enclave_read_too_large(struct enclave_call *c, struct corral_error **e)
{
	return enclave_refuse(c, -EFBIG, e, "the file is larger than the limit of %llu bytes",
		(unsigned long long)c->enclave->max_file_bytes);
}

/* What it is, by the descriptor that is going to be used. */
static int enclave_read_check(
	struct enclave_call *c, const struct stat *st, struct corral_error **e)
{
	if (S_ISDIR(st->st_mode))
		return enclave_refuse(c, -EISDIR, e, "this is a folder, not a file");
	if (!S_ISREG(st->st_mode))
		return enclave_refuse(
			c, -ELOOP, e, "this is a device, a FIFO or a socket, not a plain file");
	if (st->st_nlink > 1 && enclave_denies_paths(c->enclave))
		return enclave_refuse(c, -EMLINK, e,
			"the file has %llu names, and the policy denies or asks for some files by "
			"name; a copy of it can be read",
			(unsigned long long)st->st_nlink);
	if ((uint64_t)st->st_size > c->enclave->max_file_bytes)
		return enclave_read_too_large(c, e);
	return 0;
}

static int read_place(struct enclave_call *c, struct enclave_place *p, struct content *ret,
	struct corral_error **e)
{
	uint64_t limit = c->enclave->max_file_bytes;
	size_t max = limit < SIZE_MAX / 4 ? (size_t)limit : SIZE_MAX / 4;
	auto_fd fd = -1;
	int r = enclave_read_check(c, &p->st, e);

	if (r < 0)
		return r;
	r = beneath_reopen(p->fd, O_RDONLY, &fd);
	if (r == 0 && fstat(fd, &p->st) < 0)
		r = -errno;
	if (r < 0)
		return enclave_done(c, r, e);
	r = enclave_read_check(c, &p->st, e);
	if (r < 0)
		return r;
	r = read_whole(fd, (size_t)p->st.st_size, max, ret);
	if (r < 0)
		return r == -EFBIG ? enclave_read_too_large(c, e) : enclave_done(c, r, e);
	c->received = ret->len;
	(void)enclave_place_done(c, p, 0, e);
	return 0;
}

int corral_enclave_fs_read(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, char **ret, size_t *ret_len, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct content content = { 0 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_READ, path);
	r = enclave_place_find(&c, OPERATION_FS_READ, &place, e);
	if (r == 0)
		r = read_place(&c, &place, &content, e);
	if (r < 0)
		return r;
	*ret = content.data;
	*ret_len = content.len;
	return 0;
}
