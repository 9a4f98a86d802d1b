/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The three descriptors that a command is given come from outside the jail, and the walls do not
 * reach what they stand for: neither mounts nor namespaces count for an open file. So only such go
 * in that lead nowhere else: files that are open for reading, character devices, and packets of
 * AF_UNIX. Of pipes, other files and other connections only bytes go in (session/copier.h).
 */
#include <stdbool.h>

#include "base/error.h"
#include "jail/plan/plan.h"

/*
 * -EISDIR: a folder, from which the host's tree could be walked. -EBADF: no open file, or just a
 * place (O_PATH). -EPROTOTYPE: a socket of the network, which could be connected anew from out
 * there, unless `network` says that commands have the host's network anyway. -EACCES: a disk, or
 * something that has no bytes to read (epoll, a process).
 */
int given_check(int fd, bool network, struct error *e);
/*
 * True if it must not go in itself, and its bytes are copied: pipes, which can be opened again in
 * the other direction; files that are open for writing, which can be truncated; files that exist in
 * memory only, where no wall counts; and connections, which carry both ways, and descriptors.
 */
bool given_is_copied(int fd);
/* True if both lead to the same place in the same way, so that what is written there has an order.
 */
bool given_is_same(int a, int b);
/*
 * -EACCES: a file that the plan covers, be it denied or read-only inside a folder that may be
 * written. By its descriptor it could be opened again, for writing: it is of the host's mount,
 * where there is no cover.
 */
int given_check_cover(int fd, const struct plan *plan, struct error *e);
/*
 * The same device from inside, where it is, opened anew: /dev/null and its like of the host have an
 * owner, who might be the command's user, and a mode that must stay as it is; and what a command
 * does to an open file (a lock, a flag) would be there for whoever else has it, the next command
 * too. -ENODEV: it is none of those. *null: one of /dev/null that was opened ahead, for reading and
 * writing, and is taken if it fits; or -1.
 */
int given_inside(int fd, int *null);
