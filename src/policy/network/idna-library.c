/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/idna.h"

#include <dlfcn.h>
#include <errno.h>
#include <idn2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Two threads that load at once find the same, so there is nothing to lock: `tried` is written
 * last, and who sees it sees the functions.
 */
static __typeof__(idn2_lookup_u8) *_Atomic lookup;
static __typeof__(idn2_free) *_Atomic release;
static atomic_bool tried;

int idna_library_load(void)
{
	void *handle;
	__typeof__(idn2_lookup_u8) *found;
	__typeof__(idn2_free) *freer;

	if (tried)
		return lookup ? 0 : -ELIBACC;
	/* By the name of its ABI. It stays loaded: another thread may be inside. */
	handle = dlopen("libidn2.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	found = handle ? dlsym(handle, "idn2_lookup_u8") : NULL;
	freer = handle ? dlsym(handle, "idn2_free") : NULL;
	if (found && freer) {
		release = freer;
		lookup = found;
	}
	tried = true;
	return lookup ? 0 : -ELIBACC;
}

void idna_library_forgo(void)
{
	tried = true;
}

int idna_library_lookup(const char *name, char *out, size_t size)
{
	uint8_t *found = NULL;
	size_t len;
	int r = idna_library_load();

	if (r < 0)
		return r;
	r = lookup((const uint8_t *)name, &found, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (r != IDN2_OK)
		return r == IDN2_MALLOC ? -ENOMEM : -EINVAL;
	len = strlen((const char *)found);
	if (len < size)
		memcpy(out, found, len + 1);
	release(found);
	return len < size ? 0 : -ENAMETOOLONG;
}
