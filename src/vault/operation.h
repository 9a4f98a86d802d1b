/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the operations of corral-vault share (operations.c has their table): records of the log, the
 * file of the vault with its lock, and those operations that stand in files of their own.
 */
#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/clock.h"
#include "vault/internal.h"
#include "vault/store.h"

enum { OPERATION_LOCK_MS = 120 * 1000 }; /* longer than a source may take */

static inline uint64_t operation_now_s(void)
{
	return clock_ms(CLOCK_REALTIME) / 1000;
}

/* operation-file.c. What is not in the log was not done: the record comes before the change. */
int operation_record(struct vault_server *s, const char *what, const char *name,
	const char *principal, enum audit_decision decision, const char *reason, struct error *e);
/* These set the error, and return it. */
int operation_no_vault(struct error *e);
int operation_locked(struct error *e);
int operation_damaged(struct error *e);
/* If the user has locked or unlocked the vault since, or there is no key: what the kernel's keyring
 * has. */
void operation_look_for_key(struct vault_server *s);
/* Reads the file with the key. -ENOKEY: another process changed it. */
int operation_read(struct vault_server *s, bool is_restored, struct vault *v, struct error *e);
/* The same, or says that there is no vault, or that it is locked. */
int operation_open(struct vault_server *s, struct vault *v, struct error *e);
int operation_write(struct vault_server *s, struct vault *v, struct error *e);
/* A change: the lock stays until the caller closes it. */
int operation_begin(struct vault_server *s, struct vault *v, int *ret_lock, struct error *e);
int operation_find(struct vault *v, const char *name, struct vault_entry **ret, struct error *e);

typedef int operation_handler(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e);
/* operation-keys.c: the passphrase, what else opens the vault, and locking it. */
operation_handler operation_init, operation_rekey, operation_unlock, operation_lock,
	operation_slot_begin, operation_slot_add;
/* operation-show.c: what is there, without values. */
operation_handler operation_status, operation_list;
