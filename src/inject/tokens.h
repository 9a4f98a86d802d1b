/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tokens in what is said at the token endpoint of OAuth (RFC 6749, 8628): those of an answer, in
 * JSON or in a form, and the text of that answer with others in their place; and whether a request
 * does no more than refresh a token that is known. Pure.
 *
 * What two readers could take for two things is refused: a name that stands there twice, tokens in
 * an inner object, text that is no strict JSON. Tokens are texts of visible ASCII.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "codec/node.h"
#include "wire/lend.h"

enum {
	TOKENS_ANSWER_MAX = 1 << 20,
	TOKENS_REQUEST_MAX = 64 << 10,
	TOKENS_VALUE_MAX = 8 << 10, /* all of an answer fit into a frame */
};

/* How the body of an answer is written. */
enum tokens_form { TOKENS_OTHER, TOKENS_JSON, TOKENS_FORM };
/* The value of Content-Type, without blanks around it. */
enum tokens_form tokens_form(const char *type, size_t len);

/* Zero it; deinit wipes it. */
struct tokens {
	const char *values[LEND_TOKENS_MAX]; /* NULL: there is none */
	/* private */
	enum tokens_form form;
	struct document document;
	struct buffer text;                  /* of a form */
	struct node *nodes[LEND_TOKENS_MAX]; /* of JSON */
	size_t at[LEND_TOKENS_MAX],
		len[LEND_TOKENS_MAX]; /* of a form: where the value is written */
};

/* 1: it has tokens. 0: it has none. *ret_why says why not: -EBADMSG, it is not written so; -EINVAL,
 * it has tokens that cannot be replaced. -ENOMEM. */
int tokens_read(struct tokens *t, enum tokens_form form, const char *body, size_t len,
	const char **ret_why);
/* The same text with these in place of the tokens. -ENOMEM. */
int tokens_print(struct tokens *t, const char *const texts[LEND_TOKENS_MAX], struct buffer *out);
void tokens_deinit(struct tokens *t);

enum tokens_request {
	TOKENS_LOGIN,    /* anything else */
	TOKENS_REFRESH,  /* by the refresh token alone, which is `refresh` */
	TOKENS_EXCHANGE, /* of a token for another one (RFC 8693) */
};
/* The body of a request, before anything was replaced in it. refresh NULL: none is known. */
enum tokens_request tokens_request(const char *body, size_t len, const char *refresh);
