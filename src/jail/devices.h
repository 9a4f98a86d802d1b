/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A private /dev: the harmless devices of the host, terminals of its own, shared memory of its own.
 */

/* Fills `folder` (on a file system in memory), as "/dev" of a jail. `host`: the host's root. */
int devices_make(int folder, int host);
