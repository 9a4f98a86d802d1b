/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The head of a request, as a text of HTTP/1.1, in which placeholders are replaced by values where
 * these may be: in fields that are for credentials, in others that a grant names, in the query.
 *
 * Fields that are for credentials: servers look at them to know who asks, and do not keep them.
 * Others may be kept and shown to whoever asks: a value in the metadata of an object in a store
 * (x-amz-meta-…, x-goog-meta-…) could be read there by anybody that the command chooses.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/placeholders.h"

/* Asked about each placeholder that is found. field: its name as it was written, and no end; of
 * VAULT_FIELD. place 0: no value goes there. VAULT_HEADER: a field that is for credentials;
 * VAULT_FIELD: another one, by its name. */
typedef bool inject_may(void *context, const struct placeholder *p, uint32_t place,
	const char *field, size_t field_len);

/* Why a request is denied that was looked at since; NULL: it is not. The text lives until the next
 * request is looked at. */
typedef const char *inject_denied(void *context);

struct heads {
	const struct placeholders *placeholders;
	inject_may *may;
	void *context;
	bool keeps_te; /* of HTTP/2 */
	/* Of the text that is being replaced. */
	uint32_t place;
	const char *field;
	size_t field_len;
};

/* A placeholders_judge; the context is a struct heads. */
bool heads_judge(void *context, const struct placeholder *p);
/* Each a placeholders_print. */
void heads_print_query(const char *value, size_t len, struct buffer *out);
void heads_print_json(const char *value, size_t len, struct buffer *out);

/* A text that is all of one place. */
void heads_replace(struct heads *h, uint32_t place, placeholders_print *print, const char *text,
	size_t len, struct buffer *out);
/*
 * A head, which was parsed: each line ends with CR LF, and none is folded. It is added without the
 * empty line, and with placeholders replaced.
 */
void heads_add(
	struct heads *h, const char *head, size_t len, bool drops_length, struct buffer *out);

/* What of a head says how its body is read. */
struct heads_look {
	bool expects, is_encoded, is_form, is_json, is_grpc;
	unsigned n_types; /* Content-Type */
};
struct heads_look heads_look(const char *head, size_t len);
/* The value of Content-Type: messages with their lengths before them. */
bool heads_is_grpc(const char *type, size_t len);
