/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting takes a name out of a folder, and the folder is held: whatever has the name at that
 * moment lies there, and a link is taken out itself. Nothing is deleted but by its own kind: a
 * folder that has become a link meanwhile, or a file that has become a folder, stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/enclave/place.h"

static int enclave_delete_take_out(const struct enclave_place *p)
{
	if (p->fd < 0)
		return -ENOENT;
	if (unlinkat(p->folder, p->name, S_ISDIR(p->st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return -errno;
	return 0;
}

int corral_enclave_fs_delete(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_DELETE, path);
	r = enclave_place_find_entry(&c, OPERATION_FS_WRITE, &place, e);
	return r < 0 ? r : enclave_place_done(&c, &place, enclave_delete_take_out(&place), e);
}
