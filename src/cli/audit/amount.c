/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "cli/audit/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void audit_amount_count(struct buffer *out, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buffer_addc(out, ',');
		buffer_addc(out, digits[i]);
	}
}

void audit_amount_bytes(struct buffer *out, uint64_t n)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)n;
	size_t unit = 0;

	/* 999,950 is a megabyte when it is rounded. */
	while (value >= (unit ? 999.95 : 1000) && unit + 1 < ROWS(units)) {
		value /= 1000;
		unit++;
	}
	buffer_printf(out, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

void audit_amount_span(struct buffer *out, uint64_t ns)
{
	const uint64_t ms = ns / 1000000, seconds = ms / 1000;

	if (ms == 0)
		buffer_printf(out, "%" PRIu64 " µs", ns / 1000);
	else if (seconds == 0)
		buffer_printf(out, "%" PRIu64 " ms", ms);
	else if (seconds < 60)
		buffer_printf(out, "%" PRIu64 ".%" PRIu64 " s", seconds, ms % 1000 / 100);
	else if (seconds < 3600)
		buffer_printf(out, "%" PRIu64 " min %" PRIu64 " s", seconds / 60, seconds % 60);
	else
		buffer_printf(
			out, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600, seconds % 3600 / 60);
}
