/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Where our own cgroup's folder is, from the text of two files of /proc. Pure. */
#include "base/buffer.h"

/*
 * Appends the folder of our cgroup in the cgroup2 hierarchy.
 * cgroups: /proc/self/cgroup; mounts: /proc/self/mountinfo.
 * -ENOENT: no cgroup2 hierarchy, or none is mounted. -EXDEV: it is mounted, but our cgroup is not
 * below what the mount shows. -ESTALE: our cgroup was removed under our feet. -EINVAL: not such
 * files.
 */
int cgroup_find(const char *cgroups, const char *mounts, struct buffer *ret);
