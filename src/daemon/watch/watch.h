/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the daemon looks at: folders, this machine, and its own corrald-http. */
#include <stdbool.h>

#include "daemon/watch/health.h"
#include "daemon/watch/policies.h"
#include "daemon/watch/security-watch.h"

struct daemon_watch {
	struct security_watch security;
	struct policies policies;
	struct health health;
	/* Why changes of some folders are not seen at once: an errno value; 0: all are. */
	int unwatched;
	bool is_files_limit; /* EMFILE: of open files, not of inotify */
};
