/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a file of missed events. What is checked has as many events as the check counted, all of
 * one session, and is made again, byte for byte, of what was read from it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/missed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char id[] = "0123456789abcdef";
	const int n = audit_missed_check(data, size, id);
	auto_buffer again = { 0 };
	struct audit_event e;
	size_t at = 0;
	int found = 0;

	if (n < 0)
		return 0;
	while (audit_missed_next(data, size, &at, &e)) {
		auto_buffer event = { 0 };

		found++;
		audit_event_encode(&e, &event);
		if (strcmp(e.session, id) != 0 ||
			!audit_missed_add(&again, event.data, event.len, 0))
			abort();
	}
	buffer_add(&again, "\0\0\0\0", 4);
	if (found != n || again.len != size || memcmp(again.data, data, size) != 0)
		abort();
	return 0;
}
