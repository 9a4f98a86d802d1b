/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the fuzzers of this folder share. A property that does not hold aborts. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "codec/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

/* A refused text leaves an empty document, and an error that says something. */
static inline void fuzz_check_refusal(int r, const struct document *d, const struct error *e)
{
	fuzz_require(r < 0 && !d->root && !d->arena.chunks && e->text[0]);
}

/* Printed text is larger than what it was read from; past the bound it cannot be read back. */
static inline bool fuzz_is_readable(const struct buffer *printed)
{
	return !printed->failed && printed->len <= NODE_INPUT_MAX;
}
