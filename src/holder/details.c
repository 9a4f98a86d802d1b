/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/details.h"

#include <string.h>

#include "advice/describe/describe.h"

void holder_details_add(const struct permissions *p, const struct variables *variables,
	struct arena *a, const char *lines[JOIN_LINES_MAX], uint32_t *n)
{
	struct description d = { 0 };

	if (describe_permissions(p, variables, a, &d) < 0)
		return;
	for (size_t i = 0; i < d.n; i++)
		for (size_t k = 0; k < d.sections[i].lines.n && *n < JOIN_LINES_MAX; k++) {
			const char *line = d.sections[i].lines.items[k];

			/* Limits are numbers here, and what is not there needs no line. */
			if (strncmp(line, "nothing", 7) != 0 && strncmp(line, "no limit", 8) != 0)
				lines[(*n)++] = line;
		}
}
