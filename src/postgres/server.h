/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process corral-postgres: it has the passwords that one sandbox is lent for its databases, and
 * logs in with them on the connections that the relay hands over (inject/borrower.h). It opens no
 * file and makes no socket: what it can reach is what it was handed.
 */

/* authorities: files with those that servers are verified by; NULL is behind the last. Returns when
 * its lender hangs up. */
int postgres_server_main(const char *const *authorities);
