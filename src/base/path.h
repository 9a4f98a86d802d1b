/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Absolute paths as bytes. Normal form: starts with '/', no empty, "." or ".." component, no slash
 * at the end ("/" itself excepted), no NUL. Purely lexical: symbolic links are the caller's matter.
 */
#include <stdbool.h>
#include <stddef.h>

/* Longest path that is judged, including the NUL; the kernel's own PATH_MAX. */
enum { PATH_BYTES = 4096 };

bool path_is_normal(const char *path, size_t len);
/* Normal, and no byte of it means more in a list or a pattern: no blank, comma, quote, `*?[]{}\`,
 * `$` or control character. */
bool path_is_plain(const char *path, size_t len);
/*
 * Writes the normal form into out (PATH_BYTES long) and its length to *ret_len.
 * -EINVAL: not absolute, or holds a NUL; -ENAMETOOLONG. ".." above the root stays at the root.
 */
int path_normalize(const char *path, size_t len, char out[PATH_BYTES], size_t *ret_len);
/* True if path is dir itself or lies below it. Both normal. */
bool path_is_below(const char *path, const char *dir);
/* "folder/name", also for the root. False: it does not fit. */
bool path_join(char out[PATH_BYTES], const char *folder, const char *name);
