/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The key of an unlocked vault in the kernel's keyring of the user, for a time. The kernel keeps it
 * in memory that is never on disk, and forgets it when the time is over. Any process of the user
 * that is not in a sandbox could read it; commands in sandboxes have another keyring
 * (jail/keyring.h), and no call of the kernel for keys.
 *
 * A vault is known by its folder's device and number.
 */
#include <stdint.h>
#include <sys/stat.h>

#include "vault/format.h"

struct keys_entry {
	uint8_t id[VAULT_ID_BYTES];
	uint8_t key[VAULT_KEY_BYTES];
	uint64_t generation; /* that was seen last: an older file was put back */
	uint64_t until_s;    /* time of day */
};

/* -ENOKEY: it is not there, or its time is over. -ENOSYS, -EPERM: the kernel gives no keys. */
int keys_load(const struct stat *folder, struct keys_entry *ret);
/* Adds it, or replaces the one that is there. -EKEYEXPIRED: its time is over. */
int keys_save(const struct stat *folder, const struct keys_entry *e);
/* Nothing if there is none. */
void keys_drop(const struct stat *folder);
