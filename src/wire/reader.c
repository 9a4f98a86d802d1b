/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reader.h"

#include <string.h>

bool reader_bytes(struct reader *r, void *out, size_t len)
{
	if (r->left < len)
		return false;
	memcpy(out, r->data, len);
	r->data += len;
	r->left -= len;
	return true;
}

const char *reader_string(struct reader *r)
{
	const char *s = r->data;
	const char *end = r->left > 0 ? memchr(s, '\0', r->left) : NULL;

	if (!end)
		return NULL;
	r->left -= (size_t)(end - s) + 1;
	r->data = end + 1;
	return s;
}
