/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The secrets of one sandbox with their placeholders, and a text in which placeholders are replaced
 * by values: where the judge says so, and nowhere else. The time that this takes grows with the
 * text, not with the number of secrets. Placeholders that come from the vault have the marks of the
 * runs in which they were made; each mark is searched for.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/placeholder.h"
#include "vault/secret.h"

enum { PLACEHOLDERS_MAX = 1024, PLACEHOLDERS_MARKS_MAX = 32 };

struct placeholder {
	const char *name; /* of the secret */
	const char *text;
	size_t len, mark_at;
	struct secret value;
};

struct placeholders;

int placeholders_new(struct placeholders **ret);
/* Wipes the values. NULL is fine. */
void placeholders_free(struct placeholders *t);
/*
 * A placeholder that a secret has in each run comes from the vault, with its mark in lower case
 * before it. This makes one for the value, with the mark of this sandbox; what is found of the name
 * stays, unless claims of a JWT are in the value, or in what is there. Appends. -EINVAL.
 */
int placeholders_stand_in(const struct placeholders *t, const char *name, const char *value,
	size_t len, struct buffer *out);
/*
 * Another value for a name, or a new name, with such a placeholder. Others of the name stay: they
 * stand for the new value, too. -EINVAL: it is none; -EEXIST: it stands for another name; -E2BIG.
 */
int placeholders_put(struct placeholders *t, const char *name, const char *stand_in,
	const char *value, size_t len);
/* Another value for a name that is there; what stands for it stays. -EINVAL: it is none. */
int placeholders_change(struct placeholders *t, const char *name, const char *value, size_t len);
/* Wipes all values, which have no length then; what stands for them stays. */
void placeholders_forget(struct placeholders *t);
/* Takes a copy of the value. -EEXIST: the name is there. -EINVAL: as placeholder_make(). -E2BIG. */
int placeholders_add(struct placeholders *t, const char *name, const char *value, size_t len,
	const struct placeholder **ret);
size_t placeholders_count(const struct placeholders *t);
const struct placeholder *placeholders_at(const struct placeholders *t, size_t i);

/*
 * Finds the first placeholder that stands whole in the text. NULL: none. *ret_at: where it begins.
 */
const struct placeholder *placeholders_find(
	const struct placeholders *t, const char *text, size_t len, size_t *ret_at);

/* How many of the last bytes may be the beginning of a placeholder. */
size_t placeholders_tail(const struct placeholders *t, const char *text, size_t len);

/* True: the value goes in. It may look at the value, too. */
typedef bool placeholders_judge(void *context, const struct placeholder *p);
/* Adds a value as the text needs it: as it is, or in an encoding. */
typedef void placeholders_print(const char *value, size_t len, struct buffer *out);

/*
 * Adds the text with its placeholders replaced. print NULL: values as they are. Returns how many
 * were replaced. What is out->failed must be looked at; whoever has `out` wipes it.
 */
size_t placeholders_replace(const struct placeholders *t, const char *text, size_t len,
	placeholders_judge *judge, void *context, placeholders_print *print, struct buffer *out);
