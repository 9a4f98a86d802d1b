/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/enclave/file.h"

#include <string.h>

static enum corral_file_kind enclave_file_kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return CORRAL_FILE;
	if (S_ISDIR(mode))
		return CORRAL_FOLDER;
	return S_ISLNK(mode) ? CORRAL_LINK : CORRAL_OTHER;
}

void enclave_file_fill(struct corral_file *ret, const char *name, const struct stat *st)
{
	const struct corral_file all = {
		.size = ret->size && ret->size < sizeof(all) ? ret->size : sizeof(all),
		.name = name,
		.kind = enclave_file_kind_of(st->st_mode),
		.bytes = (uint64_t)st->st_size,
		.mode = st->st_mode & 07777,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
	};

	memcpy(ret, &all, all.size);
}
