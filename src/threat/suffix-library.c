/* SPDX-License-Identifier: Apache-2.0 */
/* libpsl, loaded as libidn2 is (policy/network/idna.h). */
#include <dlfcn.h>
#include <errno.h>
#include <libpsl.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "threat/internal.h"

/* Two threads that load at once find the same. `tried` is written last. */
static __typeof__(psl_is_public_suffix) *_Atomic suffix_is_public;
static const psl_ctx_t *_Atomic suffix_list;
static atomic_bool suffix_tried;

/* By the name of its ABI. It stays for good, with the list that it was built with. */
static void threat_suffix_load(void)
{
	void *handle = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	__typeof__(psl_builtin) *builtin = handle ? dlsym(handle, "psl_builtin") : NULL;

	suffix_is_public = handle ? dlsym(handle, "psl_is_public_suffix") : NULL;
	suffix_list = builtin && suffix_is_public ? builtin() : NULL;
	suffix_tried = true;
}

int threat_suffix_library_ask(const char *name)
{
	if (!suffix_tried)
		threat_suffix_load();
	if (!suffix_list)
		return -ELIBACC;
	return suffix_is_public(suffix_list, name) != 0;
}
