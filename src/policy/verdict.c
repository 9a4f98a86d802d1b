/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/verdict.h"

const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_DENY] = "deny",
	[VERDICT_ASK] = "ask",
	[VERDICT_ALLOW] = "allow",
};

const char *verdict_name(enum verdict v)
{
	return verdict_names[v];
}
