/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as an image: what is read is written as it was, and can be compiled or is refused. And as a
 * policy's text: what that becomes is the same after a way through an image.
 */
#include "policy/format/test/fuzz-manifest.h"

#include "policy/format/image.h"
#include "policy/policy.h"

enum { COMPILED_MAX = 640 };

static void fuzz_bytes(const char *bytes, size_t len)
{
	auto_permissions *p = permissions_new();
	auto_buffer again = { 0 };
	auto_policy *policy = NULL;
	struct error e = { 0 };

	fuzz_require(p != NULL);
	if (image_read(p, bytes, len) < 0)
		return;
	fuzz_require(image_write(p, &again) == 0);
	fuzz_require(again.len == len && memcmp(again.data, bytes, len) == 0);
	/* Globs that were made to explode take their time, and have a fuzzer of their own. */
	if (len <= COMPILED_MAX)
		(void)policy_new(&policy, (const struct permissions *const *)&p, 1, NULL, &e);
}

static void fuzz_text(const char *text, size_t len)
{
	auto_manifest m = { 0 };
	auto_permissions *p = permissions_new();
	auto_buffer bytes = { 0 };
	auto_arena trees = { 0 };

	if (manifest_read(&m, MANIFEST_UNKNOWN, "policy.yaml", text, len, NULL) < 0 ||
		image_write(m.permissions, &bytes) < 0)
		return;
	fuzz_require(p && image_read(p, bytes.data, bytes.len) == 0);
	fuzz_require(node_equal(
		permissions_to_node(p, &trees), permissions_to_node(m.permissions, &trees)));
	fuzz_bytes(bytes.data, bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (size == 0)
		return 0;
	/* Of its own, so that a look behind its end is seen. */
	copy = malloc(size);
	fuzz_require(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	if (data[0] == 't')
		fuzz_text(copy, size - 1);
	else
		fuzz_bytes(copy, size - 1);
	free(copy);
	return 0;
}
