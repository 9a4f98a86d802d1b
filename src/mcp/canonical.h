/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One text for each value of JSON, by which two are compared: keys in the order of their bytes, no
 * blanks. Numbers keep their digits: 1 and 1.0 differ.
 */
#include "base/buffer.h"
#include "codec/node.h"

/* out->failed: out of memory. */
void mcp_canonical_print(struct buffer *out, const struct node *n);
