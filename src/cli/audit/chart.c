/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/chart.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "cli/run/terminal.h"

enum { EIGHTHS = 8 };

/* By name, not by setlocale(): the locale that is named need not be installed. */
static bool speaks_utf8(void)
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
	return (struct audit_chart){ .columns = columns, .has_blocks = speaks_utf8() };
}

/* Parts of a cell, rounded to the nearest; never 0 of something. */
static uint64_t parts_of(uint64_t n, uint64_t max, uint64_t parts)
{
	uint64_t got;

	if (n == 0 || max == 0)
		return 0;
	got = (uint64_t)((double)n / (double)max * (double)parts + 0.5);
	return got == 0 ? 1 : got > parts ? parts : got;
}

void audit_chart_bar(const struct audit_chart *c, struct output *o, enum output_style style,
	uint64_t n, uint64_t max, unsigned width)
{
	static const char *const blocks[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	auto_buffer bar = { 0 };
	const unsigned in_cell = c->has_blocks ? EIGHTHS : 1;
	const uint64_t parts = parts_of(n, max, (uint64_t)width * in_cell);

	for (uint64_t i = 0; i < parts / in_cell; i++)
		buffer_adds(&bar, c->has_blocks ? "█" : "#");
	if (c->has_blocks)
		buffer_adds(&bar, blocks[parts % EIGHTHS]);
	if (bar.len)
		output_styled(o, style, buffer_text(&bar));
	o->text.failed |= bar.failed;
}
