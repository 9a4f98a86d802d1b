/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A value as text: as it is, and in each encoding of the table. What stands before and behind the
 * value is encoded with it, so there is one text for each alignment; characters that those bytes
 * have a part in are left out.
 */
#include <stdbool.h>
#include <stddef.h>

/* Takes a text, which the caller wipes. wraps: lines may break within it. Negative: it ends. */
typedef int spelling_take(void *context, const char *text, size_t len, bool wraps);

/* Each text once. -ENOMEM, and what take() said. */
int spelling_each(const char *value, size_t len, spelling_take *take, void *context);
