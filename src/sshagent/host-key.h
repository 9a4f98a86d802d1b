/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Keys of hosts: ssh-ed25519, ecdsa-sha2-nistp256 …, ssh-rsa (with SHA-2). Certificates, keys on
 * security tokens and DSA are none.
 */
#include "sshagent/blob.h"

enum { HOST_KEY_FINGERPRINT = 52 }; /* "SHA256:", 43 characters, NUL */

/* What is needed later is loaded now: before the process is confined. */
int host_key_begin(void);
/* Whether it is of a type that can be verified, and no longer than such a key may be. */
bool host_key_is_known(struct blob key);
/* Whether the signature is one of the data by this key. Only for keys that were granted: of others,
 * nothing is computed. */
bool host_key_verify(struct blob key, struct blob signature, struct blob data);
/* As ssh-keygen -l prints it, into HOST_KEY_FINGERPRINT. */
void host_key_fingerprint(struct blob key, char *out);
/* HMAC-SHA1, of a hashed name in known_hosts. */
enum { HOST_KEY_MAC = 20 };
bool host_key_mac(struct blob salt, const char *name, uint8_t ret[HOST_KEY_MAC]);
