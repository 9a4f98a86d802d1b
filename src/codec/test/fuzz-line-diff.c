/* SPDX-License-Identifier: Apache-2.0 */
/* Two texts, separated by the first zero byte: the steps from one to the other give both. */
#include "codec/test/fuzz.h"
#include "codec/test/line-diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *old = (const char *)data, *zero = size ? memchr(data, 0, size) : NULL;
	const size_t old_len = zero ? (size_t)(zero - old) : size;
	const char *new = zero ? zero + 1 : "";
	const size_t new_len = zero ? size - old_len - 1 : 0;
	auto_line_diff d = { 0 };
	int r;

	if (!size)
		return 0;
	r = line_diff_make(&d, old, old_len, new, new_len);
	fuzz_require(r == 0 || r == 1);
	fuzz_require(line_diff_applies(&d, old, old_len, new, new_len));
	fuzz_require(r == 1 || line_diff_changes(&d) <= LINE_DIFF_STEPS);
	return 0;
}
