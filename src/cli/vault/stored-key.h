/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A key of the vault that is kept elsewhere: by systemd-creds, encrypted with the machine's TPM or
 * a key of the host (before systemd 256 for root only); or by the Secret Service of the user's
 * desktop.
 */
#include "base/error.h"
#include "vault/format.h"

/* VAULT_SLOT_NONE: the word is none of them. */
enum vault_slot_kind stored_key_kind(const char *word);
/* id: the vault's, so that no other vault's key is taken. *ret: what the vault keeps to get it
 * back; empty for the Secret Service. */
int stored_key_keep(enum vault_slot_kind kind, const char *id, const struct secret *key,
	struct secret *ret, struct error *e);
/* blob: that, in hexadecimal digits. */
int stored_key_take(enum vault_slot_kind kind, const char *id, const char *blob, struct secret *ret,
	struct error *e);
