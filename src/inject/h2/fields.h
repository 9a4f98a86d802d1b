/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Fields of HTTP/2, and the same as a head of HTTP/1.1, which is how requests are read and changed
 * (heads.h): one reader for both. A byte that would make another head of that text is refused.
 */
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "inject/masking.h"

enum {
	H2_FIELDS_MAX = 256,
	H2_FIELDS_BYTES = 32 << 10,        /* as SETTINGS_MAX_HEADER_LIST_SIZE counts them */
	H2_FIELDS_GROWN_BYTES = 128 << 10, /* with values */
};

struct h2_field {
	size_t at, name, value; /* in the text; lengths */
};

struct h2_fields {
	struct buffer text; /* "name: value", each with CR LF */
	struct h2_field *rows;
	size_t n, cap;
};

void h2_fields_deinit(struct h2_fields *f); /* wipes */
/* -EINVAL: a byte that no field has, a name in capitals. -E2BIG: more than `most`. -ENOMEM. */
int h2_fields_add(struct h2_fields *f, const char *name, size_t name_len, const char *value,
	size_t value_len, size_t most);
/* The value of the only field of this name. 0: there is none. -EINVAL: two. */
int h2_fields_find(const struct h2_fields *f, const char *name, const char **ret, size_t *ret_len);
/* Overwrites values, also those that lie in two fields. */
void h2_fields_mask(struct h2_fields *f, const struct masking *m, size_t *found);
/*
 * A request as a head. -EINVAL: no request for this server: another scheme, CONNECT, a target that
 * is no path, `host` beside another :authority.
 */
int h2_fields_print_request(const struct h2_fields *f, struct buffer *out);
/* The other way. came: with the pseudo-fields that the request came with. -E2BIG; -ENOMEM. */
int h2_fields_parse_request(
	struct h2_fields *ret, const char *head, size_t len, const struct h2_fields *came);
/* For nghttp2, which copies them. is_secret: they may have values, and no table remembers them.
 * Returns how many. */
size_t h2_fields_list(const struct h2_fields *f, bool is_secret, nghttp2_nv ret[H2_FIELDS_MAX + 4]);
