/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A request that a client signed by a placeholder (sigv4.h), signed again by the value. Which
 * placeholder it was is found by making the client's signature anew: what this reader and the
 * client's library do not both take for the same request is not signed.
 *
 *     signing_begin()   the client's head, as it came
 *     signing_finish()  what goes out, complete, with its body if that is signed and not said
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "inject/placeholders.h"

struct signing {
	struct buffer head; /* of the client; there is one: what goes out may be signed again */
	bool needs_body;    /* its hash is signed, and no field has it */
};

void signing_deinit(struct signing *s);
/*
 * Looks at a head: s->head.len is 0 if it is not signed so. -EKEYREJECTED: it is signed by a
 * placeholder in its URL, which cannot be done again. -ENOMEM.
 */
int signing_begin(struct signing *s, const struct placeholders *all, const char *head, size_t len);
/*
 * `out` has from `at` on the head that goes out, and behind it the body, if s->needs_body. If a
 * placeholder signed it, and the judge allows that, it has another Authorization field then. Once
 * for each head. -EKEYREJECTED: each chunk of the body is signed, too, or the URL has parameters of
 * a signature, or it is not about now, or not over its host and its time: as another request, or
 * later, the signature could serve whoever hears of it. -ENOMEM.
 */
int signing_finish(struct signing *s, const struct placeholders *all, placeholders_judge *judge,
	void *context, struct buffer *out, size_t at);
