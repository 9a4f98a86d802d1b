/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "codec/node.h"

struct buffer;

/*
 * A bare word: `out` is the text of its node. -EINVAL if it is none of TOML's; then `out` is of no
 * use. Memory that ran out marks `out` as failed.
 */
int toml_scalar(const char *word, struct buffer *out, enum node_type *ret);
