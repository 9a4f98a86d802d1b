/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "advice/scan/internal.h"

struct skill_scanner {
	struct arena arena; /* of the automaton */
	struct scan_match match;
};

int skill_scanner_new(struct skill_scanner **ret)
{
	struct skill_scanner *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (scan_match_init(&s->match, &s->arena) < 0) {
		skill_scanner_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void skill_scanner_free(struct skill_scanner *s)
{
	if (!s)
		return;
	arena_deinit(&s->arena);
	free(s);
}

int skill_scanner_look(struct skill_scanner *s, struct arena *a, const char *text, size_t len,
	struct skill_findings *ret)
{
	return scan_bytes(&s->match, a, "text.md", text,
		len < SKILL_SCAN_FILE_MAX ? len : SKILL_SCAN_FILE_MAX, ret);
}
