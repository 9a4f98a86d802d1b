/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process corral-inject: it has the values of one sandbox's secrets, an authority of its own,
 * and the connections to hosts with secrets that the relay hands over (wire/lend.h). It is told
 * what it may do by its descriptor 3, gets values by 4, and connections by 5. It opens no file and
 * makes no socket: what it can reach is what it was handed.
 */

/* authorities: files with those that hosts are verified by; NULL is behind the last. Returns when
 * its lender hangs up. */
int inject_server_main(const char *const *authorities);
