/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame as a front that was taken over could send it: the first byte chooses the rows, the rest
 * is a body. It has one form only, so what is read is written again as the same bytes; and each
 * value is one that its row allows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static const struct schema_field *choose(unsigned char c)
{
	if (c < METHOD_COUNT)
		return method_rows[c].params;
	return c < 2 * METHOD_COUNT ? method_rows[c - METHOD_COUNT].results : rpc_refusal_fields;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct schema_field *fields = choose(size ? data[0] : 0);
	auto_buffer again = { 0 };
	auto_arena a = { 0 };
	struct rpc_refusal refusal;
	struct values v;
	int r;

	if (size == 0)
		return 0;
	r = values_decode(fields, data + 1, size - 1, &a, &v);
	require(r == 0 || r == -EPROTO);
	if (r < 0)
		return 0;
	for (size_t i = 0; fields[i].name; i++)
		require(value_is_allowed(&fields[i], &v.v[i]));
	require(values_encode(fields, &v, &again) == 0);
	require(again.len == size - 1 && memcmp(buffer_text(&again), data + 1, again.len) == 0);
	if (fields == rpc_refusal_fields) {
		auto_buffer out = { 0 };

		require(rpc_refusal_read(&v, &refusal) == 0 && refusal.message[0]);
		rpc_print_refusal(&out, "1", false, &refusal);
	} else if (data[0] >= METHOD_COUNT) {
		auto_buffer out = { 0 };

		(void)rpc_print_result(
			&out, "1", &method_rows[data[0] - METHOD_COUNT], size & 1, -1, &v);
	}
	return 0;
}
