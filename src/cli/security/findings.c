/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/security/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

const char *security_severity_name(enum security_severity s)
{
	static const char *const names[] = { "low", "medium", "high" };

	return names[s];
}

void security_add(struct security *s, const char *kind, enum security_severity severity,
	const char *where, const char *text, const char *remedy)
{
	struct arena *a = s->call->arena;
	struct finding f = { .kind = kind, .severity = severity };
	uint64_t hash = hash_bytes(HASH_START, where, strlen(where));

	if (s->n >= SECURITY_FINDINGS_MAX) {
		s->is_cut = true;
		return;
	}
	(void)snprintf(f.id, sizeof(f.id), "%s-%016" PRIx64, kind, hash);
	/* Two rules may dislike the same thing; the first one says what to do. */
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->items[i].id, f.id) == 0)
			return;
	f.text = arena_strdup(a, text);
	f.where = arena_strdup(a, where);
	f.remedy = arena_strdup(a, remedy);
	if (!f.text || !f.where || !f.remedy || ARENA_PUSH(a, s->items, s->n, s->cap, f) < 0)
		s->is_cut = true;
}
