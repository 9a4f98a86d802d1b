/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The folder of a vault, which is the current folder of the process that calls this:
 *
 *     vault      the file (vault/format.h), replaced as a whole
 *     vault.old  the file before it
 *     mark       the generation that was written last, authenticated with the vault's key
 *     attempts   how many passphrases in a row were wrong, and when the last of them was tried
 *     lock       who holds it may write
 *     turn       another number since the user has last locked or unlocked the vault
 *
 * A process that is killed at any point leaves the old file or the new one. Whoever changes a vault
 * takes the lock, reads, changes, and writes: so no change is lost, and a value that has to be
 * fetched is fetched once.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "vault/format.h"

#define STORE_FILE "vault"
#define STORE_BACKUP "vault.old"
#define STORE_TURN "turn"

enum { STORE_TURN_BYTES = 16 };

/* Makes an open folder the current one: it must be the user's own, and closed to all others. */
int store_enter(int folder, struct error *e);
/* The caller closes *ret, which ends the lock. -EBUSY. */
int store_lock(unsigned most_ms, int *ret, struct error *e);
/* Appends the file. -ENOENT: there is none. -EPERM: it is a link, not ours, or open to others. */
int store_read(struct buffer *out, struct error *e);
/* Replaces the file; the one before stays as the backup. With the lock. */
int store_write(const struct buffer *file, struct error *e);
/* The backup has values that another key opens. */
void store_forget_backup(void);

/*
 * The mark: after the file, so it is never newer than a file that was written completely. A mark
 * that is absent, or of another key, says nothing: 0.
 */
void store_mark(const struct vault_header *h, const uint8_t key[VAULT_KEY_BYTES]);
uint64_t store_marked(const struct vault_header *h, const uint8_t key[VAULT_KEY_BYTES]);

/*
 * The turn. Whoever has the key remembers the turn at which it was had; where it is another one
 * now, the user has locked or unlocked the vault since, and the kernel's keyring has the key or
 * not. store_turn(): another one; the caller has changed the keyring before. Zero: there was none
 * yet, or it cannot be read.
 */
void store_turn_read(uint8_t ret[STORE_TURN_BYTES]);
int store_turn(struct error *e);

/*
 * Passphrases. store_attempt() is called before one is tried, and counts it as wrong, so that a
 * process that is killed meanwhile counts, too. -EAGAIN: not yet; *ret_wait_s says how long to
 * wait. store_attempt_succeeded() forgets them. now_s: time of day.
 */
int store_attempt(uint64_t now_s, uint64_t *ret_wait_s, struct error *e);
void store_attempt_succeeded(void);
/* How long until the next may be tried; 0: now. */
uint64_t store_attempt_wait(uint64_t now_s);
