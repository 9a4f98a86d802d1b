/* SPDX-License-Identifier: Apache-2.0 */
#include "services/browser/png.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

int png_size(const char *data, size_t len, unsigned *ret_width, unsigned *ret_height)
{
	/* The signature, then the first chunk: its length, its name, width and height. */
	static const char head[] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
	const size_t head_len = sizeof(head) - 1;
	uint32_t sides[2];

	if (len < head_len + sizeof(sides) || memcmp(data, head, head_len) != 0)
		return -EINVAL;
	memcpy(sides, data + head_len, sizeof(sides));
	if (sides[0] == 0 || sides[1] == 0)
		return -EINVAL;
	*ret_width = be32toh(sides[0]);
	*ret_height = be32toh(sides[1]);
	return 0;
}
