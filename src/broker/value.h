/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Values of parameters and results, and their form in the frames between front and monitor. The
 * row of a method (broker/method.h) says which values a call has, in which order; so a frame
 * has no names, and nothing in it chooses what it is read as.
 *
 * The front parses what programs inside send, and may be taken over by them. So the monitor reads
 * each call by the same rows once more: types, lengths, UTF-8, what is required, nothing behind the
 * end. What breaks a rule is -EPROTO: hang up.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "broker/method.h"

struct buffer;

struct value_item {
	const char *key; /* of SCHEMA_PAIRS; NULL in SCHEMA_WORDS */
	const char *text;
};

enum value_file_kind { VALUE_KIND_FILE, VALUE_KIND_FOLDER, VALUE_KIND_LINK, VALUE_KIND_OTHER };

struct value_file {
	const char *name, *path;
	enum value_file_kind kind;
	uint64_t size;
	int64_t modified_ns;
};

/* A value; which members count depends on the type. Zeroed: it was not given. */
struct value {
	enum schema_type type;
	uint64_t number;  /* NUMBER; FLAG: 0 or 1; CHOICE: the place of the word; TIME */
	const char *text; /* TEXT, PATH, DATA, JSON; a NUL stands behind it */
	size_t len;
	const struct value_item *items; /* WORDS, PAIRS */
	const struct value_file *files; /* FILES */
	size_t n;
};

/* As many as a method has at most. */
struct values {
	struct value v[METHOD_PARAMS_MAX];
};
_Static_assert(METHOD_PARAMS_MAX >= METHOD_RESULTS_MAX, "struct values has room for both");

static inline struct value value_text(const char *text, size_t len)
{
	return (struct value){ .type = SCHEMA_TEXT, .text = text, .len = len };
}
static inline struct value value_number(enum schema_type type, uint64_t number)
{
	return (struct value){ .type = type, .number = number };
}

/*
 * Appends the values of these rows. -EINVAL: one has another type than its row, or one that is
 * required is missing: a mistake of the caller's. -ENOMEM.
 */
int values_encode(
	const struct schema_field *fields, const struct values *values, struct buffer *out);
/*
 * Reads them back, up to the end of the body. Texts point into the body; lists are in the arena.
 * -EPROTO, or -ENOMEM.
 */
int values_decode(const struct schema_field *fields, const void *body, size_t len, struct arena *a,
	struct values *ret);
/*
 * Whether a value is one that its row allows: bytes of text, range, number of items, UTF-8. Both
 * readers (of JSON and of frames) use it.
 */
bool value_is_allowed(const struct schema_field *f, const struct value *v);
