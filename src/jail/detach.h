/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Takes the old root directory off the new one after pivot_root().
 *
 * umount2() takes the mounts off their tree at once. Then it waits until no processor can be in the
 * middle of a lookup through them (an RCU grace period), which takes longer than any other step. So
 * a process beside the caller (jail/beside.h) does it, and the caller goes on.
 *
 * Until it is done, a lookup of "/..", or of a link with ".." in it, may still lead to the old
 * root. No other path does, as a lookup of "/" starts at the root directory and not at what is
 * mounted on it. So the caller opens nothing through links meanwhile, and no command may run.
 */

/* The current directory is the new root, with the old one mounted on it. */
int detach_unmount(void);
/* -EBUSY: something is still mounted on the root directory. */
int detach_check(void);
