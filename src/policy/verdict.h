/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Ordered: the strictest of several is the least. Zero denies. */
enum verdict { VERDICT_DENY, VERDICT_ASK, VERDICT_ALLOW };
enum { VERDICT_COUNT = 3 };

/* "deny", "ask", "allow". */
extern const char *const verdict_names[VERDICT_COUNT];
const char *verdict_name(enum verdict v);
static inline enum verdict verdict_strictest(enum verdict a, enum verdict b)
{
	return a < b ? a : b;
}
