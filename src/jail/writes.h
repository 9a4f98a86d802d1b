/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tier 3: a process in the host's own namespaces that may write in some folders and nowhere else.
 * Landlock alone enforces that, so it works where user namespaces are missing, and enforces less:
 *
 *   enforced      creating, changing, truncating, renaming, linking and removing files outside of
 *                 the folders; Unix sockets, System V and POSIX queues (by the filter of calls);
 *                 looking into other processes; signals to them from Landlock's version 6 on
 *   not enforced  what is read; modes, owners, times and extended attributes of files; whatever
 *                 lies in the folders; the network; memory, processes and time
 */
#include <stddef.h>

#include "base/error.h"

/* Before it, a file that may only be read can be truncated. */
enum { WRITES_LANDLOCK_MIN = 3, WRITES_LANDLOCK_SIGNALS = 6 };

/*
 * Confines the calling process and all that it starts, for good. -EOPNOTSUPP: the kernel has not
 * what it takes; e says what is missing. After a failure the process must not go on.
 */
int writes_confine(const char *const *folders, size_t n, struct error *e);
