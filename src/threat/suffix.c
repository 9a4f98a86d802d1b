/* SPDX-License-Identifier: Apache-2.0 */
/* Public suffixes: libpsl, loaded as libidn2 is (policy/network/idna.h), and the table. */
#include <dlfcn.h>
#include <errno.h>
#include <libpsl.h>
#include <stdatomic.h>
#include <string.h>

#include "policy/baseline.h"
#include "threat/threat.h"

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

int threat_is_public_suffix(const char *name)
{
	/* One label: a top-level domain, unless it is a private one. */
	if (!strchr(name, '.'))
		return !baseline_guard_of_name(name);
	for (size_t i = 0; i < threat_hosts_n; i++) {
		if (threat_hosts[i].uses & THREAT_SHARED && strcmp(name, threat_hosts[i].name) == 0)
			return 1;
	}
	if (!suffix_tried)
		threat_suffix_load();
	if (!suffix_list)
		return -ELIBACC;
	return suffix_is_public(suffix_list, name) != 0;
}
