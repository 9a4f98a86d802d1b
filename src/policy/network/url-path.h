/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * URL paths as they are compared: one spelling for each path. Unreserved characters stand as they
 * are, everything that RFC 3986 has no place for in a path as %XX in upper case; reserved
 * characters stay as they were written, escaped or not, because servers may tell the two apart. Dot
 * segments are resolved.
 *
 * A path that a server could read as another one than the policy did is refused: "..", hidden
 * behind an escaped slash (%2F), a path parameter (..;) or taking back an empty segment (//..).
 */
#include <stddef.h>

/* -EINVAL: hidden dots; -ENAMETOOLONG. "\" counts as "/", as it does in http URLs. */
int url_path_normal(const char *text, size_t len, char *out, size_t size);
/*
 * The same for a pattern over such paths: `*`, `[`, `]`, `{`, `}` and `,` keep their meaning.
 * -EINVAL: dot segments or empty ones, or an escape beside a [set], which matches single bytes.
 */
int url_path_pattern(const char *text, size_t len, char *out, size_t size);
