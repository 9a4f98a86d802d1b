/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What is looked at character by character rather than by patterns. For scan*.c. */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "advice/scan/rules.h"

/* False if people cannot read it. */
bool scan_text_is_text(const char *data, size_t len);
/* By a file's name, else by its first line. */
enum scan_language scan_text_language(const char *path, const char *data, size_t len);
/* Adds a line the way patterns see it (scan/rules.h), without the space that ends it. */
void scan_text_normalize(struct buffer *out, const char *line, size_t len);

/* Each: does this line hold such a thing, and where? */
bool scan_text_hidden(const char *line, size_t len, size_t *ret);
bool scan_text_long(const char *line, size_t len, size_t *ret);
bool scan_text_blob(const char *line, size_t len, size_t *ret);
bool scan_text_address(const char *line, size_t len, size_t *ret);
