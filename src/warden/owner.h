/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which program has a socket: for records, by the port that it sends from. Looks at the processes
 * of the caller's pid namespace, by its own /proc; bounded, as a command may have any number of
 * them.
 *
 * What a command says of itself is not proof: a program can have any name. The look decides
 * nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/owner.h"

/*
 * The name of the program whose socket has this port of its own, UDP or TCP: of the script, where
 * an interpreter runs one ("npm", not "node"). Printable ASCII; "" if it is not found.
 */
void owner_find(bool is_udp, uint16_t port, char ret[OWNER_NAME_BYTES]);
/* A port on which a program here waits for connections, and its name. 0: there is none; ports that
 * the kernel chooses do not count. */
uint16_t owner_listens(char ret[OWNER_NAME_BYTES]);
