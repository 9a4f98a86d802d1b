/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A private /dev: the harmless devices of the host, terminals of its own, shared memory of its own.
 */

/* Names and links, in an empty folder on a file system in memory. */
int devices_name(int folder);
/* What stands behind the names; `dev` is that folder, mounted. `host`: the host's root. */
int devices_mount(int dev, int host);
