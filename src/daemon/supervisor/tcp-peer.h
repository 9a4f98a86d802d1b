/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The user at the other end of a connection on loopback: the kernel is asked for the socket that
 * has these two addresses the other way around (sock_diag(7)). Which process has it is not known,
 * and does not matter: what may be asked is proved by a key (daemon/proof.h).
 */
#include <sys/types.h>

/* -ENOENT: it was closed already; other errors: this kernel does not say. */
int tcp_peer_uid(int socket, uid_t *ret);
