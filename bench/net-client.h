/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What net-client and the servers of net-server.c have to agree on. */

/* How many megabytes there will be: 0, and their number in two bytes. */
enum { NET_ASK_BYTES = 3 };
