/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A call of /api/invoke and its answer, as JSON. What the policy does not allow is 403 and begins
 * with "Permission denied", as programs of desktop shells expect it; the denial beside it says
 * which rule, and what would allow it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/path.h"
#include "corral/enclave.h"
#include "daemon/route.h"

struct json_writer;

struct reply {
	struct route_call call;
	const char *missing; /* appended to a denial: why nothing is granted; or NULL */
	unsigned status;
	struct buffer json;
	bool is_ended; /* the user ended the enclave */
};

/* Adds the data, and "encoding": "utf8", or "base64" unless it is text and not too long. */
void reply_data(struct json_writer *w, const char *key, const char *data, size_t len, bool base64);
/* What a library call said: the status, and {"error": …}. Takes e over; may be NULL. */
void reply_refuse(struct reply *c, int r, struct corral_error *e);
/* A sentence of our own. */
void reply_fail(struct reply *c, unsigned status, const char *text);
/* {"op","target","rule","reason","remedy"} */
void reply_denial(struct json_writer *w, const char *key, const struct corral_denial *d);
/*
 * The path that was given by this name, in its normal form; *ret is out, or NULL if it was not
 * given. ".." goes by the text; where links lead is for the enclave to see. False: it was answered.
 */
bool reply_path(struct reply *c, const char *name, char out[PATH_BYTES], const char **ret);
