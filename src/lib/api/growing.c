/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/growing.h"

#include <errno.h>
#include <string.h>

/* No struct of ours is this long: somebody forgot to set the size. */
enum { SIZE_MAX_SANE = 1 << 16 };

int growing_read(void *ret, size_t known, const void *from, size_t size)
{
	const unsigned char *bytes = from;

	if (size < sizeof(size) || size > SIZE_MAX_SANE)
		return -EINVAL;
	for (size_t i = known; i < size; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memset(ret, 0, known);
	memcpy(ret, from, size < known ? size : known);
	return 0;
}
