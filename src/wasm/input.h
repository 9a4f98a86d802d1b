/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The input of a skill, which is JSON: its arguments, if it has any, else standard input.
 *
 *     '{"params": {"a": 1}}'    one argument that begins with a brace: as it is
 *     name=text size:=3         {"params": {"name": "text", "size": 3}}
 */
#include "base/buffer.h"
#include "base/error.h"
#include "wasm/options.h"

/* -EINVAL … with a sentence, in which it is called `what`, if it is not JSON. */
int input_check(const char *text, size_t len, const char *what, struct error *e);
/* Nothing on standard input, and a terminal, stand for {}. -EINVAL: it is no JSON; -EFBIG; -EIO. */
int input_read(const struct worker_options *o, struct buffer *out, struct error *e);
