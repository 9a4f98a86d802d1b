/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEM before the first NUL, another list behind it. What is made takes the same certificates again,
 * and has all of the other list's entries at its end.
 */
#include <errno.h>
#include <string.h>

#include "codec/keystore.h"
#include "codec/test/fuzz.h"

enum { HEAD = 12, DIGEST = 20 };

static uint32_t count_of(const char *list)
{
	const uint8_t *at = (const uint8_t *)list + 8;

	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
	const char *list = end ? (const char *)end + 1 : NULL;
	const size_t len = end ? size - (size_t)(end + 1 - data) : 0;
	auto_buffer pem = { 0 }, out = { 0 }, again = { 0 };
	int r;

	buffer_add(&pem, data, end ? (size_t)(end - data) : size);
	r = keystore_print(buffer_text(&pem), list, len, &out);
	fuzz_require(r == 0 || (r == -EINVAL && out.len == 0));
	if (r < 0)
		return 0;
	if (list)
		fuzz_require(memcmp(out.data + out.len - DIGEST - (len - HEAD - DIGEST),
				     list + HEAD, len - HEAD - DIGEST) == 0);
	r = keystore_print(buffer_text(&pem), out.data, out.len, &again);
	/* There is room for so many. */
	fuzz_require(r == 0 || (r == -EINVAL && count_of(out.data) > 30000));
	if (r < 0)
		return 0;
	fuzz_require(count_of(again.data) - count_of(out.data) ==
		     count_of(out.data) - (list ? count_of(list) : 0));
	return 0;
}
