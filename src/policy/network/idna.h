/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* DNS names as they are compared: A-labels, lower case. */
#include <stddef.h>

/*
 * Writes the A-label form of a name in UTF-8 (already percent-decoded) into out, with a NUL. A dot
 * at the end is kept. -EINVAL if it is no name: empty or overlong labels, characters that DNS names
 * do not have, A-labels that stand for nothing. -ENAMETOOLONG if out has no room. ASCII names take
 * a path without libidn2; for the others it may allocate (-ENOMEM), and loads the library at the
 * first of them: -ELIBACC if there is none.
 */
int idna_to_ascii(const char *name, size_t len, char *out, size_t size);

/*
 * libidn2, loaded when the first name needs it. It brings a library of 1.8 MB along, which is a
 * quarter of what starting a program of ours would cost, and hardly any policy has such a name.
 */

/* What to say about -ELIBACC. */
#define IDNA_LIBRARY_MISSING "libidn2 is required for international names"
#define IDNA_LIBRARY_HINT "install libidn2"

/*
 * Loads the library if that has not been tried before: for a program that is going to confine
 * itself and could not open files later. -ELIBACC: it is not there, and never will be for this
 * process. Threads may call it at once.
 */
int idna_library_load(void);
/*
 * From here on the library counts as missing, unless it is loaded already. A program that confines
 * itself calls this or idna_library_load() before: else the first such name, which may be
 * anybody's, would make it open files.
 */
void idna_library_forgo(void);
/*
 * Writes what libidn2 makes of a name in UTF-8 into out. -EINVAL: it is no name; -ENOMEM; -ELIBACC
 * as above; -ENAMETOOLONG: no room.
 */
int idna_library_lookup(const char *name, char *out, size_t size);
