/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The end of a sandbox's first process is waited for, since not every init of a machine waits for
 * processes that were left to it. To take apart what that process has takes the kernel longer than
 * many a command: its watches 15 ms, its mounts one. So that is left to a worker of the kernel.
 */

/* Last of all before _exit(). watch: a descriptor that takes long to close, or -1. */
void part_begin(int watch);
