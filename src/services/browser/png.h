/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The head of a PNG. */
#include <stddef.h>

/* Its width and height in pixels. -EINVAL: it is no PNG. What stands behind the head is not read.
 */
int png_size(const char *data, size_t len, unsigned *ret_width, unsigned *ret_height);
