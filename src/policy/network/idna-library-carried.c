/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libidn2 as a part of the program: for programs that are linked statically, which load nothing.
 * They name this file among their own, so the linker takes no idna-library.c from the archive.
 */
#include <errno.h>
#include <idn2.h>
#include <stdint.h>
#include <string.h>

#include "policy/network/idna.h"

int idna_library_load(void)
{
	return 0;
}

/* Nothing is opened for a name, so there is nothing to do without. */
void idna_library_forgo(void)
{
}

int idna_library_lookup(const char *name, char *out, size_t size)
{
	uint8_t *found = NULL;
	int r = idn2_lookup_u8(
		(const uint8_t *)name, &found, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	size_t len;

	if (r != IDN2_OK)
		return r == IDN2_MALLOC ? -ENOMEM : -EINVAL;
	len = strlen((const char *)found);
	if (len < size)
		memcpy(out, found, len + 1);
	idn2_free(found);
	return len < size ? 0 : -ENAMETOOLONG;
}
