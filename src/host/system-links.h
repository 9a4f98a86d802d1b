/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The system's own links at the root: /bin is a link to /usr/bin, and so are /sbin, /lib and their
 * relatives. Policies are lexical, so a grant of all in /usr says nothing of /bin/sh, though that
 * is the very same file, and #!/bin/sh is in the first line of half of all scripts. Who lets all
 * that is behind such a link be read means the link as well.
 */
#include "policy/permissions.h"

/*
 * Adds the link with all below it to fs.read of each layer that has the folder which it leads to,
 * with all below that; with the place of that grant. Only links that no command can have made
 * (host/planted.h), and to where they really lead; denials and rules stay what they are. -ENOMEM.
 */
int system_links_grant(struct permissions *p);
