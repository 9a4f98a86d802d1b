/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The address of a page, as it is given to a program that is not ours. What was asked for is read
 * by the parser that the policy uses, and written anew from its parts: no reader after us can find
 * another host in it, and no shell, desktop file or option parser anything but a URL.
 */
#include "base/buffer.h"
#include "base/error.h"

enum { PAGE_BYTES_MAX = 8 << 10 };

/* Appends it. -EINVAL with a sentence: it is no http or https URL, has a user or a backslash in it
 * … */
int page_normal(const char *text, size_t len, struct buffer *out, struct error *e);
/* Whether it is such text: what the launcher checks once more. */
bool page_is_normal(const char *text, size_t len);
