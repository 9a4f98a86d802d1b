/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A signed head: what a log came to at some record, and whose word that is. It lies in the store,
 * in a second file outside it, and in every proof. As text it is a JSON object of one line; what is
 * signed are the bytes of head_encode(), so that no reader depends on how JSON is printed.
 */
#include <stdint.h>

#include "audit/store/merkle.h"
#include "base/error.h"

struct json_writer;
struct node;

/*
 * The key that heads are signed with (Ed25519). Its file is made on first use and only ever read by
 * its owner; the public half lies beside it (".pub") and is what a verifier needs, ideally as a
 * copy that was taken elsewhere.
 */
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

struct head {
	uint8_t log[CHAIN_ID_BYTES];
	uint64_t number;  /* of the last record that it covers; 0: none yet */
	uint64_t removed; /* retention has removed the records up to this one */
	uint64_t time_ns; /* of the day, but never before the head before it */
	struct hash chain, root;
	uint8_t key[KEY_ID_BYTES];
	uint8_t signature[KEY_SIGNATURE_BYTES];
};

enum {
	HEAD_MAGIC_BYTES = 20,
	HEAD_BYTES = HEAD_MAGIC_BYTES + CHAIN_ID_BYTES + 3 * 8 + 2 * HASH_BYTES + KEY_ID_BYTES
};

/* What is signed. */
void head_encode(const struct head *h, uint8_t out[HEAD_BYTES]);
/* -EBADMSG. The signature is not looked at. */
int head_decode(struct head *ret, const void *data, size_t len, const void *signature,
	size_t signature_len);

/* Fills key and signature. */
void head_sign(struct head *h, const struct key *k);
/* -EKEYREJECTED: signed by another key; -EBADMSG: not what was signed, or it contradicts itself. */
int head_check(const struct head *h, const struct key_public *k);

void head_print(const struct head *h, struct json_writer *w, const char *key);
int head_parse(struct head *ret, const struct node *n);

/* A file that holds just a head: replaced as a whole. */
int head_save(const struct head *h, const char *path, struct error *e);
/* -ENOENT, -EBADMSG: it holds no head. */
int head_load(struct head *ret, const char *path, struct error *e);
