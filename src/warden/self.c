/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/self.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/privilege.h"
#include "jail/seccomp/seccomp.h"
#include "policy/network/idna-library.h"

static const struct {
	const char *path;
	unsigned access;
} kept[] = {
	{ "/proc/self", LANDLOCK_READ },
	{ "/sys/fs/cgroup", LANDLOCK_READ | LANDLOCK_WRITE },
};

static int self_make_rules(int *ret)
{
	int version = landlock_version();
	auto_fd rules = version < 0 ? version : landlock_new(version, false);

	if (rules < 0)
		return rules;
	for (size_t i = 0; i < ROWS(kept); i++) {
		auto_fd fd = open(kept[i].path, O_PATH | O_CLOEXEC);
		int r = fd < 0 ? 0 : landlock_grant(rules, version, fd, kept[i].access);

		if (r < 0)
			return r;
	}
	*ret = fd_take(&rules);
	return 0;
}

int self_confine(struct error *e)
{
	auto_fd rules = -1;
	int r = self_make_rules(&rules);

	/* A name that is not ASCII would make the policy load a library, from files. */
	idna_library_forgo();
	if (r == 0)
		r = privilege_renounce();
	if (r == 0)
		r = landlock_enter(rules);
	if (r == 0)
		r = seccomp_base(&(struct seccomp_options){ .no_memfd_exec = true });
	if (r == 0)
		r = seccomp_close();
	if (r == 0)
		r = privilege_hide();
	return r < 0 ? error_set(e, r, NULL, "the warden cannot confine itself: %s", strerror(-r))
		     : 0;
}
