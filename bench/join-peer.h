/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Joins the daemon as the holder of a sandbox does, for measurements and tests. */

/* Of XDG_RUNTIME_DIR's daemon: connects and says who it is. *ret_fd is the caller's. */
int join_peer_open(const char *id, int *ret_fd);
/* Sends the i-th event of that sandbox; one in four is a denial. Waits until there is room. */
int join_peer_send(int fd, const char *id, unsigned long i);
