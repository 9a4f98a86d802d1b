/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One request on its way to a host with secrets, whatever version of HTTP it came in: its head as
 * a text (heads.h), then its body (bodies.h), in which placeholders are replaced by values; signed
 * again by the value if a placeholder signed it (signing.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/bodies.h"
#include "inject/heads.h"
#include "inject/signing.h"

struct inject_request {
	struct heads heads;
	struct bodies bodies;
	struct signing signing; /* what goes out next is to be signed again */
	uint32_t rewrites;      /* VAULT_BODY, VAULT_FORM: in these bodies values may go */
	uint32_t body_place;    /* of the body that passes */
	bool is_open;           /* nothing of it is looked for */
};

struct inject_request_form {
	bool has_body;
	uint64_t length; /* of the body; 0: not known */
	enum bodies_mode
		flowing; /* of a body that changes and does not wait until it is complete */
};

void inject_request_init(struct inject_request *r, const struct heads *heads, uint32_t rewrites);
/* Wipes it. */
void inject_request_deinit(struct inject_request *r);
/* A head, which was parsed, with its empty line. -EKEYREJECTED; -E2BIG. */
int inject_request_head(struct inject_request *r, const char *head, size_t len,
	const struct inject_request_form *form, struct buffer *out);
/* Data of the body. last: it ends here. If the head waited, it goes out with the end. */
int inject_request_body(
	struct inject_request *r, const uint8_t *data, size_t len, bool last, struct buffer *out);
/* The end of a body in chunks; with the empty line. No value goes into trailers. */
int inject_request_trailers(
	struct inject_request *r, const uint8_t *data, size_t len, struct buffer *out);
