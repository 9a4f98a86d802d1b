/* SPDX-License-Identifier: Apache-2.0 */
/* Public suffixes: the tables, and libpsl for what these do not know. */
#include <string.h>

#include "policy/baseline.h"
#include "threat/internal.h"
#include "threat/threat.h"

int threat_is_public_suffix(const char *name)
{
	/* One label: a top-level domain, unless it is a private one. */
	if (!strchr(name, '.'))
		return !baseline_guard_of_name(name);
	for (size_t i = 0; i < threat_hosts_n; i++) {
		if (threat_hosts[i].uses & THREAT_SHARED &&
			strcmp(name, threat_name(&threat_hosts[i])) == 0)
			return 1;
	}
	return threat_suffix_library_ask(name);
}
