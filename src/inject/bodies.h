/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The body of a request, in which values take the place of placeholders, so that its length
 * changes. A body of a known length up to BODIES_HELD_MAX waits until it is complete, with its
 * head, and gets its new length; all others go on as they come, in chunks where HTTP/1.1 needs
 * them. A placeholder that lies in two reads is found: what may be the beginning of one waits for
 * what follows.
 *
 * Where no value may go the bytes pass as they are, and placeholders are only looked for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "inject/placeholders.h"

enum {
	BODIES_HELD_MAX = 1 << 20,
	BODIES_GROWN_MAX = 4 << 20, /* with values; what one read may become, too */
	BODIES_PIECE = 16 << 10,
};

enum bodies_mode {
	BODIES_WATCH, /* nothing changes */
	BODIES_HOLD,
	BODIES_CHUNK,
	BODIES_PLAIN, /* as it comes, without a length: HTTP/2 */
};

struct bodies {
	const struct placeholders *placeholders;
	placeholders_judge *judge;
	void *context;
	enum bodies_mode mode;
	placeholders_print *print;
	struct buffer pending; /* in which a placeholder may begin */
	struct buffer head;    /* BODIES_HOLD: without its last line */
	struct buffer held;
};

void bodies_deinit(struct bodies *b);
/*
 * A head that is complete but for its empty line: what a body with this mode needs is added to it,
 * and it goes on, or is kept. print NULL: values as they are.
 */
int bodies_begin(struct bodies *b, enum bodies_mode mode, placeholders_print *print,
	const struct buffer *head, struct buffer *out);
/* Data of the body. last: it ends here. -E2BIG: it has grown too much. */
int bodies_data(struct bodies *b, const uint8_t *data, size_t len, bool last, struct buffer *out);
/* The end of one in chunks; trailers: with the empty line. */
int bodies_end_chunks(struct bodies *b, const uint8_t *trailers, size_t len, struct buffer *out);
