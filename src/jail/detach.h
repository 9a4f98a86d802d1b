/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Takes the old root directory off the new one after pivot_root(), beside the caller.
 *
 * umount2() takes the mounts off their tree at once. Then it waits until no processor can be in the
 * middle of a lookup through them (an RCU grace period), which takes longer than any other step. A
 * process that shares the caller's memory waits in its place, and releases what was mounted.
 *
 * Between the two calls a lookup of "/..", or of a link with ".." in it, may still lead to the old
 * root. No other path does, as a lookup of "/" starts at the root directory and not at what is
 * mounted on it. So the caller looks up nothing but "/" meanwhile, and no command may run.
 */
#include <sys/types.h>

/*
 * The current directory is the new root, with the old one mounted on it. *ret: for detach_finish();
 * 0: no process could be started, and all is done. The process needs no exit signal, so nothing but
 * detach_finish() waits for it.
 */
int detach_begin(pid_t *ret);
/* Waits until the old root is away. -EBUSY: something is still mounted on the root directory. */
int detach_finish(pid_t pid);
