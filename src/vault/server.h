/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * All of corral-vault after its main(): confines itself, answers READY or FAILED, and serves until
 * its starter hangs up. Descriptors: 3 the starter's calls, 4 the vault's folder, 5 what the vault
 * asks its starter.
 */
int vault_server_main(void);
