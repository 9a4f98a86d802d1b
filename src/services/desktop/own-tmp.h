/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A /tmp of this process and its children, in memory, which ends with the last of them: for
 * programs that keep a file there and know no other place, as wl-copy does. In a user and mount
 * namespace of their own; the user stays who it is.
 */

/*
 * `kept` is a path that stays what it is, with the folder that it is in, also if that is below
 * /tmp. Single-threaded, and before anything is confined. Negative: the kernel does not allow it.
 */
int own_tmp_make(const char *kept);
