/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The key that heads are signed with (Ed25519). Its file is made on first use and only ever read by
 * its owner; the public half lies beside it (".pub") and is what a verifier needs, ideally as a
 * copy that was taken elsewhere.
 */
#include <stdint.h>

#include "base/error.h"

enum {
	KEY_PUBLIC_BYTES = 32,
	KEY_SECRET_BYTES = 64,
	KEY_SIGNATURE_BYTES = 64,
	KEY_ID_BYTES = 16, /* of the hash of the public key */
};

struct key_public {
	uint8_t bytes[KEY_PUBLIC_BYTES];
};

struct key {
	struct key_public public;
	uint8_t secret[KEY_SECRET_BYTES];
};

/*
 * Reads the key, or makes it (mode 0600) and its public half. -EPERM: the file is a link, no plain
 * file, not ours, or others may read it. -EBADMSG: what it holds is no key, or the public half
 * beside it is of another.
 */
int key_open(struct key *ret, const char *path, struct error *e);
void key_deinit(struct key *k); /* forgets it */
/* The public half, from the file that holds just this. */
int key_public_read(struct key_public *ret, const char *path, struct error *e);
void key_public_id(const struct key_public *k, uint8_t ret[KEY_ID_BYTES]);
