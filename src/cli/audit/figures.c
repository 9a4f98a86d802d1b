/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/terminal.h"

enum { EIGHTHS = 8 };

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

/* By name, not by setlocale(): the locale that is named need not be installed. */
static bool audit_chart_speaks_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ROWS(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

struct audit_chart audit_chart_for(int fd)
{
	unsigned short rows, columns;

	terminal_size(fd, &rows, &columns);
	return (struct audit_chart){ .columns = columns, .has_blocks = audit_chart_speaks_utf8() };
}

void audit_chart_bar(const struct audit_chart *c, struct output *o, enum output_style style,
	uint64_t n, uint64_t max, unsigned width)
{
	static const char *const blocks[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	auto_buffer bar = { 0 };
	const unsigned in_cell = c->has_blocks ? EIGHTHS : 1;
	const uint64_t most = (uint64_t)width * in_cell;
	uint64_t parts = 0;

	/* Rounded to the nearest; never 0 of something. */
	if (n && max)
		parts = (uint64_t)((double)n / (double)max * (double)most + 0.5);
	if (n && max && !parts)
		parts = 1;
	if (parts > most)
		parts = most;
	for (uint64_t i = 0; i < parts / in_cell; i++)
		buffer_adds(&bar, c->has_blocks ? "█" : "#");
	if (c->has_blocks)
		buffer_adds(&bar, blocks[parts % EIGHTHS]);
	if (bar.len)
		output_styled(o, style, buffer_text(&bar));
	o->text.failed |= bar.failed;
}
