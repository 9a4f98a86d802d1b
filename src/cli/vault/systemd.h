/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A key that systemd-creds keeps: encrypted with the machine's TPM, or with a key of the host.
 * Before systemd 256 only root can use it.
 */
#include "base/error.h"
#include "vault/secret.h"

/* id: the vault's, so that no other vault's key is taken. -EOPNOTSUPP …, with a sentence. */
int systemd_encrypt(const char *id, const struct secret *key, struct secret *ret, struct error *e);
/* blob: in hexadecimal digits. */
int systemd_decrypt(const char *id, const char *blob, struct secret *ret, struct error *e);
