/* SPDX-License-Identifier: Apache-2.0 */
/* What is at a path. Nothing is opened for that, so it may be of any kind. */
#include <errno.h>
#include <string.h>

#include "lib/enclave/file.h"
#include "lib/enclave/place.h"

int corral_enclave_fs_stat(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_file *ret, char *name, struct corral_error **e)
{
	auto_enclave_place place = { .folder = -1, .fd = -1 };
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, by, AUDIT_FS_READ, path);
	r = enclave_place_find(&c, OPERATION_FS_READ, &place, e);
	if (r < 0)
		return r;
	if (name)
		memcpy(name, place.path, strlen(place.path) + 1);
	enclave_file_fill(ret, name ? name : "", &place.st);
	return enclave_place_done(&c, &place, 0, e);
}
