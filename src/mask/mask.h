/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Files in which programs keep their credentials, with something else in place of each secret.
 *
 * Nothing of a file is copied. It is read into a tree; of that a second tree is made, with what the
 * table of this kind of file says is public, and with its secrets; and this one is printed. What
 * the table does not name is left out, with all comments and blanks. So what a program inside reads
 * is what was understood here, and nothing that stood somewhere else in the file.
 *
 * A file is refused as a whole where a name or a public value looks like a key, or where two
 * readers could see different things. What was printed is read once more, must be the same tree,
 * and must not have the bytes of a secret anywhere, in any usual encoding.
 */
#include <stddef.h>

#include "codec/node.h"

struct buffer;

enum { MASK_FILE_MAX = 64 << 10, MASK_SECRETS_MAX = 256 };

enum mask_form {
	MASK_JSON,
	MASK_YAML,
	MASK_TOML,
	MASK_INI,      /* [section] and name = value, as Python's configparser reads it */
	MASK_SETTINGS, /* name=value, as npm reads it */
	MASK_NETRC,
	MASK_URLS, /* https://user:password@host in each line, as git's store has it */
};

enum mask_kind {
	MASK_HIDDEN, /* left out */
	MASK_FOLDER, /* a map, or nothing, with fields of its own */
	MASK_NAME,   /* public: of a user, a host … */
	MASK_WORD,   /* public, and may look like a key: the id of a client */
	MASK_URL,    /* public, without a user and parameters */
	MASK_NAMES,  /* public: several, with blanks */
	MASK_SECRET,
	MASK_BASE64, /* a secret in base64 */
	MASK_PAIR,   /* user:secret in base64 */
};

/* path: names on the way with blanks between them, where "*" is any, and "*x" any that ends so. */
struct mask_field {
	const char *path;
	enum mask_kind kind;
};

struct mask_file {
	const char *name; /* as sources name it: login:NAME */
	const char *path; /* below the home */
	enum mask_form form;
	const struct mask_field *fields; /* to one without a path */
	const char *hosts;               /* to be proposed for grants; "": the file says which */
};

extern const struct mask_file mask_files[];
extern const size_t mask_files_n;
/* By the first len bytes of a name; NULL: there is none. */
const struct mask_file *mask_file_find(const char *name, size_t len);

struct mask_secret {
	const char *key; /* the names on the way to it, with slashes between them */
	const char *value;
};

struct mask {
	const struct mask_file *file;
	struct document text; /* what is shown, with the secrets */
	struct mask_secret secrets[MASK_SECRETS_MAX];
	size_t n;
};

/*
 * -EINVAL: it is not what the table expects, or not to be understood with certainty. The sentence
 * has no byte of the file but names that may be shown. On failure *ret is empty.
 */
int mask_read(struct mask *ret, const struct mask_file *file, const char *text, size_t len,
	struct error *e);
void mask_deinit(struct mask *m);
#define auto_mask __attribute__((cleanup(mask_deinit))) struct mask

/*
 * The secret that a key means: all of a secret's key, or names of it in a row; "": the only one.
 * The same value may stand in several places. -ENOENT: there is none, -EEXIST: there are several,
 * with a hint that lists keys.
 */
int mask_find(
	const struct mask *m, const char *key, const struct mask_secret **ret, struct error *e);

/* What stands for a secret: text without control characters and blanks. The same for the same
 * value, and never the value. */
typedef int mask_stand_in(void *data, const struct mask_secret *s, struct buffer *out);
/* Appends the file with its secrets replaced. -EINVAL: a secret would be in it all the same. */
int mask_print(const struct mask *m, mask_stand_in *stand_in, void *data, struct buffer *out,
	struct error *e);
