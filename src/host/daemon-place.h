/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a user's daemon, or the system's, has its sockets and its token: corral in XDG_RUNTIME_DIR;
 * without that variable in /run/user/UID, for root in /run. All three are in the baseline, and
 * hidden from commands (host/own.h).
 *
 *     corrald.pid   locked by the daemon while it lives
 *     token         what clients of the API must show
 *     api.sock      HTTP
 *     join.sock     frames: sandboxes announce themselves
 */
#include "base/buffer.h"

/* Appends FOLDER/name, or the folder for NULL. -ENOENT: XDG_RUNTIME_DIR is no absolute path. */
int daemon_place(const char *name, struct buffer *out);
/* The system's: /run/corral/name. */
void daemon_place_system(const char *name, struct buffer *out);
/*
 * The folder (O_PATH), if name is in it. -EPERM: it is a link, belongs to another user than this
 * one or root, or others may write there: another program may listen in place of the daemon.
 */
int daemon_place_look(const char *name, int *ret_folder);
/* Connects a Unix socket to name in that folder. -EPERM also if another user's process listens. */
int daemon_place_connect(const char *name, int fd);
