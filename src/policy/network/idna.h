/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* DNS names as they are compared: A-labels, lower case. */
#include <stddef.h>

/*
 * Writes the A-label form of a name in UTF-8 (already percent-decoded) into out, with a NUL. A dot
 * at the end is kept. -EINVAL if it is no name: empty or overlong labels, characters that DNS names
 * do not have, A-labels that stand for nothing. -ENAMETOOLONG if out has no room. ASCII names take
 * a path without libidn2; for the others it may allocate (-ENOMEM), and loads the library at the
 * first of them (idna-library.h): -ELIBACC if there is none.
 */
int idna_to_ascii(const char *name, size_t len, char *out, size_t size);
