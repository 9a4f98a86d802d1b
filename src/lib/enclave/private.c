/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of an enclave, and its private places: folders that are the session's own, where no
 * grant is needed. A place is a mount, and what lies on that mount is in it; its name alone says
 * nothing. The attack: /tmp is private, and in it is a bind of the host's, or a mask, or one
 * appears later. All of these are other mounts, and what lies there is decided by the policy.
 *
 * A place is held by a descriptor for as long as the enclave lives: the kernel uses the numbers of
 * mounts again once they are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "jail/privilege.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"

/* 0: the kernel does not say (before Linux 5.8). */
static uint64_t private_mount_of(int fd, bool *ret_is_root)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return 0;
	if (ret_is_root)
		*ret_is_root = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return st.stx_mnt_id;
}

static int private_add(struct corral_enclave *enclave, const char *path, struct error *e)
{
	struct enclave_private *p = &enclave->private[enclave->n_private];
	bool is_root = false;
	auto_fd fd = -1;
	int r;

	if (!path || !path_is_normal(path, strlen(path)))
		return error_set(e, -EINVAL, NULL,
			"a private place must be an absolute path without . or .., and %s is not",
			path ? path : "NULL");
	r = beneath_open(enclave->root, path, &fd);
	if (r < 0)
		return error_set(e, r, NULL, "the private place %.256s cannot be opened: %s", path,
			strerror(-r));
	p->mount = private_mount_of(fd, &is_root);
	if (!p->mount)
		return error_set(e, -ENOSYS, NULL, "private places need STATX_MNT_ID (Linux 5.8)");
	if (!is_root)
		return error_set(e, -EINVAL, NULL,
			"the private place %.256s is not a mount of its own", path);
	p->fd = fd_take(&fd);
	enclave->n_private++;
	return 0;
}

static int private_set_root(struct corral_enclave *enclave, int root, struct error *e)
{
	struct stat st;

	enclave->root = fcntl(root, F_DUPFD_CLOEXEC, 3);
	if (enclave->root < 0 || fstat(enclave->root, &st) < 0)
		return error_set(e, -errno, NULL, "root_fd is no open descriptor");
	if (!S_ISDIR(st.st_mode))
		return error_set(e, -ENOTDIR, NULL, "root_fd is not a folder");
	/* Without it a mount in there could be replaced (enclave_private_is_mount_point()). */
	if (!private_mount_of(enclave->root, NULL))
		return error_set(e, -ENOSYS, NULL, "root_fd needs STATX_MNT_ID (Linux 5.8)");
	return 0;
}

int enclave_private_set(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	int r = o->root_fd ? private_set_root(enclave, *o->root_fd, e) : 0;

	if (r < 0)
		return r;
	if (o->n_private_places > ENCLAVE_PRIVATE_MAX)
		return error_set(e, -E2BIG, NULL, "an enclave has at most %d private places",
			ENCLAVE_PRIVATE_MAX);
	for (size_t i = 0; r == 0 && i < o->n_private_places; i++)
		r = private_add(enclave, o->private_places ? o->private_places[i] : NULL, e);
	return r;
}

void enclave_private_drop(struct corral_enclave *enclave)
{
	for (size_t i = 0; i < enclave->n_private; i++)
		fd_close(&enclave->private[i].fd);
	fd_close(&enclave->root);
}

bool enclave_private_has(const struct corral_enclave *enclave, int fd)
{
	uint64_t mount = enclave->n_private ? private_mount_of(fd, NULL) : 0;

	for (size_t i = 0; mount && i < enclave->n_private; i++) {
		if (enclave->private[i].mount == mount)
			return true;
	}
	return false;
}

bool enclave_private_reaches(const struct corral_enclave *enclave, const char *path)
{
	auto_enclave_suspend rights = enclave_private_suspend(enclave);
	auto_fd fd = -1;

	return enclave->n_private && beneath_reach(enclave->root, path, &fd) == 0 &&
	       enclave_private_has(enclave, fd);
}

bool enclave_private_is_mount_point(const struct corral_enclave *enclave, int folder, int fd)
{
	return enclave->root != BENEATH_HOST &&
	       private_mount_of(folder, NULL) != private_mount_of(fd, NULL);
}

uint32_t enclave_private_suspend(const struct corral_enclave *enclave)
{
	return enclave->root == BENEATH_HOST ? 0 : privilege_suspend();
}

void enclave_private_resume(const uint32_t *suspended)
{
	privilege_resume(*suspended);
}

bool enclave_private_is_proc(const struct corral_enclave *enclave, int fd)
{
	struct statfs fs;

	return enclave->root != BENEATH_HOST &&
	       (fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC);
}
