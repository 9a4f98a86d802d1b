/* SPDX-License-Identifier: Apache-2.0 */
/* Public suffixes: the tables, and libpsl for what these do not know. */
#include <stdbool.h>
#include <string.h>

#include "policy/baseline.h"
#include "threat/internal.h"
#include "threat/threat.h"

/* Label by label; one that is * in the row is any. */
static bool threat_suffix_is(const char *row, const char *name)
{
	while (*row && *name) {
		if (row[0] == '*') {
			row++;
			name += strcspn(name, ".");
		} else if (*row++ != *name++) {
			return false;
		}
	}
	return !*row && !*name;
}

int threat_is_public_suffix(const char *name)
{
	/* One label: a top-level domain, unless it is a private one. */
	if (!strchr(name, '.'))
		return !baseline_guard_of_name(name);
	for (size_t i = 0; i < threat_hosts_n; i++) {
		if (threat_hosts[i].uses & THREAT_SHARED &&
			threat_suffix_is(threat_name(&threat_hosts[i]), name))
			return 1;
	}
	return threat_suffix_library_ask(name);
}
