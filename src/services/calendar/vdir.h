/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lists as folders, items as files: the "vdir" of vdirsyncer, which khal and todoman read and
 * write, too. A folder below the root is a list; its file `displayname` says what it is called, or
 * else its own name does. A file *.ics is an item.
 *
 * Other programs write at the same time, and know no lock of ours. A version is known by inode,
 * size and times of its file, and by a hash of what is in it. A new version is written beside it,
 * and the two names are exchanged; if what comes back is not the version that was read, they are
 * exchanged once more, and the write is refused. Several of ours take turns by flock() of the
 * folder.
 *
 * Links are not followed, neither for folders nor for files; nothing is opened by a name that a
 * caller gave.
 */
#include "services/calendar/store.h"

/* `root` is taken. -ENOMEM. The caller frees it by its call. */
int vdir_new(struct store **ret, int root);
