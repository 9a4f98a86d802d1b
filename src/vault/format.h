/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The vault file, as bytes: no file is opened here.
 *
 *     corral vault 1\n
 *     id (16), generation (u64), number of slots (u32)
 *     slots:    kind (u32), salt (16), ops, memory (u64 each), nonce (24), the wrapped key (48),
 *               length of the blob (u32), blob
 *     header of the stream (24)
 *     messages: length (u32), bytes of crypto_secretstream_xchacha20poly1305
 *
 * Numbers are little-endian. A random key encrypts the messages; each slot has that key wrapped by
 * another: one that Argon2id makes of a passphrase, or one that is stored elsewhere (systemd-creds,
 * the Secret Service). All that stands before the messages is authenticated with the first of
 * them. A message is one secret, padded; the last is empty and has the tag that ends a stream, so a
 * file that was cut off is refused, as is one with bytes behind its end.
 * What a grant says about fields of the head is there only if it names some, and so are its
 * programs. What stands for the value inside is there, behind the grants, only if it is to be the
 * same in each run. Versions that do not know these bits refuse the file.
 *
 * The generation counts writes: an older file can be told from a newer one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "vault/secret.h"

enum {
	VAULT_ID_BYTES = 16,
	VAULT_KEY_BYTES = 32,
	VAULT_SALT_BYTES = 16,
	VAULT_NONCE_BYTES = 24,
	VAULT_WRAPPED_BYTES = VAULT_KEY_BYTES + 16,
	VAULT_SLOTS_MAX = 4,
	VAULT_BLOB_MAX = 4096,
	VAULT_FRESH_S = 30, /* a value that expires so soon is fetched again */
	VAULT_NAME_MAX = 128,
	VAULT_TEXT_MAX = 1024,      /* of a source, a host, a principal */
	VAULT_VALUE_MAX = 16 << 10, /* so that one fits into a frame, which is never in a file */
	VAULT_GRANTS_MAX = 32,      /* of one secret */
	VAULT_PROGRAMS_MAX = 2048,  /* of one grant: bytes of their paths, with commas */
	VAULT_STAND_IN_MAX = 9 << 10,
	VAULT_ENTRIES_MAX = 4096,
	VAULT_FILE_MAX = 3 << 20,
	VAULT_PASSPHRASE_LEAST = 8,
};

/* What a slot's key comes from. Zero is none. */
enum vault_slot_kind {
	VAULT_SLOT_NONE,
	VAULT_SLOT_PASSPHRASE,
	VAULT_SLOT_SYSTEMD,
	VAULT_SLOT_SERVICE,
	VAULT_SLOT_KINDS
};
extern const char *const vault_slot_names[VAULT_SLOT_KINDS];

struct vault_slot {
	enum vault_slot_kind kind;
	uint8_t salt[VAULT_SALT_BYTES];
	uint64_t ops, memory; /* of Argon2id */
	uint8_t nonce[VAULT_NONCE_BYTES], wrapped[VAULT_WRAPPED_BYTES];
	uint32_t blob_len; /* what systemd-creds made of the key */
	uint8_t blob[VAULT_BLOB_MAX];
};

struct vault_header {
	uint8_t id[VAULT_ID_BYTES];
	uint64_t generation;
	uint32_t n_slots;
	struct vault_slot slots[VAULT_SLOTS_MAX];
};

/* Where in a request a value may be put: bits. */
enum vault_place {
	VAULT_HEADER = 1,
	VAULT_QUERY = 2,
	VAULT_BODY = 4,
	VAULT_FORM = 8,
	VAULT_FIELD = 16,      /* fields of the head that are named */
	VAULT_POSTGRESQL = 32, /* as the password of a login; alone */
	VAULT_LOGIN = 64,      /* in the requests of a login whose answers are rewritten; alone */
	VAULT_PLACES_ALL = 127
};
extern const char *const vault_place_names[7]; /* by bit; NULL: it has more to it */
enum { VAULT_FIELDS_MAX = 512 /* bytes of their names, with commas */ };
/* A connection is of HTTP or of PostgreSQL. 0 is none. */
bool vault_places_are_valid(uint32_t places);
/* "header,query,header:x-key"; -EINVAL: a word is none, there is none, or they are not valid. */
int vault_places_parse(const char *text, uint32_t *ret);
/* Of such a text: "x-key,x-other", in lower case; "": there are none. -ENOMEM. */
int vault_fields_parse(const char *text, struct buffer *out);
/* Names of fields in lower case, with commas between them. "" is fine. */
bool vault_fields_are_valid(const char *fields);
bool vault_fields_have(const char *fields, const char *name, size_t len);
void vault_places_print(uint32_t places, const char *fields, struct buffer *out);

