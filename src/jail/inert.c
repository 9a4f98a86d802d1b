/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/inert.h"

#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/privilege.h"

int inert_close(int rules, const struct seccomp_options *filter)
{
	int r = privilege_renounce();

	if (r == 0)
		r = landlock_enter(rules);
	if (r == 0)
		r = seccomp_base(filter);
	return r < 0 ? r : privilege_hide();
}

int inert_enter(void)
{
	const struct seccomp_options filter = {
		.no_memfd_exec = true, .closed = true, .no_sockets = true, .no_exec = true
	};
	int version = landlock_version();
	auto_fd rules = version < 0 ? version : landlock_new(version, true);

	return rules < 0 ? rules : inert_close(rules, &filter);
}
