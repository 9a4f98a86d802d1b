/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which program has a connection, for secrets that are granted to programs. Unlike the look for
 * records (owner.h), this one decides, so whatever leaves room for another answer is "unsure":
 *
 *   - all processes of the caller's pid namespace are looked at, each thread's descriptors apart,
 *     and all that have the connection must be of one program;
 *   - a process that cannot be looked at (PR_SET_DUMPABLE) could have it;
 *   - a descriptor that is under way in a Unix socket (SCM_RIGHTS) could be it;
 *   - two sockets with the same two ports cannot be told apart;
 *   - the program, and each file that is mapped as code in it, lies where the sandbox cannot write
 *     (a read-only mount), and there is no other code: a library of LD_PRELOAD from a folder of the
 *     command's is seen so;
 *   - it is no interpreter: that runs what it is given.
 *
 * It is the state of a moment. docs/decisions/0161 says what that does not hold.
 */
#include <stdint.h>

#include "wire/owner.h"

/* port: of the socket's own end; peer_port: where it goes. Sets all of *ret but its id. */
void socket_program_find(uint16_t port, uint16_t peer_port, struct owner_program *ret);