/* A secret may go to this host, in these places, for this principal. */
struct vault_grant {
	const char *host; /* NAME:PORT, as vault_host_is_valid() has it */
	uint32_t places;
	const char *principal; /* a sandbox by its name; "": any */
	const char *fields;    /* with VAULT_FIELD; else "" */
	/* "": any. Else it is lent to connections of these programs alone, of any of them. */
	const char *programs;
};

/* "/usr/bin/gh,/usr/bin/git-lfs": absolute, normal, plain paths (base/path.h). "" is fine. */
bool vault_programs_are_valid(const char *programs);
/* Whether the path is one of them. Nothing is one of "", and "" is none. */
bool vault_programs_have(const char *programs, const char *path);

struct vault_entry {
	const char *name;
	const char *source; /* "": the value is stored; else vault/source.h */
	uint32_t version;   /* counts values */
	uint64_t created_s, changed_s;
	uint64_t expires_s; /* of the value; 0: never */
	uint64_t keep_s;    /* how long a value of the source is kept; 0: as the source says */
	const uint8_t *value;
	uint32_t value_len;
	const char
		*stand_in; /* the placeholder of each run (inject/placeholders.h); "": new ones */
	uint32_t n_grants;
	struct vault_grant *grants; /* room for VAULT_GRANTS_MAX */
};

/* An open vault. Zero it before vault_decode(). */
struct vault {
	struct vault_header header;
	struct vault_entry *entries; /* room for one more */
	size_t n;
	struct arena arena;  /* names, sources, grants: no values */
	struct secret plain; /* values point into it */
};
void vault_deinit(struct vault *v);
#define auto_vault __attribute__((cleanup(vault_deinit))) struct vault

/* [A-Za-z_][A-Za-z0-9_.-]*, at most VAULT_NAME_MAX. */
bool vault_name_is_valid(const char *name);
/* What stands for a value: visible ASCII, as inject/placeholders.h has it; or "". */
bool vault_stand_in_is_valid(const char *text);
/* A name in lower case or an address, a colon, a port; no pattern. */
bool vault_host_is_valid(const char *host);

struct vault_entry *vault_find(struct vault *v, const char *name);
/* A new one at the end; the name is copied. NULL: there are too many, or no memory. */
struct vault_entry *vault_add(struct vault *v, const char *name);
void vault_remove(struct vault *v, struct vault_entry *e);

/*
 * Without a key. 0 and *ret_at, where the stream begins; -EBADMSG: it is no vault file; -ENOTSUP:
 * of another version, with a sentence about path in *e.
 */
int vault_header_decode(struct vault_header *ret, const void *data, size_t len, const char *path,
	size_t *ret_at, struct error *e);
/* The whole file. -EKEYREJECTED: it was not written with this key, was changed or cut off.
 * -EBADMSG, -ENOTSUP as above; -ENOMEM and others: of secret_new(). */
int vault_decode(struct vault *ret, const void *data, size_t len, const char *path,
	const uint8_t key[VAULT_KEY_BYTES], struct error *e);
/* Appends the whole file. scratch: for one secret, VAULT_SCRATCH_BYTES. -E2BIG: it is too large. */
enum { VAULT_SCRATCH_BYTES = 128 << 10 };
int vault_encode(const struct vault *v, const uint8_t key[VAULT_KEY_BYTES], struct secret *scratch,
	struct buffer *out);

/* Argon2id, with the slot's numbers. -ENOMEM. */
int vault_slot_derive(const struct vault_slot *s, const void *passphrase, size_t len,
	uint8_t ret[VAULT_KEY_BYTES]);
/* A new slot of this kind: salt and numbers for a passphrase. */
void vault_slot_new(struct vault_slot *ret, enum vault_slot_kind kind);
/* by: the slot's own key. Unwrapping with another is -EKEYREJECTED. */
void vault_slot_wrap(struct vault_slot *s, const uint8_t id[VAULT_ID_BYTES],
	const uint8_t by[VAULT_KEY_BYTES], const uint8_t key[VAULT_KEY_BYTES]);
int vault_slot_unwrap(const struct vault_slot *s, const uint8_t id[VAULT_ID_BYTES],
	const uint8_t by[VAULT_KEY_BYTES], uint8_t ret[VAULT_KEY_BYTES]);
