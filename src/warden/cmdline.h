/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A fork has the words of the program that it was forked from, and anybody may read them in
 * /proc/PID/cmdline: a command would see in that of its init how its host was called, with the
 * paths and the policy that it was given.
 */

/* Overwrites this process's own copy. The words must not be used any more. Needs the host's /proc.
 */
int cmdline_erase(void);
