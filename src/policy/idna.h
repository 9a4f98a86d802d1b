/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* DNS names as they are compared: A-labels, lower case. The only user of libidn2. */
#include <stddef.h>

/*
 * Writes the A-label form of a name in UTF-8 (already percent-decoded) into out. -EINVAL if it is none:
 * empty or overlong labels, characters that DNS names do not have. ASCII names take a path without libidn2.
 */
int idna_to_ascii(const char *name, size_t len, char *out, size_t size);
