/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event has one encoding: whatever is decoded is encoded again as exactly the bytes it came
 * from. What is not decoded leaves the output untouched.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/event.h"
#include "base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_event(const uint8_t *data, size_t size)
{
	struct audit_event e, untouched;
	auto_buffer again = { 0 };
	int r;

	memset(&untouched, 0x5a, sizeof(untouched));
	e = untouched;
	r = audit_event_decode(&e, data, size);
	if (r < 0) {
		require(r == -EBADMSG && memcmp(&e, &untouched, sizeof(e)) == 0);
		return;
	}
	audit_event_encode(&e, &again);
	require(again.len == size && memcmp(again.data, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_event(data, size);
	return 0;
}
