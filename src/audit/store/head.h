/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A signed head: what a log came to at some record, and whose word that is. It lies in the store,
 * in a second file outside it, and in every proof. As text it is a JSON object of one line; what is
 * signed are the bytes of head_encode(), so that no reader depends on how JSON is printed.
 */
#include <stdint.h>

#include "audit/store/key.h"
#include "audit/store/merkle.h"
#include "base/error.h"

struct buffer;
struct node;

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

void head_print(const struct head *h, struct buffer *out);
int head_parse(struct head *ret, const struct node *n);

/* A file that holds just a head: replaced as a whole. */
int head_save(const struct head *h, const char *path, struct error *e);
/* -ENOENT, -EBADMSG: it holds no head. */
int head_load(struct head *ret, const char *path, struct error *e);
